"""Judge results exactly: compute the relative duality gap of the floats that a user holds, for any machine.

P of the plane (w or coefficients, and the multipliers) and D of α are computed in fractions by the checker of proof
files, which uses nothing of the library: exactly if kernel values are rational, otherwise between two fractions. The
returned α satisfies its equalities up to rounding only, so it is first repaired exactly, in the row where D loses
least. By weak duality P − D of any plane and any feasible α is at least the distance of either from the optimum: the
gap is never negative, and small only if both are good.

    judge(problem, result)             judge a result, and check that its dual is the documented one
    judge_plane(problem, alpha, plane) judge any α and plane
    judge_dual(svm, X, point)          judge a point of a dual given row by row, with a linear kernel
    judge_proof(problem, result)       judge the plane of a result and the α of its proof; allows a user's constraints
    judge_classes(…)                   compute P and D of an all-in-one multiclass machine
    find_faults(problem, result, tol)  list everything that is wrong with the claims of a result, in words
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from exact_arithmetic import Vector, as_dense, as_fractions, dot

from qpsvm.bounds.proof import checker
from qpsvm.bounds.proof.checker import DualProgram, DualRow, PlaneValues
from qpsvm.machines.problem.derived_problems import get_kernel_parameters
from qpsvm.machines.problem.exact_primal import collect_alpha
from qpsvm.machines.problem.proof_record import build_proof_record
from qpsvm.machines.registry import is_registered
from qpsvm.space.kernels.functions import RBF, Precomputed
from qpsvm.space.kernels.kernel_registry import NAMES

#: Relative tolerances: of α outside its box or off its equalities, and of printed numbers.
FEASIBILITY_TOL, PRINTED_TOL = Fraction(1, 10**12), Fraction(1, 10**9)
#: Relative tolerance of the floats that state a dual, compared with the documented dual: some roundings.
STATEMENT_TOL = Fraction(1, 2**44)
#: Tolerances of an objective whose optimum is 0, relative to the size of what cancels in it: roundings of w for a
#: linear kernel, and the root of those of ‖w‖² for others.
ZERO_OBJECTIVE, ZERO_OBJECTIVE_OF_KERNEL = Fraction(1, 10**12), Fraction(1, 10**6)
#: A sample whose α is above this share of its bound must not be reported as "no support vector".
LARGEST_IDLE_SHARE = 1e-3


@dataclass(frozen=True)
class Verdict:
    """P and D at the repaired α, and what α violated before the repair.

    Attributes
    ----------
    primal, dual : Fraction or float
        P is infinite if a hard row is violated.
    gap : Fraction or float
        (P − D)/max(|P|, |D|); 0 if both are 0.
    in_box : bool
        Whether α was within its bounds.
    imbalance : Fraction
        How far α was off its equalities, relative.
    scale : Fraction
        An upper bound of ‖w(α)‖²/2, without cancellation: the unit in which an objective of 0 is measured.
    """

    primal: Fraction | float
    dual: Fraction | float
    gap: Fraction | float
    in_box: bool
    imbalance: Fraction
    scale: Fraction

    @property
    def size(self) -> Fraction | float:
        """max(|P|, |D|)."""
        return max(abs(self.primal), abs(self.dual))


def compute_loss(t: Fraction, upper: float, curvature: Fraction) -> Fraction | float:
    """Return ψ(t) of (LOSS.1), from its definition as a maximum over 0 ≤ a ≤ U."""
    if t <= 0 or upper == 0:
        return Fraction(0)
    best = t / curvature if curvature else None
    if math.isinf(upper):
        if best is None:
            return math.inf
        return best * t - curvature * best * best / 2
    a = Fraction(upper) if best is None else min(best, Fraction(upper))
    return a * t - curvature * a * a / 2


def build_row_points(X: Any, svm: Any) -> list[Vector]:
    """Return the point of each row of a dual, a sample of X or a combination of samples: (m, d)."""
    if svm.mix is not None:
        samples = [as_fractions(x) for x in X]
        A = svm.mix.toarray()
        return [[dot(a, column) for column in zip(*samples, strict=True)] for a in map(as_fractions, A)]
    return [as_fractions(x) for x in (X if svm.rows is None else X[svm.rows])]


def compute_objectives(
    svm: Any, X: Any, alpha: Vector, w: Vector, mu: dict[str, Fraction]
) -> tuple[Fraction, Fraction]:
    """Compute P of (DUAL.3) and D of (DUAL.1) without repair: D is −`checker.INFINITE` if α is infeasible."""
    points, program = as_sparse_rows(X), build_dual_program(svm)
    P, D, _ = checker.bound_objectives(
        program, checker.evaluate_by_coordinates(points, w, _compute_beta(program, alpha, len(points))), alpha, mu
    )
    return P[1], D[0]


def _compute_beta(program: DualProgram, alpha: Vector, n: int) -> Vector:
    """Return β (n,) of w(α) = Σ β_i x_i."""
    beta = [Fraction(0)] * n
    for row, a in zip(program.rows, alpha, strict=True):
        for i, factor in row.z if a else ():
            beta[i] += a * row.s * factor
    return beta


def as_sparse_rows(X: Any) -> list[dict[int, float]]:
    """Return rows as the checker has them: a dict by column, without zeros."""
    return [{j: float(x) for j, x in enumerate(row) if x} for row in as_dense(X)]


def build_dual_program(svm: Any) -> DualProgram:
    """Return the dual in fractions, equal to the floats that state it."""
    m, groups = svm.m, svm.groups
    mix = None if svm.mix is None else svm.mix.toarray()
    rows = np.arange(m) if svm.rows is None else np.asarray(svm.rows)
    columns = [(group.multiplier, np.broadcast_to(group.column, m)) for group in groups]
    sign, level, upper, curvature = (np.broadcast_to(v, m) for v in (svm.sign, svm.level, svm.upper, svm.curvature))
    stated = []
    for k in range(m):
        z = [(int(rows[k]), Fraction(1))] if mix is None else [
            (j, Fraction(float(mix[k, j]))) for j in np.flatnonzero(mix[k]).tolist()
        ]  # fmt: skip
        E = {name: Fraction(float(column[k])) for name, column in columns}
        U = None if np.isinf(upper[k]) else Fraction(float(upper[k]))
        stated.append(DualRow(z, *(Fraction(float(v[k])) for v in (sign, level)), U, Fraction(float(curvature[k])), E))
    e = {group.multiplier: Fraction(group.total) + Fraction(getattr(group, "low", 0.0)) for group in groups}
    R = {group.multiplier: Fraction(group.ridge) for group in groups}
    return DualProgram(stated, e, R, Fraction(svm.unit), Fraction(1))


def judge_dual(svm: Any, X: Any, point: Any) -> Verdict:
    """Judge α, w and the multipliers of a point of a dual over samples X (n, d) with a linear kernel."""
    points, program = as_sparse_rows(X), build_dual_program(svm)
    mu = {name: Fraction(value) for name, value in getattr(point, "multipliers", {}).items()}
    for name in {"b", "rho"} & {*program.e} - {*mu}:
        mu[name] = Fraction(float(getattr(point, name)))
    w = as_fractions(point.w)
    dense = np.array([[row.get(j, 0.0) for j in range(len(w))] for row in points]).reshape(len(points), len(w))
    return _build_verdict(
        program, dense @ dense.T, lambda beta: checker.evaluate_by_coordinates(points, w, beta), point.alpha, mu
    )


def judge(problem: Any, result: Any) -> Verdict:
    """Judge a result with one decision function. Every number in it has to be finite."""
    return judge_plane(problem, collect_alpha(problem, result), build_proof_record(problem, result).plane)


def judge_plane(problem: Any, alpha: Any, plane: Any) -> Verdict:
    """Judge α (m,) at the rows of the dual and a plane as in a proof file: w or coef, and the multipliers."""
    found = build_proof_record(problem)
    machine = found.machine
    assert not machine.get("rows"), "use judge_proof for a user's constraints"
    part, points, kernel, unit = _read_samples(problem, found)
    program = build_dual_program(problem._dual_structure)
    if machine["name"] == "SVDD":
        own = [Fraction(kernel(i, i)[0], unit) for i in range(len(points))]
        program = program._replace(
            rows=[row._replace(l=own[row.z[0][0]] / 2) for row in program.rows], half=Fraction(1, 2)
        )
    if machine["name"] in checker.MACHINES:
        _check_statement(program, machine, problem, part, kernel, unit)
    K = np.array([[sum(kernel(i, j)) / (2 * unit) for j in range(len(points))] for i in range(len(points))])
    evaluate, mu = _read_plane(program, plane, points, kernel, unit, part)
    return _build_verdict(program, K, evaluate, alpha, mu)


def exact_gram(kernel: Any, X: Any) -> list[Vector]:
    """Return K(x_i, x_j) (n, n) in fractions; of RBF and sigmoid kernels to some 60 digits."""
    named = {"name": NAMES[type(kernel)], **get_kernel_parameters(kernel)}
    value, unit = checker.build_kernel(named, as_sparse_rows(X))
    return [[Fraction(sum(value(i, j)), 2 * unit) for j in range(len(X))] for i in range(len(X))]


def judge_classes(problem: Any, result: Any, alpha: Any = None, penalties: Any = None) -> tuple[Fraction, Fraction]:
    """Compute P and D of an all-in-one machine of k classes at α (n, k), which is asserted to be feasible.

    `penalties` (n,) replace those of the result.
    """
    found = build_proof_record(problem, result)
    machine, plane = found.machine, found.plane
    part, points, kernel, unit = _read_samples(problem, found)

    def compute_plane(c: int, beta: Vector) -> PlaneValues:
        if "coef" in plane:
            return checker.evaluate_by_kernel(kernel, unit, as_fractions(plane["coef"][c]), beta)
        return checker.evaluate_by_coordinates(points, as_fractions(plane["w"][c]), beta)

    alpha = problem.samples.select_active(result.alpha) if alpha is None else alpha
    C = as_fractions(result.upper[part] if penalties is None else penalties)
    y = [int(found.target[i]) for i in part]
    P, D, _ = checker.bound_class_objectives(
        machine, C, y, as_fractions(alpha), as_fractions(plane["b"]), compute_plane
    )
    assert D[0] > -checker.INFINITE, "α is not feasible"
    return P[1], D[0]


def _read_samples(problem: Any, found: Any) -> tuple[list[int], list[dict[int, float]], Any, int]:
    """Return the active samples, the points (theirs, then those of a user's constraints), the kernel and its unit."""
    part = np.flatnonzero(np.asarray(problem.sample_weight) > 0.0).tolist()
    points = checker.select_points(found.machine, as_sparse_rows(found.X.matrix()), part)
    points += as_sparse_rows(found.machine["rows"]["points"]) if found.machine.get("rows") else []
    return (part, points, *checker.build_kernel(found.machine["kernel"], points))


def _read_plane(
    program: DualProgram, plane: Any, points: Any, kernel: Any, unit: int, part: list[int]
) -> tuple[Any, Any]:
    """Return a function that evaluates the plane together with β, and the multipliers of the plane."""
    half = program.half
    mu = {g: Fraction(x) * (half if g == "b" else 1) for g, x in plane.get("multipliers", {}).items()}
    if "coef" in plane:
        coef = as_fractions(plane["coef"])
        if len(coef) != len(points):
            coef = [half * coef[i] for i in part]
        else:
            coef = [half * c for c in coef]

        def compute_plane(beta: Vector) -> PlaneValues:
            return checker.evaluate_by_kernel(kernel, unit, coef, beta)
    else:
        if "centre" in plane:
            w = as_fractions(plane["centre"])
        else:
            w = [half * x for x in as_fractions(plane["w"])]

        def compute_plane(beta: Vector) -> PlaneValues:
            return checker.evaluate_by_coordinates(points, w, beta)

    if "radius" in plane:
        square = compute_plane([Fraction(0)] * len(points)).w[0]
        mu = {"b": (Fraction(plane["radius"]) ** 2 - square) / 2}
    return compute_plane, mu


def _check_statement(program: DualProgram, machine: Any, problem: Any, part: list[int], kernel: Any, unit: int) -> None:
    """Assert that the floats of a dual are the documented ones, as stated by the checker, up to some roundings."""
    if machine["name"] == "SVDD":
        diagonal = [Fraction(kernel(i, i)[0], unit) for i in range(len(part))]
    else:
        diagonal = []
    if problem._target_kind == "none":
        target = np.zeros(problem.n)
    else:
        target = np.asarray(problem.samples.target)
    y, s = ([Fraction(float(each[i])) for i in part] for each in (target, np.asarray(problem.sample_weight)))
    documented = checker.build_dual(machine, y, s, part, diagonal)
    size = max((abs(t) for t in y), default=Fraction(0)) + Fraction(machine["parameters"].get("epsilon", 0))
    assert len(documented.rows) == len(program.rows)
    for row, expected in zip(program.rows, documented.rows, strict=True):
        assert (dict(row.z), row.s) == (dict(expected.z), expected.s)
        assert abs(row.l - expected.l) <= STATEMENT_TOL * (size + abs(expected.l))
        assert (row.U is None) == (expected.U is None)
        pairs = [(row.U or 0, expected.U or 0), (row.d, expected.d), *((row.E[g], expected.E[g]) for g in expected.E)]
        for a, b in pairs:
            assert abs(a - b) <= STATEMENT_TOL * abs(b), "a bound is not what is documented"
    for g, e in documented.e.items():
        assert abs(program.e[g] - e) <= STATEMENT_TOL * abs(e), "a total is not what is documented"
        assert program.R[g] == documented.R[g]


def _build_verdict(program: DualProgram, K: Any, evaluate: Any, alpha: Any, mu: Any) -> Verdict:
    """Repair α (m,) and compute the verdict; K (n, n) in floats chooses the row, `evaluate` evaluates the plane."""
    given = as_fractions(alpha)
    in_box = all(a >= 0 and (row.U is None or a <= row.U) for a, row in zip(given, program.rows, strict=True))
    clipped = [max(a, Fraction(0)) if row.U is None else min(max(a, Fraction(0)), row.U)
            for a, row in zip(given, program.rows, strict=True)]  # fmt: skip
    program, repaired, imbalance = _repair(program, K, clipped)
    beta = _compute_beta(program, repaired, len(K))
    P, D, difference = checker.bound_objectives(program, evaluate(beta), repaired, mu)
    gap = checker.enclose_relative_gap(P, D, difference)[1]
    largest_norm = Fraction(float(max(np.diagonal(K).max(initial=0.0), 0.0)))
    scale = largest_norm * sum((abs(b) for b in beta), Fraction(0)) ** 2 / 2
    unlimited = P[1] == checker.INFINITE
    return Verdict(math.inf if unlimited else P[1], D[0], math.inf if unlimited else gap, in_box, imbalance, scale)


def _split_equalities(program: DualProgram) -> list[tuple[list[int], Vector, Fraction]]:
    """Split the rows into groups with one equality each: (row indices, coefficients, total).

    Two equalities occur with two kinds of rows only: combined, they fix the sum of α of either kind.
    """
    free = [g for g, ridge in program.R.items() if not ridge]
    m = len(program.rows)
    if not free:
        return []
    if len(free) == 1:
        column = [row.E[free[0]] for row in program.rows]
        return [([k for k in range(m) if column[k]], column, program.e[free[0]])]
    kinds: dict[tuple[Fraction, ...], list[int]] = {}
    for k, row in enumerate(program.rows):
        kinds.setdefault(tuple(row.E[g] for g in free), []).append(k)
    ((a, b), first), ((c, d), second) = kinds.items()
    e, f = (program.e[g] for g in free)
    det = a * d - b * c
    ones = [Fraction(1)] * m
    return [(first, ones, (d * e - c * f) / det), (second, ones, (a * f - b * e) / det)]


def _repair(program: DualProgram, K: Any, alpha: Vector) -> tuple[DualProgram, Vector, Fraction]:
    """Return α that satisfies every equality, the program with reachable totals, and how far α was off, relative."""
    off = Fraction(0)
    parts = _split_equalities(program)
    totals = [total for _, _, total in parts]
    for p, (members, column, total) in enumerate(parts):  # by rounding, a total may exceed what the bounds allow
        uppers = [program.rows[k].U for k in members]
        if total and all(column[k] == column[members[0]] for k in members) and None not in uppers:
            most = column[members[0]] * sum((U for U in uppers if U is not None), Fraction(0))
            if abs(most) < abs(total):
                assert abs(total - most) <= FEASIBILITY_TOL * abs(total), "infeasible"
                totals[p] = most
    if len(totals) == 2 and "b" in program.e and not program.e["b"]:
        totals = [min(totals, key=abs)] * 2
    if totals != [total for _, _, total in parts]:
        program = _with_totals(program, parts, totals)
    for (members, column, _), total in zip(parts, totals, strict=True):
        surplus = sum((column[k] * alpha[k] for k in members), Fraction(0)) - total
        size = abs(total) or sum((abs(column[k]) * alpha[k] for k in members), Fraction(0))
        off = max(off, abs(surplus) / size) if surplus else off
        if surplus:
            alpha = _move_surplus(program, K, alpha, members, column, surplus)
    return program, alpha, off


def _with_totals(program: DualProgram, parts: Any, totals: Vector) -> DualProgram:
    """Return the program whose groups have these totals."""
    e = dict(program.e)
    if len(parts) == 1:
        (name,) = (g for g, ridge in program.R.items() if not ridge)
        return program._replace(e=e | {name: totals[0]})
    for g, ridge in program.R.items():
        if not ridge:
            e[g] = sum((program.rows[members[0]].E[g] * total for (members, _, _), total in
                        zip(parts, totals, strict=True)), Fraction(0))  # fmt: skip
    return program._replace(e=e)


def _move_surplus(
    program: DualProgram, K: Any, alpha: Vector, members: list[int], column: Vector, surplus: Fraction
) -> Vector:
    """Subtract the surplus from α in the one row where D stays largest; if it fits in none, in those of largest α.

    D(α + δ e_k) − D(α) = δ g_k − δ² q_k/2; floats choose the row, fractions move it.
    """
    rows = program.rows
    Z = np.zeros((len(rows), len(K)))
    for k, row in enumerate(rows):
        for i, factor in row.z:
            Z[k, i] = float(row.s * factor)
    a = np.array([float(x) for x in alpha])
    M = Z @ K
    g = np.array([float(row.l) for row in rows]) - M @ (Z.T @ a) - a * [float(row.d) for row in rows]
    q = np.einsum("ki,ki->k", M, Z) + [float(row.d) for row in rows]
    candidates = []
    for k in members:
        step = -surplus / column[k]
        moved = alpha[k] + step
        U = rows[k].U
        if moved >= 0 and (U is None or moved <= U):
            candidates.append((float(step) * (g[k] - 0.5 * float(step) * q[k]), k, moved))
    if candidates:
        _, best, moved = max(candidates)
        return [*alpha[:best], moved, *alpha[best + 1 :]]
    found = list(alpha)
    left = surplus
    for k in sorted(members, key=lambda k: -alpha[k]):
        wanted = alpha[k] - left / column[k]
        U = rows[k].U
        if U is None:
            found[k] = max(wanted, Fraction(0))
        else:
            found[k] = min(max(wanted, Fraction(0)), U)
        left += column[k] * (found[k] - alpha[k])
    assert not left, "no point of the box satisfies the equality"
    return found


def judge_proof(problem: Any, result: Any) -> Verdict:
    """Judge the plane of a result and the α of its proof for the documented machine, with a user's constraints."""
    found = build_proof_record(problem, result)
    point = result.verify().record["point"]
    machine, plane = found.machine, found.plane
    part, points, kernel, unit = _read_samples(problem, found)
    alpha = [point[k] for k in range(len(point.alpha))]
    y, s = ([Fraction(float(each[i])) for i in part] for each in (found.target, np.asarray(problem.sample_weight)))
    if machine["name"] == "SVDD":
        own = [Fraction(kernel(i, i)[0], unit) for i in range(len(part))]
    else:
        own = []
    program = checker.build_dual(machine, y, s, part, own)
    padding = [0.0] * (len(points) - len(part))
    if "coef" in plane and padding:
        padded = {**plane, "coef": [*plane["coef"], *padding]}
    else:
        padded = plane
    evaluate, mu = _read_plane(program, padded, points, kernel, unit, part)
    P, D, difference = checker.bound_objectives(
        program, evaluate(_compute_beta(program, alpha, len(points))), alpha, mu
    )
    assert D[0] > -checker.INFINITE, "α is not feasible"
    return Verdict(P[1], D[0], checker.enclose_relative_gap(P, D, difference)[1], True, Fraction(0), Fraction(0))


def is_optimum_zero(result: Any) -> bool:
    """Say whether a result reports that its optimal value is 0: the hulls meet, or nothing is penalised."""
    return "hulls meet" in result.message or result.primal == 0.0


def find_faults(problem: Any, result: Any, tol: float) -> list[str]:
    """List the false claims of a result, each beginning with one word; an empty list if all are true."""
    numbers = [result.alpha, result.b, result.rho, result.yf, result.coef, *result.extras.values()]
    if not all(np.isfinite(part).all() for part in numbers):
        return ["nan: a number is not finite"]
    verdict = judge(problem, result)
    optimal = result.status == "optimal"
    found = []
    requested = tol
    exact = verdict.gap
    is_zero = is_optimum_zero(result)
    if is_zero:  # relative to ‖w‖²/2 without cancellation
        if verdict.scale:
            exact = (verdict.primal - verdict.dual) / verdict.scale
        else:
            exact = Fraction(0)
        tol = min(tol, float(ZERO_OBJECTIVE_OF_KERNEL if result.model.w is None else ZERO_OBJECTIVE))
    if optimal and not exact <= tol:
        found.append(f"false: optimal at tol {tol:g}, the gap is {float(exact):.3g}, printed {result.gap:.3g}")
    if verdict.gap < 0:
        found.append(f"judge: a gap of {float(exact):.3g} contradicts weak duality")
    if math.isfinite(result.gap):
        stated = Fraction(result.gap) / (1 - PRINTED_TOL)
    else:
        stated = math.inf
    if stated < exact and not is_zero and is_registered(type(problem)):  # a proof may choose a better row to repair
        exact = min(exact, judge_proof(problem, result).gap)
    if stated < exact and not is_zero:
        found.append(f"low: the gap is {float(exact):.3g}, printed {result.gap:.3g}")
    if math.isfinite(result.gap) and is_registered(type(problem)):
        proof = result.verify(problem)
        is_definite = not proof.record["bounds"].excess  # else the proof adds what an indefinite kernel may cost
        if is_definite and proof.gap > result.gap * (1.0 + float(PRINTED_TOL)):
            found.append(f"unproven: the gap is stated as {result.gap:.3g}, and proven is {proof.gap:.3g}")
    if not result.gap >= 0 or optimal != (result.gap <= requested):
        found.append(f"status: {result.status} at a gap of {result.gap:.3g}")
    idle = np.asarray(problem.sample_weight) == 0.0
    if result.pairs is None and result.alpha.reshape(-1, problem.n)[:, idle].any():
        found.append("weightless: a sample without weight has an α")
    if not verdict.in_box or verdict.imbalance > FEASIBILITY_TOL:
        found.append(f"infeasible: in the box {verdict.in_box}, off balance by {float(verdict.imbalance):.3g}")
    if math.isfinite(result.gap) and math.isfinite(verdict.size) and not is_zero:
        room = (Fraction(result.gap) + PRINTED_TOL) * verdict.size + bound_loss_rounding(problem, result)
        for name, printed, true in (("primal", result.primal, verdict.primal), ("dual", result.dual, verdict.dual)):
            if not (math.isfinite(printed) and abs(Fraction(printed) - true) <= room):
                found.append(f"values: {name} is {float(true):.9g}, printed {printed:.9g}")
    if not result.b_interval[0] <= result.b <= result.b_interval[1]:
        found.append(f"interval: b = {result.b} is outside of its own interval {result.b_interval}")
    if result.extras.get("epsilon", 0.0) < 0.0:
        found.append(f"width: ε = {result.extras['epsilon']}")
    return [*found, *_find_wrong_values(problem, result), *_find_wrong_kinds(result)]


def _find_wrong_values(problem: Any, result: Any) -> list[str]:
    """Check f at the active samples: it may be off by the rounding of the terms that it is the sum of."""
    found = build_proof_record(problem, result)
    machine, plane = found.machine, found.plane
    part, points, kernel, unit = _read_samples(problem, found)
    half = Fraction(1, 2) if machine["name"] == "SVDD" else Fraction(1)
    evaluate, mu = _read_plane(DualProgram([], {}, {}, half, half), plane, points, kernel, unit, part)
    values = evaluate([Fraction(0)] * len(points)).values
    ball = half < 1
    b = mu.get("b", Fraction(0))
    rows = problem.X[part]
    if isinstance(problem.kernel, Precomputed):
        diagonal = problem.X.diagonal()[part]
    else:
        diagonal = None
    if ball:
        f = result.decision_function(rows, diagonal=diagonal)
    else:
        f = result.decision_function(rows)
    steep, raised = 1.0, 0.0
    if isinstance(problem.kernel, RBF):  # exponents are rounded, and below e⁻⁴⁰ a value is raised to that
        steep += 4.0 * problem.kernel.gamma * float(abs(rows).max()) ** 2 * rows.shape[1]
        raised = 1e-17 * float(np.abs(result.coef).sum())
    terms = _sum_magnitudes(problem, result)[part]
    if "radius" in plane:  # f = R² − ‖x − c‖², with R rounded
        terms = terms + plane["radius"] ** 2
    on_margin = Fraction(result.model.threshold or 0.0) / 2**45  # of a novelty detector: 64 roundings, and its own
    for i in range(len(points)):
        own = Fraction(kernel(i, i)[0], unit) if ball else Fraction(0)
        true = (sum(values[i]) / 2 + b) / half - own
        size = float(terms[i]) + abs(result.b) + float(own) + float(abs(b) / half)
        if f[i] == 0.0 and abs(true) <= on_margin:
            continue
        if abs(Fraction(float(f[i])) - true) > Fraction(size * steep) / 2**44 + Fraction(raised):
            return [f"f: of sample {part[i]} it is {float(true):.17g}, said {f[i]:.17g}"]
    return []


def bound_loss_rounding(problem: Any, result: Any) -> Fraction:
    """Bound what the rounding of f does to the losses: Σα times some roundings of the terms of f."""
    terms = _sum_magnitudes(problem, result)
    most = float(np.max(terms, initial=0.0)) + abs(result.b) + abs(result.rho)
    return Fraction(float(result.alpha.sum())) * Fraction(most) * Fraction(1, 2**50)


def _sum_magnitudes(problem: Any, result: Any) -> Any:
    """Return the sum of the absolute terms of f at each sample: (n,)."""
    if result.model.w is not None:
        return abs(problem.X) @ np.abs(result.w)
    if isinstance(problem.kernel, Precomputed):
        K = problem.X
    else:
        K = problem.kernel(problem.X, problem.X)
    return np.abs(K) @ np.abs(result.coef)


def _find_wrong_kinds(result: Any) -> list[str]:
    """List samples that are reported as no support vectors, although their α is not 0."""
    alpha = result.alpha.reshape(-1, len(result.kind))
    upper = np.broadcast_to(result.upper, result.alpha.shape).reshape(alpha.shape)
    most = np.where(np.isfinite(upper), upper, alpha.max(initial=0.0))
    outside = np.flatnonzero((result.kind == 0) & (alpha > LARGEST_IDLE_SHARE * most).any(axis=0))
    if len(outside) and math.isfinite(result.gap):
        return [f"kind: rows {outside.tolist()} are called no support vectors"]
    return []
