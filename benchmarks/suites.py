"""The suites of published problems and of real data; `variants`, `kinds` and `wide` have the others.

`--quick` takes a few small tasks of each, on data that comes with scikit-learn or is generated, so that it is the same
everywhere. Files are those of `--data`; what is absent is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.estimators import build_estimators_suite
from benchmarks.kinds import build_kinds_suite
from benchmarks.samples import BundledTable, Clouds, LibsvmFile, Moons, RandomClass, Source
from benchmarks.suite import PENALTIES, Suite
from benchmarks.summary import BARE, PACKAGES, PEERS, QP_SOLVERS, SCIKIT_LEARN
from benchmarks.tasks import Task
from benchmarks.variants import build_variants_suite
from benchmarks.wide import build_grids_suite, build_threads_suite


def build_suites(data: Path, quick: bool) -> dict[str, Suite]:
    """Build all suites, by name."""
    makers: tuple[Callable[[Path, bool], Suite], ...] = (
        build_threads_suite,
        build_variants_suite,
        build_osqp_suite,
        build_linear_suite,
        build_rbf_suite,
        build_kinds_suite,
        build_scaling_suite,
        build_grids_suite,
        build_estimators_suite,
        build_textbook_suite,
    )
    found = (make(data, quick) for make in makers)
    return {suite.name: replace(suite, seconds=3.0, budget=2.0) if quick else suite for suite in found}


def build_osqp_suite(data: Path, quick: bool) -> Suite:
    """(b) The SVM classes of the QP literature."""
    del data
    tasks = []
    for kind, per_feature, density, sizes in (
        ("OSQP", 100, 0.15, (10,) if quick else (10, 20, 50, 100, 200)),
        ("Clarabel", 50, 0.20, (10,) if quick else (10, 100, 500)),
    ):
        for features in sizes:
            for seed in (1,) if quick or features > 50 else (1, 2):
                source = RandomClass(features, per_feature, density, seed)
                facts = {"class": kind, "n_features": features, "seed": seed, "n": per_feature * features,
                         "d": features, "variant": "hinge", "kernel": "linear"}  # fmt: skip
                name = f"{kind}'s class, n = {features}, seed {seed}"
                tasks.append(Task(name, source, facts, "hinge", intercept=None))
    return Suite(
        "osqp", "The SVM class of the OSQP paper (100 n samples of n features, 15 % non-zero) and Clarabel's (50 n "
        "samples, 20 %), by the published distributions with our seeds.",
        tuple(tasks), ("qpsvm", "interior_point", "augmented_lagrangian", "rehline", "snapml", *QP_SOLVERS),
        seconds=6.0, budget=6.0, most_rows={"daqp": 2000},
    )  # fmt: skip


#: Name of a file, and how it is used: sparse ones of many columns are not standardised.
LINEAR_FILES = (
    "australian", "german.numer", "splice", "spambase", "phishing.xz", "magic04.xz", "ijcnn1.xz", "cod-rna_zscore.xz",
    "shuttle.xz", "a9a.xz", "w8a.xz", "reuters.xz",
)  # fmt: skip
RAW_ONLY = frozenset({"w8a.xz", "reuters.xz", "cod-rna_zscore.xz"})
ROWS = {
    "australian": 690, "german.numer": 1000, "splice": 1000, "spambase": 4601, "phishing.xz": 11055,
    "magic04.xz": 19020, "ijcnn1.xz": 49990, "cod-rna_zscore.xz": 59535, "shuttle.xz": 58000, "a9a.xz": 32561,
    "w8a.xz": 49749, "reuters.xz": 7770, "heart": 270, "svmguide1": 3089, "satimage.xz": 6435, "usps.xz": 7291,
    "letter.xz": 20000, "mushrooms": 8124,
}  # fmt: skip


def _iter_tables(data: Path, quick: bool, files: tuple[str, ...]) -> Iterator[tuple[str, str, Source, int]]:
    """Name, scaling, source and rows of the tables that there are."""
    if quick:
        yield "breast_cancer", "standardised", BundledTable("breast_cancer"), 569
        return
    for name in files:
        if (data / name).exists():
            for scaling in ("raw",) if name in RAW_ONLY else ("raw", "standardised"):
                yield name.removesuffix(".xz"), scaling, LibsvmFile(data / name, scaling), ROWS[name]


def build_linear_suite(data: Path, quick: bool) -> Suite:
    """(c) Linear machines on real data; LIBLINEAR's neighbouring problem, with its penalised intercept, beside."""
    tasks = []
    for name, scaling, source, n in _iter_tables(data, quick, LINEAR_FILES):
        for C in (1.0,) if quick else PENALTIES:
            for intercept in ("free", "penalised"):
                variant = "c" if intercept == "free" else "hinge"
                facts = {"data": name, "n": n, "scaling": scaling, "C": C, "intercept": intercept, "variant": variant,
                         "kernel": "linear"}  # fmt: skip
                title = f"{name}, {scaling}, C = {C:g}, {intercept} intercept"
                tasks.append(Task(title, source, facts, variant, C, intercept=intercept))  # type: ignore[arg-type]
    rows = {"SVC": 20_000, "libsvm": 20_000, "sklearnex SVC": 20_000, "proxqp": 5000, "osqp": 20_000}
    return Suite(
        "linear", "Linear C-SVMs on real data, raw and standardised; and with a penalised intercept, which is the "
        "problem that LIBLINEAR solves.",
        tuple(tasks), ("qpsvm", *SCIKIT_LEARN, *PACKAGES, *PEERS, "piqp", "clarabel",
                       *(() if quick else ("osqp",))),
        seconds=4.0, budget=4.0, most_rows=rows, files=() if quick else LINEAR_FILES,
    )  # fmt: skip


