"""Every machine's proof, judged by its textbook objectives in rational numbers, which are written here once more."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each

import qpsvm
from qpsvm.base.arrays.types import as_dense
from qpsvm.data.rows import StackedRows, as_row_source, standardise_rows

rng = np.random.default_rng(5)
N, D = 16, 3
X = rng.standard_normal((N, D))
Y = np.where(X[:, 0] + 0.7 * rng.standard_normal(N) > 0, "yes", "no")
APART = np.where(X[:, 0] > 0, "yes", "no")
T = X[:, 0] + 0.3 * rng.standard_normal(N)
S = rng.uniform(0.3, 2.0, N)
S[[2, 7]] = 0.0
C = rng.uniform(0.2, 3.0, N)
BALANCED = {"no": 0.7, "yes": 1.9}
ROWS = [
    qpsvm.Constraints([[0.3, 1.0, 0.0]], -0.07), qpsvm.Constraints([[1.0, 0.0, 0.1]], 0.3, c=1.7),
    qpsvm.ValueConstraints(X[:3] + 0.1, [[1.0, 0.0, -1.0], [0.3, 0.3, 0.0]], [0.4, 1.1]),
]  # fmt: skip

MACHINES = {
    "C": lambda **o: qpsvm.CSVM(X, Y, C=0.7, **o),
    "C weighed": lambda **o: qpsvm.CSVM(X, Y, C=C, sample_weight=S, class_weight=BALANCED, **o),
    "C penalised": lambda **o: qpsvm.CSVM(X, Y, C=0.3, intercept="penalised", sample_weight=S, **o),
    "C without": lambda **o: qpsvm.CSVM(X, Y, C=0.3, intercept=None, **o),
    "hard": lambda **o: qpsvm.HardMargin(X, APART, **o),
    "nu": lambda **o: qpsvm.NuSVM(X, Y, nu=0.6, **o),
    "nu weighed": lambda **o: qpsvm.NuSVM(X, Y, nu=0.55, sample_weight=S, **o),
    "primal": lambda **o: qpsvm.PrimalHinge(X, Y, lam=0.03, sample_weight=S, **o),
    "primal penalised": lambda **o: qpsvm.PrimalHinge(X, Y, lam=0.3, intercept="penalised", **o),
    "squared": lambda **o: qpsvm.SquaredHinge(X, Y, C=C, sample_weight=S, **o),
    "huber": lambda **o: qpsvm.HuberHinge(X, Y, C=C, width=0.3, sample_weight=S, **o),
    "tube": lambda **o: qpsvm.EpsilonSVR(X, T, C=C, epsilon=0.1, sample_weight=S, **o),
    "squared tube": lambda **o: qpsvm.EpsilonSVR(X, T, C=0.7, epsilon=0.1, loss="squared", **o),
    "nu tube": lambda **o: qpsvm.NuSVR(X, T, C=0.7, nu=0.3, sample_weight=S, **o),
    "quantile": lambda **o: qpsvm.QuantileSVR(X, T, C=C, quantile=0.3, sample_weight=S, **o),
    "one class": lambda **o: qpsvm.OneClass(X + 3.0, nu=0.3, kernel="linear", sample_weight=S, **o),
    "ball": lambda **o: qpsvm.SVDD(X + 1e6, nu=0.3, sample_weight=S, **o),
    "ranking": lambda **o: qpsvm.Ranking(X, T, C=0.3, sample_weight=S, **o),
}  # fmt: skip


KERNEL_MACHINES = MACHINES | {
    "one class": lambda **o: qpsvm.OneClass(X + 3.0, nu=0.3, sample_weight=S, **o),
    "ball": lambda **o: qpsvm.SVDD(X, nu=0.3, sample_weight=S, **o),
}


def fractions(values):
    return [F(v) for v in np.asarray(values, dtype=float).tolist()]


def dot(u, v):
    return sum((a * b for a, b in zip(u, v, strict=True)), F(0))


def compute_product(kernel, u, v):
    """Compute ⟨Σ a φ(x), Σ b φ(z)⟩ of two lists of (a, x)."""
    power = (
        (lambda b: b)
        if isinstance(kernel, qpsvm.Linear)
        else lambda b: (F(kernel.gamma) * b + F(kernel.coef0)) ** kernel.degree
    )
    return sum((a * b * power(dot(x, z)) for a, x in u for b, z in v), F(0))


class Textbook:
    """A machine over the samples of positive weight, in rational numbers: P of a result, and D of an α.

    A row of the dual is (sign, point, level, upper bound or None, curvature); a point is a list of (sample, factor).
    """

    def __init__(self, problem):
        self.problem = problem
        self.name = type(problem).__name__
        use = np.flatnonzero(problem.sample_weight > 0)
        self.X = [fractions(row) for row in as_dense(problem.X[use])]
        self.s = fractions(problem.sample_weight[use])
        self.target = fractions(problem.samples.target[use])
        penalties = getattr(problem, "C", None)
        if penalties is not None and np.ndim(penalties):
            self.C = [c * s for c, s in zip(fractions(penalties[use]), self.s, strict=True)]
        if self.name == "PrimalHinge":
            self.unit = F(problem.lam)
        elif self.name == "SVDD":
            self.unit = F(2)
        else:
            self.unit = F(1)
        self.use = use
        self.kernel = problem.kernel
        self.rows = [(g, c, h) for item in problem.constraints for g, c, h in self._user_rows(item)]

    def multiply(self, u, v):
        return compute_product(self.kernel, u, v)

    def _user_rows(self, item):
        """Return (g, c, h) of a user's rows, for f as the user has it: g is a list of (factor, point)."""
        if isinstance(item, qpsvm.Constraints):
            G = [[(F(1), fractions(g))] for g in item.G]
            return list(zip(G, fractions(item.c), fractions(item.h), strict=True))
        found = []
        for a, h in zip(map(fractions, item.A.toarray()), fractions(item.h), strict=True):
            Z = [fractions(z) for z in item.Z]
            if self.name == "SVDD":
                h += dot(a, [self.multiply([(1, z)], [(1, z)]) for z in Z])
            found.append((list(zip(a, Z, strict=True)), sum(a), h))
        return found

    def loss(self, i, f, result):
        """Loss of sample i, without the two penalties of its sides."""
        y = self.target[i]
        name = self.name
        short = max(1 - y * f, F(0))
        if name == "PrimalHinge":
            return short * self.s[i] / sum(self.s)
        if name == "NuSVM":
            return max(F(result.rho) - y * f, F(0)) * self.s[i] / sum(self.s)
        if name == "OneClass":
            return max(-f, F(0)) * self.s[i]
        if name == "CSVM":
            return self.C[i] * short
        if name == "SquaredHinge":
            return self.C[i] * short**2
        if name == "HuberHinge":
            h = F(self.problem.width)
            return self.C[i] * (short**2 / (2 * h) if short <= h else short - h / 2)
        if name == "QuantileSVR":
            q = F(self.problem.quantile)
            return self.C[i] * max(q * (y - f), (1 - q) * (f - y))
        width = F(self.problem.epsilon) if name == "EpsilonSVR" else F(result.epsilon)
        off = max(abs(y - f) - width, F(0))
        return self.C[i] * off * (off if getattr(self.problem, "loss", "") == "squared" else 1)

    def primal(self, result):
        """P, None where a row that has to be kept is not."""
        b = F(result.b)
        p = self.problem
        model = result.model
        if model.w is not None:
            w = [(F(1), fractions(model.w))]
        else:
            w = list(zip(fractions(model.coef), map(fractions, model.vectors), strict=True))
        f = [self.multiply(w, [(1, row)]) + b for row in self.X]
        if self.name == "SVDD":
            length = self.multiply(w, w) / 4
            square = length + b if model.radius is None else F(model.radius) ** 2  # that of f
            f = [v - b + square - length for v in f]
            b = square - length
            far = [self.multiply([(1, row)], [(1, row)]) - v for v, row in zip(f, self.X, strict=True)]
            penalty = 1 / (F(p.nu) * sum(self.s))
            found = square + penalty * dot(self.s, [max(v, F(0)) for v in far])
        else:
            found = self.unit * (self.multiply(w, w) + (b * b if p.intercept == "penalised" else 0)) / 2
            if self.name == "Ranking":
                for i, j in self.pairs():
                    found += F(p.C) * self.s[i] * self.s[j] * max(1 - f[i] + f[j], F(0))
            elif self.name == "HardMargin":
                if min(y * v for y, v in zip(self.target, f, strict=True)) < 1:
                    return None
            else:
                found += sum(self.loss(i, v, result) for i, v in enumerate(f))
            found -= F(p.nu) * F(result.rho) if self.name == "NuSVM" else 0
            found += F(p.nu) * sum(self.s) * b if self.name == "OneClass" else 0
            found += F(p.nu) * sum(self.C) * F(result.epsilon) if self.name == "NuSVR" else 0
        if any(self.multiply(g, w) + c * b > h for g, c, h in self.rows):
            return None
        return found

    def pairs(self):
        place = {int(i): k for k, i in enumerate(self.use)}
        return [(place[i], place[j]) for i, j in self.problem.pairs.tolist() if i in place and j in place]

    def dual(self, alpha):
        """D in units of the objective, of an α that is looked at whether it keeps everything."""
        p = self.problem
        name = self.name
        n = len(self.X)
        k = len(self.rows)
        one = F(1)
        alpha, multipliers = alpha[: len(alpha) - k], alpha[len(alpha) - k :]
        assert all(v >= 0 for v in (*alpha, *multipliers))
        own = alpha
        bend = [F(0)] * len(alpha)
        upper = None
        signs = self.target
        level = [one] * n
        if name in ("EpsilonSVR", "NuSVR", "QuantileSVR"):
            epsilon = F(p.epsilon) if name == "EpsilonSVR" else F(0)
            level = [t - epsilon for t in self.target] + [-t - epsilon for t in self.target]
            upper = self.C * 2
            if name == "QuantileSVR":
                q = F(p.quantile)
                upper = [c * q for c in self.C] + [c * (1 - q) for c in self.C]
            if getattr(p, "loss", "") == "squared":
                bend = [1 / (2 * c) for c in self.C * 2]
                upper = None
            beta = [a - c for a, c in zip(own[:n], own[n:], strict=True)]
        elif name == "Ranking":
            level = [one] * len(own)
            beta = [F(0)] * n
            upper = [F(p.C) * self.s[i] * self.s[j] for i, j in self.pairs()]
            for a, (i, j) in zip(own, self.pairs(), strict=True):
                beta[i], beta[j] = beta[i] + a, beta[j] - a
        else:
            signs = [one] * n if name in ("OneClass", "SVDD") else signs
            beta = [a * y for a, y in zip(own, signs, strict=True)]
            level = [F(0)] * n if name in ("NuSVM", "OneClass") else level
            upper = {
                "CSVM": lambda: self.C,
                "HuberHinge": lambda: self.C,
                "OneClass": lambda: self.s,
                "NuSVM": lambda: [s / sum(self.s) for s in self.s],
                "SVDD": lambda: [s / (F(p.nu) * sum(self.s)) for s in self.s],
                "PrimalHinge": lambda: [s / (F(p.lam) * sum(self.s)) for s in self.s],
            }.get(name, lambda: None)()
            if name == "SVDD":
                level = [self.multiply([(1, row)], [(1, row)]) / 2 for row in self.X]
            if name == "SquaredHinge":
                bend = [1 / (2 * c) for c in self.C]
            if name == "HuberHinge":
                bend = [F(p.width) / c for c in self.C]
        assert upper is None or all(a <= u for a, u in zip(own, upper, strict=True))
        mass = sum(beta) - dot([c for _, c, _ in self.rows], multipliers)
        if name == "NuSVM":
            assert sum(own) == F(p.nu)
        if name == "NuSVR":
            assert sum(own) == F(p.nu) * sum(self.C)
        if p.intercept == "free" or name in ("OneClass", "SVDD"):
            assert mass == {"OneClass": F(p.nu) * sum(self.s) if name == "OneClass" else 0, "SVDD": 1}.get(name, 0)
        size = 2 if name == "SVDD" else 1
        w = list(zip(beta, self.X, strict=True))
        w += [(-multiplier * a, z) for multiplier, (g, _, _) in zip(multipliers, self.rows, strict=True) for a, z in g]
        w = [(a, z) for a, z in w if a]
        found = dot(level, own) - self.multiply(w, w) / 2 - dot(bend, [a * a for a in own]) / 2
        found -= dot([h for _, _, h in self.rows], multipliers) / size
        return self.unit * (found - (mass**2 / 2 if p.intercept == "penalised" else 0))


