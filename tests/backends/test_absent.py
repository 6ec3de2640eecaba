"""Where cvxopt, osqp or cvxpy is not installed, all else works, and what is missing is named with its command."""

from __future__ import annotations

import subprocess
import sys

import pytest

from qpsvm.backends import REGISTRY

PACKAGES = ("cvxopt", "osqp", "cvxpy")
#: Makes packages absent: they cannot be imported, and where `uninstalled`, no record of them is left either.
HIDE = """
import importlib.metadata, sys

ABSENT, UNINSTALLED = {absent!r}, {uninstalled!r}


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None


sys.meta_path.insert(0, Blocker())
known = importlib.metadata.version


def version(package):
    if UNINSTALLED and package in ABSENT:
        raise importlib.metadata.PackageNotFoundError(package)
    return known(package)


importlib.metadata.version = version
"""
USE = """
import numpy as np
import qpsvm
from qpsvm import CSVM, RBF, HardMargin, NuSVM, PrimalHinge, solve
from qpsvm.faces.cli import main

rng = np.random.default_rng(0)


def samples(n, d=3, distance=1.0):
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.standard_normal((n, d)) + distance * y[:, None], y


few, many, apart = samples(60), samples(4200), samples(60, distance=5.0)
for kernel in ("linear", RBF(0.2)) if THOROUGH else ("linear",):
    machines = [CSVM(*few, 1.0, kernel), PrimalHinge(*few, 0.01, kernel, "penalised")]
    if THOROUGH:
        machines += [HardMargin(*apart, kernel), NuSVM(*few, 0.3, kernel), CSVM(*many, 1.0, kernel)]
        machines += [PrimalHinge(*few, 0.01, kernel, intercept) for intercept in ("free", None)]
    if THOROUGH and kernel == "linear":
        machines += [NuSVM(*many, 0.3), PrimalHinge(*many, 0.01, intercept="penalised")]
        machines.append(HardMargin(*samples(4200, distance=9.0)))
    for problem in machines:
        result = solve(problem)
        assert result.status == "optimal", problem
        assert result.backend not in ABSENT
for name in ("augmented_lagrangian", "interior_point", "libsvm", "dual_ascent", "subgradient", "slsqp"):
    assert not THOROUGH or solve(CSVM(*few), name, check=False, max_iter=50).gap < 1, name
assert not THOROUGH or solve(CSVM(*few, 1.0, RBF(0.2)), "kernel_newton").status == "optimal"

solve(CSVM(*few), verbose=True)  # the order holds what is there
for name in ABSENT:
    problem = CSVM(*few)
    for ask in (
        lambda: solve(problem, name), lambda: solve(problem, name, "primal"), lambda: solve(problem, name, max_iter=3),
        lambda: solve(problem, name, eps_abs=1e-8), lambda: qpsvm.compile(problem.qp(), name),
    ):
        try:
            ask()
        except qpsvm.MissingExtraError as error:
            assert f"pip install {name}" in str(error)
        else:
            raise AssertionError(name)
try:
    assert not THOROUGH or solve(CSVM(*few), no_such_option=1) is None
except qpsvm.UnknownOptionError as error:
    assert "no_such_option" in str(error)
try:
    solve(CSVM(*few), "subgradient", "dual")
except qpsvm.UnsupportedError as error:
    assert not [name for name in ABSENT if f" {name}" in str(error).split("or ", 1)[1]], error
main(["backends"])
missing = [backend.name for backend in qpsvm.backends.iter_backends() if backend.version() is None]
assert missing == [name for name in qpsvm.backends.names() if name in ABSENT]
assert not [name for name in ABSENT if name in sys.modules]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("absent", "uninstalled"),
    [(("osqp",), False), (PACKAGES, True)],
    ids=["osqp, a record left", "all"],
)
def test_what_is_absent_is_passed_over_and_named_with_the_command(absent, uninstalled):
    code = HIDE.format(absent=absent, uninstalled=uninstalled) + f"THOROUGH = {absent == PACKAGES}\n" + USE
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    order = next(line for line in done.stdout.splitlines() if "in this order" in line)
    states = {line.split()[0]: line for line in done.stdout.splitlines()[-len(REGISTRY) :]}
    for package in PACKAGES:
        assert (f"not installed: pip install {package}" in states[package]) == (package in absent)
        assert package not in absent or f" {package}" not in order
