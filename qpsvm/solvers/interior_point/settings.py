"""The numbers of the interior point method, each with its reason: what its authors chose, and what they measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The numbers of one solve, file by file. Those that follow from what a product with B costs stand in `columns`."""

    # --- mehrotra: where it ends
    # Iterations without progress, by a factor, after which only rounding is left; and while the point is still far.
    stalled: int = 6
    stalled_far: int = 20
    progress: float = 0.9

    # --- iterate, chunk: the iteration
    # Exponent of (IPM.8), and the least σ. No exponent is best everywhere: on ijcnn1 6 takes 24 iterations and 4 takes
    # 30; on sixteen duals of smaller sets, raw and standardised, to 1e-7, 6 takes 327 in all and 4 takes 306.
    centring_power: int = 6
    least_centring: float = 1e-8
    # Share of the longest step that is taken, where that is short, and where it is nearly or more than a whole one.
    short_step: float = 0.9
    long_step: float = 0.999
    nearly_whole: float = 0.9
    # Correctors (Gondzio) at most, and the step from which none is needed: where a factorisation costs much more than a
    # solution, and where not. A corrector costs .1 of an iteration with 100 columns and .4 with ten; on 75 problems the
    # second rule takes 15 % more iterations and 70 % less correctors, so it costs 15 % less there and 7 % more here.
    correctors_costly: int = 2
    long_enough_costly: float = 0.9
    correctors_cheap: int = 1
    long_enough_cheap: float = 0.5
    # The step that a corrector aims for.
    aimed_growth: float = 1.5
    aimed_step: float = 0.3
    # A corrector is kept where the step grows by this share of what was aimed for.
    worthwhile: float = 0.1
    # Variables of a chunk of the elementwise work: its two dozen temporaries stay in a core's second-level cache.
    chunk_rows: int = 4096
    # Objectives below these shares of their natural size count as this in relative gaps: of force times Σ|x|, where
    # only rounding is left, and of force times room, which may be 1e35 times as large as an x that C does not hold.
    least_objective: float = 1e-12
    least_of_all: float = 1e-40
    # Below this share of force times room Σ|x| is looked at.
    small_objective: float = 1e-9
    # From this relative gap on the best point is kept aside.
    keep_below: float = 1e-4
    # The products that a corrector aims at, in shares of σμ (Gondzio 1996).
    lowest_product: float = 0.1
    highest_product: float = 10.0

    # --- problem: the start, and the form of the problem
    # μ of the start, in units of force times room. 3 is better on small sets (290 iterations for 327) and worse on
    # ijcnn1 (30 for 24); below 0.3 the first iterations make no progress.
    start_product: float = 1.0
    # Columns of Z a row from which Z = LQᵀ, about 3n²k multiplications, costs less than what a smaller Newton matrix
    # saves in a dozen iterations. P itself, (n, n), costs less again, but loses the digits of badly scaled columns.
    wide: float = 1.25
    # Rows from which that time matters; below it the digits do.
    wide_rows: int = 256
    # θ of a free variable without curvature, a share of the mean diagonal of P (a proximal term: it vanishes with dx).
    proximal: float = 1e-8

    # --- systems: the Newton systems
    # Trace of the rows that may be left out of ZᵀDZ: R + BᵀDB ⪰ I on v, so that a step errs by half in the worst
    # direction, and by spare/k on average. Near the end this leaves little more than the rows between their bounds.
    spare: float = 0.25
    # Columns from which a factorisation costs five times as much as a corrector: 27 + k/4 ns a row for the corrector,
    # 42 + k/2 + k²/33 ns for the iteration.
    costly_width: int = 50


SETTINGS = Settings()
