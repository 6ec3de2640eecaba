"""Nothing that a page sends is trusted: each wrong part is named in a sentence, and nothing makes `reply` raise."""

from __future__ import annotations

import copy
import math
import sys
from typing import Any

import numpy as np
from asking import PAIRS, USABLE, ask, check_answer, make_state
from each import for_each
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qpsvm.faces.play import kernel_catalogue, machine_catalogue, reply
from qpsvm.faces.play.request import KEYS, LARGEST_COORDINATE, MAX_POINTS, read_state


def request(**changed: Any) -> dict[str, Any]:
    return {"id": 1, "ask": "solve", "state": make_state(), **changed}


def with_state(**changed: Any) -> dict[str, Any]:
    return request(state={**make_state(), **changed})


def sentence(message: Any, field: str | None) -> str:
    """The error that a message is answered with; it names the field."""
    answer = reply(message)
    check_answer(answer)
    assert "error" in answer, answer
    assert answer["error"]["field"] == field, answer["error"]
    return str(answer["error"]["sentence"])


@for_each("message", [None, [], "solve", 3, True, {}, {"id": 1}, {"ask": "solve"}, b"x", {1: 2}])
def test_what_is_no_request_is_refused(message):
    answer = reply(message)
    check_answer(answer)
    assert "error" in answer
    assert answer["id"] == (1 if message == {"id": 1} else None)


@for_each("number", ["7", 1.5, True, None, [1], 10**400, math.nan, math.inf, 2**54])
def test_an_id_is_a_whole_number(number):
    answer = reply(request(id=number))
    check_answer(answer)
    assert answer["id"] is None
    assert answer["error"]["field"] == "id"


def test_unknown_names_come_with_the_nearest_known_one():
    assert "did you mean 'solve'?" in sentence(request(ask="slove"), "ask")
    assert "did you mean 'points'?" in sentence(with_state(point=[]), "state")
    assert "did you mean 'rbf'?" in sentence(with_state(kernel={"name": "rbff"}), "state.kernel.name")
    assert "did you mean 'hinge'?" in sentence(with_state(machine="hing"), "state.machine")
    assert "did you mean 'C'?" in sentence(with_state(parameters={"c": 1.0}), "state.parameters")
    assert "did you mean 'gamma'?" in sentence(with_state(kernel={"name": "rbf", "gama": 1.0}), "state.kernel")
    assert "did you mean 'osqp'?" in sentence(
        {"id": 1, "ask": "run", "state": make_state(), "solver": "oqsp"}, "solver"
    )
    assert "leave it out" in sentence({"id": 1, "ask": "steps", "state": make_state(), "solver": "osqp"}, "solver")
    assert "did you mean 'show'?" in sentence(request(shows=[]), "the request")


def test_a_parameter_of_another_machine_or_kernel_is_refused():
    sentence(with_state(machine="nu", parameters={"C": 1.0}), "state.parameters")
    sentence(with_state(kernel={"name": "linear", "gamma": 1.0}), "state.kernel")


