"""Which picture draws which machine, and which draws it instead: one table, from which every refusal is made."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from qpsvm.base.errors import ParameterTypeError, QPSVMError, UnsupportedError
from qpsvm.machines import SVDD, JointProblem, Problem, QuantileSVR
from qpsvm.machines.problem.all_in_one import check_joint_pair
from qpsvm.machines.problem.base import check_pair
from qpsvm.space.kernels.functions import Linear, Precomputed


class Group(NamedTuple):
    """Machines that the same pictures draw: their names, what they have, and pictures of them, the best one first."""

    machines: tuple[str, ...]
    has: str
    pictures: tuple[str, ...]


class Row(NamedTuple):
    """What a picture draws, and of which groups of machines."""

    draws: str
    groups: tuple[str, ...]


TWO = ("boundary", "decisions")
GROUPS = {
    "hinge": Group(("CSVM", "NuSVM", "PrimalHinge"), "two classes", TWO),
    "hard": Group(("HardMargin",), "two classes and no parameter", TWO),
    "curved": Group(("SquaredHinge", "HuberHinge"), "two classes and a curved loss", TWO),
    "several": Group(("CrammerSinger", "WestonWatkins"), "several classes", ("boundary", "complementarity")),
    "tube": Group(("EpsilonSVR", "NuSVR"), "numbers as target", ("tube",)),
    "quantile": Group(("QuantileSVR",), "numbers as target", ("tube",)),
    "plane": Group(("OneClass",), "no classes, but an inside and an outside", ("novelty", "decisions")),
    "ball": Group(("SVDD",), "no classes, but an inside and an outside", ("novelty", "decisions")),
    "ranking": Group(("Ranking",), "pairs of samples", ("complementarity",)),
}
CLASSES, NUMBERS, INSIDE = ("hinge", "hard", "curved"), ("tube", "quantile"), ("plane", "ball")
#: The pictures of a machine and its result.
PICTURES = {
    "boundary": Row("where classes end, or the inside", (*CLASSES, "several", *INSIDE)),
    "novelty": Row("the inside and the outside of samples without classes", INSIDE),
    "decisions": Row("how f is spread over two classes, or inside and outside", (*CLASSES, *INSIDE)),
    "regions": Row("which class is predicted where", (*CLASSES, "several", *INSIDE)),
    "tube": Row("the curve of a regression", NUMBERS),
    "quantiles": Row("several quantiles, each a QuantileSVR", ("quantile",)),
    "hulls": Row("the closest points of the hulls of two classes, which a hinge or a hard margin looks for",
                 ("hinge", "hard")),
    "multipliers": Row("the dual variables", tuple(GROUPS)),
    "complementarity": Row("dual variables against what they pay for", tuple(GROUPS)),
    "duality": Row("primal and dual values", tuple(GROUPS)),
    "path": Row("what changes with a parameter such as C", tuple(group for group in GROUPS if group != "hard")),
    "influence": Row("how far f moves without each sample", (*CLASSES, *NUMBERS, "plane")),
}  # fmt: skip
#: Up to how many features are drawn without a choice among them, by pictures that need features.
MOST_FEATURES = {"boundary": 2, "novelty": 2, "regions": 2, "influence": 2, "quantiles": 1}

E = TypeVar("E", bound=QPSVMError)


def group_of(problem: Problem | JointProblem) -> str:
    """The group of a machine, one of a user's too."""
    if isinstance(problem, JointProblem):
        return "several"
    if problem.learns == "labels":
        return "curved" if problem.outlined.curved else "hinge" if problem.own else "hard"
    if problem.learns == "numbers":
        return "quantile" if isinstance(problem, QuantileSVR) else "tube"
    return "ranking" if problem.learns == "ranks" else "ball" if isinstance(problem, SVDD) else "plane"


def accepts(name: str, problem: Problem | JointProblem) -> bool:
    """Whether the picture of a name draws a problem and its result as they are, without further arguments."""
    d, kernel = int(problem.X.shape[1]), problem.kernel
    if name == "hulls" and not (isinstance(kernel, Linear) and d == 2 and problem.intercept == "free"):
        return False
    if name in MOST_FEATURES and (isinstance(kernel, Precomputed) or d > MOST_FEATURES[name]):
        return False
    return group_of(problem) in PICTURES[name].groups


def instead(name: str, problem: Problem | JointProblem, *first: str) -> str:
    """The end of a refusal: a picture that draws this very problem, one of the `first` where it does."""
    listed = (*first, *GROUPS[group_of(problem)].pictures, "multipliers")
    other = next(each for each in listed if each != name and accepts(each, problem))
    return f"plotting.{other}(problem, result) draws it"


def refused(name: str, problem: Problem | JointProblem, why: str = "") -> UnsupportedError:
    """The error that says why a picture does not draw a problem, by default from the table, and which one does."""
    kind, has = type(problem).__name__, GROUPS[group_of(problem)].has
    reason = why or f"{name} draws {PICTURES[name].draws}, and {kind} has {has}"
    return UnsupportedError(f"{reason}; {instead(name, problem)}")


def check_drawn(name: str, problem: Any, result: Any) -> None:
    """That a picture draws a machine, and that the result is one of the problem.

    Raises UnsupportedError, ParameterTypeError, DataError.
    """
    check_machine(name, problem)
    (check_joint_pair if isinstance(problem, JointProblem) else check_pair)(problem, result)


def check_machine(name: str, problem: Any) -> None:
    """That a picture draws a machine. Raises UnsupportedError, ParameterTypeError."""
    if not isinstance(problem, (Problem, JointProblem)):
        raise ParameterTypeError(f"a problem such as CSVM(X, y) comes first, got {type(problem).__name__}")
    if group_of(problem) not in PICTURES[name].groups:
        raise refused(name, problem)


def has_margin(problem: Problem | JointProblem) -> bool:
    """Whether a machine of one decision function has two classes, and so a margin between them."""
    return group_of(problem) in CLASSES


def no_margin(problem: Problem | JointProblem, call: str) -> UnsupportedError:
    """The error where the margin of another machine is asked for; the call draws something else of it."""
    kind, has = type(problem).__name__, GROUPS[group_of(problem)].has
    return UnsupportedError(f"a margin 2ρ/‖w‖ lies between two classes, and {kind} has {has}; plotting.{call} draws it")


def as_markdown() -> str:
    """The table for people: a row for each picture, a column for each group of machines."""
    head = ["picture", *(", ".join(f"`{name}`" for name in group.machines) for group in GROUPS.values())]
    lines = [head, ["---"] * len(head)]
    for name, row in PICTURES.items():
        cells = ["drawn" if key in row.groups else f"→ `{group.pictures[0]}`" for key, group in GROUPS.items()]
        lines.append([f"`{name}`", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
