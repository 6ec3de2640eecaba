"""Confirms or refutes a proof file, for those who doubt: python checker.py proof.json --data data.csv

This file needs Python alone, and nothing of the library that wrote the proof. It computes with whole numbers and
fractions: P and D below have no rounding at all, or are between two fractions where a kernel has irrational values.
Floats are only what the files hold, what text is read as, and (x - m)/s of columns that were standardised: the proof is
about those floats. Of samples x_i, in a feature space where there is a kernel, a machine is a pair of functions

    P(w, mu) = |w|^2/2 + sum_k psi_k(l_k - s_k <w, z_k> - sum_g E_kg mu_g) + sum_g (e_g mu_g + R_g mu_g^2/2)
    D(a)     = sum_k l_k a_k - |sum_k a_k s_k z_k|^2/2 - sum_k d_k a_k^2/2 - sum_(R_g > 0) (E_g'a - e_g)^2/(2 R_g)
    psi_k(t) = the largest of a t - d_k a^2/2 over 0 <= a <= U_k

with points z_k = sum of a few x_i, and numbers s, l, U, d, E, e, R that `stated` has for each machine. D(a) <= P(w, mu)
wherever 0 <= a <= U and, for R_g = 0, E_g'a = e_g. So if P and D are near to each other, both are near to the optimum.

Exit code: 0 every claim is confirmed, 1 one is refuted or not confirmed, 2 a file cannot be used.
"""

from __future__ import annotations

import argparse
import ast
import bz2
import csv
import gzip
import hashlib
import io
import json
import lzma
import math
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

Sparse = dict[int, Any]  # a row of numbers without its zeros
Ends = list[Fraction]  # what a number is between
Table = tuple[list[str], list[list[Any]]]  # names of columns, and rows of cells
Kernel = Callable[[int, int], tuple[int, int]]  # whole numbers below and above a multiple of K(x_i, x_j)
HEAD, SEAL = b'{\n"format": "qpsvm proof",\n"version": 1,\n', b'"seal": "'
MISSING = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None", "?"}
KINDS = {"gap with the best b at most": {"b"}, "gap with lower levels at most": {"lower"}}  # claims about other numbers
UNTAUGHT = ("OneClass", "SVDD")  # machines without a target
SEVERAL: Any = {"CrammerSinger": (max, sum), "WestonWatkins": (sum, max)}  # several classes at once: J and H
BITS = 192  # of a kernel value that is irrational
INFINITE = Fraction(1 << 5000)  # beyond every number that a file can hold


class UnusableError(Exception):
    """A file is missing, or is not what it should be: nothing is confirmed or refuted."""


class Row(NamedTuple):
    """A row k: z as places of samples with factors; s, l, U (None where it is infinite), d; E by the names of mu."""

    z: list[tuple[int, Fraction]]
    s: Fraction
    l: Fraction  # noqa: E741  (its name in P and D)
    U: Fraction | None
    d: Fraction
    E: dict[str, Fraction]


class Program(NamedTuple):
    """The rows; e and R by the names of mu; what P and D are multiplied by, and what w and b are."""

    rows: list[Row]
    e: dict[str, Fraction]
    R: dict[str, Fraction]
    unit: Fraction
    half: Fraction


class Looked(NamedTuple):
    """<w, x_i> for all points, |w|^2, |v|^2 and |w - v|^2, where v = sum_k a_k s_k z_k."""

    values: list[Ends]
    w: Ends
    v: Ends
    apart: Ends


def need(condition: object, why: str) -> None:
    """Stop where something is not as it has to be."""
    if not condition:
        raise UnusableError(why)


# --- the proof file and the data --------------------------------------------------------------------------------------


def content_of(path: str) -> bytes:
    """The bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise UnusableError(f"{path} cannot be read: {error}") from error


def number(text: Any) -> float:
    """Text as the nearest float."""
    value = float(text)
    need(math.isfinite(value) and "_" not in str(text), f"{text!r} is no finite number")
    return value


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, which must not have a key twice."""
    need(len(dict(pairs)) == len(pairs), "the proof file has a key twice")
    return dict(pairs)


def opened(path: str) -> Any:
    """What a proof file holds; None where its bytes are not those that were sealed."""
    content = content_of(path)
    need(content.startswith(HEAD[:25]), f"{path} is not a proof file of qpsvm")
    body, _, seal = content.rpartition(SEAL)
    if seal != hashlib.sha256(body).hexdigest().encode() + b'"\n}\n' or not content.startswith(HEAD):
        return None
    return json.loads(content, parse_float=number, parse_constant=number, object_pairs_hook=once)


