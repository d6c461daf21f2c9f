"""The guide's page on Python: its programs run as printed, and what it names is there."""

import pathlib
import re

import numpy as np
import pytest
import taquin
from mpi4py import MPI
from test_bad_input import alone

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "guide" / "7-python.md"


def test_programs_run_as_printed(comm):
    p = comm.size
    names = {
        "shape": (2 * p, 3 * p, 2),
        "block": np.ones((2, 3 * p, 2), complex),
        "send": np.arange(p),
        "recv": np.empty(p, int),
        "counts": [1] * p,
        "coming": [1] * p,
        "steps": 2,
        "work_on_something_else": lambda: None,
    }
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert (names["particles"]["position"] == 0).all() and names["block"].shape == (2 * p, 3, 2)


@pytest.mark.skipif(MPI.COMM_WORLD.size > 1, reason="starts a process")
def test_names_are_there_after_one_import():
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`taquin\.([A-Za-z_.]+)", text))
    assert len(named) > 10 and "adapters.transfer_in_place" in named
    # In a process of its own: tests of the adapters import the submodule.
    done = alone("import taquin\n" + "\n".join(f"taquin.{name}" for name in sorted(named)))
    assert done.returncode == 0, done.stderr
