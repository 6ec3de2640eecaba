"""The working-set loop at every level of instructions: what (KDUAL.1) and (KDUAL.7) ask of an optimum, written out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from each import for_each
from pairwise import cover_pairs

from qpsvm import core
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import defer_interrupt
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.loop import KernelSamples, run_working_set_loop
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial

pytestmark = pytest.mark.skipif(core.compiled is None, reason="the core is not there")
TOL = 1e-6
KINDS = ("svc", "weighted", "svr", "lopsided svr", "quantile", "one class", "svdd", "nu svc", "nu svr", "linear term")


at_every_level = pytest.mark.usefixtures("level")


def table(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K (n, n) of an RBF kernel, labels and targets (n,)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return K, np.where(np.arange(n) % 2 == 0, 1.0, -1.0), np.sin(2 * X[:, 0]) + 0.3 * rng.standard_t(3, n)


def build_dual(kind: str, y: np.ndarray, t: np.ndarray, C: float = 2.0) -> KernelDual:
    """Build a machine's dual."""
    n = len(y)
    zero = np.zeros(len(y))
    weight = 0.5 + np.arange(n) % 3
    if kind in ("svc", "weighted", "linear term"):
        dual = KernelDual.from_hinges(y, C * (np.ones(n) if kind == "svc" else weight))
        if kind != "linear term":
            return dual
        return KernelDual(dual.high, t, dual.low, fixed_sum=0.3 * C, total=0.0)
    if kind == "svr":
        return KernelDual(np.full(n, C), t, np.full(n, -C), np.full(n, 0.1))
    if kind == "lopsided svr":
        return KernelDual(C * weight, t, -0.5 * C * weight[::-1], 0.05 * weight)
    if kind == "quantile":
        return KernelDual(np.full(n, 0.8 * C), t, np.full(n, -0.2 * C))
    if kind == "one class":
        return KernelDual(np.ones(n), zero, zero, total=0.3 * n)
    if kind == "svdd":
        return KernelDual(weight, 0.5 * np.abs(t), zero, total=0.3 * float(weight.sum()))
    if kind == "nu svr":
        return KernelDual(C * weight, t, -C * weight, mass=0.3 * C * float(weight.sum()))
    share = 0.8 * float(min(weight[y > 0].sum(), weight[y < 0].sum(initial=0.0)))
    return KernelDual(np.where(y > 0, weight, 0.0), zero, np.where(y < 0, -weight, 0.0), mass=2.0 * share)


def violation(problem: KernelDual, K: np.ndarray, beta: np.ndarray) -> float:
    """By how much the best pair of rows would improve: of one sum, or of the positive and the negative β apart."""
    g = problem.level - K.astype(float) @ beta
    rises = beta < problem.high
    falls = beta > problem.low
    tube = np.broadcast_to(problem.tube, beta.shape)
    if problem.mass is None:
        up = np.where(beta >= 0, g - tube, g + tube)[rises].max(initial=-np.inf)
        down = np.where(beta > 0, g - tube, g + tube)[falls].min(initial=np.inf)
        return float(up - down)
    plus = g[rises & (beta >= 0)].max(initial=-np.inf) - g[falls & (beta > 0)].min(initial=np.inf)
    minus = g[rises & (beta < 0)].max(initial=-np.inf) - g[falls & (beta <= 0)].min(initial=np.inf)
    return float(max(plus, minus))


def feasible(problem: KernelDual, beta: np.ndarray) -> bool:
    """In fractions: the box exactly, and the sums to rounding."""
    assert ((beta >= problem.low) & (beta <= problem.high)).all()
    total = float(sum(map(Fraction, beta), Fraction(0)) + Fraction(problem.fixed_sum) - Fraction(problem.total))
    room = 1e-13 * max(problem.total_penalty, 1.0)
    if problem.mass is None:
        return abs(total) <= room
    mass = float(sum(map(abs, map(Fraction, beta)), Fraction(0)) - Fraction(problem.mass))
    return abs(total) <= room and abs(mass) <= room


