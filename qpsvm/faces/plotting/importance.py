"""Draw the permutation importance of each column (`importance`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.errors import DataError
from qpsvm.faces.plotting.labels import escape_label, set_labels, set_title
from qpsvm.faces.plotting.palette import BLACK, BLUE, GREY
from qpsvm.faces.plotting.picture import Axes, make_axes, picture

#: Largest number of columns that a picture shows.
MAX_COLUMNS = 30
#: Inches: width, height of a bar, and height of the title and the labels together.
WIDTH, BAR_HEIGHT, LABEL_HEIGHT = 6.4, 0.32, 1.3


@picture
def importance(
    names: Sequence[str], lost: ArrayLike, *, score: str = "score", title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw how much a score falls if a column is shuffled: in each repeat, in the mean, and the standard deviation.

    Parameters
    ----------
    names : sequence of str
        Names of the c columns, the first on top. At most 30 are drawn.
    lost : array_like, shape (c, repeats)
        How much the score falls: `importances` of `sklearn.inspection.permutation_importance`.
    score : str, default="score"
        The name of the score.
    title : str, optional
        The title.
    ax

    Returns
    -------
    Axes
        A bar for each column, with a point for each repeat.

    Raises
    ------
    DataError, ParameterTypeError, MissingExtraError

    Examples
    --------
    >>> import qpsvm
    >>> ax = qpsvm.plotting.importance(["visits", "age"], [[0.2, 0.3], [0.0, 0.1]], score="accuracy")
    >>> print(ax.get_xlabel())
    accuracy lost where the column is shuffled
    """
    values = np.asarray(lost, dtype=np.float64)
    if values.ndim != 2 or len(values) != len(names) or not values.size or not np.isfinite(values).all():
        raise DataError(f"lost must be finite, a row for each of the {len(names)} names, got shape {values.shape}")
    shown = values[:MAX_COLUMNS]
    ax = make_axes(ax, (WIDTH, BAR_HEIGHT * len(shown) + LABEL_HEIGHT))
    places = np.arange(len(shown))
    error = {"ecolor": BLACK, "elinewidth": 1.0, "capsize": 2.5}
    ax.barh(places, shown.mean(axis=1), xerr=shown.std(axis=1), color=BLUE, alpha=0.5, height=0.7, error_kw=error)
    ax.plot(shown.ravel(), np.repeat(places, shown.shape[1]), ".", color=GREY, markersize=3.0, zorder=3)
    ax.axvline(0.0, color=BLACK, linewidth=0.8)
    ax.set_yticks(places, [escape_label(name) for name in names[:MAX_COLUMNS]])
    ax.invert_yaxis()
    set_labels(ax, f"{score} lost where the column is shuffled", "")
    set_title(ax, title, f"the first {MAX_COLUMNS} of {len(values)} columns" if len(values) > MAX_COLUMNS else "")
    return ax
