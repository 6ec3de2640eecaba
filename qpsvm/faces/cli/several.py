"""Train and use machines for more than two classes, one-vs-one or one-vs-rest (`MulticlassProblem`).

All-in-one machines are problems like any other. A two-class machine is extended to several classes by scikit-learn's
rules, as in `estimators.SVC`: pairs vote, and decision values break ties, as with `break_ties`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qpsvm import backends
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import InfeasibleNuError, NotSeparableError, ParameterError, QPSVMError, QPSVMWarning
from qpsvm.data.rows import RowSource
from qpsvm.estimators.inputs import compute_class_factors as factors_of
from qpsvm.estimators.svc import KernelClassifier
from qpsvm.faces.cli.data import ALL_IN_ONE_NAMES, Dataset, build_class_weights, take_rows
from qpsvm.faces.cli.problem_options import KERNEL_DEFAULTS, VARIANTS, build_kernel, collect_parameters
from qpsvm.machines import CrammerSinger, Problem, registry
from qpsvm.many.comparison import CompareOptions, iter_comparison
from qpsvm.many.comparison_table import ComparisonRow
from qpsvm.many.grid.cross_validation import CrossValidation, Outcome
from qpsvm.many.grid.folds import Fold, build_folds
from qpsvm.many.grid.parameters import LETTERS, table
from qpsvm.many.grid.scorers import find_scorer, name_scorer
from qpsvm.many.grid.walk import run_tasks
from qpsvm.many.multiclass.split import Split, find_machine_class, split_classes
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.status import Status
from qpsvm.result.certified import format_seconds
from qpsvm.result.hints import ROWS, Hint, find_label_hints, find_sample_hints
from qpsvm.space.intercept import Intercept

#: Number of machines that a summary lists; if there are more, it lists those with the largest gaps.
SHOWN_MACHINES = 10
#: Options of `solve` that need a single machine, and the reason; all-in-one machines support the first.
SINGLE_MACHINE_OPTIONS = {
    "proof": "a proof covers one program", "bounds": "bounds cover one decision function",
}  # fmt: skip


class MulticlassClassifier(KernelClassifier):
    """A classifier built from any two-class machine, whose name, hyperparameters and intercept are set directly."""

    machine_settings: tuple[str, Mapping[str, Any], Intercept]
    solve_options: Mapping[str, Any]

    _parameter_names: ClassVar[tuple[str, ...]] = ()

    def _choose_machine(self) -> tuple[str, dict[str, Any]]:
        return self.machine_settings[0], dict(self.machine_settings[1])

    def _intercept_rule(self) -> Intercept:
        return self.machine_settings[2]

    def _build_options(self) -> dict[str, Any]:
        return {**super()._build_options(), **self.solve_options}

    def _compute_scale(self, together: BinaryMachines) -> FloatArray:
        return np.where(together.rho > 0.0, together.rho, 1.0)

    @property
    def solved_machines(self) -> BinaryMachines:
        """The solved machines."""
        found: BinaryMachines = self._solution
        return found

    def build_model(self) -> Any:
        """Build the model for prediction."""
        return self._build_model()


@dataclass(frozen=True, eq=False)
class MulticlassProblem:
    """Samples of more than two classes with untrained machines; it is solved like a problem.

    X (n, d), y (n,), weight (n,) or None
    unfitted: The machines.
    multi_class: "ovo" or "ovr".
    """

    X: Any
    y: NDArray[Any]
    weight: FloatArray | None
    unfitted: MulticlassClassifier
    names: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def active_rows(self) -> IntArray:
        """The samples of positive weight: (r,)."""
        return np.arange(self.n) if self.weight is None else np.flatnonzero(self.weight > 0.0)

    @property
    def kernel(self) -> Any:
        """The kernel, with numbers as parameters."""
        return self.unfitted.kernel.resolve(self.X)

    @property
    def title(self) -> str:
        """The machine with its parameters, and the number of machines."""
        own = ", ".join(
            f"{LETTERS.get(name, name)} = {value:g}" for name, value in self.unfitted.machine_settings[1].items()
        )
        called = find_machine_class(self.unfitted.machine_settings[0])._display_name
        return f"{called}, {own}{', ' if own else ''}kernel {self.kernel}: {self._count_text}"

    @property
    def short_title(self) -> str:
        """The title without the parameters."""
        called = find_machine_class(self.unfitted.machine_settings[0])._display_name
        return f"{called}, kernel {type(self.kernel).__name__}, {self._count_text}"

    @property
    def _count_text(self) -> str:
        k = len(np.unique(self.y[self.active_rows]))
        if self.unfitted.multi_class == "ovr":
            return f"{k} classes, one machine per class against all others"
        return f"{k} classes, {k * (k - 1) // 2} machines, one per pair"

    def restrict_rows(self, rows: IntArray) -> MulticlassProblem:
        """Return the problem restricted to some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, X=take_rows(self.X, rows), y=self.y[rows], weight=weight)

    def replace_parameters(self, point: Mapping[str, Any]) -> MulticlassProblem:
        """Return the problem with other parameters of machine and kernel, by name."""
        of_kernel = {name: value for name, value in point.items() if name in KERNEL_DEFAULTS}
        name, own, intercept = self.unfitted.machine_settings
        other = self._copy()
        other.kernel = replace(self.unfitted.kernel, **of_kernel)
        other.machine_settings = name, {**own, **{key: value for key, value in point.items() if key in own}}, intercept
        return replace(self, unfitted=other)

    def _copy(self) -> MulticlassClassifier:
        other = MulticlassClassifier(**self.unfitted.get_params(deep=False))
        other.machine_settings, other.solve_options = self.unfitted.machine_settings, self.unfitted.solve_options
        return other

    def solve(self) -> MulticlassResult:
        """Solve and certify all machines. Raises QPSVMError, KeyboardInterrupt."""
        began = time.perf_counter()
        machines = self._copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QPSVMWarning)  # the status says it
            try:
                machines.fit(self.X, self.y, self.weight)
            except QPSVMError as error:
                error.args = (" ".join([str(error), *getattr(error, "__notes__", ())]),)
                raise
        return MulticlassResult(self, machines, time.perf_counter() - began)

    def cross_validate(
        self, axes: Mapping[str, Sequence[Any]], folds: int, shuffle: bool, seed: int | None, scoring: str | None,
        n_jobs: int | None, bar: bool,
    ) -> CrossValidation:  # fmt: skip
        """Score every combination of values on the held-out folds, with every machine certified.

        Raises QPSVMError.
        """
        weight = None if self.weight is None else (self.weight > 0.0).astype(float)
        whole: Any = CrammerSinger(self.X, self.y, sample_weight=weight)  # the active samples, for folds and scorers
        parts = [
            Fold(self.active_rows[fold.train], self.active_rows[fold.test])
            for fold in build_folds(whole, folds, shuffle, seed)
        ]
        values = {name: [self._to_number(name, value) for value in given] for name, given in axes.items()}
        points = [dict(zip(values, point, strict=True)) for point in product(*values.values())]
        scorer = find_scorer(scoring, whole)
        tasks = [(self.replace_parameters(point), fold, scorer) for fold in parts for point in points]
        found = [each for (each,) in run_tasks(_score_fold, tasks, [1] * len(tasks), n_jobs, bar)]
        shape = (len(parts), *(len(given) for given in values.values()))
        columns = {name: np.array([getattr(each, name) for each in found]).reshape(shape)
                   for name in ("score", "gap", "status", "support")}  # fmt: skip
        return CrossValidation(
            problem=self.build_machine(0), axes={name: np.array(given) for name, given in values.items()},
            scores=columns["score"],
            gaps=columns["gap"], status=columns["status"], support=columns["support"],
            scoring=name_scorer(scoring, whole),
        )  # fmt: skip

    def _to_number(self, name: str, value: Any) -> float:
        """Return a value of an axis as a number; a rule for γ is evaluated."""
        if name in KERNEL_DEFAULTS:
            return float(getattr(replace(self.unfitted.kernel, **{name: value}).resolve(self.X), name))
        self.replace_parameters({name: value}).build_machine(0)  # raises an error if the value is invalid
        return float(value)

    def build_machine(self, p: int) -> Problem:
        """Build the problem of one machine. Raises QPSVMError."""
        return self._split_classes().build_separate_problem(p)

    def _split_classes(self) -> Split:
        machine, own, intercept = self.unfitted.machine_settings
        classes, codes = np.unique(self.y, return_inverse=True)
        factors = factors_of(self.unfitted.class_weight, classes, self.y)[codes]
        return split_classes(
            self.X, codes, classes, self.unfitted.multi_class == "ovr", machine=machine, parameters=own,
            kernel=self.unfitted.kernel, sample_weight=factors if self.weight is None else factors * self.weight,
            psd=self.unfitted.psd, intercept=intercept,
            constraints=None,
        )  # fmt: skip

    def compare(self, chosen: Sequence[str] | None, form: Any, asked: CompareOptions) -> Iterator[ComparisonRow]:
        """Yield one row per backend and form, over all machines: sums, and the largest gaps."""
        parts = self._split_classes()
        for name in chosen or backends.names():
            rows: dict[tuple[str, str | None], list[ComparisonRow]] = {}
            for p in range(len(parts.pairs)):
                for row in iter_comparison(parts.build_problem(p), name, form, asked):
                    rows.setdefault((row.backend, row.form), []).append(row)
            yield from (_sum_rows(found) for found in rows.values())


