"""What theory says of every estimator whose samples are permuted, relabelled, scaled, doubled, moved or joined.

The certified gap says how far two answers to the same question may be apart. With w the vector of f and μ the modulus
of the objective in ‖w‖²/2 (1, and ½ where f has twice the centre of a ball),

    (PROP.1)  ½μ‖w − w*‖² ≤ P − P* ≤ gap·size,   |⟨w − w*, φ(x)⟩| ≤ ‖φ(x)‖·√(2 gap·size/μ)

Given w, the intercept minimises a sum of convex losses of residual − b, each moved by what f changes at its row: the
ends of the interval of all best b move by no more than the largest of these. So f of the one fit lies within that
interval of f of the other, up to the radii of (PROP.1), once for f itself and once for b, and rounding in the sums.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from each import for_each
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.estimators import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR, RankingSVM

CLASSES, NUMBERS, ORDER, NO_TARGET = "classes", "numbers", "order", "nothing"
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
        if isinstance(estimator, NuSVC) and result.rho > 0:
            self.unit = result.rho
        else:
            self.unit = 1.0
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
        if hasattr(estimator, "decision_function"):
            values = estimator.decision_function(Z)
        else:
            values = estimator.predict(Z)
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
    Machine(QuantileSVR, NUMBERS, {**LINEAR, "quantile": 0.3}), Machine(OneClassSVM, NO_TARGET, {**RBF, "nu": 0.3}),
    Machine(OneClassSVM, NO_TARGET, {**LINEAR, "nu": 0.3}), Machine(SVDD, NO_TARGET, {**RBF, "nu": 0.3}),
    Machine(SVDD, NO_TARGET, {**LINEAR, "nu": 0.3}), Machine(RankingSVM, ORDER, RBF),
    Machine(RankingSVM, ORDER, LINEAR),
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A machine, samples with what is to be learnt of them, new samples, and the fit that others are compared with."""

    machine: Machine
    X: Any
    y: Any
    new: Any
    rng: Any
    base: Fitted

    def fitted(self, X, y, weight=None, **changed):
        return self.machine.fitted(X, y, weight, **changed)


def case_of(machine, seed):
    """A case whose samples are away from the origin."""
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(ROWS, FEATURES)) + 2.0, rng.normal(size=(NEW, FEATURES)) + 2.0
    level = X[:, 0] + 0.5 * np.sin(3.0 * X[:, 1]) + 0.3 * rng.normal(size=ROWS)
    targets = {
        CLASSES: (level > np.median(level)).astype(int), NUMBERS: level, NO_TARGET: None,
        ORDER: np.digitize(level, np.quantile(level, [0.3, 0.7])),
    }  # fmt: skip
    y = targets[machine.learns]
    return Case(machine, X, y, new, rng, machine.fitted(X, y))


def pick_rows(y, rows):
    return None if y is None else y[rows]


def permute_rows(case):
    order = case.rng.permutation(len(case.X))
    return case.fitted(case.X[order], pick_rows(case.y, order)), {}


def swap_labels(case):
    """Let the classes change places, or the targets their signs: f changes its sign."""
    if case.y is None:
        return None
    if "quantile" in case.machine.given:
        turned = {"quantile": 1.0 - case.machine.given["quantile"]}
    else:
        turned = {}
    other = 1 - case.y if case.machine.learns == CLASSES else -case.y
    return case.fitted(case.X, other, **turned), {"factor": -1.0}


def scale_rows(case):
    """Scale X by s, with γ by s⁻² the same kernel, or of a linear one with C by s⁻² the same f; shares move f."""
    s = 4.0
    if not case.machine.linear:
        return case.fitted(s * case.X, case.y, gamma=case.machine.given["gamma"] / s**2), {"moved": s * case.new}
    if "intercept_scaling" in case.machine.given:
        changed = {"C": s**-2, "intercept_scaling": s * case.machine.given["intercept_scaling"]}
        return case.fitted(s * case.X, case.y, **changed), {"moved": s * case.new}
    if case.machine.nu and case.machine.kind is not NuSVR:
        return case.fitted(s * case.X, case.y), {"moved": s * case.new, "factor": s**2}
    return case.fitted(s * case.X, case.y, C=s**-2), {"moved": s * case.new}


def weigh_rows(case):
    """Give a row weight 2, which is a row twice, and one weight 0, which is none."""
    twice, none = case.rng.choice(len(case.X), 2, replace=False)
    weight = np.ones(len(case.X))
    weight[twice], weight[none] = 2.0, 0.0
    rows = [*(i for i in range(len(case.X)) if i != none), twice]
    return case.fitted(case.X[rows], pick_rows(case.y, rows)), {"first": case.fitted(case.X, case.y, weight)}


