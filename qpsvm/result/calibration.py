"""Compute probabilities of classes from decision values by fitted curves (`Calibration`).

Each machine has a curve from f to the probability of its class. The probabilities of several machines are combined:

    (PROB.1)  P(f) = 1/(1 + exp(−(A f + B))),  A ≥ 0; or a nondecreasing step function, with lines between its steps
    (PROB.2)  pairs: p minimises Σ_i Σ_{j≠i} (r_ji p_i − r_ij p_j)²,  Σp = 1,  r_ij = P(i | i or j): a linear system
    (PROB.3)  one against all others: p_c = P_c/Σ P_c

Sources: Platt, *Probabilistic outputs for support vector machines* (1999); Zadrozny & Elkan, *Transforming classifier
scores into accurate multiclass probability estimates* (2002); Wu, Lin & Weng, *Probability estimates for multi-class
classification by pairwise coupling*, JMLR 5 (2004), of which (PROB.2) is the second method, and LIBSVM's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import AbsentError, FileFormatError

#: Smallest probability of a class of a pair, as in LIBSVM: then the system of (PROB.2) is regular.
MIN_PROBABILITY = 1e-7
#: Key of the calibration in a model's metadata.
KEY = "probability"
#: Valid values of `Calibration.method` and `Calibration.coupling`.
METHODS, COUPLINGS = ("sigmoid", "isotonic"), ("two", "pairs", "rest")


@dataclass(frozen=True, eq=False)
class Calibration:
    """A map from decision values to probabilities.

    method: "sigmoid" or "isotonic".
    coupling: "two" classes, "pairs" of more classes, or each class against the "rest".
    curves: The curve of each machine, as the probability of its later class; against the rest, of its own class. A
        sigmoid is ([A], [B]); an isotonic curve is (f, P) at the ends of the steps.
    """

    method: str
    coupling: str
    curves: tuple[tuple[FloatArray, FloatArray], ...]

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the probability of each class, (m, k), from decision values (m, P)."""
        curves = zip(values.T, self.curves, strict=True)
        P = np.column_stack([self._compute_probability(f, curve) for f, curve in curves])
        if self.coupling == "two":
            return np.asarray(np.hstack([1.0 - P, P]))
        if self.coupling == "pairs":
            return couple_probabilities(P)
        total = P.sum(axis=1, keepdims=True)  # (PROB.3)
        return np.asarray(np.divide(P, total, out=np.full_like(P, 1.0 / P.shape[1]), where=total > 0.0))

    def _compute_probability(self, f: FloatArray, curve: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return (PROB.1) at f: (m,)."""
        if self.method == "sigmoid":
            from scipy.special import expit  # imported late, because it takes 30 ms

            A, B = curve
            return np.asarray(expit(A[0] * f + B[0]))
        return np.asarray(np.interp(f, *curve))

    def to_record(self) -> dict[str, Any]:
        """Return the calibration as values that JSON can hold."""
        curves = [[x.tolist(), y.tolist()] for x, y in self.curves]
        return {"method": self.method, "coupling": self.coupling, "curves": curves}

    @classmethod
    def from_record(cls, record: Any, n_machines: int) -> Calibration:
        """Build the calibration of a model from the output of `to_record`, which is checked. Raises FileFormatError."""
        try:
            method, coupling = record["method"], record["coupling"]
            curves = tuple((np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)) for x, y in record["curves"])
            are_valid = all(
                x.shape == y.shape and x.ndim == 1 and len(x) > 0 and np.isfinite([x, y]).all() for x, y in curves
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"the model's calibration is damaged: {error}") from error
        if method not in METHODS or coupling not in COUPLINGS or len(curves) != n_machines or not are_valid:
            raise FileFormatError(f"the model's calibration is not of this version: {format_value(record)}")
        return cls(method, coupling, curves)


def couple_probabilities(P: FloatArray) -> FloatArray:
    """Return the probabilities of k classes, (m, k), by (PROB.2).

    P (m, k(k − 1)/2): The probability of the later class of each pair, in the order (0, 1), (0, 2), …
    """
    m, n_pairs = P.shape
    k = round((1.0 + (1.0 + 8.0 * n_pairs) ** 0.5) / 2.0)
    first, second = np.triu_indices(k, 1)
    later = np.clip(P, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    r = np.zeros((m, k, k))
    r[:, second, first] = later
    r[:, first, second] = 1.0 - later
    system = np.zeros((m, k + 1, k + 1))  # optimality conditions; the last unknown is the multiplier of Σp = 1
    system[:, :k, :k] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(k)
    system[:, diagonal, diagonal] = np.square(r).sum(axis=1)
    system[:, :k, k] = system[:, k, :k] = 1.0
    rhs = np.zeros((m, k + 1, 1))
    rhs[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, rhs)[:, :k, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


class ProbabilityMixin:
    """Adds `predict_proba` to a model: one decision function, or several, with metadata."""

    metadata: dict[str, Any]
    b: Any
    #: Returns (m,), or (m, k) of several functions.
    decision_function: Any

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities of a model that was saved with them: `SVC(probability=True)`.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            As for `decision_function`.

        Returns
        -------
        ndarray, shape (m, k)
            In the order of `classes`.

        Raises
        ------
        AbsentError
            The model has no probabilities.
        DataError
            See `decision_function`.
        FileFormatError
            Their entry in the metadata is damaged.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> from qpsvm.estimators import SVC
        >>> machine = SVC(probability=True).fit([[0.0], [1.0], [4.0], [5.0]], ["no", "no", "yes", "yes"])
        >>> machine.save("model.npz")
        >>> chances = qpsvm.load("model.npz").predict_proba([[0.5], [4.5]])
        >>> print(chances.round(2), np.allclose(chances, machine.predict_proba([[0.5], [4.5]])))
        [[0.83 0.17]
         [0.17 0.83]] True
        """
        if KEY not in self.metadata:
            raise AbsentError("this model has no probabilities: SVC(probability=True).fit(X, y).save(path) writes one")
        return Calibration.from_record(self.metadata[KEY], np.size(self.b))(self._compute_machine_values(X))

    def _compute_machine_values(self, X: Any) -> FloatArray:
        """Return f of each machine, positive for the later class of a pair: (m, P)."""
        values = self.decision_function(X)
        return np.asarray(values if values.ndim > 1 else values[:, None])
