"""The README's example prints what the README says, but for times, versions and rounding."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first code block of a language."""
    found = re.search(rf"```{language}\n(.*?)\n```", README, flags=re.DOTALL)
    assert found is not None
    return found.group(1)


def stable(text: str) -> list[str]:
    """The lines that do not depend on the machine, numbers to six digits."""
    lines = [line for line in text.splitlines() if not line.strip().startswith(("gap", "time", "solver"))]
    return [re.sub(r"\d+\.\d{6,}", lambda m: f"{float(m.group()):.6g}", line) for line in lines]


def test_the_example_prints_what_the_readme_says():
    done = subprocess.run([sys.executable, "-c", block("python")], capture_output=True, text=True, check=True)
    assert stable(done.stdout.rstrip("\n")) == stable(block("text"))
    assert "it said 'solved'" in done.stdout
    assert "own point: 0.15)" in done.stdout


def test_the_derivation_and_the_pictures_of_the_readme_work(tmp_path):
    blocks = re.findall(r"```python\n(.*?)\n```", README, flags=re.DOTALL)
    code = "\n".join([blocks[0], *(text for text in blocks[1:] if "qpsvm.derive(" in text)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
    )  # fmt: skip
    assert "(CSVM.10)" in done.stdout
    assert "<math" in (tmp_path / "derivation.html").read_text(encoding="utf-8")
