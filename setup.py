"""The compiled core: built where there is a compiler for C, and left out, without an error, where there is none."""

import platform
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = Path("qpsvm/core/c")


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
        ext.extra_compile_args = ["-O3", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden"]
        super().build_extension(ext)


core = Extension(
    "qpsvm.core._compiled",
    sources=[str(path) for path in sorted(FOLDER.glob("*.c"))],
    depends=[str(path) for path in sorted(FOLDER.glob("*.h"))],
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    py_limited_api=True,
    optional=False,
)
wanted = sys.platform != "emscripten" and platform.python_implementation() == "CPython"
setup(
    ext_modules=[core] if wanted else [],
    cmdclass={"build_ext": Optional},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
