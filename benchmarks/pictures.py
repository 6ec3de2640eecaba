"""The measurements as Matplotlib figures: lines in, figures out; `save_picture` writes them.

A solver has one colour, line style and marker in every picture. Pictures that compare solvers task by task draw those
that were tried on the same tasks, as many of both as there are, and say how many tasks these are.
"""

from __future__ import annotations

import math
import textwrap
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.summary import (
    BARE,
    GOAL,
    GOALS,
    OURS,
    PACKAGES,
    PEERS,
    SCIKIT_LEARN,
    Growth,
    Line,
    Profile,
    choose_common_solvers,
    compute_profile,
    find_common_tasks,
    find_times,
    fit_exponent,
    get_fact,
    get_number,
    group_lines,
    list_solvers,
    list_suites,
    measure_growths,
    name_size,
    select_runs,
    trace_progress,
)
from qpsvm.faces.plotting.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

#: Beside the colours of the library's pictures three of Tol's, *Colour Schemes* (2021), safe for the same eyes.
WINE, OLIVE, INDIGO = "#882255", "#999933", "#332288"
#: By a solver's bare name, so that `qpsvm:osqp` has the colour of `osqp`: no two of one kind are alike.
LOOKS = {
    "cvxopt": (ORANGE, "p"), "osqp": (GREEN, "v"), "cvxpy": (SKY, "h"), "augmented_lagrangian": (OLIVE, "d"),
    "interior_point": (PURPLE, "o"), "kernel_newton": (INDIGO, "H"), "libsvm": (WINE, "X"), "slsqp": (BLUE, "8"),
    "dual_ascent": (GREY, "<"), "subgradient": (VERMILION, "P"), "SVC": (PURPLE, "s"), "NuSVC": (GREY, "P"),
    "LinearSVC": (ORANGE, "^"), "liblinear": (SKY, "v"), "piqp": (BLUE, "s"), "proxqp": (WINE, "D"),
    "clarabel": (VERMILION, "^"), "scs": (SKY, "P"), "highs": (OLIVE, "X"), "qpalm": (INDIGO, "<"), "daqp": (GREY, ">"),
    "sklearnex SVC": (GREEN, "D"), "sklearnex NuSVC": (BLUE, "D"), "rehline": (VERMILION, "d"), "snapml": (OLIVE, "h"),
    "SVR": (PURPLE, "8"), "NuSVR": (GREY, "8"), "OneClassSVM": (WINE, "8"), "LinearSVR": (ORANGE, "8"),
    "sklearnex SVR": (GREEN, "8"), "sklearnex NuSVR": (BLUE, "8"),
}  # fmt: skip
#: Lines of our backends, our bare methods, public QP solvers, and libraries for samples.
BACKEND_DASHES, BARE_DASHES, QP_DASHES, LIBRARY_DASHES = (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (5, 1.5)), "-"
#: Gaps below this are rounding; a logarithmic axis has no 0.
SMALLEST = float(np.finfo(float).eps)
#: Profiles are drawn up to this multiple of the best time at most.
LARGEST_TAU = 1e3
#: The gaps at which median times are drawn.
RUNGS = tuple(float(f"1e-{k}") for k in range(1, 15))
#: Markers along a curve of a profile.
MARKS = 7
#: Of the small print under a picture.
CHARACTERS_AN_INCH = 13
DPI = 144
#: Suites that have pictures of their own, or too few tasks for a profile.
UNPROFILED = ("threads", "grids", "scaling", "textbook", "own", "estimators")


class Look:
    """Colour, line style and marker of a solver, the same wherever it is drawn."""

    def __init__(self, solver: str) -> None:
        ours = solver == OURS
        name = solver.removeprefix(f"{OURS}:")
        if ours:
            self.colour = BLACK
            self.marker = "o"
        else:
            self.colour, self.marker = LOOKS.get(name) or self._choose_look(name)
        self.dashes = "-" if ours else _choose_dashes(solver)
        self.fill = "white" if name != solver else self.colour
        self.width, self.order = (2.4, 5) if ours else (1.4, 3)

    @staticmethod
    def _choose_look(name: str) -> tuple[str, str]:
        """A look for a solver without one of its own, the same in every run."""
        return list(LOOKS.values())[zlib.crc32(name.encode()) % len(LOOKS)]

    def build_line_style(self, **more: Any) -> dict[str, Any]:
        """Arguments of `plot`."""
        look = {"color": self.colour, "linestyle": self.dashes, "linewidth": self.width, "zorder": self.order}
        marks = {"marker": self.marker, "markersize": 5, "markerfacecolor": self.fill, "markeredgewidth": 0.8}
        return {**look, **marks, **more}


def _choose_dashes(solver: str) -> Any:
    if solver.startswith(f"{OURS}:"):
        return BACKEND_DASHES
    if solver in BARE:
        return BARE_DASHES
    if solver in (*SCIKIT_LEARN, *PACKAGES, *PEERS):
        return LIBRARY_DASHES
    return QP_DASHES


