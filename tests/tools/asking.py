"""Ask the playground's server without a page: build states, send requests, and check what holds for every answer."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np

from qpsvm.faces.play import reply
from qpsvm.faces.play.kernel_catalogue import KERNELS
from qpsvm.faces.play.machine_catalogue import MACHINES
from qpsvm.faces.play.start import SCENES

_numbers = itertools.count(1)
#: Kernels with parameters that are accepted: a sigmoid kernel needs its matrix repaired.
USABLE = {name: {"name": name, **({"psd": "clip"} if name == "sigmoid" else {})} for name in KERNELS}
PAIRS = [(machine, kernel) for machine in MACHINES for kernel in KERNELS]
#: Each machine with the linear kernel, and with one of the others by turns.
BY_TURNS = {
    machine: ("linear", kernel) for machine, kernel in zip(MACHINES, itertools.cycle(list(KERNELS)[1:]), strict=False)
}
#: The machines by their target: two classes, numbers, none.
LEARNT = {
    what: [name for name, each in MACHINES.items() if each.learnt == what] for what in ("labels", "numbers", "none")
}


def make_samples(n: int = 16, apart: float = 1.2, seed: int = 0) -> dict[str, Any]:
    """Draw points (n, 2) and labels of two normal clouds, `apart` from the origin."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n) % 2, 1, -1)
    points = apart * labels[:, None] * np.array([1.0, 0.6]) + rng.standard_normal((n, 2))
    return {"points": points.tolist(), "labels": labels.tolist()}


def make_state(machine: str = "c", kernel: str = "linear", **changed: Any) -> dict[str, Any]:
    """Build a state that a page may send: separable clouds for a hard margin, clouds far from 0 for a one-class SVM."""
    base = make_samples(apart=4.0 if machine == "hard" else 1.2)
    if machine == "one-class":
        base["points"] = (np.array(base["points"]) + 4.0).tolist()
    return {**base, "axes": [0, 1], "machine": machine, "parameters": {}, "kernel": USABLE[kernel], **changed}


def make_scene_state(name: str, **changed: Any) -> dict[str, Any]:
    """Return the state of a scene, with some entries changed."""
    return {**SCENES[name].state.to_json(), **changed}


def ask(what: str, held: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Send a request and return the answer, after the checks that hold for every answer."""
    number = next(_numbers)
    request = {"id": number, "ask": what, **({} if held is None else {"state": held}), **more}
    answer = reply(request)
    check_answer(answer)
    assert answer["id"] == number
    return answer


def check_answer(answer: Any) -> None:
    """Assert that the answer survives JSON, and that an error is a sentence."""
    assert isinstance(answer, dict)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    if "error" in answer:
        error = answer["error"]
        assert set(error) == {"kind", "sentence", "field"}
        assert error["kind"] != "Fault"
        assert error["sentence"].endswith((".", "!", "?"))
        assert "\n" not in error["sentence"]
        assert "Traceback" not in error["sentence"]
