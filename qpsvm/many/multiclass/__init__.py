"""Many binary machines over one set of samples: one class against one, or one against all others."""

from qpsvm.many.multiclass.split import MachineTemplate, Split, split_classes
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.many.multiclass.train import solve_machines

__all__ = ["BinaryMachines", "MachineTemplate", "Split", "solve_machines", "split_classes"]
