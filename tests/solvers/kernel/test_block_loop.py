"""The loop on blocks: it reaches the tolerance, and its u is Kβ, whatever the loss; where it gives up, others go on."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each

from qpsvm import core
from qpsvm.solvers.kernel import block_loop
from qpsvm.solvers.kernel.block_loop import BlockLoop
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import EngineSearch
from qpsvm.space.kernels.functions import RBF
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

pytestmark = pytest.mark.skipif(core.compiled is None, reason="blocks are solved by the compiled loop")


def problems(n: int, C: float) -> list[tuple[KernelBlocks, KernelDual]]:
    """A C-SVM, and an ε-SVR whose tubes differ, over the same samples."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(n, 3))
    f = np.sin(X[:, 0]) + 0.3 * generator.normal(size=n)
    blocks = KernelBlocks(RBF(0.5), X)
    ends = np.full(n, C)
    svr = KernelDual(ends, f, -ends, 0.1 + 0.1 * generator.random(n))
    return [(blocks, KernelDual.from_hinges(np.where(f > 0.0, 1.0, -1.0), ends)), (blocks, svr)]


@for_each("C", [0.01, 1.0, 100.0])
@for_each("which", [0, 1])
def test_no_pair_violates_by_more_than_the_tolerance(which: int, C: float) -> None:
    blocks, problem = problems(2500, C)[which]
    loop = BlockLoop(blocks, problem, Effort())
    zero = np.zeros(problem.n)
    found = loop.run(1e-2, zero, zero)
    again = loop.run(1e-3, found.beta, found.u if found.u is not None else zero)
    assert found.converged
    assert again.converged
    assert again.u is not None
    assert abs(again.beta.sum()) <= 1e-12 * C * problem.n
    assert ((again.beta >= problem.low) & (again.beta <= problem.high)).all()
    exact = blocks.compute_product(np.arange(problem.n), again.beta, np.arange(problem.n))
    np.testing.assert_allclose(again.u, exact, rtol=0.0, atol=1e-7 * float(np.abs(again.beta).sum()))
    assert problem.build_point(again.beta, exact).gap <= 1e-3


def test_blocks_are_given_up_where_too_many_rows_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_loop, "SETTINGS", block_loop.BlockLoopSettings(rows=100, max_rows=150))
    blocks, problem = problems(2500, 100.0)[1]
    loop = BlockLoop(blocks, problem, Effort())
    zero = np.zeros(problem.n)
    found = loop.run(1e-3, zero, zero)
    assert not found.converged
    assert not loop.can_continue
    engines = EngineSearch(blocks, problem, 1e-6, Effort())
    engines.run("auto", None)
    assert engines.best_point.gap <= 1e-6


def test_an_interrupted_loop_leaves_a_feasible_point() -> None:
    blocks, problem = problems(2500, 1.0)[0]
    loop = BlockLoop(blocks, problem, Effort(loop_iterations=50))
    zero = np.zeros(problem.n)
    found = loop.run(1e-3, zero, zero)
    assert not found.converged
    assert found.beta.any()
    assert abs(found.beta.sum()) <= 1e-9
