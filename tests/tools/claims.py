"""Draw random small machines, and compare every claim of the library about their optima with optima in fractions.

The claims are bounds of f, proven labels, exact paths, and leave-one-out machines. `draw_task` and `draw_hostile_task`
draw the machine of a seed; `judge_task` lists the claims about it that are false. Samples have ties, repeated rows and
contradictions; weights may be 0; C may be so small that all α are at their bounds, or so large that none is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from exact_optimum import ExactOptimum, PlainMachine

import qpsvm
from qpsvm.machines.problem.proof_record import build_proof_record

#: Relative tolerance of objectives that are rounded floats.
PRINTED_TOL = 1e-9
#: Tolerance for the 192 bits of RBF kernel values.
KERNEL_TOL = Fraction(1, 10**30)
#: An optimal value of 0 has no relative gap: values below this share of the largest K(x, x) are rounding.
ZERO_SHARE = Fraction(1, 10**13)
#: Relative distance of the neighbours of ν or τ whose optima also count, see `check_near`.
NEIGHBOUR_STEP = 1e-5
#: The machines: their target, and the parameter of their path.
MACHINES: dict[str, tuple[str, str | None]] = {
    "CSVM": ("labels", "C"), "PrimalHinge": ("labels", "lam"), "NuSVM": ("labels", "nu"),
    "SquaredHinge": ("labels", None), "HuberHinge": ("labels", None), "EpsilonSVR": ("numbers", "C"),
    "NuSVR": ("numbers", "nu"), "QuantileSVR": ("numbers", "quantile"), "OneClass": ("nothing", "nu"),
    "SVDD": ("nothing", "nu"),
}  # fmt: skip


@dataclass(frozen=True)
class ClaimTask:
    """A machine, the tolerance of its solve, and new points (k, d)."""

    stated: PlainMachine
    tol: float
    new: Any
    seed: int

    def __str__(self) -> str:
        machine = self.stated.machine
        weighted = "" if (self.stated.s == 1.0).all() else ", weighted"
        shown = {name: value for name, value in machine["parameters"].items() if not isinstance(value, list)}
        return f"{machine['name']} {self.stated.X.shape} {shown} {machine['kernel']}{weighted}, tol={self.tol:g}"


def draw_task(seed: int) -> ClaimTask:
    """Draw the machine of a seed."""
    rng = np.random.default_rng([7, seed])
    n, d = int(rng.integers(4, 13)), int(rng.integers(1, 4))
    name = str(rng.choice(list(MACHINES)))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.6:
        X = np.round(X * rng.choice([1.0, 2.0])) / 2.0  # ties
    if rng.random() < 0.4:
        X[n // 2 :] = X[rng.integers(0, n // 2, n - n // 2)]  # repeated rows, of either class
    y = np.where(X[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[rng.permutation(n)[:2]] = 1.0, -1.0
    numbers = np.round(X[:, 0] + rng.normal(size=n), int(rng.integers(0, 4)))
    s = [np.ones(n), rng.integers(1, 4, n).astype(float), rng.uniform(0.1, 2.0, n), rng.integers(0, 3, n) / 2.0][
        int(rng.choice(4, p=[0.5, 0.2, 0.15, 0.15]))
    ]
    s = np.ones(n) if len(np.unique(y[s > 0])) < 2 else s
    learns = MACHINES[name][0]
    target = {"labels": y, "numbers": numbers, "nothing": np.zeros(n)}[learns]
    C = float(10.0 ** rng.uniform(-2, 2))
    intercept = [None, "free", "free", "penalised"][int(rng.integers(4))]
    weights = s[s > 0]
    above = float(weights[y[s > 0] > 0].sum())
    largest = 2.0 * min(above, weights.sum() - above) / weights.sum()
    parameters: dict[str, Any] = {
        "CSVM": {"C": C, "intercept": intercept},
        "PrimalHinge": {"lam": 0.1 / C, "intercept": intercept},
        "NuSVM": {"nu": float(largest * rng.uniform(0.1, 0.99)), "intercept": "free"},
        "SquaredHinge": {"C": C, "intercept": intercept},
        "HuberHinge": {"C": C, "width": float(rng.choice([0.25, 1.0])), "intercept": intercept},
        "EpsilonSVR": {"C": C, "epsilon": float(rng.choice([0.0, 0.1, 0.5])),
                       "loss": str(rng.choice(["absolute", "squared"])), "intercept": intercept},
        "NuSVR": {"C": C, "nu": float(rng.uniform(0.1, 1.0)), "intercept": "free"},
        "QuantileSVR": {"C": C, "quantile": float(rng.choice([0.1, 0.5, 0.8])), "intercept": intercept},
        "OneClass": {"nu": float(rng.uniform(0.1, 1.0))},
        "SVDD": {"nu": float(rng.uniform(0.2, 1.0))},
    }[name]  # fmt: skip
    kernel = [
        {"name": "linear"},
        {"name": "polynomial", "degree": 2, "gamma": 0.5, "coef0": 1.0},
        {"name": "rbf", "gamma": float(rng.choice([0.25, 1.0, 4.0]))},
    ][int(rng.choice(3, p=[0.4, 0.2, 0.4]))]
    new = np.vstack([rng.normal(size=(3, d)), X[:2], 0.5 * (X[:1] + X[1:2])])
    stated = PlainMachine({"name": name, "parameters": parameters, "kernel": kernel}, X, target, s)
    return ClaimTask(stated, float(rng.choice([1e-3, 1e-6, 1e-6, 1e-9])), new, seed)


def draw_hostile_task(seed: int) -> ClaimTask:
    """Draw a task of extreme data: two samples, unscaled features, extreme weights and C, all samples at one point."""
    rng = np.random.default_rng([13, seed])
    task = draw_task(seed)
    own = task.stated
    machine = dict(own.machine)
    X = own.X.copy()
    y = own.y.copy()
    s = own.s.copy()
    new = task.new.copy()
    parameters, kernel = dict(machine["parameters"]), dict(machine["kernel"])
    labels = MACHINES[machine["name"]][0] == "labels"
    if rng.random() < 0.3:  # as few as there may be
        if labels:
            rows = np.r_[np.flatnonzero(y > 0)[:1], np.flatnonzero(y < 0)[:1]]
        else:
            rows = np.arange(2)
        X = X[rows]
        y = y[rows]
        s = np.ones(2)
        if machine["name"] == "NuSVM":
            parameters["nu"] = float(rng.choice([0.3, 1.0]))
    if rng.random() < 0.5:
        far = float(rng.choice([1e-8, 1e8]))
        parameters |= {name: far for name in ("C", "lam") if name in parameters}
    if rng.random() < 0.4:  # as a table comes: a large unit, far from the origin
        unit, shift = float(rng.choice([1e3, 1e6])), float(rng.choice([0.0, 1e6]))
        X, new = np.round(X * unit, 2) + shift, np.round(new * unit, 2) + shift
        if "gamma" in kernel:
            kernel["gamma"] = kernel["gamma"] / unit**2
        if MACHINES[machine["name"]][0] == "numbers" and rng.random() < 0.5:
            y = y * unit
    if rng.random() < 0.15:
        X[:] = X[0]
    if rng.random() < 0.2 and machine["name"] not in ("NuSVM", "NuSVR", "OneClass", "SVDD"):
        s = 10.0 ** rng.uniform(-6, 6, len(y))
    stated = PlainMachine({"name": machine["name"], "parameters": parameters, "kernel": kernel}, X, y, s)
    return ClaimTask(stated, task.tol, new, seed)


def build_problem(stated: PlainMachine) -> Any:
    """Build the problem of the library."""
    name = stated.machine["name"]
    kernel = dict(stated.machine["kernel"])
    made = {"linear": qpsvm.Linear, "polynomial": qpsvm.Polynomial, "rbf": qpsvm.RBF}[kernel.pop("name")](**kernel)
    given = {key: value for key, value in stated.machine["parameters"].items()
             if key != "intercept" or name not in ("NuSVM", "NuSVR")}  # fmt: skip
    samples = (stated.X,) if MACHINES[name][0] == "nothing" else (stated.X, stated.y)
    return getattr(qpsvm, name)(*samples, kernel=made, sample_weight=stated.s, **given)


class ClaimJudge:
    """Compare claims about one machine with exact optima.

    `n_claims` counts the claims, `faults` lists the false ones, `n_unknown` counts optima that were not found.
    """

    def __init__(self, task: ClaimTask) -> None:
        self.task = task
        self.faults = []
        self.n_claims = 0
        self.n_unknown = 0
        self.rng = np.random.default_rng([11, task.seed])

    def find_optimum(self, stated: PlainMachine, new_points: Any) -> ExactOptimum | None:
        """Return the optimum, or None if it is not found."""
        found = ExactOptimum(stated, new_points)
        self.n_unknown += not found.is_known
        return found if found.is_known else None

    def check(self, is_true: bool, words: str) -> None:
        """Count one claim; if it is false, store its words as a fault."""
        self.n_claims += 1
        if not is_true:
            self.faults.append(words)

    def check_result(self, what: str, result: Any, stated: PlainMachine) -> None:
        """Check the gap and the objectives of a result, and its claims about f and labels."""
        best = self.find_optimum(stated, self.task.new)
        if best is None:
            return
        problem, value = result.problem, best.value
        least = ZERO_SHARE * max((best.K[i][i] for i in range(len(best.active_samples))), default=Fraction(1))
        size = max(abs(value), least / Fraction(PRINTED_TOL))
        slack = (PRINTED_TOL + result.rounding) * float(size) + self.bound_kernel_rounding(result, best)
        self.check(result.dual <= float(value) + slack, f"{what}: dual {result.dual!r} > {float(value)!r}")
        self.check(result.primal >= float(value) - slack, f"{what}: primal {result.primal!r} < {float(value)!r}")
        if np.isfinite(result.gap):
            P = best.bound_primal(build_proof_record(problem, result).plane)
            size = max(abs(P), abs(Fraction(result.dual)))
            most = (Fraction(result.gap) * (1 + Fraction(1, 10**9)) + KERNEL_TOL) * size
            self.check(P - value <= most or size <= least,
                       f"{what}: gap {result.gap!r}, P {float(P)!r}, P* {float(value)!r}")  # fmt: skip
        self.check_values(what, result, best)

    def bound_kernel_rounding(self, result: Any, best: ExactOptimum) -> float:
        """Bound what rounded kernel values do to ½‖w‖² in the objectives."""
        size = float(np.abs(result.coef).sum()) / float(best.program.half)
        largest = max((float(best.K[i][i]) for i in range(len(best.active_samples))), default=0.0)
        return 8.0 * float(np.finfo(float).eps) * size**2 * largest * float(best.program.unit)

    def check_values(self, what: str, result: Any, best: ExactOptimum) -> None:
        """Check the bounds of f and the proven labels at the new points."""
        low, high = result.decision_bounds(self.task.new)
        f = result.decision_function(self.task.new)
        numbers = result.problem._target_kind == "numbers"
        within = {"within": 1e-3} if numbers else {}
        proven = result.proven(self.task.new, **within)
        for j in range(len(self.task.new)):
            ends = best.compute_f_range(j)
            slack = KERNEL_TOL * (1 + abs(ends[0]) + abs(ends[1]))
            inside = (not np.isfinite(low[j]) or Fraction(low[j]) <= ends[0] + slack) and (
                not np.isfinite(high[j]) or Fraction(high[j]) >= ends[1] - slack
            )
            self.check(inside, f"{what}: f*({j}) in {[float(x) for x in ends]}, said {low[j]!r} to {high[j]!r}")
            if proven[j] and numbers:
                self.check(all(abs(Fraction(f[j]) - x) <= Fraction(1e-3) for x in ends), f"{what}: within, at {j}")
            elif proven[j]:
                self.check(all((x > 0) == (f[j] > 0) for x in ends), f"{what}: label at {j}: {float(ends[0])!r}")

    def check_path(self, problem: Any) -> None:
        """Check an exact path at two random values and at a breakpoint."""
        stated = self.task.stated
        name = MACHINES[stated.machine["name"]][1]
        if name is None or (name == "C" and stated.machine["parameters"].get("loss") == "squared"):
            return
        now = stated.machine["parameters"][name]
        low, high = {"quantile": (0.1, 0.9), "nu": (0.3 * now, now)}.get(name, (0.2 * now, 5.0 * now))
        path = qpsvm.exact_path(problem, name, low, high, tol=max(self.task.tol, 1e-8))
        if not len(path):
            return
        values = [*self.rng.uniform(low, path.reached, 2), path.breakpoints[self.rng.integers(len(path.breakpoints))]]
        for value in map(float, values):
            other = stated.with_parameters(**{name: value})
            what = f"path at {name}={value!r}"
            self.check_result(what, path.at(value, check=False), other)
            best = self.find_optimum(other, self.task.new)
            k = int(np.searchsorted(path.breakpoints, value)) - 1
            gap = path.gaps[min(max(k, 0), len(path) - 1)]
            if best is None or not np.isfinite(gap):
                continue
            point = path.problem.replace(**{name: value}).at(path.alpha(value))
            off = (float(best.value) - point.dual) / max(abs(float(best.value)), 1e-300)
            size = max(abs(float(best.value)), 1e-300)
            rounded = PRINTED_TOL + self.bound_kernel_rounding(point, best) / size
            self.check(off <= gap + rounded, f"{what}: D is {off!r} off, and the piece has {gap!r}")
            self.check_near(
                what, path.decision(self.task.new, value), best, _bound_weight_distance(gap, best), other, self.task.new
            )

    def check_near(self, what: str, f: Any, best: ExactOptimum, radius: float, stated: PlainMachine, at: Any) -> None:
        """Check that f at the points `at` is in the range of optimal f, given ‖w − w*‖ ≤ radius and an optimal b.

        If ν or τ is a whole number of samples, the optimal b form an interval, but for a float next to it b is one end:
        then the optima of both neighbours count.
        """
        n = len(best.active_samples)
        sizes = [float(best.K[i][i]) ** 0.5 for i in range(len(best.K))]
        for j, value in enumerate(np.atleast_1d(f) if np.isfinite(radius) else ()):
            slack = (radius * (max(sizes) + sizes[n + j]) + 1e-6 * (1.0 + abs(value))) / float(best.program.half)
            low, high = map(float, best.compute_f_range(j))
            if not low - slack <= value <= high + slack:
                neighbours = self.find_neighbours(stated, at)
                if None in neighbours:
                    continue
                slack += 10.0 * NEIGHBOUR_STEP * (1.0 + abs(value)) if neighbours else 0.0
                ends = [each.compute_f_range(j) for each in neighbours if each is not None]
                low, high = min([low, *(float(end[0]) for end in ends)]), max([high, *(float(end[1]) for end in ends)])
            self.check(low - slack <= value <= high + slack, f"{what}: f({j}) = {value!r}, and f* in {low!r}, {high!r}")

    def find_neighbours(self, stated: PlainMachine, at: Any) -> list[ExactOptimum | None]:
        """Find the optima for ν or τ a little smaller, and a little larger."""
        parameters = stated.machine["parameters"]
        shares = [name for name in ("nu", "quantile") if name in parameters]
        return [
            self.find_optimum(stated.with_parameters(**{name: parameters[name] * step}), at)
            for name in shares
            for step in (1.0 - NEIGHBOUR_STEP, 1.0 + NEIGHBOUR_STEP)
        ]

    def check_left_out(self, problem: Any, result: Any) -> None:
        """Check leave-one-out machines, for up to four samples, and one leave-group-out machine."""
        stated = self.task.stated
        found = qpsvm.leave_one_out(problem, result, tol=max(self.task.tol, 1e-8))
        taking = np.flatnonzero(stated.s > 0.0)
        for i in self.rng.permutation(taking)[:4].tolist():
            rest = stated.select_rows(np.delete(np.arange(len(stated.y)), i))
            if np.isnan(found.decision[i]):
                self.check(bool(found.message), f"left out {i}: no decision, and no message")
                continue
            at = np.vstack([stated.X[[i]], self.task.new])
            best = self.find_optimum(rest, at)
            if best is None:
                continue
            what = f"left out {i}, gap {found.gap[i]!r}"
            f = found.decision[[i]]
            if stated.machine["name"] != "SVDD":  # whose f at new points is not kept
                f = np.concatenate([f, found.decision_function(self.task.new)[:, i]])
            self.check_near(what, f, best, _bound_weight_distance(found.gap[i], best), rest, at)
        self.check_groups(problem, result)

    def check_groups(self, problem: Any, result: Any) -> None:
        """Check a machine without a group of samples."""
        stated = self.task.stated
        labels = self.rng.integers(0, 4, len(stated.y))
        found = qpsvm.leave_one_out(problem, result, labels, tol=max(self.task.tol, 1e-8))
        rows = np.flatnonzero((labels == labels[0]) & (stated.s > 0.0))
        if not len(rows) or np.isnan(found.decision[rows]).any():
            return
        rest = stated.select_rows(np.flatnonzero(labels != labels[0]))
        best = self.find_optimum(rest, stated.X[rows])
        if best is not None:
            radius = _bound_weight_distance(found.gap[rows[0]], best)
            self.check_near(f"group of {len(rows)} left out", found.decision[rows], best, radius, rest, stated.X[rows])


def _bound_weight_distance(gap: float, best: ExactOptimum) -> float:
    """Bound ‖w − w*‖ by the relative gap, since max(|P|, |D|) ≤ |P*|/(1 − gap)."""
    if not gap < 1.0:
        return np.inf
    return float(np.sqrt(2.0 * gap / (1.0 - gap) * abs(float(best.value)) / float(best.program.unit)))


def judge_task(task: ClaimTask) -> tuple[list[str], int, int]:
    """Return the false claims about the machine of a task, the number of claims, and of optima not found."""
    judge = ClaimJudge(task)
    problem = build_problem(task.stated)
    result = qpsvm.solve(problem, tol=task.tol, check=False)
    judge.check_result("solve", result, task.stated)
    rough = problem.at(result.alpha * judge.rng.uniform(0.8, 1.0, len(result.alpha)))
    judge.check_result("rough", rough, task.stated)
    judge.check_path(problem)
    judge.check_left_out(problem, result)
    return judge.faults, judge.n_claims, judge.n_unknown
