"""Call scikit-learn's callbacks at the beginning and end of a fit, in the versions that have them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty stand-in for versions without callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


Fit = TypeVar("Fit", bound=Callable[..., Any])


def with_fit_callbacks(fit: Fit) -> Fit:
    """Decorate a `fit` so that the estimator's callbacks are called at its beginning and end."""

    @functools.wraps(fit)
    def watched_fit(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        if not getattr(self, "_skl_callbacks", None):
            return fit(self, X, *args, **named)
        given = {**dict(zip(("y", "sample_weight"), args, strict=False)), **named}
        recorded = {"X": X, "y": given.get("y"), "metadata": {"sample_weight": given.get("sample_weight")}}
        context = self._init_callback_context()
        context.call_on_fit_task_begin(estimator=self, **recorded)
        fit(self, X, *args, **named)
        context.call_on_fit_task_end(estimator=self, **recorded, reconstruction_attributes={})
        return self

    return cast(Fit, with_callbacks(watched_fit))


__all__ = ["CallbackSupportMixin", "with_fit_callbacks"]
