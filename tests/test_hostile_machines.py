"""Random hostile problems for the machines beyond two-class hinges: each ends certified or honest, on every backend.

What is printed as the objective is also computed here from f alone: from the decision values at the samples, the norm
that α gives, and the loss as a textbook has it.
"""

import numpy as np
import pytest
from hostile import hostile_machine

import qpsvm
from qpsvm import RBF
from qpsvm.backends import get
from qpsvm.backends.abilities import machine_traits

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::qpsvm.InaccurateWarning")]

#: Problems a batch; the batches are the tests.
BATCH, BATCHES = 13, 6
#: What of an objective that is made of large numbers may be rounding, here where nothing is centred.
DIGITS = 1e-6


def able(problem: qpsvm.Problem) -> list[str]:
    """The library's choice, its own solvers, and the general ones."""
    traits, rows = machine_traits(problem), problem.outlined.m
    names = ("augmented_lagrangian", "kernel_newton", "interior_point", "cvxopt")
    return ["auto", *(name for name in names if get(name).abilities.takes(traits, rows, "dual"))]


def objective(name: str, problem: qpsvm.Problem, result: qpsvm.SVMResult) -> float:
    """The textbook's primal at w, b and f as they were given."""
    if name == "svdd":
        return result.radius**2 + losses(name, problem, result)
    return 0.5 * _square(problem, result) + losses(name, problem, result)


def losses(name: str, problem: qpsvm.Problem, result: qpsvm.SVMResult) -> float:
    """What the samples cost, from f at them; with the price of ρ, or of ε."""
    f, s = result.decision_function(problem.X), np.asarray(problem.sample_weight)
    if name == "one class":
        return float(s @ np.maximum(-f, 0.0)) - problem.nu * float(s.sum()) * result.rho
    if name == "svdd":
        return float(s @ np.maximum(-f, 0.0)) / (problem.nu * float(s.sum()))
    if name == "ranking":
        i, j = problem.pairs.T
        return problem.C * float((s[i] * s[j]) @ np.maximum(1.0 - (f[i] - f[j]), 0.0))
    C = problem.C * s
    if name in ("squared hinge", "huber"):
        short = np.maximum(1.0 - problem.y * f, 0.0)
        if name == "huber":
            h = problem.width
            return float(C @ np.where(short < h, short**2 / (2 * h), short - h / 2))
        return float(C @ short**2)
    if name == "quantile":
        tau, off = problem.quantile, problem.t - f
        return float(C @ np.maximum(tau * off, (tau - 1) * off))
    epsilon = result.epsilon if name == "nu-svr" else problem.epsilon
    beyond = np.maximum(np.abs(problem.t - f) - epsilon, 0.0)
    if name == "nu-svr":
        return float(C @ beyond) + problem.nu * float(C.sum()) * epsilon
    return float(C @ (beyond**2 if name.endswith("squared") else beyond))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_hostile_problems_end_certified_or_honest(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        spoiler, name, problem = hostile_machine(seed)
        found, taken = {}, set()
        for backend in able(problem):
            if backend in taken:
                continue  # `auto` took it: the same solve
            where = f"problem {seed}, {spoiler}, {name}, {backend}"
            result = qpsvm.solve(problem, backend, check=False)
            taken.add(result.backend)
            assert np.isfinite([result.b, result.dual]).all(), where
            assert np.isfinite(result.alpha).all(), where
            assert result.gap >= 0.0, where
            assert (result.status == "optimal") == (result.gap <= 1e-6), where
            assert ((result.alpha >= 0.0) & (result.alpha <= result.upper)).all(), where
            if result.status == "optimal":
                found[backend] = result
            if result.status == "optimal" and spoiler not in ("offset", "scales", "heavy"):
                off = abs(objective(name, problem, result) - result.primal)
                assert off <= DIGITS * _size(problem, result), (where, off)
        if not found:  # doubles cannot hold the answer
            assert spoiler in ("offset", "scales", "heavy", "huge"), (seed, spoiler, name)
            continue
        low, high = max(r.dual for r in found.values()), min(r.primal for r in found.values())
        size = max(max(abs(r.primal), abs(r.dual)) for r in found.values())
        assert low <= high + DIGITS * size, f"problem {seed}: intervals do not meet"


def _square(problem: qpsvm.Problem, result: qpsvm.SVMResult) -> float:
    """‖w‖²."""
    if problem.space.is_linear:
        return float(result.w @ result.w)
    K = problem.kernel(problem.X, problem.X)
    return float(result.coef @ K @ result.coef)


def _size(problem: qpsvm.Problem, result: qpsvm.SVMResult) -> float:
    """The size of the numbers that the objective is made of."""
    reach = 1.0 if isinstance(problem.kernel, RBF) else float(abs(problem.X).max())
    return abs(result.primal) + float(result.alpha.sum()) * (1.0 + reach) + _square(problem, result)