def _sum_rows(rows: Sequence[ComparisonRow]) -> ComparisonRow:
    """Combine the rows of several machines into one; the status is that of the first that is not optimal."""
    worst = next((row for row in rows if row.status != Status.OPTIMAL), rows[0])
    if any(row.gap is None for row in rows):
        return worst
    total: dict[str, Any] = {name: sum(getattr(row, name) or 0 for row in rows)
             for name in ("primal", "dual", "support", "margin", "build_time", "solve_time", "total_time")}  # fmt: skip
    counted = [row.iterations for row in rows]
    steps = None if None in counted else sum(count or 0 for count in counted)
    largest: dict[str, Any] = {name: max(getattr(row, name) for row in rows) for name in ("gap", "solver_gap")}
    notes = "; ".join(dict.fromkeys(row.note for row in rows if row.note))
    return replace(worst, **total, **largest, iterations=steps, note=notes)


def _score_fold(task: MulticlassProblem, fold: Fold, scorer: Any) -> list[Outcome]:
    """Score one point on one fold."""
    test = take_rows(task.X, fold.test)
    try:
        found = task.restrict_rows(fold.train).solve()
    except (InfeasibleNuError, NotSeparableError):
        return [Outcome(np.nan, np.inf, str(Status.INFEASIBLE), 0)]
    true = task.y[fold.test]
    if scorer is None:
        worth = float(np.mean(found.machines.predict(test) == true))
    else:
        worth = float(scorer(found.machines, test, true))
    return [Outcome(worth, found.gap, str(found.status), len(found.machines.support_))]


