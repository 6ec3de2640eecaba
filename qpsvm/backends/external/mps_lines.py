"""Check the lines of an MPS file before HiGHS reads it, because HiGHS accepts many errors (`normalise_lines`).

HiGHS 1.16 reads text in place of a number as 0, creates a new variable for a name that is not in COLUMNS, ignores
entries of unknown rows, adds up duplicate entries of a section, merges sets of right-hand sides, ranges or bounds, and
ignores all but the first bound of a variable on the same side. Here each of these is an error with its line. It takes
the right-hand side of any row N for the constant of the objective, so HiGHS receives those of the first one only. Its
reader of the fixed format may not terminate, so HiGHS receives every file in the free format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import FileFormatError, describe_nearest

#: A number as HiGHS reads it, including Fortran's exponents.
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?|inf(inity)?)", re.IGNORECASE)
#: Columns of the fields in the fixed format.
FIXED = tuple(slice(*ends) for ends in ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61)))
#: Starts of these fields, and ends of their predecessors: between them a line must be blank.
FIELD_STARTS, FIELD_ENDS = (1, 4, 14, 24, 39, 49), (0, 3, 12, 22, 36, 47)
#: Replacement of a blank within a name in the free format.
BLANK = "\x01"
#: Sections that a QP may have. Others, such as those of integers and indicators, are rejected by name.
SECTIONS = (
    "NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "QUADOBJ", "QSECTION", "QMATRIX", "ENDATA",
)  # fmt: skip
UNSUPPORTED_SECTIONS = (
    "QCMATRIX", "CSECTION", "SOS", "SOS1", "SOS2", "SETS", "INDICATORS", "GENCONS", "LAZYCONS", "USERCUTS",
    "MODELCUTS", "DELAYEDROWS", "PWLOBJ",
)  # fmt: skip
#: Name of the objective in files that HiGHS writes.
HIGHS_OBJECTIVE = "Obj"
#: Kinds of bounds: with a value after the name of the variable, and without.
VALUED, UNVALUED = ("UP", "LO", "FX", "LI", "UI", "SC", "SI"), ("FR", "MI", "PL", "BV")
#: Sides that a bound sets. The other kinds belong to integer variables, which a QP does not have.
SIDES = {
    "UP": ("upper",), "PL": ("upper",), "LO": ("lower",), "MI": ("lower",), "FX": ("lower", "upper"),
    "FR": ("lower", "upper"),
}  # fmt: skip
#: The name of a set whose field in the fixed format is blank.
UNNAMED = "set"


class _LineError(Exception):
    """An error in a line, with the line's number."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line


def normalise_lines(text: str, name: str) -> str:
    """Check an MPS file, free or fixed, and return it in the free format, without comments.

    Raises FileFormatError.
    """
    errors = []
    for is_fixed in (False, True):
        try:
            return _MPSReader(is_fixed).read(text)
        except _LineError as error:
            errors.append(error)
    furthest = max(errors, key=lambda error: error.line)  # the free format's where both end in the same line
    raise FileFormatError(f"{name}, {furthest}")


