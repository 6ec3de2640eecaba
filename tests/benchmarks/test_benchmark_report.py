"""The report on the benchmarks: answers known by hand from a few lines, and a page with tables and pictures."""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import pytest

from benchmarks import details, pictures, summary, tables
from benchmarks import lines as record_of
from benchmarks.report import NO_MEASUREMENTS, SECTIONS, TABLES, fill_tables, write_report
from benchmarks.summary import GOALS, SOLVERS, Profile, compute_profile, compute_shifted_mean
from qpsvm.base.errors import FileFormatError, UnknownOptionError

mpl.use("Agg")


def run(task: str, solver: str, seconds: float | None, gap: float | None, **more: Any) -> dict[str, Any]:
    """A run line, with as few facts as the schema allows."""
    line = {"kind": "run", "suite": "osqp", "task": task, "solver": solver, "seconds": seconds, "gap": gap}
    return {**line, "tol": 1e-6, "outcome": "ran", "facts": {}, **more}


MACHINE = {
    "kind": "machine", "id": "3f9a", "date": "2026-11-21T17:00:00+00:00", "cpu": "some | thing", "cores": 2,
    "memory_gib": 23.5, "os": "Linux", "python": "3.11.7", "threads": 1, "commit": "12f8aaf",
    "versions": {"qpsvm": "0.1.0", "piqp": "0.7.0"},
}  # fmt: skip
#: Two tasks that somebody solved, one that nobody did; SVC does not apply to the second.
THREE = [
    run("a", "qpsvm", 0.09, 1e-7),
    run("b", "qpsvm", 0.39, 1e-7),
    run("c", "qpsvm", 1.0, 1e-2),
    run("a", "piqp", 0.01, 1e-4, tol=1e-3),
    run("a", "piqp", 0.19, 1e-6),
    run("a", "piqp", 0.50, 1e-8),
    run("b", "piqp", 3.5, None, outcome="limit", limit=3.99),
    run("c", "piqp", None, None, outcome="error"),
    run("a", "SVC", 0.04, 5e-7),
]


# --- one task -----------------------------------------------------------------------------------------------------


def test_time_to_a_gap_is_the_least_of_the_runs_that_got_there():
    found = summary.find_times(THREE, 1e-6)
    assert found["a", "piqp"] == 0.19
    assert found["b", "piqp"] == math.inf
    assert found["c", "qpsvm"] == math.inf
    assert ("b", "SVC") not in found
    assert summary.find_times(THREE, 1e-3)["a", "piqp"] == 0.01
    assert summary.find_times(THREE, 1e-8)["a", "piqp"] == 0.50


def test_a_quick_tight_run_counts_for_looser_goals():
    lines = [run("a", "osqp", 0.5, 1e-4, tol=1e-3), run("a", "osqp", 0.1, 1e-9)]
    assert summary.find_times(lines, 1e-3) == {("a", "osqp"): 0.1}


def test_best_gap_and_memory():
    assert summary.find_best_gaps(THREE)["a", "piqp"] == 1e-8
    assert summary.find_best_gaps(THREE)["b", "piqp"] == math.inf
    lines = [run("a", "scs", 1, 1e-3, memory=5.0), run("a", "scs", 1, 1e-6, memory=7.0), run("b", "scs", 1, 1e-6)]
    late = run("a", "scs", 9, None, memory=99.0, outcome="limit")
    assert summary.find_peak_memories([*lines, late]) == {("a", "scs"): 7.0}


def test_progress_never_gets_worse():
    lines = [run("a", "slsqp", s, g) for s, g in ((3.0, 1e-3), (1.0, 1e-1), (2.0, 0.5), (4.0, None))]
    assert summary.trace_progress(lines) == {("a", "slsqp"): [(1.0, 0.1), (2.0, 0.1), (3.0, 1e-3)]}


# --- all tasks ----------------------------------------------------------------------------------------------------


def test_shifted_geometric_mean_by_hand():
    assert compute_shifted_mean([0.09, 0.39]) == pytest.approx(0.19)  # √(0.1 · 0.4) − 0.01
    assert compute_shifted_mean([3.0, 15.0], shift=1.0) == pytest.approx(7.0)
    assert compute_shifted_mean([2.5]) == pytest.approx(2.5)
    assert compute_shifted_mean([0.0, 0.0]) == pytest.approx(0.0, abs=1e-15)
    assert math.isnan(compute_shifted_mean([]))


