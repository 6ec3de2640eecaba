"""Build the problem of a command, for any number of classes (`choose_problem`, `MulticlassProblem`).

All-in-one machines are problems like any other. A two-class machine is extended to several classes by scikit-learn's
rules, as in `estimators.SVC`: one machine per pair of classes (one-vs-one), whose votes decide and whose decision
values break ties (`break_ties`), or one machine per class against all others (one-vs-rest). `MulticlassProblem` and
`MulticlassResult` have the methods of a problem and a result that the commands use, so that a command does not
distinguish them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm import backends
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import InfeasibleNuError, NotSeparableError, ParameterError, QPSVMError, QPSVMWarning
from qpsvm.data.rows import RowSource
from qpsvm.estimators.svc import KernelClassifier
from qpsvm.estimators.targets import compute_class_factors
from qpsvm.faces.cli.data import ALL_IN_ONE_NAMES, Dataset, build_class_weights, take_rows
from qpsvm.faces.cli.problem_options import KERNEL_DEFAULTS, VARIANTS, build_kernel, collect_parameters
from qpsvm.machines import CrammerSinger, Problem, registry
from qpsvm.many.comparison import CompareOptions, iter_comparison
from qpsvm.many.comparison_table import ComparisonRow
from qpsvm.many.grid.cross_validation import CrossValidation, Outcome
from qpsvm.many.grid.folds import Fold, build_folds
from qpsvm.many.grid.parameters import LETTERS, format_columns
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


def choose_problem(dataset: Dataset, options: argparse.Namespace) -> Any:
    """Build the problem that the options describe; a two-class machine for more classes gives a `MulticlassProblem`.

    Options that only some commands have may be absent. Raises ParameterError, DataError.
    """
    multi_class = getattr(options, "multi_class", None)
    _check_single_machine(dataset, options)
    if not dataset.is_several or options.variant in registry.ALL_IN_ONE:
        if multi_class is not None:
            why = (
                f"{options.variant} has all classes in one program"
                if dataset.is_several
                else "there are no more than two here"
            )
            raise ParameterError(f"--multi-class extends two-class machines to more classes, but {why}: leave it out")
        return dataset.build_problem(options)
    kernel, parameters = build_kernel(options), collect_parameters(options)
    intercept = parameters.pop("intercept", "free")
    machines = MulticlassClassifier(
        kernel=kernel,
        psd=options.psd or "raise",
        multi_class=multi_class or "ovo",
        break_ties=True,
        tol=options.tol,
        class_weight=build_class_weights(options.class_weight, dataset.list_labels),
        backend=getattr(options, "backend", "auto"),
        time_limit=options.time_limit,
        max_iter=-1 if getattr(options, "max_iter", None) is None else options.max_iter,
        verbose=options.verbose,
        probability=bool(getattr(options, "probability", False)),
    )
    machines.machine_settings = MachineSettings(VARIANTS[options.variant].__name__, parameters, intercept)
    form = getattr(options, "form", None)
    machines.solve_options = {} if form is None else {"form": form}
    if getattr(options, "no_polish", False):
        machines.solve_options["polish"] = False
    return MulticlassProblem(
        dataset.table.X, np.asarray(dataset.y), dataset.table.weights, machines, dataset.table.names
    )


def _check_single_machine(dataset: Dataset, options: argparse.Namespace) -> None:
    """Refuse options that need one machine, or one decision function, if there are several. Raises ParameterError."""
    is_all_in_one = options.variant in registry.ALL_IN_ONE
    if not (is_all_in_one or dataset.is_several):
        return
    for option, why in SINGLE_MACHINE_OPTIONS.items():
        is_proof = option == "proof"
        if not getattr(options, option, None) or (is_all_in_one and is_proof):
            continue
        labels = dataset.list_labels()[0]
        if is_all_in_one:
            fact, other = f"--variant {options.variant} has one per class", " and another --variant"
        else:
            fact = f"there are {len(labels)} classes"
            other = f", or use --variant {ALL_IN_ONE_NAMES}" if is_proof else ""
        raise ParameterError(
            f"--{option}: {why}, but {fact}: train one class against all others with --positive LABEL, such as "
            f"--positive {labels[0]}{other}"
        )


class MachineSettings(NamedTuple):
    """A two-class machine without samples: the name of its class, its hyperparameters, and its intercept."""

    name: str
    parameters: Mapping[str, Any]
    intercept: Intercept


class MulticlassClassifier(KernelClassifier):
    """A classifier built from any two-class machine, which is set by `machine_settings`.

    solve_options: Keyword arguments of `qpsvm.solve`, besides those that the estimator has as parameters.
    """

    machine_settings: MachineSettings
    solve_options: dict[str, Any]

    _parameter_names: ClassVar[tuple[str, ...]] = ()

    def _choose_machine(self) -> tuple[str, dict[str, Any]]:
        return self.machine_settings.name, dict(self.machine_settings.parameters)

    def _intercept_rule(self) -> Intercept:
        return self.machine_settings.intercept

    def _build_options(self) -> dict[str, Any]:
        return {**super()._build_options(), **self.solve_options}

    def _compute_scale(self, together: BinaryMachines) -> FloatArray:
        return np.where(together.rho > 0.0, together.rho, 1.0)

    @property
    def solved_machines(self) -> BinaryMachines:
        """The solved machines."""
        machines: BinaryMachines = self._solution
        return machines

    def build_model(self) -> Any:
        """Build the model for prediction."""
        return self._build_model()

    def copy_unfitted(self) -> MulticlassClassifier:
        """Return an untrained copy with the same settings."""
        other = MulticlassClassifier(**self.get_params(deep=False))
        other.machine_settings, other.solve_options = self.machine_settings, self.solve_options
        return other


@dataclass(frozen=True, eq=False)
class MulticlassProblem:
    """Samples of more than two classes with untrained machines; it is solved like a problem.

    X (n, d), y (n,), weight (n,) or None
    unfitted: The machines.
    names (d,): The features.
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
        parameters = "".join(
            f"{LETTERS.get(name, name)} = {value:g}, "
            for name, value in self.unfitted.machine_settings.parameters.items()
        )
        return f"{self._machine_name}, {parameters}kernel {self.kernel}: {self._count_text}"

    @property
    def short_title(self) -> str:
        """The title without the parameters."""
        return f"{self._machine_name}, kernel {type(self.kernel).__name__}, {self._count_text}"

    @property
    def _machine_name(self) -> str:
        return find_machine_class(self.unfitted.machine_settings.name)._display_name

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
        settings = self.unfitted.machine_settings
        of_kernel = {name: value for name, value in point.items() if name in KERNEL_DEFAULTS}
        of_machine = {name: value for name, value in point.items() if name in settings.parameters}
        other = self.unfitted.copy_unfitted()
        other.kernel = replace(self.unfitted.kernel, **of_kernel)
        other.machine_settings = settings._replace(parameters={**settings.parameters, **of_machine})
        return replace(self, unfitted=other)

    def solve(self) -> MulticlassResult:
        """Solve and certify all machines. Raises QPSVMError, KeyboardInterrupt."""
        start = time.perf_counter()
        machines = self.unfitted.copy_unfitted()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QPSVMWarning)  # the printed status says the same
            try:
                machines.fit(self.X, self.y, self.weight)
            except QPSVMError as error:
                error.args = (" ".join([str(error), *getattr(error, "__notes__", ())]),)
                raise
        return MulticlassResult(self, machines, time.perf_counter() - start)

    def cross_validate(
        self, axes: Mapping[str, Sequence[Any]], folds: int, shuffle: bool, seed: int | None, scoring: str | None,
        n_jobs: int | None, bar: bool,
    ) -> CrossValidation:  # fmt: skip
        """Score every combination of values on the held-out folds, with every machine certified.

        Raises QPSVMError.
        """
        weight = None if self.weight is None else (self.weight > 0.0).astype(float)
        # never solved: the functions for folds and scorers need a problem with all classes
        all_classes: Any = CrammerSinger(self.X, self.y, sample_weight=weight)
        splits = [
            Fold(self.active_rows[fold.train], self.active_rows[fold.test])
            for fold in build_folds(all_classes, folds, shuffle, seed)
        ]
        grid = {name: [self._to_number(name, value) for value in values] for name, values in axes.items()}
        points = [dict(zip(grid, point, strict=True)) for point in product(*grid.values())]
        scorer = find_scorer(scoring, all_classes)
        tasks = [(self.replace_parameters(point), fold, scorer) for fold in splits for point in points]
        outcomes = [outcome for (outcome,) in run_tasks(_score_fold, tasks, [1] * len(tasks), n_jobs, bar)]
        shape = (len(splits), *(len(values) for values in grid.values()))
        columns = {name: np.array([getattr(outcome, name) for outcome in outcomes]).reshape(shape)
                   for name in ("score", "gap", "status", "support")}  # fmt: skip
        return CrossValidation(
            problem=self.build_machine(0), axes={name: np.array(values) for name, values in grid.items()},
            scores=columns["score"], gaps=columns["gap"], status=columns["status"], support=columns["support"],
            scoring=name_scorer(scoring, all_classes),
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
        machine, parameters, intercept = self.unfitted.machine_settings
        classes, codes = np.unique(self.y, return_inverse=True)
        factors = compute_class_factors(self.unfitted.class_weight, classes, self.y)[codes]
        return split_classes(
            self.X, codes, classes, self.unfitted.multi_class == "ovr", machine=machine, parameters=parameters,
            kernel=self.unfitted.kernel, sample_weight=factors if self.weight is None else factors * self.weight,
            psd=self.unfitted.psd, intercept=intercept, constraints=None,
        )  # fmt: skip

    def compare(self, names: Sequence[str] | None, form: Any, options: CompareOptions) -> Iterator[ComparisonRow]:
        """Yield one row per backend (by default all) and form, over all machines: sums, and the largest gaps."""
        split = self._split_classes()
        for name in names or backends.names():
            rows: dict[tuple[str, str | None], list[ComparisonRow]] = {}
            for p in range(len(split.pairs)):
                for row in iter_comparison(split.build_problem(p), name, form, options):
                    rows.setdefault((row.backend, row.form), []).append(row)
            yield from (_sum_rows(of_machines) for of_machines in rows.values())


def _sum_rows(rows: Sequence[ComparisonRow]) -> ComparisonRow:
    """Combine the rows of several machines into one: that of the first that is not optimal, with sums and maxima.

    If a machine has no solution, and so no gap, the row is not changed.
    """
    base = next((row for row in rows if row.status != Status.OPTIMAL), rows[0])
    if any(row.gap is None for row in rows):
        return base
    sums: dict[str, Any] = {name: sum(getattr(row, name) or 0 for row in rows)
             for name in ("primal", "dual", "support", "margin", "build_time", "solve_time", "total_time")}  # fmt: skip
    counts = [row.iterations for row in rows]
    iterations = None if None in counts else sum(count or 0 for count in counts)
    maxima: dict[str, Any] = {name: max(getattr(row, name) for row in rows) for name in ("gap", "solver_gap")}
    notes = "; ".join(dict.fromkeys(row.note for row in rows if row.note))
    return replace(base, **sums, **maxima, iterations=iterations, note=notes)


def _score_fold(problem: MulticlassProblem, fold: Fold, scorer: Any) -> list[Outcome]:
    """Score one point on one fold, by the accuracy without a scorer; the list has one outcome."""
    test = take_rows(problem.X, fold.test)
    try:
        result = problem.restrict_rows(fold.train).solve()
    except (InfeasibleNuError, NotSeparableError):
        return [Outcome(np.nan, np.inf, str(Status.INFEASIBLE), 0)]
    labels = problem.y[fold.test]
    if scorer is None:
        score = float(np.mean(result.machines.predict(test) == labels))
    else:
        score = float(scorer(result.machines, test, labels))
    return [Outcome(score, result.gap, str(result.status), len(result.machines.support_))]


@dataclass(frozen=True, eq=False)
class MulticlassResult:
    """The solved machines, each certified, in place of a single result."""

    problem: MulticlassProblem
    machines: MulticlassClassifier
    seconds: float

    @property
    def gap(self) -> float:
        """The largest of the certified relative gaps."""
        return float(self.machines.gap_)

    @property
    def status(self) -> Status:
        """`optimal` if every machine is; otherwise the status of the first that is not."""
        statuses = self.machines.solved_machines.status
        return next((status for status in statuses if status is not Status.OPTIMAL), Status.OPTIMAL)

    @property
    def model(self) -> Any:
        """The model of all machines, for prediction and saving."""
        return self.machines.build_model()

    @property
    def support(self) -> IntArray:
        """The rows that are support vectors of any machine: (s,)."""
        return np.asarray(self.machines.support_, dtype=np.intp)

    def list_hints(self, names: Sequence[str] | None = None) -> list[Hint]:
        """Find hints about the samples, or else about classes that are never predicted."""
        problem, rows = self.problem, self.problem.active_rows
        if hints := find_sample_hints(problem.X, problem.kernel, names):
            return hints
        # at most ROWS rows, in which every class has about its share: every k-th of the rows sorted by class
        by_class = rows[np.argsort(problem.y[rows], kind="stable")]
        subset = np.sort(by_class[:: -(-len(rows) // ROWS)])
        is_weighted = self.machines.class_weight is not None
        return find_label_hints(problem.y[subset], predict_rows(self.model, take_rows(problem.X, subset)), is_weighted)

    def summary(self, notes: bool = True) -> str:
        """Summarise the result in a few lines, with one line per machine."""
        del notes  # the command prints them at the end
        solved = self.machines.solved_machines
        solver = solved.solver
        lines = [
            self.problem.title,
            f"  status      {self.status}: {self.status.sentence}",
            f"  gap         {self.gap:.2g} relative, the largest of {len(solved.gap)} machines, rounding included",
            f"  vectors     {len(solved.support)} support of {len(self.problem.active_rows)}",
            f"  solver      {solver.name} {solver.version}; it reported {solver.status!r}",
            f"  time        {format_seconds(self.seconds)}, certificates included",
            *(f"              {line}" for line in self._format_machines()),
        ]
        if solved.message:
            lines.append(f"  note        {solved.message}")
        return "\n".join(lines)

    def _format_machines(self) -> list[str]:
        """Format the table of the machines."""
        solved = self.machines.solved_machines
        shown = np.arange(len(solved.gap))
        if len(shown) > SHOWN_MACHINES:
            shown = np.sort(np.argsort(-solved.gap, kind="stable")[:SHOWN_MACHINES])
        labels = [str(label) for label in solved.classes.tolist()]
        opponents = [
            f"{labels[i]} against " + ("the others" if j < 0 else labels[j]) for i, j in solved.machines[shown].tolist()
        ]
        columns: dict[str, list[Any]] = {
            "machine": opponents, "support": np.diff(solved.coef.indptr)[shown].tolist(),
            "gap": solved.gap[shown].tolist(), "status": [str(solved.status[p]) for p in shown],
        }  # fmt: skip
        n_omitted = len(solved.gap) - len(shown)
        more = [f"and {n_omitted} more, with smaller gaps"] if n_omitted else []
        return [*format_columns(columns, {"gap": "{:.1e}".format}).splitlines(), *more]


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
