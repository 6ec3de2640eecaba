"""Every scene shows the idea that its title names, and what its lines promise."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from asking import ask, make_scene_state
from each import for_each

from qpsvm.faces.play.request import read_state
from qpsvm.faces.play.start import SCENES


@for_each("name", SCENES)
def test_a_scene_is_a_state_with_three_lines(name):
    held = SCENES[name]
    assert read_state(held.state.to_json()).to_json() == held.state.to_json()
    assert len(held.tries) == 3
    assert all(line.endswith(".") for line in held.tries)
    answer = ask("solve", held.state.to_json())
    assert ("error" in answer) == (name in ("inseparable", "nu_max"))


def test_the_catalogue_has_them_in_order():
    catalogue = ask("catalogue")
    assert [each["name"] for each in catalogue["scenes"]] == list(SCENES)
    assert catalogue["start"] == catalogue["scenes"][0]["state"]
    assert catalogue["classes"] == ["-1", "+1"]
    assert catalogue["features"] is None


def test_the_inseparable_scene_is_its_proof_and_its_stray_sample_is_the_reason():
    answer = ask("solve", make_scene_state("inseparable"))
    assert answer["error"]["kind"] == "NotSeparableError"
    assert answer["plane"]["meeting"] is not None
    held = make_scene_state("inseparable")
    held["points"][5] = [1.2, 1.0]
    assert ask("solve", held)["status"] == "optimal"
    assert ask("solve", make_scene_state("inseparable", machine="c"))["status"] == "optimal"


def test_nu_is_too_large_by_what_the_lines_say():
    answer = ask("solve", make_scene_state("nu_max"))
    assert answer["hint"] == {"nu": 0.5}
    assert make_scene_state("nu_max")["labels"].count(1) == 3
    assert len(make_scene_state("nu_max")["labels"]) == 12


def test_of_a_duplicate_only_the_sum_counts():
    held = make_scene_state("duplicate")
    assert held["points"][0] == held["points"][1]
    alpha = ask("solve", held)["samples"]["alpha"]
    total = alpha[0] + alpha[1]
    for share in (0.0, 0.3, 1.0):
        split = [share * total, (1 - share) * total, *alpha[2:]]
        assert ask("solve", held, alpha=split)["status"] == "optimal"
    (low,) = re.findall(r"Lower C to ([\d.]+), below half of their sum", SCENES["duplicate"].tries[2])
    assert float(low) < total / 2
    wide = ask("solve", held)
    tight = ask("solve", {**held, "parameters": {"C": float(low)}})
    assert tight["samples"]["kind"][:2] == [2, 2]
    assert tight["width"] > wide["width"]


def test_two_labels_at_one_place_stay_at_their_bound():
    held = make_scene_state("two_labels")
    assert held["points"][5] == held["points"][11]
    for C in (1.0, 1000.0):
        answer = ask("solve", {**held, "parameters": {"C": C}})
        assert [answer["samples"]["kind"][i] for i in (5, 11)] == [2, 2]
        assert max(answer["samples"]["xi"][i] for i in (5, 11)) >= 1.0
    proof = ask("solve", {**held, "machine": "hard", "parameters": {}})
    assert proof["plane"]["meeting"] == pytest.approx(held["points"][5])


def test_the_outlier_rules_at_a_large_price_only():
    cheap, dear = ask("solve", make_scene_state("outlier")), ask("solve", make_scene_state("outlier_1000"))
    assert make_scene_state("outlier")["points"] == make_scene_state("outlier_1000")["points"]
    assert cheap["width"] > 2 * dear["width"]
    assert cheap["samples"]["kind"][5] == 2
    assert dear["samples"]["xi"][5] == pytest.approx(0.0, abs=1e-9)


def test_xor_needs_a_kernel():
    bent = ask("solve", make_scene_state("xor"))
    assert bent["accuracy"] == 1.0
    flat = ask("solve", make_scene_state("xor", kernel={"name": "linear"}))
    assert np.hypot(*flat["w"]) == pytest.approx(0.0, abs=1e-9)
    square = ask("solve", make_scene_state("xor", kernel={"name": "polynomial", "degree": 2}))
    assert square["accuracy"] == 1.0
    islands = ask("solve", make_scene_state("xor", kernel={"name": "rbf", "gamma": 100.0}))
    assert islands["counts"][0] == 0


def test_the_first_clouds_overlap_and_the_others_do_not():
    assert ask("solve", make_scene_state("apart"))["counts"][1] in (2, 3)
    assert (
        ask("solve", make_scene_state("clouds", machine="hard", parameters={}))["error"]["kind"] == "NotSeparableError"
    )
    assert ask("solve", make_scene_state("clouds"))["accuracy"] >= 0.75


# --- machines without classes -----------------------------------------------------------------------------------------


def move_sample(name: str, i: int, by: float) -> dict[str, Any]:
    """Return a scene with one sample moved upwards."""
    held = make_scene_state(name)
    held["points"][i][1] += by
    return held


def test_inside_the_tube_nothing_moves_and_beyond_it_beta_is_at_its_bound():
    before = ask("solve", make_scene_state("tube"))
    inside = before["samples"]["kind"].index(0)
    room = 0.25 - abs(before["samples"]["value"][inside])
    after = ask("solve", move_sample("tube", inside, 0.5 * room))
    assert after["plane"]["curve"] == pytest.approx(before["plane"]["curve"], abs=1e-6)
    for far in (1.5, 4.0):
        beyond = ask("solve", move_sample("tube", inside, far))
        assert beyond["samples"]["alpha"][inside] == pytest.approx(5.0)
        assert beyond["samples"]["kind"][inside] == 2
    flat = ask("solve", make_scene_state("tube", parameters={"C": 5.0, "epsilon": 2.0}))
    assert flat["counts"] == [25, 0, 0]
    assert np.ptp(flat["plane"]["curve"]) == pytest.approx(0.0, abs=1e-9)


def test_the_absolute_loss_does_not_care_how_far_an_outlier_is():
    held = make_scene_state("outliers")
    outlier = len(make_scene_state("outliers")["points"]) - 1
    absolute = ask("solve", held)
    further = ask("solve", move_sample("outliers", outlier, 3.0))
    assert further["w"] == pytest.approx(absolute["w"], abs=1e-6)
    squared = {**held["parameters"], "loss": "squared"}
    tilted = ask("solve", {**held, "parameters": squared})
    pulled = ask("solve", {**move_sample("outliers", outlier, 3.0), "parameters": squared})
    assert pulled["w"][0] > tilted["w"][0] + 0.1 > absolute["w"][0] + 0.1
    rest = {"points": held["points"][:-2], "labels": held["labels"][:-2]}
    without = [ask("solve", {**held, **rest, "parameters": each})["w"][0] for each in (held["parameters"], squared)]
    assert without[0] == pytest.approx(without[1], abs=0.05)


def test_a_quantile_has_its_share_below_and_counts_only():
    held = make_scene_state("quantile")
    box = [-3.0, 3.0, -3.0, 3.0]
    answer = ask("solve", held, box=box)
    assert 0.8 <= answer["accuracy"] <= 0.9
    above = int(np.argmax(answer["samples"]["value"]))
    assert ask("solve", move_sample("quantile", above, 2.0))["w"] == pytest.approx(answer["w"], abs=1e-6)
    low = ask("solve", {**held, "parameters": {"C": 10.0, "quantile": 0.1}}, box=box)
    apart = np.subtract(answer["plane"]["curve"], low["plane"]["curve"])
    assert apart[-1] > 2 * abs(apart[0])


def test_nu_finds_the_width_of_the_tube():
    widths = {}
    for nu in (0.1, 0.3, 1.0):
        answer = ask("solve", make_scene_state("nu_tube", parameters={"C": 10.0, "nu": nu}))
        inside, edge, beyond = answer["counts"]
        widths[nu] = answer["width"]
        assert beyond <= nu * (inside + edge + beyond) + 1e-9 <= edge + beyond + 1e-6
    assert widths[0.1] > widths[0.3] > widths[1.0] >= 0.0


def test_what_is_unusual_is_outside_and_a_ball_holds_the_rest():
    usual = ask("solve", make_scene_state("usual"))
    assert 0.0 < usual["accuracy"] <= 0.3
    assert usual["samples"]["kind"][-1] == 2
    ball = ask("solve", make_scene_state("ball"))
    assert 0.0 < ball["accuracy"] <= 0.15
    outside = ball["samples"]["kind"].index(2)
    farther = make_scene_state("ball")
    centre = np.array(ball["plane"]["ball"]["centre"])
    farther["points"][outside] = (centre + 1.5 * (np.array(farther["points"][outside]) - centre)).tolist()
    assert ask("solve", farther)["width"] == pytest.approx(ball["width"], rel=0.2)
    tight = ask("solve", make_scene_state("ball", parameters={"nu": 0.03}))
    assert tight["counts"][2] == 0
    assert 2 <= tight["counts"][1] <= 3
