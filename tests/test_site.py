"""What can be said of the site without building it; `.ci/run` builds it, and then looks for dead links."""

from __future__ import annotations

import importlib.util
import inspect
import re
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.backends import REGISTRY, iter_backends
from qpsvm.backends.abilities import Abilities
from qpsvm.backends.traits import find_problem_traits
from qpsvm.derivation.registry import STEPS
from qpsvm.machines.problem.problem import Problem
from qpsvm.solve.backend_order import rank_backends

DOCS = Path(__file__).resolve().parents[1] / "docs"
CHOOSE = (DOCS / "choose.md").read_text(encoding="utf-8")


def test_every_public_name_has_its_place_in_the_api():
    text = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.rst"))
    listed = set(re.findall(r"^   (\w+)$", text, flags=re.MULTILINE))
    listed |= set(re.findall(r"^\.\. auto\w+:: (?:qpsvm\.)?(\w+)(?:\(.*\))?$", text, flags=re.MULTILINE))
    assert {*qpsvm.__all__, "Playground", "patch_sklearn", "unpatch_sklearn"} - listed == set()
    assert {*qpsvm.plotting.__all__, *qpsvm.estimators.__all__} - listed == set()


def test_the_guide_names_every_picture_and_draws_it_by_the_arguments_it_gives():
    matplotlib.use("Agg")
    X, y = make_moons(40, noise=0.2, random_state=0)
    problem = qpsvm.CSVM(X, y)
    names = {"qpsvm": qpsvm, "problem": problem, "result": qpsvm.solve(problem)}
    names["ball"] = qpsvm.SVDD(X, 0.1)
    names["enclosed"] = qpsvm.solve(names["ball"])
    names["regression"] = qpsvm.EpsilonSVR(X[:, :1], X[:, 1])
    names["curve"] = qpsvm.solve(names["regression"])
    names["median"] = qpsvm.QuantileSVR(X[:, :1], X[:, 1])
    names["middle"] = qpsvm.solve(names["median"])
    names["found"] = qpsvm.cross_validate(problem, C=[0.1, 1.0], folds=2)
    guide = (DOCS / "guide" / "pictures.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)\n```", guide, flags=re.DOTALL)
    assert block is not None
    exec(block.group(1), names)
    assert re.findall(r"^qpsvm\.plotting\.(\w+)\(", block.group(1), flags=re.MULTILINE) == sorted(
        qpsvm.plotting.__all__, key=block.group(1).index
    )
    pyplot.close("all")


def test_every_machine_that_has_a_derivation_has_a_page_with_it():
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "theory").glob("*.md"))
    derived = set(re.findall(r"```{derivation}.*?problem = qpsvm\.(\w+)\(.*?```", pages, flags=re.DOTALL))
    assert {machine.__name__ for machine in STEPS} <= derived


def test_the_guide_says_when_to_take_each_machine():
    named = {name: getattr(qpsvm, name) for name in qpsvm.__all__}
    public = {name for name, kind in named.items() if inspect.isclass(kind) and issubclass(kind, Problem)} - {"Problem"}
    assert {"CSVM", "Ranking", "CrammerSinger", "WestonWatkins"} <= public
    first, _, _ = CHOOSE.partition("## Which kernel")
    assert {name for name in public if f"`{name}`" not in first} == set()


def test_each_page_says_in_its_first_line_for_whom_it_is():
    for page in (*DOCS.glob("*.md"), *(DOCS / "guide").glob("*.md"), *(DOCS / "theory").glob("*.md")):
        _, _, text = page.read_text(encoding="utf-8").partition("# ")
        assert re.match(r"[^\n]+\n\n\*For [^*]+\.\*\n\n", text), f"{page}: no line *For …* below the title"


def test_no_page_counts_machines_or_lessons():
    """A count in words is wrong with the next one."""
    number = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    pages = [DOCS / "index.md", DOCS / "choose.md", DOCS / "lessons.md", DOCS.parent / "README.md"]
    pages += [DOCS / "theory" / "one_dual.md", DOCS / "theory" / "index.md", DOCS / "guide" / "index.md"]
    counted = rf"\b({'|'.join(number)}) (machines|lessons|notebooks|solvers|backends)\b"
    for page in pages:
        assert re.findall(counted, page.read_text(encoding="utf-8"), flags=re.IGNORECASE) == [], page


