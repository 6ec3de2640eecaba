"""Slides of derivations, from the equations that the library evaluates: Beamer, and reveal.js.

python docs/slides/slides.py docs/_build/slides        # NAME.tex for pdflatex, NAME.html for a browser

A slide has one equation, what it means, and both of its sides at the solution of the samples below. The pages of
reveal.js load nothing from the network: npm brings the script once, and it lies beside them.
"""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import qpsvm
from qpsvm.derivation import Derivation
from qpsvm.derivation.written.page import mark_indices, mathml

PACKAGE, VERSION = "reveal.js", "5.1.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "qpsvm" / f"{PACKAGE}-{VERSION}"
#: What of the package its pages load.
LOADED = ("reveal.js", "reveal.css", "theme/white.css")
#: Characters of LaTeX beyond which an equation is set smaller.
LONG = 330
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2)).round(2)
Y = np.where(X @ [1.0, 0.5] + 0.4 * rng.normal(size=40) > 0, 1, -1)
T = np.sin(X[:, 0]).round(2)
#: The machines that have slides, by the names of their files.
PROBLEMS: dict[str, Callable[[], qpsvm.Problem]] = {
    "hard_margin": lambda: qpsvm.HardMargin(X + 2.0 * Y[:, None], Y),
    "c_svm": lambda: qpsvm.CSVM(X, Y, C=1.0),
    "nu_svm": lambda: qpsvm.NuSVM(X, Y, nu=0.3),
    "squared_hinge": lambda: qpsvm.SquaredHinge(X, Y, C=1.0),
    "epsilon_svr": lambda: qpsvm.EpsilonSVR(X[:, :1], T, C=1.0, epsilon=0.1, kernel="rbf"),
    "one_class": lambda: qpsvm.OneClass(X, nu=0.2, kernel="rbf"),
}
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="reveal/reveal.css"><link rel="stylesheet" href="reveal/theme/white.css">
<style>
.reveal {{ font-family: system-ui, sans-serif; font-size: 34px; }}
.reveal :is(h1, h2) {{ text-transform: none; font-family: inherit; }} .reveal h2 {{ font-size: 1.3em; }}
.reveal p {{ font-size: 0.72em; text-align: left; }} .reveal math {{ font-size: 1.05em; }}
.reveal .long math {{ font-size: 0.8em; }} .reveal math mtd {{ border: 0; padding: 0.2em 0.1em; }}
.reveal mtd[columnalign="right"] {{ text-align: right; }} .reveal mtd[columnalign="left"] {{ text-align: left; }}
.reveal .tag {{ color: #57606a; font-size: 0.6em; }}
.reveal .sides {{ color: #00734f; font-variant-numeric: tabular-nums; }}
</style></head>
<body><div class="reveal"><div class="slides">
{slides}
</div></div><script src="reveal/reveal.js"></script>
<script>Reveal.initialize({{ hash: true, width: 1280, height: 720 }});</script>
</body></html>
"""


def build_reveal(derivation: Derivation) -> str:
    """The slides as a page of reveal.js."""
    first = f"<section><h1>{html.escape(derivation.title)}</h1><p>{html.escape(derivation.headline)}.</p></section>"
    slides = [first]
    for step in derivation.shown().steps:
        if step.absent:
            continue
        long = ' class="long"' if len(step.latex) > LONG else ""
        sides = f"{step.sides_text}, {step.residual_text}" if step.sides_text else ""
        slides.append(
            f'<section{long}><h2>{html.escape(step.title)} <span class="tag">({step.tag})</span></h2>\n'
            f"{mathml(step.latex)}\n"
            f'<p>{mark_indices(step.text)}</p><p class="sides">{html.escape(sides)}</p></section>'
        )
    return PAGE.format(title=html.escape(derivation.title), slides="\n".join(slides))


def fetch_reveal(folder: Path) -> bool:
    """Put reveal.js beside the pages; whether it is there."""
    dist, npm = CACHE / "node_modules" / PACKAGE / "dist", shutil.which("npm")
    if not dist.exists() and npm is not None:
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--silent", f"{PACKAGE}@{VERSION}"]
        subprocess.run(command, cwd=CACHE, check=False, timeout=120)
    if not dist.exists():
        return False
    for name in LOADED:
        target = folder / "reveal" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = (dist / name).read_text(encoding="utf-8").splitlines(keepends=True)
        target.write_text("".join(line for line in lines if not line.startswith("@import")), encoding="utf-8")
    return True


def write_slides(folder: Path) -> list[Path]:
    """Both kinds of slides of every machine; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, make in PROBLEMS.items():
        problem = make()
        derivation = qpsvm.derive(problem, qpsvm.solve(problem))
        made += [folder / f"{name}.tex", folder / f"{name}.html"]
        derivation.to_latex(made[-2], beamer=True, standalone=True)
        made[-1].write_text(build_reveal(derivation), encoding="utf-8")
    return made


def main() -> None:
    """Write them, and say where."""
    folder = Path(sys.argv[1])
    print(*write_slides(folder), sep="\n")
    if not fetch_reveal(folder):
        print(f"{PACKAGE} is not here, and npm does not bring it: the pages have no script yet")


if __name__ == "__main__":
    main()
