"""Scripts written for `sklearn.svm` find the same with one import changed, but for what `docs/guide/moving.md` says."""

from __future__ import annotations

import os
import signal
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import moving
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qpsvm.estimators import SVC

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "moving.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", moving.NAMES)
def test_a_script_finds_the_same_but_for_what_the_page_says(name):
    missing = [needed for needed in moving.NEEDS.get(name, []) if find_spec(needed) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    line, different = moving.row(name)
    assert different == {key for script, key in moving.DIFFERENT if script == name}
    assert line in PAGE.splitlines(), "copy it to the page: python tests/tools/moving.py"


def test_the_page_has_a_line_for_each_script_and_no_other():
    table = PAGE.split("|---|---|---|\n", 1)[1].split("\n\n", 1)[0].splitlines()
    titles = [(moving.FOLDER / f"{name}.py").read_text(encoding="utf-8").split('"""')[1] for name in moving.NAMES]
    assert sorted(line.split(" | ")[0].removeprefix("| ") for line in table) == sorted(titles)


@pytest.mark.skipif(os.name == "nt", reason="a process cannot send itself an interrupt there")
def test_ctrl_c_ends_a_search_and_leaves_what_was_fitted():
    """The search, its pipeline and its machine are what the page says: as they were."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 10)), np.arange(3000) % 2
    slow = {"svc__C": [1e4, 1e5], "svc__backend": ["dual_ascent"], "svc__tol": [1e-13]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1.0]}, cv=2).fit(X[:60], y[:60])
    machine = search.best_estimator_[-1]
    before, expected = dict(vars(machine)), search.predict(X[:20])
    search.set_params(param_grid=slow)
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    timer.join()
    assert time.monotonic() - pressed[0] < 20.0  # of two solves that would take minutes
    assert search.best_estimator_[-1] is machine
    assert vars(machine).keys() == before.keys()
    assert all(vars(machine)[name] is value for name, value in before.items())
    assert (search.predict(X[:20]) == expected).all()
