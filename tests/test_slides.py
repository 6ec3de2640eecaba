"""The slides: one for each equation of a derivation, in both forms, from the library's own equations."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import qpsvm

SLIDES = Path(__file__).resolve().parents[1] / "docs" / "slides"


@pytest.fixture(scope="module")
def slides():
    """The script."""
    sys.path.insert(0, str(SLIDES))
    import slides as script

    yield script
    sys.path.remove(str(SLIDES))


def test_every_equation_has_its_slide_in_both_forms(slides, tmp_path):
    made = slides.write_slides(tmp_path)
    assert len(made) == 2 * len(slides.PROBLEMS)
    for name, make in slides.PROBLEMS.items():
        steps = [step for step in qpsvm.derive(make()).steps if not step.absent]
        beamer = (tmp_path / f"{name}.tex").read_text(encoding="utf-8")
        page = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert beamer.count(r"\begin{frame}") == beamer.count(r"\end{frame}") == 1 + len(steps)
        assert page.count("<section") == page.count("</section>") == 1 + len(steps)
        assert re.findall(r"\\tag\{(.*?)\}", beamer) == [step.tag for step in steps]
        assert re.findall(r'class="tag">\((.*?)\)', page) == [step.tag for step in steps]
        assert not re.search(r"https?://(?!www\.w3\.org)", page)
