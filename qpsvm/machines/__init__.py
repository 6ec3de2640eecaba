"""The machines, one file each: their QPs, how a solution is read back, and how any α is certified."""

from typing import TYPE_CHECKING

from qpsvm.base.lazy_names import late_names
from qpsvm.machines.c_svm import CSVM
from qpsvm.machines.problem.base import Problem
from qpsvm.machines.problem.constraints import Constraints, ValueConstraints
from qpsvm.machines.registry import LATE as _LATE

if TYPE_CHECKING:
    from qpsvm.machines.crammer_singer import CrammerSinger
    from qpsvm.machines.epsilon_svr import EpsilonSVR
    from qpsvm.machines.hard_margin import HardMargin
    from qpsvm.machines.huber_hinge import HuberHinge
    from qpsvm.machines.nu_svm import NuSVM
    from qpsvm.machines.nu_svr import NuSVR
    from qpsvm.machines.one_class import OneClass
    from qpsvm.machines.primal_hinge import PrimalHinge
    from qpsvm.machines.problem.all_in_one import JointProblem
    from qpsvm.machines.quantile_svr import QuantileSVR
    from qpsvm.machines.ranking import Ranking
    from qpsvm.machines.squared_hinge import SquaredHinge
    from qpsvm.machines.svdd import SVDD
    from qpsvm.machines.weston_watkins import WestonWatkins
else:
    __getattr__, __dir__ = late_names(__name__, {**_LATE, "qpsvm.machines.problem.all_in_one": ("JointProblem",)})

__all__ = [
    "CSVM",
    "SVDD",
    "Constraints",
    "CrammerSinger",
    "EpsilonSVR",
    "HardMargin",
    "HuberHinge",
    "JointProblem",
    "NuSVM",
    "NuSVR",
    "OneClass",
    "PrimalHinge",
    "Problem",
    "QuantileSVR",
    "Ranking",
    "SquaredHinge",
    "ValueConstraints",
    "WestonWatkins",
]