def point_of(proof):
    point = proof.record["point"]
    return [point[k] for k in range(len(point.alpha))]


def check_bounds(problem, result, proof):
    """Compare every bound with the gap of the proof's numbers by the textbook, and return that."""
    textbook = Textbook(problem)
    primal = textbook.primal(result)
    dual = textbook.dual(point_of(proof))
    assert dual >= F(proof.dual)
    if primal is None:
        assert proof.gap == np.inf
        return None
    assert dual <= primal
    assert proof.primal == np.inf or primal <= F(proof.primal)
    assert proof.difference == np.inf or primal - dual <= F(proof.difference)
    if primal or dual:
        gap = float((primal - dual) / max(abs(primal), abs(dual)))
    else:
        gap = 0.0
    assert proof.least_gap * (1 - 1e-15) <= gap <= proof.gap * (1 + 1e-15)
    return gap


@pytest.mark.parametrize("name", MACHINES)
@for_each("rows", [False, True])
def test_what_is_proven_of_a_machine_is_true(arithmetic, name, rows):
    few = ("ranking", "one class", "ball", "hard", "C penalised", "primal penalised")
    if not rows:
        own = []
    elif name in few:
        own = ROWS[:1]
    else:
        own = ROWS
    problem = MACHINES[name](constraints=own) if own else MACHINES[name]()
    result = qpsvm.solve(problem)
    proof = result.verify(tol=1e-6)
    assert proof.exactly is (arithmetic == "rational")
    assert check_bounds(problem, result, proof) <= proof.gap <= 10 * result.gap + 1e-9
    assert bool(proof)
    moved = 1e-3 if result.b else 0.0
    worse = replace(result, b=result.b + moved, model=replace(result.model, w=1.001 * result.w))
    check_bounds(problem, worse, worse.verify())
    if not own and name not in ("hard", "ball"):
        far = problem.at(np.random.default_rng(0).uniform(0.0, 0.5, problem._n_dual_variables))
        check_bounds(problem, far, far.verify())


