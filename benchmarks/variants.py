"""Every machine on every backend of this library and on every other solver of it, small; regressions on real tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.samples import Clouds, LibsvmFile, Source, Waves
from benchmarks.suite import Suite
from benchmarks.summary import BACKENDS, PACKAGES, PEERS, QP_SOLVERS, SCIKIT_LEARN
from benchmarks.tasks import Task, Variant

#: Of a linear ν-SVM on these clouds: with less, the reduced hulls of the classes meet, and the optimum is 0.
FEASIBLE_NU = 0.7
#: Of the other machines with a ν: for a tube, and for what is new.
TUBE_NU, NOVEL_NU = 0.5, 0.1
#: Machines that came later: kernel and intercept of each, the one of `--quick` first.
LATER: dict[Variant, tuple[tuple[str, str], ...]] = {
    "squared-hinge": (("linear", "penalised"), ("linear", "free"), ("rbf", "free")),
    "huber-hinge": (("linear", "penalised"), ("linear", "free"), ("rbf", "free")),
    "epsilon-svr": (("rbf", "free"), ("linear", "free"), ("linear", "penalised")),
    "nu-svr": (("rbf", "free"), ("linear", "free")),
    "quantile-svr": (("linear", "penalised"), ("linear", "free"), ("rbf", "free")),
    "one-class": (("rbf", "free"),),
    "svdd": (("rbf", "free"), ("linear", "free")),
    "ranking": (("linear", "free"), ("rbf", "free")),
}
#: Machines that have a choice of intercept.
WITH_INTERCEPT = frozenset({"squared-hinge", "huber-hinge", "epsilon-svr", "quantile-svr"})
#: Machines whose target is a number.
OF_NUMBERS = frozenset({"epsilon-svr", "nu-svr", "quantile-svr", "ranking"})
#: Real tables with a number as target, and their rows.
TABLES = {"housing_scale": 506, "space_ga_minmax": 3107, "abalone_scale": 4177, "cpusmall": 8192}
#: What is solved on each of them: machine, kernel, intercept, C.
ON_TABLES: tuple[tuple[Variant, str, str, float], ...] = (
    ("epsilon-svr", "linear", "free", 1.0), ("epsilon-svr", "linear", "penalised", 1.0),
    ("epsilon-svr", "rbf", "free", 1.0), ("epsilon-svr", "rbf", "free", 100.0), ("nu-svr", "rbf", "free", 1.0),
    ("one-class", "rbf", "free", 1.0),
)  # fmt: skip
#: Rows up to which general solvers are asked.
GENERAL_ROWS = 1000


def build_variants_suite(data: Path, quick: bool) -> Suite:
    """(a) Every machine on every backend."""
    tasks = [*_iter_margin_tasks(quick), *_iter_loss_tasks(quick), *(() if quick else _iter_table_tasks(data))]
    general = (*QP_SOLVERS, *(f"qpsvm:{name}" for name in ("cvxopt", "osqp", "cvxpy", "dual_ascent", "subgradient")))
    return Suite(
        "variants", "Every variant, with a linear and an RBF kernel, on every backend of this library and on the "
        "public QP solvers: two Gaussian clouds in ten features, 5 % of the labels flipped (none for the hard margin); "
        "waves in ten features for a target of numbers; and real tables with such a target.",
        tuple(tasks), ("qpsvm", *(f"qpsvm:{name}" for name in BACKENDS), *SCIKIT_LEARN, *PACKAGES, *PEERS,
                       *QP_SOLVERS),
        seconds=5.0, budget=4.0, most_rows={**dict.fromkeys(general, GENERAL_ROWS), "qpsvm:slsqp": 300},
        files=() if quick else tuple(TABLES),
    )  # fmt: skip


def _iter_margin_tasks(quick: bool) -> Iterator[Task]:
    """The four machines of margins."""
    variants: tuple[Variant, ...] = ("hard", "c", "nu", "hinge")
    for variant in variants:
        for kernel in ("linear", "rbf"):
            for n in (100,) if quick else (100, 300, 1000):
                source = Clouds(n, 10)
                if variant == "hard":
                    source = Clouds(n, 10, 0.0, 12.0 if kernel == "linear" else 2.0)
                facts = {"variant": variant, "kernel": kernel, "n": n, "d": 10}
                title = f"{variant}, {kernel}, n = {n}"
                yield Task(title, source, facts, variant, nu=FEASIBLE_NU, kernel=kernel)


def _iter_loss_tasks(quick: bool) -> Iterator[Task]:
    """The machines of other losses and other targets; of `--quick` one kernel each."""
    for variant, kinds in LATER.items():
        for kernel, intercept in kinds[:1] if quick else kinds:
            n = 100 if quick else 300
            source = Waves(n, 10) if variant in OF_NUMBERS else Clouds(n, 10)
            yield _build_task(source, variant, kernel, intercept, {"n": n})


def _iter_table_tasks(data: Path) -> Iterator[Task]:
    """Regressions, and the one-class SVM of the features, on the tables that there are; standardised."""
    for name, n in TABLES.items():
        for variant, kernel, intercept, C in ON_TABLES if (data / name).exists() else ():
            source = LibsvmFile(data / name, "standardised", "numbers")
            more = {} if variant == "one-class" else {"C": C}
            yield _build_task(source, variant, kernel, intercept, {"data": name, "n": n, **more})


def _build_task(source: Source, variant: Variant, kernel: str, intercept: str, facts: dict[str, Any]) -> Task:
    """A task of this machine; C is 1 where the facts have none."""
    nu = TUBE_NU if variant == "nu-svr" else NOVEL_NU
    chosen = {"intercept": intercept} if variant in WITH_INTERCEPT else {}
    title = ", ".join([
        variant, kernel, *(f"{which} intercept" for which in chosen.values()),
        *(value if name == "data" else f"{name} = {value:g}" for name, value in facts.items()),
    ])  # fmt: skip
    machine: Any = {"kernel": kernel, "intercept": intercept, "C": facts.get("C", 1.0), "nu": nu}
    return Task(title, source, {"variant": variant, "kernel": kernel, **chosen, **facts}, variant, **machine)
