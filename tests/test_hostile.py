"""Random hostile problems: every fast backend against a general one, all of them against the independent certificate.

Each problem ends in a certified result or an honest status; no NaN, no endless loop, and no two certified intervals
[dual, primal] that do not meet.
"""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from hostile import SPOILERS, hostile_task
from proof import EPS, Task, verify

import qpsvm
from qpsvm import RBF, Linear
from qpsvm.backends import get
from qpsvm.backends.abilities import machine_traits

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::qpsvm.InaccurateWarning")

#: Problems a batch; the batches are the tests. Each way to spoil samples comes thirty times. The hunt is
#: without end.
BATCH, BATCHES = 30, 13
#: No problem of this size may take a backend longer, in seconds, on a machine that is busy with other tests.
LONGEST = 10.0


def fast_backends(task: Task, seed: int) -> list[str]:
    """What takes this problem, a general one last; of the two that use its kernel, the one made for it.

    The two general ones take turns: thirteen ways to spoil samples are odd, so both meet each of them.
    """
    problem = task.problem
    own = "augmented_lagrangian" if problem.space.is_linear else "kernel_newton"
    general = ("interior_point", "cvxopt")[seed % 2]
    able = [
        name for name in (own, general)
        if get(name).abilities.takes(machine_traits(problem), len(problem.labels), "dual")
    ]  # fmt: skip
    return ["auto", *able]


def has_digits(task: Task, spoiler: str) -> bool:
    """Whether doubles can hold the answer: not with an offset of 10⁶ that may not be taken away.

    Sparse samples and those of a polynomial kernel are not centred, and nothing may be without a free intercept: K then
    has entries of 10¹³ whose differences, of the order of 1, are what counts.
    """
    free = task.variant == "c" or task.intercept == "free"
    centred = isinstance(task.kernel, Linear) and free and not sp.issparse(task.X)
    return spoiler != "offset" or centred or isinstance(task.kernel, RBF)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_hostile_problems_end_certified_or_honest(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        task = hostile_task(seed)
        check(task, seed)


def check(task: Task, seed: int) -> None:
    """All backends on one problem."""
    proofs = {}
    digits = has_digits(task, SPOILERS[seed % len(SPOILERS)])
    for backend in fast_backends(task, seed):
        if backend in {result.backend for result, _ in proofs.values()}:
            continue  # `auto` took it: the same solve
        began = time.process_time()
        result = qpsvm.solve(task.problem, backend, check=False)
        took = time.process_time() - began
        try:
            proofs[backend] = result, verify(task, result, optimal=backend == "auto" and digits, kinds=digits)
            assert took < LONGEST, took
        except AssertionError as error:
            raise AssertionError(f"problem {seed}, {backend}: {error}") from error
    results = [result for result, _ in proofs.values() if np.isfinite(result.gap)]
    rounding = max(proof.rounding for _, proof in proofs.values())
    low, high = max(result.dual for result in results), min(result.primal for result in results)
    assert low <= high + (1e-9 + rounding + 64 * EPS) * abs(high), f"problem {seed}: intervals do not meet"
