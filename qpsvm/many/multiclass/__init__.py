"""Many binary machines over one set of samples: one class against one, or one against all others."""

from qpsvm.many.multiclass.together import Together
from qpsvm.many.multiclass.train import solve_pairs, solve_rest

__all__ = ["Together", "solve_pairs", "solve_rest"]