@pytest.mark.parametrize("name", ["C weighed", "nu", "squared tube", "one class", "ball", "ranking", "hard"])
@for_each("rows", [False, True])
def test_what_is_proven_of_a_kernel_machine_is_true(name, rows):
    """Of a kernel that is rational, so that the judge needs no more than fractions."""
    if rows and name not in ("one class", "ball"):
        more = {"constraints": ROWS[2]}
    else:
        more = {}
    if rows and not more:
        more = {"constraints": qpsvm.ValueConstraints(X[:2] + 3.0 * (name == "one class"), [[0.5, -1.0]], 0.1)}
    problem = KERNEL_MACHINES[name](kernel=qpsvm.Polynomial(2, gamma=0.3, coef0=0.7), **more)
    result = qpsvm.solve(problem)
    proof = result.verify(tol=1e-6)
    assert check_bounds(problem, result, proof) <= proof.gap <= 10 * result.gap + 1e-9
    assert bool(proof)
    far = replace(result, alpha=0.9 * result.alpha)
    check_bounds(problem, far, far.verify())


def test_penalties_that_two_doubles_cannot_hold():
    s = np.where(np.arange(N) % 2, 1e-160, 1e-170)
    problem = qpsvm.CSVM(X, Y, C=1e161 * C, sample_weight=s)
    result = problem.at(problem.upper / 2)
    check_bounds(problem, result, result.verify())
    curved = qpsvm.SquaredHinge(X, Y, C=1e161 * C, sample_weight=s)
    result = curved.at(np.full(N, 0.1))
    check_bounds(curved, result, result.verify())


