"""An estimate over all rows: the kernel replaced by a low-rank map and a diagonal, a smoothed hinge, Newton steps.

    (NYSTROM.1)  K ≈ GGᵀ + diag(ϱ),  G = K_nM L⁻ᵀ with LLᵀ = K_MM over m random rows M,  ϱ_i = K_ii − ‖G_i‖²
    (NYSTROM.2)  minimise ½‖v‖² + Σ C_i φ_i(1 − y_i(G_i v + b)): the hinge, rounded over a width of η_i = h + C_i ϱ_i
    (NYSTROM.3)  α_i = C_i clip(t_i, 0, 1),  t_i = (1 + ½h − y_i(G_i v + b)) / η_i
    (NYSTROM.4)  Newton, with F = {0 < t < 1} and U = {t ≥ 1}:
                 (I + Σ_F (C_i/η_i) G_i G_iᵀ) v = Σ_F (C_i/η_i)(1 + ½h) y_i G_i + Σ_U C_i y_i G_i
    (NYSTROM.5)  s_i = 1 − y_i(G_i v + b + ϱ_i β_i), the slack in the model;  h(t_i − ½) on F

Derivation
----------
The dual over (NYSTROM.1) is a box problem in every coordinate once v = Gᵀβ is fixed: unless a bound is met,
(ϱ_i + h/C_i) α_i = 1 + ½h − y_i(G_i v + b). So the diagonal that the low rank leaves over acts as a smoothing of the
hinge, a different one for each row, and nothing of the diagonal of K is lost; so the estimate is good where low rank
alone is poor. h is lowered in a few steps, the first on some of the rows only. A step costs the rows F times m².
Other losses are sums of such pieces, one a row of a C-SVM, two where β may be positive or negative; the width of a
ν-SVR's tube is fitted with them:

    (PIECE.1)  β_i = base_i + Σ α_k s_k over the pieces k of row i,  0 ≤ α_k ≤ U_k:  k rises where s_k(ℓ − f) > ε_k
    (PIECE.2)  the smoothed α over a diagonal ϱ:  α_k = U_k clip((s_k(ℓ − f − ϱ base) − ε_k + c) / (h + U_k ϱ), 0, 1)

c is half of h, so that a piece begins before its edge; but 0 where a row has two of them, which must not rise at once.
Sources: Williams & Seeger (2001) for the map; Chapelle (2007) for Newton on the primal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.workers import in_tiles, parts_of, strips
from qpsvm.program.costs import PRODUCT_SECONDS
from qpsvm.solvers.kernel.dual import Edges, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.shared.cholesky import NumericalTrouble, ridged
from qpsvm.solvers.shared.line_search import Slope, find_step
from qpsvm.space.kernels.blocks import KernelBlocks

SingleArray: TypeAlias = NDArray[np.float32]

#: Landmarks, in units of the root of n.
LANDMARKS = 1.8
#: Added to the unit diagonal of K_MM: the map is in single precision.
RIDGE = 1e-6
#: h of both stages; the first sees so many rows for each landmark, where that saves something.
FIRST_WIDTH, ROWS_EACH, LAST_WIDTH = 0.3, 2, 0.05
#: A stage ends when at most this share of F has changed; or after so many steps.
SETTLED, STEPS = 0.1, 12
#: A tube of unknown width is fitted anew so often at most, until that changes by at most this share of the residuals.
WIDENINGS, WIDENED = 4, 0.01
#: Curvature of the intercept, which has none where F is empty: negligible elsewhere.
FLAT = 1e-10
#: Rows of the map made at a time.
STRIP = 512
#: Rows of the map that are made or multiplied between two looks at the clock.
AT_ONCE = 1 << 15
#: Seconds of a multiplication and addition in a product with a vector, roughly: a number is read from memory.
VECTOR_SECONDS = 2e-10
#: Halvings that find the width of a tube to a ten-thousandth.
HALVINGS = 14


@dataclass(frozen=True, eq=False)
class Estimate:
    """What the model says of a solution.

    violation (n,): How far each row is on the wrong side of its bound: −|s| with s of (NYSTROM.5).
    at_bound (n,): β of each row at its bound.
    beta (n,): y∘α of (NYSTROM.3); Σβ = 0 only nearly.
    free (n,): F.
    rest (n,): ϱ, what the low rank leaves of the diagonal.
    side (n,) or None: The side of the tube, where β may be positive or negative.
    tube: That of `Edges`.
    """

    violation: FloatArray
    at_bound: FloatArray
    beta: FloatArray
    free: NDArray[np.bool_]
    rest: FloatArray
    side: FloatArray | None = None
    tube: float = 0.0


def nystrom_estimate(blocks: KernelBlocks, problem: KernelDual, effort: Effort) -> Estimate | None:
    """Solve (NYSTROM.2); None where time runs out or K_MM has no factor."""
    n, order = problem.n, stratified(problem)  # the first rows are landmarks, and the first to be fitted
    m = min(int(LANDMARKS * np.sqrt(n)), n)
    G = _features(blocks, order[:m], effort)
    if G is None or effort.late():
        return None
    rest = np.maximum(blocks.diagonal(np.arange(n)) - np.einsum("ij,ij->i", G[:, :m], G[:, :m]), 0.0)
    v, some = np.zeros(m + 1), np.sort(order[: ROWS_EACH * m])
    pieces, share = Pieces.of(problem), tube_share(problem)
    if 2 * len(some) < n:
        fewer = pieces.weighed(some, n / len(some))
        v, _, fewer = _settled(share, G[some], fewer, rest[some], FIRST_WIDTH, v, effort)
        pieces = replace(pieces, width=np.full(len(pieces.width), fewer.width[0])) if share else pieces
        widths: tuple[float, ...] = (LAST_WIDTH,)
    else:
        widths = (FIRST_WIDTH, LAST_WIDTH)
    t = np.zeros(0)
    for h in widths:
        if effort.late():
            return None
        v, t, pieces = _settled(share, G, pieces, rest, h, v, effort)
    beta, free = pieces.beta(t), pieces.free(t)
    effort.report("estimate", int(np.count_nonzero(free)), np.inf)
    r = pieces.target - single_product(G, v) - rest * beta  # (NYSTROM.5)
    tube = float(pieces.width[0]) if share else 0.0
    at_bound, edges = problem.bound_for(r, tube), Edges(0.0, tube)
    side = problem.sides(at_bound, problem.level - r, edges) if problem.kinked else None
    return Estimate(
        problem.violation(at_bound, problem.level - r, edges, slice(None)), at_bound, beta, free, rest, side, tube
    )


def _settled(
    share: float, G: SingleArray, pieces: Pieces, rest: FloatArray, h: float, v: FloatArray, effort: Effort
) -> tuple[FloatArray, FloatArray, Pieces]:
    """v and t at one h; and, where it is not given, at the width of the tube that goes with them."""
    v, t = _Smoothed(G, pieces, rest, h).minimise(v, effort)
    if share:
        for _ in range(WIDENINGS):
            r = pieces.target - single_product(G, v)
            width = tube_width(pieces, np.abs(r), h, rest, share)
            settled = abs(width - float(pieces.width[0])) <= WIDENED * float(np.abs(r).mean())
            if settled or effort.late():
                break
            pieces = replace(pieces, width=np.full(len(pieces.width), width))
            v, t = _Smoothed(G, pieces, rest, h).minimise(v, effort)
    return v, t, pieces


def _features(blocks: KernelBlocks, landmarks: IntArray, effort: Effort) -> SingleArray | None:
    """G with a column of ones for the intercept, float32: (n, m + 1); None where time runs out or there is no L."""
    m = len(landmarks)
    square = blocks.block(landmarks, landmarks)
    try:
        lower, _ = ridged(square, RIDGE, max(float(np.mean(square.diagonal())), np.finfo(float).tiny))
    except NumericalTrouble:
        return None
    inverse = lapack.dtrtri(lower, lower=1)[0]
    right = np.tril(inverse).T.astype(np.float32)
    G = np.empty((blocks.n, m + 1), dtype=np.float32)
    G[:, m] = 1.0

    def fill(strip: slice) -> None:
        rows = np.arange(strip.start, strip.stop)
        np.matmul(blocks.block(rows, landmarks, rough=True).astype(np.float32, copy=False), right, out=G[strip, :m])

    tiles, many = strips(blocks.n, STRIP), AT_ONCE // STRIP
    for first in range(0, len(tiles), many):
        if effort.late():
            return None
        in_tiles(fill, tiles[first : first + many], PRODUCT_SECONDS * min(AT_ONCE, blocks.n) * m * m)
    return G


def single_product(G: SingleArray, v: FloatArray) -> FloatArray:
    """Gv (n,) for v (m,), in single precision."""
    product, single = np.empty(len(G)), v.astype(np.float32)

    def multiply(part: slice) -> None:
        product[part] = np.dot(G[part], single)

    in_tiles(multiply, strips(len(G), STRIP), VECTOR_SECONDS * G.size)
    return product


class _Smoothed:
    """(NYSTROM.2) at one h."""

    def __init__(self, G: SingleArray, pieces: Pieces, rest: FloatArray, h: float) -> None:
        self.G, self.pieces = G, pieces
        self.sign, self.upper = pieces.sign, pieces.upper
        self.width = h + self.upper * pieces.spread(rest)
        # the two pieces of a row must not rise at once: there, no half width before the edge
        self.before = np.zeros(len(self.sign)) if pieces.two else np.full(len(self.sign), 0.5 * h)
        self.level = pieces.sign * pieces.spread(pieces.target) - pieces.width + self.before
        based = pieces.base.any()
        if based:
            self.level -= pieces.spread(rest * pieces.base)
        self.flat = np.ones(G.shape[1])
        self.flat[-1] = 0.0
        self._full = np.zeros(len(self.sign), dtype=bool)
        self._base = pieces.base.astype(np.float32) @ G if based else np.zeros(G.shape[1])
        self._base[-1] -= pieces.total  # the last column of G belongs to Σβ
        self._reduced_gradient = self._base.astype(np.float64)

    def _ratio(self, f: FloatArray) -> FloatArray:
        ratio: FloatArray = (self.level - self.sign * self.pieces.spread(f)) / self.width  # (NYSTROM.3)
        return ratio

    def _rows(self, index: IntArray) -> IntArray:
        """The rows of some pieces."""
        return index % len(self.G) if self.pieces.two else index

    def _newton(self, t: FloatArray, effort: Effort) -> FloatArray | None:
        """(NYSTROM.4); None where time runs out or there is no factor."""
        full = t >= 1.0
        changed = np.flatnonzero(full != self._full)
        signed = np.where(full[changed], 1.0, -1.0) * (self.sign * self.upper)[changed]
        self._reduced_gradient = self._reduced_gradient + signed.astype(np.float32) @ self.G[self._rows(changed)]
        self._full = full
        free = np.flatnonzero((t > 0.0) & (t < 1.0))
        weight = self.upper[free] / self.width[free]
        right = self._reduced_gradient.copy()
        hessian = np.zeros((self.G.shape[1],) * 2)
        for start in range(0, len(free), AT_ONCE):
            if effort.late():
                return None
            strip = slice(start, start + AT_ONCE)
            self._add_moments(free[strip], weight[strip], hessian, right)
        hessian.flat[:: len(hessian) + 1] += self.flat
        hessian[-1, -1] += FLAT * (1.0 + float(weight.sum()))
        try:
            lower, _ = ridged(hessian, 0.0, float(hessian.trace()) / len(hessian))
        except NumericalTrouble:
            return None
        solution: FloatArray = lapack.dpotrs(lower, right, lower=1)[0]
        return solution

    def _add_moments(self, free: IntArray, weight: FloatArray, hessian: FloatArray, right: FloatArray) -> None:
        """What some pieces of F add to both sides of (NYSTROM.4)."""
        parts = parts_of(len(free), STRIP)
        squares = np.empty((len(parts), *hessian.shape), dtype=np.float32)
        pulls = np.empty((len(parts), len(right)), dtype=np.float32)

        def multiply(k: int) -> None:
            pieces, weights = free[parts[k]], weight[parts[k]]
            part = self.G.take(self._rows(pieces), axis=0)
            np.dot((weights * self.sign[pieces] * self.level[pieces]).astype(np.float32), part, out=pulls[k])
            part *= np.sqrt(weights).astype(np.float32)[:, None]
            np.dot(part.T, part, out=squares[k])

        in_tiles(multiply, range(len(parts)), PRODUCT_SECONDS * len(free) * hessian.size)
        for square, reduced_gradient in zip(squares, pulls, strict=True):
            hessian += square
            right += reduced_gradient

    def minimise(self, v: FloatArray, effort: Effort) -> tuple[FloatArray, FloatArray]:
        """v (m + 1,) and t (n,) where the sets have settled, from a v of a wider h or of fewer rows."""
        f = single_product(self.G, v)
        t = self._ratio(f)
        for _ in range(STEPS):
            target = self._newton(t, effort)
            if target is None or effort.late():
                break
            d = target - v
            df = single_product(self.G, d)
            length = self._length(v, d, t, df)
            if not length > 0.0:
                break
            v, f = v + length * d, f + length * df
            before, t = t, self._ratio(f)
            effort.newton_steps += 1
            free = (before > 0.0) & (before < 1.0)
            changed = np.count_nonzero(free != ((t > 0.0) & (t < 1.0)))
            if length == 1.0 and changed <= SETTLED * np.count_nonzero(free) + 1:
                break
        return v, t

    def _length(self, v: FloatArray, d: FloatArray, t: FloatArray, df: FloatArray) -> float:
        stiff = np.sqrt(self.upper / self.width)
        slope = Slope(
            float((d * self.flat) @ v - d @ self._base),
            float((d * self.flat) @ d),
            self.upper * t / stiff,
            self.sign * self.pieces.spread(df) * stiff,
            1.0,
            self.upper / stiff,
        )
        first = slope(0.0)
        return find_step(slope, first) if first < 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of the loss that rise, one or two a row: β of row i is its `base` and the sum of α_k sign_k over them.

    target, base (n,)
    rows, sign, width, upper (m,): Row, direction, distance from the target, and the most that α can be.
    two: Whether the second half of the pieces is the other side of the rows.
    total: Σβ.
    """

    target: FloatArray
    base: FloatArray
    sign: FloatArray
    width: FloatArray
    upper: FloatArray
    two: bool = False
    total: float = 0.0

    @classmethod
    def of(cls, problem: KernelDual) -> Pieces:
        """Of a problem; a ν-SVR's, at the tube that its targets ask for."""
        ones, total = np.ones(problem.n), problem.total
        if not problem.kinked:
            return cls(problem.level, problem.base, problem.sign, 0.0 * ones, problem.weight, total=total)
        tube = np.tile(ones * (problem.tube + problem.edges(0.0 * ones).tube), 2)
        sign, upper = np.concatenate([ones, -ones]), np.concatenate([problem.high, -problem.low])
        return cls(problem.level, 0.0 * ones, sign, tube, upper, True, total)

    def weighed(self, some: IntArray, factor: float) -> Pieces:
        """Of some of the rows, each of which counts as so many."""
        both = np.concatenate([some, some + len(self.target)]) if self.two else some
        return Pieces(
            self.target[some], self.base[some] * factor, self.sign[both], self.width[both], self.upper[both] * factor,
            self.two, self.total,
        )  # fmt: skip

    def spread(self, x: FloatArray) -> FloatArray:
        """x (n,) of the rows, for every piece: (m,)."""
        return np.tile(x, 2) if self.two else x

    def gathered(self, x: Any) -> Any:
        """Sums of x (m,) over the pieces of each row: (n,)."""
        n = len(self.target)
        return x[:n] + x[n:] if self.two else x

    def beta(self, t: FloatArray) -> FloatArray:
        """β (n,) for t (m,)."""
        found: FloatArray = self.base + self.gathered(self.sign * self.upper * np.clip(t, 0.0, 1.0))
        return found

    def free(self, t: FloatArray) -> NDArray[np.bool_]:
        """The rows with a piece that is neither at its beginning nor at its end: a mask (n,)."""
        free: NDArray[np.bool_] = self.gathered((t > 0.0) & (t < 1.0))
        return free


