"""Run `importance`: the loss in score if a column is shuffled, and the weights of linear machines.

Columns are those of the file: the features of a category are shuffled together. Scikit-learn's `permutation_importance`
(Breiman, *Random forests*, 2001) shuffles and scores, on held-out rows or on all. It shuffles single features, so it is
given a matrix of row numbers with one column per column of the file: cell (i, j) is the row from which row i takes the
features of column j.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.data.files.encoded_table import to_dense
from qpsvm.data.rows import RowSource
from qpsvm.faces import plotting
from qpsvm.faces.cli.commands.plot import require_picture, write_picture
from qpsvm.faces.cli.commands.solve import EXIT_CODES, solve_or_raise
from qpsvm.faces.cli.data import Dataset, read_dataset
from qpsvm.faces.cli.multiclass import MulticlassProblem
from qpsvm.faces.cli.predicted_labels import decode_labels
from qpsvm.faces.cli.problem_choice import choose_problem
from qpsvm.faces.cli.problem_options import VARIANTS, apply_defaults
from qpsvm.faces.cli.scores import INDENT, format_notes
from qpsvm.faces.cli.splits import DEFAULT_SEED, draw_held_out, split_dataset
from qpsvm.faces.cli.ticker import Ticker
from qpsvm.many.grid.parameters import format_columns
from qpsvm.many.grid.scorers import find_scorer, name_scorer
from qpsvm.result.model import PairsModel

#: Default score for labels: a rare class counts as much as a common one.
LABEL_SCORING = "balanced_accuracy"
#: Largest numbers of printed columns, and of classes whose weights are printed.
MAX_SHOWN_COLUMNS, MAX_SHOWN_CLASSES = 40, 6


def run(options: argparse.Namespace) -> int:
    """Train, shuffle each column, and print the loss in score. Raises ParameterError, UnsupportedError."""
    apply_defaults(options)
    _check_target(options)
    require_picture(options.plot)
    seed = DEFAULT_SEED if options.seed is None else options.seed
    training, test = _read_rows(options, seed)
    problem = choose_problem(training, options)
    scorer, score_name = _choose_score(training, problem, options.scoring)
    result = solve_or_raise(problem, options)
    model = training.build_model(result, problem)
    columns = map_columns(training)
    X, y = _select_scored_rows(test)
    estimator = build_shuffled_estimator(model, X, list(columns.values()))
    with Ticker(f"shuffling {len(columns)} columns"):
        losses = _compute_score_losses(estimator, y, scorer, options.repeats, seed)
    order = np.argsort(-losses.mean(axis=1), kind="stable")  # the largest loss first
    print(result.summary(notes=False))
    if options.test_size is not None:
        where = f"{len(y)} held-out rows"
    else:
        where = f"all {len(y)} rows"
    score = float(scorer(estimator, estimator.unshuffled, y))
    shuffles = f"{options.repeats} shuffles of each column (seed {seed})"
    print(f"  {score_name} {score:.4f} on {where}; mean loss over {shuffles}:")
    _print_table(training, model, columns, order, losses)
    if options.plot is not None:
        names = [list(columns)[j] for j in order]
        write_picture(plotting.importance(names, losses[order], score=score_name), options.plot)
        print(f"  drawn       {options.plot}")
    if last := format_notes(result.list_hints(training.table.names)):
        print(last)
    return EXIT_CODES.get(result.status, 1)


def _select_scored_rows(test: Dataset) -> tuple[FloatArray, NDArray[Any]]:
    """Return X (m, d) and the target (m,) of the rows to score. Each counts once, but rows of weight 0 are left out."""
    sample_weights = test.table.weights
    n = test.table.X.shape[0]
    if sample_weights is None:
        rows = np.arange(n)
    else:
        rows = np.flatnonzero(sample_weights > 0.0)
    return to_dense(test.table.X[rows], path="the file"), np.asarray(test.labels)[rows]


def _print_table(
    training: Dataset, model: Any, columns: Mapping[str, IntArray], order: IntArray, losses: FloatArray
) -> None:
    """Print the losses and, if there are any, the scaled weights with their explanation."""
    scaled_weights = compute_scaled_weights(model, to_dense(training.table.X, path="the file"))
    lines = format_table(training, columns, order, losses, scaled_weights)
    if scaled_weights:
        lines.append("f: weight times standard deviation, by which f changes if the feature grows by the latter")
    print("\n".join(f"{' ' * INDENT}{line}" for line in lines))


def _read_rows(options: argparse.Namespace, seed: int) -> tuple[Dataset, Dataset]:
    """Read the rows to train on, and those to score: the held-out rows, or the same. Raises UnsupportedError."""
    if options.test_size is None:
        training = test = read_dataset(options)
    else:
        dataset = read_dataset(options, raw=True)
        training, test = split_dataset(dataset, draw_held_out(dataset, options.test_size, seed), options)
    if isinstance(training.table.X, RowSource):
        raise UnsupportedError("importance shuffles columns, which needs the rows in memory: use fewer rows")
    return training, test


def _check_target(options: argparse.Namespace) -> None:
    """Refuse machines without a target to score. Raises UnsupportedError."""
    if VARIANTS[options.variant]._target_kind not in ("labels", "numbers"):  # but "ranks", or "none"
        raise UnsupportedError(
            f"importance scores labels or numbers, but --variant {options.variant} learns neither: use another variant"
        )


def _choose_score(training: Dataset, problem: Any, scoring: str | None) -> tuple[Any, str]:
    """Choose the scorer and its name, by default for the kind of target. Raises ParameterError."""
    if isinstance(problem, MulticlassProblem):
        machine = problem.build_machine(0)
    else:
        machine = problem
    scoring = scoring or (LABEL_SCORING if training.target_kind == "labels" else None)
    scorer = find_scorer(scoring, machine) or _compute_accuracy  # None stands for the accuracy
    return scorer, name_scorer(scoring, machine).replace("_", " ")


def _compute_accuracy(estimator: Any, X: Any, y: NDArray[Any]) -> float:
    """Compute the share of correct labels."""
    return float(np.mean(estimator.predict(X) == y))


def map_columns(dataset: Dataset) -> dict[str, IntArray]:
    """Map the name of each column of the file to its features."""
    encoding = dataset.table.encoding
    if not encoding.columns:
        return {name: np.array([j]) for j, name in enumerate(dataset.table.names)}
    ends = np.cumsum([0, *(len(column.names) for column in encoding.columns)])
    return {column.name: np.arange(ends[j], ends[j + 1]) for j, column in enumerate(encoding.columns)}


def build_shuffled_estimator(model: Any, X: FloatArray, columns: Sequence[IntArray]) -> Any:
    """Build a fitted estimator that predicts for combinations of the rows of X (m, d), for `permutation_importance`.

    It takes row numbers (m, c) in place of features: sample i has the features of column j from row (i, j) of X. Its
    attribute `unshuffled` (m, c) has the row numbers for which the samples are the rows of X themselves.

    columns: The features of each of the c columns.
    """
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    unshuffled = np.tile(np.arange(len(X))[:, None], (1, len(columns)))

    def decision_function(row_numbers: Any) -> FloatArray:
        """Compute the decision values: (m,) or (m, k)."""
        shuffled = X
        changed = np.flatnonzero((row_numbers != unshuffled).any(axis=0)).tolist()
        if changed:
            shuffled = X.copy()
            for j in changed:
                shuffled[:, columns[j]] = X[row_numbers[:, j]][:, columns[j]]
        values: FloatArray = model.decision_function(shuffled)
        return values

    class Shuffled(RegressorMixin if model.classes is None else ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """An estimator that is already fitted."""

        def __init__(self) -> None:
            self.unshuffled = unshuffled
            self.fitted_ = True
            if model.classes is not None:  # scorers look for the attribute, which a regressor must not have
                self.classes_ = model.classes
                self.decision_function = decision_function

        def fit(self, row_numbers: Any, y: Any) -> Shuffled:  # noqa: ARG002
            """Return the estimator, which is already fitted."""
            return self

        def predict(self, row_numbers: Any) -> NDArray[Any]:
            """Predict labels or numbers."""
            values = decision_function(row_numbers)
            return np.asarray(values if model.classes is None else decode_labels(model.classes, values))

    return Shuffled()


def _compute_score_losses(estimator: Any, y: NDArray[Any], scorer: Any, repeats: int, seed: int) -> FloatArray:
    """Compute how much the score drops for each column and repeat: (c, repeats)."""
    from sklearn.inspection import permutation_importance

    result: Any = permutation_importance(
        estimator, estimator.unshuffled, y, scoring=scorer, n_repeats=repeats, random_state=seed
    )
    return np.asarray(result.importances)


def compute_scaled_weights(model: Any, X: FloatArray) -> dict[str, FloatArray]:
    """Compute w times the standard deviations, (d,), of each decision function, by its name; {} if none is shown."""
    if model.w is None or isinstance(model, PairsModel):  # the f of pairs are not those of classes
        return {}
    deviation = X.std(axis=0)
    w = np.atleast_2d(model.w)
    if len(w) > MAX_SHOWN_CLASSES or w.shape[1] != len(deviation):  # the latter are weights of a feature map
        return {}
    if np.ndim(model.b) == 0:
        names = ["f"]
    else:
        names = [f"f of {label}" for label in model.classes]
    return {name: row * deviation for name, row in zip(names, w, strict=True)}


def format_table(
    dataset: Dataset, columns: Mapping[str, IntArray], order: IntArray, losses: FloatArray,
    scaled_weights: Mapping[str, FloatArray],
) -> list[str]:  # fmt: skip
    """Format the table: one line per column, ordered by the indices `order`, and below a category one per feature."""
    names = list(columns)
    rows: list[tuple[str, ...]] = []

    def add_row(name: str, cells: tuple[str, str], feature: int | None) -> None:
        weight_cells = ("" if feature is None else f"{row[feature]:.4g}" for row in scaled_weights.values())
        rows.append((name, *cells, *weight_cells))

    for j in order[:MAX_SHOWN_COLUMNS]:
        name = names[j]
        features = columns[names[j]]
        is_single = len(features) == 1
        add_row(name, (f"{losses[j].mean():.4f}", f"{losses[j].std():.4f}"), int(features[0]) if is_single else None)
        if scaled_weights and not is_single:
            for feature in features:
                suffix = dataset.table.names[feature].removeprefix(name)[1:]  # "x" of "town=x", "year" of "date.year"
                add_row(f"  {suffix or name}", ("", ""), int(feature))
    width = max(map(len, ["column", *(row[0] for row in rows)]))
    table = {"column".ljust(width): [row[0].ljust(width) for row in rows]}  # left-aligned
    table |= {heading: [row[k] for row in rows] for k, heading in enumerate(("loses", "±", *scaled_weights), 1)}
    if len(order) > MAX_SHOWN_COLUMNS:
        more = [f"and {len(order) - MAX_SHOWN_COLUMNS} more columns"]
    else:
        more = []
    return [*format_columns(table, formats={}).splitlines(), *more]
