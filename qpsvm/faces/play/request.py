"""Read a request of the page, and check every key, type, size and range (`read_request`).

Nothing from a page is used before it has been checked here. Errors name the faulty field, as in "state.labels[3]".
`write_program` writes a Python program that solves the problem of a state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.play import backend_catalogue
from qpsvm.faces.play.checks import RequestError, as_choice, as_integer, as_items, as_number, as_number_list, as_object
from qpsvm.faces.play.kernel_catalogue import KERNELS
from qpsvm.faces.play.machine_catalogue import MACHINES, count_dual_variables, has_labels
from qpsvm.faces.play.page_parameters import read_settings
from qpsvm.machines import Problem

#: Limits of a state: the number of samples, and of all their coordinates together.
MAX_POINTS, MAX_NUMBERS = 1000, 20_000
#: The largest absolute value of a coordinate, so that polynomial kernels do not overflow.
LARGEST_COORDINATE = 1e9
#: The largest absolute value of an α of the user.
LARGEST_ALPHA = 1e15
#: Largest absolute value of an id: JavaScript represents all integers up to it exactly.
LARGEST_ID = 2**53
#: Number of grid points along each side of the plane at which f is evaluated: limits and default.
MIN_TICKS, MAX_TICKS, DEFAULT_TICKS = 8, 96, 56
#: The parts of an answer to "solve" that a request may ask for; by default all.
SHOWN_PARTS = ("plane", "qp", "derivation")
#: The kinds of requests, and the keys of each besides "id" and "ask".
KEYS = {
    "catalogue": (),
    "solve": ("state", "box", "grid", "show", "alpha"),
    "steps": ("state",),  # the equations of the derivation
    "run": ("state", "solver"),  # the iterations of one solver
    "path": ("state",),  # the optimum for every value of a parameter
    "without": ("state", "sample", "box", "grid"),  # the solution without one sample
    "program": ("state",),  # `write_program`
}


@dataclass(frozen=True, eq=False)
class PageState:
    """The samples, machine and kernel that the user of the page has chosen.

    points (n, d): The samples. For a regression the last coordinate is the target, and the vertical axis of the plane.
    labels (n,): −1 and +1; unused by a machine without classes.
    axes: The two coordinates that the plane shows.
    machine, kernel: Names in the catalogue.
    parameters, kernel_parameters: All parameters, defaults included.
    """

    points: FloatArray
    labels: FloatArray
    axes: tuple[int, int] = (0, 1)
    machine: str = "c"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    kernel: str = "linear"
    kernel_parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def psd(self) -> str:
        """The treatment of an indefinite Gram matrix."""
        return str(self.kernel_parameters.get("psd", "raise"))

    def build_problem(self, classes: Sequence[Any] | NDArray[Any] = (-1, 1)) -> Problem:
        """Build the problem, with `classes` as the names of the labels −1 and +1. Raises RequestError, QPSVMError."""
        if not has_labels(self.machine) and not len(self.points):
            raise RequestError("there is no sample: add one", "state.points")
        for label in (1, -1) if has_labels(self.machine) else ():
            if not (self.labels == label).any():
                raise RequestError(
                    f"class {label:+d} has no point: add one, or flip one of the other class", "state.labels"
                )
        kernel = KERNELS[self.kernel].build_kernel(self.kernel_parameters)
        y = np.asarray(classes)[(self.labels > 0).astype(int)]
        return MACHINES[self.machine].build_problem(self.points, y, self.parameters, kernel, self.psd)

    def to_json(self) -> dict[str, Any]:
        """Return the state in the format of the page."""
        return {
            "points": self.points.tolist(), "labels": [int(label) for label in self.labels], "axes": list(self.axes),
            "machine": self.machine, "parameters": dict(self.parameters),
            "kernel": {"name": self.kernel, **self.kernel_parameters},
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class PageRequest:
    """A request of the page: a state, and what to compute about it.

    id: Is repeated in the answer.
    ask: A key of `KEYS`.
    state: None for requests without a state.
    box: The part of the plane that is shown; None to choose it around the points.
    grid: Number of grid points along each side of the plane.
    show: Some of `SHOWN_PARTS`.
    alpha (m,): The user's α, to be certified instead of solving the problem; None to solve.
    solver: The solver to run; "" if `ask` is not "run".
    sample: The index of the sample to leave out, if `ask` is "without".
    """

    id: int
    ask: str
    state: PageState | None = None
    box: tuple[float, float, float, float] | None = None
    grid: int = DEFAULT_TICKS
    show: tuple[str, ...] = SHOWN_PARTS
    alpha: FloatArray | None = None
    solver: str = ""
    sample: int = 0


def read_request(message: Any) -> PageRequest:
    """Check a message, and convert it to a request. Raises RequestError."""
    known = {"id", "ask"}.union(*KEYS.values())
    values = as_object(message, "the request", sorted(known), required=("id", "ask"))
    request_id = as_integer(values.pop("id"), "id", -LARGEST_ID, LARGEST_ID)
    ask = as_choice(values.pop("ask"), "ask", KEYS)
    unknown = next((key for key in values if key not in KEYS[ask]), None)
    if unknown is not None:
        raise RequestError(f"a request for {ask!r} has no key {unknown!r}; leave it out", unknown)
    if ask == "catalogue":
        return PageRequest(request_id, ask)
    if "state" not in values:
        raise RequestError(f"a request for {ask!r} needs the key 'state'", "state")
    state = read_state(values["state"])
    if ask == "run":
        solver = as_choice(values.get("solver"), "solver", backend_catalogue.list_solvers())
        return PageRequest(request_id, ask, state, solver=solver)
    if ask == "without":
        sample = as_integer(values.get("sample", 0), "sample", 0, max(len(state.points) - 1, 0))
        return PageRequest(request_id, ask, state, _read_box(values.get("box")), _read_grid(values), sample=sample)
    if ask != "solve":
        return PageRequest(request_id, ask, state)
    return PageRequest(
        request_id, ask, state, _read_box(values.get("box")), _read_grid(values),
        _read_shown_parts(values.get("show", list(SHOWN_PARTS))), _read_alpha(values.get("alpha"), state),
    )  # fmt: skip


def read_id(message: Any) -> int | None:
    """Return the id of a message that may be invalid otherwise; None if it has none."""
    try:
        if isinstance(message, Mapping):
            return as_integer(message["id"], "id", -LARGEST_ID, LARGEST_ID)
        return None
    except (KeyError, RequestError):
        return None


def read_state(value: Any) -> PageState:
    """Check a state from a page, a URL or a file. Raises RequestError."""
    known = ("points", "labels", "axes", "machine", "parameters", "kernel")
    machine = as_choice(as_object(value, "state", known).get("machine", "c"), "state.machine", MACHINES)
    values = as_object(value, "state", known, required=("points", "labels") if has_labels(machine) else ("points",))
    points = _read_points(values["points"])
    n, d = points.shape
    values.setdefault("labels", [1] * n)
    labels = [
        as_choice(_normalise_label(label), f"state.labels[{i}]", (1, -1))
        for i, label in enumerate(as_items(values["labels"], "state.labels", MAX_POINTS, n))
    ]
    kernel = values.get("kernel", {"name": "linear"})
    kernel = as_object(kernel, "state.kernel", _list_kernel_keys(), required=("name",))
    name = as_choice(kernel.pop("name"), "state.kernel.name", KERNELS)
    return PageState(
        points, np.array(labels, dtype=np.float64), _read_axes(values.get("axes", [0, 1]), d, machine), machine,
        read_settings(MACHINES[machine].parameters, values.get("parameters", {}), "state.parameters"),
        name, read_settings(KERNELS[name].parameters, kernel, "state.kernel"),
    )  # fmt: skip


def _normalise_label(label: Any) -> Any:
    """Convert 1.0, which JSON may have for 1, to an integer."""
    if isinstance(label, float) and label.is_integer():
        return int(label)
    return label


def _list_kernel_keys() -> list[str]:
    """List "name" and the parameters of all kernels; `read_settings` refuses those that a kernel does not have."""
    return ["name", *{p.name: None for each in KERNELS.values() for p in each.parameters}]


def _read_points(value: Any) -> FloatArray:
    """Read the points, (n, d); (0, 2) if there are none."""
    rows = as_items(value, "state.points", MAX_POINTS)
    if not rows:
        return np.zeros((0, 2))
    d = len(as_items(rows[0], "state.points[0]", MAX_NUMBERS))
    if d < 2:
        raise RequestError(f"state.points[0] must have at least 2 numbers, got {d}", "state.points[0]")
    if len(rows) * d > MAX_NUMBERS:
        raise RequestError(
            f"state.points may hold {MAX_NUMBERS} numbers in all, got {len(rows)} rows of {d}", "state.points"
        )
    limits = -LARGEST_COORDINATE, LARGEST_COORDINATE
    return np.array([as_number_list(row, f"state.points[{i}]", d, *limits) for i, row in enumerate(rows)])


def _read_axes(value: Any, d: int, machine: str) -> tuple[int, int]:
    first, second = (
        as_integer(axis, f"state.axes[{i}]", 0, d - 1) for i, axis in enumerate(as_items(value, "state.axes", 2, 2))
    )
    if first == second:
        raise RequestError(f"state.axes must be two different features, got {first} twice", "state.axes")
    if MACHINES[machine].learnt == "numbers" and second != d - 1:
        raise RequestError(f"the vertical axis of a regression is its target, {d - 1}, got {second}", "state.axes[1]")
    return first, second


def _read_box(value: Any) -> tuple[float, float, float, float] | None:
    if value is None:
        return None
    x0, x1, y0, y1 = (
        as_number(end, f"box[{i}]", -10 * LARGEST_COORDINATE, 10 * LARGEST_COORDINATE)
        for i, end in enumerate(as_items(value, "box", 4, 4))
    )
    if not (x0 < x1 and y0 < y1):
        raise RequestError(f"box must be [x0, x1, y0, y1] with x0 < x1 and y0 < y1, got {format_value(value)}", "box")
    return x0, x1, y0, y1


def _read_alpha(value: Any, state: PageState) -> FloatArray | None:
    """Read the user's α, one number per dual variable."""
    if value is None:
        return None
    count = count_dual_variables(state.machine, len(state.points))
    return np.array(as_number_list(value, "alpha", count, -LARGEST_ALPHA, LARGEST_ALPHA))