def _make_panels(count: int, height: float = 4.2, width: float = 4.2, sharey: bool = True) -> tuple[Figure, list[Any]]:
    """A figure with panels side by side and room for a legend on the right."""
    figure = Figure(figsize=(width * count + 2.2, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False, sharey=sharey)[0])


def _draw_legend(figure: Figure, labels: Mapping[str, str], title: str | None = None) -> None:
    """The solvers right of all panels, in their order, each with its label."""
    handles = [Line2D([], [], **Look(solver).build_line_style(), label=label) for solver, label in labels.items()]
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize="small", handlelength=3.4,
                  title=title, title_fontsize="small", alignment="left")  # fmt: skip


def _finish_axes(ax: Any, title: str, across: str, up: str = "") -> None:
    ax.set_title(title, fontsize="medium")
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.grid(True, color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


def _note_missing_solvers(figure: Figure, runs: Sequence[Line], drawn: Sequence[str]) -> None:
    missing = [solver for solver in list_solvers(runs) if solver not in drawn]
    if missing:
        text = "not drawn, as they were not tried on all of these tasks: " + ", ".join(missing)
        wide = int(figure.get_figwidth() * CHARACTERS_AN_INCH)
        figure.supxlabel(textwrap.fill(text, wide), fontsize="small", color=GREY)


def _count_tasks(tasks: int) -> str:
    return f"{tasks} task" if tasks == 1 else f"{tasks} tasks"


# --- performance profiles ---------------------------------------------------------------------------------------------


def draw_profiles(runs: Sequence[Line]) -> Figure | None:
    """Performance profiles of one suite: a panel for each goal that somebody reached."""
    drawn = choose_common_solvers(runs)
    by_goal = {goal: compute_profile(runs, goal, drawn) for goal in GOALS}
    by_goal = {goal: profile for goal, profile in by_goal.items() if any(profile.ratios.values())}
    if not by_goal or len(drawn) < 2:
        return None
    figure, panels = _make_panels(len(by_goal))
    for ax, (goal, profile) in zip(panels, by_goal.items(), strict=True):
        _draw_profile(ax, profile)
        title = f"gap of {_format_power(goal)}, {_count_tasks(profile.tasks)}"
        _finish_axes(ax, title, "τ: times the best time", "share of tasks within τ")
        ax.label_outer()
    _draw_legend(figure, {solver: solver for solver in drawn})
    _note_missing_solvers(figure, runs, drawn)
    return figure


def _format_power(goal: float) -> str:
    return f"$10^{{{round(math.log10(goal))}}}$"


def _draw_profile(ax: Any, profile: Profile) -> None:
    furthest = max(values[-1] for values in profile.ratios.values() if values)
    end = min(LARGEST_TAU, max(2.0, 1.1 * furthest))
    for k, (solver, values) in enumerate(profile.ratios.items()):
        steps = [1.0, *(value for value in values if value <= end), end]
        shares = [profile.share_within(solver, tau) for tau in steps]
        ax.plot(
            steps,
            shares,
            drawstyle="steps-post",
            **Look(solver).build_line_style(markersize=4.5, markevery=_choose_markers(k, steps)),
        )
    ax.set_xscale("log")
    ax.set_xlim(1.0, end)
    ax.set_ylim(-0.02, 1.03)


def _choose_markers(k: int, steps: Sequence[float]) -> list[int]:
    """Choose the points of the k-th curve that have a marker, staggered between neighbouring curves."""
    every = max(1, len(steps) // MARKS)
    return sorted({*range(k % every, len(steps), every), len(steps) - 1})


# --- time against gap -------------------------------------------------------------------------------------------------


def draw_times_and_gaps(runs: Sequence[Line]) -> Figure | None:
    """Every run of one suite as a point (seconds, gap), and for each solver the median time to each gap."""
    drawn = choose_common_solvers(runs)
    tasks = find_common_tasks(runs, drawn)
    shown = [run for run in runs if run["solver"] in drawn and run["task"] in tasks]
    if len(drawn) < 2 or not any(get_number(run, "gap") is not None and get_number(run, "seconds") for run in shown):
        return None
    figure, (ax,) = _make_panels(1, 5.4, 7.0)
    for solver, lines in group_lines(shown, lambda run: run["solver"]).items():
        look = Look(solver)
        points = [(s, max(g, SMALLEST)) for s, g in _collect_points(lines)]
        ax.scatter(*np.array(points).reshape(-1, 2).T, s=9, color=look.colour, marker=look.marker, alpha=0.22,
                   linewidths=0, zorder=2, rasterized=True)  # fmt: skip
        ax.plot(*_compute_median_times(lines), **look.build_line_style())
    ax.set_xscale("log")
    ax.set_yscale("log")
    _finish_axes(
        ax, f"median time to each gap over {_count_tasks(len(tasks))}, and all runs", "seconds", "certified gap"
    )
    _draw_legend(figure, {solver: solver for solver in drawn})
    _note_missing_solvers(figure, runs, drawn)
    return figure


def _collect_points(runs: Iterable[Line]) -> list[tuple[float, float]]:
    pairs = [(get_number(run, "seconds"), get_number(run, "gap")) for run in runs]
    return [(seconds, gap) for seconds, gap in pairs if seconds is not None and seconds > 0 and gap is not None]


def _compute_median_times(runs: Sequence[Line]) -> tuple[list[float], list[float]]:
    """Median seconds to each rung, as far as more than half of the tasks got."""
    middle = [(median(find_times(runs, rung).values()), rung) for rung in RUNGS]
    reached = [(seconds, rung) for seconds, rung in middle if math.isfinite(seconds)]
    return [seconds for seconds, _ in reached], [rung for _, rung in reached]


# --- scaling ----------------------------------------------------------------------------------------------------------


def draw_scaling(lines: Iterable[Line]) -> dict[str, Figure]:
    """Time and memory against the size, one figure a sweep, with fitted exponents in the legend."""
    found = measure_growths(select_runs(lines, "scaling"))
    sweeps = dict.fromkeys(growth.sweep for growth in found)
    return {sweep: _draw_sweep(sweep, [growth for growth in found if growth.sweep == sweep]) for sweep in sweeps}


def _draw_sweep(sweep: str, found: Sequence[Growth]) -> Figure:
    figure, panels = _make_panels(2, sharey=False)
    name = name_size(sweep)
    for growth in found:
        for ax, values in zip(panels, (growth.seconds, [_to_mebibytes(value) for value in growth.bytes]), strict=True):
            ax.plot(growth.sizes, [value or math.nan for value in values], **Look(growth.solver).build_line_style())
    for ax, title, unit in zip(
        panels, (f"time to a gap of {_format_power(GOAL)}", "peak memory"), ("s", "MiB"), strict=True
    ):
        ax.set_xscale("log")
        ax.set_yscale("log")
        _finish_axes(ax, title, f"rows {name}" if name == "n" else f"columns {name}", unit)
    figure.suptitle(sweep)
    _draw_legend(figure, {growth.solver: _format_slopes(growth, name) for growth in found}, "time, memory grow as")
    return figure


def _to_mebibytes(value: float | None) -> float | None:
    return None if value is None else value / 2**20


def _format_slopes(growth: Growth, name: str) -> str:
    """The solver with the exponents of its time and its memory."""
    powers = [fit_exponent(growth.sizes, values)[0] for values in (growth.seconds, growth.bytes)]
    time, memory = (f"${name}^{{{power:.2f}}}$" if math.isfinite(power) else "–" for power in powers)
    return f"{growth.solver}: {time}, {memory}"


# --- textbook methods -------------------------------------------------------------------------------------------------


def draw_textbook(lines: Iterable[Line]) -> Figure | None:
    """Best gap so far against time, a panel for each data set."""
    runs = select_runs(lines, "textbook")
    by_data = {
        data: of for data, of in group_lines(runs, lambda run: get_fact(run, "data")).items() if _collect_points(of)
    }
    if not by_data:
        return None
    figure, panels = _make_panels(len(by_data), width=3.8)
    for ax, (data, of) in zip(panels, by_data.items(), strict=True):
        for (_, solver), path in trace_progress(of).items():
            steps = [(seconds, max(gap, SMALLEST)) for seconds, gap in path if seconds > 0]
            ax.plot(*np.array(steps).reshape(-1, 2).T, **Look(solver).build_line_style())
        ax.set_xscale("log")
        ax.set_yscale("log")
        _finish_axes(ax, str(data), "seconds", "best certified gap so far")
        ax.label_outer()
    _draw_legend(figure, {solver: solver for solver in list_solvers(runs)})
    return figure


# --- all of them ------------------------------------------------------------------------------------------------------


def draw_pictures(lines: Iterable[Line]) -> dict[str, Figure]:
    """Every picture that the lines give, by the name of its file."""
    lines = list(lines)
    found: dict[str, Figure | None] = {}
    for suite in list_suites(lines):
        if suite not in UNPROFILED:
            for part, runs in _split_by_intercept(select_runs(lines, suite)).items():
                name = _make_file_name(f"{suite} {part}")
                found |= {f"profiles_{name}": draw_profiles(runs), f"gaps_{name}": draw_times_and_gaps(runs)}
    found |= {f"scaling_{_make_file_name(sweep)}": figure for sweep, figure in draw_scaling(lines).items()}
    found["textbook"] = draw_textbook(lines)
    return {name: figure for name, figure in found.items() if figure is not None}


def _split_by_intercept(runs: Sequence[Line]) -> dict[str, list[Line]]:
    """The lines of a suite by their kind of intercept, for few solvers take every kind."""
    parts = group_lines(runs, lambda run: get_fact(run, "intercept"))
    return {f"{part} intercept" if part is not None and len(parts) > 1 else "": of for part, of in parts.items()}


def _make_file_name(text: str) -> str:
    return "_".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


def save_picture(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG, the same bytes whenever it is the same picture."""
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    with mpl.rc_context({"svg.hashsalt": "qpsvm"}):
        figure.savefig(paths[0], dpi=DPI, metadata={"Software": None})
        figure.set_layout_engine("none")  # what has its place keeps it: finding places takes half of the time
        figure.savefig(paths[1], dpi=DPI, metadata={"Date": None, "Creator": None})
    return paths
