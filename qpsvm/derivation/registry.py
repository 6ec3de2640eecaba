"""The steps of every machine: those of the file beside this one that has the name of the machine's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from qpsvm.base.errors import UnsupportedError
from qpsvm.derivation.source import statements
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import all_in_one
from qpsvm.derivation.steps import linear_constraints as user_rows
from qpsvm.machines import CrammerSinger, JointProblem, Problem, WestonWatkins, registry
from qpsvm.machines.problem import constraints

#: From a problem's class to the function that lists its steps in order. A subclass has the steps of its parent.
STEPS: dict[type[Problem] | type[JointProblem], Callable[[Any], tuple[Step, ...]]] = {
    **{
        registry.machine(word): import_module(f"qpsvm.derivation.steps.{file}").steps
        for word, (file, _) in registry.FILES.items()
    },
    CrammerSinger: all_in_one.steps,
    WestonWatkins: all_in_one.steps,
}


def steps_of(problem: Problem | JointProblem) -> tuple[Step, ...]:
    """The steps of a problem in order, each with the statement that the docstring of the machine's module defines.

    With rows of a user's they are those of `user_rows`, whatever the machine. A step of which that docstring says
    nothing keeps the statement that it brings.

    Raises UnsupportedError.
    """
    kind = next((kind for kind in type(problem).__mro__ if kind in STEPS), None)
    if kind is None:
        known = ", ".join(each.__name__ for each in STEPS)
        raise UnsupportedError(f"{type(problem).__name__} has no derivation; those that have one: {known}")
    if isinstance(problem, Problem) and problem.constraints:
        own = statements(constraints)
        return tuple(replace(step, statement=own[step.tag]) for step in user_rows.steps(problem))
    says = statements(inspect.getmodule(kind))
    return tuple(replace(step, statement=says.get(step.tag, step.statement)) for step in STEPS[kind](problem))
