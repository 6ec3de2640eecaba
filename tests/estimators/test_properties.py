"""What theory says of every estimator when its samples are permuted, relabelled, scaled, doubled, moved or joined by others.

The certified gap says how far two answers to the same question may be apart. With w the vector of f and μ the modulus of
the objective in ‖w‖²/2 (1, and ½ where f has twice the centre of a ball),

    (PROP.1)  ½μ‖w − w*‖² ≤ P − P* ≤ gap·size,   |⟨w − w*, φ(x)⟩| ≤ ‖φ(x)‖·√(2 gap·size/μ)

Given w, the intercept minimises a sum of convex losses of residual − b, each moved by what f changes at its row: the ends
of the interval of all best b move by no more than the largest of these. So f of the one fit lies within that interval of
f of the other, up to the radii of (PROP.1), once for f itself and once for b, and rounding in the sums.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.estimators import (
    SVC,
    SVDD,
    SVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
    RankingSVM,
)

CLASSES, NUMBERS, ORDER, NOTHING = "classes", "numbers", "order", "nothing"
UNIT = np.finfo(float).eps
ROWS, FEATURES, NEW = 20, 3, 10
RBF = {"kernel": "rbf", "gamma": 0.5}
LINEAR = {"kernel": "linear"}


@dataclass(frozen=True)
class Machine:
    """An estimator with parameters, and what theory says of it."""

    kind: type
    learns: str
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join([self.kind.__name__, *(f"{k}={v}" for k, v in self.given.items())])

    @property
    def linear(self) -> bool:
        return self.kind in (LinearSVC, LinearSVR) or self.given.get("kernel") == "linear"

    @property
    def penalised(self) -> bool:
        """Whether the answer depends on where the origin is, though not on the order of the rows."""
        return "intercept_scaling" in self.given or (self.kind is OneClassSVM and self.linear)

    @property
    def nu(self) -> bool:
        """Whether the parameter is a share of the samples."""
        return "nu" in self.kind().get_params()

    def fitted(self, X, y, weight=None, **changed):
        return Fitted(self, self.kind(**{**self.given, **changed}), X, y, weight)


class Fitted:
    """A fit, its f in units of its problem, and what is known of it."""

    def __init__(self, machine, estimator, X, y, weight):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a `GapWarning` would be a fault here
            self.estimator = estimator.fit(X, y, sample_weight=weight)
        result = self.result = estimator.result_
        self.unit = result.rho if isinstance(estimator, NuSVC) and result.rho > 0 else 1.0
        modulus = 0.5 if isinstance(estimator, SVDD) else 1.0
        size = max(abs(result.primal), abs(result.dual))
        self.radius = float(np.sqrt(2.0 * result.gap * size / modulus))
        squares = np.square(X).sum(axis=1) if machine.linear else np.ones(len(X))
        self.reach = float(np.sqrt(squares.max() + float(estimator.get_params().get("intercept_scaling") or 0) ** 2))
        low, high = result.b_interval
        self.rounding = UNIT * (len(X) + FEATURES + 16) * (np.abs(result.coef).sum() * self.reach**2 + abs(result.b))
        assert low - self.rounding <= result.b <= high + self.rounding
        self.slack = (low - result.b, high - result.b)

    def f(self, Z):
        estimator = self.estimator
        values = estimator.decision_function(Z) if hasattr(estimator, "decision_function") else estimator.predict(Z)
        return values * self.unit


def differences(first, second, Z, moved=None, factor=1.0, constant=False):
    """How much further f of the second is from factor × f of the first than theory allows: not above 0.

    f of the second is taken at `moved`, by default at Z too. Where the score says only the order, a constant is free.
    """
    moved = Z if moved is None else moved
    reach = max(first.reach, second.reach, *(np.sqrt(np.square(part).sum(axis=1).max()) for part in (Z, moved)))
    near = reach * (abs(factor) * first.radius + second.radius) + abs(factor) * first.rounding + second.rounding
    low, high = sorted(factor * end for end in first.slack)
    found = second.f(moved) - factor * first.f(Z)
    if constant:
        return float(np.ptp(found)) - 4.0 * near
    return float(max((found - high).max(), (low - found).max())) - 2.0 * near


MACHINES = [
    Machine(SVC, CLASSES, RBF), Machine(SVC, CLASSES, LINEAR),
    Machine(SVC, CLASSES, {"kernel": "rbf", "gamma": 0.5, "fit_intercept": False}),
    Machine(NuSVC, CLASSES, {**RBF, "nu": 0.4}), Machine(NuSVC, CLASSES, {**LINEAR, "nu": 0.4}),
    Machine(LinearSVC, CLASSES), Machine(LinearSVC, CLASSES, {"loss": "hinge", "intercept_scaling": 2.0}),
    Machine(SVR, NUMBERS, RBF), Machine(SVR, NUMBERS, LINEAR), Machine(NuSVR, NUMBERS, {**RBF, "nu": 0.4}),
    Machine(NuSVR, NUMBERS, {**LINEAR, "nu": 0.4}), Machine(LinearSVR, NUMBERS),
    Machine(LinearSVR, NUMBERS, {"intercept_scaling": 1.0}), Machine(QuantileSVR, NUMBERS, {**RBF, "quantile": 0.3}),
    Machine(QuantileSVR, NUMBERS, {**LINEAR, "quantile": 0.3}), Machine(OneClassSVM, NOTHING, {**RBF, "nu": 0.3}),
    Machine(OneClassSVM, NOTHING, {**LINEAR, "nu": 0.3}), Machine(SVDD, NOTHING, {**RBF, "nu": 0.3}),
    Machine(SVDD, NOTHING, {**LINEAR, "nu": 0.3}), Machine(RankingSVM, ORDER, RBF), Machine(RankingSVM, ORDER, LINEAR),
]  # fmt: skip


def data_of(machine, seed):
    """Samples away from the origin, what is to be learnt of them, and new samples."""
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(ROWS, FEATURES)) + 2.0, rng.normal(size=(NEW, FEATURES)) + 2.0
    level = X[:, 0] + 0.5 * np.sin(3.0 * X[:, 1]) + 0.3 * rng.normal(size=ROWS)
    targets = {
        CLASSES: (level > np.median(level)).astype(int), NUMBERS: level, NOTHING: None,
        ORDER: np.digitize(level, np.quantile(level, [0.3, 0.7])),
    }  # fmt: skip
    return X, targets[machine.learns], new, rng


def picked(y, rows):
    return None if y is None else y[rows]


def permuted(machine, base, X, y, new, rng):
    order = rng.permutation(len(X))
    return machine.fitted(X[order], picked(y, order)), {}


def relabelled(machine, base, X, y, new, rng):
    """The classes change places, or the targets their signs: f changes its sign."""
    if y is None:
        return None
    turned = {"quantile": 1.0 - machine.given["quantile"]} if "quantile" in machine.given else {}
    return machine.fitted(X, 1 - y if machine.learns == CLASSES else -y, **turned), {"factor": -1.0}


def scaled(machine, base, X, y, new, rng):
    """X by s, with γ by s⁻² the same kernel, or of a linear one with C by s⁻² the same f; shares move f itself."""
    s = 4.0
    if not machine.linear:
        return machine.fitted(s * X, y, gamma=machine.given["gamma"] / s**2), {"moved": s * new}
    if "intercept_scaling" in machine.given:
        changed = {"C": s**-2, "intercept_scaling": s * machine.given["intercept_scaling"]}
        return machine.fitted(s * X, y, **changed), {"moved": s * new}
    if machine.nu and machine.kind is not NuSVR:
        return machine.fitted(s * X, y), {"moved": s * new, "factor": s**2}
    return machine.fitted(s * X, y, C=s**-2), {"moved": s * new}


def weighted(machine, base, X, y, new, rng):
    """A row twice is a row of weight 2, and a row of weight 0 is none."""
    twice, none = rng.choice(len(X), 2, replace=False)
    weight = np.ones(len(X))
    weight[twice], weight[none] = 2.0, 0.0
    rows = [*(i for i in range(len(X)) if i != none), twice]
    return machine.fitted(X[rows], picked(y, rows)), {"first": machine.fitted(X, y, weight)}


def doubled(machine, base, X, y, new, rng):
    """All rows twice: twice the price of slack (of pairs, of which there are four of each, four times); the same shares."""
    rows = np.tile(np.arange(len(X)), 2)
    twice = machine.fitted(X[rows], picked(y, rows))
    if machine.nu and machine.kind is not NuSVR:
        return twice, {"factor": 2.0 if machine.kind is OneClassSVM else 1.0}  # LIBSVM's unit is νn
    return twice, {"first": machine.fitted(X, y, C=4.0 if machine.learns == ORDER else 2.0)}


def joined(machine, base, X, y, new, rng):
    """A sample that costs nothing where it is: far on its own side, on f, or well inside. Shares are of one more."""
    changed, factor = {}, 1.0
    if machine.learns == NUMBERS:
        x, label = new[:1], base.f(new[:1])
    elif machine.linear and machine.kind is not SVDD:
        w = np.ravel(base.estimator.coef_)
        x, label = X[:1] + 1e3 * w / (w @ w), [1 if machine.learns == CLASSES else 3]
    else:
        rows = np.argsort(base.f(X))[-1:]  # the best sample: far enough inside?
        x, label = X[rows], picked(y, rows)
        enough = base.result.rho if isinstance(base.estimator, NuSVC) else 1.0 if machine.learns == CLASSES else 0.0
        if machine.learns == ORDER or base.f(x)[0] <= enough + 1e-6:
            return None
    if machine.nu:
        changed = {"nu": machine.given["nu"] * len(X) / (len(X) + 1)}
        factor = len(X) / (len(X) + 1) if machine.kind is NuSVC else 1.0
    more = None if y is None else np.concatenate([y, label])
    return machine.fitted(np.vstack([X, x]), more, **changed), {"factor": factor}


def translated(machine, base, X, y, new, rng):
    """X moved: the same f there, where the intercept is free or the kernel does not see the origin."""
    t = np.array([3.0, -1.0, 2.0])
    return machine.fitted(X + t, y), {"moved": new + t, "constant": machine.linear and machine.learns == ORDER}


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@settings(max_examples=2, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_does_not_matter_does_not_change_f(machine, seed):
    X, y, new, rng = data_of(machine, seed)
    base = machine.fitted(X, y)
    for change in (permuted, relabelled, scaled, weighted, doubled, joined, translated):
        if change is translated and machine.penalised:
            continue
        found = change(machine, base, X, y, new, rng)
        if found is not None:
            second, said = found
            first = said.pop("first", base)
            assert differences(first, second, new, **said) <= 0.0, change.__name__


@pytest.mark.parametrize("machine", [each for each in MACHINES if each.penalised], ids=lambda machine: machine.name)
def test_a_penalised_intercept_sees_the_origin(machine):
    X, y, new, rng = data_of(machine, 0)
    base = machine.fitted(X, y)
    second, said = translated(machine, base, X, y, new, rng)
    assert differences(base, second, new, **said) > 0.0


@pytest.mark.parametrize("kind", [SVC, NuSVC, LinearSVC])
def test_classes_by_other_names(kind):
    """Three classes whose names sort in another order: the same class wins, with the same values of every machine."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(45, 2)) + np.repeat([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]], 15, axis=0)
    y = np.repeat([0, 1, 2], 15)
    names = np.array(["b", "c", "a"])
    first, second = kind().fit(X, y), kind().fit(X, names[y])
    assert (names[first.predict(X)] == second.predict(X)).all()
    first.set_params(**({} if kind is LinearSVC else {"decision_function_shape": "ovo"}))
    second.set_params(**({} if kind is LinearSVC else {"decision_function_shape": "ovo"}))
    one, other = first.decision_function(X), second.decision_function(X)
    other = other[:, [1, 2, 0]] if kind is LinearSVC else np.column_stack([other[:, 2], -other[:, 0], -other[:, 1]])
    near = [np.sqrt(2.0 * r.gap * abs(r.primal)) / (r.rho or 1.0) for m in (first, second) for r in m.results_]
    reach = np.sqrt(np.square(X).sum(axis=1).max()) if kind is LinearSVC else 1.0
    assert np.abs(one - other).max() <= 4.0 * reach * max(near) + 1e-9  # what rounding leaves of b's interval
