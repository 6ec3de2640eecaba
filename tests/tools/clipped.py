"""Judge machines with an indefinite kernel matrix, repaired by psd="clip" or "shift", with fifty digits.

    python tests/tools/clipped.py --problems 700 --seed 0

The repaired matrix is computed again from K: for `clip` the positive part K₊ of K, for `shift` K + σI with the float σ
of the result. α is moved onto its equality in one row, and P is evaluated at the floats `coef` and `b`.
"""

from __future__ import annotations

import argparse
from typing import Any

import mpmath as mp
import numpy as np

import qpsvm

#: Digits of the judge, and the relative tolerance of the printed gap.
DIGITS, NEGLIGIBLE_SHARE = 50, 1e-6


def draw_clipped(seed: int, rule: str = "clip") -> tuple[Any, np.ndarray]:
    """Draw the machine of a seed with 3 to 7 samples and C up to 1e12, and its matrix K of integers or thirds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    K = rng.integers(-6, 7, (n, n)).astype(float)
    K = np.triu(K) + np.triu(K, 1).T
    if rng.random() < 0.3:
        K = K / 3.0
    C = 10.0 ** rng.uniform(0.0, 12.0)
    squared = bool(rng.random() < 0.3)
    y = np.where(np.arange(n) < max(n // 2, 1), -1, 1)
    t = rng.integers(-4, 5, n).astype(float)
    given: dict[str, Any] = {"kernel": qpsvm.Precomputed(), "psd": rule}
    intercept = [None, "free", "penalised"][int(rng.integers(3))]
    match int(rng.integers(3)):
        case 0:
            return qpsvm.CSVM(K, y, C=C, intercept=intercept, **given), K
        case 1:
            return qpsvm.EpsilonSVR(
                K, t, C=C, epsilon=0.125, loss="squared" if squared else "absolute", intercept=intercept, **given
            ), K
        case _:
            return qpsvm.SquaredHinge(K, y, C=C, intercept=intercept, **given), K


def compute_positive_part(K: Any) -> Any:
    """Return K₊: K with its negative eigenvalues set to 0."""
    values, vectors = mp.eigsy(K)
    kept = mp.diag([max(v, mp.mpf(0)) for v in values])
    return vectors * kept * vectors.T


def compute_loss(t: Any, C: Any, squared: bool) -> Any:
    """Return C max(t, 0), or its square times C."""
    t = max(t, mp.mpf(0))
    return C * t * t if squared else C * t


def compute_exact_gap(problem: Any, K: np.ndarray, result: Any) -> float:
    """Compute (P − D)/max(|P|, |D|) of the floats that a user holds."""
    with mp.workdps(DIGITS):
        n = len(K)
        name = type(problem).__name__
        M = mp.matrix(K.tolist())
        absorbed = problem.intercept == "penalised"
        if absorbed:  # b is the weight of a feature of ones
            M += mp.ones(n)
        if problem.space.is_clipped:  # otherwise K is positive semidefinite where 1ᵀβ = 0, which is enough
            M = compute_positive_part(M)
        M += mp.mpf(problem.space.shift) * mp.eye(n)
        squared = name == "SquaredHinge" or getattr(problem, "loss", "") == "squared"
        C = mp.mpf(float(np.max(problem.C)))
        b = mp.mpf(0.0 if absorbed else float(result.b))
        alpha = [mp.mpf(float(a)) for a in result.alpha]
        if name == "EpsilonSVR":
            sign = [1] * n + [-1] * n
            who = [*range(n), *range(n)]
            level = [s * mp.mpf(float(problem.y[i])) - mp.mpf(problem.epsilon) for s, i in zip(sign, who, strict=True)]
        else:
            sign = [int(v) for v in problem.y]
            who = [*range(n)]
            level = [mp.mpf(1)] * n
        if problem.intercept == "free":
            surplus = mp.fsum(s * a for s, a in zip(sign, alpha, strict=True))
            top = mp.inf if squared else C
            k = next(k for k, s in enumerate(sign) if 0 <= alpha[k] - s * surplus <= top)
            alpha[k] -= sign[k] * surplus
        beta = mp.zeros(n, 1)
        for s, i, a in zip(sign, who, alpha, strict=True):
            beta[i] += s * a
        coef = mp.matrix([mp.mpf(float(c)) for c in result.coef])
        u = M * coef
        P = (coef.T * u)[0] / 2 + mp.fsum(
            compute_loss(v - s * (u[i] + b), C, squared) for s, i, v in zip(sign, who, level, strict=True)
        )
        D = mp.fsum(v * a for v, a in zip(level, alpha, strict=True)) - (beta.T * M * beta)[0] / 2
        if squared:
            D -= mp.fsum(a * a for a in alpha) / (4 * C)
        largest = max(abs(P), abs(D))
        return float((P - D) / largest) if largest else 0.0


def find_faults(seed: int, rule: str = "clip", tol: float = 1e-6) -> tuple[str, list[str]]:
    """Return the status of a seed and its faults: `optimal` above the tolerance, or a printed gap that is too low."""
    problem, K = draw_clipped(seed, rule)
    result = qpsvm.solve(problem, tol=tol, check=False)
    if not np.isfinite(result.gap):
        return str(result.status), []
    truth = compute_exact_gap(problem, K, result)
    if result.status == "optimal" and truth > tol:
        found = [f"false: optimal, gap {truth:.3g}"]
    else:
        found = []
    if truth > result.gap * (1.0 + NEGLIGIBLE_SHARE):
        found.append(f"below: printed {result.gap:.3g}, true {truth:.3g}")
    return str(result.status), found


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=700)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rule", choices=("clip", "shift"), default="clip")
    given = parser.parse_args()
    counts: dict[str, int] = {}
    for seed in range(given.seed, given.seed + given.problems):
        status, found = find_faults(seed, given.rule)
        for word in [status, *(line.partition(":")[0] for line in found)]:
            counts[word] = counts.get(word, 0) + 1
        for line in found:
            print(seed, draw_clipped(seed, given.rule)[0].title, line)
    print(counts)
    return int(bool(counts.get("false", 0)))


if __name__ == "__main__":
    raise SystemExit(main())
