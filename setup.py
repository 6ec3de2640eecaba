"""The compiled core: built where there is a compiler for C, and left out, without an error, where there is none."""

import os
import platform
import sys
from pathlib import Path

import setuptools
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = Path("qpsvm/core/c")
# pip installs one that is new enough; whoever calls this file has what is there.
if int(setuptools.__version__.partition(".")[0]) < 77:
    sys.exit(f"setuptools 77 or newer is needed to read pyproject.toml, this is {setuptools.__version__}")


class Optional(build_ext):
    """Compiled with GCC or Clang; with others, or none, NumPy does the same."""

    def run(self) -> None:
        """Build, or say in one line that the core is left out."""
        try:
            super().run()
        except Exception as error:  # whatever a platform's compiler may raise
            self.warn(f"qpsvm is installed without its compiled core, NumPy works in its place ({error})")

    def build_extension(self, ext: Extension) -> None:
        """Raises whatever the compiler does: `run` says it in one line."""
        if self.compiler.compiler_type == "msvc":
            raise RuntimeError("its C needs GCC or Clang")
        ext.extra_compile_args = [
            "-O3",
            "-g0",
            "-std=c11",
            "-ffp-contract=off",
            "-fno-math-errno",
            "-fvisibility=hidden",
        ]
        super().build_extension(ext)


core = Extension(
    "qpsvm.core._compiled",
    sources=[str(path) for path in sorted(FOLDER.glob("*.c"))],
    depends=[str(path) for path in sorted(FOLDER.glob("*.h"))],
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    py_limited_api=True,
    optional=False,
)
#: QPSVM_BUILD=pure makes a wheel of Python alone, which runs everywhere.
wanted = (
    os.environ.get("QPSVM_BUILD") != "pure"
    and sys.platform != "emscripten"
    and platform.python_implementation() == "CPython"
)
setup(
    ext_modules=[core] if wanted else [],
    cmdclass={"build_ext": Optional},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if wanted else {},
)
