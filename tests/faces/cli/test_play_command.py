"""`play` on the command line: what the page begins with, and how it says no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fail
from each import for_each

from qpsvm.faces.cli import main
from qpsvm.faces.play.start import SCENES, Start


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Start, int, bool]]:
    """What would be served: start, port, browser."""
    found: list[tuple[Start, int, bool]] = []
    monkeypatch.setattr("qpsvm.faces.cli.commands.play.serve", lambda *how: found.append(how))
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Thirty rows of three numbers and a label in words."""
    rng = np.random.default_rng(0)
    path = tmp_path / "table.csv"
    rows = [f"{x:.4f},{2 * x:.4f},{-x:.4f},{'cat' if i % 3 else 'dog'}" for i, x in enumerate(rng.standard_normal(30))]
    path.write_text("\n".join(["length,weight,age,kind", *rows]) + "\n")
    return path


def run(*arguments: Any) -> int:
    return main(["play", *map(str, arguments)])


def test_without_a_file_it_is_the_first_scene(served):
    assert run("--no-browser", "--port", 0) == 0
    start, port, browser = served[0]
    assert len(start.state.labels) == 40
    assert (port, browser) == (0, False)
    assert run("--variant", "hinge", "--lam", 0.5, "--kernel", "rbf", "--gamma", 2) == 0
    start, _, browser = served[1]
    assert start.state.parameters == {"lam": 0.5, "intercept": "free"}
    assert start.state.kernel_parameters == {"gamma": 2.0}
    assert browser


def test_without_a_file_a_machine_without_classes_has_a_scene_of_its_own(served):
    assert run("--variant", "quantile-svr", "--quantile", 0.3) == 0
    assert run("--variant", "svdd", "--nu", 0.2) == 0
    assert run("--variant", "squared-hinge") == 0
    quantile, ball, squared = (start.state for start, _, _ in served)
    assert quantile.points.tolist() == SCENES["quantile"].state.points.tolist()
    assert quantile.parameters["quantile"] == 0.3
    assert ball.points.tolist() == SCENES["ball"].state.points.tolist()
    assert squared.points.tolist() == SCENES["clouds"].state.points.tolist()
    assert run("--variant", "ranking") != 0


def test_a_regression_of_a_file_has_its_target_upwards(served, table):
    assert run("--data", table, "--target", "age", "--drop", "kind", "--variant", "epsilon-svr", "--C", 5) == 0
    start = served[0][0]
    assert start.features == ("length", "weight", "t")
    assert start.state.axes == (0, 2)
    assert start.state.points[:, 2] == pytest.approx(-start.state.points[:, 0])
    assert (
        run("--data", table, "--target", "age", "--drop", "kind", "--variant", "nu-svr", "--axes", "weight", "t") == 0
    )
    assert served[1][0].state.axes == (1, 2)


def test_a_file_is_shown_with_its_names(served, table, capsys):
    assert run("--data", table, "--target", "kind", "--C", 5, "--axes", "age", "length", "--standardise") == 0
    start = served[0][0]
    assert start.features == ("length", "weight", "age")
    assert start.classes == ("cat", "dog")
    assert start.state.axes == (2, 0)
    assert start.state.parameters == {"C": 5.0, "intercept": "free"}
    assert start.state.points.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert "30 rows x 3 features" in capsys.readouterr().out
    assert run("--data", table, "--target", "kind", "--positive", "cat", "--axes", 1, 2) == 0
    assert served[1][0].classes == ("dog", "cat")
    assert served[1][0].state.axes == (1, 2)


def test_of_many_rows_some_are_shown_and_it_says_so(served, tmp_path, capsys):
    path = tmp_path / "many.csv"
    rng = np.random.default_rng(1)
    path.write_text("a,b,y\n" + "\n".join(f"{a:.3f},{b:.3f},{i % 4 == 0:d}" for i, (a, b) in
                                          enumerate(rng.standard_normal((3000, 2)))))  # fmt: skip
    assert run("--data", path, "--target", "y") == 0
    labels = served[0][0].state.labels
    assert 900 <= len(labels) <= 1000
    assert (labels > 0).mean() == pytest.approx(0.25, abs=0.01)
    assert "the page shows" in capsys.readouterr().out


@for_each(
    "arguments, words",
    [
        (["--target", "kind"], "--target needs a file: add --data FILE, or leave it out"),
        (["--standardise"], "--standardise needs a file"),
        (["--axes", "a", "b"], "--axes needs a file"),
        (["--nu", "0.3"], "--nu belongs to the variant nu"),
        (["--variant", "nu", "--nu", "2"], "nu must be in (0, 1]"),
        (["--data", "nothing.csv"], "does not exist"),
        (["--port", "x"], "invalid int value"),
        (["--brower"], "did you mean '--"),
        (["--data", "{table}", "--target", "kind", "--axes", "age", "lenght"], "did you mean 'length'?"),
    ],
)
def test_what_is_wrong_is_a_sentence(served, table, arguments, words, capsys):
    assert words in fail(capsys, "play", *(str(a).format(table=table) for a in arguments))
    assert not served
