"""Whether what is installed is the wheel of this name, and solves: `python -I .ci/installed.py NAME`."""

import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import qpsvm
import qpsvm.core

assert Path(qpsvm.__file__).is_relative_to(sys.prefix), qpsvm.__file__
assert version("qpsvm") == qpsvm.__version__
compiled = qpsvm.core.level() != "numpy"
assert compiled == ("abi3" in sys.argv[1]), f"{sys.argv[1]} runs {qpsvm.core.level()}"

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
y = X[:, 0] + 0.5 * rng.normal(size=300) > 0
for kernel in ("linear", "rbf"):
    result = qpsvm.solve(qpsvm.CSVM(X, y, kernel=kernel))
    assert result.verify(tol=1e-6), result.verify(tol=1e-6)
print(f"{sys.argv[1]}: installed, {qpsvm.core.level()}, proven")
