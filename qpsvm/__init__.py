"""Support vector machines as explicit quadratic programs, on any solver, with a certificate.

The way from samples to a certified result:

>>> import qpsvm
>>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["left", "left", "right", "right"]
>>> problem = qpsvm.CSVM(X, y, C=1.0)
>>> print(problem.qp("dual"))
C-SVM, C = 1, kernel Linear(): dual (CSVM.10)
  minimise    ½ αᵀQα − 1ᵀα,  Q_ij = y_i y_j K(x_i, x_j)
  subject to  yᵀα = 0                           balance          1 row
              0 ≤ alpha ≤ 1                     box              4 rows
  variables   4: alpha 4
  P           4 × 4, low rank ZZᵀ, Z 4 × 1 dense
  A           1 × 4, dense, 4 non-zeros
  memory      200 B
<BLANKLINE>
            alpha[0]  alpha[1]  alpha[2]  alpha[3]
  P                0         0         0         0       alpha[0]
                   0         1        -3        -4       alpha[1]
                   0        -3         9        12       alpha[2]
                   0        -4        12        16       alpha[3]
  q               -1        -1        -1        -1
  A               -1        -1         1         1  = 0  balance
  lb               0         0         0         0
  ub               1         1         1         1
>>> result = qpsvm.solve(problem)
>>> print(result.status, result.w.round(6), round(result.b, 6), result.gap < 1e-12)
optimal [1.] -2.0 True
>>> print(result.alpha.round(6), result.predict([[1.9], [2.1]]))
[0.  0.5 0.5 0. ] ['left' 'right']
"""

from typing import TYPE_CHECKING

from qpsvm import backends
from qpsvm.base.errors import (
    AbsentError,
    ChangedKernelWarning,
    ClusterError,
    DataError,
    DataTypeError,
    DegenerateWarning,
    FileAccessError,
    FileFormatError,
    FrozenProblemError,
    InaccurateWarning,
    IndefiniteKernelError,
    InfeasibleConstraintsError,
    InfeasibleNuError,
    MarginNotFoundError,
    MissingExtraError,
    MissingFileError,
    NonConvexError,
    NotSeparableError,
    NoWeightVectorError,
    ParameterError,
    ParameterTypeError,
    QPSVMError,
    QPSVMWarning,
    SolverError,
    TooLargeError,
    UndecidedConstraintsError,
    UnknownOptionError,
    UnsupportedError,
)
from qpsvm.base.renamed_modules import build_lazy_attributes as _build_lazy_attributes
from qpsvm.base.renamed_modules import install_renamed_modules as _install_renamed_modules
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines import CSVM, Constraints, Problem, ValueConstraints
from qpsvm.machines.registry import LAZY_IMPORTS as _LATE
from qpsvm.program.qp import QP, Rows
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.model import AllInOneModel, Model, PairsModel, load
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve
from qpsvm.solve.compile import compile
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.space.operators import Dense, Diagonal, LowRank, Operator

if TYPE_CHECKING:
    from qpsvm import derivation as derivation
    from qpsvm import estimators as estimators
    from qpsvm.backends import register_backend, unregister_backend
    from qpsvm.backends.external.model_files import read_model, write_model
    from qpsvm.bounds.proof.proof import Claim, Proof, Proofs
    from qpsvm.data.sources.opening import open_rows
    from qpsvm.data.sources.stored import StoredRows
    from qpsvm.data.table import Table
    from qpsvm.derivation.derive import derive
    from qpsvm.derivation.derived import Derivation
    from qpsvm.estimators.patch.patching import patch_sklearn as patch_sklearn
    from qpsvm.estimators.patch.patching import unpatch_sklearn as unpatch_sklearn
    from qpsvm.faces import plotting
    from qpsvm.faces.play.widget import Playground as Playground
    from qpsvm.machines.crammer_singer import CrammerSinger
    from qpsvm.machines.epsilon_svr import EpsilonSVR
    from qpsvm.machines.hard_margin import HardMargin
    from qpsvm.machines.huber_hinge import HuberHinge
    from qpsvm.machines.nu_svm import NuSVM
    from qpsvm.machines.nu_svr import NuSVR
    from qpsvm.machines.one_class import OneClass
    from qpsvm.machines.primal_hinge import PrimalHinge
    from qpsvm.machines.problem.sensitivity import Sensitivity, vjp
    from qpsvm.machines.quantile_svr import QuantileSVR
    from qpsvm.machines.ranking import Ranking
    from qpsvm.machines.squared_hinge import SquaredHinge
    from qpsvm.machines.svdd import SVDD
    from qpsvm.machines.weston_watkins import WestonWatkins
    from qpsvm.many.comparison import compare
    from qpsvm.many.comparison_table import Comparison, ComparisonRow
    from qpsvm.many.exact.influence import Influence, influence
    from qpsvm.many.exact.leave_one_out import LeaveOneOut, leave_one_out
    from qpsvm.many.exact.path import exact_path
    from qpsvm.many.exact.path_result import ExactPath
    from qpsvm.many.exact.validation import ValidationCurves
    from qpsvm.many.grid.cross_validation import CrossValidation, cross_validate
    from qpsvm.many.grid.interval import Interval
    from qpsvm.many.grid.path import Path, path
    from qpsvm.program.dualise import dualise
    from qpsvm.result.all_in_one_result import AllInOneResult
    from qpsvm.result.qp_result import QPResult
    from qpsvm.space.kernels.feature_map import Nystroem, RandomFourier
    from qpsvm.space.kernels.pivoted_cholesky import PivotedCholesky
