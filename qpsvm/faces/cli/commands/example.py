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

#: The standard normal distribution.
NORMAL = NormalDist()
#: Numbers of rows of the tables, of races, and of runners per race.
N_CUSTOMERS, N_NEW_CUSTOMERS, N_HOUSES, N_RACES, N_RUNNERS = 1000, 200, 300, 20, 8
#: Share of empty cells in columns that have some.
EMPTY_SHARE = 0.03
#: Log-odds that an average customer of the basic plan buys: few do.
BASE_LOG_ODDS = -5.6
#: The lines of the example program, as a user of scikit-learn writes it.
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
        """Draw a Poisson number of events (Knuth: count uniform numbers until their product is small)."""
        bound = math.exp(-mean)
        count = 0
        product = self.random()
        while product > bound:
            product = product * self.random()
            count = count + 1
        return count


def _iter_customers(seed: int, count: int, with_target: bool) -> Iterator[str]:
    """Yield customers of a shop, with an identifier, a date and empty cells; the target is who bought: few."""
    rng = _PortableRandom(seed)
    columns = ["customer_id", "signup", "age", "income", "visits", "region", "plan"]
    yield ",".join([*columns, *(["bought"] if with_target else [])])
    for i in range(count):
        age = rng.draw_normal(42.0, 11.0)
        income = rng.draw_normal(3.2, 0.9)
        visits = rng.draw_count(2.5)
        region = rng.draw_word(("north", "east", "south", "west"))
        plan = rng.draw_word(("basic", "plus", "basic", "family"))
        signup = date(2024, 1, 1) + timedelta(days=int(730 * rng.random()))
        log_odds = BASE_LOG_ODDS + 0.09 * (age - 42.0) + 1.3 * (income - 3.2) + 0.6 * (visits - 2.5)
        log_odds += 1.8 * (plan == "plus")
        bought = rng.random() < 1.0 / (1.0 + math.exp(-log_odds))
        cells = {"age": f"{age:.1f}", "income": f"{income:.2f}", "visits": str(visits), "region": region, "plan": plan}
        for name in cells:  # draws for every column, so that the sequence is the same whatever the columns with gaps
            if rng.random() < EMPTY_SHARE and name in ("age", "region"):
                cells[name] = ""
        target = ["Yes" if bought else "No"] if with_target else []
        yield ",".join([f"C{seed}{i:05d}", signup.isoformat(), *cells.values(), *target])


def _iter_houses() -> Iterator[str]:
    """Yield houses with their prices."""
    rng = _PortableRandom(3)
    yield "area,rooms,age,town,price"
    for _ in range(N_HOUSES):
        area = rng.draw_normal(95.0, 25.0)
        age = 60.0 * rng.random()
        town = rng.draw_word(("Aldbury", "Brook", "Cove"))
        rooms = max(1, round(area / 28.0 + rng.draw_normal(0.0, 0.7)))
        price = 60.0 + 2.1 * area + 9.0 * rooms - 0.9 * age + 40.0 * (town == "Cove") + rng.draw_normal(0.0, 18.0)
        yield f"{area:.1f},{rooms},{age:.0f},{town},{price:.1f}"


def _iter_races() -> Iterator[str]:
    """Yield runners of several races, with the points that they won: one for each slower runner of the race."""
    rng = _PortableRandom(4)
    yield "race,age,training,form,points"
    for race in range(1, N_RACES + 1):
        runners = [(rng.draw_normal(29.0, 5.0), rng.draw_normal(9.0, 3.0), rng.draw_normal()) for _ in range(N_RUNNERS)]
        speeds = [0.4 * hours + 1.5 * form - 0.1 * abs(age - 28.0) + rng.draw_normal() for age, hours, form in runners]
        for (age, hours, form), speed in zip(runners, speeds, strict=True):
            points = sum(speed > other for other in speeds)
            yield f"r{race},{age:.0f},{hours:.1f},{form:.2f},{points}"


def _iter_iris() -> Iterator[str]:
    """Yield Fisher's iris data, from scikit-learn: three classes."""
    from sklearn.datasets import load_iris

    data = load_iris()
    yield "sepal_length,sepal_width,petal_length,petal_width,species"
    for row, code in zip(data.data.tolist(), data.target.tolist(), strict=True):
        yield ",".join([*map(str, row), str(data.target_names[code])])


#: Files that can be written, by name: a description, and what yields the lines.
TABLES: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "customers.csv": (
        "two classes, one of them rare: --target bought",
        lambda: _iter_customers(1, N_CUSTOMERS, True),
    ),
    "new_customers.csv": (
        "the same columns without the target, to predict",
        lambda: _iter_customers(2, N_NEW_CUSTOMERS, False),
    ),
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
