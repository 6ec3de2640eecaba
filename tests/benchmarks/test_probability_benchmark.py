"""The benchmark of probabilities, on small tables and one draw."""

import numpy as np

from benchmarks.probabilities import ASKED, iter_tables, measure_coverage, measure_losses


def test_losses_and_coverage_are_measured(tmp_path):
    file = tmp_path / "own_scale.txt"
    file.write_text("".join(f"{t} 1:{t} 2:{t % 3}\n" for t in range(60)))
    named = {table[0]: table for table in iter_tables([str(file)], numbers=True)}
    assert set(named) == {"diabetes", "own_scale"}
    assert 0.5 < measure_coverage(named["own_scale"], True, seeds=1)[0] <= 1.0
    iris = next(table for table in iter_tables([], numbers=False) if table[0] == "iris")
    found = measure_losses(iris, seeds=1)
    assert set(found) == set(ASKED)
    assert all(0.0 < loss < np.log(3.0) and seconds >= 0.0 for loss, seconds in found.values())
    assert measure_coverage(iris, False, seeds=1)[0] > 0.8
