"""List the kernels that the page can choose: those of the library that are functions of samples (`KERNELS`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qpsvm.faces.play.page_parameters import PageParameter
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.kernel_registry import FUNCTIONS
from qpsvm.space.kernels.kernel_registry import KERNELS as KERNEL_KINDS

PSD = PageParameter("psd", "choice", "raise", choices=("raise", "clip", "shift"))
#: The parameters of kernels by their names; and r of a polynomial, which is positive semidefinite for r ≥ 0 only.
KERNEL_PARAMETERS = {
    "degree": PageParameter("degree", "linear", 3, 1, 6, accepted=(1, 20), step=1),
    "gamma": PageParameter("gamma", "log", 1.0, 0.01, 100.0),
    "coef0": PageParameter("coef0", "linear", 0.0, -2.0, 2.0, accepted=(-1e6, 1e6)),
    "polynomial coef0": PageParameter("coef0", "linear", 1.0, 0.0, 4.0, accepted=(0.0, 1e6)),
}


@dataclass(frozen=True)
class KernelChoice:
    """A kernel that the page can choose: `kind` is called with the parameters except psd, by name."""

    title: str
    formula: str
    kind: type[Kernel]
    parameters: tuple[PageParameter, ...] = ()

    def build_kernel(self, values: Mapping[str, Any]) -> Kernel:
        """Build the kernel with these parameters."""
        return self.kind(**{name: value for name, value in values.items() if name != "psd"})


def _build_kernel_choice(name: str) -> KernelChoice:
    kind = KERNEL_KINDS[name]
    own = [KERNEL_PARAMETERS.get(f"{name} {each}", KERNEL_PARAMETERS[each]) for each in FUNCTIONS[name]]
    return KernelChoice(
        "RBF" if name == "rbf" else name, kind.formula, kind, (*own, *(() if kind().is_psd else (PSD,)))
    )


KERNELS = {name: _build_kernel_choice(name) for name in FUNCTIONS}
