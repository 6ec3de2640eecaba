"""The catalogue has what the library has, under the names of the command line, with the library's own defaults."""

from __future__ import annotations

import inspect

import pytest
from asking import ask
from each import for_each

from qpsvm import backends
from qpsvm.derivation.registry import STEPS
from qpsvm.faces.cli.problem_options import VARIANTS
from qpsvm.faces.play import kernel_catalogue, machine_catalogue
from qpsvm.faces.play.checks import RequestError
from qpsvm.machines.registry import ALL_IN_ONE
from qpsvm.space.kernels.kernel_registry import FUNCTIONS


def test_every_machine_and_kernel_of_the_command_line_is_there():
    refused = {"ranking", *ALL_IN_ONE}  # whose α are of pairs, of samples or with a rival: `play` refuses them
    assert set(VARIANTS) - set(machine_catalogue.MACHINES) == refused
    assert set(kernel_catalogue.KERNELS) == set(FUNCTIONS)
    assert {machine.kind for machine in machine_catalogue.MACHINES.values()} <= set(STEPS)
    for name, machine in machine_catalogue.MACHINES.items():
        assert machine.kind is VARIANTS[name]
        assert machine.learnt == VARIANTS[name]._target_kind


@for_each("name", machine_catalogue.MACHINES)
def test_the_parameters_are_the_constructors(name):
    machine = machine_catalogue.MACHINES[name]
    taken = inspect.signature(machine.kind).parameters
    for parameter in machine.parameters:
        assert taken[parameter.name].default == parameter.default
    left_out = (
        set(taken)
        - {p.name for p in machine.parameters}
        - {"X", "y", "t", "kernel", "psd", "sample_weight", "class_weight", "constraints"}
    )
    assert not left_out


@for_each("name", kernel_catalogue.KERNELS)
def test_the_kernels_parameters_are_the_constructors(name):
    kernel = kernel_catalogue.KERNELS[name]
    assert {p.name for p in kernel.parameters} - {"psd"} == set(inspect.signature(kernel.kind).parameters)


def test_defaults_are_within_what_a_control_shows_and_that_within_what_is_accepted():
    for each in (*machine_catalogue.MACHINES.values(), *kernel_catalogue.KERNELS.values()):
        for parameter in each.parameters:
            if parameter.choices is not None:
                assert parameter.default in parameter.choices
                continue
            assert (
                parameter.accepted[0] <= parameter.low <= parameter.default <= parameter.high <= parameter.accepted[1]
            )
            assert parameter.check_value(parameter.default, "state") == parameter.default
            with pytest.raises(RequestError, match=parameter.name):
                parameter.check_value(2 * parameter.accepted[1] + 1, "state")


def test_the_solvers_are_backends_that_end_after_so_many_iterations():
    listed = ask("catalogue")["solvers"]
    assert {"dual_ascent", "osqp", "interior_point", "subgradient"} <= {solver["name"] for solver in listed}
    for solver in listed:
        assert backends.get(solver["name"]).abilities.supports("max_iter")
        assert solver["machines"]
        assert solver["about"]
    assert "hard" not in next(s["machines"] for s in listed if s["name"] == "subgradient")


def test_every_tag_is_one_of_the_machines_steps():
    for name, machine in machine_catalogue.MACHINES.items():
        steps = ask("steps", {"points": [], "labels": [], "machine": name})["steps"]
        assert set(machine.tags.values()) <= {step["tag"] for step in steps}
