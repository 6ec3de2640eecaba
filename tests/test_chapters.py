"""The chapters of the site, in a browser: α, P, D and every term are what the library says."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import find_chromium
from playwright.sync_api import Page, sync_playwright

import qpsvm
from qpsvm.derivation.constraint_quantities import build_quantities
from qpsvm.derivation.steps import shared_symbols
from qpsvm.derivation.written import javascript

DOCS = Path(__file__).resolve().parents[1] / "docs"
SCENES = Path(qpsvm.__file__).parent / "faces" / "play" / "page" / "scenes.json"
MACHINES: dict[str, Any] = {
    "c": qpsvm.CSVM, "hard": qpsvm.HardMargin, "squared-hinge": qpsvm.SquaredHinge, "huber-hinge": qpsvm.HuberHinge,
    "hinge": qpsvm.PrimalHinge, "nu": qpsvm.NuSVM, "epsilon-svr": qpsvm.EpsilonSVR, "nu-svr": qpsvm.NuSVR,
    "quantile-svr": qpsvm.QuantileSVR, "one-class": qpsvm.OneClass, "svdd": qpsvm.SVDD,
}  # fmt: skip
PARAMETERS = {
    "c": "C", "squared-hinge": "C", "huber-hinge": "C width", "hinge": "lam", "nu": "nu", "epsilon-svr": "C epsilon",
    "nu-svr": "C nu", "quantile-svr": "C quantile", "one-class": "nu", "svdd": "nu",
}  # fmt: skip
#: What the page is asked: problems are solved there, and terms evaluated at the library's α.
ASKED = """tasks => tasks.map(({ key, task: given, alpha }) => {
  const { Dual, record, gram, letters, operations, numbers, centred, EQUATIONS } = window.chapters;
  const task = centred(given);
  const K = gram(task.kernel, task.X, task.X), of = record(task.machine, task.y, K.map((row, i) => row[i]), task.p);
  const dual = new Dual(of, K).solve(), own = dual.point(), theirs = new Dual(of, K);
  alpha.forEach((value, k) => theirs.put(k, value ?? of.rows[k].U));  // its own bound, to the last bit
  const p = letters(task, theirs, gram), terms = {};
  for (const [tag, lines] of Object.entries(EQUATIONS[key])) {
    const said = (term) => numbers(term.value(p, operations(p)));
    terms[tag] = lines.map(({ sides }) => sides.map((side) => side.map(said)));
  }
  return { alpha: own.alpha, short: own.t, b: own.b, primal: own.primal, dual: own.dual, terms };
})"""


@pytest.fixture(scope="module")
def bundle() -> Any:
    """The extension of the site that makes the script."""
    sys.path.insert(0, str(DOCS / "_ext"))
    import chapters

    yield chapters
    sys.path.remove(str(DOCS / "_ext"))


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page without anything, in a browser."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no browser: run `apt-get install chromium`, or name one in the environment variable CHROMIUM")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield made.new_page()
        made.close()


def random_task(rng: np.random.Generator, machine: str) -> dict[str, Any]:
    """A small problem, with equal rows now and then."""
    n = int(rng.integers(4, 50))
    X = rng.normal(size=(n, 2)).round(2)
    y = np.where(X @ [1.0, 0.5] + 0.8 * rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    if machine == "hard":
        X = (X + 3.0 * y[:, None]).round(2)
    if rng.random() < 0.3:
        X[-1] = X[-2]
        y[-1] = y[-2]
    if "svr" in machine:
        y = (np.sin(X[:, 0]) + 0.2 * rng.normal(size=n)).round(2)
    drawn = {
        "C": 10 ** rng.uniform(-2, 2), "width": rng.uniform(0.1, 2), "lam": 10 ** rng.uniform(-3, 0),
        "nu": rng.uniform(0.1, 0.9), "epsilon": rng.uniform(0, 0.4), "quantile": rng.uniform(0.05, 0.95),
    }  # fmt: skip
    if machine == "nu":
        drawn["nu"] *= 2 * min((y > 0).sum(), (y < 0).sum()) / n
    curved = rng.random() < 0.6 or machine in ("svdd", "one-class")
    kernel = {"name": "rbf", "gamma": 0.7} if curved else {"name": "linear"}
    p = {name: drawn[name] for name in PARAMETERS.get(machine, "").split()}
    return {"machine": machine, "X": X.tolist(), "y": y.tolist(), "p": p, "kernel": kernel}


def scene_task(state: dict[str, Any]) -> dict[str, Any]:
    """A scene of the live page."""
    X = np.array(state["points"])
    y = state.get("labels")
    if "svr" in state["machine"]:
        y = X[:, 1].tolist()
        X = X[:, :1]
    kernel = state.get("kernel", {"name": "linear"})
    return {"machine": state["machine"], "X": X.tolist(), "y": y or [1] * len(X), "p": state.get("parameters", {}),
            "kernel": kernel}  # fmt: skip


def pose(task: dict[str, Any]) -> Any:
    """Build the library's problem."""
    if task["kernel"]["name"] == "rbf":
        kernel = qpsvm.RBF(task["kernel"]["gamma"])
    else:
        kernel = "linear"
    targets = [] if task["machine"] in ("one-class", "svdd") else [task["y"]]
    return MACHINES[task["machine"]](np.array(task["X"]), *targets, kernel=kernel, **task["p"])