@dataclass(frozen=True, eq=False)
class MulticlassResult:
    """The solved machines, each certified, in place of a single result."""

    problem: MulticlassProblem
    machines: MulticlassClassifier
    seconds: float
    error: QPSVMError | None = None

    @property
    def gap(self) -> float:
        """The largest of the certified relative gaps."""
        return float(self.machines.gap_)

    @property
    def status(self) -> Status:
        """`optimal` if every machine is; otherwise the status of the first that is not."""
        return next(
            (each for each in self.machines.solved_machines.status if each is not Status.OPTIMAL), Status.OPTIMAL
        )

    @property
    def model(self) -> Any:
        """The model of all machines, for prediction and saving."""
        return self.machines.build_model()

    @property
    def support(self) -> IntArray:
        """The rows that are support vectors of any machine: (s,)."""
        return np.asarray(self.machines.support_, dtype=np.intp)

    def list_hints(self, names: Sequence[str] | None = None) -> list[Hint]:
        """Find hints about the samples, and about classes that are never predicted."""
        stated, rows = self.problem, self.problem.active_rows
        found = find_sample_hints(stated.X, stated.kernel, names)
        few = np.sort(rows[np.argsort(stated.y[rows], kind="stable")][:: -(-len(rows) // ROWS)])
        weighed = self.machines.class_weight is not None
        return found or find_label_hints(stated.y[few], predict_rows(self.model, take_rows(stated.X, few)), weighed)

    def summary(self, notes: bool = True) -> str:
        """Summarise the result in a few lines, with one line per machine."""
        del notes  # the command prints them at the end
        found = self.machines.solved_machines
        P, solver = len(found.gap), found.solver
        lines = [
            self.problem.title,
            f"  status      {self.status}: {self.status.sentence}",
            f"  gap         {self.gap:.2g} relative, the largest of {P} machines, rounding included",
            f"  vectors     {len(found.support)} support of {len(self.problem.active_rows)}",
            f"  solver      {solver.name} {solver.version}; it reported {solver.status!r}",
            f"  time        {format_seconds(self.seconds)}, certificates included",
            *(f"              {line}" for line in self._format_machines()),
        ]
        if found.message:
            lines.append(f"  note        {found.message}")
        return "\n".join(lines)

    def _format_machines(self) -> list[str]:
        """Format the table of the machines."""
        found = self.machines.solved_machines
        order = np.arange(len(found.gap))
        if len(order) > SHOWN_MACHINES:
            order = np.sort(np.argsort(-found.gap, kind="stable")[:SHOWN_MACHINES])
        labels = [str(label) for label in found.classes.tolist()]
        parties = [
            f"{labels[i]} against " + ("the others" if j < 0 else labels[j]) for i, j in found.machines[order].tolist()
        ]
        columns: dict[str, list[Any]] = {
            "machine": parties, "support": np.diff(found.coef.indptr)[order].tolist(),
            "gap": found.gap[order].tolist(), "status": [str(found.status[p]) for p in order],
        }  # fmt: skip
        left = len(found.gap) - len(order)
        more = [f"and {left} more, with smaller gaps"] if left else []
        return [*table(columns, {"gap": "{:.1e}".format}).splitlines(), *more]


def choose_problem(dataset: Dataset, options: argparse.Namespace) -> Any:
    """Build the problem that the options describe; a two-class machine for more classes gives a `MulticlassProblem`.

    Raises ParameterError, DataError.
    """
    asked = getattr(options, "multi_class", None)
    _check_single_machine(dataset, options)
    if not dataset.is_several or options.variant in registry.ALL_IN_ONE:
        if asked is not None:
            why = (
                f"{options.variant} has all classes in one program"
                if dataset.is_several
                else "there are no more than two here"
            )
            raise ParameterError(f"--multi-class extends two-class machines to more classes, but {why}: leave it out")
        return dataset.build_problem(options)
    kernel, own = build_kernel(options), collect_parameters(options)
    intercept = own.pop("intercept", "free")
    machines = MulticlassClassifier(
        kernel=kernel,
        psd=options.psd or "raise",
        multi_class=asked or "ovo",
        break_ties=True,
        tol=options.tol,
        class_weight=build_class_weights(options.class_weight, dataset.list_labels),
        backend=getattr(options, "backend", "auto"),
        time_limit=options.time_limit,
        max_iter=-1 if getattr(options, "max_iter", None) is None else options.max_iter,
        verbose=options.verbose,
        probability=bool(getattr(options, "probability", False)),
    )
    machines.machine_settings = VARIANTS[options.variant].__name__, own, intercept
    form = getattr(options, "form", None)
    machines.solve_options = {
        **({} if form is None else {"form": form}), **({"polish": False} if getattr(options, "no_polish", 0) else {})
    }  # fmt: skip
    return MulticlassProblem(
        dataset.table.X, np.asarray(dataset.y), dataset.table.weights, machines, dataset.table.names
    )


def _check_single_machine(dataset: Dataset, options: argparse.Namespace) -> None:
    """Refuse options that need one machine, or one decision function, if there are several. Raises ParameterError."""
    in_one = options.variant in registry.ALL_IN_ONE
    for option, why in SINGLE_MACHINE_OPTIONS.items():
        proof = option == "proof"
        if not getattr(options, option, None) or (in_one and proof) or not (in_one or dataset.is_several):
            continue
        labels = dataset.list_labels()[0]
        here = f"--variant {options.variant} has one per class" if in_one else f"there are {len(labels)} classes"
        other = " and another --variant" if in_one else f", or use --variant {ALL_IN_ONE_NAMES}" if proof else ""
        raise ParameterError(
            f"--{option}: {why}, but {here}: train one class against all others with --positive LABEL, such as "
            f"--positive {labels[0]}{other}"
        )


def predict_rows(model: Any, X: Any) -> NDArray[Any]:
    """Predict rows, (n,); stored rows are read block by block."""
    if not isinstance(X, RowSource) or np.ndim(model.b) == 0:
        return np.asarray(model.predict(X))
    return np.concatenate([model.predict(piece.matrix) for block in X.blocks() for piece in block.iter_tiles()])


def decode_labels(classes: NDArray[Any] | None, values: FloatArray) -> Any:
    """Return the labels (m,) for decision values (m,), or (m, k) for several classes; None without classes."""
    if classes is None:
        return None
    return classes[values.argmax(axis=1) if values.ndim > 1 else (values > 0).astype(int)]
