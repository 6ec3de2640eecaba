"""The benchmarks measure what they say: every solver's point is read in the right units, and nothing a solver does
(lie, fail, crash, never end) stops the run or reaches the record as a success."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tqdm", reason="the benchmarks need the extra bench")
pytest.importorskip("resource", reason="the benchmarks weigh memory as Unix does")

from benchmarks import cli, kinds, lines
from benchmarks.capture import capture_output
from benchmarks.measure import Plan, _time_runs
from benchmarks.run import Pair, run_pairs
from benchmarks.samples import BundledTable, Clouds, Moons, RandomClass, Waves
from benchmarks.score import Judge, compute_primal_value
from benchmarks.solvers import ENTRANTS, ESTIMATORS, GRIDS, Entrant, Point, Rung, Said
from benchmarks.suite import Suite
from benchmarks.suites import build_suites
from benchmarks.tasks import Task
from qpsvm.solvers.study.dual_ascent import projected_gradient
from qpsvm.solvers.study.subgradient import hinge_subgradient

ROOT = Path(__file__).resolve().parents[2]
#: The machines that solvers differ in: units of α and b, signs of multipliers, the intercept.
TASKS = [
    Task("C", Clouds(60, 4), {}, "c", C=2.0),
    Task("C, RBF", Moons(60), {}, "c", C=0.5, kernel="rbf", gamma="scale"),
    Task("nu", Clouds(60, 4), {}, "nu", nu=0.7),
    Task("nu, RBF", Moons(60), {}, "nu", nu=0.4, kernel="rbf"),
    Task("hard", Clouds(60, 4, 0.0, 12.0), {}, "hard"),
    Task("hard, RBF", Moons(60, 0.1), {}, "hard", kernel="rbf", gamma="scale"),
    Task("hinge", Clouds(60, 4), {}, "hinge", C=3.0),
    Task("hinge, penalised", Clouds(60, 4), {}, "hinge", C=3.0, intercept="penalised"),
    Task("hinge, no intercept", RandomClass(5, 12, 0.5, 0), {}, "hinge", intercept=None),
    Task("squared hinge, penalised", Clouds(40, 4), {}, "squared-hinge", C=3.0, intercept="penalised"),
    Task("Huber's hinge, penalised", Clouds(40, 4), {}, "huber-hinge", C=3.0, intercept="penalised"),
    Task("tube, RBF", Waves(24, 3), {}, "epsilon-svr", C=3.0, kernel="rbf"),
    Task("tube, penalised", Waves(40, 3), {}, "epsilon-svr", C=3.0, intercept="penalised"),
    Task("nu-SVR", Waves(24, 3), {}, "nu-svr", C=3.0, nu=0.4),
    Task("quantile, penalised", Waves(40, 3), {}, "quantile-svr", C=3.0, intercept="penalised"),
    Task("one-class, RBF", Clouds(40, 4), {}, "one-class", nu=0.2, kernel="rbf"),
    Task("SVDD, RBF", Clouds(40, 4), {}, "svdd", nu=0.2, kernel="rbf"),
    Task("SVDD", Clouds(40, 4), {}, "svdd", nu=0.2),
    Task("ranking", Waves(24, 3), {}, "ranking", C=0.5),
]
#: First-order methods of the textbooks need thousands of iterations for what the others do in twenty.
SLOW = {"dual_ascent": 1e-2, "subgradient": 1e-1, "qpsvm:dual_ascent": 1e-3, "qpsvm:subgradient": 1e-2}
#: Iterations for those, and the gap below which they then are whatever they claim: in wrong units it is above 1.
FEW, NEAR = {projected_gradient: 2000, hinge_subgradient: 1000}, 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRANTS)
def test_every_solver_comes_close_in_the_units_of_the_machine(name, monkeypatch):
    entrant = ENTRANTS[name]
    if entrant.version() is None:
        pytest.skip(f"{entrant.package} is not installed")
    for engine, few in FEW.items():
        monkeypatch.setitem(engine.__kwdefaults__, "max_iter", few)
    rung = Rung(tol=1e-6, seconds=10.0)
    taken = [task for task in TASKS if entrant.accepts(task)]
    assert taken
    if name in SLOW:  # with our call around it, which is the same for all backends, the engine is that without it
        taken = taken[:: 3 if name.startswith("qpsvm:") else 2]
    for task in taken:
        machine = task.build_machine(*task.source.load())
        data = entrant.prepare(machine)
        answer, said = entrant.run(data, rung)
        gap, _ = Judge(machine).compute_gap(entrant.point(data, answer))
        assert gap <= SLOW.get(name, 1e-3) or not said.claimed, (task.name, said)
        assert gap <= NEAR or name not in SLOW, (task.name, said)
        assert said.words, task.name


def test_the_judge_does_not_believe():
    """A wrong point has a large gap, no point an infinite one, and w without α is held against a certified bound."""
    task = TASKS[7]
    machine = task.build_machine(*task.source.load())
    judge = Judge(machine)
    assert judge.compute_gap(Point(np.zeros(60)))[0] > 0.1
    assert judge.compute_gap(Point()) == (np.inf, "own")
    gap, bound = judge.compute_gap(Point(w=np.zeros(4), b=0.0))
    assert bound == "known"
    assert gap > 0.1
    assert compute_primal_value(machine, Point(w=np.zeros(4))) == pytest.approx(3.0 * 60)


@pytest.mark.parametrize(
    "source", [Clouds(50, 3), Moons(50), RandomClass(4, 10, 0.5, 1), BundledTable("iris")], ids=str
)
def test_sources_are_the_same_each_time(source):
    (X, y), (again, same) = source.load(), source.load()
    assert (abs(X - again)).max() == 0
    assert np.array_equal(y, same)
    assert set(np.unique(y)) == {-1.0, 1.0}


def test_the_classes_of_the_literature_have_the_published_moments():
    """15 % of the entries are not zero; of class ±1 they are normal with mean ±1/n and variance 1/n."""
    X, y = RandomClass(50, 100, 0.15, 1).load()
    assert X.shape == (5000, 50)
    assert X.nnz == pytest.approx(0.15 * 5000 * 50, rel=0.02)
    sign = np.repeat(y, np.diff(X.indptr))
    assert np.mean(-sign * X.data) == pytest.approx(1 / 50, abs=4 * np.sqrt(1 / 50 / X.nnz))
    assert np.var(X.data) == pytest.approx(1 / 50, rel=0.05)


class Trouble(Entrant):
    """A solver that behaves as its name says."""

    package = "numpy"
    tolerances = (1e-3, 1e-6)

    def __init__(self, name):
        self.name = name

    def accepts(self, task):  # noqa: ARG002
        return True

    def run(self, data, rung):  # noqa: ARG002
        if self.name == "crash":
            os._exit(3)
        if self.name == "endless":
            time.sleep(60)
        if self.name == "error":
            raise ValueError("not today")
        if self.name == "memory":
            raise MemoryError
        return None, Said("optimal", True)

    def point(self, data, answer):  # noqa: ARG002
        return Point(np.full(len(data.y), 0.5))


def session(name, seconds=5.0):
    task = TASKS[0]
    suite = Suite("trouble", "", (task,), (name,), seconds=seconds)
    return [Pair(suite, Plan(task, name, 1e-9, seconds, seconds))]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(("name", "outcome"), [
    ("crash", "crash"), ("endless", "limit"), ("error", "error"), ("memory", "memory"), ("liar", "ran"),
])  # fmt: skip
def test_whatever_a_solver_does_the_run_goes_on(monkeypatch, tmp_path, name, outcome):
    monkeypatch.setitem(ENTRANTS, name, Trouble(name))
    monkeypatch.setattr("benchmarks.run.GRACE_SECONDS", 0.3)
    if name == "endless":  # which nobody would wait for: it is the run that is limited
        monkeypatch.setattr("benchmarks.measure._warm_up", lambda *_: None)
    path = tmp_path / "lines.jsonl"
    todo = session(name, seconds=1.0)
    run_pairs(todo, path, "fork")
    found = lines.read_runs([path])
    assert {line["outcome"] for line in found} == {outcome}
    assert lines.read_done_pairs(path) == {("trouble", "C", name)}
    for line in found:
        assert line["machine"] == lines.read_machines([path])[0]["id"]
        if name == "liar":  # what it claims is kept beside what it is worth
            assert line["claimed"]
            assert line["gap"] > 1e-2
        else:
            assert not line["claimed"]
            assert line["gap"] is None
    before = path.read_text()
    run_pairs(todo, path, "fork")
    assert path.read_text() == before  # nothing is measured twice


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_engine_that_solved_is_recorded(tmp_path):
    path = tmp_path / "lines.jsonl"
    suite = Suite("engines", "", (TASKS[1],), ("qpsvm", "qpsvm:libsvm", "SVC"))
    run_pairs([Pair(suite, Plan(TASKS[1], name, 1e-3, 5.0, 5.0)) for name in suite.solvers], path, "fork")
    found = {line["solver"]: line["engine"] for line in lines.read_runs([path])}
    assert found == {"qpsvm": "kernel_newton (gram)", "qpsvm:libsvm": "libsvm", "SVC": None}
    written = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("\n".join(json.dumps({k: v for k, v in line.items() if k != "engine"}) for line in written))
    assert {line["engine"] for line in lines.read_runs([path])} == {None}  # a record from before


def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


class Elsewhere(Trouble):
    """A solver that works in another process: one that it waits for, or leaves alone."""

    def run(self, data, rung):  # noqa: ARG002
        if self.name == "apart":
            child = os.fork()
            if child == 0:
                busy(0.2)
                os._exit(0)
            os.waitpid(child, 0)
            return None, Said("optimal", True)
        reads, writes = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            busy(0.2)
            os.write(writes, b"!")
            time.sleep(60)
        os.read(reads, 1)
        return None, Said("optimal", True)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", ["apart", "left alone"])
def test_time_in_other_processes_is_counted(name, monkeypatch):
    monkeypatch.setattr("benchmarks.measure.REPEAT_SECONDS", 0.0)
    entrant = Elsewhere(name)
    try:
        line = _time_runs(entrant, None, Rung(), "processor")[1]
        assert line["seconds"] == line["processor"] >= 0.15
    finally:
        if name == "left alone":
            os.kill(entrant.child, signal.SIGKILL)
            os.waitpid(entrant.child, 0)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_broken_session_is_taken_up_where_it_was(monkeypatch, tmp_path):
    monkeypatch.setitem(ENTRANTS, "liar", Trouble("liar"))
    path = tmp_path / "lines.jsonl"
    run_pairs(session("liar"), path, "fork")
    whole = path.read_text().splitlines()
    path.write_text("\n".join(whole[:-2]) + "\n" + whole[-2][:20])  # stopped in the middle of a line
    assert lines.read_done_pairs(path) == set()
    run_pairs(session("liar"), path, "fork")
    assert len(lines.read_runs([path])) == 2
    assert lines.read_done_pairs(path) == {("trouble", "C", "liar")}


def test_compiled_output_is_captured(capfd):
    with capture_output() as printed:
        os.write(1, b"from below\n")
    print("after")
    assert printed() == "from below\n"
    assert capfd.readouterr().out == "after\n"


def test_suites_are_described_and_unique():
    for quick in (False, True):
        for suite in build_suites(Path("nowhere"), quick).values():
            names = [task.name for task in suite.tasks]
            assert len(set(names)) == len(names)
            for task in suite.tasks:
                if task.estimator:
                    known = ESTIMATORS
                elif task.grid is None:
                    known = ENTRANTS
                else:
                    known = GRIDS
                assert set(suite.solvers) <= set(known)
            assert suite.about
    assert sum(len(suite.tasks) for suite in build_suites(Path("nowhere"), True).values()) < 45


@pytest.mark.parametrize(("kind", "d"), [(kind, d) for kind, d, *_ in kinds.SIZES])
def test_kinds_of_tables_are_what_they_are_called(kind, d):
    """The same each time, both labels, and the kind's own mark."""
    made = kinds.GeneratedTable(kind, 2000, d, 1)
    (X, y), (again, same) = made.load(), made.load()
    assert abs(X - again).max() == 0
    assert np.array_equal(y, same)
    assert X.shape == (2000, d)
    assert set(np.unique(y)) == {-1.0, 1.0}
    if kind == "heavy tails":
        assert abs(X).max() > 100 * np.median(abs(X))
    if kind == "counts":
        assert np.array_equal(X, np.round(X))
        assert X.min() == 0
    if kind == "categories":
        assert np.array_equal(np.unique(X.data), [1.0])
        assert set(np.diff(X.indptr)) == {d // kinds.LEVELS}
    if kind == "unbalanced":
        assert np.mean(y > 0) == pytest.approx(kinds.RARE, abs=1e-3)
    if kind == "duplicates":
        distinct, rows = np.unique(X, axis=0, return_inverse=True)
        assert len(distinct) <= 2000 // kinds.COPIES
        both = [len(np.unique(y[np.ravel(rows) == k])) == 2 for k in range(len(distinct))]
        assert np.mean(both) > 0.5


@pytest.mark.parametrize(("arguments", "message"), [
    (["--suite", "lineer"], "did you mean 'linear'"), (["--solver", "piqpp"], "did you mean 'piqp'"),
    (["report", "absent.jsonl"], "absent.jsonl does not exist"), (["--first", "0"], "--first must be at least 1"),
])  # fmt: skip
def test_wrong_words_are_answered(arguments, message):
    with pytest.raises(SystemExit, match=message):
        cli.main(arguments)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is weighed and limited as on Linux")
def test_the_command_measures_and_reports(tmp_path):
    """As a user types it, in processes of its own: a task of each suite."""
    record = tmp_path / "lines.jsonl"
    command = [sys.executable, "-m", "benchmarks"]
    chosen = ["--quick", "--first", "1"]
    for solver in ("qpsvm", "SVC", "qpsvm@all", "interior_point"):
        chosen += ["--solver", solver]
    subprocess.run([*command, *chosen, "--lines", str(record)], cwd=ROOT, check=True, capture_output=True)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert lines[0]["kind"] == "machine"
    done = {(line["suite"], line["task"]) for line in lines if line["kind"] == "done"}
    assert {suite for suite, _ in done} == set(build_suites(ROOT, True))
    assert len(done) == len(build_suites(ROOT, True))
    subprocess.run([*command, "report", str(record), "--to", str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    report = (tmp_path / "report.md").read_text()
    assert "interior_point" in report
    assert "SVC" in report