def double_rows(case):
    """Double all rows: the penalty of slack doubles (of pairs, which are there four times, four); the shares do not."""
    rows = np.tile(np.arange(len(case.X)), 2)
    twice = case.fitted(case.X[rows], pick_rows(case.y, rows))
    if case.machine.nu and case.machine.kind is not NuSVR:
        return twice, {"factor": 2.0 if case.machine.kind is OneClassSVM else 1.0}  # LIBSVM's unit is νn
    return twice, {"first": case.fitted(case.X, case.y, C=4.0 if case.machine.learns == ORDER else 2.0)}


def join_idle_sample(case):
    """Add a sample that costs nothing: far on its own side, on f, or well inside. Shares are of one more."""
    changed = {}
    factor = 1.0
    if case.machine.learns == NUMBERS:
        x = case.new[:1]
        label = case.base.f(case.new[:1])
    elif case.machine.linear and case.machine.kind is not SVDD:
        w = np.ravel(case.base.estimator.coef_)
        x = case.X[:1] + 1e3 * w / (w @ w)
        label = [1 if case.machine.learns == CLASSES else 3]
    else:
        rows = np.argsort(case.base.f(case.X))[-1:]  # the best sample: far enough inside?
        x = case.X[rows]
        label = pick_rows(case.y, rows)
        margin = case.base.result.rho if case.machine.kind is NuSVC else 1.0
        enough = margin if case.machine.learns == CLASSES else 0.0
        if case.machine.learns == ORDER or case.base.f(x)[0] <= enough + 1e-6:
            return None
    if case.machine.nu:
        changed = {"nu": case.machine.given["nu"] * len(case.X) / (len(case.X) + 1)}
        factor = len(case.X) / (len(case.X) + 1) if case.machine.kind is NuSVC else 1.0
    more = None if case.y is None else np.concatenate([case.y, label])
    return case.fitted(np.vstack([case.X, x]), more, **changed), {"factor": factor}


def translate_rows(case):
    """Move X: the same f there, where the intercept is free or the kernel does not see the origin."""
    t = np.array([3.0, -1.0, 2.0])
    constant = case.machine.linear and case.machine.learns == ORDER
    return case.fitted(case.X + t, case.y), {"moved": case.new + t, "constant": constant}


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_does_not_matter_does_not_change_f(machine, seed):
    case = case_of(machine, seed)
    for change in (permute_rows, swap_labels, scale_rows, weigh_rows, double_rows, join_idle_sample, translate_rows):
        if change is translate_rows and machine.penalised:
            continue
        found = change(case)
        if found is not None:
            second, said = found
            first = said.pop("first", case.base)
            assert differences(first, second, case.new, **said) <= 0.0, change.__name__


@for_each("machine", [each for each in MACHINES if each.penalised])
def test_a_penalised_intercept_sees_the_origin(machine):
    case = case_of(machine, 0)
    second, said = translate_rows(case)
    assert differences(case.base, second, case.new, **said) > 0.0


@for_each("kind", [SVC, NuSVC, LinearSVC])
def test_classes_by_other_names(kind):
    """Three classes whose names sort in another order: the same class wins, with the same values of every machine."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(45, 2)) + np.repeat([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]], 15, axis=0)
    y = np.repeat([0, 1, 2], 15)
    names = np.array(["b", "c", "a"])
    first = kind().fit(X, y)
    second = kind().fit(X, names[y])
    assert (names[first.predict(X)] == second.predict(X)).all()
    first.set_params(**({} if kind is LinearSVC else {"decision_function_shape": "ovo"}))
    second.set_params(**({} if kind is LinearSVC else {"decision_function_shape": "ovo"}))
    one, other = first.decision_function(X), second.decision_function(X)
    if kind is LinearSVC:
        other = other[:, [1, 2, 0]]
    else:
        other = np.column_stack([other[:, 2], -other[:, 0], -other[:, 1]])
    near = [np.sqrt(2.0 * r.gap * abs(r.primal)) / (r.rho or 1.0) for m in (first, second) for r in m.results_]
    reach = np.sqrt(np.square(X).sum(axis=1).max()) if kind is LinearSVC else 1.0
    assert np.abs(one - other).max() <= 4.0 * reach * max(near) + 1e-9  # what rounding leaves of b's interval