def table_of_csv(text: str) -> Table:
    """The names of the columns, and the cells of each row."""
    head = re.sub('"[^"]*"', "", next(line for line in text.split("\n") if line.strip()))
    lines = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=head.count), skipinitialspace=True, strict=True)
    header, *rows = [line for line in lines if len(line) > 1 or any(cell.strip() for cell in line)]
    return [" ".join(name.split()) for name in header], [[cell.strip() for cell in row] for row in rows]


def table_of_npy(content: bytes) -> Table:
    """The same of an array, whose columns are called by their places."""
    first = 10 if content[6] == 1 else 12
    start = first + int.from_bytes(content[8:first], "little")
    about = ast.literal_eval(content[first:start].decode())
    kinds = dict(
        zip(("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1"), "dfeqihbQIHB?", strict=True)
    )
    n, d = (*about["shape"], 1)[:2]
    order, kind = about["descr"][0].replace("|", "<"), kinds[about["descr"][1:]]
    values = struct.unpack(f"{order}{n * d}{kind}", content[start:])
    rows = [values[i::n] if about["fortran_order"] else values[i * d : i * d + d] for i in range(n)]
    return [str(j) for j in range(d)], [list(row) for row in rows]


def of_table(table: Table, how: Any, target: str | None) -> tuple[list[Sparse], list[Any]]:
    """The numbers of each row, and its target as it stands there."""
    header, lines = table
    columns = how.get("columns") or [[name, None] for name in header if name not in ("", target)]
    names = [name for name, _ in columns] + [target] * (target is not None)
    need({*names} <= {*header}, f"the data have no column {next((n for n in names if n not in header), None)!r}")
    rows, targets = [], []
    for line in lines:
        cells = dict(zip(header, line, strict=True))
        if "drop_missing" in how and any(cells[name] in MISSING for name in (*names, *how["drop_missing"])):
            continue
        x: list[float] = []
        for name, categories in columns:
            need(categories is None or cells[name] in categories, f"column {name!r} has another category")
            x += [number(cells[name])] if categories is None else [float(cells[name] == one) for one in categories]
        rows.append({j: value for j, value in enumerate(x) if value})
        targets.append(None if target is None else cells[target])
    return rows, targets


def of_libsvm(text: str, how: Any) -> tuple[list[Sparse], list[Any]]:
    """The same of lines `label index:value ...`."""
    lines = [line.split("#")[0].split() for line in text.split("\n")]
    read = [(line[0], [p.split(":") for p in line[1:] if not p.startswith("qid:")]) for line in lines if line]
    first = how.get("first_index", min([1, *(int(j) for _, pairs in read for j, _ in pairs)]))
    kept = [(y, pairs) for y, pairs in read if "drop_missing" not in how or not {v for _, v in pairs} & MISSING]
    return [{int(j) - first: number(v) for j, v in pairs if number(v)} for _, pairs in kept], [y for y, _ in kept]


def samples(path: str, how: Any, target: str | None, machine: Any) -> tuple[list[Sparse], list[float]]:
    """The rows of a data file and their targets, read as the proof says."""
    content, target = content_of(path), target or how.get("target")
    for mark, unpack in ((b"\x1f\x8b", gzip.decompress), (b"BZh", bz2.decompress), (b"\xfd7zXZ\0", lzma.decompress)):
        content = unpack(content) if content.startswith(mark) else content
    learns, text = machine["name"] not in UNTAUGHT, ""
    if content.startswith(b"\x93NUMPY"):
        table = table_of_npy(content)
        if learns and str(target).endswith(".npy"):
            y = table_of_npy(content_of(str(target)))[1]
            table = [*table[0], str(target)], [row + one for row, one in zip(table[1], y, strict=True)]
    else:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    telling = next((line for line in text.split("\n") if re.search(r"[^\s\d.eE+-]", line.split("#")[0])), "")
    if how.get("kind") == "libsvm" or ("kind" not in how and re.match(r"\s*(\S+\s+)?(qid|[+-]?\d+):", telling)):
        rows, targets = of_libsvm(text, how)
    else:
        table = table_of_csv(text) if text else table
        rows, targets = of_table(table, how, (target or table[0][-1]) if learns else None)
    if how.get("scale"):
        moments = list(enumerate(zip(how["mean"], how["scale"], strict=True)))
        rows = [{j: v for j, (m, s) in moments if (v := (row.get(j, 0.0) - m) / s)} for row in rows]
    labels, joint = how.get("labels") or machine.get("classes"), machine["name"] in SEVERAL
    return rows, learnt(targets, labels, joint) if learns else [0.0] * len(rows)


