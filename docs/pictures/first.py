"""The first picture: what the README's first lines draw.

python docs/pictures/first.py       # writes docs/pictures/first.png
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the lines where they may write, and keep their picture."""
    readme = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)\n```", readme, flags=re.DOTALL)
    assert found is not None
    plt.rcParams["font.size"] = 14  # to be read on a phone, too
    os.chdir(tempfile.mkdtemp())
    exec(found.group(1), {})
    plt.gcf().savefig(HERE / "first.png", dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main()
