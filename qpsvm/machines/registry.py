"""List the machines by their names on the command line and on the page. A new machine is a file, and a line here.

All else is read off its class: its own parameters, whether its intercept may be chosen, its kernel by default, and what
it learns of a sample. The file with the steps of its derivation has the name of its own.
"""

from __future__ import annotations

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
#: Those of several classes in one program.
ALL_IN_ONE = {
    "crammer-singer": ("crammer_singer", "CrammerSinger"),
    "weston-watkins": ("weston_watkins", "WestonWatkins"),
}
#: The modules that are imported on demand.
LAZY_IMPORTS = {
    f"qpsvm.machines.{file}": (name,) for file, name in (*FILES.values(), *ALL_IN_ONE.values()) if name != "CSVM"
}


def load_machine(word: str) -> Any:
    """Import and return the class of a machine."""
    file, name = {**FILES, **ALL_IN_ONE}[word]
    return getattr(import_module(f"qpsvm.machines.{file}"), name)


def is_registered(kind: type) -> bool:
    """Return whether a class is one of these machines, which all have an exact program; one of a user's is not."""
    return (kind.__module__.removeprefix("qpsvm.machines."), kind.__name__) in FILES.values()


@cache
def _read_defaults(kind: Any) -> dict[str, Any]:
    """Return the defaults of a constructor by parameter, from the function itself, since Sphinx replaces signatures."""
    make = kind.__init__
    names, values = make.__code__.co_varnames[: make.__code__.co_argcount], make.__defaults__ or ()
    return {**dict(zip(names[len(names) - len(values) :], values, strict=True)), **(make.__kwdefaults__ or {})}


def list_options(kind: Any) -> tuple[str, ...]:
    """List the options besides samples and kernel: the hyperparameters, and the intercept if the machine takes one."""
    return (*kind._hyperparameters, *(("intercept",) if "intercept" in _read_defaults(kind) else ()))


def find_default(option: str) -> Any:
    """Return the default of an option: that of the first machine that has it."""
    kind = next(each for each in map(load_machine, FILES) if option in list_options(each))
    return _read_defaults(kind)[option]


def find_default_kernel(kind: Any) -> str:
    """Return the name of the default kernel."""
    return "linear" if type(_read_defaults(kind)["kernel"]).__name__ == "Linear" else "rbf"