def tube_share(problem: KernelDual) -> float:
    """The share of rows outside of a tube whose width is to be found, too; 0 where it is given."""
    return 0.0 if problem.mass is None else min(problem.mass / problem.total_penalty, 1.0)


def tube_width(pieces: Pieces, size: FloatArray, h: float, rest: FloatArray, share: float) -> float:
    """The width of the tube at which Σ|β| is a share of the most that it can be, for |t − Gv − b| (n,): by halving."""
    upper = pieces.upper[: len(size)]
    slope, goal = upper / (h + upper * rest), share * float(upper.sum())
    low, high = 0.0, float(size.max())
    for _ in range(HALVINGS):
        width = 0.5 * (low + high)
        if float(np.minimum(np.maximum(size - width, 0.0) * slope, upper).sum()) > goal:
            low = width
        else:
            high = width
    return 0.5 * (low + high)


def stratified(problem: KernelDual) -> IntArray:
    """A random order of which every beginning holds both classes, or high and low targets, in proportion: (n,)."""
    if problem.signed:
        return stratified_order(problem.sign)
    return stratified_order(np.where(problem.level > np.median(problem.level), 1.0, -1.0))


def stratified_order(y: FloatArray, seed: int = 0) -> IntArray:
    """A random order of the rows of which every beginning holds both classes in proportion: (n,)."""
    rng = np.random.default_rng(seed)
    key = np.empty(len(y))
    for sign in (-1.0, 1.0):
        rows = rng.permutation(np.flatnonzero(y == sign))
        key[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(key, kind="stable")
