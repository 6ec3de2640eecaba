"""The machines, one file each: their QPs, how a solution is read back, and how any α is certified."""

from typing import TYPE_CHECKING

from qpsvm.late import late_names
from qpsvm.problems.base import Problem
from qpsvm.problems.c_svm import CSVM
from qpsvm.problems.constraints import Constraints, ValueConstraints

if TYPE_CHECKING:
    from qpsvm.problems.crammer_singer import CrammerSinger
    from qpsvm.problems.epsilon_svr import EpsilonSVR
    from qpsvm.problems.hard_margin import HardMargin
    from qpsvm.problems.huber_hinge import HuberHinge
    from qpsvm.problems.joint import JointProblem
    from qpsvm.problems.nu_svm import NuSVM
    from qpsvm.problems.nu_svr import NuSVR
    from qpsvm.problems.one_class import OneClass
    from qpsvm.problems.primal_hinge import PrimalHinge
    from qpsvm.problems.quantile_svr import QuantileSVR
    from qpsvm.problems.ranking import Ranking
    from qpsvm.problems.squared_hinge import SquaredHinge
    from qpsvm.problems.svdd import SVDD
    from qpsvm.problems.weston_watkins import WestonWatkins
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "qpsvm.problems.crammer_singer": ("CrammerSinger",),
            "qpsvm.problems.epsilon_svr": ("EpsilonSVR",),
            "qpsvm.problems.hard_margin": ("HardMargin",),
            "qpsvm.problems.huber_hinge": ("HuberHinge",),
            "qpsvm.problems.joint": ("JointProblem",),
            "qpsvm.problems.nu_svm": ("NuSVM",),
            "qpsvm.problems.nu_svr": ("NuSVR",),
            "qpsvm.problems.one_class": ("OneClass",),
            "qpsvm.problems.primal_hinge": ("PrimalHinge",),
            "qpsvm.problems.quantile_svr": ("QuantileSVR",),
            "qpsvm.problems.ranking": ("Ranking",),
            "qpsvm.problems.squared_hinge": ("SquaredHinge",),
            "qpsvm.problems.svdd": ("SVDD",),
            "qpsvm.problems.weston_watkins": ("WestonWatkins",),
        },
    )

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
