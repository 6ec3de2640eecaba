"""A result's way to the optimum of changed data."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

from numpy.typing import ArrayLike


class ChangedData:
    """The same machine with samples left out, added, or corrected: solved from here, certified by itself."""

    def without(self, rows: ArrayLike, **options: Any) -> Self:
        """The optimum without some samples, as if they had never been there.

        Parameters
        ----------
        rows : array_like of int, or of bool, shape (n,)
            Indices of the caller's samples, or a mask.
        **options
            As for `solve`.

        Returns
        -------
        SVMResult
            Of the problem over the other samples, in their order: `verify` proves it.

        Raises
        ------
        DataError
            No such row; rows that leave one class, or nothing.
        ParameterTypeError
            No indices.
        UnsupportedError
            A result without samples; a machine of pairs, or of several classes in one program; a row that is a landmark
            of the kernel.
        InfeasibleNuError
            A ν that is too large for the samples that are left.

        See Also
        --------
        leave_one_out : Without each sample in turn.

        Notes
        -----
        Parameters stay as they are: a γ that "scale" made of all samples, too. A kernel matrix that psd= repairs is
        made anew.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1]))
        >>> less = result.without([4])
        >>> print(less.status, less.w.round(6), round(less.b, 6))
        optimal [1.] -2.0
        """
        return _changed().without(self, rows, options)  # type: ignore[no-any-return]

    def with_samples(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, **options: Any
    ) -> Self:
        """The optimum with more samples, behind those that it has.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (q, d)
            The new samples.
        y : array_like, shape (q,), optional
            Their labels, of the classes that the machine has, or numbers; nothing for novelty detection.
        sample_weight : array_like, shape (q,), optional
            By default 1.
        **options
            As for `solve`.

        Returns
        -------
        SVMResult
            Of the problem over all samples.

        Raises
        ------
        DataError, DataTypeError
            Samples that do not fit; a label of another class.
        UnsupportedError
            A result without samples; a precomputed kernel; a parameter with a number for each sample.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [4.0]], [0, 1]))
        >>> more = result.with_samples([[1.0], [3.0]], [0, 1])
        >>> print(more.status, more.w.round(6), round(more.b, 6))
        optimal [1.] -2.0
        """
        return _changed().with_samples(self, X, y, sample_weight, options)  # type: ignore[no-any-return]

    def with_targets(self, y: ArrayLike, **options: Any) -> Self:
        """The optimum with other labels or numbers for the same samples.

        Parameters
        ----------
        y : array_like, shape (n,)
            One for each sample, those that stay the same included.
        **options
            As for `solve`.

        Returns
        -------
        SVMResult
            Of the problem with these targets.

        Raises
        ------
        DataError, DataTypeError
            Another shape; a label of another class; one class only.
        UnsupportedError
            A result without samples; a machine that learns no targets.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 1, 1, 1]))
        >>> corrected = result.with_targets([0, 0, 1, 1])
        >>> print(corrected.status, corrected.w.round(6), round(corrected.b, 6))
        optimal [1.] -2.0
        """
        return _changed().with_targets(self, y, options)  # type: ignore[no-any-return]


def _changed() -> Any:
    """What does it: it solves, and stands above results, so it is found by its name."""
    return import_module("qpsvm.many.exact.changed")
