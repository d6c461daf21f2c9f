"""Fortran, whose calls do not all pass the C names: its exchanges are recorded."""
import json

import pytest
from driver import PROGRAMS, forms_in, job, needs


@pytest.mark.parametrize("module", [name for name in PROGRAMS if name.startswith("fortran_module_")])
def test_fortran_modules_are_recorded(run, tmp_path, module):
    run(job(3, module, TAQUIN_ALGORITHM="spread_out", TAQUIN_RECORD="record.json"))
    calls = json.loads((tmp_path / "record.json").read_text())["calls"]
    assert [call["kind"] for call in calls] == ["alltoall", "alltoall", "alltoallv", "alltoallw"]


# Nonblocking and persistent exchanges, and those between neighbours, by all three ways to MPI from Fortran.
FORMS = ([f"alltoall{form} nonblocking 1" for form in ("", "v", "w")] + [f"alltoall{form} persistent 8" for form in ("", "v", "w")]
         + ["alltoall persistent 1"] * 16 + [f"neighbor_alltoall{form} blocking 1" for form in ("", "v", "w")]
         + ["neighbor_alltoallv nonblocking 1", "neighbor_alltoallv persistent 1", "flows 3"])
LARGE_COUNTS = [f"alltoall{form} blocking 1" for form in ("", "v", "w")] + [
    "alltoallv nonblocking 1", "alltoallv persistent 1", "neighbor_alltoallv blocking 1", "flows 3"]


@pytest.mark.parametrize("forms", [name for name in PROGRAMS if name.startswith("fortran_forms_")])
def test_fortran_forms_are_recorded(run, tmp_path, forms):
    run(job(3, forms, TAQUIN_ALGORITHM="spread_out", TAQUIN_RECORD="record.json"))
    assert forms_in(tmp_path / "record.json") == FORMS


@needs("fortran_large_counts")  # which needs an MPI library with counts of 64 bits
def test_fortran_large_counts_are_recorded(run, tmp_path):
    run(job(3, "fortran_large_counts", TAQUIN_ALGORITHM="spread_out", TAQUIN_RECORD="record.json"))
    assert forms_in(tmp_path / "record.json") == LARGE_COUNTS
