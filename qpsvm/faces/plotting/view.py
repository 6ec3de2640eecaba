"""Choose the line or plane of one or two features that a picture shows (`View`, `build_view`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.base.errors import DataError, ParameterError, ParameterTypeError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.faces.plotting.accepted import build_refusal, suggest_alternative
from qpsvm.faces.plotting.labels import escape_label, set_labels
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Precomputed

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # for the annotations of the pictures
    Axes = Any


#: Both axes have the same scale, unless one side of the plane would then be more than this multiple of the other.
MAX_ASPECT_RATIO = 4.0
#: Points of a curve over one feature.
CURVE_POINTS = 400
#: Part of the error for a precomputed kernel.
NO_FEATURES = "a precomputed kernel has no features to draw"
#: Note in the title of a picture whose axes have different scales.
DISTORTED = "units differ: right angles do not look right"
#: Width of a picture, in inches.
WIDTH = 6.4
#: Width of its plane, in inches.
PLANE_WIDTH = 5.4
#: Height of title, labels and legend together, in inches.
TEXT_HEIGHT = 1.9
#: Limits on the height of the plane, in inches.
MIN_HEIGHT, MAX_HEIGHT = 2.0, 4.6
#: Free space on each side of the samples, as a share of their range.
PADDING = 0.12


@dataclass(frozen=True, eq=False)
class View:
    """A line or plane through the space of the samples, onto which they are projected.

    columns: The features shown, one or two.
    base (d,): The medians of all features, at which those not shown are held.
    points (m, len(columns)): The samples, projected.
    names: The labels of the features shown.
    note: Which features are held fixed, for the title.
    """

    columns: tuple[int, ...]
    base: FloatArray
    points: FloatArray
    names: list[str]
    note: str

    def compute_grid(self, axis: int, count: int) -> FloatArray:
        """Return evenly spaced values of the feature shown on an axis, from border to border: (count,)."""
        low, high = float(self.points[:, axis].min()), float(self.points[:, axis].max())
        padding = PADDING * (high - low) or PADDING * abs(high) or 1.0
        return np.linspace(low - padding, high + padding, count)

    @property
    def is_plane(self) -> bool:
        """Whether two features are shown."""
        return len(self.columns) == 2

    @property
    def aspect_ratio(self) -> float:
        """Height over width of the plane, in the units of the features."""
        (left, right), (low, high) = self.compute_grid(0, 2), self.compute_grid(1, 2)
        return float((high - low) / (right - left))

    @property
    def has_equal_units(self) -> bool:
        """Whether both axes have the same scale, so that w appears perpendicular to the boundary."""
        return 1 / MAX_ASPECT_RATIO <= self.aspect_ratio <= MAX_ASPECT_RATIO

    @property
    def figure_size(self) -> tuple[float, float] | None:
        """Width and height of a figure into which the plane fits, in inches; None for one feature."""
        if not self.is_plane:
            return None
        height = 0.6 * PLANE_WIDTH
        if self.has_equal_units:
            height = min(max(PLANE_WIDTH * self.aspect_ratio, MIN_HEIGHT), MAX_HEIGHT)
        return WIDTH, height + TEXT_HEIGHT

    def set_frame(self, ax: Axes) -> str:
        """Set limits, scale and labels of both axes; return a note about the scale, or ""."""
        ax.set_xlim(*self.compute_grid(0, 2))
        ax.set_ylim(*self.compute_grid(1, 2))
        ax.set_aspect("equal" if self.has_equal_units else "auto")
        set_labels(ax, *self.names)
        return "" if self.has_equal_units else DISTORTED

    def evaluate(self, result: SVMResult, points: FloatArray) -> FloatArray:
        """Evaluate f at k points of the view, in blocks. Shapes: points (k, len(columns)) → (k,)."""
        step = max(1, BLOCK_NUMBERS // len(self.base))
        blocks = [points[i : i + step] for i in range(0, len(points), step)]
        with np.errstate(all="ignore"):  # values that overflow are not drawn
            return np.concatenate([result.decision_function(self.embed_points(block)) for block in blocks])

    def embed_points(self, points: FloatArray) -> FloatArray:
        """Return points of the view, (k, len(columns)), as samples with the other features at their medians: (k, d)."""
        X = np.tile(self.base, (len(points), 1))
        X[:, list(self.columns)] = points
        return X


def build_view(name: str, problem: Problem, features: Sequence[int] | None, names: Sequence[str] | None) -> View:
    """Build the view of the requested features, for the picture of this name.

    Raises UnsupportedError, ParameterError, ParameterTypeError, DataError.
    """
    return build_feature_view(problem, check_features(name, problem, features), names)


def check_features(name: str, problem: Problem, features: Sequence[int] | None) -> tuple[int, ...]:
    """Return the one or two features that a picture shows. Raises UnsupportedError, ParameterError."""
    if isinstance(problem.kernel, Precomputed):
        raise build_refusal(name, problem, NO_FEATURES)
    if features is None:
        advice = f"; {suggest_alternative(name, problem)} without a choice"
    else:
        advice = ""
    return choose_features(int(problem.X.shape[1]), features, advice)


def build_feature_view(problem: Problem, columns: tuple[int, ...], names: Sequence[str] | None) -> View:
    """Build the view of one or two features of a problem. Raises ParameterTypeError, DataError."""
    return build_sample_view(as_dense(problem.X[problem.active_rows]), columns, names)


def build_sample_view(X: FloatArray, columns: tuple[int, ...], names: Sequence[str] | None) -> View:
    """Build the view of one or two features of samples (n, d). Raises ParameterTypeError, DataError."""
    d = int(X.shape[1])
    labels = build_feature_labels(names, d)
    if labels is None:
        labels = [f"feature {j}" if d > 2 else f"$x_{j + 1}$" for j in range(d)]
    n_held = d - len(columns)
    if n_held:
        note = f"{n_held} other feature{'s' if n_held > 1 else ''} held at the median"
    else:
        note = ""
    return View(columns, np.median(X, axis=0), X[:, list(columns)], [labels[j] for j in columns], note)


def build_feature_labels(names: Sequence[str] | None, d: int) -> list[str] | None:
    """Return the names of d features as labels, or None if none are given. Raises ParameterTypeError, DataError."""
    if names is None:
        return None
    if isinstance(names, (str, bytes)) or not (hasattr(names, "__len__") and hasattr(names, "__getitem__")):
        raise ParameterTypeError(f"names must be a sequence with one text for each feature, got {format_value(names)}")
    if np.ndim(names) != 1 or len(names) != d:
        count = len(names) if np.ndim(names) == 1 else f"shape {np.shape(names)}"
        raise DataError(f"names must have one entry for each of the {d} features, got {count}")
    return [escape_label(name) for name in names]


def choose_features(d: int, features: Sequence[int] | None, advice: str = "") -> tuple[int, ...]:
    """Return the one or two of d features that a picture shows; `advice` ends the error. Raises ParameterError."""
    if features is None:
        if d > 2:
            raise ParameterError(
                f"the samples have {d} features and a picture shows two: pass features=(i, j) with 0 <= i, j < {d}; "
                f"the others are held at their medians{advice}"
            )
        return tuple(range(d))
    chosen = np.atleast_1d(np.asarray(features))
    count = min(d, 2)
    is_choice = chosen.dtype.kind in "iu" and chosen.shape == (count,) and len(set(chosen.tolist())) == count
    if not is_choice or chosen.min() < 0 or chosen.max() >= d:
        expected = "(0,)" if d == 1 else f"two different integers from 0 to {d - 1}"
        raise ParameterError(f"features must be {expected}, got {format_value(features)}")
    return tuple(int(j) for j in chosen)
