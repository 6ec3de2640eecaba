"""Replace estimators in scikit-learn's modules by those of this library, and restore them (`patch_sklearn`).

After the patch, `from sklearn.svm import SVC` imports `qpsvm.estimators.patch.classes.SVC`. The name is also replaced
in modules of scikit-learn that imported it (`sklearn.calibration` has `LinearSVC`), but not in `sklearn.svm._classes`,
where pickles find scikit-learn's own classes.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterable
from types import ModuleType, TracebackType
from typing import Self

from sklearn import svm

from qpsvm.base.errors import UnknownOptionError, describe_nearest
from qpsvm.estimators.patch.classes import CLASSES

log = logging.getLogger("qpsvm.patch")

#: The module in which scikit-learn defines its classes.
DEFINING_MODULE = "sklearn.svm._classes"
#: Packages that are meant to import scikit-learn's own classes, so that this is not logged.
PACKAGES_WITH_ORIGINALS = ("qpsvm", "sklearnex", "daal4py")
#: Largest number of names listed in a message.
MAX_LISTED = 5

_lock = threading.RLock()
#: For each patched name, the class that each module had under it, by the module's name; guarded by `_lock`.
_replaced: dict[str, dict[str, type]] = {}


class Patch:
    """Context manager of `patch_sklearn`, which restores the patched names.

    names: The names patched by this call, without those that were already patched.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def __repr__(self) -> str:
        return f"<patch of sklearn.svm: {', '.join(self.names) or 'nothing new'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.names:
            unpatch_sklearn(self.names)


def patch_sklearn(names: str | Iterable[str] | None = None) -> Patch:
    """Let programs that import from `sklearn.svm` use this library's estimators.

    It affects later imports from `sklearn.svm`. Modules that imported a name before keep scikit-learn's class; the log
    names them. Calling it again has no effect.

    The classes solve scikit-learn's problems with scikit-learn's defaults: `LinearSVC` and `LinearSVR` penalise the
    intercept. `tol` is the relative gap to be reached, 1e-6 by default; `max_iter` has no limit by default;
    `random_state` has no effect. If this library cannot fit, scikit-learn's own class does, and the logger "qpsvm"
    emits a warning with the reason. Other fits are logged as information.

    Parameters
    ----------
    names : str or list of str, optional
        Of "SVC", "NuSVC", "LinearSVC", "SVR", "NuSVR", "LinearSVR" and "OneClassSVM"; all by default.

    Returns
    -------
    Patch
        A context manager, for a patch that ends with a block.

    Raises
    ------
    UnknownOptionError
        No such class; the message names the nearest.

    See Also
    --------
    unpatch_sklearn : Restore the names.

    Examples
    --------
    >>> import qpsvm
    >>> with qpsvm.patch_sklearn():
    ...     from sklearn.svm import SVC
    >>> machine = SVC(C=10).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> print(machine, machine.gap_ <= 1e-6)
    SVC(C=10) True
    """
    wanted = _resolve_names(names)
    with _lock:
        new = tuple(name for name in wanted if getattr(svm, name) is not CLASSES[name])
        for name in new:
            modules = _find_modules(name, {getattr(svm, name), _find_original(name)})
            _replaced[name] = {path: getattr(module, name) for path, module in modules.items()}
            for module in modules.values():
                setattr(module, name, CLASSES[name])
        if new:
            log.info("sklearn.svm: %s taken over by qpsvm", ", ".join(new))
            _warn_of_earlier_imports(new)
    return Patch(new)


def unpatch_sklearn(names: str | Iterable[str] | None = None) -> None:
    """Restore the names patched by `patch_sklearn` to the previous classes.

    Existing objects, and names already imported by a program, are not changed. Without a patch, nothing happens.

    Parameters
    ----------
    names : str or list of str, optional
        The classes to restore; all by default.

    Raises
    ------
    UnknownOptionError
        No such class; the message names the nearest.

    See Also
    --------
    patch_sklearn : Patch the names.

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn import svm
    >>> before = svm.SVC
    >>> patch = qpsvm.patch_sklearn("SVC")
    >>> qpsvm.unpatch_sklearn()
    >>> svm.SVC is before
    True
    """
    with _lock:
        for name in [name for name in _resolve_names(names) if name in _replaced]:
            previous = _replaced.pop(name)
            for path, module in _find_modules(name, {CLASSES[name]}).items():
                setattr(module, name, previous.get(path, previous[svm.__name__]))


def _resolve_names(names: str | Iterable[str] | None) -> list[str]:
    """Return the given names as a list; all by default. Raises UnknownOptionError."""
    if names is None:
        return list(CLASSES)
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in CLASSES:
            raise UnknownOptionError(f"sklearn.svm has no class {name!r} to patch; {describe_nearest(name, CLASSES)}")
    return wanted


def _find_original(name: str) -> type:
    """Return scikit-learn's own class of this name."""
    original: type = vars(CLASSES[name])["original"]
    return original


def _find_modules(name: str, classes: set[type]) -> dict[str, ModuleType]:
    """Find the modules of scikit-learn in which a name is one of these classes, except that of its definition."""
    return {
        path: module
        for path, module in sys.modules.copy().items()
        if path.partition(".")[0] == "sklearn" and path != DEFINING_MODULE and vars(module).get(name) in classes
    }


def _warn_of_earlier_imports(names: tuple[str, ...]) -> None:
    """Log the modules outside scikit-learn that imported a class before the patch, and so keep it."""
    originals = {_find_original(name) for name in names}.union(*(_replaced[name].values() for name in names))
    # a module with several names is listed once, under the first
    outside = {id(module): (path, module) for path, module in reversed(sys.modules.copy().items())
               if path.partition(".")[0] not in ("sklearn", *PACKAGES_WITH_ORIGINALS)}  # fmt: skip
    imports = [
        f"{path}.{name}"
        for path, module in reversed(outside.values())
        for name, value in getattr(module, "__dict__", {}).copy().items()
        if isinstance(value, type) and value in originals
    ]
    if imports:
        listing = ", ".join(imports[:MAX_LISTED]) + (", …" if len(imports) > MAX_LISTED else "")
        log.warning(
            "imported from scikit-learn before the patch, and left as it is: %s; call patch_sklearn() before such "
            "imports",
            listing,
        )
