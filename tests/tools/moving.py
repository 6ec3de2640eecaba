"""Run scripts written for `sklearn.svm` as they are and with one import changed, and compare what they find.

The scripts are `tests/estimators/moving/*.py`: each does what a notebook would do, and leaves its findings by name in
`found`. A script is moved by writing `qpsvm.estimators` in place of `sklearn.svm`. `python tests/tools/moving.py`
prints the table of `docs/guide/moving.md`.
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
#: Tolerance of numbers, relative to the largest or 1: scikit-learn stops at tol=1e-3.
SHARE = 0.02
THERE, HERE = "sklearn.svm", "qpsvm.estimators"
#: Lines that a moved script needs besides the changed import.
MORE = {"onnx_file": "from qpsvm.estimators import register_onnx\n\nregister_onnx()\n"}


def run_script(name: str, moved: bool) -> dict[str, Any]:
    """Run a script, moved or not, and return its findings; nothing if this library refuses it."""
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert source.count(f"from {THERE} import") == 1
    if moved:
        source = MORE.get(name, "") + source.replace(f"from {THERE} import", f"from {HERE} import")
    module = types.ModuleType(f"moving_{name}")
    sys.modules[module.__name__] = module  # pickle looks up the functions of a script there
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
    """Say whether text, counts, shapes and labels are equal, and floats equal up to `SHARE`."""
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


#: The known differences and their reasons; nothing else may differ.
DIFFERENT = {
    (
        "calibrated",
        "probability=True: probabilities",
    ): "[other curves](probabilities.md), of folds that are not random",
    ("defaults", "decision values"): "the intercept is free; `intercept_scaling=1` asks for scikit-learn's problem",
    ("numbers", "novelty: share outside"): "samples on the boundary are inside, so that at most ν of them are outside",
    ("skops_file", "types to trust"): "skops knows scikit-learn's types, and asks for these",
}
#: Packages that a script needs, and that the tests do not install.
NEEDS = {"skops_file": ["skops"], "onnx_file": ["skl2onnx", "onnxruntime"]}
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def build_table_row(name: str) -> tuple[str, set[str]]:
    """Return the line of the table for a script, and the names of the findings that differ."""
    theirs, ours = run_script(name, moved=False), run_script(name, moved=True)
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
        print(build_table_row(each)[0])
