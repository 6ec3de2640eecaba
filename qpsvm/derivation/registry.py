"""Find the steps of a machine's derivation (`build_steps`), which are in a module of `steps` named after it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import ParameterTypeError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.derivation.expressions import Equation
from qpsvm.derivation.source import parse_equations
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import all_in_one, sensitivity
from qpsvm.derivation.steps import linear_constraints as constraint_steps
from qpsvm.derivation.symbols import SYMBOLS, Meaning
from qpsvm.machines import CrammerSinger, Problem, WestonWatkins, registry
from qpsvm.machines.problem import constraints

#: The function of each class of problems that builds its steps in order. A subclass has the steps of its parent.
STEPS: dict[type[Problem], Callable[[Any], tuple[Step, ...]]] = {
    **{
        registry.load_machine(name): import_module(f"qpsvm.derivation.steps.{file}").steps
        for name, (file, _) in registry.MACHINES.items()
    },
    CrammerSinger: all_in_one.steps,
    WestonWatkins: all_in_one.steps,
}


def build_steps(problem: Problem) -> tuple[Step, ...]:
    """Build the steps of a problem in order, each with its statement in the docstring of the machine's module.

    With linear constraints, the steps are those of `linear_constraints` for every machine. A step that the docstring
    does not mention keeps its own statement.

    Raises UnsupportedError.
    """
    kinds = [kind for kind in type(problem).__mro__ if kind in STEPS]
    if not kinds:
        supported = ", ".join(kind.__name__ for kind in STEPS)
        raise UnsupportedError(f"{type(problem).__name__} has no derivation; those that have one: {supported}")
    if problem.constraints:
        modules = [import_module(STEPS[kind].__module__) for kind in kinds]
        build_terms = next(module.build_terms for module in modules if hasattr(module, "build_terms"))
        steps = constraint_steps.steps(problem, build_terms(problem))
        statements = parse_equations(constraints)
    else:
        steps = STEPS[kinds[0]](problem)
        statements = parse_equations(inspect.getmodule(kinds[0]))
    statements = statements | parse_equations(sensitivity)
    return tuple(
        _make_picklable(replace(step, statement=statements.get(step.tag, step.statement)), problem) for step in steps
    )


def collect_meanings(problem: Problem) -> dict[str, Meaning]:
    """Collect the meanings of the symbols of a problem's equations; L, P and D are the last."""
    meanings = dict(SYMBOLS)
    for kind in [kind for kind in reversed(type(problem).__mro__) if kind in STEPS]:
        meanings |= getattr(import_module(STEPS[kind].__module__), "SYMBOLS", {})
    if problem.constraints:
        meanings |= constraint_steps.build_meanings(problem)
    return meanings | {name: meanings.pop(name) for name in ("L", "P", "D")}


def _make_picklable(step: Step, problem: Problem) -> Step:
    """Return the step with an equation that is pickled as a call of `find_equation`: its functions cannot be."""
    if not isinstance(step.measure, Equation):
        return step
    equation = replace(step.measure, origin=partial(find_equation, problem, step.tag))
    return replace(step, measure=equation, function=equation if step.function is step.measure else step.function)


def find_equation(problem: Problem, tag: str) -> Any:
    """Find the equation of a problem's step by its tag."""
    return next(step.measure for step in build_steps(problem) if step.tag == tag)


def select_steps(steps: tuple[Step, ...], tags: Sequence[str], where: str) -> tuple[Step, ...]:
    """Return the steps with these tags, in the order of `steps`.

    where: The place of the steps, for the message about a tag that is not among them.

    Raises UnknownOptionError, ParameterTypeError.
    """
    steps_by_tag = {step.tag: step for step in steps}
    for tag in tags:
        if not isinstance(tag, str):
            raise ParameterTypeError(
                f"a step is chosen by its tag, such as {steps[0].tag!r}, got {format_value(tag)} of type "
                f"{type(tag).__name__}; derivation.steps is a tuple, for numbers and slices"
            )
        name = tag.strip("()")
        if name not in steps_by_tag:
            raise UnknownOptionError(f"no step {name!r} {where}; {describe_nearest(name, steps_by_tag)}")
    selected = {tag.strip("()") for tag in tags}
    return tuple(step for tag, step in steps_by_tag.items() if tag in selected)
