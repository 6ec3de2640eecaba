"""A problem that the members of a communicator share: each has some of its samples, and what belongs to these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from communicators import together

import qpsvm
from qpsvm.base.arrays.frozen import common_value, repeated
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.communicator import Communicator
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.rows import ArrayRows
from qpsvm.data.samples import Samples
from qpsvm.machines.problem.replaced import outlined


def member(problem: qpsvm.Problem, rows: IntArray, comm: Communicator) -> qpsvm.Problem:
    """The same machine over some of the samples: a linear one, of which every parameter is one number."""
    whole = problem.samples
    weight = common_value(whole.weight)
    own = whole.weight[rows] if weight is None else repeated(weight, len(rows))
    samples = Samples(ArrayRows(problem.X[rows], comm), whole.target[rows], own, whole.classes)
    machine: qpsvm.Problem = outlined(problem).over(samples)
    return machine


def certificates(
    problem: qpsvm.Problem, parts: Sequence[IntArray], alpha: FloatArray, w: FloatArray | None = None
) -> list[Certificate]:
    """What each member of a communicator says of α, which is over all rows, and of w."""
    sides = alpha.reshape(-1, problem.n)

    def program(comm: Communicator) -> Certificate:
        rows = parts[comm.rank]
        return member(problem, rows, comm).certify(sides[:, rows].ravel(), w)

    return together(len(parts), program)


def joined(problem: qpsvm.Problem, parts: Sequence[IntArray], found: Sequence[Certificate]) -> Certificate:
    """The members' certificates as one over the rows of the whole that take part."""
    sides = problem.svm.m // problem.svm.n
    alpha, upper = np.zeros((sides, problem.n)), np.zeros((sides, problem.n))
    for rows, certificate in zip(parts, found, strict=True):
        taking = rows[problem.sample_weight[rows] > 0.0]
        alpha[:, taking] = certificate.alpha.reshape(sides, -1)
        upper[:, taking] = certificate.upper.reshape(sides, -1)
    alpha, upper = (np.concatenate([problem.taking_part(side) for side in vector]) for vector in (alpha, upper))
    groups = zip(problem.svm.groups, found[0].svm.groups, strict=True)
    svm = replace(  # shares of what weighs the same in another order may differ in their last bit
        problem.svm, upper=upper, groups=tuple(replace(group, total=own.total) for group, own in groups)
    )
    return found[0].changed(svm=svm, alpha=alpha, slack=None, radius=None, contributing=None)
