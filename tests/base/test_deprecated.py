"""The deprecation policy: what is on its way out works, warns at the caller's line, and goes when it was said to."""

import importlib
import inspect
import pkgutil
import warnings

import pytest

import qpsvm
from qpsvm.base.deprecated import deprecated


@deprecated("0.1", "0.3", "twice(x)")
def double(x: float) -> float:
    """Twice a number."""
    return 2 * x


def test_it_works_as_before_and_warns_at_the_line_that_called():
    with pytest.warns(DeprecationWarning, match=r"double is deprecated since 0\.1 .* 0\.3: use twice\(x\)") as said:
        assert double(4.0) == 8.0
    assert said[0].filename == __file__
    assert double.__doc__ == "Twice a number."
    assert str(inspect.signature(double)) == "(x: float) -> float"


@pytest.mark.parametrize(("since", "gone"), [("0.2", "0.2"), ("0.10", "0.9"), ("1.0", "0.9")])
def test_one_minor_version_has_to_warn(since, gone):
    with pytest.raises(ValueError, match="one minor version has to warn"):
        deprecated(since, gone, "f")


def list_versions(thing: object) -> list[tuple[str, str]]:
    """List `since` and `gone` of a function, or of the methods of a class."""
    inside = list(vars(thing).values()) if inspect.isclass(thing) else [thing]
    functions = [getattr(each, "fget", None) or getattr(each, "__func__", None) or each for each in inside]
    return [each.__deprecated__ for each in functions if isinstance(getattr(each, "__deprecated__", None), tuple)]


def test_a_class_is_looked_into():
    class Old:
        way = double

    assert list_versions(Old) == [("0.1", "0.3")]


def test_nothing_outlives_the_version_that_it_was_announced_for():
    """Whoever raises the version to `gone` deletes the function, in the same change."""
    now = tuple(int(number) for number in qpsvm.__version__.split(".")[:2])
    for module in pkgutil.walk_packages(qpsvm.__path__, "qpsvm."):
        if module.name == "qpsvm.__main__":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            things = vars(importlib.import_module(module.name)).copy()
        for name, thing in things.items():
            for since, gone in list_versions(thing) if callable(thing) else []:
                assert now < tuple(int(number) for number in gone.split(".")), f"{module.name}.{name}: since {since}"
