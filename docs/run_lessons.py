"""Run the notebooks of the lessons, and keep what comes out small: pictures of 150 dpi at most, with alternative text.

python docs/run_lessons.py notebooks/1_hard_margin.ipynb ...      # needs the extras docs and test

The text says what a picture's title, axes and legend say, for those who cannot see it.
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

#: Dots an inch and colours of a palette, the next where a notebook is too large; and bytes that it may have.
DPI, COLOURS, MOST = (150, 110, 80), (64, 32, 20, 12), 199_000
#: Run before the first cell, and not kept: figures become pictures with their words and their size on the page.
FIRST = """
def _pictures():
    import io
    from IPython import get_ipython
    from matplotlib.figure import Figure

    def said(figure):
        parts = []
        for ax in figure.axes:
            legend = ax.get_legend()
            named = [text.get_text() for text in legend.get_texts()] if legend else []
            words = [ax.get_title(), ax.get_ylabel() and f"{ax.get_ylabel()} over {ax.get_xlabel()}", "; ".join(named)]
            parts.append(". ".join(" ".join(each.split()) for each in words if each))
        return " | ".join(filter(None, parts)) or "a picture"

    def png(figure):
        out = io.BytesIO()
        figure.savefig(out, dpi=DPI, bbox_inches="tight")
        width, height = (int.from_bytes(out.getvalue()[at : at + 4], "big") for at in (16, 20))
        small = {"width": round(width * 80 / DPI), "height": round(height * 80 / DPI)}
        return out.getvalue(), {"alt": said(figure), **small}

    shell = get_ipython()
    shell.run_line_magic("matplotlib", "inline")
    formatter = shell.display_formatter.formatters["image/png"]
    shell.events.register("pre_run_cell", lambda info: formatter.for_type(Figure, png))
_pictures()
"""


def shrink_picture(picture: str, colours: int) -> str:
    """A PNG in a palette of so many colours, as base64."""
    out = io.BytesIO()
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def run_lesson(path: Path) -> int:
    """Run a notebook and write it, as sharp as its size allows; its size in bytes."""
    text = ""
    for dpi in DPI:
        text = execute_notebook(path, dpi)
        if len(text.encode()) <= MOST:
            break
    path.write_text(text, encoding="utf-8")
    return len(text.encode())


def execute_notebook(path: Path, dpi: int) -> str:
    """A notebook as it runs, with pictures of so many dots an inch."""
    notebook: Any = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FIRST.replace("DPI", str(dpi))))
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}}).execute()
    del notebook.cells[0]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        cell.execution_count = number
        cell.metadata.pop("execution", None)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    pictures = [output for cell in code for output in cell.outputs if "image/png" in output.get("data", {})]
    drawn = [output.data["image/png"] for output in pictures]
    text = ""
    for colours in COLOURS:
        for output, picture in zip(pictures, drawn, strict=True):
            output.data["image/png"] = shrink_picture(picture, colours)
        text = nbformat.writes(notebook) + "\n"
        if len(text.encode()) <= MOST:
            break
    return text


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, run_lesson(Path(name)), "bytes", flush=True)
