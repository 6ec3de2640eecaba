"""Store and export the table of a comparison: text, HTML, CSV, JSON, LaTeX (`Comparison`)."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, overload

from qpsvm.base.atomic_files import write_text
from qpsvm.base.html import Cell
from qpsvm.base.html import render_table as html_table

#: Headings of the printed table, and the width of each column in characters; the first three hold text.
HEADINGS = {
    "backend": 21, "form": 7, "status": 16, "objective": 13, "solver gap": 11, "gap": 9, "support": 8, "margin": 7,
    "build": 9, "solve": 9, "total": 9,
}  # fmt: skip
WORDS = 3
#: Escapes of LaTeX's special characters.
LATEX = str.maketrans(
    {**{letter: f"\\{letter}" for letter in "&%$#_{}"}, "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
     "\\": "\\textbackslash{}"}
)  # fmt: skip


@dataclass(frozen=True)
class ComparisonRow:
    """One backend on one form of a problem.

    If there is no solution, the numbers are None, and `note` says why.

    Attributes
    ----------
    backend : str
        Its name, or "auto".
    form : str or None
        "dual" or "primal"; None if it accepts neither.
    status : str
        Status of the result; or "unsupported", "not installed", or "failed".
    primal, dual : float or None
        Certified values of the objective.
    solver_gap : float or None
        Certified relative gap of the solver's own point.
    gap : float or None
        Certified relative gap after polishing it.
    support, margin : int or None
        Number of support vectors, and of those on the margin; for several classes in one program, of rows.
    iterations : int or None
        As counted by the solver.
    build_time, solve_time, total_time : float or None
        Seconds: for the solver's data, in the solver, and of the whole call with its certificate. Medians of `runs`
        solves.
    runs : int
        Number of solves.
    solver : str
        The solver's name and version.
    note : str
        Why there is no solution, or other remarks.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> row = qpsvm.compare(problem, "osqp", "dual")[0]
    >>> row.backend, row.form, row.status, row.gap <= 1e-6, row.support
    ('osqp', 'dual', 'optimal', True, 2)
    """

    backend: str
    form: str | None
    status: str
    primal: float | None = None
    dual: float | None = None
    solver_gap: float | None = None
    gap: float | None = None
    support: int | None = None
    margin: int | None = None
    iterations: int | None = None
    build_time: float | None = None
    solve_time: float | None = None
    total_time: float | None = None
    runs: int = 0
    solver: str = ""
    note: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """Cells of the printed table, one text per heading."""
        return (
            self.backend,
            self.form or "-",
            self.status,
            _format_value(self.primal, ".8g"),
            _format_value(self.solver_gap, ".1e"),
            _format_value(self.gap, ".1e"),
            _format_value(self.support, "d"),
            _format_value(self.margin, "d"),
            _seconds(self.build_time),
            _seconds(self.solve_time),
            _seconds(self.total_time),
        )


FIELDS = [field.name for field in fields(ComparisonRow)]


@dataclass(frozen=True, eq=False)
class Comparison(Sequence[ComparisonRow]):
    """What several backends made of one problem: a sequence of rows, which prints as a table.

    Attributes
    ----------
    title : str
        The problem.
    samples, features : int
        Its size; of a QP, its variables and its rows.
    tol : float
        The relative gap that was to be certified.
    rows : tuple of ComparisonRow
        In the order in which they were solved.
    repeat : int
        How often each was to be solved.
    counted : tuple of str
        What `samples` and `features` count.

    See Also
    --------
    compare : What makes one.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> found = qpsvm.compare(problem, ["osqp", "liblinear"], "dual")
    >>> [(row.backend, row.status) for row in found]
    [('osqp', 'optimal'), ('liblinear', 'unsupported')]
    >>> print(found.to_csv().splitlines()[0])
    backend,form,status,primal,dual,solver_gap,gap,support,margin,iterations,build_time,solve_time,total_time,runs,solver,note
    """

    title: str
    samples: int
    features: int
    tol: float
    rows: tuple[ComparisonRow, ...]
    repeat: int = 1
    counted: tuple[str, str] = ("samples", "features")

    @overload
    def __getitem__(self, place: int) -> ComparisonRow: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[ComparisonRow, ...]: ...

    def __getitem__(self, place: int | slice) -> ComparisonRow | tuple[ComparisonRow, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fastest(self) -> ComparisonRow | None:
        """The row of the shortest total time among those that are optimal; None where none is.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> qpsvm.compare(problem, ["osqp", "cvxopt"], max_iter=1, polish=False).fastest is None
        True
        """
        done = [row for row in self.rows if row.status == "optimal" and row.total_time is not None]
        return min(done, key=lambda row: row.total_time or 0.0, default=None)

    def columns(self) -> dict[str, list[Any]]:
        """A list for each field, for a data frame: `pandas.DataFrame(found.columns())`.

        Returns
        -------
        dict of str to list
            One entry for each row.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> qpsvm.compare(problem, ["osqp", "cvxopt"], "dual").columns()["backend"]
        ['osqp', 'cvxopt']
        """
        return {name: [getattr(row, name) for row in self.rows] for name in FIELDS}

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The table as CSV: every field, every number to its last digit, seconds as seconds, and nothing for None.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write to.

        Returns
        -------
        str or None
            The text, where no file is named.

        Raises
        ------
        FileAccessError, ParameterTypeError
            The file cannot be written, or `path` is not a path.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> found = qpsvm.compare(problem, "osqp", "dual")
        >>> print(found.to_csv().splitlines()[1].split(",")[:3])
        ['osqp', 'dual', 'optimal']
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(asdict(row).values() for row in self.rows)
        return _write_or_return(path, text.getvalue())

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write the table as JSON: an object with the problem, and its `rows`; null for None and non-finite values.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write to.

        Returns
        -------
        str or None
            The text, where no file is named.

        See Also
        --------
        to_csv : The same parameter, result and errors.

        Examples
        --------
        >>> import json, qpsvm
        >>> found = qpsvm.compare(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]), "osqp", "dual")
        >>> json.loads(found.to_json())["rows"][0]["status"]
        'optimal'
        """
        rows = [{name: _finite(value) for name, value in asdict(row).items()} for row in self.rows]
        sizes = dict(zip(self.counted, (self.samples, self.features), strict=True))
        about = {"problem": self.title, **sizes, "tol": self.tol}
        return _write_or_return(path, json.dumps({**about, "rows": rows}, indent=2, ensure_ascii=False) + "\n")

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str | None:
        r"""Write the printed table in LaTeX, for a document that has `\usepackage{booktabs}`.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write to.

        Returns
        -------
        str or None
            The text, where no file is named.

        See Also
        --------
        to_csv : The same parameter, result and errors.

        Examples
        --------
        >>> import qpsvm
        >>> found = qpsvm.compare(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]), "osqp", "dual")
        >>> print(found.to_latex().splitlines()[2])
        backend & form & status & objective & solver gap & gap & support & margin & build & solve & total \\
        """
        heading, *rows = (f"{' & '.join(cells)} \\\\" for cells in self._cells(lambda text: text.translate(LATEX)))
        columns = f"{'l' * WORDS}{'r' * (len(HEADINGS) - WORDS)}"
        lines = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", heading, "\\midrule", *rows, "\\bottomrule"]
        return _write_or_return(path, "\n".join([*lines, "\\end{tabular}", ""]))

    def _cells(self, shown: Callable[[str], str] = str) -> Iterator[list[str]]:
        """The headings, and what is printed of each row."""
        yield list(HEADINGS)
        yield from ([shown(cell) for cell in row.cells] for row in self.rows)

    def __str__(self) -> str:
        return "\n".join([self.heading, "", *map(line, self._cells()), *self.notes])

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.rows)} rows; {self.title}>"

    def _repr_html_(self) -> str:
        rows = [
            [*(Cell(text, is_number=place >= WORDS) for place, text in enumerate(row.cells)), Cell(row.note)]
            for row in self.rows
        ]
        return html_table(rows, head=[*HEADINGS, "note"], caption=self.heading)

    @property
    def heading(self) -> str:
        """Problem, repetitions and tolerance, in one line."""
        medians = f", times are medians of {self.repeat}" if self.repeat > 1 else ""
        sizes = f"{self.samples} {self.counted[0]} × {self.features} {self.counted[1]}"
        return f"{self.title}: {sizes}, tol {self.tol:g}{medians}"

    @property
    def notes(self) -> list[str]:
        """The notes of the rows, a line each, below an empty one: what to take instead is in the table."""
        found = []
        for row in self.rows:
            note = row.note.removeprefix(row.backend).partition("; use ")[0].strip()
            found += [f"{row.backend}: {note}"] if note else []
        return ["", *dict.fromkeys(found)] if found else []


def line(cells: Iterable[str]) -> str:
    """Format one line of the printed table."""
    pairs = zip(cells, HEADINGS.values(), strict=True)
    texts = [f"{text:<{width}}" if place < WORDS else f"{text:>{width}}" for place, (text, width) in enumerate(pairs)]
    return "".join(texts).rstrip()


def _format_value(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{1e3 * value:.1f} ms" if value < 1 else f"{value:.2f} s"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_or_return(path: str | os.PathLike[str] | None, text: str) -> str | None:
    if path is None:
        return text
    write_text(path, text)
    return None


__all__ = ["HEADINGS", "Comparison", "ComparisonRow", "line"]
