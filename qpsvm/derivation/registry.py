"""Which file lists the steps of which machine. A new machine is a line here, and a file of steps beside this one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from qpsvm.base.errors import UnsupportedError
from qpsvm.derivation.source import statements
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import (
    all_in_one as joint,
)
from qpsvm.derivation.steps import (
    c_svm,
    epsilon_svr,
    hard_margin,
    huber_hinge,
    nu_svm,
    nu_svr,
    one_class,
    primal_hinge,
    quantile_svr,
    ranking,
    squared_hinge,
    svdd,
)
from qpsvm.derivation.steps import (
    linear_constraints as user_rows,
)
from qpsvm.machines import (
    CSVM,
    SVDD,
    CrammerSinger,
    EpsilonSVR,
    HardMargin,
    HuberHinge,
    JointProblem,
    NuSVM,
    NuSVR,
    OneClass,
    PrimalHinge,
    Problem,
    QuantileSVR,
    Ranking,
    SquaredHinge,
    WestonWatkins,
)
from qpsvm.machines.problem import (
    constraints,
)

#: From a problem's class to the function that lists its steps in order. A subclass has the steps of its parent.
STEPS: dict[type[Problem] | type[JointProblem], Callable[[Any], tuple[Step, ...]]] = {
    HardMargin: hard_margin.steps,
    CSVM: c_svm.steps,
    NuSVM: nu_svm.steps,
    PrimalHinge: primal_hinge.steps,
    EpsilonSVR: epsilon_svr.steps,
    NuSVR: nu_svr.steps,
    QuantileSVR: quantile_svr.steps,
    OneClass: one_class.steps,
    SVDD: svdd.steps,
    SquaredHinge: squared_hinge.steps,
    HuberHinge: huber_hinge.steps,
    Ranking: ranking.steps,
    CrammerSinger: joint.steps,
    WestonWatkins: joint.steps,
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
