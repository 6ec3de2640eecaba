"""Numbers that fall short of a row that nothing may fall short of: what they are a proof of, beside nothing.

    (RELAX.1)  v_k ≥ t_k of each hard row that falls short, a float:  (w, μ) is a point of the program with ℓ_k − v_k in
               place of ℓ_k, α is one of its dual, and (GAP.1) of the two is the gap there
    (RELAX.2)  where all rows are hard and all levels are one ℓ, v is one number, too:  the points of that program are
               those of the first times (ℓ − v)/ℓ, so that the same gap is that of (w, μ)·ℓ/(ℓ − v), which keeps all

Rows that can be kept as equalities only are kept by hardly any floats: (RELAX.1) says what is true of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.exactly import Exactly, above, constant, enclosed
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.vectors import repeated
from qpsvm.base.arrays.words import at_most
from qpsvm.bounds.proof import rational, terms
from qpsvm.bounds.proof.exact_dual import ExactDual, Held
from qpsvm.bounds.proof.spaces import ExactValues, Measured

#: Radii by which a level is lowered beyond what a row may fall short by: the next look at it has rounding as well.
BEYOND = 4.0


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A program with lower levels.

    most: The largest v.
    rows: How many rows may fall short.
    scaled: Whether (RELAX.2) is true of it.
    lowered (m,): v.
    """

    program: ExactDual
    most: float
    rows: int
    scaled: bool
    lowered: FloatArray

    def said(self, gap: float) -> str:
        """A sentence."""
        if self.scaled:
            return (
                f"these numbers fall short of their margin by at most {at_most(self.most, 2)} of it; times 1/(1 − "
                f"{self.most!r}) they keep it exactly, with a relative gap of at most {at_most(gap)}"
            )
        rows = "one row" if self.rows == 1 else f"{self.rows} rows"
        return (
            f"{rows} of those that have to be kept may be broken, by at most {at_most(self.most, 2)}; with bounds that "
            f"are so much wider, the relative gap of these numbers is at most {at_most(gap)}"
        )


def relaxed(program: ExactDual, held: Held, values: ExactValues | Measured) -> Relaxed | None:
    """(RELAX.1) or (RELAX.2); None where no row is hard, or how far they fall short is not known."""
    hard = np.flatnonzero(program.hard())
    off = np.zeros(program.m)
    if isinstance(values, ExactValues):
        short = rational.shortfalls(program, held, values)
        off[hard] = [above(max(short[k][1], Fraction(0))) for k in hard.tolist()]
    else:
        t = terms.shortfalls(program, held, values.values, hard)
        high = t.ends[1]
        sizes = np.abs(t.high) + np.abs(program.level.bounds[1][hard])
        off[hard] = np.where(high > 0.0, high + BEYOND * (t.radius + 4.0 * UNIT * sizes), 0.0)
    rows = int(np.count_nonzero(off))
    if not rows or not np.isfinite(off).all():
        return None
    most, level = float(off.max()), _one(program)
    if level is not None and Fraction(most) < level:
        lowered = replace(program, level=constant(level - Fraction(most), program.m))
        return Relaxed(lowered, above(Fraction(most) / level), rows, True, repeated(most, program.m))
    return Relaxed(replace(program, level=_lowered(program.level, off)), most, rows, False, off)


def _one(program: ExactDual) -> Fraction | None:
    """The level of all rows, where (RELAX.2) may be true of them."""
    if not program.m or any(group.ridge or group.total for group in program.groups) or not program.hard().all():
        return None
    low, high = program.level.bounds
    same = program.level.plain and bool((low == low[0]).all() and (high == low[0]).all())
    return program.level[0] if same and low[0] > 0.0 else None


def _lowered(level: Exactly, off: FloatArray) -> Exactly:
    """ℓ − v."""
    changed, ends = off > 0.0, level.bounds
    low = np.where(changed, np.nextafter(ends[0] - off, -np.inf), ends[0])
    high = np.where(changed, np.nextafter(ends[1] - off, np.inf), ends[1])

    def at(k: int) -> Fraction:
        return level[k] - Fraction(float(off[k]))

    return enclosed(low, high, at)
