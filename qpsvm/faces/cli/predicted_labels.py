"""Predict with a model, in memory or block by block, and turn decision values into labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.data.rows import RowSource


def predict_rows(model: Any, X: Any) -> NDArray[Any]:
    """Predict rows, (n,); stored rows are read block by block."""
    if not isinstance(X, RowSource) or np.ndim(model.b) == 0:
        return np.asarray(model.predict(X))
    return np.concatenate([model.predict(piece.matrix) for block in X.blocks() for piece in block.iter_tiles()])


def decode_labels(classes: NDArray[Any] | None, values: FloatArray) -> Any:
    """Return the labels (m,) for decision values (m,), or (m, k) for several classes; None without classes."""
    if classes is None:
        return None
    return classes[values.argmax(axis=1) if values.ndim > 1 else (values > 0).astype(int)]
