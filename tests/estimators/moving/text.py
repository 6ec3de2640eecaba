"""Text: TF-IDF, hashed words, sparse rows"""

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.svm import SVC, LinearSVC

rng = np.random.default_rng(0)
TOPICS = {"sport": "ball team goal match league win", "space": "orbit moon rocket star launch probe",
          "food": "salt oven bread sauce flour taste"}  # fmt: skip
COMMON = "the a of with and today people small great time"
documents, labels = [], []
for number in range(120):
    topic = list(TOPICS)[number % 3]
    words = [
        *rng.choice(TOPICS[topic].split(), 4),
        *rng.choice(COMMON.split(), 6),
        *rng.choice(TOPICS["food"].split(), 2),
    ]
    documents.append(" ".join(words))
    labels.append(topic)
train, test, y_train = documents[:90], documents[90:], labels[:90]

pipeline = Pipeline(
    [("count", CountVectorizer()), ("tfidf", TfidfTransformer()), ("svm", LinearSVC(intercept_scaling=1))]
)
grid = {"count__ngram_range": [(1, 1), (1, 2)], "tfidf__use_idf": [True, False], "svm__C": [0.1, 1.0]}
search = GridSearchCV(pipeline, grid, cv=3).fit(train, y_train)
simple = make_pipeline(TfidfVectorizer(), LinearSVC(intercept_scaling=1)).fit(train, y_train)
hashed = make_pipeline(HashingVectorizer(n_features=2**10), SVC(kernel="linear")).fit(train, y_train)
both = FeatureUnion([("words", TfidfVectorizer()), ("letters", TfidfVectorizer(analyzer="char", ngram_range=(2, 2)))])
joined = make_pipeline(both, SVC(C=10)).fit(train, y_train)
words = simple[0].get_feature_names_out()

found = {
    "best parameters": search.best_params_,
    "labels": search.predict(test),
    "telling words": [words[row].tolist() for row in np.argsort(simple[-1].coef_)[:, -3:]],
    "hashed: labels": hashed.predict(test),
    "hashed: values": hashed.decision_function(test),
    "joined: labels": joined.predict(test),
    "support vectors are sparse": sp.issparse(joined[-1].support_vectors_),
    "coef_ is sparse": sp.issparse(hashed[-1].coef_),
}
