"""What a solve costs on P machines: the model of the documentation, (COST.1) to (COST.5), as code.

(COST.1)  rows     S·8·n·d / (P·β):             S passes over all rows, each number read once
(COST.2)  vectors  v·n / P:                     α, r = ℓ − ZW, labels, masks, the certificate's sums: no X in them
(COST.3)  bands    K·(3·2d·b + 2·d²·g·b)/(P·φ): K Newton steps on b rows, of which a share g enters or leaves
(COST.4)  waiting  M·(2λ + o):                  M sums, there and back, and what a hub does about one
(COST.5)  sending  2(P − 1)·Y / ω:              Y bytes that a member says, through the hub's link
"""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes of a number.
NUMBER = 8
#: Numbers, beside q, that a Newton step adds up over the members: the gap's sums, the budget's signs.
SCALARS = 6
#: Bytes of a message that are not numbers: its kind, its form, its frames.
ENVELOPE = 350


@dataclass(frozen=True)
class Machines:
    """P equal machines and what connects them.

    Attributes
    ----------
    count : int
        P.
    bandwidth : float
        β, bytes of memory that one reads a second.
    flops : float
        φ, multiplications and additions of one a second, of matrices.
    latency : float
        λ, seconds of a message on its way.
    link : float
        ω, bytes a second through the hub's link, each way.
    hub : float
        o, seconds that processes need for one sum beside its way.
    row_seconds : float
        v, seconds of the work on vectors over the rows, for each row.
    """

    count: int
    bandwidth: float
    flops: float
    latency: float
    link: float
    hub: float
    row_seconds: float


@dataclass(frozen=True)
class Work:
    """What a solve does, as it was counted, or as it is expected.

    Attributes
    ----------
    n, d : int
    passes : float
        S.
    steps : int
        K.
    band : float
        b, rows of a band or a subsample on average.
    fresh : float
        g, the share of them whose moments a step makes anew.
    messages : int
        M.
    said : float
        Y, bytes that a member says in all.
    """

    n: int
    d: int
    passes: float
    steps: int
    band: float
    fresh: float
    messages: int
    said: float


@dataclass(frozen=True)
class Cost:
    """Seconds by (COST.1) to (COST.5)."""

    rows: float
    vectors: float
    bands: float
    waiting: float
    sending: float

    @property
    def seconds(self) -> float:
        """All of them."""
        return self.rows + self.vectors + self.bands + self.waiting + self.sending


def cost(work: Work, on: Machines) -> Cost:
    """(COST.1) to (COST.5)."""
    share = work.n / on.count
    flops = 6.0 * work.d * work.band + 2.0 * work.d**2 * work.fresh * work.band
    return Cost(
        rows=work.passes * NUMBER * share * work.d / on.bandwidth,  # (COST.1)
        vectors=on.row_seconds * share,  # (COST.2)
        bands=work.steps * flops / (on.count * on.flops),  # (COST.3)
        waiting=work.messages * (2.0 * on.latency + on.hub) if on.count > 1 else 0.0,  # (COST.4)
        sending=2.0 * (on.count - 1) * work.said / on.link,  # (COST.5)
    )


def said(d: int, steps: int, grams: int, scalars: int, pulls: int) -> float:
    """Y: what a member says in Newton steps, of which some need Z_JᵀDZ_J, in line searches and in passes over all rows.

    Parameters
    ----------
    d : int
    steps : int
        Sums of Zᵀα and the gap's parts, one a Newton step.
    grams : int
        Sums of second moments: the upper triangle of (d + 1)² numbers.
    scalars : int
        Sums of a few numbers: a slope of the line search, a term of the certificate.
    pulls : int
        Sums of d + 1 numbers in passes over all rows.
    """
    width = d + 1
    numbers = (steps + pulls) * (width + SCALARS) + grams * (width * (width + 1) // 2) + scalars
    return float(NUMBER * numbers + ENVELOPE * (steps + grams + scalars + pulls))
