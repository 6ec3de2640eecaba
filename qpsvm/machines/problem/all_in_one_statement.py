"""State a machine that learns several classes in one program (`AllInOneStatement`)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from qpsvm.base.arrays.frozen import cached, repeat_value
from qpsvm.base.arrays.rationals import round_all_down
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.class_space import ClassSpace
from qpsvm.machines.problem.certifier import Certifier
from qpsvm.machines.problem.penalties import compute_active_penalties
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.program.all_in_one import AllInOneDual, ClassGroup
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.operators import RepeatedOperator, build_directions


class AllInOneStatement(MachineStatement):
    """A machine of several classes, as an `AllInOneDual` over its samples.

    C (n,): The penalty of each sample.
    """

    #: What the machine is called, for people.
    _short_name: ClassVar[str]
    #: The names of the machine's own parameters, which `replace` changes.
    _hyperparameters: ClassVar[tuple[str, ...]] = ("C",)
    _uses_explicit_features: ClassVar[bool] = False
    #: What a row is to reach, and whether the rivals of a sample share one slack.
    _margin_level: ClassVar[float] = 1.0
    _has_shared_slack: ClassVar[bool]
    #: The tags of the primal and of the dual.
    _primal_tag: ClassVar[str]
    _dual_tag: ClassVar[str]

    C: FloatArray

    @property
    def class_index(self) -> IntArray:
        """Index of each sample's label in `classes`: (n,)."""
        return self.samples.target.astype(np.intp)

    @cached
    def _rounded_penalties(self) -> tuple[FloatArray, FloatArray | None]:
        """The penalties of the samples that take part, rounded down, (n,), and by how much; None for not at all."""
        return round_all_down(compute_active_penalties(self.C, self.samples))

    @cached
    def _all_in_one_dual(self) -> AllInOneDual:
        """Dual used for computation, over the samples that take part."""
        return AllInOneDual(
            label=self.samples.select_active(self.class_index),
            k=len(self.classes),
            upper=np.array(self._rounded_penalties[0]),
            level=self._margin_level,
            has_shared_slack=self._has_shared_slack,
            intercept=self.space.computed_intercept,
        )

    @cached
    def svm(self) -> SVMDual:
        """Dual in the common form of all machines: its rows are pairs (i, c) in order, its values class by class."""
        dual = self._all_in_one_dual
        sample, (own, rival) = dual.row_positions // dual.k, dual.class_pairs
        m, classes = len(sample), range(dual.k if dual.intercept else 0)
        off = self._rounded_penalties[1]
        return SVMDual(
            gram=RepeatedOperator(self.space.centred_gram, dual.k),
            sign=repeat_value(1.0, m),
            level=repeat_value(dual.level, m),
            upper=dual.upper[sample],
            curvature=repeat_value(0.0, m),
            groups=tuple(ClassGroup(dual, c) for c in classes),
            mix=build_directions(dual.n, sample, own, rival, dual.k),
            block=dual.k - 1 if dual.has_shared_slack else 1,
            classes=dual,
            upper_radius=None if off is None else off[sample],
        )

    @property
    def _dual_structure(self) -> SVMDual:
        return self.svm

    @cached
    def _certifier(self) -> Certifier:
        """Certifier of the points of this problem."""
        return Certifier(ClassSpace(self.space, self._all_in_one_dual.k), self.svm)
