"""Name the kinds of intercept of a machine (`Intercept`): free, penalised in the norm, or None if it is absent."""

from __future__ import annotations

from typing import Literal

Intercept = Literal["free", "penalised"] | None
