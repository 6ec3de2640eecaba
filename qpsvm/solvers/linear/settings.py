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
    # Growth of σ per outer step.
    growth: float = 3.0
    # After `patience` Newton steps σ was too large: it shrinks by the third power of `growth`, at most `shrinks` times.
    # And after as many outer steps without a better gap only rounding is left; α may need some to reach a large C.
    patience: int = 30
    shrinks: int = 5
    # If no row violates its margin by more than this, W is stretched until none does: the violations are rounding
    # errors, which a large C would turn into a gap. And by how much W is stretched beyond a margin of 1.
    nearly_separated: float = 1e-6
    separation: float = 1e-13

    # --- newton_step: the Newton systems
    # Limit of the columns for which H is factored.
    direct_columns: int = FACTORED_COLUMNS
    # Limit of the free rows for which (NEWTON.2) is factored if H is not.
    direct_rows: int = 600
    # Limit of the rows in the pool of `WideNewton`; beyond, it is rebuilt.
    pool_rows: int = 3000
    # Weight of an unpenalised intercept in H: a small share of σ|J|, or σ if J is empty and H is singular.
    intercept_share: float = 1e-10
    # The smallest ridge, as a share of the diagonal. Duplicate columns need it.
    min_ridge: float = 1e-14
    # Limit of the conjugate gradient iterations per step; the line search makes any descent direction useful.
    cg_iterations: int = 300
    # After a step with more iterations than this, systems are factored whenever they fit the pool.
    cg_patience: int = 60
    # Loosest relative residual of the conjugate gradients.
    cg_tolerance: float = 0.1

    # --- working_set: the start for many rows, and bands
    # Minimal size of the two subsamples together, and of each class in them if it has that many rows.
    sample_rows: int = 4000
    sample_per_class: int = 100
    # Target gap of a subsample.
    sample_goal: float = 1e-3
    # The constant of (SUB.3): that of (WORK.3), squared.
    capacity: float = 36.0
    # τ in (SUB.2), in standard errors.
    standard_errors: float = 4.0
    # Minimal number of rows for which a band pays, in units of the subsamples' rows.
    rows_per_sample: float = 2.5
    # Growth of τ after a wrong guess, and limit of its growth in (WORK.3).
    tau_growth: float = 3.0
    # The next band replaces the present one if it has less than this share of its rows.
    shrink_share: float = 0.4
    # Target gap of a band, as a share of the gap left by the previous one.
    reduction: float = 0.03
    # Limit of wrong guesses before the method on all rows takes over.
    max_wrong_guesses: int = 2


SETTINGS = LinearSettings()
