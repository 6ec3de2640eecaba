"""What a kernel is: K(x, z) a matrix at a time, its diagonal, and what is known of it; and any callable as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.arrays.words import outline
from qpsvm.base.errors import DataError, DataTypeError


class Kernel(ABC):
    """What the library asks of a kernel.

    See Also
    --------
    Linear, Polynomial, RBF, Sigmoid, Precomputed : The kernels of the library.

    Examples
    --------
    A kernel of your own: of a function, or, where its matrices are known to be positive semidefinite, of a class, which
    spares the test of that.

    >>> import numpy as np
    >>> import qpsvm
    >>> class Cosine(qpsvm.Kernel):
    ...     def __call__(self, X, Z):
    ...         unit = [A / np.linalg.norm(A, axis=1, keepdims=True) for A in (X, Z)]
    ...         return unit[0] @ unit[1].T
    ...     def diagonal(self, X):
    ...         return np.ones(len(X))
    ...     is_psd = True
    >>> X, y = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]), [0, 0, 1]
    >>> print(qpsvm.solve(qpsvm.CSVM(X, y, kernel=Cosine())).predict([[9.0, 0.0], [0.0, 9.0]]))
    [0 1]
    >>> print(qpsvm.solve(qpsvm.CSVM(X, y, kernel=lambda X, Z: (X @ Z.T) ** 2)).status)
    optimal
    """

    #: K(x, z) in one line, for the page; empty for what is no function of samples.
    formula: ClassVar[str] = ""

    @abstractmethod
    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        """Evaluate K(x_i, z_j): X (n, d), Z (m, d) to (n, m)."""

    @abstractmethod
    def diagonal(self, X: Matrix) -> FloatArray:
        """Evaluate K(x_i, x_i).

        Parameters
        ----------
        X : ndarray or SciPy sparse, shape (n, d)
            Samples.

        Returns
        -------
        ndarray, shape (n,)
            The diagonal of K(X, X).

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> print(qpsvm.Linear().diagonal(np.array([[1.0, 2.0], [3.0, 0.0]])))
        [5. 9.]
        """

    @property
    @abstractmethod
    def is_psd(self) -> bool:
        """Whether every Gram matrix is positive semidefinite by construction."""

    def resolve(self, X: Matrix) -> Kernel:  # noqa: ARG002  (most kernels have nothing to resolve)
        """Return the kernel with every parameter a number, given the training samples.

        Parameters
        ----------
        X : ndarray or SciPy sparse, shape (n, d)
            The training samples.

        Returns
        -------
        Kernel
            Itself where there is nothing to resolve.

        Raises
        ------
        ParameterError
            `gamma="scale"` of samples that have no variance.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> X = np.array([[0.0], [2.0]])  # d = 1, variance 1
        >>> qpsvm.RBF("scale").resolve(X)
        RBF(gamma=1.0)
        """
        return self

    def __repr__(self) -> str:
        return outline(type(self).__name__, **getattr(self, "__dict__", {}))

    def __str__(self) -> str:
        """As `repr`, with four significant digits of each parameter: for titles, which people read."""
        if not is_dataclass(self):
            return repr(self)
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        parts = [f"{name}={f'{x:.4g}' if isinstance(x, float) else repr(x)}" for name, x in values.items()]
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True)
class UserKernel(Kernel):
    """Any callable `(X, Z) -> (n, m)`, checked each time it is called."""

    function: Callable[[Matrix, Matrix], Any]

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        """Call the function and check shape, type and finiteness of what it returns: (n, m)."""
        try:
            values = np.asarray(self.function(X, Z))
        except ValueError as error:
            raise DataError(f"the kernel {self} failed, or returned rows of unequal length: {error}") from error
        expected = (X.shape[0], Z.shape[0])
        if values.shape != expected:
            raise DataError(
                f"the kernel {self} returned shape {values.shape} for X {X.shape} and Z {Z.shape}; it must return "
                f"{expected}: every row of X against every row of Z"
            )
        if values.dtype.kind not in "biuf":
            raise DataTypeError(f"the kernel {self} returned {values.dtype} values; a kernel is real")
        if not np.isfinite(values).all():
            i, j = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
            raise DataError(f"the kernel {self} returned {values[i, j]} for row {i} of X and row {j} of Z")
        return values.astype(np.float64)

    def diagonal(self, X: Matrix) -> FloatArray:
        blocks = [X[i : i + 64] for i in range(0, X.shape[0], 64)]
        return np.concatenate([self(block, block).diagonal() for block in blocks])

    is_psd = False  # unknown, so tested

    def __str__(self) -> str:
        function = getattr(self.function, "func", self.function)  # what functools.partial fills in
        return str(getattr(function, "__name__", type(function).__name__))

    def __repr__(self) -> str:
        return f"UserKernel({self})"