def test_rows_that_hardly_any_floats_keep(arithmetic):
    """An equality: what is proven is how far it is missed, and the gap of the program with that much more room."""
    rows = qpsvm.Constraints.equal([[1.0, 1 / 3, 0.1]], 0.3)
    problem = qpsvm.CSVM(X, Y, constraints=rows)
    result = qpsvm.solve(problem)
    proof = result.verify(tol=1e-6)
    off = max(dot(g[0][1], fractions(result.w)) - h for g, _, h in Textbook(problem).rows)
    assert off > 0
    assert not bool(proof)
    assert proof.gap == np.inf
    (said,) = [claim for claim in proof.claims if claim.kind == "rows"]
    assert said.verdict == "proven"
    assert proof.claims[-1].kind == "rows"
    assert proof.remains <= 1e-12
    at_most = float(said.text.partition("by at most ")[2].partition(";")[0])
    assert off <= at_most <= (float(off) * 1.1 if arithmetic == "rational" else 1e-13)
    wider = qpsvm.CSVM(X, Y, constraints=qpsvm.Constraints(rows.G, np.nextafter(rows.h + at_most, 1.0)))
    assert result.verify(wider).gap <= proof.remains + 1e-13


@pytest.mark.usefixtures("arithmetic")
def test_a_plane_that_falls_short_by_a_hair():
    problem = qpsvm.HardMargin(X, APART)
    result = qpsvm.solve(problem)
    assert result.verify().gap <= 1e-9
    short = replace(result, b=result.b * (1 - 1e-12), model=replace(result.model, w=result.w * (1 - 1e-12)))
    proof = short.verify()
    assert proof.gap == np.inf
    (said,) = [claim for claim in proof.claims if claim.kind == "rows"]
    factor = 1 / (1 - F(float(said.text.partition("1/(1 − ")[2].partition(")")[0])))
    book = Textbook(problem)
    w = fractions(short.w)
    b = F(short.b)
    assert min(y * (dot(w, row) + b) for y, row in zip(book.target, book.X, strict=True)) * factor >= 1
    primal = factor**2 * dot(w, w) / 2
    dual = F(proof.dual)
    assert (primal - dual) / primal <= F(proof.remains) + F(1, 10**11)  # D is of these α, not of those times the factor
    assert proof.remains <= 1e-9


