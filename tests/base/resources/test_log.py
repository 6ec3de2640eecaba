"""Messages under `verbose`: to the logger "qpsvm", or to standard output, once, and of nobody else's solve."""

from __future__ import annotations

import io
import logging
import threading
import time

import pytest

import qpsvm
from qpsvm.base.resources.messages import log_message, log_step
from qpsvm.base.resources.pulse import Pulse

PROBLEM = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1])


def solve(verbose=False):
    return qpsvm.solve(PROBLEM, "interior_point", verbose=verbose)


@pytest.fixture
def logged_text():
    """Yield the logger, with a handler of a program's own that writes to a text."""
    logger = logging.getLogger("qpsvm")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(module)s: %(message)s"))
    logger.addHandler(handler)
    yield logger, stream, handler
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_a_program_that_logs_gets_the_messages_without_verbose(logged_text, capfd):
    logger, stream, _ = logged_text
    solve()
    assert stream.getvalue() == ""
    logger.setLevel(logging.INFO)
    solve()
    lines = stream.getvalue().splitlines()
    assert all(line.startswith("INFO qpsvm attempt: ") for line in lines)
    assert any("backend interior_point, dual form" in line for line in lines)
    assert any("certified relative gap" in line for line in lines)
    logger.setLevel(logging.DEBUG)
    result = solve()
    steps = [line for line in stream.getvalue().splitlines() if line.startswith("DEBUG")]
    assert len(steps) >= result.iterations, "a line an iteration"
    assert capfd.readouterr() == ("", "")


def test_what_is_logged_is_not_printed_again(logged_text, capfd):
    logger, stream, _ = logged_text
    logger.setLevel(logging.INFO)
    solve(verbose=True)
    assert "certified relative gap" in stream.getvalue()
    assert "INFO qpsvm budget: interior_point" in stream.getvalue(), "the lines of the iterations"
    assert capfd.readouterr() == ("", "")
    logger.setLevel(logging.WARNING)  # now nobody else takes them
    solve(verbose=True)
    assert "qpsvm: " in capfd.readouterr().out


def test_a_handler_that_wants_less_does_not_silence(logged_text, capfd, monkeypatch):
    logger, stream, handler = logged_text
    logger.setLevel(logging.INFO)
    handler.setLevel(logging.ERROR)
    monkeypatch.setattr(logger, "handlers", [handler])  # without those of pytest
    monkeypatch.setattr(logger, "propagate", False)
    solve(verbose=True)
    assert stream.getvalue() == ""
    assert "certified relative gap" in capfd.readouterr().out


def test_a_call_leaves_logging_as_it_was(capfd):
    logger = logging.getLogger("qpsvm")
    before = (logger.level, [*logger.handlers], logger.propagate, [*logging.getLogger().handlers])
    solve(verbose=True)
    assert (logger.level, logger.handlers, logger.propagate, logging.getLogger().handlers) == before
    assert any(isinstance(each, logging.NullHandler) for each in logger.handlers)
    assert capfd.readouterr().err == ""


def test_a_verbose_thread_makes_no_other_talk(capfd):
    """While one thread says everything, a solve in another says nothing."""
    began, may_end = threading.Event(), threading.Event()

    def talk():
        log_message("the verbose thread", True)
        began.set()
        may_end.wait(300)
        log_step("a step of the verbose thread", True)

    thread = threading.Thread(target=talk)
    thread.start()
    assert began.wait(300)
    solve()
    may_end.set()
    thread.join()
    assert capfd.readouterr().out == "qpsvm: the verbose thread\na step of the verbose thread\n"


def test_the_pulse_beats_for_whoever_listens(logged_text, capsys, monkeypatch):
    monkeypatch.setattr("qpsvm.base.resources.pulse.PULSE_SECONDS", 0.01)

    def beat(verbose):
        threads = threading.active_count()
        with Pulse(verbose, "at work"):
            started = threading.active_count() - threads
            until = time.monotonic() + 60.0
            while started and time.monotonic() < until and "at work" not in stream.getvalue() + read_all():
                time.sleep(0.01)
        return started

    text = []

    def read_all():
        text.append(capsys.readouterr().out)
        return "".join(text)

    logger, stream, _ = logged_text
    assert beat(False) == 0
    assert beat(True) == 1
    assert "qpsvm: 0 s, at work" in read_all()
    assert stream.getvalue() == ""
    text.clear()
    logger.setLevel(logging.INFO)
    assert beat(False) == 1
    assert "INFO qpsvm pulse: 0 s, at work" in stream.getvalue()
