"""Random small machines, and every claim that the library makes about their optima, against optima in fractions.

Bounds of f, proven labels, exact paths and leave-one-out machines: `judge_task` says what of it is false. Samples
have ties, repeated rows and contradictions; weights may be 0; C may be so small that all α are at their bounds, and so
large that none is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from exact_optimum import Optimum, Stated

import qpsvm
from qpsvm.machines.problem.proof_record import build_proof_record

#: What is printed may be off by that, relative: it is rounded for people.
PRINTED = 1e-9
#: Of RBF kernels the 192 bits; of all, what a float of a bound cannot say.
ROUNDED = Fraction(1, 10**30)
#: An optimal value that is 0 has no relative gap: what is computed of it are roundings of kernel values, by this share.
VANISHED = Fraction(1, 10**13)
#: How far beside a share of the samples its neighbours are, relative: as far as an optimum in doubles still sees.
BESIDE = 1e-5
#: The machines, what they learn, and the parameter of their path.
MACHINES: dict[str, tuple[str, str | None]] = {
    "CSVM": ("labels", "C"), "PrimalHinge": ("labels", "lam"), "NuSVM": ("labels", "nu"),
    "SquaredHinge": ("labels", None), "HuberHinge": ("labels", None), "EpsilonSVR": ("numbers", "C"),
    "NuSVR": ("numbers", "nu"), "QuantileSVR": ("numbers", "quantile"), "OneClass": ("nothing", "nu"),
    "SVDD": ("nothing", "nu"),
}  # fmt: skip


@dataclass(frozen=True)
class Claimed:
    """A machine, a tolerance, and samples that it has not seen."""

    stated: Stated
    tol: float
    new: Any
    seed: int

    def __str__(self) -> str:
        machine = self.stated.machine
        weighted = "" if (self.stated.s == 1.0).all() else ", weighted"
        shown = {name: value for name, value in machine["parameters"].items() if not isinstance(value, list)}
        return f"{machine['name']} {self.stated.X.shape} {shown} {machine['kernel']}{weighted}, tol={self.tol:g}"


def draw_claimed(seed: int) -> Claimed:
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
    stated = Stated({"name": name, "parameters": parameters, "kernel": kernel}, X, target, s)
    return Claimed(stated, float(rng.choice([1e-3, 1e-6, 1e-6, 1e-9])), new, seed)


def hostile(seed: int) -> Claimed:
    """A machine of the same kinds, bent: two samples, raw features, far weights and C, one point only."""
    rng, task = np.random.default_rng([13, seed]), draw_claimed(seed)
    own = task.stated
    machine, X, y, s, new = dict(own.machine), own.X.copy(), own.y.copy(), own.s.copy(), task.new.copy()
    parameters, kernel = dict(machine["parameters"]), dict(machine["kernel"])
    labels = MACHINES[machine["name"]][0] == "labels"
    if rng.random() < 0.3:  # as few as there may be
        rows = np.r_[np.flatnonzero(y > 0)[:1], np.flatnonzero(y < 0)[:1]] if labels else np.arange(2)
        X, y, s = X[rows], y[rows], np.ones(2)
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
    stated = Stated({"name": machine["name"], "parameters": parameters, "kernel": kernel}, X, y, s)
    return Claimed(stated, task.tol, new, seed)


def pose(stated: Stated) -> Any:
    """Build the library's problem."""
    name, kernel = stated.machine["name"], dict(stated.machine["kernel"])
    made = {"linear": qpsvm.Linear, "polynomial": qpsvm.Polynomial, "rbf": qpsvm.RBF}[kernel.pop("name")](**kernel)
    given = {key: value for key, value in stated.machine["parameters"].items()
             if key != "intercept" or name not in ("NuSVM", "NuSVR")}  # fmt: skip
    samples = (stated.X,) if MACHINES[name][0] == "nothing" else (stated.X, stated.y)
    return getattr(qpsvm, name)(*samples, kernel=made, sample_weight=stated.s, **given)