def test_numbers_of_another_machine_prove_nothing():
    result = qpsvm.solve(MACHINES["C"]())
    with pytest.raises(qpsvm.DataError, match="no intercept"):
        result.verify(MACHINES["C without"]())


def chunks(*parts):
    """Several arrays as one source."""
    return StackedRows([as_row_source(part) for part in parts])


def sources(folder):
    """The same samples as they may be stored."""
    np.save(folder / "X.npy", X.astype(np.float32))
    lines = [f"{int(y == 'yes')} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist()))
             for y, row in zip(Y, X, strict=True)]  # fmt: skip
    (folder / "X.svm").write_text("\n".join(lines))
    return {
        "float32": qpsvm.open_rows(folder / "X.npy"), "text": qpsvm.open_rows(folder / "X.svm"), "chunks":
        chunks(X[:5], X[5:]), "standardised": standardise_rows(as_row_source(3.0 * X + 1.0)),
        "sparse": sp.csr_array(X * (np.abs(X) > 0.5)), "map": np.load(folder / "X.npy", mmap_mode="r"),
    }  # fmt: skip


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_stored_samples_are_the_floats_that_are_read(arithmetic, tmp_path, offset):
    for name, stored in sources(tmp_path).items():
        if offset and name != "chunks":
            continue
        stored = chunks(X[:5] + offset, X[5:] + offset) if offset else stored
        for problem in (qpsvm.CSVM(stored, Y, C=0.5), qpsvm.SVDD(stored, nu=0.3), qpsvm.EpsilonSVR(stored, T)):
            result = qpsvm.solve(problem)
            proof = result.verify()
            assert check_bounds(problem, result, proof) <= proof.gap <= 10 * result.gap + 1e-9
            assert proof.exactly is (arithmetic == "rational")
            assert bool(proof.assumptions) == (name == "standardised")


def test_the_features_of_a_map_are_the_samples():
    kernel = qpsvm.Nystroem(qpsvm.RBF(0.3), 3, seed=1)
    for machine in (lambda X, **o: qpsvm.CSVM(X, Y, **o), lambda X, **o: qpsvm.SVDD(X, nu=0.3, **o)):
        problem = machine(X, kernel=kernel)
        result = qpsvm.solve(problem)
        proof = result.verify()
        assert "features" in proof.assumptions[0]
        assert check_bounds(machine(problem.kernel.features(X)), result, proof) <= proof.gap <= 10 * result.gap + 1e-9