def test_a_failure_counts_with_the_limit_and_what_does_not_apply_does_not():
    ours, svc, piqp = summary.compare_solvers(THREE, 1e-6)
    assert summary.find_failure_seconds(THREE) == 3.99
    assert (ours.solver, ours.tried, ours.reached) == ("qpsvm", 2, 2)
    assert ours.mean == pytest.approx(0.19)
    assert ours.ratio == pytest.approx(1.0)
    assert (piqp.solver, piqp.tried, piqp.reached, piqp.common) == ("piqp", 2, 1, 2)
    assert piqp.mean == pytest.approx(math.sqrt(0.2 * 4.0) - 0.01)
    assert piqp.ratio == pytest.approx(piqp.mean / 0.19)
    assert (svc.solver, svc.tried, svc.reached, svc.common) == ("SVC", 1, 1, 1)
    assert svc.ratio == pytest.approx(0.04 / 0.09)  # on the one task that both were tried on


def test_without_a_limit_a_failure_counts_with_the_largest_time():
    lines = [run("a", "qpsvm", 0.2, 1e-9), run("a", "scs", 7.0, 1e-2), run("a", "daqp", None, None, outcome="crash")]
    assert summary.find_failure_seconds(lines) == 7.0
    assert [one.mean for one in summary.compare_solvers(lines, 1e-6)] == pytest.approx([0.2, 7.0, 7.0])


def test_the_limit_is_what_a_failure_counts_even_if_others_took_longer():
    lines = [run("a", "qpsvm", 12.0, 1e-9, limit=10.0), run("b", "osqp", 9.0, 1e-2, outcome="limit", limit=10.0)]
    assert summary.find_failure_seconds(lines) == 10.0


def test_without_ours_there_is_no_ratio():
    (one,) = summary.compare_solvers([run("a", "scs", 1.0, 1e-9)], 1e-6)
    assert one.common == 0
    assert math.isnan(one.ratio)


