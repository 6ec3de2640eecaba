"""Scripts written for `sklearn.svm`, run as they are and with one import changed: what is the same, what is not.

The scripts are `tests/estimators/moving/*.py`: each is what a notebook does, and leaves what it found by name. A script
is moved by writing `qpsvm.estimators` where it says `sklearn.svm`. `python tests/tools/moving.py` prints the table of
`docs/guide/moving.md`.
"""

from __future__ import annotations

import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from qpsvm import UnsupportedError

FOLDER = Path(__file__).resolve().parents[1] / "estimators" / "moving"
#: Numbers are the same where they differ by this share of the largest, or of 1: scikit-learn stops at tol=1e-3.
SHARE = 0.02
THERE, HERE = "sklearn.svm", "qpsvm.estimators"
#: What a script needs beside the one import.
MORE = {"onnx_file": "from qpsvm.estimators import register_onnx\n\nregister_onnx()\n"}


def run(name: str, moved: bool) -> dict[str, Any]:
    """What a script finds, with the one import as it stands or changed; nothing where this library refuses it."""
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert source.count(f"from {THERE} import") == 1
    if moved:
        source = MORE.get(name, "") + source.replace(f"from {THERE} import", f"from {HERE} import")
    module = types.ModuleType(f"moving_{name}")
    sys.modules[module.__name__] = module  # where a pickle looks for the functions of a script
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, str(FOLDER / f"{name}.py"), "exec"), vars(module))
        except UnsupportedError:
            return {}
        finally:
            del sys.modules[module.__name__]
    return dict(module.found)


def is_same(ours: Any, theirs: Any) -> bool:
    """Say whether words, counts, shapes and labels are equal, and other numbers up to `SHARE`."""
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(is_same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return False
    if b.dtype.kind != "f":
        return bool((a == b).all())
    return bool(np.abs(a - b).max() <= SHARE * max(1.0, float(np.abs(b).max())))


#: What is known to differ, and why: nothing else may.
DIFFERENT = {
    (
        "calibrated",
        "probability=True: probabilities",
    ): "[other curves](probabilities.md), of folds that are not random",
    ("defaults", "decision values"): "the intercept is free; `intercept_scaling=1` asks for scikit-learn's problem",
    ("numbers", "novelty: share outside"): "samples on the boundary are inside, so that at most ν of them are outside",
    ("skops_file", "types to trust"): "skops knows scikit-learn's types, and asks for these",
}
#: Packages that a script needs and the tests do not install.
NEEDS = {"skops_file": ["skops"], "onnx_file": ["skl2onnx", "onnxruntime"]}
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def row(name: str) -> tuple[str, set[str]]:
    """The line of the table for a script, and the names of what differs in it."""
    theirs, ours = run(name, moved=False), run(name, moved=True)
    different = {key for key in theirs if key not in ours or not is_same(ours[key], theirs[key])}
    reasons: dict[str, list[str]] = {}
    for key in sorted(different):
        reasons.setdefault(DIFFERENT.get((name, key), "?"), []).append(key)
    notes = [f"{', '.join(keys)}: {reason}" for reason, keys in reasons.items()]
    notes += ["one more line, `register_onnx()`"] * (name in MORE)
    title = (FOLDER / f"{name}.py").read_text(encoding="utf-8").split('"""')[1]
    return f"| {title} | {len(theirs) - len(different)} of {len(theirs)} | {'; '.join(notes) or '–'} |", different


if __name__ == "__main__":
    for each in sys.argv[1:] or NAMES:
        print(row(each)[0])
