"""Vectors that are one number n times."""

import struct

import numpy as np
import pytest

import qpsvm
from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_a_vector_of_zeros_keeps_their_sign(first):
    for value in (first, -first):
        vector = repeat_value(value, 37)
        assert vector.strides == (0,)
        assert struct.pack("d", find_common_value(vector)) == struct.pack("d", value)
    assert repeat_value(first, 37) is repeat_value(first, 37)


def test_bounds_are_finite_after_a_regression_without_a_tube():
    """Its −ε is −0, by which a later problem divided: its bounds were infinite."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(41, 3))
    qpsvm.solve(qpsvm.EpsilonSVR(X, X[:, 1], epsilon=0.0))
    low, high = qpsvm.solve(qpsvm.CSVM(X, X[:, 0] > 0.0)).decision_bounds(X[:3])
    assert np.isfinite(low).all()
    assert (low <= high).all()
    assert np.isfinite(high).all()
