"""Compute the optimum of a small machine in fractions: every claim about optima is compared with it.

`ExactOptimum(machine, new_points)` builds the dual with the checker of proof files, `checker.build_dual`, which uses
nothing of the library. Clarabel solves it to 1e-12 and so suggests which α are strictly between their bounds.
From there on everything is in fractions: the equations of the free rows are solved, the optimality conditions are
checked row by row, and all corners of the set of optimal multipliers are found. If the conditions fail, another
threshold for "between" is tried; if all fail, `is_known` is False and nothing is claimed.

Values of an RBF kernel are rounded to 192 bits; everything after that is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from exact_arithmetic import Vector, solve_linear_system

from qpsvm.bounds.proof import checker

#: Thresholds, tried in turn: an α farther than this share of its bound from 0 and from its bound is free.
FREE_SHARES = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
#: Larger upper bounds are not passed to Clarabel; in units of the unconstrained step along one α.
LARGEST_FINITE_BOUND = 1e10


@dataclass(frozen=True)
class PlainMachine:
    """A machine in plain numbers: specification as in a proof file, X (n, d), targets y (n,), weights s (n,)."""

    machine: dict[str, Any]
    X: Any
    y: Any
    s: Any

    def select_rows(self, rows: Any) -> PlainMachine:
        """Return the machine over some of its samples."""
        parameters = dict(self.machine["parameters"])
        if isinstance(parameters.get("C"), list):
            parameters["C"] = [parameters["C"][i] for i in rows]
        return PlainMachine({**self.machine, "parameters": parameters}, self.X[rows], self.y[rows], self.s[rows])

    def with_parameters(self, **parameters: Any) -> PlainMachine:
        """Return the machine with other parameters."""
        machine = {**self.machine, "parameters": {**self.machine["parameters"], **parameters}}
        return PlainMachine(machine, self.X, self.y, self.s)


class ExactOptimum:
    """α*, and all multipliers with which it is optimal.

    Attributes
    ----------
    is_known : bool
        Whether the optimum was found; if not, only the data below `points` are there.
    points : list of dict
        The samples of positive weight, then the new points at which f is evaluated, by column.
    K : list of list of Fraction
        The kernel matrix of `points`.
    program : DualProgram
        The dual in fractions.
    equalities : list of str
        Names of the multipliers of equalities, whose ridge is 0.
    alpha : list of Fraction
        α* (m,).
    products : list of Fraction
        ⟨w*, φ(x)⟩ at `points`.
    vertices : list of dict
        The corners of the set of optimal multipliers, by name.
    """

    def __init__(self, stated: PlainMachine, new_points: Any) -> None:
        self.machine = stated.machine
        self.active_samples = np.flatnonzero(stated.s > 0.0).tolist()
        rows = [*stated.X[self.active_samples], *np.asarray(new_points).reshape(-1, stated.X.shape[1])]
        self.points = [{j: float(x) for j, x in enumerate(row) if x} for row in rows]
        self.kernel, self.unit = checker.build_kernel(stated.machine["kernel"], self.points)
        n = len(rows)
        self.K = [[Fraction(0)] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                self.K[i][j] = self.K[j][i] = Fraction(sum(self.kernel(i, j)), 2 * self.unit)
        y, s = ([Fraction(float(each[i])) for i in self.active_samples] for each in (stated.y, stated.s))
        own = [self.K[i][i] for i in range(len(self.active_samples))]
        self.program = checker.build_dual(stated.machine, y, s, self.active_samples, own)
        self.equalities = [g for g, ridge in self.program.R.items() if not ridge]
        self.alpha: Vector = []
        self.vertices: list[dict[str, Fraction]] = []
        self.is_known = self._find_optimum()

    def _find_optimum(self) -> bool:
        """Try the active sets that Clarabel's α suggests."""
        guess = self._solve_by_clarabel()
        upper = np.array([np.inf if row.U is None else float(row.U) for row in self.program.rows])
        size = np.minimum(upper, max(guess.max(initial=0.0), 1e-300))
        return any(
            self._try_active_set(guess, guess > share * size, guess >= (1.0 - share) * upper) for share in FREE_SHARES
        )

    def _solve_by_clarabel(self) -> Any:
        """Return α (m,) by Clarabel, for the dual scaled to entries of order 1."""
        rows = self.program.rows
        soft = [g for g, ridge in self.program.R.items() if ridge]
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
        finite = np.flatnonzero(upper < LARGEST_FINITE_BOUND).tolist()
        one = sp.eye_array(len(rows), format="csr")
        A = sp.vstack(
            [np.array([E[g] for g in self.equalities]).reshape(-1, len(rows)), -one, one[finite]], format="csc"
        )
        b = np.concatenate([[e[g] / unit for g in self.equalities], np.zeros(len(rows)), upper[finite]])
        cones = [clarabel.ZeroConeT(len(self.equalities)), clarabel.NonnegativeConeT(len(rows) + len(finite))]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        solver = clarabel.DefaultSolver(sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(A), b, cones, settings)
        return unit * np.array(solver.solve().x)

    def _try_active_set(self, guess: Any, positive: Any, bounded: Any) -> bool:
        """Solve for the α that are `positive` and not `bounded`; say whether that is an optimum, and store it."""
        rows = self.program.rows
        names = list(self.program.e)
        free = np.flatnonzero(positive & ~bounded).tolist()
        alpha = [row.U if full and row.U is not None else Fraction(0) for row, full in zip(rows, bounded, strict=True)]
        for k in free:
            alpha[k] = Fraction(0)
        products = self._compute_products(alpha)
        table = []
        for k in free:
            i = rows[k].z[0][0]
            s = rows[k].s
            own = [s * rows[j].s * self.K[i][rows[j].z[0][0]] + (rows[k].d if j == k else 0) for j in free]
            table.append([*own, *(rows[k].E[g] for g in names), rows[k].l - s * products[i]])
        for g in names:
            miss = self.program.e[g] - sum((row.E[g] * a for row, a in zip(rows, alpha, strict=True) if a), Fraction(0))
            ridge = [-self.program.R[g] if h == g else Fraction(0) for h in names]
            table.append([*(rows[j].E[g] for j in free), *ridge, miss])
        values = [Fraction(float(guess[k])) for k in free] + [Fraction(0)] * len(names)
        solution = solve_linear_system(table, values)
        if solution is None:
            return False
        for k, value in zip(free, solution, strict=False):
            alpha[k] = value
        if any(a < 0 or (row.U is not None and a > row.U) for a, row in zip(alpha, rows, strict=True)):
            return False
        self.products = self._compute_products(alpha)
        self.alpha = alpha
        self.vertices = self._find_multipliers()
        return bool(self.vertices)

    def _compute_products(self, alpha: Vector) -> Vector:
        """Return ⟨w(α), φ(x)⟩ at all points."""
        beta = [Fraction(0)] * len(self.active_samples)
        for row, a in zip(self.program.rows, alpha, strict=True):
            beta[row.z[0][0]] += a * row.s
        return [sum((b * k for b, k in zip(beta, row, strict=False) if b), Fraction(0)) for row in self.K]

    def _find_multipliers(self) -> list[dict[str, Fraction]]:
        """Find the corners of the set of multipliers with which α is optimal; corners at infinity are omitted."""
        soft = {}
        for g, ridge in self.program.R.items():
            total = sum((row.E[g] * a for row, a in zip(self.program.rows, self.alpha, strict=True)), Fraction(0))
            if ridge:
                soft[g] = (total - self.program.e[g]) / ridge
            elif total != self.program.e[g]:
                return []
        lines = []  # E·μ against t: whether it may not be below, and not above
        for row, a in zip(self.program.rows, self.alpha, strict=True):
            t = (
                row.l
                - row.s * self.products[row.z[0][0]]
                - row.d * a
                - sum((row.E[g] * m for g, m in soft.items()), Fraction(0))
            )
            lines.append(([row.E[g] for g in self.equalities], t, row.U is None or a < row.U, a > 0))
        corners = []
        for chosen in combinations(lines, len(self.equalities)):
            mu = solve_linear_system([[*E, t] for E, t, _, _ in chosen])
            if mu is None or mu in corners:
                continue
            off = [(sum((x * m for x, m in zip(E, mu, strict=True)), Fraction(0)) - t, low, high)
                   for E, t, low, high in lines]  # fmt: skip
            if all((d >= 0 or not low) and (d <= 0 or not high) for d, low, high in off):
                corners.append(mu)
        return [soft | dict(zip(self.equalities, mu, strict=True)) for mu in corners]

    @property
    def value(self) -> Fraction:
        """P* = D*, in units of the objective."""
        rows = list(zip(self.program.rows, self.alpha, strict=True))
        w2 = sum((a * row.s * self.products[row.z[0][0]] for row, a in rows if a), Fraction(0))
        gain = sum((row.l * a - row.d * a * a / 2 for row, a in rows if a), Fraction(0)) - w2 / 2
        for g, ridge in self.program.R.items():
            if ridge:
                gain -= (sum((row.E[g] * a for row, a in rows), Fraction(0)) - self.program.e[g]) ** 2 / ridge / 2
        return self.program.unit * gain

    def compute_f_range(self, index: int) -> tuple[Fraction, Fraction]:
        """Return the smallest and the largest f(x) of all optima, at the new point of this index."""
        i = len(self.active_samples) + index
        own = self.K[i][i] if self.machine["name"] == "SVDD" else Fraction(0)
        values = [(self.products[i] + mu.get("b", Fraction(0))) / self.program.half - own for mu in self.vertices]
        return min(values), max(values)

    def bound_primal(self, plane: dict[str, Any]) -> Fraction:
        """Return an upper bound of P at a plane as in a proof file: w, coefficients or a ball, and multipliers."""
        half = self.program.half
        mu = {}
        if "centre" in plane:
            centre = [Fraction(x) for x in plane["centre"]]
            mu["b"] = (Fraction(plane["radius"]) ** 2 - sum(x * x for x in centre)) / 2
            looked = checker.evaluate_by_coordinates(self.points, centre, [Fraction(0)] * len(self.points))
        else:
            for g, value in plane.get("multipliers", {}).items():
                mu[g] = Fraction(value) * (half if g == "b" else 1)
            nothing = [Fraction(0)] * len(self.points)
            if "coef" in plane:
                coef = [Fraction(x) * half for x in plane["coef"]]
                coef += [Fraction(0)] * (len(self.points) - len(coef))
                looked = checker.evaluate_by_kernel(self.kernel, self.unit, coef, nothing)
            else:
                looked = checker.evaluate_by_coordinates(self.points, [Fraction(x) * half for x in plane["w"]], nothing)
            if "radius" in plane:
                mu["b"] = (Fraction(plane["radius"]) ** 2 - looked.w[0]) / 2
        found: Fraction = checker.bound_objectives(self.program, looked, self.alpha, mu)[0][1]
        return found