def test_every_picture_is_in_the_gallery():
    scripts = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "gallery").glob("plot_*.py"))
    assert set(qpsvm.plotting.__all__) <= set(re.findall(r"qpsvm\.plotting\.(\w+)\(", scripts))


#: The columns of the table of backends.
COLUMNS = {
    "HardMargin": [qpsvm.HardMargin],
    "CSVM": [qpsvm.CSVM],
    "NuSVM": [qpsvm.NuSVM],
    "PrimalHinge": [partial(qpsvm.PrimalHinge, intercept=intercept) for intercept in ("free", "penalised", None)],
}
INTERCEPTS = ("free", "penalised", None)
#: Those of the second table.
OTHER_COLUMNS = {
    "SquaredHinge": [partial(qpsvm.SquaredHinge, intercept=intercept) for intercept in INTERCEPTS],
    "HuberHinge": [partial(qpsvm.HuberHinge, intercept=intercept) for intercept in INTERCEPTS],
    "EpsilonSVR": [partial(qpsvm.EpsilonSVR, intercept=intercept) for intercept in INTERCEPTS],
    "EpsilonSVR, squared": [partial(qpsvm.EpsilonSVR, loss="squared", intercept=intercept) for intercept in INTERCEPTS],
    "NuSVR": [qpsvm.NuSVR],
    "QuantileSVR": [partial(qpsvm.QuantileSVR, intercept=intercept) for intercept in INTERCEPTS],
    "OneClass": [lambda X, y, kernel: qpsvm.OneClass(X, kernel=kernel)],  # noqa: ARG005
    "SVDD": [lambda X, y, kernel: qpsvm.SVDD(X, kernel=kernel)],  # noqa: ARG005
    "Ranking": [qpsvm.Ranking],
}


def table_of_backends(columns: dict[str, list[Any]]) -> list[str]:
    """The rows of a table, from what each backend says of itself: copy them to the page where they differ."""
    rows = []
    for backend in iter_backends():
        can = backend.abilities
        if can.package is None:
            origin = "ours"
        elif can.package != backend.name:
            origin = can.package
        else:
            origin = ""
        notes = "; ".join(filter(None, [origin + ", textbook" * can.is_educational, size_in_words(can)]))
        cells = [forms_in_words(can, kinds) for kinds in columns.values()]
        if set(cells) == {"–"}:  # for machines of several classes only
            continue
        rows.append(" | ".join([f"| `{backend.name}`" + (f" ({notes})" if notes else ""), *cells]) + " |")
    return rows


def size_in_words(can: Abilities) -> str:
    linear, kernel = (
        max((able.max_rows for able in (*can.dual, *can.primal) if kind in able.traits), default=0)
        for kind in ("linear", "kernel")
    )
    if not kernel:
        return "linear"
    if linear == np.inf:
        return ""
    return f"{'linear ' if kernel > linear else ''}up to {linear:g} rows"


def forms_in_words(can: Abilities, kinds: list[Any]) -> str:
    """Of one machine, with any kernel that it takes; it may take it with a free intercept only, or with any other."""
    taken = {
        (kernel, problem.intercept, form)
        for kernel in ("linear", "rbf")
        for problem in [kind([[0.0], [1.0]], [0, 1], kernel=kernel) for kind in kinds]
        for form in ("dual", "primal")
        if can.accepts(find_problem_traits(problem), 2, form)
    }
    forms = [form for form in ("dual", "primal") if form in {form for *_, form in taken}]
    intercepts = {intercept for _, intercept, _ in taken} if len(kinds) > 1 else set()
    notes = ["free intercept"] * (intercepts == {"free"})
    notes += ["intercept penalised or None"] * (intercepts == {"penalised", None})
    if intercepts == set(INTERCEPTS) and {intercept for kernel, intercept, _ in taken if kernel == "linear"} == {
        "free"
    }:
        notes.append("linear with a free intercept")
    return ", ".join([*forms, *notes]) or "–"


