"""What Python's own tools ask of an object: `dir`, `hasattr` and `inspect.getmembers`, of whatever a user holds."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import qpsvm
from qpsvm import estimators
from qpsvm.estimators.parameters import Settings
from qpsvm.machines import registry

X = [[0.0, 0.0], [2.0, 1.0], [0.0, 1.0], [2.0, 0.0], [3.0, 3.0], [0.5, 0.2]]
LABELS, NUMBERS, CLASSES = [0, 1, 0, 1, 1, 0], [0.0, 1.0, 2.0, 3.0, 1.0, 0.0], [0, 1, 2, 1, 1, 0]
TARGETS = {"labels": (LABELS,), "numbers": (NUMBERS,), "ranks": (NUMBERS,), "none": ()}
MACHINES = [*map(registry.machine, registry.FILES), qpsvm.CrammerSinger, qpsvm.WestonWatkins]
ESTIMATORS = [kind for name in estimators.__all__ if hasattr(kind := getattr(estimators, name), "fit")]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("machine", MACHINES)
def test_every_member_of_a_problem_and_its_result_can_be_looked_at(machine, kernel):
    target = (CLASSES,) if issubclass(machine, qpsvm.machines.JointProblem) else TARGETS[machine.learns]
    problem = machine(X, *target, kernel=kernel)
    result = qpsvm.solve(problem, check=False)
    for thing in (problem, result, result.model, problem.qp("dual"), problem.qp("primal")):
        inspect.getmembers(thing)


def test_what_a_machine_does_not_have_is_absent():
    regression = qpsvm.EpsilonSVR(X, NUMBERS)
    assert not any(hasattr(thing, "classes") for thing in (regression, qpsvm.solve(regression)))
    assert not hasattr(qpsvm.CSVM(X, LABELS), "t")
    with pytest.raises(qpsvm.UnsupportedError, match="no numbers as target"):
        _ = qpsvm.CSVM(X, LABELS).t
    with pytest.raises(qpsvm.QPSVMError, match="radius is no variable"):
        _ = qpsvm.solve(regression).radius


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_member_of_an_estimator_can_be_looked_at(kind):
    inspect.getmembers(kind())
    for target in (LABELS, CLASSES):
        inspect.getmembers(kind().fit(X, target))


def test_type_checkers_know_every_parameter_of_an_estimator():
    names = {name for kind in ESTIMATORS for name in kind().get_params()}
    assert names == set(Settings.__annotations__)


#: What `import qpsvm` does without, and what the estimators do without beside scikit-learn and what that loads.
HEAVY = ("cvxpy", "cvxopt", "osqp", "clarabel", "qpsolvers", "matplotlib", "dask", "distributed", "anywidget",
         "IPython", "skl2onnx", "onnx", "starlette")  # fmt: skip
WITHOUT_ESTIMATORS = ("sklearn", "joblib", "pandas", "pyarrow", "scipy.optimize", "scipy.special", "scipy.stats")


@pytest.mark.parametrize(("module", "absent"), [("qpsvm", HEAVY + WITHOUT_ESTIMATORS), ("qpsvm.estimators", HEAVY)])
def test_an_import_loads_nothing_heavy(module, absent):
    code = f"import sys, {module}; print(*[name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
