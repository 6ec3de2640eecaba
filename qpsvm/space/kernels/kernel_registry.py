"""Look up kernels by name (`as_kernel`, `KERNELS`)."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import ParameterError, UnknownOptionError, describe_nearest
from qpsvm.space.kernels.functions import RBF, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.space.kernels.kernel import Kernel as Kernel
from qpsvm.space.kernels.kernel import UserKernel as UserKernel

#: The kernels of the library, by their names: what `as_kernel`, files, proofs, the command line and the page know.
KERNELS: dict[str, type[Kernel]] = {
    "linear": Linear, "rbf": RBF, "polynomial": Polynomial, "sigmoid": Sigmoid, "precomputed": Precomputed,
}  # fmt: skip
ALIASES = {"poly": "polynomial", "gaussian": "rbf"}
#: Their matrices are symmetric as computed. Those of any other are checked.
BUILT_IN_KERNELS = tuple(KERNELS.values())
NAMES = {kind: name for name, kind in KERNELS.items()}
#: Those that are functions of samples, with the names of their parameters.
FUNCTIONS = {name: tuple(inspect.signature(kind).parameters) for name, kind in KERNELS.items() if kind.formula}


def as_kernel(kernel: Any) -> Kernel:
    """Turn a kernel object, a name or a callable into a `SampleKernel`. Raises UnknownOptionError, ParameterError."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        name = ALIASES.get(kernel, kernel)
        if name not in KERNELS:
            known = describe_nearest(kernel, [*KERNELS, *ALIASES])
            raise UnknownOptionError(f"unknown kernel {kernel!r}; {known}, or any callable")
        return _make_default_kernel(name)
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise ParameterError(f"kernel is the class {kernel.__name__}; pass an instance, {kernel.__name__}()")
    if callable(kernel):
        return UserKernel(kernel)
    if hasattr(kernel, "shape"):
        hint = "; for a kernel matrix pass it as X, with kernel='precomputed'"
    else:
        hint = ""
    raise ParameterError(
        f"kernel must be a kernel object, a name or a callable (X, Z) -> (n, m), got {format_value(kernel)}{hint}"
    )


@cache
def _make_default_kernel(name: str) -> Kernel:
    """Return the kernel of a name, with the parameters that it has by default."""
    return KERNELS[name]()
