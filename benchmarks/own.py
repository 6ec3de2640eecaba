"""A suite of one's own tables: whatever `qpsvm.data.files` reads, the machines named, and every solver of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.samples import DENSE_FROM, Samples, narrow_indices, scale_table
from benchmarks.suite import Suite
from benchmarks.summary import OURS, PACKAGES, PEERS, QP_SOLVERS, SCIKIT_LEARN
from benchmarks.tasks import Task, Variant
from benchmarks.variants import GENERAL_ROWS, NOVEL_NU, TUBE_NU
from qpsvm.base.errors import DataError, ParameterError, describe_nearest
from qpsvm.data.files import EncodedTable, MissingPolicy, read_table

#: The name of the suite, and of its lines.
OWN = "own"
#: Machines by what they want of a table's target.
OF_CLASSES = ("c", "nu", "hard", "hinge", "squared-hinge", "huber-hinge")
OF_NUMBERS = ("epsilon-svr", "nu-svr", "quantile-svr")
OF_NOTHING = ("one-class", "svdd")
VARIANTS = (*OF_CLASSES, *OF_NUMBERS, *OF_NOTHING)
#: Machines that have a choice of intercept; the C-SVM with another is that of the hinge loss.
WITH_INTERCEPT = frozenset({"hinge", "squared-hinge", "huber-hinge", "epsilon-svr", "quantile-svr"})
#: Machines without a C.
WITHOUT_C = frozenset({"hard", "nu", "one-class", "svdd"})
#: Labels that a message lists.
MAX_LABELS = 10


@dataclass(frozen=True)
class UserTable:
    """A table of the user's: numbers get mean 0 and deviation 1, so that a tube of one width suits all tables.

    Attributes
    ----------
    path : Path
    target : str or None
        The column of a CSV file.
    target_kind : "labels", "numbers" or "none"
    positive : str or None
        Of more than two classes, the one that is to be told from the others.
    standardise : bool
    missing : "error", "drop", "median" or "most-frequent"
        As `read_table` has them.
    """

    path: Path
    target: str | None = None
    target_kind: Any = "labels"
    positive: str | None = None
    standardise: bool = False
    missing: MissingPolicy = "error"

    def __str__(self) -> str:
        """All that its samples depend on: lines of another reading are not taken for this one's."""
        said = [
            str(self.path),
            *([f"target {self.target}"] if self.target is not None and self.target_kind != "none" else []),
        ]
        said += [f"{self.positive} against the others"] if self.positive is not None else []
        return ", ".join([*said, *(["standardised"] if self.standardise else [])])

    def load(self) -> Samples:
        """X (n, d), dense or CSR, and y (n,).

        Raises
        ------
        QPSVMError
            What `read_table` says, or that there are not two classes, or a target of one number only.
        """
        table = read_table(self.path, target=self.target, target_kind=self.target_kind, missing=self.missing)
        X = table.X
        if self.standardise:
            X = scale_table(_to_dense(X), "standardised")
        elif hasattr(X, "toarray"):
            if X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
                X = _to_dense(X)
            else:
                X = narrow_indices(X)
        return X, self._convert_target(table)

    def _convert_target(self, table: EncodedTable) -> Any:
        if self.target_kind == "none":
            return np.ones(table.X.shape[0])
        assert table.y is not None
        if self.target_kind == "numbers":
            numbers = np.asarray(table.y, dtype=float)
            if not numbers.std() > 0:
                raise DataError(f"{self.path}: the target is {numbers[0]:g} everywhere")
            return (numbers - numbers.mean()) / numbers.std()
        labels = np.asarray(table.y)
        texts = {str(label): label for label in np.unique(labels)}
        if self.positive is not None:
            if self.positive not in texts:
                raise ParameterError(
                    f"{self.path} has no label {self.positive!r}; {describe_nearest(self.positive, texts)}"
                )
            return np.where(labels == texts[self.positive], 1.0, -1.0)
        if len(texts) != 2:
            few = ", ".join([*texts][:MAX_LABELS]) + (", …" if len(texts) > MAX_LABELS else "")
            raise DataError(
                f"{self.path} has {len(texts)} labels ({few}), and these machines tell two apart: --positive LABEL "
                "tells one from the others; for a target of numbers --variant epsilon-svr"
            )
        return np.where(labels == [*texts.values()][-1], 1.0, -1.0)  # the larger in sort order, as the library has it


def _to_dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def build_user_suite(
    paths: Sequence[Path], variants: Sequence[Variant], kernels: Sequence[str], penalties: Sequence[float],
    intercept: str = "free", nu: float | None = None, **table: Any,
) -> Suite:  # fmt: skip
    """Every machine on every table, each read once to see that it can be.

    Raises
    ------
    QPSVMError
        A table cannot be read, or is none for these machines.
    """
    tasks = []
    for path, variant in product(paths, variants):
        if variant in OF_CLASSES:
            wanted = "labels"
        elif variant in OF_NUMBERS:
            wanted = "numbers"
        else:
            wanted = "none"
        source = UserTable(path, target_kind=wanted, **table)
        X, _ = source.load()
        size = {"data": path.name, "n": X.shape[0], "d": X.shape[1]}
        tasks += [
            _build_task(source, *machine, size)
            for machine in _iter_machines(variant, kernels, penalties, intercept, nu)
        ]
    rows = dict.fromkeys(QP_SOLVERS, GENERAL_ROWS)
    return Suite(
        OWN, f"Tables given on the command line: {', '.join(path.name for path in paths)}.", tuple(tasks),
        (OURS, *SCIKIT_LEARN, *PACKAGES, *PEERS, *QP_SOLVERS), most_rows=rows, twins=False,
    )  # fmt: skip


def _iter_machines(
    variant: Variant, kernels: Sequence[str], penalties: Sequence[float], intercept: str, nu: float | None
) -> Iterator[tuple[Variant, str, float, str, float]]:
    """Variant, kernel, C, intercept and ν of each machine."""
    if intercept != "free" and variant == "c":
        variant = "hinge"
    chosen = intercept if variant in WITH_INTERCEPT else "free"
    if nu is not None:
        share = nu
    elif variant in OF_NOTHING:
        share = NOVEL_NU
    else:
        share = TUBE_NU
    for kernel, C in product(kernels, penalties[:1] if variant in WITHOUT_C else penalties):
        yield variant, kernel, C, chosen, share


def _build_task(
    source: UserTable, variant: Variant, kernel: str, C: float, intercept: str, nu: float, size: Any
) -> Task:
    facts = {**size, "variant": variant, "kernel": kernel}
    facts |= {} if variant in WITHOUT_C else {"C": C}
    facts |= {"intercept": intercept} if variant in WITH_INTERCEPT else {}
    facts |= {"nu": nu} if "nu" in variant or variant in OF_NOTHING else {}
    told = [
        f"{source}, {size['n']} × {size['d']}", variant, kernel,
        *(f"{name} = {facts[name]:g}" for name in ("C", "nu") if name in facts),
        *([f"{intercept} intercept"] if variant in WITH_INTERCEPT else []),
    ]  # fmt: skip
    machine: Any = {"kernel": kernel, "intercept": None if intercept == "none" else intercept}
    return Task(", ".join(told), source, facts, variant, C=C, nu=nu, gamma="scale", **machine)