def test_the_table_of_backends_is_what_they_say_of_themselves():
    for columns in (COLUMNS, OTHER_COLUMNS):
        heads = [f"`{name}`" if name.isidentifier() else f"`{name.split(',')[0]}`, squared" for name in columns]
        table = CHOOSE.split(f"| | {' | '.join(heads)} |\n", 1)[1].split("\n\n", 1)[0]
        assert [line for line in table.splitlines() if line.startswith("| `")] == table_of_backends(columns)
    study = [backend.name for backend in iter_backends() if backend.abilities.is_educational]
    assert study == list(REGISTRY)[-3:], "the page calls the last three textbook methods"


def samples(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, d))
    return X, np.where(X[:, 0] > 0, 1, -1)


def problems_of_the_page() -> dict[str, tuple[str, qpsvm.Problem]]:
    """What the page says of `auto`: the words, the backend, a problem of that kind."""
    few = samples(100, 5)
    return {
        "with up to 300 rows": ("kernel_newton", qpsvm.CSVM(*few)),
        "with more features than rows": ("kernel_newton", qpsvm.CSVM(*samples(60, 200))),
        "with more rows": ("augmented_lagrangian", qpsvm.CSVM(*samples(301, 5))),
        "for large C": ("augmented_lagrangian", qpsvm.CSVM(*few, C=1e6)),
        "for ν-SVMs and hard margins with many rows": ("interior_point", qpsvm.NuSVM(*samples(2000, 5))),
        "with a kernel it is": ("kernel_newton", qpsvm.CSVM(*few, kernel="rbf")),
        "for rankings of many pairs": ("interior_point", qpsvm.Ranking(*samples(100, 5), kernel="rbf")),
    }


def test_what_the_page_says_of_auto_is_what_the_table_does():
    said = " ".join(CHOOSE.split('`backend="auto"` takes', 1)[1].split("If a method does not apply", 1)[0].split())
    named = []
    for words, (backend, problem) in problems_of_the_page().items():
        assert words in said
        assert next(rank_backends(problem)).backend == backend, words
        near = re.search(rf"{re.escape(words)}.{{0,40}}?`{backend}`|`{backend}`.{{0,40}}?{re.escape(words)}", said)
        assert near, f"{backend} does not stand beside {words!r}"
        named.append(backend)
    assert set(re.findall(r"`([a-z_]+)`", said)) == set(named)


def checker() -> ModuleType:
    """`docs/links.py`."""
    spec = importlib.util.spec_from_file_location("links", DOCS / "links.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="there.html#here">x</a> <a href="https://example.org">x</a> <img src="a.png"><p id="a"></p>', None),
        (
            '<a href="#a">x</a> <a href="there.html">x</a> <a href="mailto:someone@example.org">x</a><p id="a"></p>',
            None,
        ),
        ('<a href="gone.html">x</a>', "gone.html is not there"),
        ('<a href="there.html#gone">x</a>', "no anchor 'gone'"),
        ('<a href="#gone">x</a>', "no anchor 'gone'"),
        ('<img src="gone.png">', "gone.png is not there"),
        ('<script src="https://example.org/a.js"></script>', "loads https://example.org/a.js"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "loads //example.org/a.css"),
        ('<img srcset="a.png 1x, https://example.org/a.png 2x">', "loads https://example.org/a.png"),
        ("<style>@font-face { src: url(https://example.org/a.woff) }</style>", "loads https://example.org/a.woff"),
        ("<p style=\"background: url('http://example.org/a.png')\"></p>", "loads http://example.org/a.png"),
    ],
)
def test_the_checker_of_the_site_finds(body, fault, tmp_path):
    (tmp_path / "index.html").write_text(body, encoding="utf-8")
    (tmp_path / "there.html").write_text('<h1 id="here">x</h1>', encoding="utf-8")
    (tmp_path / "a.png").write_bytes(b"")
    found = checker().find_faults(tmp_path)
    assert len(found) == (fault is not None)
    assert not found or fault in found[0]


def test_the_checker_reads_styles_too(tmp_path):
    (tmp_path / "index.html").write_text("<p>", encoding="utf-8")
    (tmp_path / "a.css").write_text("@import 'https://example.org/b.css';", encoding="utf-8")
    assert checker().find_faults(tmp_path) == ["a.css: loads https://example.org/b.css"]
    assert checker().main(str(tmp_path)) == 1
    assert checker().main(str(tmp_path / "nothing")) == 1