def unique(problem: Any, alpha: Any, short: Any) -> bool:
    """Whether α is the only optimum: K is regular on the free rows, and no other row is on its margin."""
    svm = problem.svm
    free = (alpha > 0) & (alpha < svm.upper)
    rows = np.arange(len(alpha)) % svm.n
    at = rows[free]
    K = np.asarray(problem.space.gram @ np.eye(svm.n))[np.ix_(at, at)]
    return len(at) > 0 and np.linalg.eigvalsh(K)[0] > 1e-6 and bool((np.abs(short[~free]) > 1e-6).all())


def fixes_multipliers(problem: Any, alpha: Any) -> bool:
    """Say whether free rows hold every multiplier: one row, or of two multipliers one of each sign."""
    free = (alpha > 0) & (alpha < problem.svm.upper)
    return len(set(problem.svm.sign[free])) >= len(problem.svm.groups)


def check_tasks(page: Page, bundle: Any, tasks: list[dict[str, Any]]) -> int:
    """Check every term of every task, and count the sides that were compared."""
    problems = [pose(task) for task in tasks]
    results = [qpsvm.solve(problem, tol=1e-13, check=False) for problem in problems]
    derivations = [qpsvm.derive(problem, result) for problem, result in zip(problems, results, strict=True)]
    keys = [f"{task['machine']} {task['kernel']['name']}" for task in tasks]
    steps = {key: derivation.steps for key, derivation in zip(keys, derivations, strict=True)}
    page.goto("about:blank")
    script = bundle.join_scripts(javascript.build_module(steps), ("solver.mjs", "equations.mjs"))
    names = "Dual, record, gram, letters, operations, numbers, centred, EQUATIONS"
    page.evaluate(f"() => {{ {script}\nwindow.chapters = {{ {names} }}; }}")
    asked, alphas = [], []
    for key, task, problem, result in zip(keys, tasks, problems, results, strict=True):
        alpha = problem._restrict_to_dual(result.alpha)
        upper = problem.svm.upper
        size = np.where(np.isfinite(upper), upper, np.abs(alpha).max() or 1.0)
        alpha = np.where(alpha < 1e-9 * size, 0.0, np.where(alpha > upper * (1 - 1e-9), upper, alpha))
        sent = [None if a == u else a for a, u in zip(alpha.tolist(), upper.tolist(), strict=True)]
        asked.append({"key": key, "task": task, "alpha": sent})
        alphas.append(alpha)
    count = alone = 0
    for given, alpha, problem, result, derivation, said in zip(
        asked, alphas, problems, results, derivations, page.evaluate(ASKED, asked), strict=True
    ):
        where = f"{given['key']}, n = {len(given['task']['y'])}, {given['task']['p']}"
        size = max(abs(result.primal), 1e-6 * float(np.abs(result.alpha).sum()), 1e-9)
        assert abs(said["dual"] - result.dual) <= 1e-9 * size, where
        assert abs(said["primal"] - result.primal) <= 1e-9 * size, where
        if unique(problem, alpha, np.array(said["short"])):
            np.testing.assert_allclose(said["alpha"], alpha, atol=1e-7 * alpha.max(), err_msg=where)
            alone += 1
        if not fixes_multipliers(problem, alpha) or abs(result.primal) < 1e-12:
            continue  # multipliers are anywhere in an interval, or w = 0 where the hulls of a ν-SVM meet
        at = build_quantities(problem, result)
        for step in derivation.steps:
            for line, sides in zip(javascript.select_lines(step), said["terms"].get(step.tag, []), strict=True):
                point = at if line.map_point is None else line.map_point(at)
                if line.map_point is shared_symbols.make_suboptimal:  # the page has no other α than its own
                    point = shared_symbols.with_needed_slack(at)
                if line.when is not None and not line.when(point):
                    continue
                for side, found in zip(line.sides, sides, strict=True):
                    for (_, term), value in zip(javascript.split_summands(side), found, strict=True):
                        if "f(x)" in term.python() or "K(x, " in term.python():
                            continue  # at samples of the page's own
                        mine = np.asarray(term.value(point), dtype=float)
                        theirs = np.asarray(value, dtype=float)
                        scale = 1.0 + float(np.abs(mine[np.isfinite(mine)]).max(initial=0.0))
                        np.testing.assert_allclose(
                            theirs, mine, rtol=0, atol=1e-9 * scale, err_msg=f"({step.tag}) {term.python()}: {where}"
                        )
                        count += 1
    assert alone >= len(tasks) // 3
    return count