class _MPSReader:
    """State of reading: names, with the lines where they first occur, and the entries of each section."""

    def __init__(self, is_fixed: bool) -> None:
        self.is_fixed = is_fixed
        self.line, self.section, self.column = 0, "", ""
        self.is_full = False  # whether both triangles of the matrix are given
        self.rows: dict[str, int] = {}
        self.sections: dict[str, int] = {}
        self.free_rows: list[str] = []  # those of kind N; the first one is the objective
        self.sets: dict[str, tuple[str, int]] = {}  # by section: the name of its set, and where it first occurs
        self.bounds: dict[tuple[str, str], tuple[float, int]] = {}  # by variable and side: the value and its line
        self.columns: dict[str, int] = {}
        self.entries: dict[tuple[str, ...], int] = {}
        self.matrix: dict[tuple[str, str], tuple[float, int]] = {}
        self.checks: dict[str, Callable[[list[str]], None]] = {
            "NAME": self._refuse, "OBJSENSE": self._check_sense, "ROWS": self._check_row, "COLUMNS": self._check_column,
            "RHS": self._check_side, "RANGES": self._check_side, "BOUNDS": self._check_bound,
            "QUADOBJ": self._check_quadratic, "QSECTION": self._check_quadratic, "QMATRIX": self._check_quadratic,
        }  # fmt: skip

    def read(self, text: str) -> str:
        """Check all lines, and return them in the free format. Raises _LineError."""
        lines: list[str] = []
        for self.line, content in enumerate(text.split("\n"), 1):
            line = content.rstrip()
            if not line or line.startswith("*"):
                continue
            header = self._parse_header(line)
            if header is None:
                fields = self._split(line)
                self.checks[self.section](fields)
                if self.section == "RHS":
                    fields = self._drop_free_rows(fields)
                lines.append(" " + " ".join(field.replace(" ", BLANK) for field in fields))
                continue
            lines.append(" ".join(header))
            self.section, *others = header
            if self.sections.setdefault(self.section, self.line) != self.line:
                raise self._build_error(
                    f"the section {self.section} is there already, in line {self.sections[self.section]}; join them"
                )
            self.is_full |= self.section == "QMATRIX"
            if self.section == "ENDATA":
                self._check_symmetry()
                self._check_negative_bounds()
                return "\n".join(lines) + "\n"
            if self.section == "OBJSENSE" and others:
                self._check_sense(others)
        raise self._build_error("the file ends without ENDATA")

    def _parse_header(self, line: str) -> list[str] | None:
        """Return the words of the header of a section; None if the line has data of a section. Raises _LineError."""
        first, *others = line.split()
        word = first.rstrip(":").upper()
        is_indented = line[0].isspace()
        if not is_indented and word in UNSUPPORTED_SECTIONS:
            raise self._build_error(f"a QP has no section {word}")
        # more words are data, which need not be indented: in "RHS row 1" the first one names a set
        if not is_indented and word in SECTIONS and (len(others) < 2 or word == "NAME"):
            return [word, *others]
        if not self.section or not (is_indented or others):
            nearest = describe_nearest(word, SECTIONS)
            raise self._build_error(f"{format_value(first)} begins no section of an MPS file; {nearest}")
        return None

    def _build_error(self, why: str) -> _LineError:
        return _LineError(self.line, why)

    def _build_form_error(self, form: str, fields: list[str]) -> _LineError:
        """Build the error that fields do not have the form that a sentence describes."""
        return self._build_error(f"{form}, not {format_value(' '.join(fields))}")

    def _split(self, line: str) -> list[str]:
        """Return the fields of a line; of the fixed format without empty ones, except a set's name."""
        if self.is_fixed:
            outside = "".join(line[end:begin] for begin, end in zip(FIELD_STARTS, FIELD_ENDS, strict=True)) + line[61:]
            if outside.strip() or "\t" in line:
                raise self._build_error(f"{format_value(outside.strip())} is outside the fields of the fixed format")
            fields = [line[place].strip() for place in FIXED]
            if self.section in ("RHS", "RANGES", "BOUNDS"):
                fields[1] = fields[1] or UNNAMED
            return [field for field in fields if field]
        fields = line.split()
        known = self.rows.keys() | self.columns.keys() if "$" in line else ()
        end = next((k for k, field in enumerate(fields) if k > 1 and field[0] == "$" and field not in known), None)
        return fields[:end]  # without a comment

    def _refuse(self, fields: list[str]) -> None:
        raise self._build_error(f"{format_value(' '.join(fields))} is in no section")

    def _check_sense(self, fields: list[str]) -> None:
        if len(fields) != 1 or fields[0].upper() not in ("MAX", "MIN", "MAXIMIZE", "MINIMIZE"):
            raise self._build_form_error("OBJSENSE is MAX or MIN", fields)

    def _check_row(self, fields: list[str]) -> None:
        if len(fields) != 2 or fields[0].upper() not in ("N", "L", "G", "E"):
            raise self._build_form_error("a row is N, L, G or E and a name", fields)
        name = fields[1]
        if name in self.rows:
            raise self._build_error(f"the row {format_value(name)} is there already, in line {self.rows[name]}")
        self.rows[name] = self.line
        if fields[0].upper() == "N":
            self.free_rows.append(name)

    def _check_column(self, fields: list[str]) -> None:
        if "'MARKER'" in fields:
            return
        if len(fields) not in (3, 5):
            raise self._build_form_error("an entry of COLUMNS is a variable, a row and a number", fields)
        column = fields[0]
        if column != self.column and column in self.columns:
            line = self.columns[column]
            raise self._build_error(f"the variable {format_value(column)} is there already, in line {line}")
        self.column = column
        self.columns.setdefault(column, self.line)
        for row, value in self._iter_pairs(fields[1:]):
            self._record_entry(self._check_known(row, self.rows, "row"), column)
            self._parse_number(value)

    def _check_side(self, fields: list[str]) -> None:
        if not 2 <= len(fields) <= 5:
            raise self._build_form_error(f"an entry of {self.section} is a row and a number", fields)
        if len(fields) % 2:
            self._check_set(fields[0])
        for row, value in self._iter_pairs(fields[len(fields) % 2 :]):
            self._record_entry(self._check_known(row, self.rows, "row"))
            self._parse_number(value)

    def _check_set(self, name: str) -> None:
        """Check that a section has one set: of several, readers take the first, the last or all. Raises _LineError."""
        if name == UNNAMED:
            return
        first, line = self.sets.setdefault(self.section, (name, self.line))
        if name != first:
            raise self._build_error(
                f"{self.section} has the set {format_value(name)} after {format_value(first)} in line {line}; "
                f"leave one out"
            )

    def _drop_free_rows(self, fields: list[str]) -> list[str]:
        """Return an entry of RHS without the rows N that are not the objective: nothing limits them."""
        start = len(fields) % 2
        kept = [pair for pair in self._iter_pairs(fields[start:]) if pair[0] not in self.free_rows[1:]]
        if kept:
            return [*fields[:start], *(field for pair in kept for field in pair)]
        return []

    def _check_bound(self, fields: list[str]) -> None:
        kind, *others = fields
        counts: tuple[int, ...]
        if kind in VALUED:
            counts = 2, 3
        elif kind in UNVALUED:
            counts = 1, 2, 3
        else:
            counts = ()
        if len(others) not in counts:
            kinds = f"{', '.join(VALUED)} or {', '.join(UNVALUED)}"
            raise self._build_form_error(f"a bound is {kinds}, a variable and a number", fields)
        is_set_named = len(others) == 3 or (len(others) == 2 and kind in UNVALUED and others[1] in self.columns)
        is_set_named |= len(others) == 2 and kind in UNVALUED and self._is_from_highs and others[0] not in self.columns
        if is_set_named:
            self._check_set(others[0])
        column, *value = others[1:] if is_set_named else others
        self._record_entry(kind, self._check_known(column, self.columns, "variable"))
        number = self._parse_number(value[0]) if value and kind in VALUED else 0.0
        for side in SIDES.get(kind, ()):
            if (column, side) in self.bounds:
                line = self.bounds[column, side][1]
                raise self._build_error(
                    f"the variable {format_value(column)} has its {side} bound already, from line {line}; leave one out"
                )
            self.bounds[column, side] = number, self.line

    def _check_quadratic(self, fields: list[str]) -> None:
        if len(fields) not in (3, 5):
            raise self._build_form_error(f"an entry of {self.section} is two variables and a number", fields)
        first = self._check_known(fields[0], self.columns, "variable")
        for name, value in self._iter_pairs(fields[1:]):
            second = self._check_known(name, self.columns, "variable")
            if (first, second) in self.matrix:
                line = self.matrix[first, second][1]
                raise self._build_error(f"{self.section} has the entry ({first}, {second}) already, in line {line}")
            if self.section != "QMATRIX" and (second, first) in self.matrix:
                line = self.matrix[second, first][1]
                raise self._build_error(
                    f"{self.section} holds one triangle, and has both ({first}, {second}) and, in line {line}, "
                    f"({second}, {first}); leave one out, or call the section QMATRIX, which holds both"
                )
            self.matrix[first, second] = self._parse_number(value), self.line

    def _check_symmetry(self) -> None:
        """Check that both triangles of QMATRIX agree. Raises _LineError."""
        for (first, second), (value, line) in self.matrix.items() if self.is_full else ():
            if self.matrix.get((second, first), (0.0, 0))[0] != value:
                raise _LineError(
                    line,
                    f"QMATRIX holds both triangles, and ({first}, {second}) is {value:g} where ({second}, "
                    f"{first}) is not; write QUADOBJ above one triangle",
                )

    def _check_negative_bounds(self) -> None:
        """Check that no upper bound alone is negative: the lower one is then 0 or −∞. Raises _LineError."""
        for (column, side), (value, line) in self.bounds.items():
            if side == "upper" and value < 0.0 and (column, "lower") not in self.bounds:
                raise _LineError(
                    line,
                    f"the upper bound {value:g} of {format_value(column)} is below the lower bound 0 that holds "
                    f"by default, and some programs then take -infinity; add a bound MI or LO of {column}",
                )

    @property
    def _is_from_highs(self) -> bool:
        """Whether HiGHS seems to have written the file: it leaves variables without entries out of COLUMNS."""
        return next(iter(self.rows), "") == HIGHS_OBJECTIVE

    def _iter_pairs(self, fields: list[str]) -> Iterator[tuple[str, str]]:
        return zip(fields[::2], fields[1::2], strict=True)

    def _check_known(self, name: str, names: dict[str, int], kind: str) -> str:
        if name not in names and kind == "variable" and self._is_from_highs:
            names[name] = self.line
        if name not in names:
            where = "ROWS" if kind == "row" else "COLUMNS"
            raise self._build_error(f"{self.section} has the {kind} {format_value(name)}, which {where} does not have")
        return name

    def _record_entry(self, *key: str) -> None:
        """Record an entry of the section, which may occur only once."""
        entry = (self.section, *key)
        if entry in self.entries:
            text = format_value(" ".join(key))
            line = self.entries[entry]
            raise self._build_error(f"{self.section} has an entry of {text} already, in line {line}")
        self.entries[entry] = self.line

    def _parse_number(self, text: str) -> float:
        if not NUMBER.fullmatch(text):
            raise self._build_error(f"{format_value(text)} is not a number")
        return float(text.upper().replace("D", "E"))