else:
    __getattr__, __dir__ = _build_lazy_attributes(
        __name__,
        {
            **_LATE,
            "qpsvm.derivation": (),
            "qpsvm.estimators": (),
            "qpsvm.faces.plotting": (),
            "qpsvm.backends": ("register_backend", "unregister_backend"),
            "qpsvm.backends.external.model_files": ("read_model", "write_model"),
            "qpsvm.many.comparison": ("compare",),
            "qpsvm.many.comparison_table": ("Comparison", "ComparisonRow"),
            "qpsvm.derivation.derived": ("Derivation",),
            "qpsvm.derivation.derive": ("derive",),
            "qpsvm.estimators.patch.patching": ("patch_sklearn", "unpatch_sklearn"),
            "qpsvm.many.exact.influence": ("Influence", "influence"),
            "qpsvm.many.exact.leave_one_out": ("LeaveOneOut", "leave_one_out"),
            "qpsvm.many.exact.path": ("exact_path",),
            "qpsvm.machines.problem.sensitivity": ("Sensitivity", "vjp"),
            "qpsvm.many.exact.path_result": ("ExactPath",),
            "qpsvm.many.exact.validation": ("ValidationCurves",),
            "qpsvm.many.grid.interval": ("Interval",),
            "qpsvm.many.grid.cross_validation": ("CrossValidation", "cross_validate"),
            "qpsvm.many.grid.path": ("Path", "path"),
            "qpsvm.result.all_in_one_result": ("AllInOneResult",),
            "qpsvm.result.qp_result": ("QPResult",),
            "qpsvm.space.kernels.feature_map": ("Nystroem", "RandomFourier"),
            "qpsvm.space.kernels.pivoted_cholesky": ("PivotedCholesky",),
            "qpsvm.faces.play.widget": ("Playground",),
            "qpsvm.bounds.proof.proof": ("Claim", "Proof", "Proofs"),
            "qpsvm.program.dualise": ("dualise",),
            "qpsvm.data.sources.opening": ("open_rows",),
            "qpsvm.data.sources.stored": ("StoredRows",),
            "qpsvm.data.table": ("Table",),
        },
    )

_install_renamed_modules()

__version__ = "0.2.0.dev0"

__all__ = [
    "CSVM",
    "QP",
    "RBF",
    "SVDD",
    "AbsentError",
    "AllInOneModel",
    "AllInOneResult",
    "Certificate",
    "ChangedKernelWarning",
    "Claim",
    "ClusterError",
    "Comparison",
    "ComparisonRow",
    "Constraints",
    "CrammerSinger",
    "CrossValidation",
    "DataError",
    "DataTypeError",
    "DegenerateWarning",
    "Dense",
    "Derivation",
    "Diagonal",
    "EpsilonSVR",
    "ExactPath",
    "FileAccessError",
    "FileFormatError",
    "FrozenProblemError",
    "HardMargin",
    "HuberHinge",
    "InaccurateWarning",
    "IndefiniteKernelError",
    "InfeasibleConstraintsError",
    "InfeasibleNuError",
    "Influence",
    "Interval",
    "Kernel",
    "LeaveOneOut",
    "Linear",
    "LowRank",
    "MarginNotFoundError",
    "MissingExtraError",
    "MissingFileError",
    "Model",
    "NoWeightVectorError",
    "NonConvexError",
    "NotSeparableError",
    "NuSVM",
    "NuSVR",
    "Nystroem",
    "OneClass",
    "Operator",
    "PairsModel",
    "ParameterError",
    "ParameterTypeError",
    "Path",
    "PivotedCholesky",
    "Polynomial",
    "Precomputed",
    "PrimalHinge",
    "Problem",
    "Proof",
    "Proofs",
    "QPResult",
    "QPSVMError",
    "QPSVMWarning",
    "QPSolution",
    "QuantileSVR",
    "RandomFourier",
    "Ranking",
    "Rows",
    "SVMDual",
    "SVMResult",
    "Sensitivity",
    "Sigmoid",
    "SolverError",
    "SquaredHinge",
    "Status",
    "StoredRows",
    "Table",
    "TooLargeError",
    "UndecidedConstraintsError",
    "UnknownOptionError",
    "UnsupportedError",
    "ValidationCurves",
    "ValueConstraints",
    "WestonWatkins",
    "backends",
    "compare",
    "compile",
    "cross_validate",
    "derive",
    "dualise",
    "exact_path",
    "influence",
    "leave_one_out",
    "load",
    "open_rows",
    "path",
    "plotting",
    "read_model",
    "register_backend",
    "solve",
    "unregister_backend",
    "vjp",
    "write_model",
]
