"""Store the constants of the linear solver, with the reason for each."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.solvers.linear.effort import FACTORED_COLUMNS


@dataclass(frozen=True)
class LinearSettings:
    """The numbers of one solve, file by file. Those that follow from what a product costs stand beside the products."""

    # --- solve
    # σ with a start, in units of the one without: α is nearly the multiplier, and the first outer steps can be left
    # out. Measured: 10 needs the fewest steps for factors of C between 1/2 and 5, and 1 or 100 hardly more.
    warm_sigma: float = 10.0

    # --- augmented_lagrangian: the outer and the inner iteration
    # Growth of σ an outer step.
    growth: float = 3.0
    # Newton steps after which σ was too large: it shrinks by the third power of that, so often at most. And outer steps
    # without a better gap after which only rounding is left, and α not still on its way to a large C.
    patience: int = 30
    shrinks: int = 5
    # Where no row violates the margin by more than this, W is stretched until none does: what C then multiplies is
    # rounding, and a large C makes a gap of it. And how much further than to a margin of 1.
    nearly_separated: float = 1e-6
    separation: float = 1e-13

    # --- newton_step: the Newton systems
    # Most columns for which H is factored.
    direct_columns: int = FACTORED_COLUMNS
    # Most free rows for which (NEWTON.2) is factored, where H is not.
    direct_rows: int = 600
    # Most rows in the pool of `WideNewton`; beyond, it is begun again.
    pool_rows: int = 3000
    # Weight of an unpenalised intercept in H: a small share of σ|J|, and σ where J is empty and H singular in it.
    intercept_share: float = 1e-10
    # The least ridge, as a share of the diagonal. Duplicate columns need it.
    least_ridge: float = 1e-14
    # Most conjugate gradient iterations a step; the line search makes any descent direction useful.
    cg_iterations: int = 300
    # After a step with more, H is too ill-conditioned for them: a factor is made wherever the pool can hold it.
    cg_patience: int = 60
    # Loosest relative residual of the conjugate gradients.
    cg_tolerance: float = 0.1

    # --- working_set: where to begin with many rows, and bands
    # The two subsamples together: at least this, and of each class, where it has so many.
    sample_rows: int = 4000
    sample_per_class: int = 100
    # A subsample is solved to this gap.
    sample_goal: float = 1e-3
    # What (SUB.3) asks for: (WORK.3) squared.
    capacity: float = 36.0
    # τ in (SUB.2), in standard errors.
    standard_errors: float = 4.0
    # Fewest rows, in units of those of the subsamples, for which a band pays.
    rows_per_sample: float = 2.5
    # Growth of τ after a wrong guess, and at most in (WORK.3).
    wider: float = 3.0
    # The band is gathered again where the next one has less than this share of its rows.
    much_smaller: float = 0.4
    # A band is solved to this share of what the band before it left.
    reduction: float = 0.03
    # Wrong guesses, before the plain method takes over.
    guesses: int = 2


SETTINGS = LinearSettings()