def _read_grid(message: Mapping[str, Any]) -> int:
    return as_integer(message.get("grid", DEFAULT_TICKS), "grid", MIN_TICKS, MAX_TICKS)


def _read_shown_parts(value: Any) -> tuple[str, ...]:
    items = as_items(value, "show", len(SHOWN_PARTS))
    parts = [as_choice(part, f"show[{i}]", SHOWN_PARTS) for i, part in enumerate(items)]
    return tuple(dict.fromkeys(parts))  # without repetition


def write_program(state: PageState, tol: float, seconds: float) -> str:
    """Write a program that builds and solves the problem of a state, and prints the dual and the result.

    The program solves with the page's `tol` and time limit, because the default solver depends on them, and another
    solver may find another optimum.
    """
    machine, kernel = MACHINES[state.machine], KERNELS[state.kernel]
    parameters = {name: None if value == "none" else value for name, value in state.parameters.items()}
    kernel_parameters = {name: value for name, value in state.kernel_parameters.items() if name != "psd"}
    arguments = [
        *_format_arguments(parameters),
        f"kernel=qpsvm.{kernel.kind.__name__}({', '.join(_format_arguments(kernel_parameters))})",
    ]
    if state.psd != "raise":
        arguments.append(f"psd={state.psd!r}")
    X, *target = machine.build_arguments(state.points, state.labels)
    rows = ",\n".join(f"    {[float(value) for value in row]!r}" for row in X.tolist())
    name = "t" if machine.learnt == "numbers" else "y"
    if target:
        targets = [float(value) if name == "t" else int(value) for value in target[0]]
    else:
        targets = []
    samples = f"X, {name}" if target else "X"
    target_line = f"{name} = np.array({targets!r})\n" if target else ""
    return f"""import numpy as np

import qpsvm

X = np.array([
{rows},
])
{target_line}
problem = qpsvm.{machine.kind.__name__}({samples}, {", ".join(arguments)})
result = qpsvm.solve(problem, check=False, tol={tol!r}, time_limit={seconds!r})
print(problem.qp("dual"))
print(result.summary())
"""


def _format_arguments(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in values.items()]
