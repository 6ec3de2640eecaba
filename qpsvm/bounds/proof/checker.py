"""Confirm or refute a proof file independently of the library: python checker.py proof.json --data data.csv

This file needs only Python, and nothing of the library that wrote the proof. It computes with integers and fractions:
P and D below are exact, or enclosed between two fractions if the kernel has irrational values. Floats are only read
from the files or from text, or computed as (x - m)/s for standardised columns: the proof is about these floats. For
samples x_i, in a feature space if there is a kernel, a machine is a pair of functions

    P(w, mu) = |w|^2/2 + sum_k psi_k(l_k - s_k <w, z_k> - sum_g E_kg mu_g) + sum_g (e_g mu_g + R_g mu_g^2/2)
    D(a)     = sum_k l_k a_k - |sum_k a_k s_k z_k|^2/2 - sum_k d_k a_k^2/2 - sum_(R_g > 0) (E_g'a - e_g)^2/(2 R_g)
    psi_k(t) = the largest of a t - d_k a^2/2 over 0 <= a <= U_k

with points z_k = sum of a few x_i, and numbers s, l, U, d, E, e, R that `build_dual` has for each machine. D(a) <= P(w,
mu) if 0 <= a <= U and, for R_g = 0, E_g'a = e_g. So if P and D are close to each other, both are close to the optimum.

The entries of a file are checked against `build_form`: a missing, unknown or unused entry makes the file unusable, and
so does a number with too many digits. The printed sentences state the values used in the computation.

Exit code: 0 if every claim is confirmed, alpha is claimed to be feasible, and the gap is claimed and at most --tol,
which the file cannot set; or if it is confirmed that no hyperplane separates the classes. 1 if any of this is refuted
or not confirmed. 2 if a file cannot be used.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import datetime
import gzip
import hashlib
import io
import json
import lzma
import math
import os
import re
import stat
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

Sparse = dict[int, Any]  # the nonzero entries of a row
Ends = list[Fraction]  # lower and upper bound of a number
Table = tuple[list[str], list[list[Any]]]  # names of columns, and rows of cells
Kernel = Callable[[int, int], tuple[int, int]]  # integers below and above a multiple of K(x_i, x_j)
HEAD, SEAL = b'{\n"format": "qpsvm proof",\n"version": 1,\n', b'"seal": "'
MISSING = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None", "?"}
WITHOUT_DISTANCE = ("PrimalHinge", "SVDD", "CrammerSinger", "WestonWatkins")  # machines without distance claims
ALL_IN_ONE: Any = {"CrammerSinger": (max, sum), "WestonWatkins": (sum, max)}  # J and H of `bound_class_objectives`
BITS = 192  # precision of an irrational kernel value
INFINITE = Fraction(1 << 5000)  # larger than every bound that a file can hold
MAX_DIGITS = 4300  # largest number of digits of a number
MAX_DENOMINATOR_BITS = 1 << 15  # largest number of bits of a common denominator
MAX_UNPACKED_BYTES = 1 << 30  # largest number of bytes of an unpacked file
MAX_VALUE_BITS = 1 << 16  # largest number of bits of a kernel value
NEGLIGIBLE_VALUE = 2.0**-900  # a smaller optimal value counts as 0, for which a relative gap is undefined
TOLERANCE = 1e-6  # default of --tol
MAX_ROUNDING_SHARE = Fraction(1, 1 << 20)  # largest relative change of b or of the levels by rounding
MAX_GAP_OF_ZERO = Fraction(1, 1 << 40)  # largest gap of an optimum of 0: a larger one may be more than rounding


class UnusableError(Exception):
    """A file is missing or invalid: nothing is confirmed or refuted."""

    def __str__(self) -> str:
        return clean(super().__str__())


def clean(text: str) -> str:
    """Escape control characters, line ends and changes of direction, so that the text is one printable line."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def quote(value: Any) -> str:
    """Return a text of a file in quotation marks, shortened."""
    text = repr(value)
    if len(text) <= 60:
        return text
    return f"{text[:60]}... ({len(text)} characters)"


class DualRow(NamedTuple):
    """A row k: z as pairs of a sample index and a factor; s, l, U (None if infinite), d; E by the names of mu."""

    z: list[tuple[int, Fraction]]
    s: Fraction
    l: Fraction  # noqa: E741  (its name in P and D)
    U: Fraction | None
    d: Fraction
    E: dict[str, Fraction]


class DualProgram(NamedTuple):
    """The rows; e and R by the names of mu; the factors `unit` of P and D, and `half` of w and b."""

    rows: list[DualRow]
    e: dict[str, Fraction]
    R: dict[str, Fraction]
    unit: Fraction
    half: Fraction


class PlaneValues(NamedTuple):
    """<w, x_i> for all points, |w|^2, |v|^2 and |w - v|^2, where v = sum_k a_k s_k z_k."""

    values: list[Ends]
    w: Ends
    v: Ends
    difference: Ends


def require(condition: object, why: str) -> None:
    """Raise UnusableError unless the condition holds."""
    if not condition:
        raise UnusableError(why)


# --- what a proof file may hold ---------------------------------------------------------------------------------------


class Form(NamedTuple):
    """The form of a number or text: its description, and a test."""

    description: str
    is_valid: Callable[[Any], bool]


REAL = Form("a finite number", lambda x: type(x) in (int, float) and abs(x) <= sys.float_info.max)
POSITIVE = Form("a positive number", lambda x: REAL.is_valid(x) and x > 0)
AT_LEAST_0 = Form("a number of at least 0", lambda x: REAL.is_valid(x) and x >= 0)
SHARE = Form("a number above 0 and at most 1", lambda x: REAL.is_valid(x) and 0 < x <= 1)
OPEN_SHARE = Form("a number above 0 and below 1", lambda x: REAL.is_valid(x) and 0 < x < 1)
DEGREE = Form("a whole number from 1 to 99", lambda x: REAL.is_valid(x) and x in range(1, 100))
INTEGER = Form("a whole number", lambda x: type(x) is int)
POSITIVE_INTEGER = Form("a whole number from 1", lambda x: type(x) is int and x > 0)
INDEX = Form("a whole number from 0", lambda x: type(x) is int and 0 <= x < 1 << 31)
EXPONENT = Form("a whole number between -4000 and 4000", lambda x: type(x) is int and abs(x) <= 4000)
LONG_INTEGER = Form("a whole number of at most 2200 bits", lambda x: type(x) is int and x.bit_length() <= 2200)
TEXT = Form("text of at most 10000 characters", lambda x: isinstance(x, str) and len(x) <= 10000)
LABEL = Form("text, a number or a truth value", lambda x: isinstance(x, bool) or TEXT.is_valid(x) or REAL.is_valid(x))
FIRST_LABEL = Form("a label, or null for all others", lambda x: x is None or LABEL.is_valid(x))
NUMBER_OR_NULL = Form("a finite number, or null", lambda x: x is None or REAL.is_valid(x))
PENALTY = Form(
    "a positive number, or one for each row",
    lambda x: POSITIVE.is_valid(x) or (isinstance(x, list) and all(map(POSITIVE.is_valid, x))),
)
CATEGORIES = Form(
    "null, or a list of text", lambda x: x is None or (isinstance(x, list) and all(map(TEXT.is_valid, x)))
)
INTERCEPTS, TUBE_LOSSES = {"free", "penalised", None}, {"absolute", "squared"}
MACHINES: dict[str, tuple[str, dict[str, Any]]] = {  # what is learnt of each sample, and the parameters
    "CSVM": ("one of two", {"C": PENALTY, "intercept": INTERCEPTS}),
    "HardMargin": ("one of two", {"intercept": INTERCEPTS}),
    "NuSVM": ("one of two", {"nu": SHARE, "intercept": INTERCEPTS}),
    "PrimalHinge": ("one of two", {"lam": POSITIVE, "intercept": INTERCEPTS}),
    "SquaredHinge": ("one of two", {"C": PENALTY, "intercept": INTERCEPTS}),
    "HuberHinge": ("one of two", {"C": PENALTY, "width": POSITIVE, "intercept": INTERCEPTS}),
    "EpsilonSVR": ("number", {"C": PENALTY, "epsilon": AT_LEAST_0, "loss": TUBE_LOSSES, "intercept": INTERCEPTS}),
    "NuSVR": ("number", {"C": PENALTY, "nu": SHARE, "intercept": INTERCEPTS}),
    "QuantileSVR": ("number", {"C": PENALTY, "quantile": OPEN_SHARE, "intercept": INTERCEPTS}),
    "Ranking": ("number", {"C": POSITIVE}),
    "OneClass": ("nothing", {"nu": SHARE}),
    "SVDD": ("nothing", {"nu": SHARE}),
    "CrammerSinger": ("one of several", {"C": PENALTY, "intercept": INTERCEPTS}),
    "WestonWatkins": ("one of several", {"C": PENALTY, "intercept": INTERCEPTS}),
}
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "polynomial": {"degree": DEGREE, "gamma": POSITIVE, "coef0": REAL},
    "rbf": {"gamma": POSITIVE},
    "sigmoid": {"gamma": POSITIVE, "coef0": REAL},
    "precomputed": {},
}
CLAIMS: dict[str, dict[str, Any]] = {
    "feasible": {},
    "primal at most": {"bound": REAL},
    "dual at least": {"bound": REAL},
    "gap at most": {"bound": REAL},
    "gap at least": {"bound": REAL},
    "gap of zero at most": {"bound": REAL},  # relative to `enclose_zero_scale`, if P is 0
    "gap with the best b at most": {"bound": REAL, "b": (INTEGER, POSITIVE_INTEGER)},  # another b, as a fraction
    "gap with lower levels at most": {"bound": REAL, "lower": [(INDEX, AT_LEAST_0)]},  # by how much, of which rows
    "distance at most": {"bound": REAL},  # of the plane from that of every optimum
    "the hulls meet": {},
}
FILL = Form("a finite number, or text", lambda x: REAL.is_valid(x) or TEXT.is_valid(x))
COLUMN_OPTIONS: dict[str, Any] = {
    "rare?": [TEXT], "date?": {"ymd", "dmy", "mdy"}, "origin?": POSITIVE_INTEGER, "fill?": FILL,
    "missing?": {"has a feature"}, "unit?": {*"%$€£¥"},
}  # fmt: skip
READING_OPTIONS: dict[str, Any] = {
    "mean?": [REAL], "scale?": [REAL], "drop_missing?": [TEXT], "labels?": (FIRST_LABEL, LABEL),
}  # fmt: skip
TABLE_OPTIONS: dict[str, Any] = {
    **READING_OPTIONS, "columns?": [(TEXT, CATEGORIES, COLUMN_OPTIONS)], "target?": TEXT, "na?": [TEXT],
    "decimal?": {".", ","}, "encoding?": TEXT,
}  # fmt: skip
OPTIONS_OF_KIND: Any = {
    "libsvm": {**READING_OPTIONS, "first_index?": INDEX},
    "csv": TABLE_OPTIONS,
    "npy": TABLE_OPTIONS,
    None: TABLE_OPTIONS,
}


