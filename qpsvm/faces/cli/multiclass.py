"""Train one two-class machine for several classes (`MulticlassProblem`, `MulticlassResult`).

A two-class machine is extended to several classes by scikit-learn's rules, as in `estimators.SVC`: one machine per pair
of classes (one-vs-one), whose votes decide and whose decision values break ties (`break_ties`), or one machine per
class against all others (one-vs-rest). These two classes stand in for a `Problem` and an `SVMResult`: they have those
of their methods that commands use.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import QPSVMError, QPSVMWarning
from qpsvm.estimators.svc import KernelClassifier
from qpsvm.estimators.targets import compute_class_factors
from qpsvm.faces.cli.data import take_rows
from qpsvm.faces.cli.predicted_labels import predict_rows
from qpsvm.faces.cli.problem_options import KERNEL_DEFAULTS
from qpsvm.machines import Problem
from qpsvm.many.grid.parameters import PARAMETER_SYMBOLS, format_columns
from qpsvm.many.multiclass.split import MachineTemplate, Split, find_machine_class, split_classes
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.status import Status
from qpsvm.result.certified import format_seconds
from qpsvm.result.hints import ROWS, Hint, find_label_hints, find_sample_hints
from qpsvm.space.intercept import Intercept

#: Number of machines that a summary lists; if there are more, it lists those with the largest gaps.
MAX_SHOWN_MACHINES = 10


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

    def _choose_intercept(self) -> Intercept:
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
        if self.weight is None:
            return np.arange(self.n)
        return np.flatnonzero(self.weight > 0.0)

    @property
    def kernel(self) -> Any:
        """The kernel, with numbers as parameters."""
        return self.unfitted.kernel.resolve(self.X)

    @property
    def title(self) -> str:
        """The machine with its parameters, and the number of machines."""
        parameters = "".join(
            f"{PARAMETER_SYMBOLS.get(name, name)} = {value:g}, "
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
        kernel_values = {name: value for name, value in point.items() if name in KERNEL_DEFAULTS}
        machine_values = {name: value for name, value in point.items() if name in settings.parameters}
        other = self.unfitted.copy_unfitted()
        other.kernel = replace(self.unfitted.kernel, **kernel_values)
        other.machine_settings = settings._replace(parameters={**settings.parameters, **machine_values})
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

    def build_machine(self, p: int) -> Problem:
        """Build the problem of one machine. Raises QPSVMError."""
        return self.build_split().build_separate_problem(p)

    def build_split(self) -> Split:
        """Build the split of the classes into two-class problems."""
        machine, parameters, intercept = self.unfitted.machine_settings
        classes, codes = np.unique(self.y, return_inverse=True)
        factors = compute_class_factors(self.unfitted.class_weight, classes, self.y)[codes]
        weight = factors if self.weight is None else factors * self.weight
        template = MachineTemplate(machine, parameters, self.unfitted.kernel, intercept, self.unfitted.psd)
        return split_classes(
            self.X, codes, classes, template, rest=self.unfitted.multi_class == "ovr", sample_weight=weight
        )


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
        problem = self.problem
        rows = problem.active_rows
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
        if len(shown) > MAX_SHOWN_MACHINES:
            shown = np.sort(np.argsort(-solved.gap, kind="stable")[:MAX_SHOWN_MACHINES])
        labels = [str(label) for label in solved.classes.tolist()]
        opponents = [
            f"{labels[i]} against " + ("the others" if j < 0 else labels[j]) for i, j in solved.machines[shown].tolist()
        ]
        columns: dict[str, list[Any]] = {
            "machine": opponents,
            "support": np.diff(solved.coef.indptr)[shown].tolist(),
            "gap": solved.gap[shown].tolist(),
            "status": [str(solved.status[p]) for p in shown],
        }
        n_omitted = len(solved.gap) - len(shown)
        more = [f"and {n_omitted} more, with smaller gaps"] if n_omitted else []
        return [*format_columns(columns, {"gap": "{:.1e}".format}).splitlines(), *more]
