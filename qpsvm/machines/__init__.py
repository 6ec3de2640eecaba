"""The machines, one file each: their QPs, how a solution is read back, and how any α is certified."""

from typing import TYPE_CHECKING

from qpsvm.base.renamed_modules import build_lazy_attributes
from qpsvm.machines.c_svm import CSVM as CSVM
from qpsvm.machines.problem.constraints import Constraints as Constraints
from qpsvm.machines.problem.constraints import ValueConstraints as ValueConstraints
from qpsvm.machines.problem.problem import Problem as Problem
from qpsvm.machines.registry import LAZY_IMPORTS as _LATE

if TYPE_CHECKING:
    from qpsvm.machines.crammer_singer import CrammerSinger as CrammerSinger
    from qpsvm.machines.epsilon_svr import EpsilonSVR as EpsilonSVR
    from qpsvm.machines.hard_margin import HardMargin as HardMargin
    from qpsvm.machines.huber_hinge import HuberHinge as HuberHinge
    from qpsvm.machines.nu_svm import NuSVM as NuSVM
    from qpsvm.machines.nu_svr import NuSVR as NuSVR
    from qpsvm.machines.one_class import OneClass as OneClass
    from qpsvm.machines.primal_hinge import PrimalHinge as PrimalHinge
    from qpsvm.machines.problem.all_in_one import AllInOneProblem as AllInOneProblem
    from qpsvm.machines.quantile_svr import QuantileSVR as QuantileSVR
    from qpsvm.machines.ranking import Ranking as Ranking
    from qpsvm.machines.squared_hinge import SquaredHinge as SquaredHinge
    from qpsvm.machines.svdd import SVDD as SVDD
    from qpsvm.machines.weston_watkins import WestonWatkins as WestonWatkins
else:
    __getattr__, __dir__ = build_lazy_attributes(
        __name__, {**_LATE, "qpsvm.machines.problem.all_in_one": ("AllInOneProblem",)}
    )

__all__ = ["CSVM", "AllInOneProblem", "Constraints", "Problem", "ValueConstraints"]
__all__ += [name for names in _LATE.values() for name in names]
