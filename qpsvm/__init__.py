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

from qpsvm import backends, plotting
from qpsvm.backends import register_backend, unregister_backend
from qpsvm.comparison.compare import compare
from qpsvm.comparison.table import Comparison, ComparisonRow
from qpsvm.derivation import Derivation, derive
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
from qpsvm.grid.cross_validation import CrossValidation, cross_validate
from qpsvm.grid.path import Path, path, solve_path
from qpsvm.joint_model import JointModel
from qpsvm.joint_result import JointResult
from qpsvm.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.kernels.nystroem import Nystroem
from qpsvm.kernels.pivoted_cholesky import PivotedCholesky
from qpsvm.kernels.random_fourier import RandomFourier
from qpsvm.model import Model, load
from qpsvm.operators import Dense, Diagonal, LowRank, Operator
from qpsvm.pairs_model import PairsModel
from qpsvm.problems import (
    CSVM,
    SVDD,
    Constraints,
    CrammerSinger,
    EpsilonSVR,
    HardMargin,
    HuberHinge,
    NuSVM,
    NuSVR,
    OneClass,
    PrimalHinge,
    Problem,
    QuantileSVR,
    Ranking,
    SquaredHinge,
    ValueConstraints,
    WestonWatkins,
)
from qpsvm.qp.dualise import dualise
from qpsvm.qp.program import QP, Rows
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.result import SVMResult
from qpsvm.solve import compile, solve
from qpsvm.sources import StoredRows, open_rows

if TYPE_CHECKING:
    from qpsvm import estimators as estimators
    from qpsvm.estimators.patching import patch_sklearn as patch_sklearn
    from qpsvm.estimators.patching import unpatch_sklearn as unpatch_sklearn
    from qpsvm.play.widget import Playground as Playground
else:

    def __getattr__(name: str) -> object:
        """`Playground` and what needs scikit-learn, whose packages are imported when they are first used (PEP 562)."""
        from importlib import import_module

        if name == "Playground":
            return import_module("qpsvm.play.widget").Playground
        if name == "estimators":
            return import_module("qpsvm.estimators")
        if name in ("patch_sklearn", "unpatch_sklearn"):
            return getattr(import_module("qpsvm.estimators.patching"), name)
        raise AttributeError(f"module 'qpsvm' has no attribute {name!r}")

    def __dir__() -> list[str]:
        """Every name, those that are imported late too."""
        return sorted({*globals(), "Playground", "estimators", "patch_sklearn", "unpatch_sklearn"})


__version__ = "0.1.0"

__all__ = [
    "CSVM",
    "QP",
    "RBF",
    "SVDD",
    "Certificate",
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
