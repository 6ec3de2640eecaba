"""What `setup.py` promises: where the core cannot be compiled, the library is installed all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import qpsvm

ROOT = Path(qpsvm.__file__).parents[1]
#: What a wheel is made of.
SOURCES = ("qpsvm", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
#: What `pyproject.toml` asks of setuptools.
SETUPTOOLS = 77


def setuptools() -> int:
    """The version of setuptools that builds without isolation; 0 where there is none."""
    try:
        return int(version("setuptools").partition(".")[0])
    except PackageNotFoundError:
        return 0


@pytest.mark.slow
@pytest.mark.skipif(setuptools() < SETUPTOOLS, reason="no setuptools, or an older one")
@pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="installed, not checked out")
def test_a_compiler_that_fails_leaves_the_core_out_and_nothing_else(tmp_path):
    unwanted = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    for name in SOURCES:
        source = ROOT / name
        target = tmp_path / "source" / name
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(source, target, ignore=unwanted) if source.is_dir() else shutil.copy(source, target)
    command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    made = subprocess.run(
        [*command, str(tmp_path / "source")], env={**os.environ, "CC": "/bin/false"}, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert "without its compiled core" in made.stdout + made.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "qpsvm/core/__init__.py" in names
    assert not [name for name in names if "_compiled" in name]
    program = (
        "import qpsvm, qpsvm.core; print(qpsvm.core.level(), qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1])).status)"
    )
    environment = {**os.environ, "PYTHONPATH": str(wheel)}  # a wheel of pure Python is imported as it is
    environment.pop("QPSVM_CORE", None)
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert told.stdout.split()[0] == "numpy"
