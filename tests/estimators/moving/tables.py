"""Frames: `ColumnTransformer`, `set_output`, missing values, metadata routing"""

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

rng = np.random.default_rng(0)
n = 150
frame = pd.DataFrame({
    "age": rng.integers(18, 80, n).astype(float),
    "income": rng.lognormal(10, 1, n),
    "city": rng.choice(["Bonn", "Lyon", "Turin"], n),
    "plan": pd.Categorical(rng.choice(["free", "paid"], n)),
})  # fmt: skip
frame.loc[::11, "age"] = np.nan
target = np.where((frame["city"] == "Lyon") | (frame["age"] > 60), "yes", "no")
numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
columns = ColumnTransformer([
    ("numbers", numbers, make_column_selector(dtype_include=float)),
    ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["city", "plan"]),
]).set_output(transform="pandas")  # fmt: skip
model = make_pipeline(columns, SVC(class_weight="balanced")).fit(frame[:100], target[:100])
prices = TransformedTargetRegressor(make_pipeline(columns, SVR(C=5)), func=np.log, inverse_func=np.exp)
prices.fit(frame[:100], frame["income"][:100])
with sklearn.config_context(enable_metadata_routing=True):
    weights = np.where(target == "yes", 3.0, 1.0)
    machine = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    numbers[-1].set_fit_request(sample_weight=False)
    routed = GridSearchCV(make_pipeline(columns, machine), {"svc__C": [0.1, 10.0]}, cv=3)
    routed.fit(frame, target, sample_weight=weights)
    scores = cross_validate(make_pipeline(columns, machine), frame, target, params={"sample_weight": weights}, cv=3)

found = {
    "labels": model.predict(frame[100:]),
    "decision values": model.decision_function(frame[100:]),
    "names of features": list(model[-1].feature_names_in_),
    "logarithm of the target": np.log(prices.predict(frame[100:])),
    "routed weights: best parameters": routed.best_params_,
    "routed weights: scores": scores["test_score"],
}