def test_performance_profile_by_hand():
    lines = [
        *(run(task, "qpsvm", seconds, 1e-9) for task, seconds in (("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 1.0))),
        *(run(task, "piqp", seconds, 1e-9) for task, seconds in (("a", 2.0), ("b", 1.0), ("c", 3.0))),
        run("d", "piqp", 9.0, 1e-2),
        run("e", "qpsvm", 1.0, 1e-9),
    ]
    profile = compute_profile(lines, 1e-6)
    assert profile.tasks == 4
    assert profile.ratios == {"qpsvm": [1.0, 1.0, 1.0, 2.0], "piqp": [1.0, 1.0, 2.0]}
    assert [profile.share_within("piqp", tau) for tau in (0.9, 1.0, 1.9, 2.0, 1e9)] == [0.0, 0.5, 0.5, 0.75, 0.75]
    assert compute_profile(lines, 1e-6, ["qpsvm"]).tasks == 5
    assert compute_profile(lines, 1e-6, ["piqp"]).ratios == {"piqp": [1.0, 1.0, 1.0]}


def test_a_task_that_nobody_solved_lowers_every_profile():
    profile = compute_profile(THREE, 1e-6, ["qpsvm", "piqp"])
    assert profile == Profile(3, {"qpsvm": [1.0, 1.0], "piqp": [pytest.approx(0.19 / 0.09)]})


def test_the_widest_comparison_leaves_out_who_was_tried_on_little():
    lines = [run(str(k), solver, 1.0, 1e-9) for k in range(6) for solver in ("qpsvm", "piqp", "scs")]
    lines += [run("0", "SVC", 1.0, 1e-9), run("other", "liblinear", 1.0, 1e-9)]
    assert summary.choose_common_solvers(lines) == ["qpsvm", "piqp", "scs"]
    assert summary.choose_common_solvers([]) == []
    lines = [run(str(k), "qpsvm", 1.0, 1e-9) for k in range(6)] + [run(str(k), "SVC", 1.0, 1e-9) for k in range(3)]
    assert summary.choose_common_solvers(lines) == ["qpsvm", "SVC"]  # 2 × 3 is as wide as 1 × 6, and compares


def test_claims_by_hand():
    lines = [
        run("a", "scs", 1, 1e-7, claimed=True),
        run("b", "scs", 1, 5e-6, claimed=True),
        run("c", "scs", 1, 1e-4, claimed=True),
        run("d", "scs", 1, 1.0, claimed=False),
        run("a", "scs", 1, 1e-3, tol=1e-3, claimed=True),
        run("e", "daqp", 1, None, claimed=True),
        run("f", "daqp", None, None, outcome="error"),
        run("g", "slsqp", 1, 1.0, tol=None, max_iter=10, claimed=True),
    ]
    found = summary.count_claims(lines)
    assert list(found) == ["scs", "daqp"]
    scs, daqp = found["scs"], found["daqp"]
    assert (scs.runs, scs.claimed, scs.true, scs.near) == (5, 4, 2, 3)
    assert scs.worst == pytest.approx(100.0)
    assert {tol: (part.claimed, part.true) for tol, part in scs.by_tolerance.items()} == {1e-3: (1, 1), 1e-6: (3, 1)}
    assert (daqp.runs, daqp.claimed, daqp.true, daqp.worst) == (2, 1, 0, math.inf)


def test_ten_times_the_tolerance_is_near():
    found = summary.count_claims([run("a", "scs", 1, gap, tol=1.0, claimed=True) for gap in (1.0, 10.0, 10.5)])
    assert (found["scs"].true, found["scs"].near) == (1, 2)


def test_exponent_by_hand():
    assert summary.fit_exponent([1, 10, 100], [5.0, 500.0, 50000.0]) == (pytest.approx(2.0), 3)
    assert summary.fit_exponent([1, 10, 100, 1000], [2.0, None, 200.0, math.inf]) == (pytest.approx(1.0), 2)
    power, count = summary.fit_exponent([10, 10, 20], [1.0, 2.0, 0.0])
    assert (math.isnan(power), count) == (True, 2)


def test_growth_keeps_other_machines_and_failures_apart():
    def make(n: int, intercept: str, seconds: float, gap: float | None) -> dict[str, Any]:
        facts = {"sweep": "rows, linear", "n": n, "d": 34, "intercept": intercept}
        return run(f"{n} {intercept}", "qpsvm", seconds, gap, suite="scaling", facts=facts, memory=8.0 * n)

    lines = [make(10, "free", 1.0, 1e-7), make(100, "free", 10.0, 1e-7), make(1000, "free", 30.0, None)]
    lines.append(make(10, "penalised", 99.0, 1e-7))
    free, penalised = summary.measure_growths(lines)
    assert (free.sweep, free.sizes, free.seconds) == ("rows, linear", [10.0, 100.0, 1000.0], [1.0, 10.0, None])
    assert free.largest == 100.0
    assert penalised.sweep == "rows, linear, penalised intercept"
    assert "n^1.00 (2)" in tables.build_scaling_table(lines)
    assert "n^1.00 (3)" in tables.build_scaling_table(lines)


def test_a_sweep_over_columns_grows_in_d():
    lines = [
        run(str(d), "qpsvm", d / 10, 1e-9, suite="scaling", facts={"sweep": "columns, linear", "n": 3000, "d": d})
        for d in (10, 100)
    ]
    assert [growth.sizes for growth in summary.measure_growths(lines)] == [[10.0, 100.0]]
    assert "d = 10 to 100" in tables.build_scaling_table(lines)


# --- text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(61234.0, "61200"), (3.0666, "3.07"), (0.0012345, "0.00123"), (9.999, "10.0"), (0.0, "0"), (math.inf, "–")],
)
def test_digits(value, text):
    assert tables.format_digits(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-6, "1e-6"),
        (1e-3, "1e-3"),
        (1.2e-6, "2e-6"),
        (9.5e-7, "1e-6"),
        (0.0, "0"),
        (math.inf, "no point"),
        (1.0, "1e0"),
    ],
)
def test_a_gap_is_rounded_up(value, text):
    assert tables.format_gap(value) == text


def test_only_what_is_exact_is_all_or_nothing():
    shares = [tables.format_share(*pair) for pair in ((3, 3), (0, 3), (9999, 10000), (1, 10000), (1, 3), (0, 0))]
    assert shares == ["100 %", "0 %", "99.9 %", "0.1 %", "33.3 %", "–"]


def test_columns_are_aligned_and_bars_are_escaped():
    rows = tables.format_table(["name", "s"], [["a|b", "1.0"], ["c", "10.0"]]).splitlines()
    assert rows == [r"| name |    s |", r"| ---- | ---: |", r"| a\|b |  1.0 |", r"| c    | 10.0 |"]