@pytest.mark.slow
def test_what_the_page_says_is_what_the_library_says_at_random(page, bundle):
    rng = np.random.default_rng(0)
    names = [*MACHINES]
    assert check_tasks(page, bundle, [random_task(rng, names[k % len(names)]) for k in range(6 * len(names))]) > 2000


def test_what_the_page_says_is_what_the_library_says_on_scenes(page, bundle):
    states = [scene["state"] for scene in json.loads(SCENES.read_text(encoding="utf-8")).values()]
    tasks = [scene_task(state) for state in states if solvable(scene_task(state))]
    assert len(tasks) > 10
    assert check_tasks(page, bundle, tasks) > 500


def solvable(task: dict[str, Any]) -> bool:
    """Whether there is a machine: two scenes show why there is none."""
    try:
        return qpsvm.solve(pose(task), check=False).status == "optimal"
    except qpsvm.QPSVMError:
        return False


def test_every_chapter_opens_moves_and_ends_in_a_challenge(page, bundle):
    chapters = ["slab", "slack", "game", "alpha", "hulls", "lift", "certificate", "tube", "novelty", "many"]
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    parts = "".join(f'<section><div data-chapter="{name}"></div></section>' for name in chapters)
    page.set_content(
        f"<style>svg {{ width: 300px }} section {{ min-height: 150vh }}</style><div data-stage></div>{parts}"
    )
    page.evaluate(f"() => {{ {bundle.build_script()} }}")
    for name in chapters:
        place = page.locator(f"[data-chapter={name}]")
        place.evaluate("each => each.closest('section').scrollIntoView()")
        page.wait_for_selector(f"[data-stage][data-open={name}]")
        said = page.inner_text(".verdict")
        assert ("P" in said and "D" in said) or "optimal" in said, (name, said)
        assert place.locator(".won").inner_text() == "", f"{name}: done before it began"
        first = page.locator(".plane .sample").first
        before = first.get_attribute("transform")
        first.evaluate("each => each.focus({ preventScroll: true })")
        page.keyboard.press("Shift+ArrowLeft")
        assert page.locator(".plane .sample").first.get_attribute("transform") != before
        place.get_by_text("reset", exact=True).evaluate("each => each.click()")
    assert faults == []


def test_ten_of_the_best_pairs_do_not_always_do_but_the_certificate_counts_them(page, bundle):
    page.set_content('<div data-stage></div><section><div data-chapter="certificate"></div></section>')
    page.evaluate(f"() => {{ {bundle.build_script()} }}")
    place = page.locator("[data-chapter=certificate]")
    gaps = []
    for _ in range(60):
        place.get_by_text("the best pair", exact=True).click()
        verdict = page.inner_text(".verdict")
        gaps.append(
            0.0 if verdict.startswith("optimal") else float(re.split("a gap of | %", verdict.replace("−", "-"))[1])
        )
    assert "Move 60" in place.inner_text()
    assert gaps[-1] < 0.1 < gaps[0]
