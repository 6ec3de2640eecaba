"""The machines, one file each: their QPs, how a solution is read back, and how any α is certified."""

from qpsvm.problems.base import Problem
from qpsvm.problems.c_svm import CSVM
from qpsvm.problems.hard_margin import HardMargin
from qpsvm.problems.nu_svm import NuSVM
from qpsvm.problems.primal_hinge import PrimalHinge

__all__ = ["CSVM", "HardMargin", "NuSVM", "PrimalHinge", "Problem"]