def check_form(value: Any, form: Any, where: str) -> None:
    """Raise UnusableError unless a value has a form.

    A form is a `Form`, {name: form} with a ? after optional names, [form of each item], (form of the first item, ...),
    or a set of allowed values.
    """
    if isinstance(form, Form):
        require(form.is_valid(value), f"{where} is not {form.description}")
    elif isinstance(form, dict):
        require(isinstance(value, dict), f"{where} is no object with names")
        odd = {*value} - {name.rstrip("?") for name in form}
        require(not odd, f"{where} has {quote(min(odd, default=''))}, which is not known here")
        for name, subform in form.items():
            require(name.endswith("?") or name in value, f"{where} lacks {name!r}")
            if name.rstrip("?") in value:
                check_form(value[name.rstrip("?")], subform, f"{where} {name.rstrip('?')}".strip())
    elif isinstance(form, (list, tuple)):
        if form == (TEXT, CATEGORIES, COLUMN_OPTIONS) and len(value) == 2:
            form = form[: len(value)]
        has_length = isinstance(value, list) and (isinstance(form, list) or len(value) == len(form))
        require(has_length, f"{where} is no list, or one of another length")
        for subform, item in zip(form * len(value) if isinstance(form, list) else form, value, strict=True):
            check_form(item, subform, where)
    else:
        is_allowed = (isinstance(value, str) or value is None) and value in form
        require(is_allowed, f"{where} is not one of {sorted(map(repr, form))}")


def read_name(value: Any, where: str, names: Any) -> str:
    """Return the name of a machine, a kernel or a claim."""
    name = value.get(where) if isinstance(value, dict) else None
    require(isinstance(name, str) and name in names, f"this checker knows no {where} {quote(name)}")
    return str(name)


def build_form(proof: Any) -> dict[str, Any]:
    """Return the form of a proof about this machine with this kernel."""
    name = read_name(proof["machine"], "name", MACHINES)
    kernel = read_name(proof["machine"]["kernel"], "name", KERNELS)
    learnt, _ = MACHINES[name]
    machine = build_machine_form(name, kernel)
    fractions = [(INDEX, INTEGER, POSITIVE_INTEGER)]
    alpha = {"exponent": EXPONENT, "integers": [LONG_INTEGER], "others": fractions}
    evidence: dict[str, Any] = {"alpha": alpha, "plane": build_plane_form(proof, learnt, kernel)}
    if name == "HardMargin" and "hulls" in proof:
        evidence = {"hulls": {"u": fractions, "v": fractions}}
    return {
        "format": {"qpsvm proof"}, "version": POSITIVE_INTEGER, "about": TEXT, "machine": machine,
        "data": {"rows": POSITIVE_INTEGER, "values": TEXT}, "file": build_file_form(proof["file"], learnt), **evidence,
        "claims": tuple({"claim": TEXT, **CLAIMS[read_name(claim, "claim", CLAIMS)]} for claim in proof["claims"]),
        "assumptions": [TEXT], "seal": TEXT,
    }  # fmt: skip


def build_machine_form(name: str, kernel: str) -> dict[str, Any]:
    """Return the form of the description of a machine."""
    learnt, parameters = MACHINES[name]
    kernel_form = {"name": TEXT, **KERNELS[kernel]}
    form: dict[str, Any] = {"name": TEXT, "parameters": parameters, "kernel": kernel_form, "weights?": [AT_LEAST_0]}
    if learnt == "one of two":
        form["classes"] = (LABEL, LABEL)
    if learnt == "one of several":
        form["classes"] = [LABEL]
    if name == "Ranking":
        form["pairs"] = [(INDEX, INDEX)]
    if learnt != "one of several" and name != "SVDD" and kernel != "precomputed":  # linear constraints of the user
        form["rows?"] = {"names": [TEXT], "points": [[REAL]], "each": [([(INDEX, REAL)], NUMBER_OR_NULL, REAL)]}
    return form


def build_plane_form(proof: Any, learnt: str, kernel: str) -> dict[str, Any]:
    """Return the form of a plane, given by w or by the coefficients of the samples; for a ball w is its centre."""
    stored = proof.get("plane", ())
    is_ball = proof["machine"]["name"] == "SVDD"
    key_of_w = "coef" if "coef" in stored or kernel != "linear" else "w"
    multipliers_form = dict.fromkeys(list_multipliers(proof["machine"]), REAL)
    if learnt == "one of several":
        return {key_of_w: [[REAL]], "b": [REAL]}
    if is_ball and key_of_w == "w":
        return {"centre": [REAL], "radius": REAL}
    if is_ball and "radius" in stored:
        return {"coef": [REAL], "radius": REAL}
    return {key_of_w: [REAL], "multipliers": multipliers_form}


def build_file_form(reading: Any, learnt: str) -> dict[str, Any]:
    """Return the form of the entry that says how the data are read; it may be empty."""
    if reading == {}:
        return {}
    kind = reading.get("kind")
    seen = {"name": TEXT, "sha256": TEXT} if {"name", "sha256"} & {*reading} else {}
    form: dict[str, Any] = {**seen, "kind?": {"csv", "npy", "libsvm"}, **OPTIONS_OF_KIND[kind]}
    is_unused = {"target?": learnt == "nothing", "labels?": learnt != "one of two"}
    return {key: subform for key, subform in form.items() if not is_unused.get(key)}


def list_multipliers(machine: Any) -> set[str]:
    """Return the names of the multipliers mu of a machine with one decision function."""
    names = {"NuSVM": {"rho"}, "NuSVR": {"epsilon"}, "OneClass": {"b"}, "SVDD": {"b"}}.get(machine["name"], set())
    return names | ({"b"} if machine["parameters"].get("intercept") else set())


def parse_proof(content: bytes) -> Any:
    """Parse a proof, and check the forms of its parts and that they fit together."""
    numbers: Any = {"parse_int": parse_integer, "parse_float": parse_number, "parse_constant": parse_number}
    proof = json.loads(content.decode(), object_pairs_hook=reject_duplicate_keys, **numbers)
    check_form(proof, build_form(proof), "")
    machine = proof["machine"]
    kinds = [claim["claim"] for claim in proof["claims"]]
    n = proof["data"]["rows"]
    require(len({*kinds}) == len(kinds), "a claim is there twice")
    require(("hulls" in proof) == ("the hulls meet" in kinds), "a claim is about what the proof does not hold")
    require(len(kinds) == 1 or "hulls" not in proof, "hulls show nothing else")
    for name, value in (("weights", machine.get("weights")), ("C", machine["parameters"].get("C"))):
        require(not isinstance(value, list) or len(value) == n, f"{name} are not those of {n} rows")
    check_reading(proof["file"])
    check_indices(machine, n)
    check_fractions([proof["hulls"]["u"], proof["hulls"]["v"]] if "hulls" in proof else [proof["alpha"]["others"]])
    return proof


def check_reading(reading: Any) -> None:
    """Check that the options of columns are complete, and that no column is there twice."""
    has_both = ("mean" in reading) == ("scale" in reading)
    require(has_both and 0 not in reading.get("scale", ()), "columns have no mean, or no scale")
    columns = list_columns(reading.get("columns", ()))
    has_both = all(("date" in options) == ("origin" in options) for _, _, options in columns)
    require(has_both, "a date has no first day, or no order")
    require(len({name for name, _, _ in columns}) == len(columns), "a column is there twice")


def check_indices(machine: Any, n: int) -> None:
    """Check that pairs name two of n rows each, and linear constraints some of their points, each once."""
    for i, j in machine.get("pairs", ()):
        require(i < n and j < n and i != j, "a pair does not name two different rows")
    constraints = machine.get("rows", {"points": (), "each": ()})
    for factors, _, _ in constraints["each"]:
        indices = {j for j, _ in factors}
        exist = all(j < len(constraints["points"]) for j in indices)
        require(exist and len(indices) == len(factors), "a point is missing, or there twice")


def check_fractions(sides: list[Any]) -> None:
    """Check that no side has two fractions for one row, and that a common denominator is not too long."""
    common = 1
    for side in sides:
        require(len({k for k, _, _ in side}) == len(side), "a row has two numbers")
        for _, _, q in side:
            common = math.lcm(common, q)
            require(common.bit_length() <= MAX_DENOMINATOR_BITS, "the fractions have too many digits to be checked")


# --- the proof file and the data --------------------------------------------------------------------------------------