def cells(table: str) -> list[list[str]]:
    """The cells of a Markdown table without its rule."""
    rows = [[cell.strip() for cell in row.strip("|").split(" |")] for row in table.splitlines()]
    return [rows[0], *rows[2:]]


def test_variants_show_time_gap_in_brackets_and_what_does_not_apply():
    def make(
        solver: str, variant: str, seconds: float | None, gap: float | None, outcome: str = "ran"
    ) -> dict[str, Any]:
        facts = {"variant": variant, "kernel": "rbf", "n": 100}
        return run(f"{variant}, rbf", solver, seconds, gap, suite="variants", facts=facts, outcome=outcome)

    lines = [make("qpsvm", "c", 0.002, 1e-9), make("qpsvm:osqp", "c", 0.001, 2e-4), make("qpsvm", "hard", 0.003, 1e-9),
             make("qpsvm:slsqp", "c", None, None, "limit"), make("qpsvm:slsqp", "hard", 0.001, 1e-9),
             make("piqp", "c", 0.001, 1e-9)]  # fmt: skip
    header, hard, soft = cells(tables.build_variants_table(lines))  # without the facts that no task has
    assert header == ["variant", "kernel", "n", "qpsvm, ms", "osqp, ms", "slsqp, ms"]
    assert hard == ["hard", "rbf", "100", "3.00", "–", "**1.00**"]
    assert soft == ["c", "rbf", "100", "**2.00**", "[2e-4]", "[limit]"]
    assert cells(tables.build_variants_solvers_table(lines))[2] == ["c", "rbf", "100", "2.00", "**1.00**"]


def test_data_sets_show_the_fastest_of_a_group_with_its_name():
    facts = {"data": "a9a", "n": 32561, "d": 123, "C": 1.0, "scaling": "raw", "intercept": "free"}
    lines = [
        run("t", solver, seconds, gap, suite="linear", facts=facts)
        for solver, seconds, gap in (
            ("qpsvm", 2.0, 1e-8), ("piqp", 3.0, 1e-4), ("piqp", 5.0, 1e-7), ("osqp", 2.5, 1e-4), ("SVC", 9.0, 1e-2),
        )
    ]  # fmt: skip
    header, row = cells(tables.build_linear_table(lines))
    assert header == ["data (n × d)", "setting", "qpsvm, s", "scikit-learn, s", "public QP solvers, s"]
    setting = "raw, C = 1, intercept free"
    assert row == ["a9a (32561 × 123)", setting, "**2.00**", "SVC: [1e-2]", "piqp: 3.00 / 5.00, 2.5 ×"]


def test_seeds_count_with_their_median_and_partial_failures_are_said():
    facts = {"class": "OSQP", "n_features": 10, "n": 1000}
    lines = [run(f"s{k}", "qpsvm", 1.0 + k, 1e-9, facts={**facts, "seed": k}) for k in range(3)]
    lines += [run(f"s{k}", "scs", 4.0, 1e-9 if k else 1e-2, facts={**facts, "seed": k}) for k in range(3)]
    assert cells(tables.build_osqp_table(lines))[1] == ["OSQP", "10", "1000", "**2.00**", "4.00 (2/3), 2.0 ×"]
    quick = [{**line, "seconds": 1.0} if line["solver"] == "scs" else line for line in lines]
    assert cells(tables.build_osqp_table(quick))[1][3:] == [
        "**2.00**",
        "1.00 (2/3), 0.50 ×",
    ]  # not the fastest: it failed once


def test_textbook_shows_what_was_known_when():
    lines = [
        run("moons", "slsqp", seconds, gap, suite="textbook", facts={"data": "moons"}, tol=None, max_iter=k)
        for k, (seconds, gap) in enumerate(((0.02, 0.5), (1.0, 1e-3), (2.0, 1e-2)))
    ]
    header, row = cells(tables.build_textbook_table(lines))
    assert header[2:] == ["at 0.1 s", "at 1 s", "at 10 s", "best gap", "after, s"]
    assert row == ["moons", "slsqp", "5e-1", "1e-3", "1e-3", "1e-3", "1.00"]


