"""Persistent exchanges: served always, where that measures better, or never; and by rules of a profile."""
import json

import pytest
from driver import LIBRARY, MPI, PROGRAMS, counts, job, needs, says

OWN = "(spread_out|shared_memory)"
RANKS = [2] if MPI in ("mpich", "abi") else counts(2, 3)


def persistent(run, ranks, part, who, told, **settings):
    says(run(job(ranks, "persistent", part, TAQUIN_REPORT="summary", TAQUIN_PERSISTENT=who, **settings)), told)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("part", ["one_by_one", "arrays", "any_order", "halves", "errors", "threads"])
def test_persistent_exchanges_are_served(run, ranks, part):
    persistent(run, ranks, part, "always", f"algorithms +{OWN} [0-9]+(, {OWN} [0-9]+)?\n")


@pytest.mark.parametrize("ranks", RANKS)
def test_persistent_exchanges_are_measured(run, ranks):
    for part in ("one_by_one", "any_order", "threads"):
        persistent(run, ranks, part, "measured", f"algorithms +native [0-9]+, {OWN} [0-9]+\n")
    persistent(run, ranks, "seven_starts", "measured", f"algorithms +native 3, {OWN} 4\n")


@pytest.mark.parametrize("ranks", RANKS)
def test_persistent_exchanges_are_passed_on(run, ranks):
    persistent(run, ranks, "one_by_one", "never", "algorithms +native 54\n")


@pytest.mark.parametrize("ranks", RANKS)
def test_persistent_exchanges_between_neighbours(run, ranks):
    """And a communicator's first call by the MPI library."""
    persistent(run, ranks, "neighbours", "always",
               f"algorithms +{'native 1, neighbour_slots 3' if MPI in ('openmpi', 'mpich') else 'native 4'}\n")


@pytest.mark.parametrize("part, ranks, who, settings, told", [
    ("any_order", 3, "measured", {"TAQUIN_ALGORITHM": "spread_out"}, "algorithms +spread_out 36\n"),
    ("any_order", 3, "always", {"TAQUIN_ALGORITHM": "pairwise"},
     "taquin: algorithm 'pairwise' needs its rank between the start .*such calls go to the MPI library\n.*algorithms +native 36\n"),
    ("any_order", 3, "always", {"TAQUIN_ALGORITHM": "pairwise", "TAQUIN_PROGRESS_THREAD": 1}, "algorithms +pairwise 36\n"),
    ("one_by_one", 2, "always", {"TAQUIN_MEMORY": 10},
     "algorithms +native 54\n.*left to MPI +[0-9]+ persistent: no algorithm fits"),
    ("seven_starts", 2, "sometimes", {}, "taquin: TAQUIN_PERSISTENT='sometimes' is ignored: not measured, always or never\n"),
], ids=["by_name", "of_several_rounds", "by_the_progress_thread", "beyond_the_memory", "by_a_wrong_word"])
def test_persistent_exchanges_by_settings(run, part, ranks, who, settings, told):
    persistent(run, ranks, part, who, told, **settings)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("shared", [0, 1])
def test_starts_around_empty_calls(run, ranks, shared):
    persistent(run, ranks, "between_empty_calls", "measured", "", TAQUIN_SHARED_MEMORY=shared)


def test_tool_below_does_not_see_the_progress_thread(run):
    """The thread's calls are taquin's own."""
    says(run(job(2, "persistent", "any_order", preload=(LIBRARY, PROGRAMS["profiler_below"]), TAQUIN_PERSISTENT="always",
                 TAQUIN_ALGORITHM="pairwise", TAQUIN_PROGRESS_THREAD=1)),
         "below: 0 exchanges, 0 messages, 0 collectives, 0 completions, 0 frees\n")


@pytest.mark.skipif(MPI != "openmpi", reason="MPICH 4.0 may wait for ever for a request that was never started")
def test_persistent_exchanges_without_a_tool(run):
    assert run(job(3, "persistent", "one_by_one", preload=())) == ""


@needs("looks")  # MPI 4.1's functions that look at several requests
def test_persistent_exchanges_are_looked_at(run):
    says(run(job(2, "looks", TAQUIN_REPORT="summary", TAQUIN_PERSISTENT="always")), f"algorithms +{OWN} [0-9]+(, {OWN} [0-9]+)?\n")


def test_memory_that_runs_out_in_a_completion_is_an_error(run):
    run(job(2, "scarce_memory", TAQUIN_PERSISTENT="always"))


def by_rules(run, rules, program, *arguments):
    """What the report says of a program under a profile of these rules."""
    run([PROGRAMS["make_profile"], "profile.json", json.dumps(rules)])
    return run(job(2, program, *arguments, TAQUIN_REPORT="summary", TAQUIN_PROFILE="profile.json"))


# Of the program's calls on two ranks 8 are in uniform() and not in place: three of 12 bytes a rank, and five of 24.
@pytest.mark.parametrize("rules, told", [
    ([{"site": "uniform", "algorithm": "pairwise"}], "algorithms .*pairwise 8"),
    ([{"site": "vector", "ranks": 1, "algorithm": "pairwise"}], "algorithms .*pairwise [0-9]+"),
    ([{"collective": "alltoall", "ranks": 2, "least_bytes": 24, "most_bytes": 24, "algorithm": "pairwise"}], "algorithms .*pairwise 5"),
    ([{"site": "uniform", "least_bytes": 24, "most_bytes": 24, "in_place": False, "algorithm": "pairwise"},
      {"site": "uniform", "nodes": 1, "least_bytes": 25, "algorithm": "bruck_v"}], "algorithms .*pairwise 5"),
], ids=["function", "function_and_ranks", "form_and_bytes", "function_and_bytes"])
def test_rules_hold_by(run, rules, told):
    says(by_rules(run, rules, "program"), told)


def test_rule_of_another_function_does_not_hold(run):
    output = by_rules(run, [{"site": "nowhere", "algorithm": "pairwise"}], "program")
    assert "algorithms" in output and "pairwise" not in output


# Of 36 starts a third is of each form.
@pytest.mark.parametrize("rules", [
    [{"site": "make", "collective": "alltoallv", "reused": True, "least_bytes": 40, "most_bytes": 40, "algorithm": "spread_out"},
     {"site": "make", "algorithm": "native"}],
    [{"collective": "alltoallv", "algorithm": "spread_out"}, {"algorithm": "native"}]], ids=["function", "form"])
def test_rules_of_persistent_calls_hold_by(run, rules):
    says(by_rules(run, rules, "persistent", "any_order"), "algorithms +native 24, spread_out 12\n")


def test_rules_alone_are_a_profile(run, tmp_path):
    """As reports advise them. Eight calls by the rule; four on communicators of one rank, where a copy by the MPI library is
    predicted as fastest."""
    (tmp_path / "rules.json").write_text('{"rules":[{"site":"uniform","algorithm":"native","in_place":false}]}')
    says(run(job(2, "program", TAQUIN_REPORT="summary", TAQUIN_PROFILE="rules.json")),
         "algorithms +native 12,[^\n]*\n.*left to MPI +12 blocking: the MPI library's own call was chosen")