def learnt(targets: list[Any], labels: list[Any] | None, joint: bool = False) -> list[float]:
    """The targets as numbers: -1 and +1 for two labels, the first of which may be None: whatever is not the other.

    Of a machine of several classes at once, the place of each label.
    """

    def same(cell: Any, label: Any) -> bool:
        return bool(cell == label) if isinstance(label, str) else number(cell) == label

    if labels is None:
        return [number(target) for target in targets]
    if joint:
        places = [[float(c) for c, label in enumerate(labels) if same(target, label)] for target in targets]
        need(all(len(found) == 1 for found in places), "there is another label")
        return [c for found in places for c in found]
    need(all(same(t, labels[1]) or labels[0] is None or same(t, labels[0]) for t in targets), "there is another label")
    return [1.0 if same(target, labels[1]) else -1.0 for target in targets]


def digest(rows: list[Sparse], y: list[float]) -> str:
    """SHA-256 of doubles: of each row how many numbers are not 0, place and value of each of these, and the target."""
    found = hashlib.sha256()
    for row, t in zip(rows, y, strict=True):
        values = [len(row), *(number for j in sorted(row) for number in (j, row[j])), t]
        found.update(struct.pack(f"<{len(values)}d", *values))
    return found.hexdigest()


# --- the machines and their kernels -----------------------------------------------------------------------------------


def prices(given: Any, s: list[Fraction], part: list[int]) -> list[Fraction]:
    """C_i, with the weights s, of the samples at the places `part` of the data."""
    C = given.get("C", 1)
    return [w * Fraction(C[i] if isinstance(C, list) else C) for i, w in zip(part, s, strict=True)]


def stated(machine: Any, y: list[Fraction], s: list[Fraction], part: list[int], diagonal: list[Fraction]) -> Program:
    """The program over samples with targets y, weights s and K(x, x), at the places `part` of the data."""
    name, given, n, zero, one = machine["name"], machine["parameters"], len(y), Fraction(0), Fraction(1)
    nu, lam, width, tau = (Fraction(given.get(key, 1)) for key in ("nu", "lam", "width", "quantile"))
    epsilon, price, total, C = Fraction(given.get("epsilon", 0)), given.get("C", 1), sum(s), prices(given, s, part)
    need(min(nu, lam, width, tau, *C) > 0 and epsilon >= 0, "a parameter is out of its range")
    need("quantile" not in given or tau < 1, "the quantile is not below 1")
    squares, shares = [1 / (2 * c) for c in C], [w / total for w in s]
    ones, minus, zeros, none = [one] * n, [-one] * n, [zero] * n, [None] * n
    up, down = [t - epsilon for t in y], [-t - epsilon for t in y]
    tube: Any = (none, squares) if given.get("loss") == "squared" else (C, zeros)
    sides: Any = {  # once or twice n rows: their s, l, U and d
        "CSVM": [(y, ones, C, zeros)],
        "HardMargin": [(y, ones, none, zeros)],
        "NuSVM": [(y, zeros, shares, zeros)],
        "PrimalHinge": [(y, ones, [w / lam for w in shares], zeros)],
        "SquaredHinge": [(y, ones, none, squares)],
        "HuberHinge": [(y, ones, C, [width / c for c in C])],
        "EpsilonSVR": [(ones, up, *tube), (minus, down, *tube)],
        "NuSVR": [(ones, up, C, zeros), (minus, down, C, zeros)],
        "QuantileSVR": [(ones, up, [tau * c for c in C], zeros), (minus, down, [(1 - tau) * c for c in C], zeros)],
        "OneClass": [(ones, zeros, s, zeros)],
        "SVDD": [(ones, [k / 2 for k in diagonal], [w / nu for w in shares], zeros)],
        "Ranking": [],
    }
    above = sum((weight for t, weight in zip(y, s, strict=True) if t > 0), zero)
    masses: Any = {  # whose name, of which E is 1 or -1, and e
        "NuSVM": ("rho", -one, -min(nu, 2 * min(above, total - above) / total)),
        "NuSVR": ("epsilon", one, nu * sum(C)),
        "OneClass": ("b", one, nu * total),
        "SVDD": ("b", one, one),
    }
    mass, E, e_mass = masses.get(name, (None, zero, zero))
    intercept = given.get("intercept")  # of which E is s, and e is 0
    e = {"b": zero} if intercept else {}
    R = {"b": {"free": zero, "penalised": one}[intercept]} if intercept else {}
    if mass:
        e[mass], R[mass] = e_mass, zero
    rows = [
        Row([(i, one)], S[i], L[i], U[i], d[i], {mu: E if mu == mass else S[i] for mu in e})
        for S, L, U, d in sides[name]
        for i in range(n)
    ]
    at = {i: k for k, i in enumerate(part)}
    pairs = [(at[i], at[j]) for i, j in machine.get("pairs", ()) if i in at and j in at]
    rows += [Row([(i, one), (j, -one)], one, one, Fraction(price) * s[i] * s[j], zero, {}) for i, j in pairs]
    for z, c, h in machine.get("rows", {}).get("each", ()):  # a user's <w, sum_j z_j x_j> + c b <= h
        factors = [(n + j, Fraction(factor)) for j, factor in z]
        own = sum((factor for _, factor in factors), zero) if c is None else Fraction(c)  # f(x_j) is <w, x_j> + b
        rows.append(Row(factors, -one, -Fraction(h), None, zero, {mu: -own * (mu == "b") for mu in e}))
    unit = {"PrimalHinge": lam, "SVDD": Fraction(2)}.get(name, one)
    return Program(rows, e, R, unit, Fraction(1, 2) if name == "SVDD" else one)


