"""Without the compiled core everything works: every machine and estimator, to the same certificate, by NumPy alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from answers import compute_answers

import qpsvm

TOOLS = Path(__file__).parents[1] / "tools"


def test_every_machine_and_estimator_answers_the_same_without_it():
    paths = [str(Path(qpsvm.__file__).parents[1]), str(TOOLS)]
    environment = {**os.environ, "QPSVM_CORE": "numpy", "PYTHONPATH": os.pathsep.join(paths)}
    program = [sys.executable, str(TOOLS / "answers.py")]
    told = json.loads(subprocess.run(program, env=environment, check=True, capture_output=True, text=True).stdout)
    assert told["level"] == "numpy"
    here = compute_answers()
    there = told["answers"]
    assert list(here) == list(there)
    for name, (status, gap, *numbers) in here.items():
        other, its_gap, *its_numbers = there[name]
        assert (status, other) in (("optimal", "optimal"), ("fitted", "fitted")), name
        assert max(gap, its_gap) <= 1e-9, name
        if status == "optimal":  # P and D of either lie within the gap
            assert its_numbers[:2] == pytest.approx(numbers[:2], rel=2e-9), name
        assert its_numbers == pytest.approx(numbers, rel=1e-4, abs=1e-4), name
