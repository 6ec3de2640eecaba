"""Find the steps of every machine, in the module of `steps` with its name (`build_steps`)."""

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
from qpsvm.derivation.source import parse_statements
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import all_in_one, sensitivity
from qpsvm.derivation.steps import linear_constraints as user_rows
from qpsvm.derivation.symbols import SYMBOLS, Meaning
from qpsvm.machines import AllInOneProblem, CrammerSinger, Problem, WestonWatkins, registry
from qpsvm.machines.problem import constraints

#: From a problem's class to the function that lists its steps in order. A subclass has the steps of its parent.
STEPS: dict[type[Problem] | type[AllInOneProblem], Callable[[Any], tuple[Step, ...]]] = {
    **{registry.load_machine(word): import_module(f"qpsvm.derivation.steps.{file}").steps for word,
    (file, _) in registry.FILES.items()}, CrammerSinger: all_in_one.steps, WestonWatkins: all_in_one.steps
}  # fmt: skip


def build_steps(problem: Problem | AllInOneProblem) -> tuple[Step, ...]:
    """Return the steps of a problem in order, each with the statement in the docstring of the machine's module.

    With linear constraints they are those of `_constraint_rows`, whatever the machine. A step of which that docstring
    says nothing keeps the statement that it brings.

    Raises UnsupportedError.
    """
    kind = next((kind for kind in type(problem).__mro__ if kind in STEPS), None)
    if kind is None:
        known = ", ".join(each.__name__ for each in STEPS)
        raise UnsupportedError(f"{type(problem).__name__} has no derivation; those that have one: {known}")
    if isinstance(problem, Problem) and problem.constraints:
        modules = [import_module(STEPS[each].__module__) for each in type(problem).__mro__ if each in STEPS]
        own = next(module.argument for module in modules if hasattr(module, "argument"))
        found, says = user_rows.steps(problem, own(problem)), parse_statements(constraints)
    else:
        found, says = STEPS[kind](problem), parse_statements(inspect.getmodule(kind))
    says = says | parse_statements(sensitivity)
    return tuple(
        _make_picklable(replace(step, statement=says.get(step.tag, step.statement)), problem) for step in found
    )


def collect_meanings(problem: Problem | AllInOneProblem) -> dict[str, Meaning]:
    """Collect the meanings of the symbols of a problem's equations."""
    kinds = [kind for kind in reversed(type(problem).__mro__) if kind in STEPS]
    found = dict(SYMBOLS)
    for kind in kinds:
        found |= getattr(import_module(STEPS[kind].__module__), "SYMBOLS", {})
    if isinstance(problem, Problem) and problem.constraints:
        found |= user_rows.build_meanings(problem)
    return found | {name: found.pop(name) for name in ("L", "P", "D")}  # these last


def _make_picklable(step: Step, problem: Problem | AllInOneProblem) -> Step:
    """Return the step with an equation that can be pickled."""
    if not isinstance(step.measure, Equation):
        return step
    rooted = replace(step.measure, origin=partial(find_equation, problem, step.tag))
    return replace(step, measure=rooted, function=rooted if step.function is step.measure else step.function)


def find_equation(problem: Problem | AllInOneProblem, tag: str) -> Any:
    """Return the equation of a step."""
    return next(step.measure for step in build_steps(problem) if step.tag == tag)


def select_steps(steps: tuple[Step, ...], tags: Sequence[str], where: str) -> tuple[Step, ...]:
    """Return the steps with these tags, in the order of the argument.

    Raises UnknownOptionError, ParameterTypeError.
    """
    known = {step.tag: step for step in steps}
    for tag in tags:
        if not isinstance(tag, str):
            raise ParameterTypeError(
                f"a step is chosen by its tag, such as {steps[0].tag!r}, got {format_value(tag)} of type "
                f"{type(tag).__name__}; derivation.steps is a tuple, for numbers and slices"
            )
        if tag.strip("()") not in known:
            raise UnknownOptionError(f"no step {tag.strip('()')!r} {where}; {describe_nearest(tag.strip('()'), known)}")
    wanted = {tag.strip("()") for tag in tags}
    return tuple(step for tag, step in known.items() if tag in wanted)
