"""Call scikit-learn's callbacks at the beginning and end of a fit (`with_fit_callbacks`); before 1.9 there are none."""

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
    def fit_with_callbacks(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(self, "_skl_callbacks", None):
            return fit(self, X, *args, **kwargs)
        data = {**dict(zip(("y", "sample_weight"), args, strict=False)), **kwargs}
        callback_data = {"X": X, "y": data.get("y"), "metadata": {"sample_weight": data.get("sample_weight")}}
        context = self._init_callback_context()
        context.call_on_fit_task_begin(estimator=self, **callback_data)
        fit(self, X, *args, **kwargs)
        context.call_on_fit_task_end(estimator=self, **callback_data, reconstruction_attributes={})
        return self

    return cast(Fit, with_callbacks(fit_with_callbacks))


__all__ = ["CallbackSupportMixin", "with_fit_callbacks"]
