"""What `reply` gives: the numbers of the library itself, for every machine and kernel, and at any α."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from itertools import product
from typing import Any

import numpy as np
import pytest
from asking import BY_TURNS, LEARNT, ask, make_samples, make_scene_state, make_state
from each import for_each

import qpsvm
from qpsvm.faces.play import backend_catalogue, solver_run
from qpsvm.faces.play.explanations import format_gap
from qpsvm.faces.play.kernel_catalogue import KERNELS
from qpsvm.faces.play.machine_catalogue import MACHINES
from qpsvm.faces.play.request import read_state
from qpsvm.faces.play.start import SCENES


def run_program(text: str) -> dict:
    names: dict = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(text, "program.py", "exec"), names)  # what a user would run
    assert printed.getvalue()
    return names


@pytest.mark.parametrize("machine", MACHINES)
@for_each("kernel", KERNELS)
def test_the_answer_is_the_result_of_the_program(machine, kernel):
    """Every number of it, and f wherever it is drawn."""
    held = make_state(machine, kernel)
    box = [-3.0, 5.0, -2.0, 4.0]
    if machine == "hinge" and kernel == "rbf":
        held["parameters"] = {"intercept": "none"}
    answer = ask("solve", held, grid=9, box=box)
    names = run_program(ask("program", held)["python"])
    result = names["result"]
    assert answer["status"] == "optimal", answer
    assert answer["alpha"] == pytest.approx(result.alpha, rel=1e-9, abs=1e-12)
    one_each = result.coef if len(result.alpha) > len(result.kind) else result.alpha
    assert answer["samples"]["alpha"] == pytest.approx(one_each, rel=1e-9, abs=1e-12)
    assert answer["primal"] == pytest.approx(result.primal, rel=1e-9)
    assert answer["b"] == pytest.approx(result.b, rel=1e-7, abs=1e-9)
    assert (answer["primal"] - answer["dual"]) <= answer["tol"] * abs(answer["primal"])
    assert not answer["yours"]
    assert answer["repaired"] == 0.0
    assert sum(answer["counts"]) == len(held["labels"])
    points = np.array(held["points"])
    if machine in LEARNT["labels"]:
        assert answer["accuracy"] == np.mean(result.predict(points) == held["labels"])
    assert len(answer["samples"]["verdict"]) == len(held["labels"])
    assert not any(sentence.startswith("Violated") for sentence in answer["samples"]["verdict"])
    if machine in LEARNT["numbers"]:
        assert np.array_equal(names["X"], points[:, :-1])
        assert np.array_equal(names["t"], points[:, -1])
        return
    assert np.array_equal(names["X"], points)
    x, y = np.meshgrid(np.linspace(*box[:2], 9), np.linspace(*box[2:], 9))
    f = result.decision_function(np.column_stack([x.ravel(), y.ravel()]))
    assert answer["plane"]["f"] == pytest.approx(f, abs=1e-4 * max(abs(result.rho), float(np.median(abs(f)))))
    if machine in LEARNT["labels"]:
        ends = [-answer["rho"], answer["rho"]]
    else:
        ends = [None, None]
    assert answer["plane"]["levels"] == [ends[0], 0.0, ends[1]]


def test_only_what_is_shown_is_computed():
    answer = ask("solve", make_state(), show=["plane"])
    assert "qp" not in answer
    assert "derivation" not in answer


def free_of(machine: str) -> list[dict[str, Any]]:
    """The parameters with each kind of intercept that a machine has."""
    named = [each.choices for each in MACHINES[machine].parameters if each.name == "intercept"]
    return [{"intercept": kind} for kind in named[0]] if named else [{}]


def feasible(held: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
    """An α that the page leaves as it is."""
    problem = read_state(held).build_problem()
    return problem.at(rng.uniform(0.0, 1.0, problem.svm.m) * rng.integers(0, 2, problem.svm.m)).alpha


@pytest.mark.parametrize("machine", MACHINES)
def test_the_move_that_is_advised_raises_the_dual_value(machine):
    for seed, (kernel, parameters) in enumerate(product(BY_TURNS[machine], free_of(machine))):
        held = make_state(machine, kernel, parameters=parameters)
        alpha = feasible(held, np.random.default_rng(seed))
        for _ in range(6):
            before = ask("solve", held, alpha=alpha.tolist(), show=[])
            if before["status"] == "optimal":
                break
            move = before["move"]
            assert move, before["sentence"]
            assert all(f"sample {row % 16}" in before["sentence"] for row in move["rows"])
            alpha = np.array(before["alpha"])
            alpha[move["rows"]] += move["change"]
            after = ask("solve", held, alpha=alpha.tolist(), show=[])
            assert after["dual"] - before["dual"] >= 0.99 * move["gain"] > 0.0, (parameters, seed)


ADVISED = re.compile(
    r"To increase the dual value, "
    r"(raise|lower) its (α[⁺⁻]?)(?:,? and(?: (raise|lower))? (α[⁺⁻]?) of sample (\d+) by as much)?\.$"
)


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_advised_at_a_sample_raises_the_dual_value(machine):
    for parameters in free_of(machine):
        held = make_state(machine, "rbf", parameters=parameters)
        alpha = feasible(held, np.random.default_rng(0))
        before = ask("solve", held, alpha=alpha.tolist(), show=[])
        advised = 0
        n = 16
        alpha = np.array(before["alpha"])
        size = 1e-4 * alpha.max()  # of a step: what an unlucky curvature takes is less
        for i, said in enumerate(before["samples"]["verdict"]):
            found = ADVISED.search(said)
            if not found:
                continue
            advised += 1
            verb, letter, other_verb, other_letter, other = found.groups()
            changed = alpha.copy()
            changed[i + n * (letter == "α⁻")] += size * (1 if verb == "raise" else -1)
            if other:
                changed[int(other) + n * (other_letter == "α⁻")] += size * (
                    1 if (other_verb or verb) == "raise" else -1
                )
            assert ask("solve", held, alpha=changed.tolist(), show=[])["dual"] > before["dual"], said
        violated = sum(said.startswith("Violated") for said in before["samples"]["verdict"])
        assert violated >= advised > 0, before["samples"]["verdict"]
        if parameters.get("intercept", "free") == "free":  # b is then the best for w, and there is always a partner
            assert advised == violated


@pytest.mark.parametrize("machine", MACHINES)
@for_each("kernel", ["linear", "rbf"])
def test_at_any_alpha_the_samples_shares_add_up_to_the_gap(machine, kernel):
    held = make_state(machine, kernel)
    best = np.array(ask("solve", held)["alpha"])
    rng = np.random.default_rng(1)
    for noise in (0.0, 0.01, 0.3):
        answer = ask("solve", held, alpha=(best * (1 + noise * rng.standard_normal(len(best)))).tolist(), grid=8)
        assert answer["yours"]
        assert answer["backend"] == "none"
        if answer["gap"] is None:
            continue
        table = answer["samples"]
        assert sum(table["gap"]) + answer["rest"] == pytest.approx(answer["gap"])
        assert answer["rest"] >= -1e-15  # ½‖w − w(α)‖², where w is stretched, and rounding
        assert answer["rest"] <= 0.5 * answer["gap"] + 1e-9
        products = np.array(table["margin_product"]) + np.array(table["slack_product"])
        size = max(abs(answer["primal"]), abs(answer["dual"]))
        problem = read_state(held).build_problem()
        unit = problem.svm.unit / problem._f_scale
        assert unit * products / size == pytest.approx(table["gap"], rel=1e-6, abs=1e-12)
        assert answer["gap"] >= 0.0
        if noise == 0.0:
            assert answer["status"] == "optimal"


def test_an_alpha_that_is_not_feasible_is_repaired_and_its_equations_are_measured_as_it_stands():
    held = make_state("c", parameters={"C": 2.0})
    alpha = [0.5] * 16
    alpha[1] = 3.0
    answer = ask("solve", held, alpha=alpha)
    labels = np.array(held["labels"])
    assert answer["sum"] == pytest.approx(float(labels @ alpha))
    assert answer["repaired"] >= 0.5  # 3 is cut to C = 2
    assert answer["samples"]["alpha"] != alpha
    assert labels @ answer["samples"]["alpha"] == pytest.approx(0.0, abs=1e-12)
    balance = answer["derivation"]["steps"]["CSVM.5"]
    assert balance["left"] == pytest.approx(float(labels @ alpha))
    assert balance["right"] == 0.0
    assert not answer["derivation"]["trusted"]


@for_each("machine, kernel", [(name, each) for name in MACHINES for each in BY_TURNS[name]])
def test_the_steps_of_every_machine_are_those_that_are_measured(machine, kernel):
    held = make_state(machine, kernel)
    answer = ask("steps", held)
    measured = ask("solve", held, show=["derivation"])["derivation"]
    assert [step["tag"] for step in answer["steps"]] == list(measured["steps"])
    assert measured["trusted"]
    with_sides = [step for step in measured["steps"].values() if step["left"] is not None]
    assert len(with_sides) >= 3
    assert all(step["residual"] <= 1e-6 for step in with_sides)
    for step in answer["steps"]:
        assert step["mathml"].startswith("<math") == (not step["absent"])
        lines = step["code"].splitlines()
        assert all(0 <= number < len(lines) for number in step["lines"])


def test_the_steps_do_not_hang_on_the_samples():
    few = {"points": [], "labels": [], "machine": "nu", "parameters": {"nu": 0.99}}
    assert ask("steps", few)["steps"] == ask("steps", make_state("nu"))["steps"]


# --- the QP as numbers ------------------------------------------------------------------------------------------------


@for_each("machine", MACHINES)
def test_a_small_qp_is_shown_in_numbers(machine):
    n = 12 // MACHINES[machine].kind._variables_per_sample
    held = make_state(machine, **make_samples(n, apart=4.0 if machine == "hard" else 1.2))
    answer = ask("solve", held, show=["qp"])
    qp = read_state(held).build_problem().qp("dual")
    shown = answer["qp"]
    alpha = np.array(answer["alpha"])
    assert shown["primal"] == str(read_state(held).build_problem().qp("primal"))
    assert shown["n"] == 12
    assert shown["heat"] is None
    assert np.array(shown["P"]) == pytest.approx(qp.P.dense())
    assert shown["q"] == pytest.approx(qp.q)
    objective = 0.5 * alpha @ np.array(shown["P"]) @ alpha + np.array(shown["q"]) @ alpha
    assert objective == pytest.approx(-answer["dual"], rel=1e-6)
    assert len(shown["rows"]) == len(qp.b)
    for row, side in zip(shown["rows"], qp.b, strict=True):
        assert row["left"] == pytest.approx(np.array(row["coefficients"]) @ alpha, abs=1e-12)
        assert row["left"] == pytest.approx(row["right"], abs=1e-9)
        assert row["right"] == side
    tags = {row["tag"] for row in shown["rows"]} | {shown["box"]["tag"], shown["objective_tag"]}
    assert tags <= {step["tag"] for step in ask("steps", held)["steps"]}
    assert (shown["box"]["upper"] is None) == (machine in ("hard", "squared-hinge"))


def test_a_large_qp_is_a_map_of_means():
    held = make_state("c", **make_samples(50))
    shown = ask("solve", held, show=["qp"])["qp"]
    P = read_state(held).build_problem().qp("dual").P.dense()
    assert shown["P"] is None
    assert shown["heat"]["n"] == 48
    cells = np.array(shown["heat"]["values"]).reshape(48, 48)
    ends = np.append(np.arange(48) * 50 // 48, 50)
    assert cells[3, 40] == pytest.approx(P[ends[3] : ends[4], ends[40] : ends[41]].mean())
    assert cells[0, 0] == pytest.approx(P[: ends[1], : ends[1]].mean())


# --- geometry ---------------------------------------------------------------------------------------------------------


@for_each("machine", ["hard", "c", "nu"])
def test_the_closest_points_are_as_far_apart_as_w_says(machine):
    answer = ask("solve", make_state(machine))
    plane = answer["plane"]
    alpha = np.array(answer["samples"]["alpha"])
    apart = np.subtract(*plane["closest"])
    assert alpha.sum() / 2 * apart == pytest.approx(answer["w"], abs=1e-8)  # (HULL.3)
    assert [hull["label"] for hull in plane["hulls"]] == [1, -1]
    assert plane["cap"] <= 1.0
    if machine == "hard":
        assert plane["cap"] == 1.0
        assert np.hypot(*apart) == pytest.approx(answer["width"])
        return
    idle = ask("solve", make_state(machine), alpha=[0.0] * 16)["plane"]
    if machine == "c":
        assert (idle["closest"], idle["missing"]) == (None, "No closest points: every α is 0.")
        assert idle["hulls"]


def test_of_more_features_two_are_shown_and_the_others_held_at_their_medians():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 4))
    y = np.where(np.arange(15) % 2, 1, -1)
    held = {"points": X.tolist(), "labels": y.tolist(), "axes": [3, 1], "kernel": {"name": "rbf", "gamma": 0.3}}
    answer = ask("solve", held, grid=8, box=[0, 1, 0, 2])
    at = np.median(X, axis=0)
    at[3], at[1] = 1.0, 0.0
    result = qpsvm.solve(qpsvm.CSVM(X, y, kernel=qpsvm.RBF(0.3)))
    assert answer["plane"]["f"][7] == pytest.approx(float(result.decision_function(at[None])[0]), abs=1e-4)
    assert answer["samples"]["alpha"] == pytest.approx(result.alpha)


# --- what cannot be solved --------------------------------------------------------------------------------------------


def test_classes_that_meet_come_with_their_proof():
    held = make_state("hard", points=[[0, 0], [2, 2], [1, 0], [1, 2]], labels=[1, 1, -1, -1])
    answer = ask("solve", held)
    assert answer["error"]["kind"] == "NotSeparableError"
    assert answer["plane"]["meeting"] == pytest.approx([1.0, 1.0])
    assert answer["plane"]["f"] is None
    share = np.array(answer["samples"]["share"])
    X = np.array(held["points"], dtype=float)
    for side in (slice(0, 2), slice(2, 4)):
        assert share[side].sum() == pytest.approx(1.0)
        assert share[side] @ X[side] == pytest.approx(answer["plane"]["meeting"])
    assert ask("solve", {**held, **answer["hint"]})["status"] == "optimal"
    assert isinstance(run_program(ask("program", held)["python"])["result"].error, qpsvm.NotSeparableError)


def test_a_nu_that_is_too_large_comes_with_one_that_works():
    held = make_state("nu", points=[[0, 0], [2, 2], [1, 0], [3, 1], [2, 5]], labels=[1, -1, -1, -1, -1])
    answer = ask("solve", {**held, "parameters": {"nu": 0.9}})
    assert answer["error"]["kind"] == "InfeasibleNuError"
    assert answer["error"]["field"] == "nu"
    assert answer["hint"]["nu"] == pytest.approx(0.4)
    assert ask("solve", {**held, "parameters": answer["hint"]})["status"] == "optimal"


def test_an_indefinite_kernel_comes_with_what_to_do():
    held = make_state("c", kernel="sigmoid")
    answer = ask("solve", {**held, "kernel": {"name": "sigmoid"}})
    assert answer["error"]["kind"] == "IndefiniteKernelError"
    assert ask("solve", {**held, "kernel": {"name": "sigmoid", **answer["hint"]}})["status"] == "optimal"


@for_each("labels", [[], [1], [-1, -1, -1]])
def test_a_class_without_points_is_named(labels):
    points = [[float(i), 1.0] for i in range(len(labels))]
    answer = ask("solve", {"points": points, "labels": labels})
    assert answer["error"]["field"] == "state.labels"
    assert "has no point" in answer["error"]["sentence"]


# --- runs and programs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", backend_catalogue.list_solvers())
def test_a_run_comes_closer_to_the_optimum(solver, monkeypatch):
    monkeypatch.setattr(solver_run, "MAX_RUN_ITERATIONS", 100)
    monkeypatch.setattr(solver_run, "RUN_SECONDS", 60.0)  # of a busy machine
    held = make_state("c", **make_samples(14))
    answer = ask("run", held, solver=solver)
    points, optimum = answer["points"], answer["optimum"]
    iterations = [point["iteration"] for point in points]
    assert iterations == sorted(set(iterations))
    assert points[-1]["gap"] < points[0]["gap"]
    slack = 1e-9 * abs(optimum["primal"])
    for point in points:
        if point["primal"] is not None:
            assert point["primal"] >= optimum["dual"] - slack
        assert point["dual"] <= optimum["primal"] + slack
        assert len(point["alpha"]) == 14
    again = ask("solve", held, alpha=points[-1]["alpha"])
    assert again["dual"] == pytest.approx(points[-1]["dual"], rel=1e-6)


def test_a_run_over_a_machine_that_the_solver_does_not_take_says_so():
    answer = ask("run", make_state("nu"), solver="augmented_lagrangian")
    assert answer["error"]["kind"] == "UnsupportedError"
    assert "nu" not in next(s for s in ask("catalogue")["solvers"] if s["name"] == "augmented_lagrangian")["machines"]


@pytest.mark.usefixtures("patient_auto")
@for_each("seed", range(4))
def test_the_program_makes_the_pages_result_to_the_last_digit(seed):
    """Where α is not unique: many samples at few places, solved by the same solver, under the same limits."""
    held = make_samples(14, apart=0.7, seed=seed)
    held["points"] = np.round(held["points"]).tolist()
    for machine, parameters in (("c", {"C": 235.0}), ("nu", {"nu": 0.5}), ("hinge", {"lam": 1e-4})):
        now = make_state(machine, **held, parameters=parameters)
        result = run_program(ask("program", now)["python"])["result"]
        answer = ask("solve", now, show=[])
        assert (result.backend, result.alpha.tolist()) == (answer["backend"], answer["samples"]["alpha"])


@pytest.mark.filterwarnings("error")
def test_numbers_that_overflow_are_null_without_a_warning():
    """The parameters at the ends of what is accepted, and an α at the end of what may be held."""
    held = {"points": [[i, 2 * i] for i in range(8)], "labels": [1, -1] * 4, "machine": "squared-hinge"}
    kernel = {"name": "polynomial", "degree": 20, "gamma": 1e12, "coef0": 1e6}
    answer = ask("solve", {**held, "parameters": {"C": 1e12}, "kernel": kernel}, grid=8)
    assert answer["status"] != "optimal"
    answer = ask("solve", {**held, "kernel": {**kernel, "degree": 18, "gamma": 1e6}}, grid=8, alpha=[1e15] * 8)
    assert answer["status"] != "optimal"
    assert None in [answer["norm"], *answer["samples"]["slack_product"], *answer["samples"]["margin_product"]]


@for_each("machine", [name for name in LEARNT["labels"] if not MACHINES[name].curved])
def test_every_sentence_about_a_sample_has_the_letters_of_its_machine(machine):
    """The bound of α is C for one machine only, and what y f is on the margin is ρ for one only."""
    known = MACHINES[machine]
    for kernel in ("linear", "rbf"):
        held = make_state(machine, kernel)
        for alpha in (None, [0.0] * 16, [1.0] * 16):
            answer = ask("solve", held, **({} if alpha is None else {"alpha": alpha}))
            for said in answer["samples"]["verdict"]:
                assert "y f" not in said or ("ρ" in said) == (known.level == "ρ"), said
                assert known.bound == "C" or not re.search(r"\bC\b", said), said
                assert known.bound or ("ξ" not in said and "both" not in said), said


def test_no_gap_is_told_below_one_rounding():
    told = [ask("solve", make_state(machine, "linear"))["sentence"] for machine in MACHINES]
    for found in re.findall(r"better by more than (\S+) of", " ".join(told)):
        assert float(found) >= 1e-16
    assert [format_gap(gap) for gap in (4.9e-29, 0.0, 3e-16)] == ["< 1e-16", "< 1e-16", "3e-16"]


# --- what is said is what was judged ----------------------------------------------------------------------------------

IDLE = "Without this sample, nothing would change."


def test_a_sample_counts_as_idle_at_an_optimum_only():
    held = ask("solve", make_scene_state("outlier"), alpha=[0.0] * 11)
    assert held["status"] == "candidate"
    assert not any(IDLE in said for said in held["samples"]["verdict"])
    solved = ask("solve", make_scene_state("outlier"))
    assert any(IDLE in said for said in solved["samples"]["verdict"])


def test_a_sample_is_not_idle_where_the_bound_depends_on_their_number():
    """Without one of α = 0 the bound 1/n of all others is another, and so is w."""
    state = make_scene_state("nu_max", parameters={"nu": 0.5})
    solved = ask("solve", state)
    idle = [i for i, alpha in enumerate(solved["alpha"]) if alpha == 0.0]
    assert idle
    assert not any(IDLE in said for said in solved["samples"]["verdict"])
    without = {
        **state,
        "points": np.delete(state["points"], idle[0], 0).tolist(),
        "labels": np.delete(state["labels"], idle[0]).tolist(),
    }
    other = ask("solve", without)
    assert abs(other["norm"] - solved["norm"]) > 1e-3


def test_an_alpha_that_was_stretched_is_not_said_to_be_judged_as_it_is():
    n = len(SCENES["apart"].state.points)
    solved = ask("solve", make_scene_state("apart"))
    for alpha, repaired in ((np.zeros(n), 1.0), (np.array(solved["alpha"]) / 2, 0.5)):
        held = ask("solve", make_scene_state("apart"), alpha=alpha.tolist())
        assert held["repaired"] == pytest.approx(repaired)
        assert "the feasible α" in held["sentence"].lower()


def test_one_class_with_no_w_has_nobody_outside():
    points = [[1, 0], [-1, 0], [0, 1], [0, -1], [0.3, 0.2], [-0.3, -0.2]]
    state = {"points": points, "machine": "one-class", "kernel": {"name": "linear"}, "parameters": {"nu": 0.5}}
    solved = ask("solve", state)
    assert solved["norm"] == 0.0
    assert solved["accuracy"] == 0.0
    assert all("f = 0, as it is everywhere" in said for said in solved["samples"]["verdict"])
