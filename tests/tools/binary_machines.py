"""Solve the binary machines of several classes in one call, for tests."""

from __future__ import annotations

from dataclasses import fields

from qpsvm.many.multiclass import MachineTemplate, solve_machines, split_classes

NAMES = {field.name for field in fields(MachineTemplate)}


def solve_pairs(X, codes, labels, **arguments):
    """Solve one machine for each pair of classes."""
    return _solve(X, codes, labels, False, **arguments)


def solve_rest(X, codes, labels, **arguments):
    """Solve one machine for each class against all others."""
    return _solve(X, codes, labels, True, **arguments)


def _solve(X, codes, labels, rest, sample_weight=None, **arguments):
    template = {"machine": "CSVM", **{name: value for name, value in arguments.items() if name in NAMES}}
    options = {name: value for name, value in arguments.items() if name not in NAMES}
    split = split_classes(X, codes, labels, MachineTemplate(**template), rest=rest, sample_weight=sample_weight)
    return solve_machines(split, **options)
