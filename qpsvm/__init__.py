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
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.errors import (
    ClusterError,
    DataError,
    DataTypeError,
    FileAccessError,
    FileFormatError,
    InaccurateWarning,
    IndefiniteKernelError,
    InfeasibleConstraintsError,
    InfeasibleNuError,
    MarginNotFoundError,
    MissingExtraError,
    MissingFileError,
    NotSeparableError,
    NoWeightVectorError,
    ParameterError,
    ParameterTypeError,
    QPSVMError,
    QPSVMWarning,
    SolverError,
    TooLargeError,
    UnknownOptionError,
    UnsupportedError,
)
from qpsvm.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.late import late_names
from qpsvm.model import Model, load
from qpsvm.operators import Dense, Diagonal, LowRank, Operator
from qpsvm.problems import CSVM, Constraints, Problem, ValueConstraints
from qpsvm.qp.program import QP, Rows
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.result import SVMResult
from qpsvm.solve import compile, solve

if TYPE_CHECKING:
    from qpsvm import derivation as derivation
    from qpsvm import estimators as estimators
    from qpsvm import plotting
    from qpsvm.backends.registering import register_backend, unregister_backend
    from qpsvm.comparison.compare import compare
    from qpsvm.comparison.table import Comparison, ComparisonRow
    from qpsvm.derivation.derive import Derivation, derive
    from qpsvm.estimators.patching import patch_sklearn as patch_sklearn
    from qpsvm.estimators.patching import unpatch_sklearn as unpatch_sklearn
    from qpsvm.grid.cross_validation import CrossValidation, cross_validate
    from qpsvm.grid.path import Path, path, solve_path
    from qpsvm.joint_model import JointModel
    from qpsvm.joint_result import JointResult
    from qpsvm.kernels.nystroem import Nystroem
    from qpsvm.kernels.pivoted_cholesky import PivotedCholesky
    from qpsvm.kernels.random_fourier import RandomFourier
    from qpsvm.pairs_model import PairsModel
    from qpsvm.play.widget import Playground as Playground
    from qpsvm.problems.crammer_singer import CrammerSinger
    from qpsvm.problems.epsilon_svr import EpsilonSVR
    from qpsvm.problems.hard_margin import HardMargin
    from qpsvm.problems.huber_hinge import HuberHinge
    from qpsvm.problems.nu_svm import NuSVM
    from qpsvm.problems.nu_svr import NuSVR
    from qpsvm.problems.one_class import OneClass
    from qpsvm.problems.primal_hinge import PrimalHinge
    from qpsvm.problems.quantile_svr import QuantileSVR
    from qpsvm.problems.ranking import Ranking
    from qpsvm.problems.squared_hinge import SquaredHinge
    from qpsvm.problems.svdd import SVDD
    from qpsvm.problems.weston_watkins import WestonWatkins
    from qpsvm.proof.proof import Claim, Proof
    from qpsvm.proof.proofs import Proofs
    from qpsvm.qp.dualise import dualise
    from qpsvm.sources.opening import open_rows
    from qpsvm.sources.stored import StoredRows
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "qpsvm.derivation": (),
            "qpsvm.estimators": (),
            "qpsvm.plotting": (),
            "qpsvm.backends.registering": ("register_backend", "unregister_backend"),
            "qpsvm.comparison.compare": ("compare",),
            "qpsvm.comparison.table": ("Comparison", "ComparisonRow"),
            "qpsvm.derivation.derive": ("Derivation", "derive"),
            "qpsvm.estimators.patching": ("patch_sklearn", "unpatch_sklearn"),
            "qpsvm.grid.cross_validation": ("CrossValidation", "cross_validate"),
            "qpsvm.grid.path": ("Path", "path", "solve_path"),
            "qpsvm.joint_model": ("JointModel",),
            "qpsvm.joint_result": ("JointResult",),
            "qpsvm.kernels.nystroem": ("Nystroem",),
            "qpsvm.kernels.pivoted_cholesky": ("PivotedCholesky",),
            "qpsvm.kernels.random_fourier": ("RandomFourier",),
            "qpsvm.pairs_model": ("PairsModel",),
            "qpsvm.play.widget": ("Playground",),
            "qpsvm.problems.crammer_singer": ("CrammerSinger",),
            "qpsvm.problems.epsilon_svr": ("EpsilonSVR",),
            "qpsvm.problems.hard_margin": ("HardMargin",),
            "qpsvm.problems.huber_hinge": ("HuberHinge",),
            "qpsvm.problems.nu_svm": ("NuSVM",),
            "qpsvm.problems.nu_svr": ("NuSVR",),
            "qpsvm.problems.one_class": ("OneClass",),
            "qpsvm.problems.primal_hinge": ("PrimalHinge",),
            "qpsvm.problems.quantile_svr": ("QuantileSVR",),
            "qpsvm.problems.ranking": ("Ranking",),
            "qpsvm.problems.squared_hinge": ("SquaredHinge",),
            "qpsvm.problems.svdd": ("SVDD",),
            "qpsvm.problems.weston_watkins": ("WestonWatkins",),
            "qpsvm.proof.proof": ("Claim", "Proof"),
            "qpsvm.proof.proofs": ("Proofs",),
            "qpsvm.qp.dualise": ("dualise",),
            "qpsvm.sources.opening": ("open_rows",),
            "qpsvm.sources.stored": ("StoredRows",),
        },
    )

__version__ = "0.1.0"

__all__ = [
    "CSVM",
    "QP",
    "RBF",
    "SVDD",
    "Certificate",
    "Claim",
    "ClusterError",
    "Comparison",
    "ComparisonRow",
    "Constraints",
    "CrammerSinger",
    "CrossValidation",
    "DataError",
    "DataTypeError",
    "Dense",
    "Derivation",
    "Diagonal",
    "EpsilonSVR",
    "FileAccessError",
    "FileFormatError",
    "HardMargin",
    "HuberHinge",
    "InaccurateWarning",
    "IndefiniteKernelError",
    "InfeasibleConstraintsError",
    "InfeasibleNuError",
    "JointModel",
    "JointResult",
    "Kernel",
    "Linear",
    "LowRank",
    "MarginNotFoundError",
    "MissingExtraError",
    "MissingFileError",
    "Model",
    "NoWeightVectorError",
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
    "QPSVMError",
    "QPSVMWarning",
    "QPSolution",
    "QuantileSVR",
    "RandomFourier",
    "Ranking",
    "Rows",
    "SVMDual",
    "SVMResult",
    "Sigmoid",
    "SolverError",
    "SquaredHinge",
    "Status",
    "StoredRows",
    "TooLargeError",
    "UnknownOptionError",
    "UnsupportedError",
    "ValueConstraints",
    "WestonWatkins",
    "backends",
    "compare",
    "compile",
    "cross_validate",
    "derive",
    "dualise",
    "load",
    "open_rows",
    "path",
    "plotting",
    "register_backend",
    "solve",
    "solve_path",
    "unregister_backend",
]