def test_machine_of_several_sessions_is_one_column():
    later = {**MACHINE, "id": "other", "date": "2026-11-23T01:00:00+00:00"}
    table = tables.build_machine_table([MACHINE, later])
    assert "2026-11-21 to 2026-11-23" in table
    assert r"some \| thing" in table
    assert len(cells(table)[0]) == 2
    assert len(cells(tables.build_machine_table([MACHINE, {**later, "commit": "new"}]))[0]) == 3


@pytest.mark.parametrize("name", TABLES)
def test_every_table_takes_what_is_missing(name):
    bare = [{"kind": "run", "suite": suite, "task": "t", "solver": "qpsvm"} for suite in (*summary.SUITES, "new")]
    ended = [
        run("t", "piqp", seconds, None, suite=suite, outcome=outcome, facts=None, tol=tol, claimed=None, memory=None)
        for suite in summary.SUITES
        for outcome, seconds, tol in (
            ("limit", 9.0, 1e-3),
            ("error", None, None),
            ("crash", None, 1e-6),
            ("memory", 0.0, 1e-9),
        )
    ]
    good = [run("t", "a new solver", 0.0, -1e-17, suite=suite, memory=0.0, claimed=True) for suite in summary.SUITES]
    other = [{"kind": "done", "suite": "osqp", "task": "t", "solver": "qpsvm"}, {"kind": "machine"}]
    for lines in ([], bare, ended, good, [*bare, *ended, *good, *other]):
        assert isinstance(TABLES[name](lines), str)
    assert TABLES[name]([]) == ""


def test_pictures_take_what_is_missing():
    assert pictures.draw_pictures([]) == {}
    lines = [run("t", solver, None, None, suite=suite) for solver in SOLVERS for suite in summary.SUITES]
    assert pictures.draw_pictures(lines) == {}


def test_solvers_stand_in_their_order():
    names = ["cvxopt", "zzz", "SVC", "qpsvm:osqp", "qpsvm", "aaa"]
    assert summary.list_solvers([run("t", name, 1, 1) for name in names]) == [
        "qpsvm", "qpsvm:osqp", "SVC", "cvxopt", "aaa", "zzz",
    ]  # fmt: skip


def test_solvers_look_different_and_always_the_same():
    looks = {(look.colour, str(look.dashes), look.marker, look.fill) for look in map(pictures.Look, SOLVERS)}
    assert len(looks) == len(SOLVERS)
    assert vars(pictures.Look("a new solver")) == vars(pictures.Look("a new solver"))


# --- page ---------------------------------------------------------------------------------------------------------


def make_all_runs() -> list[dict[str, Any]]:
    """Make a few lines of every suite: four solvers, three tasks, three tolerances."""
    facts: dict[str, Any] = {"variant": "c", "kernel": "rbf", "class": "OSQP", "n_features": 10, "data": "a9a",
                             "C": 1.0, "scaling": "raw", "sweep": "rows, linear", "d": 5}  # fmt: skip
    return [
        run(f"t{k}", solver, 0.01 * speed * (k + 1) * (step + 1), goal / 2, suite=suite, tol=goal, claimed=True,
            memory=1e6 * (k + 1), facts={**facts, "n": 100 * 10**k}, engine="band", proven_gap=goal, refuted_gap=0.0)
        for suite in summary.SUITES
        for k in range(3)
        for speed, solver in enumerate(("piqp", "qpsvm", "qpsvm:osqp", "SVC"), 1)
        for step, goal in enumerate(GOALS)
    ]  # fmt: skip


@pytest.mark.slow
def test_the_page_holds_every_table_and_pictures_that_exist(tmp_path, monkeypatch):
    render = pictures.Figure.savefig

    def render_once(figure, path, **options):
        """Render each as SVG: the PNG beside it is the same figure, and takes as long again."""
        if path.suffix == ".png":
            path.write_bytes(b"\x89PNG\r\n\x1a\n")
        else:
            render(figure, path, **options)

    monkeypatch.setattr(pictures.Figure, "savefig", render_once)
    before = mpl.rcParams.copy()
    page = write_report(make_all_runs(), [MACHINE], tmp_path / "new" / "folder").read_text(encoding="utf-8")
    assert [heading for heading, _ in SECTIONS.values() if f"## {heading}\n" not in page] == []
    drawn = sorted(path.name for path in (tmp_path / "new" / "folder").glob("*.[ps][nv]g"))
    assert len(drawn) == 24
    for name in drawn:
        assert f"({name})" in page
        start = (tmp_path / "new" / "folder" / name).read_bytes()[:8]
        assert start == b"\x89PNG\r\n\x1a\n" if name.endswith("png") else start.startswith(b"<?xml")
    assert mpl.rcParams == before


