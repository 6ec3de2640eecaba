"""Run `example`: write the tables of the README and the guide, so that their commands can be pasted.

They are generated from Python's random numbers with fixed seeds, and are the same on every machine.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from statistics import NormalDist

from qpsvm.base.atomic_files import write_text
from qpsvm.base.errors import FileFormatError, UnknownOptionError, describe_nearest
from qpsvm.faces.cli.terminal import require_writable

NORMAL = NormalDist()
#: Numbers of rows: customers, new customers, houses; and of races, and runners per race.
CUSTOMERS, NEW, HOUSES, RACES, RUNNERS = 1000, 200, 300, 20, 8
#: Share of empty cells in columns that have some.
EMPTY_SHARE = 0.03
#: Log-odds that an average customer buys.
RARELY = -5.6
#: A program of a user.
PROGRAM = (
    "import numpy as np",
    "from sklearn.datasets import load_breast_cancer",
    "from sklearn.model_selection import cross_val_score",
    "from sklearn.pipeline import make_pipeline",
    "from sklearn.preprocessing import StandardScaler",
    "from sklearn.svm import SVC",
    "",
    "X, y = load_breast_cancer(return_X_y=True)",
    "scores = cross_val_score(make_pipeline(StandardScaler(), SVC(C=10)), X, y)",
    'print("accuracy", np.round(scores.mean(), 4))',
)


class _PortableRandom(random.Random):
    """Random numbers based on `random()` alone, whose sequence Python guarantees."""

    def draw_normal(self, mean: float = 0.0, deviation: float = 1.0) -> float:
        """Draw a normal number."""
        return mean + deviation * NORMAL.inv_cdf(max(self.random(), 1e-12))

    def draw_word(self, words: tuple[str, ...]) -> str:
        """Draw one of several words."""
        return words[int(self.random() * len(words))]

    def draw_count(self, mean: float) -> int:
        """Draw a number of events."""
        left, count = math.exp(-mean), 0
        product = self.random()
        while product > left:
            product, count = product * self.random(), count + 1
        return count


def _iter_customers(seed: int, count: int, known: bool) -> Iterator[str]:
    """Yield customers of a shop: an identifier, a date, empty cells. Few buy; `known` adds the column of who did."""
    draw = _PortableRandom(seed)
    columns = ["customer_id", "signup", "age", "income", "visits", "region", "plan"]
    yield ",".join([*columns, *(["bought"] if known else [])])
    for i in range(count):
        age, income, visits = draw.draw_normal(42.0, 11.0), draw.draw_normal(3.2, 0.9), draw.draw_count(2.5)
        region, plan = (
            draw.draw_word(("north", "east", "south", "west")),
            draw.draw_word(("basic", "plus", "basic", "family")),
        )
        signup = date(2024, 1, 1) + timedelta(days=int(730 * draw.random()))
        odds = RARELY + 0.09 * (age - 42.0) + 1.3 * (income - 3.2) + 0.6 * (visits - 2.5) + 1.8 * (plan == "plus")
        bought = draw.random() < 1.0 / (1.0 + math.exp(-odds))
        cells = [f"{age:.1f}", f"{income:.2f}", str(visits), region, plan]
        holes = [draw.random() for _ in cells]
        cells = [
            "" if j in (0, 3) and hole < EMPTY_SHARE else cell
            for j, (cell, hole) in enumerate(zip(cells, holes, strict=True))
        ]
        cells = [f"C{seed}{i:05d}", signup.isoformat(), *cells]
        yield ",".join([*cells, *(["Yes" if bought else "No"] if known else [])])


def _iter_houses() -> Iterator[str]:
    """Yield houses with their prices."""
    draw = _PortableRandom(3)
    yield "area,rooms,age,town,price"
    for _ in range(HOUSES):
        area, age, town = (
            draw.draw_normal(95.0, 25.0),
            60.0 * draw.random(),
            draw.draw_word(("Aldbury", "Brook", "Cove")),
        )
        rooms = max(1, round(area / 28.0 + draw.draw_normal(0.0, 0.7)))
        price = 60.0 + 2.1 * area + 9.0 * rooms - 0.9 * age + 40.0 * (town == "Cove") + draw.draw_normal(0.0, 18.0)
        yield f"{area:.1f},{rooms},{age:.0f},{town},{price:.1f}"


def _iter_races() -> Iterator[str]:
    """Yield runners of several races, with the points that they won."""
    draw = _PortableRandom(4)
    yield "race,age,training,form,points"
    for race in range(1, RACES + 1):
        runners = [
            (draw.draw_normal(29.0, 5.0), draw.draw_normal(9.0, 3.0), draw.draw_normal()) for _ in range(RUNNERS)
        ]
        speed = [0.4 * hours + 1.5 * form - 0.1 * abs(age - 28.0) + draw.draw_normal() for age, hours, form in runners]
        for (age, hours, form), own in zip(runners, speed, strict=True):
            points = sum(own > other for other in speed)
            yield f"r{race},{age:.0f},{hours:.1f},{form:.2f},{points}"


def _iter_iris() -> Iterator[str]:
    """Yield Fisher's iris data, from scikit-learn: three classes."""
    from sklearn.datasets import load_iris

    data = load_iris()
    yield "sepal_length,sepal_width,petal_length,petal_width,species"
    for row, code in zip(data.data.tolist(), data.target.tolist(), strict=True):
        yield ",".join([*map(str, row), str(data.target_names[code])])


#: Files that can be written, by name.
TABLES: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "customers.csv": (
        "two classes, one of them rare: --target bought",
        lambda: _iter_customers(1, CUSTOMERS, True),
    ),
    "new_customers.csv": ("the same columns without the target, to predict", lambda: _iter_customers(2, NEW, False)),
    "iris.csv": ("three classes: --target species", _iter_iris),
    "houses.csv": ("regression: --target price", _iter_houses),
    "results.csv": ("ranking: --target points --groups race", _iter_races),
    "train.py": ("a program that imports from sklearn.svm, for qpsvm.patch_sklearn()", lambda: iter(PROGRAM)),
}


def run(options: argparse.Namespace) -> int:
    """Write the files that are named, or list them. Raises UnknownOptionError, FileFormatError."""
    if not options.file:
        print("\n".join(f"{name:<19}{what}" for name, (what, _) in TABLES.items()))
        return 0
    texts = {}
    for path in map(Path, options.file):
        if path.name not in TABLES:
            raise UnknownOptionError(f"there is no example {path.name!r}; {describe_nearest(path.name, TABLES)}")
        require_writable(str(path))
        texts[path] = "\n".join(TABLES[path.name][1]()) + "\n"
        if path.exists() and path.read_bytes() != texts[path].encode():
            raise FileFormatError(f"{path} already exists with other content: move it, or use another folder")
    for path, text in texts.items():
        write_text(path, text)
        rows = f"{len(text.splitlines()) - 1} rows; " if path.suffix == ".csv" else ""
        print(f"{path}: {rows}{TABLES[path.name][0]}")
    return 0
