"""`--plot`: the picture that suits a result, in a file."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.base.errors import MissingExtraError, ParameterError, UnknownOptionError, install, nearest
from qpsvm.base.writing import replacing
from qpsvm.faces import plotting
from qpsvm.faces.cli.several import SeveralClasses
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.machines import JointProblem, Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What a picture's name may end in.
ENDINGS = (".png", ".svg", ".pdf")
#: Dots an inch of a PNG file.
SHARPNESS = 150


def require_picture(path: str | None) -> None:
    """Refuse a picture that cannot be drawn or written, before anything else is done."""
    if path is None:
        return
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        what = f"ends in {ending}" if ending else "has no ending"
        raise ParameterError(f"--plot {path}: the name {what}; a picture is {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    require_writable(path)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"--plot needs Matplotlib, which is not installed; run: {install('plot')}") from error


def picture_of(problem: Any, names: Sequence[str], axes: Sequence[str] | None) -> Callable[[Any], Axes]:
    """What draws a result of this problem: the plane of two features, or what there is of more."""
    d = problem.X.shape[1]
    if isinstance(problem, (SeveralClasses, JointProblem)):
        return _of_several(problem, names, axes)
    if isinstance(problem, Ranking):
        if axes is not None:
            raise ParameterError(
                "--axes shows a plane of two features, and a ranking is drawn by its pairs: leave --axes out"
            )
        return lambda result: plotting.complementarity(problem, result)
    if problem.shown_target is not None:
        if axes is not None:
            raise ParameterError("--axes shows a plane of two features, and a regression is drawn over one feature, or "
                                 "over its predictions: leave --axes out")  # fmt: skip
        return lambda result: plotting.tube(problem, result, names=names)
    if axes is not None or d <= 2:
        features = None if axes is None else _columns(names, axes)
        return lambda result: plotting.boundary(problem, result, features=features, names=names)
    return lambda result: plotting.decisions(problem, result)


def _of_several(problem: Any, names: Sequence[str], axes: Sequence[str] | None) -> Callable[[Any], Axes]:
    """The classes over the plane of two features; of more, which of them is taken for which."""
    y = problem.y if isinstance(problem, SeveralClasses) else problem.classes[problem.label]
    X, y = problem.X[problem.rows], y[problem.rows]
    if axes is None and problem.X.shape[1] > 2:
        return lambda result: plotting.confusion(y, result.model.predict(X), title=f"{problem.title}: training rows")
    features = None if axes is None else _columns(names, axes)

    def draw(result: Any) -> Axes:
        place = np.isin(problem.rows, result.support)
        return plotting.regions(result.model, X, y, features=features, names=names, support=place, title=problem.title)

    return draw


def _columns(names: Sequence[str], axes: Sequence[str]) -> tuple[int, ...]:
    for axis in axes:
        if axis not in names:
            raise UnknownOptionError(f"no feature {axis!r} for --axes; {nearest(axis, names)}")
    if len(set(axes)) < len(axes):
        raise ParameterError(f"--axes names {axes[0]} twice; a plane has two features")
    return tuple(list(names).index(axis) for axis in axes)


def write_picture(ax: Axes, path: str) -> None:
    """Write the figure of some axes: whole, or not at all. Raises FileAccessError."""
    from matplotlib import pyplot

    content = io.BytesIO()
    figure = ax.get_figure(root=True)
    assert figure is not None
    # "tight": beside a long legend, constrained layout may leave a title of two lines no room
    figure.savefig(content, format=Path(path).suffix[1:].lower(), dpi=SHARPNESS, bbox_inches="tight")
    pyplot.close(figure)
    with replacing(path) as file:
        file.write(content.getvalue())
