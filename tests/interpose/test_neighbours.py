"""Exchanges among neighbours, and nonblocking ones among all ranks: natively, served, and left to the MPI library."""
import re

import pytest
from driver import LIBRARY, MPI, PROGRAMS, counts, in_any_order, job, says

SERVED = MPI in ("openmpi", "mpich")
served = pytest.mark.skipif(not SERVED, reason="neighbours are served on Open MPI and MPICH")
WITHOUT_YIELDING = MPI != "openmpi"  # ranks that wait for others' processors without yielding theirs
WAYS = {"served": {}, "by_the_library": {"TAQUIN_ALGORITHM": "native"}, "without_shared_memory": {"TAQUIN_SHARED_MEMORY": 0},
        "recorded": {"TAQUIN_RECORD": "/dev/null"}}


def test_plain_neighbourhoods(run):
    run(job(2, "neighbourhoods", preload=()))


@pytest.mark.parametrize("ranks", counts(1, 2) if WITHOUT_YIELDING else counts(1, 2, 5))
@pytest.mark.parametrize("way", WAYS)
def test_neighbourhoods(run, ranks, way):
    run(job(ranks, "neighbourhoods", **WAYS[way]))


@served
@pytest.mark.parametrize("runtime", ["CUDA", "HIP"])
def test_neighbourhoods_in_memory_of_a_device(run, runtime):
    """Data are packed and unpacked by the MPI library, which may read a device's memory."""
    says(run(job(2, "neighbourhoods", preload=(LIBRARY, PROGRAMS[f"device_runtime_{runtime}"]), DEVICE_HAS_ALL=1,
                 TAQUIN_REPORT="summary")), "neighbour_slots")


@served
@pytest.mark.parametrize("ranks", counts(2, 3, 5))
def test_random_neighbours(run, ranks):
    steps = 1000 if MPI == "mpich" and ranks > 2 else 6000
    says(run(job(ranks, "random_neighbours", str(ranks), str(steps), TAQUIN_REPORT="summary")), "neighbour_slots")


@served
@pytest.mark.parametrize("nodes", ["1,1", "1,2,2"])
def test_random_neighbours_between_nodes(run, nodes):
    ranks = sum(map(int, nodes.split(",")))
    says(run(job(ranks, "random_neighbours", "3", "6000", TAQUIN_NODES=nodes, TAQUIN_REPORT="summary")), "native [0-9]+")


@served
def test_a_missing_neighbour_is_an_error_of_all(run):
    says(in_any_order(run(job(4, "missing_neighbour", TAQUIN_TIMEOUT="0.5,fail"))),
         "rank 0: error.*rank 1: error.*rank 2: error.*rank 3: error")


@served
def test_a_pair_that_is_missing_while_ranks_agree_stops_no_start(run):
    says(in_any_order(run(job(4, "missing_pair", TAQUIN_TIMEOUT="0.5,fail"))),
         "rank 0: no error.*rank 1: no error.*rank 2: no error.*rank 3: no error")


@served
def test_neighbourhoods_are_reported(run):
    says(run(job(2, "neighbourhoods", TAQUIN_REPORT="summary")), "neighbour_slots")


@served
@pytest.mark.parametrize("nodes", ["1,2,2"] if MPI == "mpich" else ["2,3", "1,4", "1,2,2"])
def test_neighbourhoods_between_nodes(run, nodes):
    says(run(job(5, "neighbourhoods", TAQUIN_NODES=nodes, TAQUIN_REPORT="summary")), "neighbour_step")


@pytest.mark.parametrize("ranks", counts(2, 3, 4))
def test_started_exchanges(run, ranks):
    """3 by the MPI library and at least 19 by slots of each kind that has begun."""
    by_whom = "native [0-9]+, neighbour_slots [0-9]+" if SERVED else "native 1789"
    says(run(job(ranks, "started", TAQUIN_REPORT="summary")), f"algorithms +{by_whom}\n")
    assert run(job(ranks, "started")) == ""
    says(run(job(ranks, "started", TAQUIN_REPORT="summary", TAQUIN_SHARED_MEMORY=0)), "algorithms +native 1789\n")


def test_started_exchanges_on_communicators_that_come_and_go(run):
    assert run(job(2, "started", "come_and_go")) == ""
    says(run(job(2, "started", "come_and_go", TAQUIN_REPORT="summary")),
         "transfer +not known.*algorithms +native 10500\n.* 10500 .*, 2100 communicators\n")


@pytest.mark.parametrize("ranks", [2] if WITHOUT_YIELDING else counts(2, 3))
def test_several_threads_start_and_complete_exchanges(run, ranks):
    output = run(job(ranks, "threads", TAQUIN_REPORT="summary"))
    if SERVED:
        says(output, "neighbour_slots [0-9]+")
    assert "thread level" not in output


def many_communicators(run, ranks, *arguments, **settings):
    """Calls of the MPI library by reason, and all other calls, of a program with many communicators."""
    output = run(job(ranks, "many_communicators", *map(str, arguments), TAQUIN_REPORT="summary", **settings))
    left = {reason: int(calls) for calls, reason in re.findall(r"left to MPI +([0-9]+) [a-z]+: ([^\n]+)", output)}
    served = int((re.search("neighbour_(?:slots|step) ([0-9]+)", output) or ["", "0"])[1])
    return left, served


TRIAL = "a trial: some calls are timed with the MPI library"
LOST = "the MPI library was faster in the trial"


@served
@pytest.mark.parametrize("way, ranks", [("copies", 2), ("copies", 4), ("nested", 3)])
def test_a_trial_is_kept_for_later_communicators(run, way, ranks):
    """One trial; later communicators are served, or left to the MPI library, nearly from their start."""
    left, by_slots = many_communicators(run, ranks, way, 12, 40)
    assert left[TRIAL] == 3
    assert by_slots + left.get(LOST, 0) > 12 * 40 * 3 // 4


@served
def test_a_kept_trial_is_repeated(run):
    """By the communicator after the sixteenth that has used it."""
    left, _ = many_communicators(run, 2, "copies", 20, 40)
    assert left[TRIAL] == 6


@served
def test_a_trial_that_not_all_ranks_remember_runs(run):
    left, _ = many_communicators(run, 4, "unlike", 16, 40)
    assert left[TRIAL] > 3


@served
def test_communicators_that_are_used_briefly_are_not_served(run):
    left, by_slots = many_communicators(run, 2, "copies", 100, 3)
    assert by_slots == 0 and TRIAL not in left


@served
@pytest.mark.parametrize("nodes", [None, "2,1"])
def test_a_trial_among_neighbours_is_kept_for_later_communicators(run, nodes):
    settings = {"TAQUIN_NODES": nodes} if nodes else {}
    left, by_taquin = many_communicators(run, 3, "rings", 12, 20, **settings)
    assert left[TRIAL] == 3
    assert by_taquin + left.get(LOST, 0) >= 12 * 20 - 6


@served
def test_nonblocking_exchanges_among_neighbours_are_served_early_on_later_communicators(run):
    left, by_slots = many_communicators(run, 3, "nonblocking_rings", 12, 40)
    assert by_slots > 12 * 40 * 3 // 4