@for_each(
    "changed, field",
    [
        ({"points": [[0, 1], [1, True]], "labels": [1, -1]}, "state.points[1][1]"),
        ({"points": [[0, 1], [1, "2"]], "labels": [1, -1]}, "state.points[1][1]"),
        ({"points": [[0, 1], [1, math.nan]], "labels": [1, -1]}, "state.points[1][1]"),
        ({"points": [[0, 1], [1, 10**400]], "labels": [1, -1]}, "state.points[1][1]"),
        ({"points": [[0, 1], [1, 1e200]], "labels": [1, -1]}, "state.points[1][1]"),
        ({"points": [[0, 1], [1]], "labels": [1, -1]}, "state.points[1]"),
        ({"points": [[0], [1]], "labels": [1, -1]}, "state.points[0]"),
        ({"points": "0 1"}, "state.points"),
        ({"points": {"0": 1}}, "state.points"),
        ({"points": [3]}, "state.points[0]"),
        ({"points": [[0.0, 0.0]] * (MAX_POINTS + 1)}, "state.points"),
        ({"points": [[0.0] * 30_000] * 2, "labels": [1, -1]}, "state.points[0]"),
        ({"points": [[0.0] * 11_000] * 2, "labels": [1, -1]}, "state.points"),
        ({"labels": [1, -1]}, "state.labels"),
        ({"labels": [1] * 15 + [0]}, "state.labels[15]"),
        ({"labels": [1] * 15 + [True]}, "state.labels[15]"),
        ({"labels": None}, "state.labels"),
        ({"axes": [0, 0]}, "state.axes"),
        ({"axes": [0, 2]}, "state.axes[1]"),
        ({"axes": [-1, 0]}, "state.axes[0]"),
        ({"axes": [0, 0.5]}, "state.axes[1]"),
        ({"axes": [0]}, "state.axes"),
        ({"parameters": {"C": 0}}, "state.parameters.C"),
        ({"parameters": {"C": "1"}}, "state.parameters.C"),
        ({"parameters": {"C": math.nan}}, "state.parameters.C"),
        ({"parameters": []}, "state.parameters"),
        ({"machine": "nu", "parameters": {"nu": 1.5}}, "state.parameters.nu"),
        ({"machine": "hinge", "parameters": {"intercept": None}}, "state.parameters.intercept"),
        ({"machine": ["c"]}, "state.machine"),
        ({"machine": None}, "state.machine"),
        ({"kernel": "linear"}, "state.kernel"),
        ({"kernel": {}}, "state.kernel.name"),
        ({"kernel": {"name": "polynomial", "degree": 2.5}}, "state.kernel.degree"),
        ({"kernel": {"name": "rbf", "gamma": "scale"}}, "state.kernel.gamma"),
    ],
)
def test_what_is_wrong_in_a_state_is_named(changed, field):
    assert field.split("[")[0].split(".")[0] in sentence(with_state(**changed), field)


@for_each(
    "changed, field",
    [
        ({"grid": 7}, "grid"), ({"grid": 97}, "grid"), ({"grid": 12.5}, "grid"), ({"grid": True}, "grid"),
        ({"box": [0, 1, 0]}, "box"), ({"box": [1, 0, 0, 1]}, "box"), ({"box": [0, 0, 0, 1]}, "box"),
        ({"box": [0, 1, 0, math.inf]}, "box[3]"), ({"box": "all"}, "box"),
        ({"show": "plane"}, "show"), ({"show": ["planes"]}, "show[0]"), ({"show": [["plane"]]}, "show[0]"),
        ({"alpha": [0.0] * 15}, "alpha"), ({"alpha": [0.0] * 15 + [None]}, "alpha[15]"),
        ({"alpha": [0.0] * 15 + [1e300]}, "alpha[15]"), ({"alpha": 1.0}, "alpha"),
        ({"state": None}, "state"), ({"state": []}, "state"), ({"state": {"points": []}}, "state.labels"),
        ({"solver": "osqp"}, "solver"),
    ],
)  # fmt: skip
def test_what_is_wrong_beside_the_state_is_named(changed, field):
    sentence(request(**changed), field)


def test_a_request_without_a_state_says_so():
    for what in KEYS:
        answer = reply({"id": 1, "ask": what})
        assert ("error" in answer) == (what != "catalogue")


def test_whole_numbers_may_have_a_point():
    """JavaScript writes 1.0 as 1, and other writers do not."""
    held = read_state({"points": [[0, 1], [1.0, 2]], "labels": [1.0, -1.0], "axes": [1.0, 0.0]})
    assert held.axes == (1, 0)
    assert read_state(held.to_json()).to_json() == held.to_json()


def test_what_is_left_out_has_its_default():
    held = read_state({"points": [[0, 1], [1, 2]], "labels": [1, -1], "kernel": {"name": "polynomial"}})
    assert held.to_json()["parameters"] == {"C": 1.0, "intercept": "free"}
    assert set(held.to_json()["kernel"]) == {"name", "degree", "gamma", "coef0"}


def test_the_largest_state_is_answered():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((200, 100))
    labels = np.where(points[:, 0] > 0, 1, -1)
    answer = ask("solve", {"points": points.tolist(), "labels": labels.tolist(), "axes": [0, 99]}, grid=96)
    assert answer["status"] == "optimal"
    assert len(answer["plane"]["f"]) == 96 * 96


