"""The optimum of a small machine in fractions: what every claim about optima is held against.

The program is that of the checker of proofs, `checker.build_dual`, which knows nothing of the library. Clarabel says
which rows are between their bounds, to 1e-12; from there on there are fractions only: the equations of these rows are
solved, the conditions of optimality are checked row by row, and the multipliers that satisfy them all are found, of
which an optimum may have many. Where Clarabel's guess satisfies them, it is the optimum; where it does not, nothing is
said.

Values of an RBF kernel are rounded to 192 bits, and everything after that is exact again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp

from qpsvm.bounds.proof import checker

Vector = list[Fraction]
#: What counts as between the bounds, as a share of them: tried in turn.
BETWEEN = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
#: A bound beyond which Clarabel need not know of it, in units of a step along one α.
FAR = 1e10


@dataclass(frozen=True)
class Stated:
    """A machine in plain numbers: its specification as in a proof file, samples X, targets y, and weights s."""

    machine: dict[str, Any]
    X: Any
    y: Any
    s: Any

    def select_rows(self, rows: Any) -> Stated:
        """Return the same over some of its samples."""
        parameters = dict(self.machine["parameters"])
        if isinstance(parameters.get("C"), list):
            parameters["C"] = [parameters["C"][i] for i in rows]
        return Stated({**self.machine, "parameters": parameters}, self.X[rows], self.y[rows], self.s[rows])

    def with_parameters(self, **parameters: Any) -> Stated:
        """Return the same with other parameters."""
        machine = {**self.machine, "parameters": {**self.machine["parameters"], **parameters}}
        return Stated(machine, self.X, self.y, self.s)


class Optimum:
    """α*, w* and every multiplier of an optimum; `known` says whether it was found.

    points: The samples that take part, and behind them those at which f is asked for.
    """

    def __init__(self, stated: Stated, more: Any) -> None:
        self.machine = stated.machine
        self.part = np.flatnonzero(stated.s > 0.0).tolist()
        rows = [*stated.X[self.part], *np.asarray(more).reshape(-1, stated.X.shape[1])]
        self.points = [{j: float(x) for j, x in enumerate(row) if x} for row in rows]
        self.kernel, self.unit = checker.kernel_of(stated.machine["kernel"], self.points)
        n = len(rows)
        self.K = [[Fraction(0)] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                self.K[i][j] = self.K[j][i] = Fraction(sum(self.kernel(i, j)), 2 * self.unit)
        y, s = ([Fraction(float(each[i])) for i in self.part] for each in (stated.y, stated.s))
        own = [self.K[i][i] for i in range(len(self.part))]
        self.program = checker.build_dual(stated.machine, y, s, self.part, own)
        self.hard = [g for g, ridge in self.program.R.items() if not ridge]
        self.alpha: Vector = []
        self.vertices: list[dict[str, Fraction]] = []
        self.known = self._search()

    def _search(self) -> bool:
        guess = self._guess()
        upper = np.array([np.inf if row.U is None else float(row.U) for row in self.program.rows])
        size = np.minimum(upper, max(guess.max(initial=0.0), 1e-300))
        return any(self._exactly(guess, guess > share * size, guess >= (1.0 - share) * upper) for share in BETWEEN)

    def _guess(self) -> Any:
        """α by Clarabel: (m,)."""
        rows, soft = self.program.rows, [g for g, ridge in self.program.R.items() if ridge]
        at = [row.z[0][0] for row in rows]
        sign = np.array([float(row.s) for row in rows])
        K = np.array([[float(self.K[i][j]) for j in at] for i in at])
        E = {g: np.array([float(row.E[g]) for row in rows]) for g in self.program.e}
        e, R = ({g: float(v) for g, v in each.items()} for each in (self.program.e, self.program.R))
        P = sign[:, None] * K * sign + np.diag([float(row.d) for row in rows])
        P = P + sum((np.outer(E[g], E[g]) / R[g] for g in soft), np.zeros_like(P))
        q = -np.array([float(row.l) for row in rows]) - sum((e[g] / R[g] * E[g] for g in soft), np.zeros(len(rows)))
        size, steep = float(np.diag(P).max()) or 1.0, float(np.abs(q).max()) or 1.0  # both are 1 for Clarabel
        P, q, unit = P / size, q / steep, steep / size
        upper = np.array([np.inf if row.U is None else float(row.U) / unit for row in rows])
        finite = np.flatnonzero(upper < FAR).tolist()
        one = sp.eye_array(len(rows), format="csr")
        A = sp.vstack([np.array([E[g] for g in self.hard]).reshape(-1, len(rows)), -one, one[finite]], format="csc")
        b = np.concatenate([[e[g] / unit for g in self.hard], np.zeros(len(rows)), upper[finite]])
        cones = [clarabel.ZeroConeT(len(self.hard)), clarabel.NonnegativeConeT(len(rows) + len(finite))]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        solver = clarabel.DefaultSolver(sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(A), b, cones, settings)
        return unit * np.array(solver.solve().x)

    def _exactly(self, guess: Any, positive: Any, bounded: Any) -> bool:
        """α of these rows between their bounds, and the multipliers with it; False where that is no optimum."""
        rows, names = self.program.rows, list(self.program.e)
        free = np.flatnonzero(positive & ~bounded).tolist()
        alpha = [row.U if full and row.U is not None else Fraction(0) for row, full in zip(rows, bounded, strict=True)]
        for k in free:
            alpha[k] = Fraction(0)
        f = self._f(alpha)
        table = []
        for k in free:
            i, s = rows[k].z[0][0], rows[k].s
            own = [s * rows[j].s * self.K[i][rows[j].z[0][0]] + (rows[k].d if j == k else 0) for j in free]
            table.append([*own, *(rows[k].E[g] for g in names), rows[k].l - s * f[i]])
        for g in names:
            miss = self.program.e[g] - sum((row.E[g] * a for row, a in zip(rows, alpha, strict=True) if a), Fraction(0))
            ridge = [-self.program.R[g] if h == g else Fraction(0) for h in names]
            table.append([*(rows[j].E[g] for j in free), *ridge, miss])
        values = [Fraction(float(guess[k])) for k in free] + [Fraction(0)] * len(names)
        solved = solution(table, values)
        if solved is None:
            return False
        for k, value in zip(free, solved, strict=False):
            alpha[k] = value
        if any(a < 0 or (row.U is not None and a > row.U) for a, row in zip(alpha, rows, strict=True)):
            return False
        self.alpha, self.f0 = alpha, self._f(alpha)
        self.vertices = self._multipliers()
        return bool(self.vertices)

    def _f(self, alpha: Vector) -> Vector:
        """⟨w, x⟩ at all points."""
        beta = [Fraction(0)] * len(self.part)
        for row, a in zip(self.program.rows, alpha, strict=True):
            beta[row.z[0][0]] += a * row.s
        return [sum((b * k for b, k in zip(beta, row, strict=False) if b), Fraction(0)) for row in self.K]

    def _multipliers(self) -> list[dict[str, Fraction]]:
        """The corners of the set of multipliers with which α is optimal; an end that is at infinity is left out."""
        soft = {}
        for g, ridge in self.program.R.items():
            total = sum((row.E[g] * a for row, a in zip(self.program.rows, self.alpha, strict=True)), Fraction(0))
            if ridge:
                soft[g] = (total - self.program.e[g]) / ridge
            elif total != self.program.e[g]:
                return []
        lines = []  # E·μ against t, and which sides of it are forbidden
        for row, a in zip(self.program.rows, self.alpha, strict=True):
            t = (
                row.l
                - row.s * self.f0[row.z[0][0]]
                - row.d * a
                - sum((row.E[g] * m for g, m in soft.items()), Fraction(0))
            )
            lines.append(([row.E[g] for g in self.hard], t, row.U is None or a < row.U, a > 0))
        corners = []
        for chosen in combinations(lines, len(self.hard)):
            mu = solution([[*E, t] for E, t, _, _ in chosen], None)
            if mu is None or mu in corners:
                continue
            off = [(sum((x * m for x, m in zip(E, mu, strict=True)), Fraction(0)) - t, low, high)
                   for E, t, low, high in lines]  # fmt: skip
            if all((d >= 0 or not low) and (d <= 0 or not high) for d, low, high in off):
                corners.append(mu)
        return [soft | dict(zip(self.hard, mu, strict=True)) for mu in corners]

    @property
    def value(self) -> Fraction:
        """P* = D*, in the units of the objective."""
        rows = list(zip(self.program.rows, self.alpha, strict=True))
        w2 = sum((a * row.s * self.f0[row.z[0][0]] for row, a in rows if a), Fraction(0))
        gain = sum((row.l * a - row.d * a * a / 2 for row, a in rows if a), Fraction(0)) - w2 / 2
        for g, ridge in self.program.R.items():
            if ridge:
                gain -= (sum((row.E[g] * a for row, a in rows), Fraction(0)) - self.program.e[g]) ** 2 / ridge / 2
        return self.program.unit * gain

    def ends(self, place: int) -> tuple[Fraction, Fraction]:
        """The least and the largest f(x) of all optima, at the point that is asked for at this place."""
        i = len(self.part) + place
        own = self.K[i][i] if self.machine["name"] == "SVDD" else Fraction(0)
        values = [(self.f0[i] + mu.get("b", Fraction(0))) / self.program.half - own for mu in self.vertices]
        return min(values), max(values)

    def primal(self, plane: dict[str, Any]) -> Fraction:
        """P, from above, of a plane as a user holds it."""
        half, mu = self.program.half, {}
        if "centre" in plane:
            centre = [Fraction(x) for x in plane["centre"]]
            mu["b"] = (Fraction(plane["radius"]) ** 2 - sum(x * x for x in centre)) / 2
            looked = checker.by_coordinates(self.points, centre, [Fraction(0)] * len(self.points))
        else:
            for g, value in plane.get("multipliers", {}).items():
                mu[g] = Fraction(value) * (half if g == "b" else 1)
            nothing = [Fraction(0)] * len(self.points)
            if "coef" in plane:
                coef = [Fraction(x) * half for x in plane["coef"]]
                coef += [Fraction(0)] * (len(self.points) - len(coef))
                looked = checker.by_kernel(self.kernel, self.unit, coef, nothing)
            else:
                looked = checker.by_coordinates(self.points, [Fraction(x) * half for x in plane["w"]], nothing)
            if "radius" in plane:
                mu["b"] = (Fraction(plane["radius"]) ** 2 - looked.w[0]) / 2
        found: Fraction = checker.bound_objectives(self.program, looked, self.alpha, mu)[0][1]
        return found


def solution(table: list[Vector], values: Vector | None) -> Vector | None:
    """Of equations with their right sides behind; unknowns that are not determined have these values.

    None where there is no solution; and without `values` where there is more than one.
    """
    rows, count = [list(row) for row in table], len(table[0]) - 1 if table else len(values or ())
    pivots: list[int] = []
    for column in range(count):
        place = next((k for k in range(len(pivots), len(rows)) if rows[k][column]), None)
        if place is None:
            continue
        k = len(pivots)
        rows[k], rows[place] = rows[place], rows[k]
        head = rows[k] = [x / rows[k][column] for x in rows[k]]
        for j, row in enumerate(rows):
            if j != k and row[column]:
                rows[j] = [a - row[column] * b for a, b in zip(row, head, strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]) or (values is None and len(pivots) < count):
        return None
    found = list(values) if values is not None else [Fraction(0)] * count
    for row, column in zip(rows, pivots, strict=False):
        others = (row[j] * found[j] for j in range(count) if j not in pivots and row[j])
        found[column] = row[-1] - sum(others, Fraction(0))
    return found
