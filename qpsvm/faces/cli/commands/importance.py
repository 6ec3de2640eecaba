"""Run `importance`: the loss of accuracy if a column is shuffled, and the weights of linear machines.

Columns are those of the file: the features of a category are shuffled together. Shuffling, scoring and repeating are
those of scikit-learn's `permutation_importance` (Breiman, *Random forests*, 2001), on held-out rows or on all.
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
from qpsvm.faces.cli.problem_options import VARIANTS, apply_defaults
from qpsvm.faces.cli.scores import INDENT, format_notes
from qpsvm.faces.cli.several import MulticlassProblem, choose_problem, decode_labels
from qpsvm.faces.cli.splits import SEED, draw_held_out, split_dataset
from qpsvm.faces.cli.ticker import Ticker
from qpsvm.many.grid.parameters import table
from qpsvm.many.grid.scorers import find_scorer, name_scorer

#: Default score for labels: a rare class counts as much as a common one.
LABEL_SCORING = "balanced_accuracy"
#: Largest numbers of printed columns, and of classes whose weights are printed.
SHOWN_COLUMNS, SHOWN_CLASSES = 40, 6


def run(options: argparse.Namespace) -> int:
    """Train, shuffle each column, and print the loss in score. Raises ParameterError, UnsupportedError."""
    apply_defaults(options)
    _check_target(options)
    require_picture(options.plot)
    seed = SEED if options.seed is None else options.seed
    sample = test = whole = read_dataset(options, raw=options.test_size is not None)
    if options.test_size is not None:
        sample, test = split_dataset(whole, draw_held_out(whole, options.test_size, seed), options)
    if isinstance(sample.table.X, RowSource):
        raise UnsupportedError("importance shuffles columns, which needs the rows in memory: use fewer rows")
    problem = choose_problem(sample, options)
    judged: Any = problem.build_machine(0) if isinstance(problem, MulticlassProblem) else problem
    scoring = options.scoring or (LABEL_SCORING if sample.target_kind == "labels" else None)
    scorer, score = find_scorer(scoring, judged) or _compute_accuracy, name_scorer(scoring, judged)
    result = solve_or_raise(problem, options)
    model, columns = sample.build_model(result, problem), map_columns(sample)
    weight, n = test.table.weights, test.table.X.shape[0]
    rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0.0)
    X, y = to_dense(test.table.X[rows], "the file"), np.asarray(test.labels)[rows]
    shuffled = build_shuffled_estimator(model, X, list(columns.values()))
    with Ticker(f"shuffling {len(columns)} columns"):
        lost = _compute_score_losses(shuffled, y, scorer, options.repeats, seed)
    print(result.summary(notes=False))
    where = f"{len(rows)} held-out rows" if options.test_size is not None else f"all {len(rows)} rows"
    base = float(scorer(shuffled, shuffled.places, y))
    called = score.replace("_", " ")
    print(f"  {called} {base:.4f} on {where}; mean loss over {options.repeats} shuffles of each column (seed {seed}):")
    order = np.argsort(-lost.mean(axis=1), kind="stable")
    weights = compute_scaled_weights(model, to_dense(sample.table.X, "the file"))
    print("\n".join(f"{' ' * INDENT}{line}" for line in format_table(sample, columns, order, lost, weights)))
    if weights:
        print(
            f"{' ' * INDENT}f changes by this much if a feature grows by its standard deviation: its weight times that"
        )
    if options.plot is not None:
        names = [list(columns)[j] for j in order]
        write_picture(plotting.importance(names, lost[order], score=called), options.plot)
        print(f"  drawn       {options.plot}")
    if last := format_notes(result.list_hints(sample.table.names)):
        print(last)
    return EXIT_CODES.get(result.status, 1)


def _check_target(options: argparse.Namespace) -> None:
    """Refuse machines without a target to score. Raises UnsupportedError."""
    if VARIANTS[options.variant]._target_kind not in ("labels", "numbers"):
        raise UnsupportedError(
            f"importance scores labels or numbers, but --variant {options.variant} learns neither: use another variant"
        )


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
    """Build a fitted estimator over row numbers (m, c), one per column of the file; `places` are the unshuffled ones.

    Shapes: X (m, d).
    """
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    places = np.tile(np.arange(len(X))[:, None], (1, len(columns)))

    def values(given: Any) -> FloatArray:
        """Compute the decision values of rows whose cells come from other rows: (m,) or (m, k)."""
        taken = X
        moved = np.flatnonzero((given != places).any(axis=0)).tolist()
        if moved:
            taken = X.copy()
            for j in moved:
                taken[:, columns[j]] = X[given[:, j]][:, columns[j]]
        found: FloatArray = model.decision_function(taken)
        return found

    class Shuffled(RegressorMixin if model.classes is None else ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """An estimator that is already fitted."""

        def __init__(self) -> None:
            self.places, self.fitted_ = places, True
            if model.classes is not None:
                self.classes_, self.decision_function = model.classes, values

        def fit(self, X: Any, y: Any) -> Shuffled:  # noqa: ARG002
            """Return the estimator, which is already fitted."""
            return self

        def predict(self, X: Any) -> NDArray[Any]:
            """Predict labels or numbers."""
            found = values(X)
            return np.asarray(found if model.classes is None else decode_labels(model.classes, found))

    return Shuffled()


def _compute_score_losses(shuffled: Any, y: NDArray[Any], scorer: Any, repeats: int, seed: int) -> FloatArray:
    """Compute how much the score drops for each column and repeat: (c, repeats)."""
    from sklearn.inspection import permutation_importance

    found: Any = permutation_importance(
        shuffled, shuffled.places, y, scoring=scorer, n_repeats=repeats, random_state=seed
    )
    return np.asarray(found.importances)


def compute_scaled_weights(model: Any, X: FloatArray) -> dict[str, FloatArray]:
    """Compute the weight of each feature times its standard deviation, (d,), per function; {} without weights."""
    if model.w is None or hasattr(model, "counts"):
        return {}
    deviation, w = X.std(axis=0), np.atleast_2d(model.w)
    if w.shape[1] != len(deviation) or len(w) > SHOWN_CLASSES:
        return {}
    names = ["f"] if np.ndim(model.b) == 0 else [f"f of {label}" for label in model.classes]
    return {name: row * deviation for name, row in zip(names, w, strict=True)}


def format_table(
    dataset: Dataset,
    columns: Mapping[str, IntArray],
    order: IntArray,
    lost: FloatArray,
    weights: Mapping[str, FloatArray],
) -> list[str]:
    """Format the table: one line per column, and below a category one per weight."""
    names, found = list(columns), {key: list[str]() for key in ("column", "loses", "±", *weights)}

    def add(name: str, cells: Sequence[str], feature: int | None) -> None:
        shown = ["" if feature is None else f"{row[feature]:.4g}" for row in weights.values()]
        for key, cell in zip(found, (name, *cells, *shown), strict=True):
            found[key].append(cell)

    for j in order[:SHOWN_COLUMNS]:
        features = columns[names[j]]
        one = len(features) == 1
        add(names[j], (f"{lost[j].mean():.4f}", f"{lost[j].std():.4f}"), int(features[0]) if one else None)
        for feature in features if weights and not one else ():
            add(f"  {dataset.table.names[feature].removeprefix(names[j])[1:] or names[j]}", ("", ""), int(feature))
    width = max(map(len, (*found["column"], "column")))
    found = {key.ljust(width) if key == "column" else key: cells for key, cells in found.items()}
    found["column".ljust(width)] = [name.ljust(width) for name in found["column".ljust(width)]]
    more = [f"and {len(order) - SHOWN_COLUMNS} more columns"] if len(order) > SHOWN_COLUMNS else []
    return [*table(found, {}).splitlines(), *more]