def whole(numbers: Iterable[Any]) -> tuple[list[int], int]:
    """Numbers as whole ones over one denominator."""
    ratios = [x.as_integer_ratio() for x in numbers]
    common = math.lcm(*{q for _, q in ratios})
    return [p * (common // q) for p, q in ratios], common


def whole_rows(rows: list[Sparse]) -> tuple[list[dict[int, int]], int]:
    """The same of rows."""
    found, common = whole(x for row in rows for x in row.values())
    each = iter(found)
    return [{j: next(each) for j in row} for row in rows], common


def exponential(x: Fraction) -> tuple[int, int]:
    """Whole numbers below and above 2^BITS exp(-x), for x >= 0: exp(-x/2^r) to the power 2^r, where x/2^r < 1/256.

    In units of 2^-BITS, rounding down makes each of the k terms of the series wrong by less than 2, because it makes x
    wrong by less than 1 and each is x/k times the last one; and what follows the last one is less than 1.
    """
    if x == 0 or x >= BITS:
        return (1 << BITS, 1 << BITS) if x == 0 else (0, 1)
    r = math.floor(x).bit_length() + 8
    small = (x.numerator << BITS) // (x.denominator << r)
    term, total, k = 1 << BITS, 1 << BITS, 0
    while term:
        k += 1
        term = (term * small >> BITS) // k
        total += -term if k % 2 else term
    low, high = total - 2 * k - 2, total + 2 * k + 2
    for _ in range(r):
        low, high = low * low >> BITS, (high * high >> BITS) + 1
    return low, high


def tangent(x: Fraction) -> tuple[int, int]:
    """Whole numbers below and above 2^BITS tanh(x)."""
    one, (low, high) = 1 << BITS, exponential(2 * abs(x))
    below, above = (one - high << BITS) // (one + high), (one - low << BITS) // (one + low) + 1
    return (below, above) if x >= 0 else (-above, -below)


def kernel_of(kernel: Any, points: list[Sparse]) -> tuple[Kernel, int]:
    """The kernel over some points, and which multiple of it that is."""
    (rows, common), gamma = whole_rows(points), Fraction(kernel.get("gamma", 1))
    square = common * common
    need(gamma > 0, "gamma is not positive")

    def dot(i: int, j: int) -> int:
        a, b = rows[i], rows[j]
        return sum(x * b[place] for place, x in a.items() if place in b)

    match kernel["name"]:
        case "linear":
            return lambda i, j: (dot(i, j),) * 2, square
        case "polynomial":
            degree, ((factor, constant), unit) = kernel["degree"], whole([gamma / square, kernel["coef0"]])
            need(degree in range(1, 100), "the degree is no whole number below 100")
            return lambda i, j: ((factor * dot(i, j) + constant) ** int(degree),) * 2, unit ** int(degree)
        case "rbf":
            norms, scale = [dot(i, i) for i in range(len(rows))], gamma / square
            return lambda i, j: exponential(scale * (norms[i] + norms[j] - 2 * dot(i, j))), 1 << BITS
        case "sigmoid":
            shift = Fraction(kernel["coef0"])
            return lambda i, j: tangent(gamma * Fraction(dot(i, j), square) + shift), 1 << BITS
        case "precomputed":
            return lambda i, j: (rows[i].get(j, 0),) * 2, common
    raise UnusableError(f"this checker does not know the kernel {kernel['name']!r}")


# --- P and D ----------------------------------------------------------------------------------------------------------


def by_kernel(kernel: Kernel, unit: int, coef: list[Fraction], beta: list[Fraction]) -> Looked:
    """Each between two fractions, for w = sum coef_j x_j and v = sum beta_j x_j."""
    apart = [c - b for c, b in zip(coef, beta, strict=True)]
    vectors = [(*whole(x), [j for j, factor in enumerate(x) if factor]) for x in (coef, beta, apart)]
    used = sorted({j for _, _, places in vectors for j in places})
    values: list[Ends] = []
    squares = [[0, 0], [0, 0], [0, 0]]
    for i in range(len(coef)):
        ends = {j: kernel(i, j) for j in used}
        for (x, over, places), square in zip(vectors, squares, strict=True):
            f = [sum(x[j] * ends[j][k ^ (x[j] < 0)] for j in places) for k in (0, 1)]
            square[:] = [square[k] + x[i] * f[k ^ (x[i] < 0)] for k in (0, 1)]
            if len(values) == i:  # of coef, the first
                values.append([Fraction(end, unit * over) for end in f])
    found = [[Fraction(x, unit * over**2) for x in ends] for (_, over, _), ends in zip(vectors, squares, strict=True)]
    return Looked(values, *found)


def by_coordinates(points: list[Sparse], plane: list[Fraction], beta: list[Fraction]) -> Looked:
    """The same, exactly, for a w with coordinates."""
    (rows, unit), (b, b_unit), (w, w_unit) = whole_rows(points), whole(beta), whole(plane)
    values = [Fraction(sum(w[j] * x for j, x in row.items()), unit * w_unit) for row in rows]
    sums = [0] * len(w)
    for factor, row in zip(b, rows, strict=True):
        for j, x in row.items() if factor else ():
            sums[j] += factor * x
    v = [Fraction(x, unit * b_unit) for x in sums]
    vectors = (plane, v, [a - c for a, c in zip(plane, v, strict=True)])
    squares = [[sum((x * x for x in vector), Fraction(0))] * 2 for vector in vectors]
    return Looked([[value] * 2 for value in values], *squares)


def loss(row: Row, t: Fraction) -> Fraction:
    """psi(t)."""
    if t <= 0:
        return Fraction(0)
    if row.d and (row.U is None or t <= row.d * row.U):
        return t * t / (2 * row.d)
    return INFINITE if row.U is None else row.U * (t - row.d * row.U / 2)


def both(program: Program, looked: Looked, alpha: list[Fraction], mu: dict[str, Fraction]) -> tuple[Ends, Ends, Ends]:
    """P, D and P - D; D below everything where alpha is outside of its box or misses an equality.

    By Fenchel and Young, P - D is the sum of |w - v|^2/2, of psi_k(t_k) + d_k a_k^2/2 - a_k t_k for t_k of P and of
    R_g (mu_g - (E_g'a - e_g)/R_g)^2/2: of nothing negative, so that nothing has to cancel that is not known exactly.
    """
    pairs, R = list(zip(program.rows, alpha, strict=True)), program.R
    miss = {g: sum((row.E[g] * a for row, a in pairs if a), -e) for g, e in program.e.items()}
    ridges = [(ridge, miss[g], mu[g]) for g, ridge in R.items() if ridge]
    P, terms = [], Fraction(0)
    cost = sum((e * mu[g] + R[g] * mu[g] ** 2 / 2 for g, e in program.e.items()), Fraction(0))
    short = [
        [
            row.l - sum(E * mu[g] for g, E in row.E.items())
            - row.s * sum(factor * looked.values[i][k ^ (row.s * factor > 0)] for i, factor in row.z)
            for k in (0, 1)
        ]
        for row in program.rows
    ]  # fmt: skip
    for k in (0, 1):
        losses = [loss(row, t[k]) for row, t in zip(program.rows, short, strict=True)]
        P.append(INFINITE if INFINITE in losses else program.unit * (looked.w[k] / 2 + cost + sum(losses)))
    if any(a < 0 or (row.U is not None and a > row.U) for row, a in pairs) or any(miss[g] and not R[g] for g in R):
        return P, [-INFINITE] * 2, [INFINITE] * 2
    gain = sum((row.l * a - row.d * a * a / 2 for row, a in pairs if a), Fraction(0))
    gain -= sum(off**2 / ridge / 2 for ridge, off, _ in ridges)
    D = [program.unit * (gain - looked.v[k] / 2) for k in (1, 0)]
    if P[1] == INFINITE:
        return P, D, [INFINITE if P[0] == INFINITE else Fraction(0), INFINITE]
    terms = sum((max(loss(row, t) - a * t for t in ends) for (row, a), ends in zip(pairs, short, strict=True)), terms)
    terms += sum(row.d * a * a / 2 for row, a in pairs) + looked.apart[1] / 2
    terms += sum(ridge * (m - off / ridge) ** 2 / 2 for ridge, off, m in ridges)
    return P, D, [max(P[0] - D[1], Fraction(0)), min(P[1] - D[0], program.unit * terms)]


def several(
    machine: Any, C: list[Fraction], y: list[int], alpha: list[Fraction], b: list[Fraction], look: Callable[..., Looked]
) -> tuple[Ends, Ends, Ends]:
    """P, D and P - D of several classes at once: f_c(x) = <w_c, x> + b_c is to be 1 less than f_y of the own class y.

    P = sum_c |w_c|^2/2 + sum_i C_i J_c(max(0, 1 - f_y(x_i) + f_c(x_i))), D = sum a_ic - sum_c |sum_i B_ic x_i|^2/2 with
    a_iy = 0, B_ic = -a_ic and B_iy = sum_c a_ic. J over the classes c that are not y is the largest, or the sum. D <= P
    for a >= 0 with H_c(a_ic) <= C_i, H the sum, or the largest; with sum_i B_ic = 0 where b is free. A penalised b adds
    sum_c b_c^2/2 to P, and takes sum_c (sum_i B_ic)^2/2 from D.
    """
    (J, H), intercept, k, half = SEVERAL[machine["name"]], machine["parameters"]["intercept"], len(b), Fraction(1, 2)
    need(intercept in ("free", "penalised", None) and (intercept or not any(b)), "b is none of this machine")
    need(len(alpha) == len(y) * k, f"alpha has {len(alpha)} numbers, for {len(y)} samples and {k} classes")
    each = [(own, price, alpha[i * k : (i + 1) * k]) for i, (own, price) in enumerate(zip(y, C, strict=True))]
    B = [[sum(a, -a[c]) if own == c else -a[c] for own, _, a in each] for c in range(k)]
    looked = [look(c, B[c]) for c in range(k)]
    ridges = [half * sum(x * x for x in v) * (intercept == "penalised") for v in (b, [sum(column) for column in B])]
    P, D = [], []
    for e in (0, 1):
        losses = Fraction(0)
        for i, (own, price, _) in enumerate(each):
            f = [looked[c].values[i][1 - e if c == own else e] + b[c] for c in range(k)]
            losses += price * J(max(1 - f[own] + f[c], Fraction(0)) for c in range(k) if c != own)
        P.append(half * sum(v.w[e] for v in looked) + losses + ridges[0])
        D.append(sum(alpha) - half * sum(v.v[1 - e] for v in looked) - ridges[1])
    kept = all(min(a) >= 0 and a[own] == 0 and H(a) <= price for own, price, a in each)
    if not kept or (intercept == "free" and any(map(sum, B))):
        return P, [-INFINITE] * 2, [INFINITE] * 2
    return P, D, [max(P[0] - D[1], Fraction(0)), P[1] - D[0]]


def relative(P: Ends, D: Ends, difference: Ends) -> Ends:
    """(P - D)/max(|P|, |D|); 0 where P = D."""
    if difference[1] == 0 or difference[0] == INFINITE:
        return difference
    least, most = max(P[0], -P[1], D[0], -D[1]), max(map(abs, P + D))
    return [difference[0] / most, difference[1] / least if least > 0 and difference[1] != INFINITE else INFINITE]


# --- the claims -------------------------------------------------------------------------------------------------------


def chosen(machine: Any, rows: list[Sparse], part: list[int]) -> list[Sparse]:
    """Some of the rows; of a kernel matrix, their columns too."""
    points = [rows[i] for i in part]
    if machine["kernel"]["name"] == "precomputed":
        points = [{k: row[i] for k, i in enumerate(part) if i in row} for row in points]
        symmetric = all(points[j].get(i) == x for i, row in enumerate(points) for j, x in row.items())
        need(symmetric, "the kernel matrix is not symmetric")
    return points


def met(proof: Any, rows: list[Sparse], y: list[float]) -> Iterator[tuple[str, str]]:
    """Whether convex weights u of the one class and v of the other give one point, sum u_i x_i = sum v_j x_j."""
    need(proof["claims"] == [{"claim": "the hulls meet"}], "hulls show nothing else")
    weights = [(i, 1 if side == "u" else -1, Fraction(p, q)) for side in "uv" for i, p, q in proof["hulls"][side]]
    need(min(w for _, _, w in weights) > 0, "a convex weight is not positive")
    takes_part = proof["machine"].get("weights") or [1] * len(rows)
    own = all(y[i] == sign and takes_part[i] > 0 for i, sign, _ in weights)
    ones = all(sum((w for _, sign, w in weights if sign == side), Fraction(0)) == 1 for side in (1, -1))
    yield (
        "the weights of rows of either class are positive and add up to 1, exactly",
        "confirmed" if own and ones else "REFUTED",
    )
    kernel, unit = kernel_of(proof["machine"]["kernel"], chosen(proof["machine"], rows, [i for i, _, _ in weights]))
    apart = by_kernel(kernel, unit, [sign * w for _, sign, w in weights], [Fraction(0)] * len(weights)).w
    said = "confirmed" if own and ones and apart == [0, 0] else "REFUTED"
    yield "both make the same point, so that no hyperplane separates the classes", said


def judged(proof: Any, rows: list[Sparse], y: list[float]) -> Iterator[tuple[str, str]]:
    """Each claim in words, and what becomes of it."""
    machine, held = proof["machine"], proof["plane"]
    s = [Fraction(weight) for weight in machine.get("weights") or [1] * len(rows)]
    need(len(s) == len(rows) and min(s) >= 0, f"{len(s)} weights are not those of {len(rows)} rows")
    part = [i for i, weight in enumerate(s) if weight]
    points = chosen(machine, rows, part)
    points += [{j: x for j, x in enumerate(z) if x} for z in machine.get("rows", {}).get("points", ())]
    kernel, unit = kernel_of(machine["kernel"], points)
    exponent, integers = proof["alpha"]["exponent"], proof["alpha"]["integers"]
    need(all(type(j) is int for j in (exponent, *integers)), "alpha is not made of whole numbers")
    unit_of_alpha = Fraction(2) ** exponent
    alpha = [j * unit_of_alpha for j in integers]

    def look(plane: Any, half: Fraction, beta: list[Fraction]) -> Looked:
        need("coef" in held or machine["kernel"]["name"] == "linear", "w has no coordinates with this kernel")
        w = [Fraction(x) * half for x in plane]
        return by_kernel(kernel, unit, w, beta) if "coef" in held else by_coordinates(points, w, beta)

    if machine["name"] in SEVERAL:
        C, b = prices(machine["parameters"], [s[i] for i in part], part), [Fraction(x) for x in held["b"]]
        planes = held["coef" if "coef" in held else "w"]
        need(min(C) > 0 and len(planes) == len(b) == len(machine["classes"]), "there are other classes")
        found = several(
            machine, C, [int(y[i]) for i in part], alpha, b, lambda c, beta: look(planes[c], Fraction(1), beta)
        )
        for claim in proof["claims"]:
            need(not {"b", "lower"} & {*claim}, f"{claim['claim']!r} is no claim about this machine")
            yield judge(claim, *found)
        return
    own = [kernel(i, i) for i in range(len(part))] if machine["name"] == "SVDD" else []
    need(all(low == high for low, high in own), "no SVDD is known where K(x, x) is irrational")
    diagonal = [Fraction(low, unit) for low, _ in own]
    program = stated(machine, [Fraction(y[i]) for i in part], [s[i] for i in part], part, diagonal)
    for k, numerator, denominator in proof["alpha"]["others"]:
        alpha[k] = Fraction(numerator, denominator)
    need(len(alpha) == len(program.rows), f"alpha has {len(alpha)} numbers, and the dual {len(program.rows)} rows")
    beta = [Fraction(0)] * len(points)
    for row, a in zip(program.rows, alpha, strict=True):
        for i, factor in row.z if a else ():
            beta[i] += a * row.s * factor
    if "centre" in held:  # of a ball, where f(x) = R^2 - |x - c|^2
        need("coef" not in held, "a plane has a centre or coefficients")
        plane, half = held["centre"], Fraction(1)
        mu = {"b": (Fraction(held["radius"]) ** 2 - sum(Fraction(x) ** 2 for x in plane)) / 2}
    else:
        plane, half = held["coef" if "coef" in held else "w"], program.half
        mu = {g: Fraction(held["multipliers"][g]) * (half if g == "b" else 1) for g in program.e}
    looked = look(plane, half, beta)

    def sides(claim: Any) -> tuple[Ends, Ends, Ends]:
        lower = {k: Fraction(v) for k, v in claim.get("lower", ())}
        need(all(v >= 0 for v in lower.values()), "a level that is to be lower is higher")
        rows = [row._replace(l=row.l - lower.get(k, 0)) for k, row in enumerate(program.rows)]
        other = {"b": Fraction(*claim["b"])} if "b" in claim else {}
        return both(program._replace(rows=rows), looked, alpha, mu | other)

    usual = sides({})
    for claim in proof["claims"]:
        yield judge(claim, *(sides(claim) if {"b", "lower"} & {*claim} else usual))


def judge(claim: Any, P: Ends, D: Ends, difference: Ends) -> tuple[str, str]:
    """A claim in words, and what becomes of it."""
    kind, bound = claim["claim"], Fraction(claim.get("bound", 0))
    need({*claim} <= KINDS.get(kind, {"claim"}) | {"claim", "bound"}, f"{kind!r} is no claim that this checker knows")
    said, gap = f"{kind[-8:].strip()} {float(bound)!r}", "the relative gap (P - D)/max(|P|, |D|) is"
    match kind:
        case "feasible":
            text, known = "alpha is within its box and keeps every equality", [Fraction(D[0] == -INFINITE)] * 2
        case "primal at most":
            text, known = f"P, the objective of the plane, is {said}", P
        case "dual at least":
            text, known = f"D, the objective of alpha, is {said}", D
        case "gap at most" | "gap at least":
            text, known = f"{gap} {said}", relative(P, D, difference)
        case "gap with the best b at most":
            b = Fraction(*claim["b"])
            text, known = f"with b = {float(b)!r} and more digits, {gap} {said}", relative(P, D, difference)
        case "gap with lower levels at most":
            most = max((Fraction(v) for _, v in claim["lower"]), default=Fraction(0))
            text, known = (
                f"with levels l that are lower, by up to {float(most)!r}, {gap} {said}",
                relative(P, D, difference),
            )
        case _:
            raise UnusableError(f"{kind!r} is no claim that this checker knows")
    low, high = (-known[1], -known[0]) if kind.endswith("at least") else known
    bound = -bound if kind.endswith("at least") else bound
    return text, "confirmed" if high <= bound else "REFUTED" if low > bound else "open"


def introduced(machine: Any, how: Any, target: str | None) -> Iterator[tuple[str, str]]:
    """What the claims are about: the machine, and how the data are read."""
    about = {**machine["parameters"], "kernel": machine["kernel"]["name"], **machine["kernel"]}
    words = [f"{key} {value}" for key, value in about.items() if key != "name" and not isinstance(value, list)]
    words += [f"{key} in the file" for key in ("weights", "pairs", "rows") if key in machine]
    words += ["C of each row in the file"] if isinstance(about.get("C"), list) else []
    yield f"{machine['name']}, {', '.join(words)}", "claimed of"
    words = [f"{name} by its categories" if kinds else name for name, kinds in how.get("columns", ())]
    words += ["standardised"] if how.get("scale") else []
    target = None if machine["name"] in UNTAUGHT else target or how.get("target")
    words += [f"target {target}"] if target else []
    labels = how.get("labels") or machine.get("classes") or ()
    words += [f"{'all others' if x is None else x} as {sign}" for x, sign in zip(labels, ("-1", "+1"), strict=False)]
    if words:
        yield ", ".join(words), "read as"


def claims_of(proof_file: str, data: str, target: str | None) -> Iterator[tuple[str, str]]:
    """The seal, the data and then each claim, and what becomes of it: of what follows a refutation here, nothing."""
    proof = opened(proof_file)
    yield "the proof file is as it was written, to the last byte", "REFUTED" if proof is None else "confirmed"
    if proof is None:
        return
    machine, how = proof["machine"], proof["file"]
    yield from introduced(machine, how, target)
    if how:
        true = hashlib.sha256(content_of(data)).hexdigest() == how["sha256"]
        yield f"the data are {how['name']}, to the last byte", "confirmed" if true else "REFUTED"
        if not true:
            return
    rows, y = samples(data, how, target, machine)
    true = (len(rows), digest(rows, y)) == (proof["data"]["rows"], proof["data"]["values"])
    yield f"the values of its {len(rows)} rows are those that the proof is about", "confirmed" if true else "REFUTED"
    if true:
        yield from met(proof, rows, y) if "hulls" in proof else judged(proof, rows, y)
        if machine["kernel"]["name"] in ("precomputed", "sigmoid") or machine["kernel"].get("coef0", 0) < 0:
            yield "the kernel matrix is positive semidefinite: without that D may be above P", "assumed"
        for text in proof["assumptions"]:
            yield text, "assumed"


def check(proof: str, data: str, target: str | None = None, say: Callable[[str], object] = print) -> int:
    """Say of every claim of a proof file what becomes of it: 0 where all are confirmed, else 1.

    Raises
    ------
    UnusableError
        A file is missing, or is not what it should be.
    """
    verdicts = set()
    try:
        for text, found in claims_of(proof, data, target):
            verdicts.add(found)
            say(f"{found:10}  {text}")
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as error:
        raise UnusableError(f"what the proof or the data hold cannot be understood: {error!r}") from error
    except (OSError, EOFError, struct.error, csv.Error, lzma.LZMAError) as error:
        raise UnusableError(f"{data} cannot be read: {error}") from error
    return int(bool(verdicts & {"REFUTED", "open"}))


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(description="Confirm or refute a proof file of qpsvm.")
    parser.add_argument("proof")
    parser.add_argument("--data", required=True, help="CSV, LIBSVM (both may be packed by gzip, bzip2 or xz) or .npy")
    parser.add_argument("--target", help="its column, where the proof names none; or a .npy file")
    try:
        return check(**vars(parser.parse_args()))
    except UnusableError as error:
        sys.stderr.write(f"cannot be used: {error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
