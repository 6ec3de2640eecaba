"""What every engine would cost, from what is estimated.

    (KCOST.1)  libsvm:  (c_e + c_f d) S n + c_i I n + c_m max(0, I − I R/S) (10 + d) n + c_F F³
    (KCOST.2)  band:    c_n n + (e_s + e_f d) S n + e_W W² + e_i min(I, 4W) W + e_F F³
    (KCOST.3)  gram:    (g_n + g_f d) n² + g_i I n + g_F F³
    (KCOST.4)  dense:   (k_n + k_f d) n²
    (KCOST.5)  I = S(1 + √(κC̄)),  R = 50 MB / n:  iterations of LIBSVM's loop, and the kernel rows that it can keep

Over d features, S rows support and F of them are free as the estimate says; W is the band around them. LIBSVM itself
evaluates the kernel where it needs it: S n values or, where they do not fit its cache, many twice. The constants are
seconds on one core, fitted to generated tables of 3000 to 12 000 rows, and to real ones, raw and standardised, where
most rows are in the band. Only their ratios matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.initial_sets import in_band
from qpsvm.solvers.kernel.libsvm import plain
from qpsvm.solvers.kernel.nystrom import Estimate
from qpsvm.solvers.kernel.working_set import LARGEST
from qpsvm.space.kernels.blocks import KernelBlocks


@dataclass(frozen=True)
class Settings:
    """Constants of the model: seconds, and most rows."""

    #: c_e, c_f, c_i, c_m and c_F of (KCOST.1).
    libsvm: tuple[float, ...] = (17e-9, 0.5e-9, 0.5e-9, 0.09e-9, 4e-12)
    #: c_n, e_s, e_f, e_W, e_i and e_F of (KCOST.2).
    band: tuple[float, ...] = (3e-6, 0.4e-9, 0.07e-9, 16e-9, 4e-9, 9e-12)
    #: g_n, g_f, g_i and g_F of (KCOST.3). Most of g_n is memory that is touched for the first time.
    gram: tuple[float, ...] = (14e-9, 0.05e-9, 1.5e-9, 4e-12)
    #: k_n and k_f of (KCOST.4), where the low-rank model leaves at least this share of the diagonal: else too many
    #: products.
    dense: tuple[float, ...] = (22e-9, 0.1e-9)
    least_rest: float = 0.9
    #: R n of (KCOST.5).
    cached: float = 50e6
    #: A band of more than this share of the rows grows to nearly all of them: by so much the estimated seconds of
    #: `libsvm` and `band` are too few, and by so much those of `gram`. `libsvm` never pays beside a narrower one.
    crowded: float = 0.6
    crowded_rows: float = 2.0
    crowded_gram: float = 1.4
    #: Most rows of their matrices: 1.2 GB in double precision, and 1.6 GB in single.
    largest_gram: int = 12_000
    largest_dense: int = 20_000


SETTINGS = Settings()


def seconds(estimate: Estimate, problem: KernelDual, blocks: KernelBlocks) -> dict[str, float]:
    """What every engine would take; infinite where it cannot be used."""
    n, width, band = problem.n, blocks.width, float(np.count_nonzero(in_band(estimate)))
    free, support = (
        float(np.count_nonzero(estimate.free)),
        float(np.count_nonzero(estimate.free | (estimate.at_bound != 0.0))) + 1.0,
    )
    iterations = support * (1.0 + np.sqrt(problem.total_penalty / n))  # (KCOST.5)
    missed = iterations * max(0.0, 1.0 - SETTINGS.cached / n / support) * (10 + width)
    narrow = free > 0 and float(estimate.rest[estimate.free].mean()) >= SETTINGS.least_rest
    crowded = band > SETTINGS.crowded * n
    terms = {
        "libsvm": (support * n, width * support * n, iterations * n, missed * n, free**3),
        "band": (n, support * n, width * support * n, band**2, min(iterations, 4.0 * band) * band, free**3),
        "gram": (n**2, width * n**2, iterations * n, free**3),
        "dense": (n**2, width * n**2),
    }
    able = {
        "libsvm": blocks.samples is not None and plain(problem) and (crowded or band > LARGEST),
        "band": band <= LARGEST,
        "gram": n <= SETTINGS.largest_gram,
        "dense": n <= SETTINGS.largest_dense and narrow and not problem.kinked,
    }
    costs = {name: float(np.dot(terms[name], getattr(SETTINGS, name))) if able[name] else np.inf for name in terms}
    if crowded:
        for name, factor in (("libsvm", "crowded_rows"), ("band", "crowded_rows"), ("gram", "crowded_gram")):
            costs[name] *= getattr(SETTINGS, factor)
    return costs


__all__ = ["SETTINGS", "seconds"]
