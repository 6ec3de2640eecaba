"""Every exhibit: our answer, which is held at all times, and the peer's failure, on the versions that had it."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import fits_without_end
import mended
import numpy as np
import other_problems
import printed
import programs
import pytest
import silent_limits
import weights
from exhibits import EXHIBITS, MENDED, Exhibit, Shown

import qpsvm

ROOMS = (fits_without_end, weights, other_problems, programs, silent_limits, printed, mended)
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "museum.md").read_text(encoding="utf-8")
#: Every exhibit by its name, room by room.
COLLECTION = {name: one for room in ROOMS for name, one in EXHIBITS.items() if one.show.__module__ == room.__name__}
#: What another version of a peer may raise, where it takes the call no longer.
NO_LONGER = (TypeError, ValueError, AttributeError, ImportError)
#: Exhibits whose answer of ours is not optimal, and says so.
HONEST = {"svc-overflow"}


def show_exhibit(exhibit: Exhibit) -> Shown:
    """Return what the exhibit finds; that a peer warns of its limit of iterations is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return exhibit.show()


@pytest.mark.parametrize(
    "exhibit",
    [pytest.param(one, id=name, marks=pytest.mark.slow if one.dear else ()) for name, one in COLLECTION.items()],
)
def test_exhibit(exhibit):
    if exhibit.version is None:
        pytest.skip(f"{exhibit.package} is not installed")
    try:
        found = show_exhibit(exhibit)
    except NO_LONGER as error:
        if exhibit.held or isinstance(error, qpsvm.QPSVMError):
            raise
        pytest.skip(f"{exhibit.package} {exhibit.version} does not take the call: {error}")
    assert found.right
    if isinstance(found.ours, (qpsvm.SVMResult, qpsvm.QPResult)) and exhibit.name not in HONEST:
        assert found.ours.status == "optimal"
        assert found.ours.gap <= exhibit.tolerance
    if not exhibit.held:
        there = "is there too" if found.fails else "is not there"
        seen = ", ".join(exhibit.seen)
        pytest.skip(f"seen on {exhibit.package} {seen}; on {exhibit.version}, here, it {there}: {found.said}")
    if exhibit.mended:
        assert not found.fails, f"{exhibit.mended} had mended it, and it is there again: {found.said}"
    else:
        assert found.fails, f"{MENDED}. {exhibit.package} {exhibit.version}: {found.said}, gap {found.gap:.1e}"
        assert not found.gap <= exhibit.tolerance
        assert found.because, "the reason that the page gives does not hold"


def test_every_exhibit_is_on_the_page_and_the_other_way_round():
    assert re.findall(r"^\(([a-z0-9-]+)\)=$", PAGE, flags=re.MULTILINE) == list(COLLECTION)
    for name, one in COLLECTION.items():
        part = PAGE.split(f"({name})=", 1)[1].split("\n(", 1)[0]
        assert one.source in part, name
        assert str(one.year) in part, name
        assert f"](#{name})" in PAGE, f"{name} is not in the table at the top"
        for version in one.seen if one.package else ():
            assert version in PAGE


def test_every_file_is_a_room():
    files = {path.stem for path in Path(__file__).parent.glob("*.py")}
    assert files == {room.__name__ for room in ROOMS} | {"exhibits", "test_museum", "tour"}


def test_the_five_tutorials_are_on_the_page_as_in_the_lesson():
    """Their errors are demonstrated and solved in notebook 6, which the tests run: here they are only named."""
    table = printed.lesson().split("All of it in one list", 1)[1]
    for seed in ("000", "001, 003", "002", "004"):
        assert f"| {seed} |" in table
        assert re.search(rf"^\| {seed} \|", PAGE, flags=re.MULTILINE)


def test_a_peer_that_mends_it_is_told_apart():
    """The marker itself: a failure that has gone fails and says what to do; another version is skipped."""
    one = COLLECTION["svc-two-points"]
    ours = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]))
    gone = Shown(False, "converged", 1e-9, 0.0, ours, 0.0)
    facts = {**one.__dict__, "show": lambda: gone, "package": "numpy"}
    here = Exhibit(**{**facts, "seen": (np.__version__,)})
    if here.held:
        with pytest.raises(AssertionError, match="move this exhibit to the mended ones"):
            test_exhibit(here)
    with pytest.raises(pytest.skip.Exception, match="it is not there"):
        test_exhibit(Exhibit(**{**facts, "seen": ("0.0",)}))

    def gone_for_good() -> Shown:
        raise TypeError("unexpected keyword argument 'probability'")

    with pytest.raises(pytest.skip.Exception, match="does not take the call"):
        test_exhibit(Exhibit(**{**facts, "seen": ("0.0",), "show": gone_for_good}))
    with pytest.raises(pytest.skip.Exception, match="not installed"):
        test_exhibit(Exhibit(**{**facts, "package": "no-such-distribution"}))
