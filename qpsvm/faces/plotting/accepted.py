"""List which pictures draw which machines, and build the errors for all others (`accepts`).

`GROUPS` are groups of machines that the same pictures support, `PICTURES` the groups that each picture supports.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from qpsvm.base.errors import ParameterTypeError, QPSVMError, UnsupportedError
from qpsvm.machines import SVDD, AllInOneProblem, Problem, QuantileSVR
from qpsvm.machines.problem.problem import check_result_matches
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Linear, Precomputed

TWO_CLASS_PICTURES = ("boundary", "decisions")
#: Keys of `GROUPS`: machines of two classes, regressions, and novelty detection.
CLASSES, NUMBERS, INSIDE = ("hinge", "hard", "curved"), ("tube", "quantile"), ("plane", "ball")
#: The largest number of features that a picture draws without a choice among them.
MAX_FEATURES = {"boundary": 2, "novelty": 2, "regions": 2, "influence": 2, "quantiles": 1}
E = TypeVar("E", bound=QPSVMError)


class MachineGroup(NamedTuple):
    """Machines that the same pictures support: names, what they have in common, and pictures to suggest for them."""

    machines: tuple[str, ...]
    has: str
    pictures: tuple[str, ...]


class PictureScope(NamedTuple):
    """What a picture draws, and the groups of machines that it supports."""

    draws: str
    groups: tuple[str, ...]


GROUPS = {
    "hinge": MachineGroup(("CSVM", "NuSVM", "PrimalHinge"), "two classes", TWO_CLASS_PICTURES),
    "hard": MachineGroup(("HardMargin",), "two classes and no parameter", TWO_CLASS_PICTURES),
    "curved": MachineGroup(("SquaredHinge", "HuberHinge"), "two classes and a curved loss", TWO_CLASS_PICTURES),
    "several": MachineGroup(("CrammerSinger", "WestonWatkins"), "several classes", ("boundary", "complementarity")),
    "tube": MachineGroup(("EpsilonSVR", "NuSVR"), "numbers as target", ("tube",)),
    "quantile": MachineGroup(("QuantileSVR",), "numbers as target", ("tube",)),
    "plane": MachineGroup(("OneClass",), "no classes, but an inside and an outside", ("novelty", "decisions")),
    "ball": MachineGroup(("SVDD",), "no classes, but an inside and an outside", ("novelty", "decisions")),
    "ranking": MachineGroup(("Ranking",), "pairs of samples", ("complementarity",)),
}
#: The pictures of a machine and its result, by the names of their functions.
PICTURES = {
    "boundary": PictureScope("where classes end, or the inside", (*CLASSES, "several", *INSIDE)),
    "novelty": PictureScope("the inside and the outside of samples without classes", INSIDE),
    "decisions": PictureScope("how f is spread over two classes, or inside and outside", (*CLASSES, *INSIDE)),
    "regions": PictureScope("which class is predicted where", (*CLASSES, "several", *INSIDE)),
    "tube": PictureScope("the curve of a regression", NUMBERS),
    "quantiles": PictureScope("several quantiles, each a QuantileSVR", ("quantile",)),
    "hulls": PictureScope(
        "the closest points of the hulls of two classes, which a hinge or a hard margin looks for", ("hinge", "hard")
    ),
    "multipliers": PictureScope("the dual variables", tuple(GROUPS)),
    "complementarity": PictureScope("dual variables against margins or residuals", tuple(GROUPS)),
    "duality": PictureScope("primal and dual values", tuple(GROUPS)),
    "path": PictureScope(
        "what changes with a parameter such as C", tuple(group for group in GROUPS if group != "hard")
    ),
    "influence": PictureScope("how far f moves without each sample", (*CLASSES, *NUMBERS, "plane")),
}


def find_group(problem: Problem) -> str:
    """Return the group of a machine by its properties, so that user-defined machines have one, too."""
    if isinstance(problem, AllInOneProblem):
        return "several"
    if problem._target_kind == "labels":
        return "curved" if problem._dual_structure.has_curvature else "hinge" if problem._hyperparameters else "hard"
    if problem._target_kind == "numbers":
        return "quantile" if isinstance(problem, QuantileSVR) else "tube"
    return "ranking" if problem._target_kind == "ranks" else "ball" if isinstance(problem, SVDD) else "plane"


def accepts(name: str, problem: Problem) -> bool:
    """Return whether the picture of this name supports a problem and its result without further arguments."""
    d, kernel = int(problem.X.shape[1]), problem.kernel
    if name == "hulls" and not (isinstance(kernel, Linear) and d == 2 and problem.intercept == "free"):
        return False
    if name in MAX_FEATURES and (isinstance(kernel, Precomputed) or d > MAX_FEATURES[name]):
        return False
    return find_group(problem) in PICTURES[name].groups


def suggest_alternative(name: str, problem: Problem, *first: str) -> str:
    """Return the end of an error message: a picture that supports this problem, preferably one of `first`."""
    candidates = (*first, *GROUPS[find_group(problem)].pictures, "multipliers")
    other = next(each for each in candidates if each != name and accepts(each, problem))
    return f"plotting.{other}(problem, result) draws it"


def build_refusal(name: str, problem: Problem, why: str = "") -> UnsupportedError:
    """Build the error of a picture that does not support a problem; it names one that does."""
    kind, has = type(problem).__name__, GROUPS[find_group(problem)].has
    reason = why or f"{name} draws {PICTURES[name].draws}, and {kind} has {has}"
    return UnsupportedError(f"{reason}; {suggest_alternative(name, problem)}")


def check_picture(name: str, problem: Problem, result: SVMResult) -> None:
    """Check that a picture draws a machine, and that the result is one of the problem.

    Raises UnsupportedError, ParameterTypeError, DataError.
    """
    check_machine(name, problem)
    check_result_matches(problem, result)


def check_machine(name: str, problem: Problem) -> None:
    """Check that a picture draws a machine. Raises UnsupportedError, ParameterTypeError."""
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"a problem such as CSVM(X, y) comes first, got {type(problem).__name__}")
    if find_group(problem) not in PICTURES[name].groups:
        raise build_refusal(name, problem)


def has_margin(problem: Problem) -> bool:
    """Return whether a machine has a margin: it has two classes, and one decision function."""
    return find_group(problem) in CLASSES


def build_margin_refusal(problem: Problem, call: str) -> UnsupportedError:
    """Build the error for the margin of a machine without one; it names a call that draws something else."""
    kind, has = type(problem).__name__, GROUPS[find_group(problem)].has
    return UnsupportedError(f"a margin 2ρ/‖w‖ lies between two classes, and {kind} has {has}; plotting.{call} draws it")


def as_markdown() -> str:
    """Return the table in Markdown: one row per picture, one column per group of machines."""
    head = ["picture", *(", ".join(f"`{name}`" for name in group.machines) for group in GROUPS.values())]
    rows = [head, ["---"] * len(head)]
    for name, scope in PICTURES.items():
        cells = ["drawn" if key in scope.groups else f"→ `{group.pictures[0]}`" for key, group in GROUPS.items()]
        rows.append([f"`{name}`", *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
