"""Many binary machines over one set of samples: one class against one, or one against all others."""

from qpsvm.multiclass.together import Together
from qpsvm.multiclass.train import solve_pairs, solve_rest

__all__ = ["Together", "solve_pairs", "solve_rest"]
