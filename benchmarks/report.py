"""The report on a record of measurements: a Markdown page with tables and pictures, made from the lines alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks import details, estimator_tables, tables
from benchmarks.pictures import draw_pictures, save_picture
from benchmarks.summary import SHIFT, Line
from qpsvm.base.errors import FileFormatError, UnknownOptionError, describe_nearest

#: Every table by name.
TABLES = {**tables.TABLES, **details.TABLES, **estimator_tables.TABLES}
#: Every table of the page in order: its heading, and what it is and how it is computed.
SECTIONS: dict[str, tuple[str, str]] = {
    "threads": (
        "By the clock on the wall",
        "Seconds that a user waits: with as many threads as everybody gets who sets nothing, beside one thread, and "
        "their ratio. LIBSVM has one thread whatever is set. In brackets the best gap where the goal was not reached, "
        "or how the run ended. All other tables: processor time, one thread.",
    ),
    "own": (
        "Your own tables",
        "Seconds of the fastest run that brought the certified gap to the goal, the best gap at any tolerance, of the "
        "runs whose solver said that it was done those that were, and how the last one ended.",
    ),
    "machine": ("Machine", "Where the figures were made; a column for each machine or set of versions."),
    "summary": (
        "Summary",
        "For each goal, a certified relative gap: how many of the tasks tried a solver brought there (of those that at "
        "least one solver did), and the shifted geometric mean of its times over the tasks tried, "
        f"(∏ (t + {1000 * SHIFT:g} ms))^(1/n) − {1000 * SHIFT:g} ms. The time of a task is that of the fastest run "
        "that got there, at whatever tolerance; a task that was tried and not brought there counts with the "
        "time limit of a run in the suite. “× qpsvm” is the ratio of "
        "these means over exactly the tasks that both were tried on (their number in brackets where it is another): "
        "means over different tasks cannot be compared, this ratio can. QP solvers are timed from the matrices of the "
        "QP in their own format, all others from the samples.",
    ),
    "fastest": (
        "First, or behind",
        "Tasks that another library was tried on too: on how many `qpsvm` is the fastest to each gap, against the "
        "fastest of all others, chosen task by task afterwards; and to 1e-6 how often and how far it is behind.",
    ),
    "losses": ("Where qpsvm loses", "Every such task, to a gap of 1e-6, the worst first."),
    "claims": (
        "Whose word is good",
        "Of the runs in which the solver said that it had reached the tolerance it was given: the share whose "
        "certified gap is at most that tolerance, at most 10 times that, and the worst ratio of gap and tolerance. "
        "Solvers measure their tolerance in their own terms, residuals or violations of single conditions, so this "
        "says how far these can be taken for the gap; “no point” is a claim without a usable point.",
    ),
    "proven": (
        "Claims proven and refuted",
        "The same claims with nothing left to floating point (`--prove`, tasks of up to 5000 rows). Proven: the "
        "relative gap of the point is proven to be at most the tolerance. Refuted: it is proven to be more, even "
        "beside an optimal partner, which is kinder than any that a solver gives; the last column says how much at "
        "least, in tolerances. Open: neither.",
    ),
    "silent": (
        "Who falls silent",
        "Of the runs that were asked for 1e-3 or less and came to an end of their own: how many used up the iterations "
        "that they were allowed and how many of these without a warning, how many claimed to be done, warned of "
        "nothing, and miss a gap of 1e-3 by the certificate. Iterations used up are known of where a solver counts "
        "them and has no status that says so; solvers measure their tolerance in their own terms, as above.",
    ),
    "engines": (
        "Which engine solved what",
        "`qpsvm` chooses among several algorithms: of the run that reached 1e-6 first, which found the point, on how "
        "many of the suite's tasks, and their share of the time of all these runs.",
    ),
    "variants": (
        "Variants and backends",
        "Time to a gap of 1e-6 of `qpsvm.solve`, which chooses the backend itself, and of each backend, polish "
        "included. In brackets the best gap where 1e-6 was not reached, or how the run ended; – where the backend "
        "does not apply; bold the fastest of the row.",
    ),
    "variants_solvers": ("Variants and public solvers", "The same problems and figures, with the public solvers."),
    "osqp": (
        "The OSQP paper's problems",
        "Median time to a gap of 1e-6 over the seeds (reached/tried where not all were) and its ratio to that of "
        "qpsvm; in brackets the best gap where the median did not get there.",
    ),
    "linear": (
        "Linear machines on data sets",
        "Time to a gap of 1e-6 of qpsvm; of the others the time to 1e-3 / to 1e-6, and the ratio of the latter to "
        "qpsvm's. A column of several solvers shows the one that was fastest to 1e-6 on that row, chosen afterwards, "
        "by name. Bold the fastest of the row.",
    ),
    "rbf": (
        "RBF kernels on data sets",
        "As for linear machines: time to 1e-6 of qpsvm, to 1e-3 / to 1e-6 and ratio of the fastest of the others.",
    ),
    "kinds": (
        "Kinds of tables",
        "Generated, with fixed seeds, of kinds that nothing was tuned on; as for the data sets.",
    ),
    "grids": (
        "Cross-validation over a grid of C",
        "All rows and five folds for each of fifty C: seconds of all, the certified gaps of the machines on all rows, "
        "how many are right to 1e-3, and how far a cross-validated error is from that of certified machines, at the "
        "worst C. TorchKM's points are judged by their primal value against the best dual value that is known.",
    ),
    "estimators": (
        "Estimators with scikit-learn's names",
        "Four fifths of a standardised table are fitted at the defaults of each package (a certified gap of 1e-6 "
        "of ours, a violation of 1e-3 of theirs), scikit-learn's again at 1e-6. The gap is that of the worst of its "
        "machines, of two classes each, by one judge. Then the rest is predicted, all rows at once and one. Right: "
        "the share of them, or R². Off: the share of the rows that machines certified to 1e-9 predict otherwise; of a "
        "regression the largest difference, where the target has deviation 1.",
    ),
    "scaling": (
        "Growth",
        "Exponents by least squares in logarithms of the time to a gap of 1e-6 and of the peak memory, in brackets the "
        "number of sizes they rest on; the largest size is the largest that was brought to 1e-6 within the limits. "
        "Small sizes are overhead, which makes exponents smaller.",
    ),
    "textbook": (
        "Textbook methods",
        "The best certified gap of a run that took at most so long, and the best of all with its time. Each point is a "
        "run of its own, with another limit of iterations.",
    ),
    "best_gap": (
        "Accuracy and memory",
        "The least gap that a solver reaches on a task at any tolerance: the median over all tasks tried (one without "
        "a point is infinitely far), the worst of those with a point; and the median of the peak memory beyond what "
        "was there before the call.",
    ),
}
#: The pictures, by how their names begin: the table after which they stand, and what they show.
PICTURES: dict[str, tuple[str, ...]] = {
    "variants_solvers": ("profiles_variants", "gaps_variants"),
    "osqp": ("profiles_osqp", "gaps_osqp"),
    "linear": ("profiles_linear", "gaps_linear"),
    "rbf": ("profiles_rbf", "gaps_rbf"),
    "kinds": ("profiles_kinds", "gaps_kinds"),
    "scaling": ("scaling",),
    "textbook": ("textbook",),
}
CAPTIONS = {
    "profiles": "Performance profiles (Dolan & Moré 2002): the share of tasks that a solver brought to the gap within "
    "τ times the best time of the solvers drawn, over the tasks that all of them were tried on.",
    "gaps": "Every run as a point; the lines are median times to each gap, as far as more than half of the tasks got.",
    "scaling": "Time to a gap of 1e-6 and peak memory; the exponents are fitted to all points of a line.",
    "textbook": "The best gap so far against time; each point is a run with another limit of iterations.",
}
MARK = re.compile(
    r"(<!--\s*table:\s*(?P<name>.*?)\s*-->)(?P<body>.*?)(?P<end><!--\s*end\s*-->|(?=<!--\s*table:)|\Z)", re.S
)
NO_MEASUREMENTS = "(no measurements)"


def write_report(runs: Iterable[Line], machines: Iterable[Line], to: Path) -> Path:
    """Write `report.md` and its pictures (PNG and SVG) into a folder.

    Parameters
    ----------
    runs, machines : iterable of dict
        As `lines.read_runs` and `lines.read_machines` give them.
    to : Path
        Made where it does not exist.

    Returns
    -------
    Path
        The page. Suites without lines are left out of it.
    """
    lines = [*machines, *runs]
    to.mkdir(parents=True, exist_ok=True)
    drawn = draw_pictures(lines)
    for name, figure in drawn.items():
        save_picture(figure, to / name)
    made = {name: table for name in SECTIONS if (table := TABLES[name](lines))}
    page = to / "report.md"
    page.write_text(_build_page(made, list(drawn)), encoding="utf-8")
    return page


def _build_page(made: Mapping[str, str], drawn: Sequence[str]) -> str:
    parts = ["# Benchmarks"]
    shown: list[str] = []
    for name, (heading, sentence) in SECTIONS.items():
        images = [image for prefix in PICTURES.get(name, ()) for image in drawn if _has_prefix(image, prefix)]
        images = [image for image in images if image not in shown]
        if name in made or images:
            parts += [f"## {heading}", sentence, *([made[name]] if name in made else []), *map(_embed_picture, images)]
            shown += images
    return "\n\n".join(parts) + "\n"


def _has_prefix(image: str, prefix: str) -> bool:
    return image == prefix or image.startswith(f"{prefix}_")


def _embed_picture(image: str) -> str:
    """A picture with its caption, by relative path."""
    kind, _, what = image.partition("_")
    alt = f"{kind}: {what.replace('_', ' ')}" if what else kind
    return f"![{alt}]({image}.png)\n\n*{CAPTIONS[kind]}* ([SVG]({image}.svg))"


def fill_tables(path: Path, runs: Iterable[Line], machines: Iterable[Line] = ()) -> list[str]:
    """Make the tables of a Markdown file anew: what stands between `<!-- table: NAME -->` and `<!-- end -->`.

    Returns
    -------
    list of str
        The names of the tables, in the order of the file.

    Raises
    ------
    UnknownOptionError
        There is no table of that name; the message gives the nearest.
    FileFormatError
        A table does not end before the next begins. Nothing is written then.
    """
    lines = [*machines, *runs]
    names = []

    def fill_mark(mark: re.Match[str]) -> str:
        names.append(_check_mark(mark, path))
        return f"{mark[1]}\n\n{TABLES[names[-1]](lines) or NO_MEASUREMENTS}\n\n{mark['end']}"

    before = path.read_text(encoding="utf-8")
    after = MARK.sub(fill_mark, before)
    if after != before:
        path.write_text(after, encoding="utf-8")
    return names


def _check_mark(mark: re.Match[str], path: Path) -> str:
    name = mark["name"]
    if name not in TABLES:
        raise UnknownOptionError(f"{path}: there is no table {name!r}; {describe_nearest(name, TABLES)}")
    if not mark["end"]:
        raise FileFormatError(f"{path}: the table {name!r} has no end; put <!-- end --> after it")
    return name
