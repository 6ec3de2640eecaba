"""A raw table as a shop has it, for the tests of columns in files and frames."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

N = 300


def customers(seed: int = 0) -> dict[str, list[Any]]:
    """Rows as a shop has them: an id, a date, numbers and texts with holes, many cities, a comment, a label."""
    rng = np.random.default_rng(seed)
    words = ["we", "waited", "and", "waited", "but", "nobody", "ever", "answered", "the", "phone"]
    holes = rng.random(N) < 0.1
    cities = [*["Ulm", "Bonn"] * 100, *(f"village {k % 50}" for k in range(N - 200))]
    visits = rng.poisson(3, N)
    inclined = visits + rng.normal(size=N) > 4
    return {
        "customer_id": (10_000 + rng.permutation(N)).tolist(),
        "signup": [date.fromordinal(738_000 + int(k)).isoformat() for k in rng.integers(0, 900, N)],
        "age": [None if hole else round(float(a), 1) for hole, a in zip(holes, rng.normal(40, 9, N), strict=True)],
        "visits": visits.tolist(),
        "city": cities,
        "plan": [None if k % 17 == 0 else ("basic", "plus", "pro")[k % 3] for k in range(N)],
        "active": [bool(k % 2) for k in range(N)],
        "comment": [" ".join(rng.choice(words, 7)) for _ in range(N)],
        "nothing": [None] * N,
        "churned": ["yes" if each else "no" for each in inclined],
    }
