"""Run `importance`: measure the loss in score if a column is shuffled, and print the weights of linear machines.

Columns are those of the file: the features of a category are shuffled together. Scikit-learn's `permutation_importance`
(Breiman, *Random forests*, 2001) shuffles and scores, on held-out rows or on all. It shuffles single features, so it is
given a matrix of row numbers with one column per column of the file: cell (i, j) is the row from which row i takes the
features of column j.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
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
#: Maximum number of columns that are printed.
MAX_SHOWN_COLUMNS = 40
#: Maximum number of decision functions whose weights are printed.
MAX_SHOWN_CLASSES = 6


def run(options: argparse.Namespace) -> int:
    """Train, shuffle each column, and print the loss in score. Raises ParameterError, UnsupportedError."""
    apply_defaults(options)
    _check_target(options)
    require_picture(options.plot)
    seed = DEFAULT_SEED if options.seed is None else options.seed
    training, scored = _read_rows(options, seed)
    problem = choose_problem(training, options)
    scorer, score_name = _choose_score(training, problem, options.scoring)
    result = solve_or_raise(problem, options)
    model = training.build_model(result, problem)
    columns = map_columns(training)
    X, y = _select_scored_rows(scored)
    estimator = build_shuffled_estimator(model, X, list(columns.values()))
    with Ticker(f"shuffling {len(columns)} columns"):
        losses = _compute_score_losses(estimator, y, scorer, options.repeats, seed)
    order = np.argsort(-losses.mean(axis=1), kind="stable")  # the largest loss first
    print(result.summary(notes=False))
    score = float(scorer(estimator, estimator.unshuffled, y))
    rows = f"all {len(y)} rows" if options.test_size is None else f"{len(y)} held-out rows"
    shuffles = f"{options.repeats} shuffles of each column (seed {seed})"
    print(f"  {score_name} {score:.4f} on {rows}; mean loss over {shuffles}:")
    _print_table(training, model, columns, order, losses)
    if options.plot is not None:
        names = [list(columns)[j] for j in order]
        write_picture(plotting.importance(names, losses[order], score=score_name), options.plot)
        print(f"  drawn       {options.plot}")
    if notes := format_notes(result.list_hints(training.table.names)):
        print(notes)
    return EXIT_CODES.get(result.status, 1)


def _select_scored_rows(scored: Dataset) -> tuple[FloatArray, NDArray[Any]]:
    """Return X (m, d) and the target (m,) of the rows to score. Each counts once, but rows of weight 0 are left out."""
    sample_weights = scored.table.weights
    n = scored.table.X.shape[0]
    if sample_weights is None:
        rows = np.arange(n)
    else:
        rows = np.flatnonzero(sample_weights > 0.0)
    return to_dense(scored.table.X[rows], path="the file"), np.asarray(scored.labels)[rows]


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
        training = scored = read_dataset(options)
    else:
        dataset = read_dataset(options, raw=True)
        training, scored = split_dataset(dataset, draw_held_out(dataset, options.test_size, seed), options)
    if isinstance(training.table.X, RowSource):
        raise UnsupportedError("importance shuffles columns, which needs the rows in memory: use fewer rows")
    return training, scored


def _check_target(options: argparse.Namespace) -> None:
    """Refuse machines whose target is neither labels nor numbers. Raises UnsupportedError."""
    if VARIANTS[options.variant]._target_kind not in ("labels", "numbers"):
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

    It takes row numbers (m, c) in place of features: sample i takes the features of column j from the row of X with
    number (i, j). With the row numbers of its attribute `unshuffled`, (m, c), the samples are the rows of X.

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
    rows = list(_iter_table_rows(dataset, columns, order, losses, scaled_weights))
    width = max(map(len, ["column", *(row[0] for row in rows)]))
    table = {"column".ljust(width): [row[0].ljust(width) for row in rows]}  # left-aligned
    table |= {heading: [row[k] for row in rows] for k, heading in enumerate(("loses", "±", *scaled_weights), 1)}
    lines = format_columns(table, formats={}).splitlines()
    if len(order) > MAX_SHOWN_COLUMNS:
        lines.append(f"and {len(order) - MAX_SHOWN_COLUMNS} more columns")
    return lines


def _iter_table_rows(
    dataset: Dataset, columns: Mapping[str, IntArray], order: IntArray, losses: FloatArray,
    scaled_weights: Mapping[str, FloatArray],
) -> Iterator[tuple[str, ...]]:  # fmt: skip
    """Yield the cells of each row of the table: name, mean and standard deviation of the loss, and weights."""
    weight_texts = [[f"{weight:.4g}" for weight in weights] for weights in scaled_weights.values()]
    names = list(columns)
    for j in order[:MAX_SHOWN_COLUMNS]:
        name = names[j]
        features = columns[name]
        loss = (f"{losses[j].mean():.4f}", f"{losses[j].std():.4f}")
        if len(features) == 1:
            yield name, *loss, *(texts[features[0]] for texts in weight_texts)
            continue
        yield name, *loss, *("" for _ in weight_texts)
        for feature in features if weight_texts else ():
            suffix = dataset.table.names[feature].removeprefix(name)[1:]  # "x" of "town=x", "year" of "date.year"
            yield f"  {suffix or name}", "", "", *(texts[feature] for texts in weight_texts)
