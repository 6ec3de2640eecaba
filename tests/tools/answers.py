"""Compute results of every machine and every estimator as numbers; run as a program, print them as JSON.

Two processes, one with the compiled core and one without it, have to agree up to rounding.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from kinds import ALL, data, fitted, values

import qpsvm
from qpsvm.core import level
from qpsvm.machines.registry import MACHINES, load_machine

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + RNG.normal(scale=0.7, size=60) > 0.2
TARGETS = {"labels": Y, "numbers": X @ [1.0, 2.0, 3.0] + RNG.normal(size=60), "ranks": np.arange(60) % 3}
KERNELS = ("linear", qpsvm.RBF(0.5))


def build_problem(word: str, kernel: Any) -> Any:
    """Build a machine of the registry: a ranking over fewer samples, since its pairs are many."""
    kind = load_machine(word)
    n = 20 if word == "ranking" else 60
    rows = X[:n] + (4.0 * (2.0 * Y - 1.0)[:n, None] if word == "hard" else 0.0)
    given = () if kind._target_kind == "none" else (TARGETS[kind._target_kind][:n],)
    own = {"nu": 0.58} if "nu" in kind._hyperparameters else {}  # no whole number of samples, so that b is unique
    return kind(rows, *given, kernel=kernel, **own)


def compute_answers() -> dict[str, Any]:
    """Return by name: the status, the gap, the certified objectives, and f at ten samples."""
    found: dict[str, Any] = {}
    problems = {f"{word} {kernel}": build_problem(word, kernel) for word in MACHINES for kernel in KERNELS}
    label = np.arange(60) % 3
    for kind in (qpsvm.CrammerSinger, qpsvm.WestonWatkins):
        problems |= {f"{kind.__name__} {kernel}": kind(X + label[:, None], label, kernel=kernel) for kernel in KERNELS}
    for name, each in problems.items():
        result = qpsvm.solve(each, tol=1e-9)
        f = np.ravel(result.decision_function(each.X[:10]))
        found[name] = [str(result.status), result.gap, result.primal, result.dual, *f.tolist()]
    for kind in ALL:
        f = values(fitted(kind, tol=1e-9), np.asarray(data(kind)[0][:10]))
        found[kind.__name__] = ["fitted", 0.0, *np.ravel(f).tolist()]
    return found


if __name__ == "__main__":
    print(json.dumps({"level": level(), "answers": compute_answers()}))
