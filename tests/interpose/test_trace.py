"""Traces, read back with protobuf; and sparse exchanges, which the program's own libtaquin tells of."""
import pytest
from driver import BUILT, COMMAND, LIBRARY, MPI, PROGRAMS, ROOT, counts, job, needs, says


def trace(run, ranks, expected, program, *arguments, **settings):
    """Runs the program and compares the trace with what is expected of it, NAME=VALUE…; what the program said."""
    said = run(job(ranks, program, *arguments, TAQUIN_TRACE="all.pftrace", **settings))
    assert "wrong:" not in run([PROGRAMS["check_trace"], "all.pftrace", str(ranks), *expected.split()])
    return said


@needs("check_trace")
@pytest.mark.parametrize("ranks", counts(2, 4))
def test_trace_has_calls_flows_rounds_and_messages(run, ranks):
    calls, pairs = 6 * ranks, 6 * ranks * (ranks - 1)
    trace(run, ranks, f"calls={calls} waiting={calls} flows={pairs}", "regions")
    trace(run, ranks, f"calls={calls} rounds={pairs} memory={calls} flows={pairs} messages={pairs}", "regions",
          TAQUIN_ALGORITHM="pairwise")
    trace(run, ranks, f"calls={calls} flows={pairs} messages=0 events={calls}", "regions", TAQUIN_ALGORITHM="native")


@needs("check_trace")
@pytest.mark.parametrize("ranks", counts(2, 4))
def test_trace_of_a_whole_program(run, ranks):
    trace(run, ranks, "", "program", TAQUIN_REPORT="summary", TAQUIN_NODES=f"{ranks // 2},{ranks // 2}")
    trace(run, ranks, "", "regions", "come_and_go", TAQUIN_ALGORITHM="spread_out")


@needs("check_trace")
def test_trace_of_nonblocking_and_persistent_calls(run):
    """On tracks of their own; persistent calls in any order."""
    trace(run, 2, "calls=18", "surface")
    trace(run, 2, "", "persistent", "any_order", TAQUIN_PERSISTENT="always")


@needs("check_trace")
def test_trace_keeps_its_limit(run):
    """Of 6,000 calls what fits is kept, and the others are counted; a limit below a file's least leaves no event."""
    says(trace(run, 2, "events=6000 most=102400", "regions", "many", TAQUIN_TRACE_LIMIT="100K"),
         "the trace lacks [0-9]+ later events: 102400 bytes are its limit")
    says(run(job(2, "regions", TAQUIN_TRACE="none.pftrace", TAQUIN_TRACE_LIMIT=0)), "the trace lacks 12 later events")
    says(run([PROGRAMS["check_trace"], "none.pftrace", "0", "events=0", "most=0"]), "bytes=0\n\\Z")


@needs("check_trace")
def test_trace_of_sparse_calls(run):
    trace(run, 2, "calls=20 waiting=10", "sparse_calls")


@needs("check_trace")
@pytest.mark.skipif(not BUILT["report_page"], reason="there is no page")
def test_page_of_a_trace_says_where_it_opens(run, tmp_path):
    run(job(2, "regions", TAQUIN_TRACE="whole"))
    says(run([COMMAND, "report", "whole", "-o", "page.html"], status=None),
         "^taquin report: [^\n]*: is a trace: open it at ui.perfetto.dev")
    (tmp_path / "cut").write_bytes((tmp_path / "whole").read_bytes()[:700])
    says(run([COMMAND, "report", "cut", "-o", "page.html"], status=None),
         "^taquin report: [^\n]*: is a trace, damaged at byte [0-9]+\n")


def test_trace_with_a_wrong_limit_is_told(run):
    says(run(job(2, "regions", TAQUIN_TRACE="/dev/null", TAQUIN_TRACE_LIMIT="much")),
         "TAQUIN_TRACE_LIMIT='much' is ignored: not a size such as 64, 4K, 50M, 2G\n.*trace of 12 events")


@pytest.mark.skipif("valgrind" not in PROGRAMS or MPI != "openmpi" or BUILT["debug"], reason="valgrind counts what Open MPI runs")
def test_trace_takes_few_instructions_a_call_and_none_when_off(run):
    """A call's trace takes less than 100 ns: 450 instructions, at 3 GHz and 1.5 of them a cycle; off it runs no code."""
    says(run(["sh", ROOT / "bench/report/run.sh", LIBRARY, "450"], MPICC=PROGRAMS["mpicc"], MPIRUN=BUILT["mpirun"][0]),
         "TAQUIN_REPORT=none [0-9]+ instructions a call\n.*TAQUIN_TRACE=/dev/null [0-9]+ instructions a call\nMPI_Finalize [^\n]*\n\\Z")


@pytest.mark.parametrize("ranks", counts(1, 2, 4))
@pytest.mark.parametrize("memory", [1, 0], ids=["on_a_node", "by_messages"])
def test_sparse_calls_are_recorded(run, ranks, memory):
    run(job(ranks, "sparse_calls", TAQUIN_SHARED_MEMORY=memory, TAQUIN_RECORD="record", TAQUIN_REPORT="full:report"))
    run([PROGRAMS["sparse_calls"], "record", "report", str(ranks)])


@pytest.mark.parametrize("preload", [(), (LIBRARY,)])
def test_sparse_calls_without_a_recorder(run, preload):
    run(job(2, "sparse_calls", preload=preload))