RBF_FILES = (
    "heart", "australian", "german.numer", "splice", "svmguide1", "spambase", "satimage.xz", "usps.xz", "mushrooms",
    "phishing.xz", "magic04.xz", "letter.xz",
)  # fmt: skip


def build_rbf_suite(data: Path, quick: bool) -> Suite:
    """(d) RBF kernels on real data; standardised, the two rules for γ are the same."""
    tasks = []
    for name, scaling, source, n in _iter_tables(data, quick, RBF_FILES):
        for gamma in ("scale", "1/d") if scaling == "raw" else ("scale",):
            for C in (1.0,) if quick else PENALTIES:
                facts = {"data": name, "n": n, "scaling": scaling, "C": C, "gamma": gamma, "variant": "c",
                         "kernel": "rbf"}  # fmt: skip
                title = f"{name}, {scaling}, C = {C:g}, gamma = {gamma}"
                tasks.append(Task(title, source, facts, C=C, kernel="rbf", gamma=gamma))
    return Suite(
        "rbf", "RBF C-SVMs on real data, raw and standardised, γ by scikit-learn's rule (scale) and 1/d.",
        tuple(tasks), ("qpsvm", "SVC", "libsvm", "sklearnex SVC", "piqp", "clarabel", "osqp"),
        seconds=12.0, budget=6.0, most_rows=dict.fromkeys(("piqp", "clarabel", "osqp"), 700),
        files=() if quick else RBF_FILES,
    )  # fmt: skip


#: Rows of the linear sweep; the last table is 2.7 GB.
MANY_ROWS = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000)


def build_scaling_suite(data: Path, quick: bool) -> Suite:
    """(e) One size grows, all else stays."""
    del data
    tasks = []
    sweeps: dict[str, tuple[tuple[int, ...], Callable[[int], Source], str]] = {
        "rows, linear": ((1000, 3000) if quick else MANY_ROWS, lambda n: Clouds(n, 34), "linear"),
        "columns, linear": ((10, 30) if quick else (10, 30, 100, 300, 1000, 3000), lambda d: Clouds(3000, d), "linear"),
        "rows, RBF": ((300, 600) if quick else (500, 1000, 2000, 4000, 8000, 16_000), lambda n: Clouds(n, 10), "rbf"),
    }  # fmt: skip
    for sweep, (sizes, make, kernel) in sweeps.items():
        for intercept in ("free", "penalised") if kernel == "linear" else ("free",):
            for size in sizes:
                source: Any = make(size)
                variant = "c" if intercept == "free" else "hinge"
                facts = {"sweep": sweep, "n": source.n, "d": source.d, "intercept": intercept, "variant": variant,
                         "kernel": kernel}  # fmt: skip
                title = f"{sweep}, n = {source.n}, d = {source.d}, {intercept} intercept"
                machine: Any = {"variant": variant, "kernel": kernel, "intercept": intercept}
                tasks.append(Task(title, source, facts, **machine))
    rows = {
        "SVC": 30_000, "sklearnex SVC": 30_000, "LinearSVC": 1_000_000, "rehline": 1_000_000, "snapml": 1_000_000,
        "piqp": 100_000, "clarabel": 100_000, "osqp": 30_000,
    }  # fmt: skip
    return Suite(
        "scaling",
        "Generated clouds, 5 % of the labels flipped: time and memory to a gap of 1e-6 as rows or columns grow.",
        tuple(tasks), ("qpsvm", "SVC", "LinearSVC", "sklearnex SVC", "rehline", "snapml", "piqp", "clarabel", "osqp"),
        goal=1e-6, seconds=15.0, budget=10.0,
        most_rows=rows,
    )  # fmt: skip


def build_textbook_suite(data: Path, quick: bool) -> Suite:
    """(f) The methods of the textbooks: the gap that so many iterations are worth."""
    del data
    tables: tuple[tuple[str, Source, str], ...] = (
        ("breast cancer, linear", BundledTable("breast_cancer"), "linear"),
        ("iris, linear", BundledTable("iris"), "linear"),
        ("moons, RBF", Moons(200), "rbf"),
    )
    tasks = []
    for name, source, kernel in tables[2:] if quick else tables:
        facts = {"data": name, "variant": "c", "kernel": kernel}
        tasks.append(Task(name, source, facts, kernel=kernel))  # type: ignore[arg-type]
    iterations = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    return Suite(
        "textbook", "The textbook methods beside the structured ones, without polishing: gap against time, by the "
        "number of iterations allowed (C = 1, standardised).",
        tuple(tasks), BARE, seconds=10.0, budget=20.0, max_iters=iterations[:7] if quick else iterations,
    )  # fmt: skip
