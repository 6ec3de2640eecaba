"""Build the initial state of the page, from a scene (`choose_default_start`) or from a problem (`build_start`).

A scene is a state of the page that shows one idea, with three things to try. Scenes are stored with the page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import as_dense
from qpsvm.base.errors import ParameterTypeError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.faces.play.checks import RequestError
from qpsvm.faces.play.kernel_catalogue import KERNELS
from qpsvm.faces.play.machine_catalogue import MACHINES
from qpsvm.faces.play.request import MAX_POINTS, PageState, read_state
from qpsvm.machines import Problem

#: Name of the target of a regression, which is the last coordinate of the page's points.
TARGET = "t"


@dataclass(frozen=True, eq=False)
class Start:
    """The initial state of a page.

    Attributes
    ----------
    state : PageState
        Points, labels, machine, kernel and axes.
    features : tuple of str, or None
        Names of the coordinates of the points; None if they have none.
    classes : (str, str)
        Names of the classes −1 and +1.

    Examples
    --------
    >>> from qpsvm.faces.play.start import build_start
    >>> import qpsvm
    >>> start = build_start(qpsvm.CSVM([[0.0, 0.0], [2.0, 2.0]], ["no", "yes"], C=10))
    >>> print(start.classes, start.state.machine)
    ('no', 'yes') c
    """

    state: PageState
    features: tuple[str, ...] | None = None
    classes: tuple[str, str] = ("-1", "+1")

    def to_json(self) -> dict[str, Any]:
        """Return the start as data for JSON, which the page's catalogue contains.

        Returns
        -------
        dict
            The state, the features and the classes.

        Examples
        --------
        >>> from qpsvm.faces.play.start import choose_default_start
        >>> list(choose_default_start().to_json())
        ['start', 'features', 'classes']
        """
        return {
            "start": self.state.to_json(),
            "features": None if self.features is None else list(self.features),
            "classes": list(self.classes),
        }

    def on_axes(self, names: Sequence[str]) -> Start:
        """Return the start with other axes: two features, by their names or by their numbers from 0.

        Parameters
        ----------
        names : sequence of str
            The features of the horizontal and of the vertical axis.

        Returns
        -------
        Start
            A copy with these axes.

        Raises
        ------
        UnknownOptionError
            There is no such feature; the message names the nearest.

        Examples
        --------
        >>> import qpsvm
        >>> from qpsvm.faces.play.start import build_start
        >>> start = build_start(qpsvm.CSVM([[0.0, 1.0, 0.0], [2.0, 2.0, 5.0]], [0, 1]))
        >>> start.on_axes(["2", "0"]).to_json()["start"]["axes"]
        [2, 0]
        """
        known = list(self.features or map(str, range(self.state.points.shape[1])))
        for name in names:
            if name not in known and not (name.isdecimal() and int(name) < len(known)):
                raise UnknownOptionError(f"no feature {name!r}; {describe_nearest(name, known)}")
        axes = [known.index(name) if name in known else int(name) for name in names]
        return replace(self, state=read_state({**self.state.to_json(), "axes": axes}))


def choose_default_start(machine: str | None = None) -> Start:
    """Return the first scene for the kind of target of `machine`; for classes if the page does not have the machine.

    For a machine whose target is not classes, a scene with exactly this machine is preferred.
    """
    learnt = MACHINES[machine].learnt if machine in MACHINES else "labels"
    suitable = [scene.state for scene in SCENES.values() if MACHINES[scene.state.machine].learnt == learnt]
    preferred = [state for state in suitable if state.machine == machine and learnt != "labels"]
    return Start((preferred or suitable)[0])


def build_start(problem: Problem) -> Start:
    """Build the initial state that shows a problem. Raises ParameterTypeError, UnsupportedError, RequestError."""
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"a page shows a problem such as CSVM(X, y), got {format_value(problem)}")
    machine = next((name for name, choice in MACHINES.items() if type(problem) is choice.kind), None)
    kernel = next((name for name, choice in KERNELS.items() if type(problem.kernel) is choice.kind), None)
    if machine is None or kernel is None:
        if machine is None:
            missing = f"the machine {type(problem).__name__}"
        else:
            missing = f"the kernel {problem.kernel}"
        known = [choice.kind.__name__ for choice in (MACHINES if machine is None else KERNELS).values()]
        raise UnsupportedError(f"the page does not have {missing}; it has {', '.join(known)}")
    learnt = MACHINES[machine].learnt
    _check_page_limits(problem, learnt)
    try:
        state = read_state(_describe_state(problem, machine, kernel))
    except RequestError as error:
        raise RequestError(f"the page cannot show this problem: {error}", error.field) from None
    features = problem.feature_names
    if features is not None and learnt == "numbers":
        features = (*features, TARGET)
    if learnt != "labels":
        return Start(state, features)
    low, high = (str(label) for label in problem.classes)
    return Start(state, features, (low, high))


def _check_page_limits(problem: Problem, learnt: str) -> None:
    """Check that the page can show the samples of a problem. Raises UnsupportedError."""
    n, d = problem.X.shape
    if n > MAX_POINTS:
        raise UnsupportedError(f"the page takes {MAX_POINTS} rows at the most, this problem has {n}: give some of them")
    if d < 2 and learnt != "numbers":  # the target of a regression is a second coordinate
        raise UnsupportedError(
            "the page shows a plane, and this problem has one feature: add a column, of zeros if need be"
        )
    if (problem.sample_weight != 1.0).any():
        raise UnsupportedError("the page does not support sample weights: leave them out")
    if problem.constraints:
        raise UnsupportedError("the page does not support constraints: leave them out")


def _describe_state(problem: Problem, machine: str, kernel: str) -> dict[str, Any]:
    """Return the state of a problem as data for JSON, given the page's names of its machine and its kernel."""
    learnt = MACHINES[machine].learnt
    d = problem.X.shape[1]
    kernel_parameters = {each.name: getattr(problem.kernel, each.name) for each in fields(problem.kernel)}  # type: ignore[arg-type]
    if any(parameter.name == "psd" for parameter in KERNELS[kernel].parameters):
        kernel_parameters["psd"] = problem.psd
    points = as_dense(problem.X)
    if learnt == "numbers":
        points = np.column_stack([points, problem.t])
    return {
        "points": points.tolist(),
        "labels": problem.y.tolist() if learnt == "labels" else [1] * problem.n,
        "axes": [0, d if learnt == "numbers" else 1],
        "machine": machine,
        "parameters": {each.name: _read_parameter(problem, each.name) for each in MACHINES[machine].parameters},
        "kernel": {"name": kernel, **kernel_parameters},
    }


def _read_parameter(problem: Problem, name: str) -> Any:
    """Return a parameter of a problem as the page represents it: one number or name. Raises UnsupportedError."""
    value = getattr(problem, name)
    if value is None:
        return "none"
    if hasattr(value, "__len__") and not isinstance(value, str):
        if not (value == value[0]).all():
            raise UnsupportedError(f"the page has one {name} for all samples, this problem has one for each")
        return float(value[0])
    return value


@dataclass(frozen=True, eq=False)
class Scene:
    """A state with a title, and three lines of text that say what to try."""

    title: str
    tries: tuple[str, str, str]
    state: PageState = field(repr=False)


_SCENES_JSON = files("qpsvm.faces.play").joinpath("page", "scenes.json").read_text(encoding="utf-8")
SCENES: dict[str, Scene] = {
    name: Scene(scene["title"], tuple(scene["tries"]), read_state(scene["state"]))
    for name, scene in json.loads(_SCENES_JSON).items()
}
