"""The machines by the words of the command line and the page. A new machine is a file, and a line here.

All else is read off its class: its own parameters, whether its intercept may be chosen, its kernel by default, and what
it learns of a sample. The file with the steps of its derivation has the name of its own.
"""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from typing import Any

#: The file of each machine, and its class.
FILES = {
    "c": ("c_svm", "CSVM"),
    "nu": ("nu_svm", "NuSVM"),
    "hard": ("hard_margin", "HardMargin"),
    "hinge": ("primal_hinge", "PrimalHinge"),
    "squared-hinge": ("squared_hinge", "SquaredHinge"),
    "huber-hinge": ("huber_hinge", "HuberHinge"),
    "epsilon-svr": ("epsilon_svr", "EpsilonSVR"),
    "nu-svr": ("nu_svr", "NuSVR"),
    "quantile-svr": ("quantile_svr", "QuantileSVR"),
    "one-class": ("one_class", "OneClass"),
    "svdd": ("svdd", "SVDD"),
    "ranking": ("ranking", "Ranking"),
}


def machine(word: str) -> Any:
    """The class of a machine, whose file is imported now."""
    file, name = FILES[word]
    return getattr(import_module(f"qpsvm.machines.{file}"), name)


@cache
def options(kind: Any) -> tuple[str, ...]:
    """What is chosen beside samples and kernel: the machine's own parameters, and its intercept where it takes one."""
    taken = inspect.signature(kind).parameters
    return (*kind.own, *(("intercept",) if "intercept" in taken else ()))


def default(option: str) -> Any:
    """What a parameter is where it is not given: that of the first machine that has it."""
    kind = next(each for each in map(machine, FILES) if option in options(each))
    return inspect.signature(kind).parameters[option].default


def usual_kernel(kind: Any) -> str:
    """The kernel where none is asked for."""
    kernel = inspect.signature(kind).parameters["kernel"].default
    return "linear" if type(kernel).__name__ == "Linear" else "rbf"
