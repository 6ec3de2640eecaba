"""List which pictures draw which machines, and build the errors for all others (`accepts`, `check_picture`).

`GROUPS` are groups of machines that the same pictures support, and `PICTURES` lists the groups for each picture. A
picture is called by the name of its function in `qpsvm.plotting`.
"""

from __future__ import annotations

from typing import NamedTuple

from qpsvm.base.errors import ParameterTypeError, UnsupportedError
from qpsvm.machines import SVDD, AllInOneProblem, Problem, QuantileSVR
from qpsvm.machines.problem.problem import check_result_matches
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Linear, Precomputed

TWO_CLASS_PICTURES = ("boundary", "decisions")
#: Keys of `GROUPS`: machines with two classes, regressions, and novelty detection.
TWO_CLASSES, REGRESSIONS, NOVELTY = ("hinge", "hard", "curved"), ("tube", "quantile"), ("plane", "ball")
#: The largest number of features of a problem that a picture draws without the argument that chooses features.
MAX_FEATURES = {"boundary": 2, "novelty": 2, "regions": 2, "influence": 2, "quantiles": 1}


class MachineGroup(NamedTuple):
    """Machines that the same pictures support.

    machines: The names of their classes.
    target: What their samples have, as the object of a sentence in an error: "CSVM has two classes".
    suggested: Pictures that an error suggests instead, the best one first.
    """

    machines: tuple[str, ...]
    target: str
    suggested: tuple[str, ...]


class PictureScope(NamedTuple):
    """What a picture draws, as the object of a sentence in an error, and the groups that it supports."""

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
#: The pictures of a machine and its result, by name.
PICTURES = {
    "boundary": PictureScope("where classes end, or the inside", (*TWO_CLASSES, "several", *NOVELTY)),
    "novelty": PictureScope("the inside and the outside of samples without classes", NOVELTY),
    "decisions": PictureScope("how f is spread over two classes, or inside and outside", (*TWO_CLASSES, *NOVELTY)),
    "regions": PictureScope("which class is predicted where", (*TWO_CLASSES, "several", *NOVELTY)),
    "tube": PictureScope("the curve of a regression", REGRESSIONS),
    "quantiles": PictureScope("several quantiles, each a QuantileSVR", ("quantile",)),
    "hulls": PictureScope(
        "the closest points of the hulls of two classes, which a hinge or a hard margin looks for", ("hinge", "hard")
    ),
    "multipliers": PictureScope("the dual variables", tuple(GROUPS)),
    "complementarity": PictureScope("dual variables against margins or residuals", tuple(GROUPS)),
    "duality": PictureScope("primal and dual values", tuple(GROUPS)),
    "path": PictureScope("what changes with a parameter such as C", tuple(key for key in GROUPS if key != "hard")),
    "influence": PictureScope("how far f moves without each sample", (*TWO_CLASSES, *REGRESSIONS, "plane")),
}


def find_group(problem: Problem) -> str:
    """Find the key of a machine in `GROUPS` by its properties, so that user-defined machines have one, too."""
    if isinstance(problem, AllInOneProblem):
        return "several"
    if problem._target_kind == "labels":
        if problem._dual_structure.has_curvature:
            return "curved"
        if problem._hyperparameters:
            return "hinge"
        return "hard"
    if problem._target_kind == "numbers":
        return "quantile" if isinstance(problem, QuantileSVR) else "tube"
    if problem._target_kind == "ranks":
        return "ranking"
    if isinstance(problem, SVDD):
        return "ball"
    return "plane"


def accepts(name: str, problem: Problem) -> bool:
    """Return whether the picture of this name supports a problem and its result without further arguments."""
    d = int(problem.X.shape[1])
    kernel = problem.kernel
    if name == "hulls" and not (isinstance(kernel, Linear) and d == 2 and problem.intercept == "free"):
        return False
    if name in MAX_FEATURES and (isinstance(kernel, Precomputed) or d > MAX_FEATURES[name]):
        return False
    return find_group(problem) in PICTURES[name].groups


def suggest_alternative(name: str, problem: Problem, *preferred: str) -> str:
    """Return the end of an error message: another picture that supports the problem, `preferred` ones first."""
    candidates = (*preferred, *GROUPS[find_group(problem)].suggested, "multipliers")
    other = next(picture for picture in candidates if picture != name and accepts(picture, problem))
    return f"plotting.{other}(problem, result) draws it"


def build_refusal(name: str, problem: Problem, why: str = "") -> UnsupportedError:
    """Build the error of a picture that does not support a problem; the message suggests one that does.

    why: The reason; "" for the default, that the picture draws something else than the machine has.
    """
    machine = type(problem).__name__
    target = GROUPS[find_group(problem)].target
    reason = why or f"{name} draws {PICTURES[name].draws}, and {machine} has {target}"
    return UnsupportedError(f"{reason}; {suggest_alternative(name, problem)}")


def check_picture(name: str, problem: Problem, result: SVMResult) -> None:
    """Check that a picture draws a machine, and that the result belongs to the problem.

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
    """Return whether a machine has a margin, that is two classes and one decision function."""
    return find_group(problem) in TWO_CLASSES


def build_margin_refusal(problem: Problem, call: str) -> UnsupportedError:
    """Build the error for the margin of a machine without one; the message suggests another `call`."""
    machine = type(problem).__name__
    target = GROUPS[find_group(problem)].target
    return UnsupportedError(
        f"a margin 2ρ/‖w‖ lies between two classes, and {machine} has {target}; plotting.{call} draws it"
    )


def as_markdown() -> str:
    """Return the table of the guide in Markdown: one row per picture, one column per group of machines."""
    head = ["picture", *(", ".join(f"`{name}`" for name in group.machines) for group in GROUPS.values())]
    rows = [head, ["---"] * len(head)]
    for name, scope in PICTURES.items():
        cells = ["drawn" if key in scope.groups else f"→ `{group.suggested[0]}`" for key, group in GROUPS.items()]
        rows.append([f"`{name}`", *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
