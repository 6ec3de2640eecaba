"""What is displayed is true: every equation and inequality of every derivation, evaluated from its LaTeX.

Of every machine, with each pair of an intercept, a linear kernel or one that is not, weights and rows of a user's: at
the optimum all statements hold; at a random feasible α the substitution and weak duality do, which are identities, and
the Lagrangian at w(α) is the value of the dual.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from displayed import DisplayReport, evaluate_display
from displayed_formulas import JOINT, Space, compute_dual, compute_primal
from displayed_letters import bind_symbols
from displayed_parser import Symbols
from displayed_points import draw_point, find_optimal_point
from pairwise import cover_pairs

import qpsvm

RNG = np.random.default_rng(5)
N = 14
X = RNG.normal(size=(N, 2)) * 1.3 + [0.4, -0.2]
SIGNS = np.where(X[:, 0] + 0.9 * RNG.normal(size=N) > 0.3, 1, 0)
TARGET = X @ [1.0, -0.5] + 0.4 * RNG.normal(size=N)
CLASSES = np.arange(N) % 3
WEIGHTS = RNG.uniform(0.5, 2.0, N)
RBF = qpsvm.RBF(0.9)
ROWS = qpsvm.ValueConstraints([[0.5, 0.2], [-0.4, 0.6]], [[1.0, -0.9], [0.1, 1.0]], [-0.1, 0.02])
EQUATIONS = qpsvm.Constraints([[1.0, 0.3]], [0.2], c=[0.4])
BALL_ROWS = qpsvm.ValueConstraints([[0.5, 0.2], [-0.4, 0.6]], [[1.0, -1.0], [0.0, 1.0]], [-0.05, 0.5])
INTERCEPTS = ("free", "penalised", None)

#: Machines: class, data and parameters. The first ones with every intercept; the last ones of several classes.
MANY: dict[str, Any] = {
    "c": (qpsvm.CSVM, X, SIGNS, {"C": 1.5}),
    "hinge": (qpsvm.PrimalHinge, X, SIGNS, {"lam": 0.06}),
    "squared": (qpsvm.SquaredHinge, X, SIGNS, {"C": 1.5}),
    "huber": (qpsvm.HuberHinge, X, SIGNS, {"C": 1.5, "width": 0.4}),
    "svr": (qpsvm.EpsilonSVR, X, TARGET, {"C": 1.5, "epsilon": 0.2}),
    "svr2": (qpsvm.EpsilonSVR, X, TARGET, {"C": 1.5, "epsilon": 0.2, "loss": "squared"}),
    "quantile": (qpsvm.QuantileSVR, X, TARGET, {"C": 1.5, "quantile": 0.7}),
}
ONE: dict[str, Any] = {
    "hard": (qpsvm.HardMargin, X + 4.0 * SIGNS[:, None], SIGNS, {}),
    "nu": (qpsvm.NuSVM, X, SIGNS, {"nu": 0.7}),
    "nusvr": (qpsvm.NuSVR, X, TARGET, {"C": 1.5, "nu": 0.5}),
    "one": (qpsvm.OneClass, X + 3.0, None, {"nu": 0.4}),
    "all": (qpsvm.OneClass, X + 3.0, None, {"nu": 1.0}),
    "ball": (qpsvm.SVDD, X, None, {"nu": 0.4}),
    "rank": (qpsvm.Ranking, X[:7], np.round(TARGET[:7]), {"C": 1.5}),
}
SEVERAL: dict[str, Any] = {
    "cs": (qpsvm.CrammerSinger, X, CLASSES, {"C": 0.8}),
    "ww": (qpsvm.WestonWatkins, X, CLASSES, {"C": 0.8}),
    "cs2": (qpsvm.CrammerSinger, X, SIGNS, {"C": 0.8}),
    "ww2": (qpsvm.WestonWatkins, X, SIGNS, {"C": 0.8}),
}
#: Steps that hold at every feasible α and the w(α) of it, and at every feasible point of the primal.
AT_ANY_ALPHA = {
    "Lagrangian", "Substitution", "Dual", "Dual feasibility", "Stationarity in w", "Stationarity in c",
    "Stationarity in b", "Stationarity in ρ", "Stationarity in ε", "Stationarity in μ", "Stationarity in ξ",
    "Stationarity in ξ and ζ", "Recovering w", "Recovering c", "Recovering f", "w of a linear kernel",
    "Centre of a linear kernel", "A feature of ones", "How large ν may be", "Sensitivity to h",
}  # fmt: skip
AT_ANY_POINT = {
    "Primal",
    "Primal as a QP",
    "As a QP",
    "Weak duality",
    "The same as a C-SVM",
    "Level",
    "Sensitivity to C",
}
IDENTITIES = AT_ANY_ALPHA | {"Weak duality"}
#: What says nothing in numbers.
SILENT = (r"\tilde\varphi", "dist", r"\text{", r"z_{\mathrm{box}")


def rows_for(machine: str, over_w: bool) -> Any:
    if over_w:
        if machine not in ("rank", "one"):
            return EQUATIONS
        return qpsvm.Constraints([[1.0, 0.3]], [0.2])
    return BALL_ROWS if machine == "ball" else ROWS


def cases() -> Iterator[tuple[str, str | None, str, bool, bool]]:
    """Each machine with each pair of values of the rest."""
    for table in (MANY, ONE, SEVERAL):
        for machine in table:
            for rest in cover_pairs(
                INTERCEPTS if table is not ONE else ("",),
                ("linear", "rbf"),
                (False, True) if machine != "hard" else (False,),
                (False, True) if table is not SEVERAL and machine != "all" else (False,),
            ):
                yield machine, *rest


@cache
def problem_of(machine: str, intercept: Any, kernel: str, weighted: bool, rows: bool) -> Any:
    kind, samples, labels, options = (MANY | ONE | SEVERAL)[machine]
    data = (samples,) if labels is None else (samples, labels)
    options = options | {"kernel": qpsvm.Linear() if kernel == "linear" else RBF}
    options |= {"intercept": intercept} if machine not in ONE else {}
    options |= {"sample_weight": WEIGHTS[: len(samples)]} if weighted else {}
    options |= {"constraints": rows_for(machine, kernel == "linear" and weighted)} if rows else {}
    return kind(*data, **options)


def name(case: tuple[Any, ...]) -> str:
    machine, intercept, kernel, weighted, rows = case
    return "-".join([machine, str(intercept), kernel] + ["weights"] * weighted + ["rows"] * rows)


def letters(problem: Any, space: Space, point: Any) -> tuple[Symbols, float, float]:
    """All letters at a point, P and D: for every step of a derivation the same."""
    names = bind_symbols(problem, space, point)
    if isinstance(problem, JOINT):
        return names, float(names.values["P"].a), float(names.values["D"].a)
    return names, compute_primal(problem, space, point), compute_dual(problem, point)


def read_step(at: tuple[Symbols, float, float], step: Any) -> DisplayReport:
    names, P, D = at
    return evaluate_display(step.latex, names, lambda over: -D if r"\alpha" in over else P, SILENT)


def list_failures(step: Any, read: DisplayReport) -> list[str]:
    return [f"{step.tag}: {failure}" for failure in read.failures]


class RandomPoints:
    """The letters at a few random points, those of an α and those of a w, b and ξ."""

    def __init__(self, problem: Any, space: Space, count: int = 2) -> None:
        self.problem, self.space = problem, space
        rng = np.random.default_rng(1)
        self.points = {of_alpha: [draw_point(problem, space, rng, of_alpha) for _ in range(count)]
                       for of_alpha in (True, False)}  # fmt: skip

    def where_it_holds(self, step: Any) -> list[Any]:
        """Where a step has to hold; nowhere, where it is about the optimum."""
        least = r"\max\bigl(" in step.latex or step.tag == "ESVR.1"  # a loss, of the smallest slack
        if step.title not in AT_ANY_ALPHA | AT_ANY_POINT and not least:
            return []
        return self._letters(step.title in AT_ANY_ALPHA, least)

    @cache  # noqa: B019
    def _letters(self, of_alpha: bool, least: bool) -> list[Any]:
        return [
            letters(self.problem, self.space, replace(point, xi=None, zeta=None) if least else point)
            for point in self.points[of_alpha]
        ]


@pytest.mark.parametrize("machine", MANY | ONE | SEVERAL)
def test_all_that_is_displayed_holds(machine):
    for case in (case for case in cases() if case[0] == machine):
        problem = problem_of(*case)
        result = qpsvm.solve(problem, tol=1e-11, check=False)
        assert not case[-1] or result.constraints["multiplier"].max() > 1e-3
        space = Space.from_problem(problem)
        optimum = letters(problem, space, find_optimal_point(problem, result, space))
        random = RandomPoints(problem, space)
        false = []
        count = 0
        for step in qpsvm.derive(problem):
            if step.absent:
                continue
            read = read_step(optimum, step)
            false += list_failures(step, read)
            count += read.evaluated
            for at in random.where_it_holds(step):
                false += [f"at a random point, {text}" for text in list_failures(step, read_step(at, step))]
        assert not false, name(case) + "\n" + "\n".join(false)
        assert count >= 9


# --- the evaluator itself ---------------------------------------------------------------------------------------------

#: What a change of a display is: it must be seen.
CHANGES = [
    (r"\tfrac12", r"\tfrac13"),
    (r"\tfrac{\lambda}{2}", r"\tfrac{\lambda}{3}"),
    (r"-\sum", r"+\sum"),
    ("+b", "-b"),
]
ARGUMENT = ("Primal", "Lagrangian", "Substitution", "Dual", "Strong duality", "Weak duality", "Stationarity in w")
#: Cases that are changed.
CHANGED = [
    ("c", "penalised", "rbf", True, False),
    ("hinge", "penalised", "linear", False, True),
    ("svr2", "penalised", "linear", True, False),
    ("ball", "", "linear", False, True),
    ("cs", "penalised", "rbf", True, False),
]


@pytest.mark.parametrize("case", CHANGED, ids=name)
def test_one_changed_sign_or_factor_is_seen(case):
    problem = problem_of(*case)
    space = Space.from_problem(problem)
    at = letters(problem, space, find_optimal_point(problem, qpsvm.solve(problem, tol=1e-13, check=False), space))
    random = RandomPoints(problem, space)
    unseen = []
    changed = 0
    for step in qpsvm.derive(problem):
        if step.absent or step.title not in ARGUMENT:
            continue
        for written, instead in CHANGES:
            for k in range(step.latex.count(written)):
                pieces = step.latex.split(written)
                mutant = replace(step, latex=written.join(pieces[: k + 1]) + instead + written.join(pieces[k + 1 :]))
                found = read_step(at, mutant).failures
                for other in random.where_it_holds(step):
                    found = found or read_step(other, mutant).failures
                changed += 1
                unseen += [] if found else [f"{step.tag}: {mutant.latex}"]
    assert changed >= 3
    assert not unseen, "\n".join(unseen)


#: Changes of a sensitivity: the other side, another sign, half or twice of it, or of the step.
CHANGED_SENSITIVITIES = [
    (r"-\Delta", r"+\Delta"), (r"{\Delta}", r"{2\Delta}"), (r"{\Delta}", r"{\tfrac12\Delta}"), ("{100}", "{50}"),
    ("-P}", "+P}"), ("{D-P", "{D+P"), (r"\le \xi_i", r"\le 2\xi_i"), (r"\le \pi_j", r"\le 2\pi_j"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*CHANGED[:4], ("svr", "free", "rbf", True, False)], ids=name)
def test_one_change_of_a_sensitivity_is_seen(case):
    problem = problem_of(*case)
    space = Space.from_problem(problem)
    seen = 0
    at = letters(problem, space, find_optimal_point(problem, qpsvm.solve(problem, tol=1e-13, check=False), space))
    for step in qpsvm.derive(problem):
        for written, instead in CHANGED_SENSITIVITIES if step.tag.startswith("PRICE") else ():
            mutant = replace(step, latex=step.latex.replace(written, instead))
            assert mutant == step or read_step(at, mutant).failures, mutant.latex
            seen += mutant != step
    assert seen >= 5


def test_few_lines_say_nothing_in_numbers():
    skipped = set()
    for machine, intercept in ((m, i) for m in MANY | ONE | SEVERAL for i in (INTERCEPTS if m not in ONE else ("",))):
        problem = problem_of(machine, intercept, "linear", False, False)
        space = Space.from_problem(problem)
        at = letters(problem, space, draw_point(problem, space, np.random.default_rng(0), True))
        for step in qpsvm.derive(problem):
            skipped |= {step.tag for _ in read_step(at, step).skipped} if not step.absent else set()
    dist = {"HARD.1", "CSVM.1", "NUSVM.1", "SQHINGE.1", "HUBER.1", "ONE.1"}
    assert skipped <= dist | {"SQHINGE.17", "PHINGE.16", "SVDD.19", "SVDD.20"}


# --- numbers and words beside an equation -----------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_the_margin_is_that_of_w_alone(intercept):
    problem = qpsvm.CSVM([[-1.0, 0.3], [-2.0, -1.0], [2.0, 0.2], [3.0, 1.5]], [0, 0, 1, 1], 100.0, intercept=intercept)
    result = qpsvm.solve(problem, tol=1e-13)
    sides = qpsvm.derive(problem, result).sides()["CSVM.1"]
    assert sides["right"] == pytest.approx(2 / np.linalg.norm(result.w), rel=1e-9)


def test_the_weights_of_a_ball_with_rows_are_shown_as_the_result_has_them():
    problem = problem_of("ball", "", "linear", False, True)
    result = qpsvm.solve(problem, tol=1e-13)
    shown = qpsvm.derive(problem, result).sides()["OWN.5"]
    assert np.abs(result.w / 2 - shown["left"]).min() < 1e-9  # w = 2c


def steps_of(machine: str, intercept: Any = "", rows: bool = False) -> Any:
    return qpsvm.derive(problem_of(machine, intercept, "linear", False, rows))


def test_the_words_are_about_this_machine():
    for tag, machine in (("SQHINGE.7", "squared"), ("ESVR.7", "svr2")):
        assert "upper bound" not in steps_of(machine, "free")[tag].text
    assert "edge" not in steps_of("svr2", "free")["ESVR.12"].text
    assert "ξ_k" in steps_of("rank")["RANK.5"].text
    assert r"\xi_i" not in steps_of("rank")["RANK.5"].latex
    ball, one = steps_of("ball"), steps_of("one")
    assert ball["SVDD.12"].title == "Recovering c"
    assert "P(c,R^2" in ball["SVDD.18"].latex
    assert r"P(w,\rho" in one["ONE.17"].latex
    for tag in ("ONE.8", "ONE.17"):
        assert "-0" not in one[tag].latex
    for intercept, said in zip(INTERCEPTS, ("yᵀα = 0", "b = yᵀα", "Put w(α) and"), strict=True):
        assert said in steps_of("c", intercept)["CSVM.9"].text