@for_each("machine, kernel", PAIRS)
def test_numbers_at_the_ends_of_their_ranges_are_answered(machine, kernel):
    """Each machine and each kernel meets the largest numbers and the smallest, by turns."""
    turn = list(machine_catalogue.MACHINES).index(machine) + list(kernel_catalogue.KERNELS).index(kernel)
    size = (LARGEST_COORDINATE, 1e-9)[turn % 2]
    parameters = {p.name: p.accepted[0] for p in machine_catalogue.MACHINES[machine].parameters if p.choices is None}
    extreme = {p.name: p.accepted[1] for p in kernel_catalogue.KERNELS[kernel].parameters if p.choices is None}
    held = {"points": [[0, 0], [size, size], [0, size], [-size, 0]], "labels": [1, -1, -1, 1], "machine": machine}
    held["kernel"] = USABLE[kernel]
    ask("solve", {**held, "parameters": parameters})
    ask("solve", {**held, "kernel": {**USABLE[kernel], **extreme}})
    for alpha in (1e15, -1e15):
        ask("solve", held, alpha=[alpha] * 4)


def test_a_fault_of_ours_comes_back_as_a_sentence(monkeypatch, caplog):
    def fails(_: object) -> None:
        raise ZeroDivisionError("the secret path /home/somebody")

    monkeypatch.setattr(sys.modules["qpsvm.faces.play.answers"], "read_request", fails)
    answer = reply(request())
    assert answer["id"] == 1
    assert answer["error"]["kind"] == "Fault"
    assert "secret" not in answer["error"]["sentence"]
    assert "secret path" in caplog.text


# --- anything at all --------------------------------------------------------------------------------------------------

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from([10**400, 1e308, -0.0, 5e-324, "solve", "c", "rbf", "plane"])
)  # fmt: skip
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
QUIET = settings(max_examples=150, suppress_health_check=list(HealthCheck))


@given(ANYTHING)
@QUIET
def test_any_value_is_answered(message):
    check_answer(reply(message))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a nested value."""
    found = [path]
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    else:
        inner = ()
    for key, item in inner:
        found += places(item, (*path, key))
    return found


SMALL = {
    "points": [[0.0, 0.1], [1.0, 1.2], [0.2, 1.0], [1.5, 0.3]], "labels": [1, -1, 1, -1], "axes": [0, 1],
    "machine": "hinge", "parameters": {"lam": 0.1, "intercept": "free"}, "kernel": {"name": "rbf", "gamma": 1.0},
}  # fmt: skip
WHOLE = {"id": 3, "ask": "solve", "state": SMALL, "box": [0, 1, 0, 1], "grid": 8, "show": ["plane", "qp", "derivation"],
         "alpha": [0.1, 0.1, 0.0, 0.2]}  # fmt: skip


@given(st.sampled_from(places(WHOLE)[1:]), ANYTHING)
@QUIET
def test_a_request_with_anything_anywhere_is_answered(path, value):
    message = copy.deepcopy(WHOLE)
    *above, last = path
    place: Any = message
    for key in above:
        place = place[key]
    place[last] = value
    check_answer(reply(message))


coordinate = st.floats(-LARGEST_COORDINATE, LARGEST_COORDINATE) | st.sampled_from(
    [0.0, 1.0, -1.0, 1e-300, LARGEST_COORDINATE]
)


@given(
    st.lists(st.tuples(coordinate, coordinate), min_size=2, max_size=6), st.integers(0, 63),
    st.sampled_from(list(machine_catalogue.MACHINES)), st.sampled_from(list(kernel_catalogue.KERNELS)),
    st.none() | st.lists(st.floats(-1e15, 1e15), min_size=6, max_size=6),
)  # fmt: skip
@settings(QUIET, max_examples=60)
def test_any_samples_are_answered(points, bits, machine, kernel, alpha):
    labels = [1 if bits >> i & 1 else -1 for i in range(len(points))]
    held = {"points": [list(p) for p in points], "labels": labels, "machine": machine, "kernel": USABLE[kernel]}
    more = {} if alpha is None else {"alpha": alpha[: len(points)]}
    check_answer(reply({"id": 1, "ask": "solve", "state": held, "grid": 8, **more}))


def test_values_nested_beyond_reason_are_refused():
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for message in (deep, request(state=deep), with_state(points=deep), with_state(machine=deep)):
        check_answer(reply(message))
    while deep:  # or the interpreter's own destructor would recurse
        deep = deep.pop()
