"""The decision function f(x) = Σ c_i K(x_i, x) + b on its own: predicts, and is saved and loaded without pickle."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays import FloatArray, Matrix, as_matrix, outline
from qpsvm.errors import FileFormatError, MissingFileError, UnsupportedError
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid, UserKernel

#: Kernel values evaluated at a time when predicting (64 MB).
BLOCK_VALUES = 8_000_000
#: Kernels that a file can name.
SAVED_KERNELS: dict[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}
FILE_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Model:
    """A trained decision function.

    Attributes
    ----------
    kernel : Kernel
        With every parameter a number.
    classes : ndarray, shape (2,)
        The labels for f ≤ 0 and f > 0.
    b : float
        Intercept.
    coef : ndarray, shape (m,)
        c_i = α_i y_i of the rows kept; empty for a linear machine, which is `w`.
    vectors : ndarray or csr_array, shape (m, d)
        The rows kept; for a precomputed kernel their column numbers, shape (m,).
    w : ndarray, shape (d,), or None
        Weight vector of a linear machine.
    n_features : int
        Width of what is predicted; for a precomputed kernel the number of training rows.
    metadata : dict
        Anything that JSON holds, kept with the file.
    """

    kernel: Kernel
    classes: NDArray[Any]
    b: float
    coef: FloatArray
    vectors: Matrix
    w: FloatArray | None
    n_features: int
    metadata: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return outline("Model", **vars(self))

    def decision_function(self, X: Any) -> FloatArray:
        """f(x) for each row of X.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)
            Positive on the side of the larger label.

        Raises
        ------
        DataError
            Another width than was trained on, NaN or infinity (row and column are named).
        """
        samples = as_matrix(X, "X", self.n_features)
        if self.w is not None:
            linear: FloatArray = samples @ self.w + self.b
            return linear
        if isinstance(self.kernel, Precomputed):
            K = self.kernel(samples, samples)
            return K[:, self.vectors] @ self.coef + self.b
        if not len(self.coef):
            return np.full(samples.shape[0], self.b)
        step = max(1, BLOCK_VALUES // len(self.coef))
        blocks = (samples[i : i + step] for i in range(0, samples.shape[0], step))
        return np.concatenate([self.kernel(block, self.vectors) @ self.coef for block in blocks]) + self.b

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X (m, d): the larger one where f > 0. Shape (m,); errors as above."""
        labels: NDArray[Any] = self.classes[(self.decision_function(X) > 0).astype(int)]
        return labels

    def save(self, path: str | Path) -> None:
        """Write the model to a NumPy .npz file, without pickle.

        Raises
        ------
        UnsupportedError
            The kernel is a Python callable, or the labels are objects that are neither numbers nor text.
        """
        name = next((k for k, kind in SAVED_KERNELS.items() if type(self.kernel) is kind), None)
        if name is None or isinstance(self.kernel, UserKernel):
            raise UnsupportedError(f"the kernel {self.kernel} is a Python callable, which a file cannot hold")
        classes = self.classes
        if classes.dtype == object:
            if not all(isinstance(c, str) for c in classes):
                kind = type(classes[0]).__name__
                raise UnsupportedError(f"labels of type {kind} cannot be saved; use text or numbers")
            classes = np.array([str(c) for c in classes])
        header = {
            "format": FILE_FORMAT,
            "kernel": name,
            "parameters": asdict(self.kernel),  # type: ignore[call-overload]
            "n_features": self.n_features,
            "metadata": self.metadata,
        }
        arrays: dict[str, Any] = {"classes": classes, "b": np.float64(self.b), "coef": self.coef}
        if self.w is not None:
            arrays["w"] = self.w
        elif sp.issparse(self.vectors):
            V = self.vectors
            arrays.update(data=V.data, indices=V.indices, indptr=V.indptr, rows=np.int64(V.shape[0]))
        else:
            arrays["vectors"] = self.vectors
        with Path(path).open("wb") as file:
            np.savez_compressed(file, header=np.array(json.dumps(header, default=float)), **arrays)


def load(path: str | Path) -> Model:
    """Read a model that `Model.save` or `SVMResult.save` wrote.

    Raises
    ------
    MissingFileError
        No such file.
    FileFormatError
        Not a model of this library, or damaged.
    """
    where = Path(path)
    if not where.is_file():
        raise MissingFileError(f"no model file {str(where)!r}")
    try:
        with np.load(where, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        header = json.loads(str(arrays["header"]))
        if header["format"] != FILE_FORMAT:
            raise FileFormatError(f"{where} has format {header['format']}; this version reads {FILE_FORMAT}")
        return _from_arrays(header, arrays)
    except (KeyError, TypeError, AttributeError, ValueError, EOFError, OSError, BadZipFile) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{where} is not a model saved by qpsvm, or it is damaged ({error})") from None


def _from_arrays(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Model:
    if "data" in arrays:
        shape = (int(arrays["rows"]), header["n_features"])
        vectors = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    else:
        vectors = arrays.get("vectors", np.zeros((0, header["n_features"])))
    coef, classes, b, w = arrays["coef"], arrays["classes"], float(arrays["b"]), arrays.get("w")
    width = int(header["n_features"])
    fits = w.shape == (width,) if w is not None else len(coef) == vectors.shape[0]
    if w is None and header["kernel"] != "precomputed":
        fits = fits and vectors.shape[1] == width
    numbers = [np.array(b), coef, *([] if w is None else [w])]
    if not fits or classes.shape != (2,) or not all(np.isfinite(v).all() for v in numbers):
        raise ValueError("its arrays do not fit together")
    return Model(
        kernel=SAVED_KERNELS[header["kernel"]](**header["parameters"]),
        classes=classes,
        b=b,
        coef=coef,
        vectors=vectors,
        w=w,
        n_features=width,
        metadata=header["metadata"],
    )