@at_every_level
@for_each("n, kind, single", cover_pairs((2, 3, 17, 64, 131), KINDS, (False, True)))
def test_every_machine_at_every_level(n: int, kind: str, single: bool) -> None:
    """The optimum's conditions hold, and the gradient that comes back is that of β."""
    K, y, t = table(n, n)
    K = K.astype(np.float32) if single else K
    problem = build_dual(kind, y, t)
    found = run_working_set_loop(problem, K, TOL)
    assert found.converged
    assert feasible(problem, found.beta)
    assert found.u is not None
    np.testing.assert_allclose(found.u, K.astype(float) @ found.beta, atol=1e-10)
    tubed = problem.mass is not None and problem.has_kink
    if not tubed or problem.compute_multipliers(found.u).tube > 0.0:
        assert violation(problem, K, found.beta) <= 1.01 * TOL + 1e-10


@at_every_level
@for_each("kind", KINDS)
def test_from_any_start_to_the_same_optimum(kind: str) -> None:
    """And from the optimum itself, whose u is known, in no iteration."""
    K, y, t = table(90, 4)
    problem = build_dual(kind, y, t)
    first = run_working_set_loop(problem, K, TOL)
    rough = problem.make_feasible(np.random.default_rng(1).uniform(problem.low, problem.high))
    other = run_working_set_loop(problem, K, TOL, start=rough)
    assert other.converged
    np.testing.assert_allclose(other.beta, first.beta, atol=1e-3)
    again = run_working_set_loop(problem, K, TOL, start=first.beta, u=first.u)
    assert again.iterations <= 1


