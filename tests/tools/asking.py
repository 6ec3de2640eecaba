"""A page's questions without a page: states, requests, and what every answer has to be."""

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
#: Kernels with the parameters that give a problem: a sigmoid is indefinite unless its matrix is repaired.
USABLE = {name: {"name": name, **({"psd": "clip"} if name == "sigmoid" else {})} for name in KERNELS}
PAIRS = [(machine, kernel) for machine in MACHINES for kernel in KERNELS]
#: The machines by what they learn: two classes, numbers, nothing.
LEARNT = {
    what: [name for name, each in MACHINES.items() if each.learnt == what] for what in ("labels", "numbers", "none")
}


def samples(n: int = 16, apart: float = 1.2, seed: int = 0) -> dict[str, Any]:
    """Points and labels of two normal clouds."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n) % 2, 1, -1)
    points = apart * labels[:, None] * np.array([1.0, 0.6]) + rng.standard_normal((n, 2))
    return {"points": points.tolist(), "labels": labels.tolist()}


def state(machine: str = "c", kernel: str = "linear", **changed: Any) -> dict[str, Any]:
    """A state that a page may send; a hard margin gets clouds that can be separated, a one-class SVM far from 0."""
    base = samples(apart=4.0 if machine == "hard" else 1.2)
    if machine == "one-class":
        base["points"] = (np.array(base["points"]) + 4.0).tolist()
    return {**base, "axes": [0, 1], "machine": machine, "parameters": {}, "kernel": USABLE[kernel], **changed}


def scene(name: str, **changed: Any) -> dict[str, Any]:
    """The state of a scene, with something changed."""
    return {**SCENES[name].state.to_json(), **changed}


def ask(what: str, held: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The answer to a question, after a look at what holds for every answer."""
    number = next(_numbers)
    request = {"id": number, "ask": what, **({} if held is None else {"state": held}), **more}
    answer = reply(request)
    check(answer)
    assert answer["id"] == number
    return answer


def check(answer: Any) -> None:
    """JSON can hold it and gives it back, and an error is a sentence."""
    assert isinstance(answer, dict)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    if "error" in answer:
        error = answer["error"]
        assert set(error) == {"kind", "sentence", "field"}
        assert error["kind"] != "Fault"
        assert error["sentence"].endswith((".", "!", "?"))
        assert "\n" not in error["sentence"]
        assert "Traceback" not in error["sentence"]
