"""A problem that the members of a team share: each has some of its samples, and what belongs to these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import qpsvm
from qpsvm.arrays.constant import common_value, repeated
from qpsvm.arrays.types import FloatArray
from qpsvm.dual.accuracy import Accuracy
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.certify import certify
from qpsvm.dual.proven import Proof
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.kernels.space import FeatureSpace
from qpsvm.operators import LowRank
from qpsvm.resources.team import Team
from qpsvm.rows import ArrayRows


class Member:
    """What one member has of a problem with a linear kernel: its dual and the space of its samples.

    Parameters
    ----------
    problem : Problem
        The whole.
    samples : ndarray of int
        Those of the samples taking part that this member has.
    team : Team
    """

    def __init__(self, problem: qpsvm.Problem, samples: NDArray[Any], team: Team) -> None:
        whole, space = problem.svm, problem.space
        k = np.arange(whole.m // whole.n)
        self.index = (k[:, None] * whole.n + samples).ravel()
        X = space.samples.matrix()[samples]
        self.space = FeatureSpace(space.kernel, ArrayRows(X, team), space.intercept, space.psd, space.affine)
        if space.origin is not None:
            origin = space.origin if space.affine else self.space.samples.means()
            self.space.__dict__.update(origin=origin, rows=ArrayRows(X - origin, team))
        else:
            self.space.__dict__["origin"] = None
        self.svm = self._dual(whole, len(samples), team)
        self.proof = Proof(Accuracy(self.space), self.svm)

    def _dual(self, whole: SVMDual, n: int, team: Team) -> SVMDual:
        sign = self._own(whole.sign)
        groups = tuple(
            replace(group, column=sign if group.column is whole.sign else self._own(group.column))
            for group in whole.groups
        )
        rows = None if whole.rows is None else np.tile(np.arange(n), whole.m // whole.n)
        return replace(
            whole, gram=LowRank(self.space.rows), sign=sign, level=self._own(whole.level),
            upper=self._own(whole.upper), curvature=self._own(whole.curvature), groups=groups, rows=rows,
            level_radius=None if whole.level_radius is None else self._own(whole.level_radius), team=team,
        )  # fmt: skip

    def _own(self, vector: FloatArray) -> FloatArray:
        value = common_value(vector)
        return vector[self.index] if value is None else repeated(value, len(self.index))

    def certify(self, alpha: FloatArray, w: FloatArray | None = None, tol: float = 0.0) -> Certificate:
        """The proven certificate of this member, for α over all rows."""
        with np.errstate(all="ignore"):
            found = certify(self.space, self.svm, alpha[self.index], None if w is None else self.space.over_rows(w))
            return self.proof.prove(found, tol)


def joined(whole: SVMDual, members: Sequence[Member], certificates: Sequence[Certificate]) -> Certificate:
    """The members' certificates as one over all rows."""
    alpha, yf = np.zeros(whole.m), np.zeros(whole.m)
    for member, certificate in zip(members, certificates, strict=True):
        alpha[member.index], yf[member.index] = certificate.alpha, certificate.yf
    first = certificates[0]
    return first.changed(svm=whole, alpha=alpha, yf=yf, slack=None, radius=None, contributing=None)
