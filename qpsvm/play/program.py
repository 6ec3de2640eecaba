"""A state as a Python program that makes the same result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qpsvm.play.catalogue import KERNELS
from qpsvm.play.machines import MACHINES
from qpsvm.play.request import State


def program(state: State, tol: float, seconds: float) -> str:
    """The program: it runs as it is, and says so where the problem has no solution.

    It solves as the page does, whose time limit rules out some solvers: another one may end at another optimum.
    """
    machine, kernel = MACHINES[state.machine], KERNELS[state.kernel]
    values = {name: None if value == "none" else value for name, value in state.parameters.items()}
    made = {name: value for name, value in state.kernel_parameters.items() if name != "psd"}
    arguments = [*_arguments(values), f"kernel=qpsvm.{kernel.kind.__name__}({', '.join(_arguments(made))})"]
    if state.psd != "raise":
        arguments.append(f"psd={state.psd!r}")
    X, *target = machine.data(state.points, state.labels)
    rows = ",\n".join(f"    {[float(value) for value in row]!r}" for row in X.tolist())
    name = "t" if machine.learnt == "numbers" else "y"
    values_of = [float(value) if name == "t" else int(value) for value in target[0]] if target else []
    samples = f"X, {name}" if target else "X"
    given = f"{name} = np.array({values_of!r})\n" if target else ""
    return f"""import numpy as np

import qpsvm

X = np.array([
{rows},
])
{given}
problem = qpsvm.{machine.kind.__name__}({samples}, {", ".join(arguments)})
result = qpsvm.solve(problem, check=False, tol={tol!r}, time_limit={seconds!r})
print(problem.qp("dual"))
print(result.summary())
"""


def _arguments(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in values.items()]