@for_each("kind", [kind for kind in KINDS if kind not in ("linear term", "lopsided svr")])  # which it does not know
def test_as_libsvm_to_its_tolerance(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fallback minimises the same."""
    K, y, t = table(120, 5)
    problem = build_dual(kind, y, t)
    ours = run_working_set_loop(problem, K, TOL)
    with monkeypatch.context() as patch:
        patch.setattr(core, "compiled", None)
        theirs = run_working_set_loop(problem, K, TOL)
    np.testing.assert_allclose(ours.beta, theirs.beta, atol=1e-3)


@at_every_level
@for_each("n", [0, 1])
def test_nothing_to_move(n: int) -> None:
    beta, g = np.zeros(n), np.ones(n)
    found = core.compiled.loop_over_matrix(np.ones((n, n)), (beta, g, -beta, g, None, 1, False, TOL, 100, None))
    assert found == (0, 0.0, 1)


DEGENERATE = {
    "zero": np.zeros((40, 40)),
    "all equal": np.ones((40, 40)),
    "pairs of equal rows": np.kron(np.exp(-np.abs(np.subtract.outer(np.arange(20), np.arange(20)))), np.ones((2, 2))),
    "not positive": np.cos(np.subtract.outer(np.arange(40.0), np.arange(40.0)) ** 2),
    "huge": 1e150 * np.eye(40),
    "tiny": 1e-150 * np.eye(40),
}


@at_every_level
@for_each(
    "what, C, kind, single",
    cover_pairs(DEGENERATE, (1e-8, 1.0, 1e10), ("svc", "svr", "one class"), (False, True)),
)
def test_degenerate_matrices_end(what: str, C: float, kind: str, single: bool) -> None:
    """At a feasible point, and at an optimum where they say so."""
    _, y, t = table(40)
    K = DEGENERATE[what]
    with np.errstate(over="ignore", under="ignore"):
        K = K.astype(np.float32) if single else K
    problem = build_dual(kind, y, t, C)
    with np.errstate(invalid="ignore", over="ignore"):
        found = run_working_set_loop(problem, K, 1e-3, max_iter=20_000)
        assert feasible(problem, found.beta)
        if found.converged and np.isfinite(K).all():
            assert violation(problem, K, found.beta) <= 1.1e-3 + 1e-12 * C * float(np.abs(K).max())


@at_every_level
@for_each("bad", [np.nan, np.inf, -np.inf])
def test_a_matrix_that_is_no_number_is_never_finished(bad: float) -> None:
    K, y, t = table(50)
    for kind in ("svc", "svr"):
        for where in ((3, 4), (7, 7)):
            spoilt = K.copy()
            spoilt[where] = spoilt[where[::-1]] = bad
            with np.errstate(invalid="ignore"):
                found = run_working_set_loop(build_dual(kind, y, t), spoilt, TOL, max_iter=10_000)
            assert feasible(build_dual(kind, y, t), found.beta)
            touched = found.beta[where[0]] != 0 or found.beta[where[1]] != 0
            assert not (found.converged and touched)


@at_every_level
def test_a_box_of_no_width_stays() -> None:
    K, y, t = table(30)
    problem = build_dual("svr", y, t)
    low, high = problem.low.copy(), problem.high.copy()
    low[:10] = high[:10] = np.where(np.arange(10) % 2 == 0, 0.5, -0.5)
    found = run_working_set_loop(KernelDual(high, t, low, problem.tube), K, TOL)
    assert found.converged
    assert (found.beta[:10] == low[:10]).all()


def test_what_is_wrong_is_refused() -> None:
    """By size, kind, layout and box, before anything is touched."""
    K, _, _ = table(5)
    fine = np.zeros(5)
    n = 5

    def call(
        K: object = K, beta: object = fine, g: object = fine, low: object = fine - 1, high: object = fine + 1,
        tube: object = None, sums: int = 1,
    ) -> None:  # fmt: skip
        core.compiled.loop_over_matrix(K, (np.array(beta), np.array(g), low, high, tube, sums, False, TOL, 10, None))

    call()
    call(np.lib.stride_tricks.as_strided(np.zeros(100), (n, n), (80, 8)))  # room between the rows
    others = (K.astype(kind) for kind in (int, ">f8", complex))
    for wrong in (K[:4], K[:, ::2], np.asfortranarray(np.triu(K)), K[0], *others):
        with pytest.raises((ValueError, BufferError)):
            call(wrong)
    for name in ("beta", "g", "low", "high", "tube"):
        for wrong in (np.zeros(4), np.zeros(6), np.zeros(5, dtype=np.float32), np.zeros(0)):
            with pytest.raises(ValueError, match="vectors"):
                call(**{name: wrong})
    for start in (fine + 2, fine - 2, fine + np.nan):
        with pytest.raises(ValueError, match="box"):
            call(beta=start)
    with pytest.raises(ValueError, match="tube"):
        call(tube=fine - 1)
    with pytest.raises(ValueError, match="sums"):
        call(sums=3)


def build_long_problem(n: int = 3000) -> tuple[KernelDual, np.ndarray]:
    """Build a problem that takes minutes."""
    K, y, _ = table(n, 1)
    return KernelDual.from_hinges(y, np.full(n, 1e9)), K


def test_the_clock_and_the_limit_end_it() -> None:
    """Also where rows are evaluated, and hardly any kept."""
    problem, K = build_long_problem()
    for data in (K, KernelSamples(RBF(0.1), samples(len(K), 5), 10**6)):
        began = time.process_time()
        found = run_working_set_loop(problem, data, 1e-12, clock=Clock(0.2))
        assert not found.converged
        assert feasible(problem, found.beta)
        assert time.process_time() - began < 5.0
    assert run_working_set_loop(problem, K, 1e-12, max_iter=50).iterations == 50


class Looked(Clock):
    """A clock that says when the loop has looked at it a few times; it ends the loop when it is told to, or at last."""

    def __init__(self, looks: int = 3) -> None:
        super().__init__()
        self.looks = looks
        self.running = threading.Event()
        self.ends = threading.Event()

    def find_stop_reason(self, coming: float = 0.0) -> Literal["time_limit", "interrupted"] | None:
        self.looks -= 1
        if self.looks <= 0:
            self.running.set()
        if self.ends.is_set() or self.looks < -1000:
            return "time_limit"
        return super().find_stop_reason(coming)

    def press_key(self) -> Looked:
        """Have the key pressed by another thread, once the loop runs."""
        threading.Thread(target=lambda: self.running.wait(60.0) and os.kill(os.getpid(), signal.SIGINT)).start()
        return self


def test_the_key_ends_it_with_a_point() -> None:
    problem, K = build_long_problem()
    with defer_interrupt():
        found = run_working_set_loop(problem, K, 1e-12, clock=Looked().press_key())
    assert not found.converged
    assert found.beta.any()
    with pytest.raises(KeyboardInterrupt):  # where nobody holds the key
        run_working_set_loop(problem, K, 1e-12, clock=Looked().press_key())


def test_other_threads_run_meanwhile() -> None:
    problem, K = build_long_problem(1500)
    ended = threading.Event()
    clock = Looked()
    thread = threading.Thread(target=lambda: (run_working_set_loop(problem, K, 1e-12, clock=clock), ended.set()))
    thread.start()
    assert clock.running.wait(60.0)
    turns = 0
    while not ended.is_set():
        turns += 1
        time.sleep(0.01)
        if turns > 5:
            clock.ends.set()
    thread.join()
    assert turns > 5
    assert clock.looks > -1000


def test_a_kernel_solve_imports_no_scikit_learn() -> None:
    text = """
import sys, numpy, qpsvm
X = numpy.random.default_rng(0).normal(size=(800, 3))
assert qpsvm.solve(qpsvm.CSVM(X, X[:, 0] * X[:, 1] > 0.1, 10.0, "rbf")).status == "optimal"
print([name for name in sys.modules if name.startswith("sklearn")])
"""
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


# --- over samples ---


def samples(n: int, d: int, seed: int = 0) -> np.ndarray:
    """(n, d), far from the origin, and of several scales."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-1, 2, d) + 100.0


KERNELS = (RBF(0.01), RBF(20.0), Linear(), Polynomial(3, 1e-4, 1.0), Polynomial(1, 1e-4, 0.0))


SIZES = ((2, 1), (3, 0), (63, 5), (64, 70), (150, 3))
CACHES = (0, 20_000, 10**8)
EVALUATED = ("svc", "svr", "one class", "nu svc")


@at_every_level
@for_each("size, kernel, cache_bytes, kind", cover_pairs(SIZES, KERNELS, CACHES, EVALUATED))
def test_rows_that_are_evaluated_are_those_of_the_matrix(
    size: tuple[int, int], kernel: Kernel, cache_bytes: int, kind: str
) -> None:
    """Whatever room there is to keep them."""
    n, d = size
    X = samples(n, d, n)
    if d:
        K = kernel(X, X)
    else:
        K = np.full((n, n), float(isinstance(kernel, RBF) or getattr(kernel, "coef0", 0.0) == 1.0))
    largest = max(float(np.abs(K).max()), 1.0)
    _, y, t = table(n)
    problem = build_dual(kind, y, t * largest if kind == "svr" else t, 2.0 / largest)
    found = run_working_set_loop(problem, KernelSamples(kernel, X, cache_bytes), 1e-4, max_iter=20_000)
    assert feasible(problem, found.beta)
    assert found.u is not None
    error = 3e-5 * largest * float(np.abs(found.beta).sum()) + 1e-9
    np.testing.assert_allclose(found.u, K @ found.beta, atol=error)
    if found.converged:
        assert violation(problem, K, found.beta) <= 1.01e-4 + 2 * error


@at_every_level
@for_each("size, has_diagonal, corner", cover_pairs(SIZES, (False, True), (None, 0.0, 2.0)))
def test_a_diagonal_and_one_more_row_are_those_of_the_matrix(
    size: tuple[int, int], has_diagonal: bool, corner: float | None
) -> None:
    n, d = size
    X = samples(n, d, n)
    kernel = RBF(0.01)
    added = np.linspace(0.1, 3.0, n) if has_diagonal else None
    K = (kernel(X, X) if d else np.ones((n, n))) + (0.0 if added is None else np.diag(added))
    _, _, t = table(n)
    high = np.full(n, 2.0)
    if corner is not None:
        K = np.pad(K, (0, 1))
        t = np.append(t, 0.0)
        high = np.append(high, 3.0 * n)
        K[-1, -1] = corner
    problem = KernelDual(high, t, -high)
    data = KernelSamples(kernel, X, 20_000, added, corner)
    found = run_working_set_loop(problem, data, 1e-4, max_iter=20_000)
    assert feasible(problem, found.beta)
    assert found.u is not None
    error = 3e-5 * float(np.abs(found.beta).sum()) + 1e-9
    np.testing.assert_allclose(found.u, K @ found.beta, atol=error)
    if found.converged:
        assert violation(problem, K, found.beta) <= 1.01e-4 + 2 * error


@at_every_level
@for_each("bad", [np.nan, np.inf, 1e30])
def test_samples_that_are_no_numbers_are_never_finished(bad: float) -> None:
    X = samples(70, 3)
    _, y, t = table(70)
    X[5, 1] = bad
    with np.errstate(invalid="ignore", over="ignore"):
        found = run_working_set_loop(build_dual("svc", y, t), KernelSamples(RBF(0.1), X), TOL, max_iter=5000)
    assert feasible(build_dual("svc", y, t), found.beta)


def test_samples_of_another_size_are_refused() -> None:
    fine = np.zeros(5)
    A = np.zeros((5, 2), dtype=np.float32)
    rows = core.compiled.loop_rows(A, 5, 2, 0, 0.0, 1000)
    core.compiled.loop_over_rows(rows, (fine.copy(), fine.copy(), fine - 1, fine + 1, None, 1, False, TOL, 10, None))
    for wrong, n, d in ((A.astype(float), 5, 2), (A[:4], 5, 2), (A[:0], 0, -1), (A[:0], -1, 0), (A, 2**62, 2**62)):
        with pytest.raises(ValueError, match="samples"):
            core.compiled.loop_rows(wrong, n, d, 0, 0.0, 1000)
    with pytest.raises(ValueError, match="diagonal"):
        core.compiled.loop_rows(A, 5, 2, 0, 0.0, 1000, np.zeros(4))
    for n in (4, 6):
        few = np.zeros(n)
        with pytest.raises(ValueError, match="vectors"):
            core.compiled.loop_over_rows(rows, (few.copy(), few.copy(), few, few, None, 1, False, TOL, 10, None))
    with pytest.raises(ValueError, match="PyCapsule"):
        core.compiled.loop_over_rows(None, ())


def test_rows_are_kept_from_run_to_run_and_read_by_one_loop_at_a_time() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 3))
    y = np.where(np.arange(2000) % 2 == 0, 1.0, -1.0)
    problem = KernelDual.from_hinges(y, np.full(2000, 1e9))
    data = KernelSamples(RBF(0.4), X)
    first = run_working_set_loop(problem, data, TOL, max_iter=300)
    again = run_working_set_loop(problem, data, TOL, max_iter=300, start=first.beta, u=first.u)
    whole = run_working_set_loop(problem, data, TOL, max_iter=600)
    assert first.iterations == again.iterations == 300
    np.testing.assert_allclose(again.u, whole.u, atol=1e-6 * np.abs(whole.beta).sum())
    clock = Looked()
    thread = threading.Thread(target=lambda: run_working_set_loop(problem, data, 1e-15, clock=clock))
    thread.start()
    assert clock.running.wait(60.0)
    with pytest.raises(ValueError, match="another loop"):
        run_working_set_loop(problem, data, TOL)
    clock.ends.set()
    thread.join()
