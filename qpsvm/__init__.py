"""Support vector machines as explicit quadratic programs, on any solver, with a certificate.

    >>> import qpsvm
    >>> problem = qpsvm.CSVM(X, y, C=1.0, kernel=qpsvm.RBF())    # doctest: +SKIP
    >>> print(problem.qp("dual"))                                # doctest: +SKIP
    >>> result = qpsvm.solve(problem)                            # doctest: +SKIP
    >>> print(result.summary())                                  # doctest: +SKIP
"""

from qpsvm import plotting
from qpsvm.derivation import Derivation, derive
from qpsvm.errors import (
    DataError,
    DataTypeError,
    FileAccessError,
    FileFormatError,
    InaccurateWarning,
    IndefiniteKernelError,
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
from qpsvm.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.model import Model, load
from qpsvm.problems import CSVM, HardMargin, NuSVM, PrimalHinge, Problem
from qpsvm.qp.dualise import dualise
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.result import SVMResult
from qpsvm.solve import compile, solve

__version__ = "0.1.0"

__all__ = [
    "CSVM",
    "QP",
    "RBF",
    "DataError",
    "DataTypeError",
    "Derivation",
    "FileAccessError",
    "FileFormatError",
    "HardMargin",
    "InaccurateWarning",
    "IndefiniteKernelError",
    "InfeasibleNuError",
    "Kernel",
    "Linear",
    "MissingExtraError",
    "MissingFileError",
    "Model",
    "NoWeightVectorError",
    "NotSeparableError",
    "NuSVM",
    "ParameterError",
    "ParameterTypeError",
    "Polynomial",
    "Precomputed",
    "PrimalHinge",
    "Problem",
    "QPSVMError",
    "QPSVMWarning",
    "QPSolution",
    "SVMResult",
    "Sigmoid",
    "SolverError",
    "Status",
    "TooLargeError",
    "UnknownOptionError",
    "UnsupportedError",
    "compile",
    "derive",
    "dualise",
    "load",
    "plotting",
    "solve",
]
