"""Many binary machines over one set of samples: one class against one, or one against all others."""

from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.many.multiclass.train import solve_pairs, solve_rest

__all__ = ["BinaryMachines", "solve_pairs", "solve_rest"]