@pytest.mark.slow
def test_a_suite_without_lines_is_left_out(tmp_path):
    lines = [line for line in make_all_runs() if line["suite"] == "textbook"]
    page = write_report(lines, [], tmp_path).read_text(encoding="utf-8")
    assert "## Textbook methods" in page
    assert "## Machine" not in page
    assert "## Growth" not in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.md", "textbook.png", "textbook.svg"]


@pytest.mark.slow
def test_the_same_lines_give_the_same_files(tmp_path):
    lines = [line for line in make_all_runs() if line["suite"] == "textbook"]
    for name in ("one", "two"):
        write_report(lines, [MACHINE], tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_fill_makes_marked_tables_anew_and_leaves_the_rest(tmp_path):
    path = tmp_path / "RESULTS.md"
    path.write_text("# Ours\n<!-- table: osqp -->\nold\n<!-- end -->\nbetween\n<!--table: machine--><!--end-->\nlast\n")
    assert fill_tables(path, make_all_runs(), [MACHINE]) == ["osqp", "machine"]
    once = path.read_text(encoding="utf-8")
    assert "old" not in once
    assert tables.build_osqp_table(make_all_runs()) in once
    assert tables.build_machine_table([MACHINE]) in once
    assert once.startswith("# Ours\n<!-- table: osqp -->\n")
    assert once.endswith("<!--end-->\nlast\n")
    assert "<!-- end -->\nbetween\n" in once
    fill_tables(path, make_all_runs(), [MACHINE])
    assert path.read_text(encoding="utf-8") == once
    fill_tables(path, [])
    assert path.read_text(encoding="utf-8").count(NO_MEASUREMENTS) == 2


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("<!-- table: variant -->\n<!-- end -->", UnknownOptionError, "did you mean 'variants'"),
        ("<!-- table: osqp -->\n<!-- table: rbf -->\n<!-- end -->", FileFormatError, "'osqp' has no end"),
        ("<!-- table: osqp -->\nand so on", FileFormatError, "'osqp' has no end"),
    ],
)
def test_fill_refuses_what_it_cannot_do_and_writes_nothing(tmp_path, text, error, words):
    path = tmp_path / "RESULTS.md"
    path.write_text(text)
    with pytest.raises(error, match=words):
        fill_tables(path, make_all_runs())
    assert path.read_text() == text


def test_races_are_against_the_fastest_of_all_others():
    """Not against our own backends; a task that nobody brought to the gap decides nothing."""
    lines = [
        run("a", "qpsvm", 0.2, 1e-7), run("a", "piqp", 0.4, 1e-7), run("a", "SVC", 0.1, 1e-7),
        run("a", "qpsvm@all", 0.01, 1e-7), run("a", "SVC@all", 0.01, 1e-7),
        run("a", "qpsvm:osqp", 0.01, 1e-7), run("a", "interior_point", 0.01, 1e-7),
        run("b", "qpsvm", 0.2, 1e-7), run("b", "piqp", 0.1, 1e-2),
        run("c", "qpsvm", 0.2, 1e-2), run("c", "piqp", 0.1, 1e-7),
        run("d", "qpsvm", 0.2, 1e-2), run("d", "piqp", 0.1, 1e-2),
        run("e", "qpsvm", 0.2, 1e-7),
    ]  # fmt: skip
    races = {race.task: race for race in summary.list_races(lines, 1e-6)}
    assert set(races) == {"a", "b", "c", "d"}
    assert (races["a"].solver, races["a"].slower) == ("SVC", 2.0)
    assert races["b"].slower == 0.0
    assert races["c"].slower == math.inf
    assert math.isnan(races["d"].slower)
    table = tables.TABLES["losses"](lines)
    assert [row.split("|")[2].strip() for row in table.splitlines()[2:]] == ["c", "a"]
    assert tables.TABLES["fastest"](lines).splitlines()[2].split("|")[3].strip() == "1/3"


# --- what means hide ----------------------------------------------------------------------------------------------


