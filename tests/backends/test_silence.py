"""What compiled solvers print although they are told not to: neither shown nor lost, and what others print stays."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading

import pytest

import qpsvm
from qpsvm.base.resources.captured_output import capture_output

INDEFINITE = qpsvm.QP(P=[[1.0, 2.0], [2.0, 1.0]], q=[0.0, 0.0])
LIBRARY = 'import ctypes; c = ctypes.CDLL("ucrtbase" if __import__("os").name == "nt" else None)'


def solve_indefinite(backend: str, verbose: bool = False) -> qpsvm.QPSolution | None:
    try:
        return qpsvm.compile(INDEFINITE, backend).solve(verbose=verbose)
    except qpsvm.SolverError:
        return None


@pytest.mark.filterwarnings("ignore")  # of qpsolvers
@pytest.mark.parametrize("backend", ["osqp", "cvxopt", "clarabel", "cvxpy", "qpsolvers:osqp", "qpsolvers:scs"])
def test_a_solver_that_breaks_down_prints_nothing(backend, capfd):
    if backend.startswith("qpsolvers"):
        qpsolvers = pytest.importorskip("qpsolvers")
        if backend.partition(":")[2] not in qpsolvers.available_solvers:
            pytest.skip(f"{backend} is not installed")
    solve_indefinite(backend)
    assert capfd.readouterr() == ("", "")


def test_what_osqp_prints_is_in_its_status_and_in_the_log(caplog):
    with caplog.at_level(logging.DEBUG, "qpsvm"):
        solution = solve_indefinite("osqp")
    assert "non-convex" in solution.solver.status
    assert "\n" not in solution.solver.status
    assert any("osqp printed: ERROR" in record.getMessage() for record in caplog.records)


def test_verbose_still_prints(capfd):
    solve_indefinite("osqp", verbose=True)
    assert "ERROR in osqp_setup" in "".join(capfd.readouterr())


def test_what_a_user_has_printed_is_where_it_was(capfd):
    sys.stdout.write("before ")  # which stays in the buffer
    with capture_output("test", descriptors=True) as captured:
        os.write(1, b"one ")
        os.write(2, b"two ")
        print("three")
    sys.stdout.write("after")
    assert capfd.readouterr() == ("before after", "")
    assert sorted(captured.text.split()) == ["one", "three", "two"]


@pytest.mark.parametrize("descriptors", [False, True])
def test_other_threads_print_on(capfd, descriptors):
    def speak() -> None:
        print("aside", flush=True)

    with capture_output("test", descriptors=descriptors) as captured:
        print("mine")
        thread = threading.Thread(target=speak)
        thread.start()
        thread.join()
    assert capfd.readouterr() == ("aside\n", "")
    assert captured.text == "mine"


def test_threads_capture_beside_each_other(capfd):
    streams = sys.stdout, sys.stderr
    texts = {}
    started = threading.Barrier(8)

    def capture(number: int) -> None:
        started.wait(10)
        for step in range(50):
            with capture_output("test", descriptors=number % 2 == 0) as captured, capture_output("within") as within:
                print(f"{number} {step}")
            texts[number, step] = captured.text if number % 2 else within.text
            assert within.text == f"{number} {step}"

    threads = [threading.Thread(target=capture, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 400
    assert all(texts[number, step] == ("" if number % 2 else f"{number} {step}") for number, step in texts)
    assert (sys.stdout, sys.stderr) == streams
    os.write(1, b"open again")
    assert capfd.readouterr() == ("open again", "")


def test_an_error_ends_it(capfd):
    stream = sys.stdout
    with pytest.raises(OSError, match="descriptor"), capture_output("test", descriptors=True):
        os.write(-1, b"nowhere")
    assert sys.stdout is stream
    os.write(1, b"open again")
    assert capfd.readouterr().out == "open again"


@pytest.mark.parametrize(
    "before",
    ["sys.stdout = sys.stderr = None", "os.close(1); os.close(2)", "sys.stdout.close()", "sys.stdout = io.StringIO()"],
)
def test_without_streams_or_descriptors_nothing_fails(before):
    program = f"""
import io, os, sys
import qpsvm
from qpsvm.base.resources.captured_output import capture_output
{before}
with capture_output("test", descriptors=True):
    pass
status = qpsvm.compile(qpsvm.QP(P=[[1.0, 2.0], [2.0, 1.0]], q=[0.0, 0.0]), "osqp").solve().solver.status
os._exit(7 if "setup ended" in status else 1)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 7, run.stderr
    assert run.stdout == ""


def test_the_buffers_of_the_c_library_are_emptied_in_time():
    program = f"""
{LIBRARY}
from qpsvm.base.resources.captured_output import capture_output
c.printf(b"before ")
with capture_output("test", descriptors=True) as captured:
    c.printf(b"hidden")
c.printf(b"after")
c.fflush(None)
assert captured.text == "hidden"
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout == "before after"


def test_the_first_model_of_a_process_is_read_in_silence(tmp_path):
    pytest.importorskip("highspy")
    path = tmp_path / "small.lp"
    qpsvm.write_model(qpsvm.QP(P=[[1.0]], q=[-3.0], ub=2.0), path)
    program = f"import qpsvm; qpsvm.read_model({str(path)!r})"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert (run.stdout, run.stderr) == ("", "")