class Judge:
    """Compares claims about one machine with exact optima: counts the claims, and keeps those that are false."""

    def __init__(self, task: Claimed) -> None:
        self.task, self.faults, self.looked, self.open = task, [], 0, 0
        self.rng = np.random.default_rng([11, task.seed])

    def optimum(self, stated: Stated, more: Any) -> Optimum | None:
        """The optimum, where it is found."""
        found = Optimum(stated, more)
        self.open += not found.known
        return found if found.known else None

    def claim(self, true: bool, words: str) -> None:
        """Count one claim; where it is not true, keep its words as a fault."""
        self.looked += 1
        if not true:
            self.faults.append(words)

    def result(self, what: str, result: Any, stated: Stated) -> None:
        """The gap of a result, its values, and what it says of f and labels of every optimum."""
        best = self.optimum(stated, self.task.new)
        if best is None:
            return
        problem, value = result.problem, best.value
        least = VANISHED * max((best.K[i][i] for i in range(len(best.part))), default=Fraction(1))
        size = max(abs(value), least / Fraction(PRINTED))
        slack = (PRINTED + result.rounding) * float(size) + self.of_values(result, best)
        self.claim(result.dual <= float(value) + slack, f"{what}: dual {result.dual!r} > {float(value)!r}")
        self.claim(result.primal >= float(value) - slack, f"{what}: primal {result.primal!r} < {float(value)!r}")
        if np.isfinite(result.gap):
            P = best.primal(build_proof_record(problem, result).plane)
            size = max(abs(P), abs(Fraction(result.dual)))
            most = (Fraction(result.gap) * (1 + Fraction(1, 10**9)) + ROUNDED) * size
            self.claim(P - value <= most or size <= least,
                       f"{what}: gap {result.gap!r}, P {float(P)!r}, P* {float(value)!r}")  # fmt: skip
        self.values(what, result, best)

    def of_values(self, result: Any, best: Optimum) -> float:
        """What rounded kernel values do to ½‖w‖² of the objectives that are printed, and to both of them alike."""
        size = float(np.abs(result.coef).sum()) / float(best.program.half)
        largest = max((float(best.K[i][i]) for i in range(len(best.part))), default=0.0)
        return 8.0 * float(np.finfo(float).eps) * size**2 * largest * float(best.program.unit)

    def values(self, what: str, result: Any, best: Optimum) -> None:
        """Bounds of f, and labels."""
        low, high = result.decision_bounds(self.task.new)
        f = result.decision_function(self.task.new)
        numbers = result.problem._target_kind == "numbers"
        within = {"within": 1e-3} if numbers else {}
        proven = result.proven(self.task.new, **within)
        for j in range(len(self.task.new)):
            ends = best.ends(j)
            slack = ROUNDED * (1 + abs(ends[0]) + abs(ends[1]))
            inside = (not np.isfinite(low[j]) or Fraction(low[j]) <= ends[0] + slack) and (
                not np.isfinite(high[j]) or Fraction(high[j]) >= ends[1] - slack
            )
            self.claim(inside, f"{what}: f*({j}) in {[float(x) for x in ends]}, said {low[j]!r} to {high[j]!r}")
            if proven[j] and numbers:
                self.claim(all(abs(Fraction(f[j]) - x) <= Fraction(1e-3) for x in ends), f"{what}: within, at {j}")
            elif proven[j]:
                self.claim(all((x > 0) == (f[j] > 0) for x in ends), f"{what}: label at {j}: {float(ends[0])!r}")

    def path(self, problem: Any) -> None:
        """Values of a path, on pieces and at breakpoints."""
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
            self.result(what, path.at(value, check=False), other)
            best, k = self.optimum(other, self.task.new), int(np.searchsorted(path.breakpoints, value)) - 1
            gap = path.gaps[min(max(k, 0), len(path) - 1)]
            if best is None or not np.isfinite(gap):
                continue
            point = path.problem.replace(**{name: value}).at(path.alpha(value))
            off = (float(best.value) - point.dual) / max(abs(float(best.value)), 1e-300)
            size = max(abs(float(best.value)), 1e-300)
            rounded = PRINTED + self.of_values(point, best) / size
            self.claim(off <= gap + rounded, f"{what}: D is {off!r} off, and the piece has {gap!r}")
            self.check_near(what, path.decision(self.task.new, value), best, _radius(gap, best), other, self.task.new)

    def check_near(self, what: str, f: Any, best: Optimum, radius: float, stated: Stated, at: Any) -> None:
        """Check f, at these points, of a machine that is so near to w*, and whose b is one of the optimal ones.

        Where a share of the samples is a whole number, b is an interval, and one end of it for a double beside that
        share: the optima of both neighbours count.
        """
        n, sizes = len(best.part), [float(best.K[i][i]) ** 0.5 for i in range(len(best.K))]
        for j, value in enumerate(np.atleast_1d(f) if np.isfinite(radius) else ()):
            slack = (radius * (max(sizes) + sizes[n + j]) + 1e-6 * (1.0 + abs(value))) / float(best.program.half)
            low, high = map(float, best.ends(j))
            if not low - slack <= value <= high + slack:
                beside = self.find_neighbours(stated, at)
                if None in beside:
                    continue
                slack += 10.0 * BESIDE * (1.0 + abs(value)) if beside else 0.0
                ends = [each.ends(j) for each in beside if each is not None]
                low, high = min([low, *(float(end[0]) for end in ends)]), max([high, *(float(end[1]) for end in ends)])
            self.claim(low - slack <= value <= high + slack, f"{what}: f({j}) = {value!r}, and f* in {low!r}, {high!r}")

    def find_neighbours(self, stated: Stated, at: Any) -> list[Optimum | None]:
        """Find the optima where a share of the samples is a little smaller, and a little larger."""
        parameters = stated.machine["parameters"]
        shares = [name for name in ("nu", "quantile") if name in parameters]
        return [
            self.optimum(stated.with_parameters(**{name: parameters[name] * step}), at)
            for name in shares
            for step in (1.0 - BESIDE, 1.0 + BESIDE)
        ]

    def check_left_out(self, problem: Any, result: Any) -> None:
        """Check machines without a sample."""
        stated = self.task.stated
        found = qpsvm.leave_one_out(problem, result, tol=max(self.task.tol, 1e-8))
        taking = np.flatnonzero(stated.s > 0.0)
        for i in self.rng.permutation(taking)[:4].tolist():
            rest = stated.select_rows(np.delete(np.arange(len(stated.y)), i))
            if np.isnan(found.decision[i]):
                self.claim(bool(found.message), f"left out {i}: no decision, and no word")
                continue
            at = np.vstack([stated.X[[i]], self.task.new])
            best = self.optimum(rest, at)
            if best is None:
                continue
            what, f = f"left out {i}, gap {found.gap[i]!r}", found.decision[[i]]
            if stated.machine["name"] != "SVDD":  # whose f at new points is not kept
                f = np.concatenate([f, found.decision_function(self.task.new)[:, i]])
            self.check_near(what, f, best, _radius(found.gap[i], best), rest, at)
        self.groups(problem, result)

    def groups(self, problem: Any, result: Any) -> None:
        """Machines without some samples each."""
        stated = self.task.stated
        labels = self.rng.integers(0, 4, len(stated.y))
        found = qpsvm.leave_one_out(problem, result, labels, tol=max(self.task.tol, 1e-8))
        rows = np.flatnonzero((labels == labels[0]) & (stated.s > 0.0))
        if not len(rows) or np.isnan(found.decision[rows]).any():
            return
        rest = stated.select_rows(np.flatnonzero(labels != labels[0]))
        best = self.optimum(rest, stated.X[rows])
        if best is not None:
            radius = _radius(found.gap[rows[0]], best)
            self.check_near(f"group of {len(rows)} left out", found.decision[rows], best, radius, rest, stated.X[rows])


def _radius(gap: float, best: Optimum) -> float:
    """How far w of such a relative gap may be from w*: max(|P|, |D|) is at most |P*|/(1 − gap)."""
    if not gap < 1.0:
        return np.inf
    return float(np.sqrt(2.0 * gap / (1.0 - gap) * abs(float(best.value)) / float(best.program.unit)))


def judge_task(task: Claimed) -> tuple[list[str], int, int]:
    """List what is false of all that is claimed; count the claims, and the optima that were not found."""
    judge, problem = Judge(task), pose(task.stated)
    result = qpsvm.solve(problem, tol=task.tol, check=False)
    judge.result("solve", result, task.stated)
    rough = problem.at(result.alpha * judge.rng.uniform(0.8, 1.0, len(result.alpha)))
    judge.result("rough", rough, task.stated)
    judge.path(problem)
    judge.check_left_out(problem, result)
    return judge.faults, judge.looked, judge.open
