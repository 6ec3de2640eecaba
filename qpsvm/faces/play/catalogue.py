"""List what the page can choose: machines, kernels and solvers, as JSON (`to_json`)."""

from __future__ import annotations

from typing import Any

from qpsvm.faces.play.backend_catalogue import list_solvers
from qpsvm.faces.play.kernel_catalogue import KERNELS
from qpsvm.faces.play.machine_catalogue import MACHINES


def to_json() -> dict[str, Any]:
    """Return machines, kernels and solvers for the page."""
    return {
        "machines": [{"name": name, **each.to_json()} for name, each in MACHINES.items()],
        "kernels": [
            {"name": name, "title": each.title, "formula": each.formula,
             "parameters": [p.to_json() for p in each.parameters]}
            for name, each in KERNELS.items()
        ],
        "solvers": [{"name": name, **each} for name, each in list_solvers().items()],
    }  # fmt: skip
