"""Store and export the table of a comparison: text, HTML, CSV, JSON, LaTeX (`Comparison`)."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, overload

from qpsvm.base.atomic_files import write_text
from qpsvm.base.html import Cell, render_table

#: Headings of the printed table, and the width of each column in characters.
HEADINGS = {
    "backend": 21, "form": 7, "status": 16, "objective": 13, "solver gap": 11, "gap": 9, "support": 8, "margin": 7,
    "build": 9, "solve": 9, "total": 9,
}  # fmt: skip
#: Number of text columns, which are the first ones, aligned to the left.
N_TEXT_COLUMNS = 3
#: Escapes of LaTeX's special characters.
LATEX_ESCAPES = str.maketrans(
    {**{letter: f"\\{letter}" for letter in "&%$#_{}"}, "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
     "\\": "\\textbackslash{}"}
)  # fmt: skip


@dataclass(frozen=True)
class ComparisonRow:
    """One backend on one form of a problem. Without a solution the numbers are None, and `note` says why.

    Attributes
    ----------
    backend : str
        Its name, or "auto".
    form : str or None
        "dual" or "primal"; None if the backend accepts neither.
    status : str
        Status of the result; or "unsupported", "not installed", or "failed".
    primal, dual : float or None
        Certified values of the objective.
    solver_gap : float or None
        Certified relative gap of the solver's own point.
    gap : float or None
        Certified relative gap after polishing.
    support, margin : int or None
        Number of support vectors, and of those on the margin. With several classes in one program, samples count once.
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
            _format_seconds(self.build_time),
            _format_seconds(self.solve_time),
            _format_seconds(self.total_time),
        )


FIELDS = [field.name for field in fields(ComparisonRow)]


