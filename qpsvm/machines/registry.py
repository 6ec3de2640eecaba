"""List the machines (SVM formulations) by their names on the command line and on the interactive page (`load_machine`).

A new machine is a module of `qpsvm.machines`, a module of the same name in `qpsvm.derivation.steps`, and a line here.
Its options, their defaults and its default kernel are read from the class.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

#: Module and class of each machine.
MACHINES = {
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
#: Module and class of each machine that learns several classes in one program.
ALL_IN_ONE = {
    "crammer-singer": ("crammer_singer", "CrammerSinger"),
    "weston-watkins": ("weston_watkins", "WestonWatkins"),
}
#: Modules that are imported on demand, with the names that they export; `qpsvm.machines` itself imports CSVM.
LAZY_IMPORTS = {
    f"qpsvm.machines.{file}": (name,) for file, name in (*MACHINES.values(), *ALL_IN_ONE.values()) if name != "CSVM"
}


def load_machine(name: str) -> Any:
    """Import and return the class of a machine, by its name on the command line."""
    file, class_name = {**MACHINES, **ALL_IN_ONE}[name]
    return getattr(import_module(f"qpsvm.machines.{file}"), class_name)


def is_registered(machine: type) -> bool:
    """Return whether a class is one of `MACHINES`, which have an exact program; a user's machine may have none."""
    return (machine.__module__.removeprefix("qpsvm.machines."), machine.__name__) in MACHINES.values()


@cache
def _read_defaults(machine: Any) -> dict[str, Any]:
    """Return the defaults of the constructor; `inspect.signature` would not do, since Sphinx replaces signatures."""
    init = machine.__init__
    names = init.__code__.co_varnames[: init.__code__.co_argcount]
    values = init.__defaults__ or ()
    return {**dict(zip(names[len(names) - len(values) :], values, strict=True)), **(init.__kwdefaults__ or {})}


def list_options(machine: Any) -> tuple[str, ...]:
    """List the options besides samples and kernel: the hyperparameters, and the intercept if it can be chosen."""
    options = tuple(machine._hyperparameters)
    if "intercept" in _read_defaults(machine):
        return *options, "intercept"
    return options


def find_default(option: str) -> Any:
    """Return the default of an option: that of the first machine that has it."""
    owner = next(machine for machine in map(load_machine, MACHINES) if option in list_options(machine))
    return _read_defaults(owner)[option]


def find_default_kernel(machine: Any) -> str:
    """Return the name of the default kernel, "linear" or "rbf"."""
    if type(_read_defaults(machine)["kernel"]).__name__ == "Linear":
        return "linear"
    return "rbf"
