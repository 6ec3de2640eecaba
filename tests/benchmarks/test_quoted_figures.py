"""What README and paper quote of the benchmarks is entered in `benchmarks/claims.toml`, and is what the lines say."""

import json
import lzma
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import qpsvm

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = tomllib.loads((ROOT / "benchmarks" / "claims.toml").read_text(encoding="utf-8"))["claim"]
KEYS = {"says", "texts", "cells", "sentences", "command", "lines"}
NUMBER = re.compile(r"(?<![\w.])\d[\d.]*(?:e-\d+)?(?!\w)")
#: The paragraphs in which every number has an entry, and what in them is no claim: gaps asked for, a picture's width.
HEADINGS = {"README.md": "## Benchmarks", "paper/paper.md": "# Benchmarks"}
NO_CLAIM = re.compile(r"10\^\{-\d\}|\{ ?width=\d+% ?\}|\]\([^)]*\)|\\autoref\{[^}]*\}")


@cache
def read_words(name: str) -> str:
    """Return a text with its white space made one blank."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def section(name: str) -> str:
    """The paragraphs of a text on benchmarks."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return text.partition(f"\n{HEADINGS[name]}\n")[2].partition(f"\n{HEADINGS[name].split()[0]} ")[0]


@cache
def summary(suite: str) -> dict[str, dict[str, str]]:
    """The table of a suite in RESULTS.md: by row and column; columns of times carry the gap that stands before them."""
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n**{suite}**: ")
    lines = [line for line in rest.split("\n\n")[1].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads = []
    gap = ""
    for head in rows[0]:
        gap = head if head.startswith("to ") else gap
        heads.append(head if head.startswith("to ") else f"{head} {gap}".strip())
    return {row[0]: dict(zip(heads, row, strict=True)) for row in rows[2:]}


def is_rounded(told: str, found: str) -> bool:
    """Say whether a number is one of a table, or that rounded to as many digits as are told."""
    if "/" in told or not re.fullmatch(r"[\d.]+", found):
        return told == found
    return f"{float(found):.{len(told.partition('.')[2])}f}" == told


@cache
def versions(name: str) -> set[str]:
    """The versions of the library that measured a file of lines."""
    opened = lzma.open if name.endswith(".xz") else open
    with opened(ROOT / name, "rt", encoding="utf-8") as file:
        heads = [json.loads(line) for line in file if line.startswith('{"kind": "machine"')]
    assert heads
    assert all(head["cpu"] and head["cores"] for head in heads), "every line has its machine"
    return {head["versions"]["qpsvm"] for head in heads}


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim["says"][:40] for claim in CLAIMS])
def test_a_claim_is_what_the_texts_and_the_lines_say(claim):
    assert set(claim) <= KEYS
    assert claim.get("cells") or claim.get("sentences"), "a claim has a source"
    for name in claim["texts"]:
        assert claim["says"] in read_words(name), f"{name} does not say it any more"
    for suite, row, column, told in claim.get("cells", []):
        assert is_rounded(told, summary(suite)[row][column]), f"{suite}, {row}, {column}: {summary(suite)[row][column]}"
    for sentence in claim.get("sentences", []):
        assert sentence in read_words("benchmarks/RESULTS.md")
    assert claim["command"].startswith("python -m benchmarks")


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim["says"][:40] for claim in CLAIMS])
def test_every_number_of_a_claim_has_its_source(claim):
    given = {part for cell in claim.get("cells", []) for part in cell[3].split("/")}
    given |= {number for sentence in claim.get("sentences", []) for number in NUMBER.findall(sentence)}
    asked = {"1e-6", "1e-9", "1"}  # gaps, and qpsvm beside itself
    assert {number.rstrip(".") for number in NUMBER.findall(claim["says"])} - given - asked == set()


@pytest.mark.parametrize("name", sorted(HEADINGS))
def test_no_number_of_a_benchmark_is_quoted_without_an_entry(name):
    claimed = section(name)
    assert claimed
    text = " ".join(claimed.split())
    for claim in CLAIMS:
        text = text.replace(claim["says"], " ") if name in claim["texts"] else text
    assert NUMBER.findall(NO_CLAIM.sub(" ", text)) == []


def test_lines_are_of_this_minor_version():
    """A version in development may quote those of the one before: they are measured again before it is published."""
    major, minor, *rest = qpsvm.__version__.split(".")
    known = [[major, minor], *([[major, str(int(minor) - 1)]] if "dev" in rest[-1] else [])]
    for name in {claim["lines"] for claim in CLAIMS}:
        old = {version for version in versions(name) if version.split(".")[:2] not in known}
        assert old == set(), f"{name} was measured with {old}: measure again, python -m benchmarks"


def test_another_number_would_be_noticed():
    assert is_rounded("18", "18.4")
    assert not is_rounded("19", "18.4")
    assert not is_rounded("25/63", "26/63")
