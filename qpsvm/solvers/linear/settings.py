"""Constants of the linear solver, with the reason for each (`LinearSettings`)."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.solvers.linear.effort import FACTORED_COLUMNS


@dataclass(frozen=True)
class LinearSettings:
    """Constants of one solve, file by file. Those that depend on the cost of a product are next to the products."""

    # --- solve
    # Initial σ with a start, in units of that without: α is nearly the multiplier, so the first outer steps can be
    # skipped. Measured: 10 needs the fewest steps if C changes by a factor between 1/2 and 5, and 1 or 100 hardly more.
    warm_sigma: float = 10.0

    # --- augmented_lagrangian: the outer and the inner iteration
    # Growth of σ per outer step; if σ was too large, it shrinks by the third power of this.
    sigma_growth: float = 3.0
    # Maximal number of Newton steps per outer step; if they are not enough, σ was too large.
    max_newton_steps: int = 30
    # Maximal number of times that σ shrinks.
    max_shrinks: int = 5
    # After this many outer steps without a better gap only rounding is left; α may need some to reach a large C.
    max_stalled_steps: int = 30
    # If no row violates its margin by more than this, W is stretched until none does: the violations are rounding
    # errors, which a large C would turn into a gap.
    max_stretched_violation: float = 1e-6
    # By how much the margins exceed 1 after W is stretched.
    stretched_excess: float = 1e-13

    # --- newton_step: the Newton systems
    # Maximal number of columns for which H is factored.
    max_factored_columns: int = FACTORED_COLUMNS
    # Maximal number of free rows for which (NEWTON.2) is factored if H is not.
    max_factored_rows: int = 600
    # Maximal number of rows in the pool of `WideNewton`; beyond, it is rebuilt.
    max_pool_rows: int = 3000
    # Weight of an unpenalised intercept in H: a small share of σ|J|, or σ if J is empty and H is singular.
    intercept_share: float = 1e-10
    # The smallest ridge, as a share of the diagonal. Duplicate columns need it.
    min_ridge: float = 1e-14
    # Maximal number of conjugate gradient iterations per step; the line search makes any descent direction useful.
    max_cg_iterations: int = 300
    # After a step with more iterations than this, systems are factored whenever they fit the pool.
    max_cheap_cg_iterations: int = 60
    # Largest relative residual at which the conjugate gradients stop.
    max_cg_tolerance: float = 0.1

    # --- working_set: the start for many rows, and bands
    # Minimal number of rows in the two subsamples together.
    min_sample_rows: int = 4000
    # Minimal number of rows of each class in them, if it has as many.
    min_rows_per_class: int = 100
    # Target gap of a subsample.
    sample_goal: float = 1e-3
    # The constant of (SUB.3): 3²·4 of (WORK.3).
    nearby_factor: float = 36.0
    # τ in (SUB.2), in standard errors.
    tau_standard_errors: float = 4.0
    # Minimal number of rows for which a band pays, in units of the rows of both subsamples.
    min_rows_to_sample_rows: float = 2.5
    # Growth of τ after a wrong guess, and its maximal growth by (WORK.3).
    tau_growth: float = 3.0
    # The next band replaces the present one if it has less than this share of its rows.
    band_shrink_share: float = 0.4
    # Target gap of a band, as a share of the gap left by the previous one.
    gap_reduction: float = 0.03
    # Maximal numbers of bands, and of wrong guesses, before the method on all rows takes over.
    max_bands: int = 30
    max_wrong_guesses: int = 2


SETTINGS = LinearSettings()
