"""Draw the picture that suits a result into a file (`--plot`: `require_picture`, `choose_picture`, `write_picture`)."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.base.atomic_files import open_replacement
from qpsvm.base.errors import MissingExtraError, ParameterError, UnknownOptionError, describe_install, describe_nearest
from qpsvm.faces import plotting
from qpsvm.faces.cli.multiclass import MulticlassProblem
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.machines import AllInOneProblem, Problem, Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Extensions of picture files.
ENDINGS = (".png", ".svg", ".pdf")
#: Dots per inch of a PNG file.
PICTURE_DPI = 150


def require_picture(path: str | None) -> None:
    """Refuse a picture that cannot be drawn or written, before any work is done.

    Raises ParameterError, FileFormatError, MissingExtraError.
    """
    if path is None:
        return
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        what = f"ends in {ending}" if ending else "has no extension"
        raise ParameterError(f"--plot {path}: the name {what}; use {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    require_writable(path)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"--plot needs Matplotlib, which is not installed; run: {describe_install('plot')}"
        ) from error


def choose_picture(
    problem: Problem | MulticlassProblem, names: Sequence[str], axes: Sequence[str] | None
) -> Callable[[Any], Axes]:
    """Choose the function that draws a result of this problem. Raises UnknownOptionError, ParameterError."""
    if isinstance(problem, (MulticlassProblem, AllInOneProblem)):
        return _choose_multiclass_picture(problem, names, axes)
    if isinstance(problem, Ranking):
        _refuse_axes(axes, "a ranking is drawn by its pairs")
        return lambda result: plotting.complementarity(problem, result)
    if problem._regression_target is not None:
        _refuse_axes(axes, "a regression is drawn over one feature, or over its predictions")
        return lambda result: plotting.tube(problem, result, names=names)
    if axes is not None or problem.X.shape[1] <= 2:
        features = None if axes is None else _find_axes(names, axes)
        return lambda result: plotting.boundary(problem, result, features=features, names=names)
    return lambda result: plotting.decisions(problem, result)


def write_picture(ax: Axes, path: str) -> None:
    """Write the figure of some axes, completely or not at all. Raises FileAccessError."""
    from matplotlib import pyplot

    content = io.BytesIO()
    figure = ax.get_figure(root=True)
    assert figure is not None
    # "tight": next to a long legend, constrained layout may leave no room for a title of two lines
    figure.savefig(content, format=Path(path).suffix[1:].lower(), dpi=PICTURE_DPI, bbox_inches="tight")
    pyplot.close(figure)
    with open_replacement(path) as file:
        file.write(content.getvalue())


def _choose_multiclass_picture(
    problem: AllInOneProblem | MulticlassProblem, names: Sequence[str], axes: Sequence[str] | None
) -> Callable[[Any], Axes]:
    """Choose a picture of the classes over the plane of two features; with more features, the confusion matrix."""
    if isinstance(problem, MulticlassProblem):
        y = problem.y
    else:
        y = problem.classes[problem.class_index]
    X = problem.X[problem.active_rows]
    y = y[problem.active_rows]
    if axes is None and problem.X.shape[1] > 2:
        return lambda result: plotting.confusion(y, result.model.predict(X), title=f"{problem.title}: training rows")
    features = None if axes is None else _find_axes(names, axes)

    def draw(result: Any) -> Axes:
        is_support = np.isin(problem.active_rows, result.support)
        return plotting.regions(
            result.model, X, y, features=features, names=names, support=is_support, title=problem.title
        )

    return draw


def _refuse_axes(axes: Sequence[str] | None, fact: str) -> None:
    """Refuse `--axes` for a picture that has no plane of features. Raises ParameterError."""
    if axes is not None:
        raise ParameterError(f"--axes shows a plane of two features, but {fact}: leave --axes out")


def _find_axes(names: Sequence[str], axes: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of the features of the axes. Raises UnknownOptionError, ParameterError."""
    for axis in axes:
        if axis not in names:
            raise UnknownOptionError(f"no feature {axis!r} for --axes; {describe_nearest(axis, names)}")
    if len(set(axes)) < len(axes):
        raise ParameterError(f"--axes names {axes[0]} twice: name two different features")
    return tuple(list(names).index(axis) for axis in axes)
