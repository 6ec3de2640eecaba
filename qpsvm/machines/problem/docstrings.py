"""Complete the docstrings of the machines by the parameters that all of them share (`complete_docstring`)."""

from __future__ import annotations

import inspect
import re
from types import CodeType

#: What the docstring of a machine says of a parameter, unless that has an entry of its own.
SHARED = {
    "X": """X : array_like or SciPy sparse, shape (n, d)
    Samples in rows; also a data frame, or what `open_rows` opens. An (n, n) kernel matrix for `Precomputed()`.""",
    "y": """y : array_like of shape (n,), or str
    Any two labels; the larger in sort order is +1. If X is a file, also the name of a column.""",
    "t": """t : array_like of shape (n,), or str
    Targets: any finite numbers. If X is a file, also the name of a column.""",
    "kernel": """kernel : Kernel, str or callable, default=Linear()
    A kernel object, its name, or a function `(X, Z) -> (n, m)`.""",
    "sample_weight": """sample_weight : array_like, shape (n,), optional
    C_i = C · s_i.""",
    "psd": """psd : "raise", "clip" or "shift", default="raise"
    What to do if the Gram matrix is indefinite.""",
    "constraints": """constraints : Constraints, ValueConstraints, or a list of them, optional
    Linear constraints on w, b and f.""",
    "intercept": """intercept : "free", "penalised" or None, default="free"
    Whether b is outside the norm (not penalised), inside it, or absent.""",
    "class_weight": """class_weight : dict or "balanced", optional
    A factor of C for each class, by its label; "balanced" makes the classes weigh the same. It multiplies
    `sample_weight`.""",
}
RAISES = """Raises
------
DataError, DataTypeError, ParameterError
    See `Problem`.

"""
#: The section of a docstring that has the parameters, and an entry of it.
SECTION = re.compile(r"^Parameters\n-+\n((?:.+\n)*)\n", re.MULTILINE)
ENTRY = re.compile(r"^(\w+) : .*(?:\n +.*)*", re.MULTILINE)


def complete_docstring(kind: type) -> None:
    """Complete the docstring of a built-in machine by the shared parameters, in the order of the constructor."""
    found = SECTION.search(inspect.cleandoc(kind.__doc__ or "") + "\n\n")
    if found is None or not kind.__module__.startswith("qpsvm."):
        return
    code: CodeType = kind.__init__.__code__  # type: ignore[misc]
    entries = SHARED | {entry.group(1): entry.group() for entry in ENTRY.finditer(found.group(1))}
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    whole = "\n".join(["Parameters", "----------", *(entries[name] for name in names)])
    text = found.string.rstrip()
    raises = "" if "\nRaises\n---" in text else RAISES
    kind.__doc__ = f"{text[: found.start()]}{whole}\n\n{raises}{text[found.end() :]}\n"


def signature_of(kind: type) -> inspect.Signature:
    """Return the signature of a class, as its `__init__` has it."""
    found = inspect.signature(kind.__init__)  # type: ignore[misc]
    return found.replace(parameters=[*found.parameters.values()][1:], return_annotation=found.empty)
