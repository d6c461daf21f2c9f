"""Memory that the program asks MPI for. The program says how many blocks the kernel has copied in a call, in which all ranks do
the same; where the kernel permits no such copies there is nothing to count."""
import pytest
from driver import job, says


@pytest.mark.parametrize("ranks, part, settings, told", [
    (2, "windows", {}, "window of all: 0 by.*no window: 1 of 1 by.*no window: 1 of 1 by"),
    (3, "windows", {}, "window of some: [12] of 2 by.*window of some: [12] of 2 by"),
    (2, "allocated", {"TAQUIN_ALLOC_MEM": "shared"}, "MPI_Alloc_mem: 0 of 1 by.*MPI_Alloc_mem again: 0 of 1 by"),
    (2, "allocated", {}, "MPI_Alloc_mem: 1 of 1 by.*MPI_Alloc_mem again: 1 of 1 by"),
], ids=["windows_of_all", "windows_of_some", "asked_for", "not_asked_for"])
def test_blocks_are_copied_without_the_kernel_in_shared(run, ranks, part, settings, told):
    says(run(job(ranks, "memory", part, **settings)), told)