def read_content(path: str) -> bytes:
    """Read the bytes of a file."""
    try:
        require(stat.S_ISREG(os.stat(path).st_mode), f"{path} cannot be read: it is no file")
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise UnusableError(f"{path} cannot be read: {error}") from error


def parse_number(value_or_text: Any) -> float:
    """Convert text to the nearest float; check that a number is a finite float."""
    is_number = not isinstance(value_or_text, str) or (
        len(value_or_text) <= MAX_DIGITS and re.fullmatch(r"[-+.\deE]+", value_or_text, re.ASCII)
    )
    require(is_number and math.isfinite(value := float(value_or_text)), f"{quote(value_or_text)} is no finite number")
    require(isinstance(value_or_text, str) or value == value_or_text, f"{quote(value_or_text)} is no float")
    return value


def parse_integer(text: str) -> int:
    """Convert text to an integer; it must not be too long."""
    require(
        len(text) <= MAX_DIGITS and re.fullmatch(r"[-+]?\d+", text, re.ASCII), f"{quote(text)} is no whole number here"
    )
    return int(text)


def parse_row_indices(given: str) -> list[int]:
    """Parse nonnegative integers separated by commas."""
    found = [parse_integer(text.strip()) for text in given.split(",")]
    require(all(map(INDEX.is_valid, found)), f"{quote(given)} are no rows")
    return found


def reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object of JSON; a repeated key is an error."""
    require(len(dict(pairs)) == len(pairs), "the proof file has a name twice")
    return dict(pairs)


def open_proof(path: str) -> Any:
    """Return the content of a proof file; None if its bytes are not those that were sealed."""
    content = read_content(path)
    require(content.startswith(HEAD[:25]), f"{path} is not a proof file of qpsvm")
    body, _, seal = content.rpartition(SEAL)
    if seal != hashlib.sha256(body).hexdigest().encode() + b'"\n}\n' or not content.startswith(HEAD):
        return None
    return parse_proof(content)


def parse_csv(content: str) -> Table:
    """Return the names of the columns, and the cells of each row."""
    head = re.sub('"[^"]*"', "", next((line for line in content.split("\n") if line.strip()), ""))
    lines = csv.reader(io.StringIO(content), delimiter=max(",;\t|", key=head.count), skipinitialspace=True, strict=True)
    header, *rows = [line for line in lines if len(line) > 1 or any(cell.strip() for cell in line)]
    return [" ".join(name.split()) for name in header], [[cell.strip() for cell in row] for row in rows]


def parse_npy(content: bytes) -> Table:
    """Return an array as a table whose columns are named 0, 1, ...."""
    first = 10 if content[6] == 1 else 12
    start = first + int.from_bytes(content[8:first], "little")
    form = r"\{'descr': '([<>|])(\w\d)', 'fortran_order': (True|False), 'shape': \((\d+),(?: (\d+))?\), \}\s*"
    matches = re.findall(rf"\A{form}\Z", content[first:start].decode("ascii"))
    require(matches, "the array does not hold numbers in one or two dimensions")
    order, kind, fortran, high, wide = matches[0]
    n = int(high)
    d = int(wide or 1)
    require(n * d > 0, "the array is empty")
    code = "dfeqihbQIHB?"[("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1").index(kind)]
    values = struct.unpack(f"{order.replace('|', '<')}{n * d}{code}", content[start:])
    rows = [values[i::n] if fortran == "True" else values[i * d : i * d + d] for i in range(n)]
    return [str(j) for j in range(d)], [list(row) for row in rows]


def list_columns(columns: Iterable[Any]) -> list[tuple[str, Any, Any]]:
    """Return the name, the categories and the options of columns, some of which have no options."""
    return [(name, categories, *(options or [{}])) for name, categories, *options in columns]


def select_columns(header: list[str], reading: Any, target: str | None) -> list[tuple[str, Any, Any]]:
    """Return the columns of the features; if the proof does not name them, all but the target, read as numbers."""
    require(len({*header} - {""}) == len([name for name in header if name]), "two columns of the data have one name")
    columns = list_columns(reading.get("columns", [[name, None] for name in header if name not in ("", target)]))
    known = {*header}
    names = [name for name, _, _ in columns]
    for name in names if target is None else [*names, target]:
        require(name in known, f"the data have no column {name!r}")
    return columns


def encode_table(table: Table, reading: Any, target: str | None) -> tuple[list[Sparse], list[Any]]:
    """Return the features of each row, and its target as in the table."""
    header, lines = table
    columns = select_columns(header, reading, target)
    required: list[str] = []  # of a row that is not dropped
    if "drop_missing" in reading:
        required = [name for name, _, options in columns if "fill" not in options]
        required += [*([] if target is None else [target]), *reading["drop_missing"]]
    rows, targets = [], []
    for line in lines:
        cells = {name: normalise_cell(cell, reading) for name, cell in zip(header, line, strict=True)}
        if any(cells[name] in MISSING for name in required):
            continue
        x = [value for name, *how in columns for value in encode_cell(name, cells[name], *how)]
        rows.append({j: value for j, value in enumerate(x) if value})
        targets.append(None if target is None else cells[target])
    return rows, targets


def normalise_cell(cell: Any, reading: Any) -> Any:
    """Return a cell of text with "" for a missing value, and a number with a point and without thousands marks."""
    if isinstance(cell, str) and cell in reading.get("na", ()):
        return ""
    decimal = reading.get("decimal")
    if not isinstance(cell, str) or decimal is None:
        return cell
    thousands = "." if decimal == "," else ","
    blank, unit = " \u00a0\u202f", "%$€£¥"
    digits = rf"(\d{{1,3}}(?:[{thousands}{blank}'’]\d{{3}})+|\d+)(?:\{decimal}(\d*))?"
    form = rf"([+-]?[{unit}]?[{blank}]?[+-]?){digits}((?:[eE][+-]?\d+)?[{blank}]?[{unit}]?)"
    parts = re.fullmatch(form, cell, re.ASCII)
    if not parts:
        return cell
    fraction = "" if parts[3] is None else "." + parts[3]
    return parts[1] + re.sub("[^0-9]", "", parts[2]) + fraction + parts[4]


def encode_cell(name: str, cell: Any, categories: Any, options: Any) -> list[float]:
    """Return the features of a cell: a number; 0 or 1 for each category and for rare ones; or the parts of a date."""
    missing = cell in MISSING and "fill" in options
    value = options["fill"] if missing else cell
    rare = options.get("rare", ())
    if "date" in options:
        day = value if missing else parse_day(value, options["date"])
        require(REAL.is_valid(day) and 0 < day < 3652060, f"column {name!r} has a date that is none")
        date = datetime.date.fromordinal(int(day))
        parts = (date.year, date.month, date.weekday(), date.toordinal() - options["origin"])
        values = [float(part) for part in parts]
    elif categories is None:
        if "unit" in options and not missing:
            bare = re.sub(rf"\s|[{options['unit']}]", "", value)
        else:
            bare = value
        values = [parse_number(bare)]
    else:
        require(value in categories or value in rare, f"column {name!r} has another category")
        values = [float(value == category) for category in categories] + [float(value in rare)] * bool(rare)
    return values + [float(cell in MISSING)] * ("missing" in options)


def parse_day(text: str, order: str) -> Any:
    """Return the number of a day, 1 for 1 January of year 1; None if the text is not a date in this order."""
    time = r"(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z|UTC|[-+]\d{2}:?\d{2}|[AaPp][Mm])?)?"
    first, last = (4, 2) if order == "ymd" else (2, 4)
    form = rf"(\d{{{first if first == 4 else '1,2'}}})([-/.])(\d{{1,2}})\2(\d{{{last if last == 4 else '1,2'}}}){time}"
    match = re.fullmatch(form, text, re.ASCII)
    if not match or (match[2] == "." and order == "mdy"):
        return None
    named = dict(zip(order, [int(match[k]) for k in (1, 3, 4)], strict=True))
    try:
        return datetime.date(named["y"], named["m"], named["d"]).toordinal()
    except ValueError:
        return None


def parse_libsvm(content: str) -> list[tuple[str, list[list[str]]]]:
    """Return the label of each line `label index:value ...`, and its pairs of an index and a value, as text."""
    lines = [line.split("#")[0].split() for line in content.split("\n")]
    return [(line[0], [p.split(":") for p in line[1:] if not p.startswith("qid:")]) for line in lines if line]


def encode_libsvm(content: str, reading: Any) -> tuple[list[Sparse], list[Any]]:
    """Return the samples and targets of the lines of a LIBSVM file."""
    lines = parse_libsvm(content)
    first = reading.get("first_index", min([1, *(parse_integer(j) for _, pairs in lines for j, _ in pairs)]))
    if "drop_missing" in reading:
        lines = [(y, pairs) for y, pairs in lines if not {value for _, value in pairs} & MISSING]
    for _, pairs in lines:
        indices = {parse_integer(j) for j, _ in pairs}
        require(len(indices) == len(pairs), "a feature is there twice in one line")
        require(all(0 <= j - first < 1 << 31 for j in indices), "a feature has a number that is out of range")
    rows = [{int(j) - first: value for j, text in pairs if (value := parse_number(text))} for _, pairs in lines]
    return rows, [y for y, _ in lines]


def unpack(content: bytes) -> bytes:
    """Return the bytes of a file, unpacked if it is compressed."""
    for mark, packer in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ\0", lzma)):
        if content.startswith(mark):
            with packer.open(io.BytesIO(content)) as file:
                content = file.read(MAX_UNPACKED_BYTES + 1)
            limit = f"the data are packed, and unpacked they have more than {MAX_UNPACKED_BYTES} bytes"
            require(len(content) <= MAX_UNPACKED_BYTES, limit)
    return content


def decode_data(content: bytes, encoding: str) -> str:
    """Return the text of a data file."""
    try:
        return content.decode(encoding).removeprefix(chr(0xFEFF))  # a byte order mark
    except (LookupError, UnicodeError):
        raise UnusableError(f"the data are not text in {encoding}") from None


def read_samples(
    content: bytes, reading: Any, target: str | None, machine: Any
) -> tuple[list[Sparse], list[float], str]:
    """Return the rows of a data file and their targets, read as the proof says, and its kind: csv, libsvm or npy."""
    content = unpack(content)
    target = target or reading.get("target")
    learnt_of = MACHINES[machine["name"]][0]
    learns = learnt_of != "nothing"
    kind = "npy" if content.startswith(b"\x93NUMPY") else reading.get("kind")
    if kind == "npy":
        table = parse_npy(content)
        if learns and str(target).endswith(".npy"):
            y = parse_npy(read_content(str(target)))[1]
            table = [*table[0], str(target)], [row + extra_cells for row, extra_cells in zip(table[1], y, strict=True)]
    else:
        text = decode_data(content, reading.get("encoding", "utf-8-sig")).replace("\r\n", "\n").replace("\r", "\n")
        kind = kind or guess_kind(text)
        table = ([], []) if kind == "libsvm" else parse_csv(text)
    require(reading.get("kind") in (kind, None), f"the data are {kind}, and not as the proof says")
    if kind == "libsvm":
        rows, targets = encode_libsvm(text, reading)
    else:
        rows, targets = encode_table(table, reading, (target or table[0][-1]) if learns else None)
    require(rows, "the data are empty")
    if "scale" in reading:
        rows = standardise(rows, reading["mean"], reading["scale"])
    labels = reading.get("labels") or machine.get("classes")
    return rows, encode_targets(targets, labels, learnt_of) if learns else [0.0] * len(rows), kind


def guess_kind(text: str) -> str:
    """Tell a LIBSVM file from a CSV file by the first line that is more than numbers and spaces."""
    first_line = next((line for line in text.split("\n") if re.search(r"[^\s\d.eE+-]", line.split("#")[0])), "")
    if re.match(r"\s*(\S+\s+)?(qid|[+-]?\d+):", first_line):
        return "libsvm"
    return "csv"


def standardise(rows: list[Sparse], means: list[float], scales: list[float]) -> list[Sparse]:
    """Return (x - m)/s for each column of the rows."""
    require(all(j < len(scales) for row in rows for j in row), "a column has no scale")
    moments = list(enumerate(zip(means, scales, strict=True)))
    return [{j: v for j, (m, s) in moments if (v := (row.get(j, 0.0) - m) / s)} for row in rows]


def leave_out(rows: list[Sparse], y: list[float], gone: list[int], machine: Any) -> tuple[list[Sparse], list[float]]:
    """Return the samples without some rows, in order; for a kernel matrix, also without their columns."""
    exist = not gone or 0 <= gone[0] <= gone[-1] < len(rows)
    require(exist, f"the data have rows 0 to {len(rows) - 1}, and no {gone[-1:]}")
    kept_rows = sorted({*range(len(rows))} - {*gone})
    if machine["kernel"]["name"] == "precomputed" and gone:
        new_index = {i: k for k, i in enumerate(kept_rows)}
        rows = [{new_index[j]: x for j, x in row.items() if j in new_index} for row in rows]
    return [rows[i] for i in kept_rows], [y[i] for i in kept_rows]


def name_rows(gone: Sequence[int]) -> str:
    """Name rows by their indices; of many, only the first."""
    if len(gone) == 1:
        parts = [f"row {gone[0]}"]
    else:
        parts = ["rows " + ", ".join(map(str, gone[:20]))]
    return " ".join(parts + [f"and {len(gone) - 20} more"] * (len(gone) > 20))


def encode_targets(targets: list[Any], labels: Any, of: str) -> list[float]:
    """Return the targets as numbers: -1 and +1 for two labels, the first of which may be None for all others.

    For all-in-one machines, return the index of each label.
    """

    def is_label(cell: Any, label: Any) -> Any:
        if isinstance(label, str) or (isinstance(label, bool) and cell in ("False", "True")):
            return cell == str(label)
        return parse_number(cell) == label

    if of == "number":
        return [parse_number(target) for target in targets]
    codes = []
    for target in targets:
        places = [c for c, label in enumerate(labels) if label is not None and is_label(target, label)]
        places = places or [0] * (labels[0] is None)
        require(len(places) == 1, f"{quote(target)} is not exactly one of the labels")
        codes.append(float(places[0]))
    return codes if of == "one of several" else [2 * c - 1 for c in codes]


def compute_digest(rows: list[Sparse], y: list[float]) -> str:
    """Return the SHA-256 of doubles: for each row the number of nonzeros, index and value of each, and the target."""
    sha256 = hashlib.sha256()
    for row, t in zip(rows, y, strict=True):
        values = [len(row), *(number for j in sorted(row) for number in (j, row[j])), t]
        sha256.update(struct.pack(f"<{len(values)}d", *values))
    return sha256.hexdigest()


# --- the machines and their kernels -----------------------------------------------------------------------------------


def compute_penalties(parameters: Any, s: list[Fraction], indices: list[int]) -> list[Fraction]:
    """Return C_i, times the weights s, of the samples with some indices in the data."""
    C = parameters.get("C", 1)
    return [w * Fraction(C[i] if isinstance(C, list) else C) for i, w in zip(indices, s, strict=True)]


class Targets(NamedTuple):
    """The samples of positive weight: targets, weights, C_i, K(x_i, x_i), and their indices in the data."""

    y: list[Fraction]
    s: list[Fraction]
    C: list[Fraction]
    diagonal: list[Fraction]
    indices: list[int]


def list_sides(machine: Any, targets: Targets) -> list[tuple[Any, Any, Any, Any]]:
    """Return s, l, U and d of the n rows of a machine; for regression, of both rows of each sample."""
    parameters = machine["parameters"]
    n = len(targets.y)
    zero = Fraction(0)
    one = Fraction(1)
    nu, lam, width, tau = (Fraction(parameters.get(key, 1)) for key in ("nu", "lam", "width", "quantile"))
    epsilon = Fraction(parameters.get("epsilon", 0))
    total = sum(targets.s)
    squares = [1 / (2 * c) for c in targets.C]
    shares = [w / total for w in targets.s]
    ones = [one] * n
    minus = [-one] * n
    zeros = [zero] * n
    unbounded = [None] * n
    up = [t - epsilon for t in targets.y]
    down = [-t - epsilon for t in targets.y]
    tube: Any = (unbounded, squares) if parameters.get("loss") == "squared" else (targets.C, zeros)
    sides: Any = {
        "CSVM": [(targets.y, ones, targets.C, zeros)],
        "HardMargin": [(targets.y, ones, unbounded, zeros)],
        "NuSVM": [(targets.y, zeros, shares, zeros)],
        "PrimalHinge": [(targets.y, ones, [w / lam for w in shares], zeros)],
        "SquaredHinge": [(targets.y, ones, unbounded, squares)],
        "HuberHinge": [(targets.y, ones, targets.C, [width / c for c in targets.C])],
        "EpsilonSVR": [(ones, up, *tube), (minus, down, *tube)],
        "NuSVR": [(ones, up, targets.C, zeros), (minus, down, targets.C, zeros)],
        "QuantileSVR": [
            (ones, up, [tau * c for c in targets.C], zeros),
            (minus, down, [(1 - tau) * c for c in targets.C], zeros),
        ],
        "OneClass": [(ones, zeros, targets.s, zeros)],
        "SVDD": [(ones, [k / 2 for k in targets.diagonal], [w / nu for w in shares], zeros)],
        "Ranking": [],
    }
    rows_of_machine: list[tuple[Any, Any, Any, Any]] = sides[machine["name"]]
    return rows_of_machine


def find_mass(machine: Any, targets: Targets) -> tuple[str | None, Fraction, Fraction]:
    """Return the multiplier of the equality with a constant column 1 or -1, this constant, and the right-hand side.

    The multiplier is None if the machine has no such equality.
    """
    name = machine["name"]
    nu = Fraction(machine["parameters"].get("nu", 1))
    zero = Fraction(0)
    one = Fraction(1)
    total = sum(targets.s, Fraction(0))
    above = sum((weight for t, weight in zip(targets.y, targets.s, strict=True) if t > 0), zero)
    largest_nu = 2 * min(above, total - above) / total  # a float may exceed this by rounding
    require(name != "NuSVM" or nu <= largest_nu * (1 + Fraction(1, 1 << 40)), "nu is above its largest value")
    masses: dict[str, tuple[str, Fraction, Fraction]] = {
        "NuSVM": ("rho", -one, -min(nu, largest_nu)),
        "NuSVR": ("epsilon", one, nu * sum(targets.C)),
        "OneClass": ("b", one, nu * total),
        "SVDD": ("b", one, one),
    }
    return masses.get(name, (None, zero, zero))


def list_pair_rows(machine: Any, targets: Targets) -> list[DualRow]:
    """Return the rows of a ranking: f of one sample should exceed f of another."""
    index_of = {i: k for k, i in enumerate(targets.indices)}
    one = Fraction(1)
    pairs = [(index_of[i], index_of[j]) for i, j in machine.get("pairs", ()) if i in index_of and j in index_of]
    C = Fraction(machine["parameters"].get("C", 1)) if pairs else one
    return [
        DualRow([(i, one), (j, -one)], one, one, C * targets.s[i] * targets.s[j], Fraction(0), {}) for i, j in pairs
    ]


def list_user_rows(machine: Any, n: int, e: dict[str, Fraction]) -> list[DualRow]:
    """Return the rows of linear constraints, <w, sum_j z_j x_j> + c b <= h, over the points after the n samples."""
    rows = []
    zero = Fraction(0)
    one = Fraction(1)
    for z, c, h in machine.get("rows", {}).get("each", ()):
        factors = [(n + j, Fraction(factor)) for j, factor in z]
        b_factor = sum((factor for _, factor in factors), zero) if c is None else Fraction(c)  # f(x_j) is <w, x_j> + b
        rows.append(DualRow(factors, -one, -Fraction(h), None, zero, {mu: -b_factor * (mu == "b") for mu in e}))
    return rows


def build_dual(
    machine: Any, y: list[Fraction], s: list[Fraction], indices: list[int], diagonal: list[Fraction]
) -> DualProgram:
    """Build the program over samples with targets y, weights s, indices in the data, and K(x, x)."""
    name = machine["name"]
    parameters = machine["parameters"]
    n = len(y)
    zero = Fraction(0)
    one = Fraction(1)
    targets = Targets(y, s, compute_penalties(parameters, s, indices), diagonal, indices)
    mass, E, e_mass = find_mass(machine, targets)
    intercept = parameters.get("intercept")  # of which E is s, and e is 0
    e = {"b": zero} if intercept else {}
    R = {"b": {"free": zero, "penalised": one}[intercept]} if intercept else {}
    if mass:
        e[mass], R[mass] = e_mass, zero
    rows = [
        DualRow([(i, one)], S[i], L[i], U[i], d[i], {mu: E if mu == mass else S[i] for mu in e})
        for S, L, U, d in list_sides(machine, targets)
        for i in range(n)
    ]
    rows += [*list_pair_rows(machine, targets), *list_user_rows(machine, n, e)]
    unit = {"PrimalHinge": Fraction(parameters.get("lam", 1)), "SVDD": Fraction(2)}.get(name, one)
    return DualProgram(rows, e, R, unit, Fraction(1, 2) if name == "SVDD" else one)


def as_integers(numbers: Iterable[Any]) -> tuple[list[int], int]:
    """Return numbers as integers over a common denominator."""
    ratios = [x.as_integer_ratio() for x in numbers]
    common = math.lcm(*{q for _, q in ratios})
    return [p * (common // q) for p, q in ratios], common


def convert_to_integers(rows: list[Sparse]) -> tuple[list[dict[int, int]], int]:
    """Return rows as integers over a common denominator."""
    integers, common = as_integers(x for row in rows for x in row.values())
    values = iter(integers)
    return [{j: next(values) for j in row} for row in rows], common


def enclose_exponential(x: Fraction) -> tuple[int, int]:
    """Return integers below and above 2^BITS exp(-x), for x >= 0: exp(-x/2^r) to the power 2^r, x/2^r < 1/256.

    In units of 2^-BITS, the error of each of the k terms of the series is less than 2, because the error of x is less
    than 1 and each term is x/k times the one before, rounded down; the remaining terms add up to less than 1.
    """
    if x == 0 or x >= BITS:
        return (1 << BITS, 1 << BITS) if x == 0 else (0, 1)
    r = math.floor(x).bit_length() + 8
    small = (x.numerator << BITS) // (x.denominator << r)
    term = 1 << BITS
    total = 1 << BITS
    k = 0
    while term:
        k += 1
        term = (term * small >> BITS) // k
        total += -term if k % 2 else term
    low, high = total - 2 * k - 2, total + 2 * k + 2
    for _ in range(r):
        low = low * low >> BITS
        high = (high * high >> BITS) + 1
    return low, high


def enclose_tangent(x: Fraction) -> tuple[int, int]:
    """Return integers below and above 2^BITS tanh(x)."""
    one = 1 << BITS
    low, high = enclose_exponential(2 * abs(x))
    below = (one - high << BITS) // (one + high)
    above = (one - low << BITS) // (one + low) + 1
    return (below, above) if x >= 0 else (-above, -below)


def build_kernel(kernel: Any, points: list[Sparse]) -> tuple[Kernel, int]:
    """Return a multiple of the kernel over some points, and the factor."""
    rows, common = convert_to_integers(points)
    gamma = Fraction(kernel.get("gamma", 1))
    square = common * common

    def dot(i: int, j: int) -> int:
        a, b = rows[i], rows[j]
        return sum(x * b[j_both] for j_both, x in a.items() if j_both in b)

    match kernel["name"]:
        case "linear":
            return lambda i, j: (dot(i, j),) * 2, square
        case "polynomial":
            power = int(kernel["degree"])
            (factor, constant), unit = as_integers([gamma / square, kernel["coef0"]])
            largest_product = max((dot(i, i) for i in range(len(rows))), default=0)  # by Cauchy and Schwarz
            bits = max((factor * largest_product + abs(constant)).bit_length(), unit.bit_length())
            require(power * bits <= MAX_VALUE_BITS, "the values of the kernel have too many digits to be checked")
            return lambda i, j: ((factor * dot(i, j) + constant) ** power,) * 2, unit**power
        case "rbf":
            norms = [dot(i, i) for i in range(len(rows))]
            scale = gamma / square
            return lambda i, j: enclose_exponential(scale * (norms[i] + norms[j] - 2 * dot(i, j))), 1 << BITS
        case "sigmoid":
            shift = Fraction(kernel["coef0"])
            return lambda i, j: enclose_tangent(gamma * Fraction(dot(i, j), square) + shift), 1 << BITS
        case "precomputed":
            return lambda i, j: (rows[i].get(j, 0),) * 2, common
    raise UnusableError(f"this checker does not know the kernel {kernel['name']!r}")


# --- P and D ----------------------------------------------------------------------------------------------------------


def enclose_sum(factors: dict[int, int], ends: Any) -> list[int]:
    """Enclose the sum of integers times numbers; number j is between ends[j][0] and ends[j][1]."""
    return [sum(factor * ends[j][k ^ (factor < 0)] for j, factor in factors.items()) for k in (0, 1)]


def evaluate_by_kernel(kernel: Kernel, unit: int, coef: list[Fraction], beta: list[Fraction]) -> PlaneValues:
    """Enclose each value between two fractions, for w = sum coef_j x_j and v = sum beta_j x_j."""
    vectors, denominators = [], []
    for coefficients in (coef, beta, [c - b for c, b in zip(coef, beta, strict=True)]):  # w, v and w - v
        integers, denominator = as_integers(coefficients)
        vectors.append({j: factor for j, factor in enumerate(integers) if factor})
        denominators.append(denominator)
    used = sorted({j for factors in vectors for j in factors})
    products: list[list[list[int]]] = [[], [], []]  # of each vector with each x_i
    for i in range(len(coef)):
        ends = {j: kernel(i, j) for j in used}
        for factors, products_of_vector in zip(vectors, products, strict=True):
            products_of_vector.append(enclose_sum(factors, ends))
    values = [[Fraction(end, unit * denominators[0]) for end in ends_of_w] for ends_of_w in products[0]]
    squared_norms = [
        [Fraction(end, unit * denominator**2) for end in enclose_sum(factors, ends)]
        for factors, ends, denominator in zip(vectors, products, denominators, strict=True)
    ]
    return PlaneValues(values, *squared_norms)


def evaluate_by_coordinates(points: list[Sparse], plane: list[Fraction], beta: list[Fraction]) -> PlaneValues:
    """Return the exact values for a w given by coordinates."""
    rows, unit = convert_to_integers(points)
    b, b_unit = as_integers(beta)
    w, w_unit = as_integers(plane)
    values = [Fraction(sum(w[j] * x for j, x in row.items()), unit * w_unit) for row in rows]
    sums = [0] * len(w)
    for factor, row in zip(b, rows, strict=True):
        for j, x in row.items() if factor else ():
            sums[j] += factor * x
    v = [Fraction(x, unit * b_unit) for x in sums]
    vectors = (plane, v, [a - c for a, c in zip(plane, v, strict=True)])
    squares = [[sum((x * x for x in vector), Fraction(0))] * 2 for vector in vectors]
    return PlaneValues([[value] * 2 for value in values], *squares)


def compute_loss(row: DualRow, t: Fraction) -> Fraction:
    """Return psi(t)."""
    if t <= 0:
        return Fraction(0)
    if row.d and (row.U is None or t <= row.d * row.U):
        return t * t / (2 * row.d)
    if row.U is None:
        return INFINITE
    return row.U * (t - row.d * row.U / 2)


def bound_slacks(program: DualProgram, plane_values: PlaneValues, mu: dict[str, Fraction]) -> list[Ends]:
    """Enclose t_k, the violation of each row."""
    return [
        [
            row.l
            - sum(E * mu[g] for g, E in row.E.items())
            - row.s * sum(factor * plane_values.values[i][k ^ (row.s * factor > 0)] for i, factor in row.z)
            for k in (0, 1)
        ]
        for row in program.rows
    ]


def is_feasible(program: DualProgram, alpha: list[Fraction], miss: dict[str, Fraction]) -> bool:
    """Return whether alpha is in its box and satisfies every equality, given the residuals `miss`."""
    pairs = zip(program.rows, alpha, strict=True)
    R = program.R
    return not (
        any(a < 0 or (row.U is not None and a > row.U) for row, a in pairs) or any(miss[g] and not R[g] for g in R)
    )


def bound_primal(program: DualProgram, plane_values: PlaneValues, mu: dict[str, Fraction], slacks: list[Ends]) -> Ends:
    """Enclose P, given enclosures of t_k."""
    cost = sum((e * mu[g] + program.R[g] * mu[g] ** 2 / 2 for g, e in program.e.items()), Fraction(0))
    P = []
    for k in (0, 1):
        losses = [compute_loss(row, t[k]) for row, t in zip(program.rows, slacks, strict=True)]
        P.append(INFINITE if INFINITE in losses else program.unit * (plane_values.w[k] / 2 + cost + sum(losses)))
    return P


def bound_dual(
    program: DualProgram, plane_values: PlaneValues, alpha: list[Fraction], miss: dict[str, Fraction]
) -> Ends:
    """Enclose D, given the residuals of the equalities; -infinity if alpha is outside its box or misses an equality."""
    if not is_feasible(program, alpha, miss):
        return [-INFINITE] * 2
    pairs = zip(program.rows, alpha, strict=True)
    gain = sum((row.l * a - row.d * a * a / 2 for row, a in pairs if a), Fraction(0))
    gain -= sum(miss[g] ** 2 / ridge / 2 for g, ridge in program.R.items() if ridge)
    return [program.unit * (gain - plane_values.v[k] / 2) for k in (1, 0)]


def bound_objectives(
    program: DualProgram, plane_values: PlaneValues, alpha: list[Fraction], mu: dict[str, Fraction]
) -> tuple[Ends, Ends, Ends]:
    """Enclose P, D and P - D; D is -infinity if alpha is outside its box or misses an equality.

    By Fenchel and Young, P - D is the sum of |w - v|^2/2, of psi_k(t_k) + d_k a_k^2/2 - a_k t_k for t_k of P, and of
    R_g (mu_g - (E_g'a - e_g)/R_g)^2/2. These terms are nonnegative, so enclosures do not cancel.
    """
    pairs = list(zip(program.rows, alpha, strict=True))
    miss = {g: sum((row.E[g] * a for row, a in pairs if a), -e) for g, e in program.e.items()}
    slacks = bound_slacks(program, plane_values, mu)
    P, D = bound_primal(program, plane_values, mu, slacks), bound_dual(program, plane_values, alpha, miss)
    if D[0] == -INFINITE:
        return P, D, [INFINITE] * 2
    if P[1] == INFINITE:
        return P, D, [INFINITE if P[0] == INFINITE else Fraction(0), INFINITE]
    losses = [max(compute_loss(row, t) - a * t for t in ends) for (row, a), ends in zip(pairs, slacks, strict=True)]
    terms = sum(losses, Fraction(0)) + sum(row.d * a * a / 2 for row, a in pairs) + plane_values.difference[1] / 2
    terms += sum(ridge * (mu[g] - miss[g] / ridge) ** 2 / 2 for g, ridge in program.R.items() if ridge)
    return P, D, [max(P[0] - D[1], Fraction(0)), min(P[1] - D[0], program.unit * terms)]


def bound_class_primal(
    machine: Any, C: list[Fraction], y: list[int], b: list[Fraction], plane_values: list[PlaneValues]
) -> Ends:
    """Enclose P of an all-in-one machine."""
    combine_losses, _ = ALL_IN_ONE[machine["name"]]
    P = []
    half = Fraction(1, 2)
    b_cost = half * sum(x * x for x in b) * (machine["parameters"]["intercept"] == "penalised")
    for end in (0, 1):
        losses = Fraction(0)
        for i, (label, C_i) in enumerate(zip(y, C, strict=True)):  # a loss decreases with f_y, and increases with f_c
            f = [v.values[i][1 - end if c == label else end] + b[c] for c, v in enumerate(plane_values)]
            losses += C_i * combine_losses(max(1 - f[label] + f[c], Fraction(0)) for c in range(len(b)) if c != label)
        P.append(half * sum(v.w[end] for v in plane_values) + losses + b_cost)
    return P


def bound_class_dual(
    machine: Any, C: list[Fraction], y: list[int], alphas: list[list[Fraction]], B_sums: list[Fraction],
    plane_values: list[PlaneValues],
) -> Ends:  # fmt: skip
    """Enclose D of an all-in-one machine, given the a_ic of each sample and sum_i B_ic; -infinity if infeasible."""
    _, combine_alpha = ALL_IN_ONE[machine["name"]]
    intercept = machine["parameters"]["intercept"]
    samples = zip(y, C, alphas, strict=True)
    within_bounds = all(min(a) >= 0 and a[label] == 0 and combine_alpha(a) <= C_i for label, C_i, a in samples)
    if not within_bounds or (intercept == "free" and any(B_sums)):
        return [-INFINITE] * 2
    squares = [sum(v.v[end] for v in plane_values) for end in (1, 0)]
    B_square = sum(x * x for x in B_sums) * (intercept == "penalised")
    return [sum(map(sum, alphas)) - Fraction(1, 2) * (square + B_square) for square in squares]


def bound_class_objectives(
    machine: Any, C: list[Fraction], y: list[int], alpha: list[Fraction], b: list[Fraction],
    evaluate: Callable[..., PlaneValues],
) -> tuple[Ends, Ends, Ends]:  # fmt: skip
    """Enclose P, D and P - D of an all-in-one machine: f_c(x) = <w_c, x> + b_c should be 1 below f_y of the class y.

    P = sum_c |w_c|^2/2 + sum_i C_i J_c(max(0, 1 - f_y(x_i) + f_c(x_i))), D = sum a_ic - sum_c |sum_i B_ic x_i|^2/2 with
    a_iy = 0, B_ic = -a_ic and B_iy = sum_c a_ic. J is the maximum, or the sum, over the classes c other than y. D <= P
    for a >= 0 with H_c(a_ic) <= C_i, H the sum, or the maximum; and sum_i B_ic = 0 if b is free. A penalised b adds
    sum_c b_c^2/2 to P, and subtracts sum_c (sum_i B_ic)^2/2 from D.
    """
    k = len(b)
    require(machine["parameters"]["intercept"] or not any(b), "this machine has no b")
    require(len(alpha) == len(y) * k, f"alpha has {len(alpha)} numbers, for {len(y)} samples and {k} classes")
    alphas = [alpha[start : start + k] for start in range(0, len(alpha), k)]
    B = [[sum(a, -a[c]) if label == c else -a[c] for label, a in zip(y, alphas, strict=True)] for c in range(k)]
    plane_values = [evaluate(c, B[c]) for c in range(k)]
    P = bound_class_primal(machine, C, y, b, plane_values)
    D = bound_class_dual(machine, C, y, alphas, [sum(column, Fraction(0)) for column in B], plane_values)
    if D[0] == -INFINITE:
        return P, D, [INFINITE] * 2
    return P, D, [max(P[0] - D[1], Fraction(0)), P[1] - D[0]]


def enclose_relative_gap(P: Ends, D: Ends, difference: Ends) -> Ends:
    """Enclose (P - D)/max(|P|, |D|); 0 if P = D."""
    if difference[1] == 0 or difference[0] == INFINITE:
        return difference
    min_size = max(P[0], -P[1], D[0], -D[1])
    max_size = max(map(abs, P + D))
    return [
        difference[0] / max_size if max_size else Fraction(0),
        difference[1] / min_size if min_size > 0 and difference[1] != INFINITE else INFINITE,
    ]


# --- the claims -------------------------------------------------------------------------------------------------------


def select_points(machine: Any, rows: list[Sparse], indices: list[int]) -> list[Sparse]:
    """Return some of the rows; for a kernel matrix, restricted to their columns."""
    points = [rows[i] for i in indices]
    if machine["kernel"]["name"] == "precomputed":
        require(all(j < len(rows) for row in rows for j in row), "the kernel matrix is not square")
        points = [{k: row[i] for k, i in enumerate(indices) if i in row} for row in points]
        symmetric = all(points[j].get(i) == x for i, row in enumerate(points) for j, x in row.items())
        require(symmetric, "the kernel matrix is not symmetric")
    return points


def iter_hull_verdicts(proof: Any, rows: list[Sparse], y: list[float]) -> Iterator[tuple[str, str]]:
    """Check whether convex weights u of one class and v of the other give one point, sum u_i x_i = sum v_j x_j."""
    takes_part = proof["machine"].get("weights", [1] * len(rows))
    indices = []  # rows,
    difference = []  # and their factors in sum u_i x_i - sum v_j x_j
    are_convex = True
    for side, sign in (("u", 1), ("v", -1)):
        weights = [(i, Fraction(p, q)) for i, p, q in proof["hulls"][side]]
        are_convex &= all(w > 0 and y[i] == sign and takes_part[i] > 0 for i, w in weights)
        are_convex &= sum(w for _, w in weights) == 1
        indices += [i for i, _ in weights]
        difference += [sign * w for _, w in weights]
    text = "the weights of rows of either class are positive and add up to 1, exactly"
    yield text, "confirmed" if are_convex else "REFUTED"
    kernel, unit = build_kernel(proof["machine"]["kernel"], select_points(proof["machine"], rows, indices))
    squared_distance = evaluate_by_kernel(kernel, unit, difference, [Fraction(0)] * len(difference)).w
    verdict = "confirmed" if are_convex and squared_distance == [0, 0] else "REFUTED"
    yield "both make the same point, so that no hyperplane separates the classes", verdict


def read_alpha(proof: Any) -> list[Fraction]:
    """Return alpha: integers times a power of 2, except for some fractions."""
    unit = Fraction(2) ** proof["alpha"]["exponent"]
    alpha = [j * unit for j in proof["alpha"]["integers"]]
    for k, p, q in proof["alpha"]["others"]:
        require(alpha[k] == 0, "alpha has two numbers for one row")
        alpha[k] = Fraction(p, q)
    return alpha


class Points(NamedTuple):
    """The samples of positive weight and the points of linear constraints, in feature space."""

    rows: list[Sparse]
    kernel: Kernel
    unit: int
    uses_kernel: bool

    def enclose_distance(self, i: int, c: int | None) -> Ends:
        """Enclose |x_i - x_c|, or |x_i| without c."""
        square = [*self.kernel(i, i)]
        if c is not None:
            cross, other = self.kernel(i, c), self.kernel(c, c)
            if i != c:
                square = [square[k] - 2 * cross[1 - k] + other[k] for k in (0, 1)]
            else:
                square = [0, 0]
        bits = [BITS + max(self.unit.bit_length() - x.bit_length(), 0) for x in square]
        roots = [math.isqrt((max(x, 0) << 2 * n) // self.unit) for x, n in zip(square, bits, strict=True)]
        return [Fraction(roots[0], 1 << bits[0]), Fraction(roots[1] + 1, 1 << bits[1])]

    def evaluate(self, plane: Any, half: Fraction, beta: list[Fraction]) -> PlaneValues:
        """Evaluate w, which is `half` times the numbers of the plane, and v = sum beta_j x_j."""
        w = [Fraction(x) * half for x in plane]
        if self.uses_kernel:
            return evaluate_by_kernel(self.kernel, self.unit, w, beta)
        return evaluate_by_coordinates(self.rows, w, beta)


def iter_claim_verdicts(proof: Any, rows: list[Sparse], y: list[float], tol: float) -> Iterator[tuple[str, str]]:
    """Yield each claim as a sentence, and its verdict."""
    machine = proof["machine"]
    s = [Fraction(weight) for weight in machine.get("weights", [1] * len(rows))]
    indices = [i for i, weight in enumerate(s) if weight]
    require(indices, "no row has a weight")
    rows_of_points = select_points(machine, rows, indices)
    rows_of_points += [{j: x for j, x in enumerate(z) if x} for z in machine.get("rows", {}).get("points", ())]
    points = Points(rows_of_points, *build_kernel(machine["kernel"], rows_of_points), "coef" in proof["plane"])
    weights = [s[i] for i in indices]
    if machine["name"] in ALL_IN_ONE:
        C = compute_penalties(machine["parameters"], weights, indices)
        yield from iter_class_verdicts(proof, points, [int(y[i]) for i in indices], C, tol)
        return
    if machine["name"] == "SVDD":
        squares = [points.kernel(i, i) for i in range(len(indices))]
    else:
        squares = []
    require(all(low == high for low, high in squares), "no SVDD is known where K(x, x) is irrational")
    diagonal = [Fraction(low, points.unit) for low, _ in squares]
    program = build_dual(machine, [Fraction(y[i]) for i in indices], weights, indices, diagonal)
    alpha = read_alpha(proof)
    n_rows = len(program.rows)
    require(len(alpha) == n_rows > 0, f"alpha has {len(alpha)} numbers, and the dual {n_rows} rows")
    yield from iter_readings(machine, program, y)
    claims = ProgramClaims.from_plane(proof["plane"], program, alpha, points)
    yield from iter_verdicts(proof, claims.bound, claims.is_near, tol)


def iter_class_verdicts(
    proof: Any, points: Points, y: list[int], C: list[Fraction], tol: float
) -> Iterator[tuple[str, str]]:
    """Yield each claim about an all-in-one machine over samples of the classes y, and its verdict."""
    machine = proof["machine"]
    plane = proof["plane"]
    alpha = read_alpha(proof)
    b = [Fraction(x) for x in plane["b"]]
    planes = plane["coef" if "coef" in plane else "w"]
    require(len(planes) == len(b) == len(machine["classes"]) > 1, "there are other classes")
    one = Fraction(1)
    objectives = bound_class_objectives(machine, C, y, alpha, b, lambda c, beta: points.evaluate(planes[c], one, beta))
    yield from iter_verdicts(proof, lambda _: objectives, lambda _: False, tol)


def iter_readings(machine: Any, program: DualProgram, y: list[float]) -> Iterator[tuple[str, str]]:
    """Yield sentences that explain how nu and the pairs of a ranking were read."""
    if machine["name"] == "NuSVM" and -program.e["rho"] != machine["parameters"]["nu"]:
        yield f"nu is its largest value, which is nearest to {float(-program.e['rho'])!r}", "read as"
    if "pairs" in machine:
        ordered = sum(y[i] > y[j] for i, j in machine["pairs"])
        yield f"the target of the better row is higher in {ordered} of {len(machine['pairs'])} pairs", "read as"


class ProgramClaims(NamedTuple):
    """Data of the claims about a machine with one function: alpha, the evaluated plane, and its multipliers mu.

    distances: Encloses |x_i - x_c|, or |x_i| without c, for two indices of points.
    """

    program: DualProgram
    plane_values: PlaneValues
    alpha: list[Fraction]
    mu: dict[str, Fraction]
    distances: Callable[[int, int | None], Ends]

    @classmethod
    def from_plane(
        cls, stored_plane: Any, program: DualProgram, alpha: list[Fraction], points: Points
    ) -> ProgramClaims:
        """Evaluate the plane of a proof, and v = sum beta_j x_j."""
        beta = [Fraction(0)] * len(points.rows)
        for row, a in zip(program.rows, alpha, strict=True):
            for i, factor in row.z if a else ():
                beta[i] += a * row.s * factor
        if "centre" in stored_plane:  # of a ball, where f(x) = R^2 - |x - c|^2
            plane = stored_plane["centre"]
            half = Fraction(1)
            mu = {"b": (Fraction(stored_plane["radius"]) ** 2 - sum(Fraction(x) ** 2 for x in plane)) / 2}
        else:
            plane = stored_plane["coef" if "coef" in stored_plane else "w"]
            half = program.half
            mu = {g: Fraction(x) * (half if g == "b" else 1) for g, x in stored_plane.get("multipliers", {}).items()}
        plane_values = points.evaluate(plane, half, beta)
        if "radius" in stored_plane and "coef" in stored_plane:
            require(plane_values.w[0] == plane_values.w[1], "no radius is known where |w| is irrational")
            mu = {"b": (Fraction(stored_plane["radius"]) ** 2 - plane_values.w[0]) / 2}
        return cls(program, plane_values, alpha, mu, points.enclose_distance)

    def bound(self, claim: Any) -> tuple[Ends, Ends, Ends]:
        """Enclose P, D and P - D, with the b or the lower levels of a claim; for a gap of zero, the scale for P."""
        lower = {k: Fraction(v) for k, v in claim.get("lower", ())}
        places = {*range(len(self.alpha))}
        require(len(lower) == len(claim.get("lower", ())) and {*lower} <= places, "levels are of other rows")
        rows = [row._replace(l=row.l - lower.get(k, 0)) for k, row in enumerate(self.program.rows)]
        other_b = {"b": Fraction(*claim["b"])} if "b" in claim else {}
        require({*other_b} <= {*self.mu}, "there is no b")
        program = self.program._replace(rows=rows)
        P, D, difference = bound_objectives(program, self.plane_values, self.alpha, self.mu | other_b)
        if claim.get("claim") != "gap of zero at most":
            return P, D, difference
        return (self.enclose_zero_scale() if P == [0, 0] else [Fraction(0)] * 2), [Fraction(0)] * 2, difference

    def enclose_zero_scale(self) -> Ends:
        """Enclose S^2/2, S = sum |b_i| times the mean of |x_i - x_c|, b_i = sum of s_k a_k over the rows of x_i.

        x_c is that of the largest |b_i|, or 0 if the equality of the intercept is not sum s_k a_k = 0.
        """
        sums: dict[int, Fraction] = {}
        for row, value in zip(self.program.rows, self.alpha, strict=True):
            if len(row.z) == 1 and row.U is not None:  # no linear constraint
                sums[row.z[0][0]] = sums.get(row.z[0][0], Fraction(0)) + row.s * value
        is_balanced = "b" in self.program.e and not self.program.e["b"] and not self.program.R["b"]
        centre = max(sorted(sums), key=lambda i: abs(sums[i])) if is_balanced else None
        total = sum(map(abs, sums.values()), Fraction(0))
        ends = [self.distances(i, centre) for i in sums]
        sizes = [total * sum((d[k] for d in ends), Fraction(0)) / len(sums) for k in (0, 1)]
        return [size * size / 2 for size in sizes]

    def is_near(self, claim: Any) -> bool:
        """Return whether the b, or the lower levels, of a claim equal those of the proof up to rounding.

        A gap of zero counts if it is small.
        """
        if claim["claim"] == "gap of zero at most":
            return enclose_relative_gap(*self.bound(claim))[1] <= MAX_GAP_OF_ZERO
        largest_value = max(abs(end) for ends in self.plane_values.values for end in ends)
        if "b" in claim:
            return abs(Fraction(*claim["b"]) - self.mu["b"]) <= MAX_ROUNDING_SHARE * (abs(self.mu["b"]) + largest_value)
        sizes = [
            abs(row.l)
            + abs(row.s) * sum(abs(factor) for _, factor in row.z) * largest_value
            + sum(abs(E * self.mu[g]) for g, E in row.E.items())
            for row in self.program.rows
        ]
        return all(v <= MAX_ROUNDING_SHARE * sizes[k] for k, v in claim["lower"])


def iter_verdicts(
    proof: Any, sides: Callable[[Any], tuple[Ends, Ends, Ends]], is_near: Callable[[Any], bool], tol: float
) -> Iterator[tuple[str, str]]:
    """Yield the verdict of each claim, and whether they suffice: alpha is feasible, and the gap at most `tol`.

    The gap with another b or other levels also counts if these are near, because few floats satisfy rows exactly.
    """
    claims = proof["claims"]
    usual = sides({})
    P, D, _ = usual
    shares = [enclose_relative_gap(*usual)]  # the relative gaps that count
    kinds = {claim["claim"] for claim in claims}
    for claim in claims:
        check_applies(claim, proof["machine"]["name"])
        is_of_others = replaces_numbers(claim) or claim["claim"] == "gap of zero at most"
        bounds = sides(claim) if is_of_others else usual
        yield judge(claim, *bounds)
        if is_of_others and is_near(claim):
            shares.append(enclose_relative_gap(*bounds))
    if are_about_zero(claims):
        shares.append([Fraction(0)] * 2)
    if "feasible" not in kinds:
        yield "nothing is claimed of whether alpha is feasible", "open"
    if "gap at most" not in kinds and len(shares) == 1:
        yield "nothing is claimed of how large the gap of these numbers is", "open"
    has_others = len(shares) > 1 and any(map(replaces_numbers, claims))
    addition = ", or with those b or levels," if has_others else ""
    text = f"the relative gap of these numbers{addition} is at most the tolerance, {tol!r}"
    yield text, compare([min(ends) for ends in zip(*shares, strict=True)], tol)
    if D[0] > P[1] + MAX_ROUNDING_SHARE * max(abs(D[0]), abs(P[1])):
        yield "the kernel matrix is positive semidefinite: D is above P", "REFUTED"


def are_about_zero(claims: Any) -> bool:
    """Return whether P and D are claimed to be so near 0 that the relative gap counts as 0."""
    ends = [claim["bound"] for claim in claims if claim["claim"] in ("primal at most", "dual at least")]
    return len(ends) == 2 and max(map(abs, ends)) <= NEGLIGIBLE_VALUE


def replaces_numbers(claim: Any) -> bool:
    """Return whether a claim is about another b, or other levels, than those of the proof."""
    return "b" in claim or "lower" in claim


def check_applies(claim: Any, machine: str) -> None:
    """Check that a claim is of a kind that can be made about a machine."""
    kind = claim["claim"]
    is_unknown = machine in WITHOUT_DISTANCE and kind == "distance at most"
    is_unknown |= machine in ALL_IN_ONE and (replaces_numbers(claim) or kind == "gap of zero at most")
    require(not is_unknown, f"{kind!r} is no claim about it")


def compare(ends: Sequence[Any], bound: Any) -> str:
    """Return the verdict on the claim that a number between two ends is at most a bound."""
    if ends[1] <= bound:
        return "confirmed"
    if ends[0] > bound:
        return "REFUTED"
    return "open"


def judge(claim: Any, P: Ends, D: Ends, difference: Ends) -> tuple[str, str]:
    """Return a claim as a sentence, and its verdict."""
    kind = claim["claim"]
    bound = Fraction(claim.get("bound", 0))
    message = f"{kind[-8:].strip()} {claim.get('bound')!r}"
    gap = "the relative gap (P - D)/max(|P|, |D|) is"
    share = enclose_relative_gap(P, D, difference)
    if kind == "gap of zero at most":
        gap = "the objective P is 0, and (P - D)/(S^2/2), with S = (sum |b_i|)(mean |x_i - x_c|), is"
    if "b" in claim:
        gap = f"with b = {float(Fraction(*claim['b']))!r} and more digits, {gap}"
    if "lower" in claim:
        gap = f"with levels l that are lower, by up to {max((v for _, v in claim['lower']), default=0)!r}, {gap}"
    text, interval = {
        "feasible": ("alpha is within its box and keeps every equality", [Fraction(D[0] == -INFINITE)] * 2),
        "primal at most": (f"P, the objective of the plane, is {message}", P),
        "dual at least": (f"D, the objective of alpha, is {message}", D),
        # P is strongly convex, so |w - w*|^2/2 <= P - D; a larger value does not refute the claim
        "distance at most": (f"|w - w*|, w* that of any optimum, is {message}", [Fraction(0), 2 * difference[1]]),
    }.get(kind, (f"{gap} {message}", share))
    if kind.endswith("at least"):
        return text, compare([-interval[1], -interval[0]], -bound)
    return text, compare(interval, bound * abs(bound) if kind == "distance at most" else bound)


def describe_machine(proof: Any, n: int) -> str:
    """Describe the machine that the claims are about."""
    machine = proof["machine"]
    about = {**machine["parameters"], "kernel": machine["kernel"]["name"]}
    about |= {key: value for key, value in machine["kernel"].items() if key != "name"}
    parts = [
        f"{key} of each row in the file" if isinstance(value, list) else f"{key} {value}"
        for key, value in about.items()
    ]
    if "weights" in machine:
        parts += [f"weights in the file, which {n - machine['weights'].count(0)} of {n} rows have"]
    for key, entries in (("pairs", machine.get("pairs")), ("rows", machine.get("rows", {}).get("each"))):
        parts += [] if entries is None else [f"{len(entries)} {key} in the file"]
    return f"{machine['name']}, {', '.join(parts)}"


def describe_column(name: str, categories: Any, options: Any) -> str:
    """Describe how a column was read."""
    text = quote(name) + (" by its categories" if categories else " by the parts of its dates" * ("date" in options))
    text += ", rare ones as one" * ("rare" in options)
    if "fill" in options:
        fill = options["fill"]
        if "date" in options and REAL.is_valid(fill):
            fill = str(datetime.date.fromordinal(int(fill)))
        text += f", {quote(fill)} where it is missing"
    return text


def describe_reading(proof: Any, target: str | None, kind: str) -> str:
    """Describe how the data were read."""
    machine = proof["machine"]
    reading = proof["file"]
    target_kind = MACHINES[proof["machine"]["name"]][0]
    parts = [kind, *(describe_column(*column) for column in list_columns(reading.get("columns", ())))]
    parts += ["standardised"] if "scale" in reading else []
    parts += ["without rows where something is missing"] if "drop_missing" in reading else []
    if target_kind == "nothing" or kind == "libsvm":
        target = None
    else:
        target = target or reading.get("target")
    parts += [f"target {quote(target)}"] if target else []
    labels = reading.get("labels") or machine.get("classes") or ()
    codes = ("-1", "+1") if target_kind == "one of two" else map(str, range(len(labels)))
    parts += [f"{'all others' if x is None else quote(x)} as {code}" for x, code in zip(labels, codes, strict=True)]
    return ", ".join(parts)


def iter_all_verdicts(
    proof_file: str, data: str, target: str | None, tol: float, without: Sequence[int]
) -> Iterator[tuple[str, str]]:
    """Yield the verdicts on the seal, the data and each claim; stop after a refutation of the seal or the data."""
    require(AT_LEAST_0.is_valid(tol), "that is no tolerance")
    proof = open_proof(proof_file)
    yield "the proof file is as it was written, to the last byte", "REFUTED" if proof is None else "confirmed"
    if proof is None:
        return
    machine = proof["machine"]
    reading = proof["file"]
    content = read_content(data)
    if "sha256" in reading:
        true = hashlib.sha256(content).hexdigest() == reading["sha256"]
        yield f"the data are {os.path.basename(data)}, to the last byte", "confirmed" if true else "REFUTED"
        if not true:
            return
    rows, y, kind = read_samples(content, reading, target, machine)
    yield describe_reading(proof, target, kind), "read as"
    gone = sorted({*without})
    rows, y = leave_out(rows, y, gone, machine)
    if gone:
        subject = f"its other {len(rows)} rows, without {name_rows(gone)},"
    else:
        subject = f"its {len(rows)} rows"
    true = (len(rows), compute_digest(rows, y)) == (proof["data"]["rows"], proof["data"]["values"])
    yield f"the values of {subject} are those that the proof is about", "confirmed" if true else "REFUTED"
    if not true:
        return
    if gone:
        yield f"{name_rows(gone)} of the data, counted from 0, have no part in what follows", "confirmed"
    yield describe_machine(proof, len(rows)), "claimed of"
    yield from iter_hull_verdicts(proof, rows, y) if "hulls" in proof else iter_claim_verdicts(proof, rows, y, tol)
    if machine["kernel"]["name"] in ("precomputed", "sigmoid") or machine["kernel"].get("coef0", 0) < 0:
        yield "the kernel matrix is positive semidefinite: without that D may be above P", "assumed"
    for text in proof["assumptions"]:
        yield f"in the words of the file: {quote(text)}", "assumed"


def check(
    proof: str, data: str, target: str | None = None, say: Callable[[str], object] = print, tol: float = TOLERANCE,
    without: Sequence[int] = (),
) -> int:  # fmt: skip
    """Print the verdict on every claim of a proof file; return 0 if all are confirmed and suffice, else 1.

    without: Rows of the data, from 0, that the proof leaves out: it is checked against the others.

    Raises UnusableError.
    """
    verdicts_seen = set()
    try:
        for text, verdict in iter_all_verdicts(proof, data, target, tol, without):
            verdicts_seen.add(verdict)
            say(clean(f"{verdict:10}  {text}"))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as error:
        raise UnusableError(f"what the proof or the data hold cannot be understood: {error!r}") from error
    except (OSError, EOFError, MemoryError, struct.error, csv.Error, lzma.LZMAError, zlib.error) as error:
        raise UnusableError(f"{data} cannot be read: {error}") from error
    return int(bool(verdicts_seen & {"REFUTED", "open"}))


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(description="Confirm or refute a proof file of qpsvm.")
    parser.add_argument("proof")
    parser.add_argument("--data", required=True, help="CSV, LIBSVM (both may be packed by gzip, bzip2 or xz) or .npy")
    parser.add_argument("--target", help="its column, where the proof names none; or a .npy file")
    text = f"what the relative gap is to be at most, {TOLERANCE} if not given"
    parser.add_argument("--tol", type=float, default=TOLERANCE, help=text)
    text = "rows of the data, from 0, with commas between them, that the proof is to be without"
    parser.add_argument("--without", type=parse_row_indices, default=(), help=text, metavar="ROWS")
    try:
        return check(**vars(parser.parse_args()))
    except UnusableError as error:
        sys.stderr.write(f"cannot be used: {error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