def test_engines_are_counted_by_the_run_that_was_first():
    lines = [
        run("a", "qpsvm", 0.3, 1e-4, tol=1e-3, engine="early"), run("a", "qpsvm", 0.4, 1e-8, engine="band"),
        run("b", "qpsvm", 0.1, 1e-7, engine="gram"), run("b", "qpsvm", 0.2, 1e-9, tol=1e-9, engine="band"),
        run("c", "qpsvm", 0.5, 1e-7, engine="band"), run("d", "qpsvm", 9.0, 1e-2, engine="never"),
        run("e", "qpsvm", 9.0, 1e-7, engine=None), run("b", "SVC", 0.1, 1e-7, engine=None),
    ]  # fmt: skip
    rows = [
        [part.strip() for part in row.split("|")[1:-1]] for row in details.build_engines_table(lines).splitlines()[2:]
    ]
    assert rows == [["osqp", "band", "2", "3", "450", "90.0 %"], ["osqp", "gram", "1", "3", "100", "10.0 %"]]


def test_silence_is_a_limit_without_a_warning_or_a_claim_that_is_wrong():
    """Whoever warned, or was not asked for so much, or was ended by the clock, is not silent."""
    lines = [
        run("a", "s", 1.0, 1e-7, claimed=True, exhausted=True, warned=False),
        run("b", "s", 1.0, 1e-2, claimed=False, exhausted=True, warned=True),
        run("c", "s", 1.0, 2e-3, claimed=True, exhausted=False),
        run("d", "s", 1.0, 5e-4, claimed=True, exhausted=False),
        run("e", "s", 1.0, 1e-1, claimed=True, exhausted=True, warned=False),
        run("f", "s", 1.0, 1e-1, claimed=True, tol=1e-2),
        run("g", "s", 9.0, None, claimed=False, outcome="limit"),
        run("a", "old", 1.0, None, claimed=True), run("b", "old", 1.0, 1e-2, claimed=False),
    ]  # fmt: skip
    found = details.count_silent_failures(lines)
    assert found["s"] == details.SilentFailures(5, exhausted=3, unwarned=2, missed=2, silent=3, worst=1e-1)
    assert found["old"] == details.SilentFailures(2, exhausted=0, unwarned=0, missed=1, silent=1, worst=math.inf)
    assert "3 (60.0 %)" in details.build_silent_table(lines)


def test_default_threads_stand_beside_one_thread():
    facts = {"data": "clouds", "n": 5000, "kernel": "rbf", "C": 1.0}
    lines = [
        run("t", solver, seconds, 1e-8, suite="threads", facts=facts)
        for solver, seconds in (("qpsvm", 0.4), ("qpsvm@all", 0.2), ("sklearnex SVC", 0.6), ("sklearnex SVC@all", 0.5))
    ]
    row = [part.strip() for part in details.build_threads_table(lines).splitlines()[4].split("|")[1:-1]]
    absent = tables.ABSENT
    assert row == ["clouds, 5000 rows, rbf, C = 1", "200", "400", "0.50 ×", "500", "600", "0.83 ×", absent,
                   "2.5 ×", "1.5 ×"]  # fmt: skip


def test_records_are_joined_and_the_later_one_counts(tmp_path):
    def record(name: str, cpu: str, *runs: dict[str, Any]) -> Any:
        path = tmp_path / name
        record_of.append(path, {**MACHINE, "id": name, "cpu": cpu})
        for line in runs:
            record_of.append(path, {"kind": "begin", **{key: line[key] for key in ("suite", "task", "solver")}})
            record_of.append(path, {**line, "machine": name})
        return path

    old = record("old", "first", run("a", "qpsvm", 9.0, 1e-7), run("a", "SVC", 2.0, 1e-7), run("b", "SVC", 3.0, 1e-7))
    new = record("new", "second", run("a", "qpsvm", 1.0, 1e-7), run("b", "SVC", 1.0, 1e-7))
    packed = tmp_path / "both.jsonl.xz"
    assert record_of.join_records([old, new], packed) == 3
    found = {(line["task"], line["solver"]): line["seconds"] for line in record_of.read_runs([packed])}
    assert found == {("a", "qpsvm"): 1.0, ("a", "SVC"): 2.0, ("b", "SVC"): 1.0}
    assert record_of.group_processors(record_of.read_runs([packed]), record_of.read_machines([packed])) == {
        "osqp": {"first", "second"}
    }
    assert record_of.join_records([packed, new], packed) == 3  # again, and into itself
    assert record_of.join_records([old, new], packed, ["osqp"]) == 2
    assert [machine["id"] for machine in record_of.read_machines([packed])] == ["new"]