@dataclass(frozen=True, eq=False)
class Comparison(Sequence[ComparisonRow]):
    """Results of several backends on one problem: a sequence of rows, which prints as a table.

    Attributes
    ----------
    title : str
        The problem.
    samples, features : int
        The size of the problem; for a QP, its numbers of variables and of rows.
    tol : float
        The tolerance for the relative gap.
    rows : tuple of ComparisonRow
        In the order in which they were solved.
    repeat : int
        Number of solves that were requested for each row.
    counted : tuple of str
        What `samples` and `features` count.

    See Also
    --------
    compare : Computes one.

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
    def __getitem__(self, index: int) -> ComparisonRow: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[ComparisonRow, ...]: ...

    def __getitem__(self, index: int | slice) -> ComparisonRow | tuple[ComparisonRow, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fastest(self) -> ComparisonRow | None:
        """The row with the shortest total time among the optimal ones; None if no row is optimal.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> qpsvm.compare(problem, ["osqp", "cvxopt"], max_iter=1, polish=False).fastest is None
        True
        """
        optimal = [row for row in self.rows if row.status == "optimal" and row.total_time is not None]
        return min(optimal, key=lambda row: row.total_time or 0.0, default=None)

    def columns(self) -> dict[str, list[Any]]:
        """Return a list for each field, for a data frame: `pandas.DataFrame(found.columns())`.

        Returns
        -------
        dict of str to list
            One entry per row.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> qpsvm.compare(problem, ["osqp", "cvxopt"], "dual").columns()["backend"]
        ['osqp', 'cvxopt']
        """
        return {name: [getattr(row, name) for row in self.rows] for name in FIELDS}

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write all fields of the table as CSV, unrounded, times in seconds; None is an empty cell.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; without it the text is returned.

        Returns
        -------
        str or None
            The text, or None if it was written to a file.

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
            The file to write; without it the text is returned.

        Returns
        -------
        str or None
            The text, or None if it was written to a file.

        See Also
        --------
        to_csv : Has the same parameter, result and errors.

        Examples
        --------
        >>> import json, qpsvm
        >>> found = qpsvm.compare(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]), "osqp", "dual")
        >>> json.loads(found.to_json())["rows"][0]["status"]
        'optimal'
        """
        rows = [{name: _drop_nonfinite(value) for name, value in asdict(row).items()} for row in self.rows]
        sizes = dict(zip(self.counted, (self.samples, self.features), strict=True))
        table = {"problem": self.title, **sizes, "tol": self.tol, "rows": rows}
        return _write_or_return(path, json.dumps(table, indent=2, ensure_ascii=False) + "\n")

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str | None:
        r"""Write the printed table in LaTeX, for a document that has `\usepackage{booktabs}`.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; without it the text is returned.

        Returns
        -------
        str or None
            The text, or None if it was written to a file.

        See Also
        --------
        to_csv : Has the same parameter, result and errors.

        Examples
        --------
        >>> import qpsvm
        >>> found = qpsvm.compare(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]), "osqp", "dual")
        >>> print(found.to_latex().splitlines()[2])
        backend & form & status & objective & solver gap & gap & support & margin & build & solve & total \\
        """
        heading, *rows = (
            f"{' & '.join(cell.translate(LATEX_ESCAPES) for cell in cells)} \\\\" for cells in self._iter_lines()
        )
        alignments = f"{'l' * N_TEXT_COLUMNS}{'r' * (len(HEADINGS) - N_TEXT_COLUMNS)}"
        lines = [f"\\begin{{tabular}}{{{alignments}}}", "\\toprule", heading, "\\midrule", *rows, "\\bottomrule"]
        return _write_or_return(path, "\n".join([*lines, "\\end{tabular}", ""]))

    def _iter_lines(self) -> Iterator[Iterable[str]]:
        """Yield the headings, then the printed cells of each row."""
        yield HEADINGS
        yield from (row.cells for row in self.rows)

    def __str__(self) -> str:
        return "\n".join([self.heading, "", *map(format_line, self._iter_lines()), *self.notes])

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.rows)} rows; {self.title}>"

    def _repr_html_(self) -> str:
        rows = [
            [*(Cell(text, is_number=j >= N_TEXT_COLUMNS) for j, text in enumerate(row.cells)), Cell(row.note)]
            for row in self.rows
        ]
        return render_table(rows, head=[*HEADINGS, "note"], caption=self.heading)

    @property
    def heading(self) -> str:
        """One line with the problem, its size, the tolerance and the repetitions."""
        medians = f", times are medians of {self.repeat}" if self.repeat > 1 else ""
        sizes = f"{self.samples} {self.counted[0]} × {self.features} {self.counted[1]}"
        return f"{self.title}: {sizes}, tol {self.tol:g}{medians}"

    @property
    def notes(self) -> list[str]:
        """Lines below the printed table: an empty one, then each different note; empty without notes."""
        lines = []
        for row in self.rows:
            note = row.note.removeprefix(row.backend).partition("; use ")[0].strip()  # the table lists the alternatives
            lines += [f"{row.backend}: {note}"] if note else []
        return ["", *dict.fromkeys(lines)] if lines else []


def format_line(cells: Iterable[str]) -> str:
    """Format one line of the printed table."""
    alignments = "<" * N_TEXT_COLUMNS + ">" * (len(HEADINGS) - N_TEXT_COLUMNS)
    columns = zip(cells, alignments, HEADINGS.values(), strict=True)
    return "".join(f"{cell:{alignment}{width}}" for cell, alignment, width in columns).rstrip()


def _format_value(value: float | None, specification: str) -> str:
    return "" if value is None else f"{value:{specification}}"


def _format_seconds(value: float | None) -> str:
    if value is None:
        return ""
    if value < 1:
        return f"{1e3 * value:.1f} ms"
    return f"{value:.2f} s"


def _drop_nonfinite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _write_or_return(path: str | os.PathLike[str] | None, text: str) -> str | None:
    if path is None:
        return text
    write_text(path, text)
    return None
