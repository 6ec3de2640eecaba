"""`importance`: what predictions lose where the cells of a column are shuffled; of a linear machine also its weights.

Columns are those of the file: the features of a category are shuffled together. Shuffling, scoring and repeating are
scikit-learn's `permutation_importance` (Breiman, *Random forests*, 2001), on rows that did not train, or on all.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.data.files.encoding import made_dense
from qpsvm.data.rows import RowSource
from qpsvm.faces import plotting
from qpsvm.faces.cli.commands.plot import require_picture, write_picture
from qpsvm.faces.cli.commands.solve import CODES, solved
from qpsvm.faces.cli.data import SEED, Sample, held_out, parts, read
from qpsvm.faces.cli.options import VARIANTS, settle
from qpsvm.faces.cli.scores import INDENT, notes
from qpsvm.faces.cli.several import SeveralClasses, labels_of, stated
from qpsvm.faces.cli.terminal import Ticker
from qpsvm.many.grid.parameters import table
from qpsvm.many.grid.scoring import name_of, scorer_of

#: The score of labels where none is asked for: a rare class counts as much as a common one.
OF_LABELS = "balanced_accuracy"
#: Columns that are printed, and classes of which weights are.
SHOWN_COLUMNS, SHOWN_CLASSES = 40, 6


def run(options: argparse.Namespace) -> int:
    """Train, shuffle column after column, and print what that costs. Raises ParameterError, UnsupportedError."""
    settle(options)
    _check(options)
    require_picture(options.plot)
    seed = SEED if options.seed is None else options.seed
    sample = test = whole = read(options, raw=options.test_size is not None)
    if options.test_size is not None:
        sample, test = parts(whole, held_out(whole, options.test_size, seed), options)
    if isinstance(sample.table.X, RowSource):
        raise UnsupportedError("importance shuffles columns, which needs the rows in memory: take fewer of them")
    problem = stated(sample, options)
    judged: Any = problem.bare(0) if isinstance(problem, SeveralClasses) else problem
    scoring = options.scoring or (OF_LABELS if sample.learnt == "labels" else None)
    scorer, score = scorer_of(scoring, judged) or _accuracy, name_of(scoring, judged)
    result = solved(problem, options)
    model, columns = sample.model(result, problem), columns_of(sample)
    weight, n = test.table.weights, test.table.X.shape[0]
    rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0.0)
    X, y = made_dense(test.table.X[rows], "the file"), np.asarray(test.labels)[rows]
    shuffled = shuffling(model, X, list(columns.values()))
    with Ticker(f"shuffling {len(columns)} columns"):
        lost = _lost(shuffled, y, scorer, options.repeats, seed)
    print(result.summary(notes=False))
    where = f"{len(rows)} rows that did not train" if options.test_size is not None else f"all {len(rows)} rows"
    base = float(scorer(shuffled, shuffled.places, y))
    called = score.replace("_", " ")
    print(
        f"  {called} {base:.4f} on {where}; it loses, where a column is shuffled {options.repeats} times (seed {seed}):"
    )
    order = np.argsort(-lost.mean(axis=1), kind="stable")
    weights = weights_of(model, made_dense(sample.table.X, "the file"))
    print("\n".join(f"{' ' * INDENT}{line}" for line in lines_of(sample, columns, order, lost, weights)))
    if weights:
        print(f"{' ' * INDENT}f moves so far where a feature grows by its deviation: its weight times that")
    if options.plot is not None:
        names = [list(columns)[j] for j in order]
        write_picture(plotting.importance(names, lost[order], score=called), options.plot)
        print(f"  drawn       {options.plot}")
    if last := notes(result.hints(sample.table.names)):
        print(last)
    return CODES.get(result.status, 1)


def _check(options: argparse.Namespace) -> None:
    """Refuse what has nothing to score. Raises UnsupportedError."""
    if VARIANTS[options.variant].learns not in ("labels", "numbers"):
        raise UnsupportedError(
            f"importance scores labels or numbers, and --variant {options.variant} learns neither: take another variant"
        )


def _accuracy(estimator: Any, X: Any, y: NDArray[Any]) -> float:
    """The share of labels that are right."""
    return float(np.mean(estimator.predict(X) == y))


def columns_of(sample: Sample) -> dict[str, IntArray]:
    """The features of each column of the file, by its name."""
    encoding = sample.table.encoding
    if not encoding.columns:
        return {name: np.array([j]) for j, name in enumerate(sample.table.names)}
    ends = np.cumsum([0, *(len(column.names) for column in encoding.columns)])
    return {column.name: np.arange(ends[j], ends[j + 1]) for j, column in enumerate(encoding.columns)}


def shuffling(model: Any, X: FloatArray, columns: Sequence[IntArray]) -> Any:
    """A fitted estimator over the places of cells (m, c), one column for each of the file: `places` are as they stand.

    Shapes: X (m, d).
    """
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    places = np.tile(np.arange(len(X))[:, None], (1, len(columns)))

    def values(given: Any) -> FloatArray:
        """The decision values of rows whose cells are taken from other rows: (m,) or (m, k)."""
        taken = X
        moved = np.flatnonzero((given != places).any(axis=0)).tolist()
        if moved:
            taken = X.copy()
            for j in moved:
                taken[:, columns[j]] = X[given[:, j]][:, columns[j]]
        found: FloatArray = model.decision_function(taken)
        return found

    class Shuffled(RegressorMixin if model.classes is None else ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """What is known of it is known already."""

        def __init__(self) -> None:
            self.places, self.fitted_ = places, True
            if model.classes is not None:
                self.classes_, self.decision_function = model.classes, values

        def fit(self, X: Any, y: Any) -> Shuffled:  # noqa: ARG002
            """It has been."""
            return self

        def predict(self, X: Any) -> NDArray[Any]:
            """Labels, or numbers."""
            found = values(X)
            return np.asarray(found if model.classes is None else labels_of(model.classes, found))

    return Shuffled()


def _lost(shuffled: Any, y: NDArray[Any], scorer: Any, repeats: int, seed: int) -> FloatArray:
    """What the score loses, column by column and repeat by repeat: (c, repeats)."""
    from sklearn.inspection import permutation_importance

    found: Any = permutation_importance(
        shuffled, shuffled.places, y, scoring=scorer, n_repeats=repeats, random_state=seed
    )
    return np.asarray(found.importances)


def weights_of(model: Any, X: FloatArray) -> dict[str, FloatArray]:
    """The weight of each feature times its deviation, (d,), by what f is of; empty where there are no weights."""
    if model.w is None or hasattr(model, "counts"):
        return {}
    deviation, w = X.std(axis=0), np.atleast_2d(model.w)
    if w.shape[1] != len(deviation) or len(w) > SHOWN_CLASSES:
        return {}
    names = ["f"] if np.ndim(model.b) == 0 else [f"f of {label}" for label in model.classes]
    return {name: row * deviation for name, row in zip(names, w, strict=True)}


def lines_of(
    sample: Sample,
    columns: Mapping[str, IntArray],
    order: IntArray,
    lost: FloatArray,
    weights: Mapping[str, FloatArray],
) -> list[str]:
    """The table: a line for each column, and below a category one for each of its weights."""
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
            add(f"  {sample.table.names[feature].removeprefix(names[j])[1:] or names[j]}", ("", ""), int(feature))
    width = max(map(len, (*found["column"], "column")))
    found = {key.ljust(width) if key == "column" else key: cells for key, cells in found.items()}
    found["column".ljust(width)] = [name.ljust(width) for name in found["column".ljust(width)]]
    more = [f"and {len(order) - SHOWN_COLUMNS} more columns"] if len(order) > SHOWN_COLUMNS else []
    return [*table(found, {}).splitlines(), *more]
