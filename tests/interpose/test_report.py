"""Reports, metrics, recordings: what they count and name, and where their files go."""
import os
import pathlib
import shutil

import pytest
from driver import BUILT, COMMAND, PROGRAMS, forms_in, job, says


def expected_report(run, *arguments):
    assert "wrong:" not in run([PROGRAMS["expected_report"], *arguments])


@pytest.mark.parametrize("settings, told", [
    ({"TAQUIN_ALGORITHM": "pairwise"}, "^taquin: report of 2 ranks.*all-to-all calls +6, 96 B sent.*waiting, transfer.*"
                                       "algorithms +pairwise 6.*peak scratch memory"),
    ({"TAQUIN_MEMORY": 10, "TAQUIN_SHARED_MEMORY": 0}, "left to MPI +3 blocking: no algorithm fits within the 10 bytes"),
    ({}, "left to MPI +3 blocking: off: by MPI_Pcontrol"),
], ids=["calls_and_algorithms", "fallbacks", "calls_while_taquin_is_switched_off"])
def test_report_summary_tells(run, settings, told):
    says(run(job(2, "regions", TAQUIN_REPORT="summary", **settings)), told)


def test_report_tells_of_the_mpi_library_what_was_measured(run):
    output = run(job(2, "regions", TAQUIN_REPORT="summary", TAQUIN_ALGORITHM="pairwise"))
    assert "report of 2 ranks" in output and "MPI library's own" not in output
    says(run(job(2, "persistent", "one_by_one", TAQUIN_REPORT="full:/dev/null", TAQUIN_PERSISTENT="always")),
         "MPI library's own +[0-9.]+ s instead of [0-9.]+ s, measured")


def test_report_counts_calls_on_communicators_that_come_and_go(run):
    says(run(job(2, "regions", "come_and_go", TAQUIN_REPORT="summary")), "all-to-all calls +24, 384 B sent")


@pytest.mark.parametrize("kind", ["summary", "full:/dev/null"])
def test_report_counts_every_one_of_many_calls(run, kind):
    """2,000 calls of 4 bytes a pair and 1,000 of 8, on two ranks."""
    says(run(job(2, "regions", "many", TAQUIN_REPORT=kind)), "all-to-all calls +3000, 62.5 KiB sent")


def test_report_none_is_silent(run):
    assert run(job(2, "regions", TAQUIN_REPORT="none")) == ""


def test_report_of_an_unknown_kind_is_told(run):
    says(run(job(2, "regions", TAQUIN_REPORT="all")), "^taquin: TAQUIN_REPORT='all' is ignored: not none, summary or full.:FILE.\n\\Z")


def test_report_says_its_file_and_names_it_after_program_and_job(run, tmp_path):
    says(run(job(2, "program", SLURM_JOB_ID="7.a", TAQUIN_REPORT="full")),
         "taquin: report written to taquin-report-interpose_[a-z_]+-7\\.a\\.json")
    expected_report(run, *(path.name for path in tmp_path.glob("taquin-report-*-7.a.json")))


def test_report_names_a_program_in_any_bytes(run, tmp_path):
    """Bytes that are no UTF-8, which JSON is."""
    shutil.copy(PROGRAMS["program"], os.fsencode(tmp_path) + b"/odd_\xff")
    says(run(job(2, b"./odd_\xff", TAQUIN_REPORT="full:odd.json")), "report written to [^\n]*odd.json")
    expected_report(run, "odd.json")


def test_report_in_full_has_call_sites(run):
    run(job(2, "program", TAQUIN_REPORT="full:report.json"))
    expected_report(run, "report.json")


# Another user may have put a link, or a pipe, where the files are to be; and one named after the program.
def test_files_do_not_go_where_links_lead(run, tmp_path):
    (tmp_path / "victim").write_text("victim\n")
    for name in "rtmn":
        (tmp_path / name).symlink_to("victim")
    run(job(2, "regions", TAQUIN_REPORT="full:r", TAQUIN_TRACE="t", TAQUIN_METRICS="m", TAQUIN_RECORD="n"))
    assert (tmp_path / "victim").read_text() == "victim\n"
    assert all((tmp_path / name).stat().st_size > 0 and not (tmp_path / name).is_symlink() for name in "rtmn")


def test_a_pipe_without_a_reader_does_not_hold_the_program(run, tmp_path):
    os.mkfifo(tmp_path / "unread")
    says(run(job(2, "regions", TAQUIN_REPORT="full:unread")), "no report is written: cannot write [^\n]*: the pipe has no reader\n")


def test_report_of_a_name_that_is_taken_has_another(run, tmp_path):
    (tmp_path / f"taquin-report-{pathlib.Path(PROGRAMS['regions']).name}-7.json").symlink_to("../nowhere")
    says(run(job(2, "regions", JOB_ID="7", TAQUIN_REPORT="full")), "report written to taquin-report-[^\n]*-7-1.json\n")


@pytest.mark.parametrize("variable, told", [
    ("TAQUIN_REPORT", "taquin: no report is written: cannot write /nowhere/at/all[^\n]*\n\\Z"),
    ("TAQUIN_METRICS", "taquin: no metrics are written: cannot write /nowhere/at/all: No such file or directory\n\\Z"),
    ("TAQUIN_TRACE", "taquin: no trace is written: cannot write /nowhere/at/all: No such file or directory\n"),
])
def test_files_that_cannot_be_written_leave_the_program_alone(run, variable, told):
    says(run(job(2, "regions", **{variable: "full:" * (variable == "TAQUIN_REPORT") + "/nowhere/at/all"})), told)


def test_recording_of_messages_alone_says_so(run):
    assert run(job(2, "regions", "messages", TAQUIN_RECORD="/dev/null")) == (
        "taquin: the program made no all-to-all calls: the recording is empty. On all ranks it sent 10 messages point to point, "
        "10 of them by MPI_Sendrecv, which taquin cannot serve\ntaquin: recording written to /dev/null\n")


def test_report_of_an_exchange_by_sendrecv_says_so(run):
    says(run(job(2, "regions", "messages", TAQUIN_REPORT="summary")),
         "from MPI_Init to MPI_Finalize\ntaquin:   this program exchanges by MPI_Sendrecv: 10 calls, which taquin cannot serve, "
         "and no all-to-all call\ntaquin:   peak")


def test_forms_are_recorded(run, tmp_path):
    """What is passed on is observed all the same, and neighbours' blocks lie on their graph."""
    says(run(job(3, "surface", TAQUIN_RECORD="surface.json")), "^taquin: recording written to [^\n]*surface.json\n\\Z")
    assert forms_in(tmp_path / "surface.json") == [
        "alltoall nonblocking 2", "alltoallv nonblocking 3", "neighbor_alltoallv blocking 1", "neighbor_alltoallv nonblocking 1",
        "neighbor_alltoallv blocking 1", "neighbor_alltoallv nonblocking 1", "flows 3"]


def test_forms_are_reported(run):
    says(run(job(2, "surface", TAQUIN_REPORT="summary")), "all-to-all calls +9, 112 B sent")


@pytest.mark.parametrize("program, arguments, reason", [
    ("surface", [], "7 nonblocking: ranks have not agreed"), ("persistent", ["any_order"], "persistent: a trial"),
    ("neighbourhoods", [], "blocking: a trial"), ("started", [], "nonblocking: a trial"),
    ("regions", [], "blocking: one of the first calls")])
def test_every_call_of_the_mpi_library_has_a_reason(run, program, arguments, reason):
    says(run(job(2, program, *arguments, TAQUIN_REPORT="full:left.json")), reason)
    expected_report(run, "passed_on", "left.json")


def test_metrics_count_calls(run, tmp_path):
    """6 calls a rank of 2 · 4 bytes; 3 calls while taquin is switched off."""
    run(job(2, "regions", TAQUIN_METRICS="metrics.txt", TAQUIN_ALGORITHM="pairwise"))
    metrics = (tmp_path / "metrics.txt").read_text()
    says(metrics, "taquin_calls_total.rank=.0.,call=.alltoall.,[^\n]*algorithm=.pairwise.. 6\n")
    says(metrics, "taquin_sent_bytes_total.rank=.1.,[^\n]* 48\n.*# EOF\n\\Z")
    run(job(2, "regions", TAQUIN_METRICS="off.txt"))
    says((tmp_path / "off.txt").read_text(), "taquin_left_to_mpi_total.rank=.1.,call=.blocking.,reason=.off: by MPI_Pcontrol.. 3\n")


@pytest.mark.skipif(not BUILT["report_page"], reason="there is no page")
def test_page_of_metrics_says_what_they_are(run):
    run(job(2, "regions", TAQUIN_METRICS="metrics"))
    says(run([COMMAND, "report", "metrics", "-o", "page.html"], status=None),
         "^taquin report: [^\n]*: is a file of metrics, for what reads OpenMetrics")


# Call sites: lines of a program with debug information, offsets in functions without it, and offsets in the file of a program
# without symbols.
SITES = {
    "by_line": "(?=.*  alltoall at sites.c:5 .exchange.\n)(?=.*  alltoall at sites.c:6 .exchange.\n)",
    "by_function": r"  alltoall in exchange.0x([0-9a-f]+)\n.*  alltoall in exchange.0x(?!\1\n)[0-9a-f]+\n",
    "by_file": r"  alltoall at interpose_sites_by_file.0x([0-9a-f]+)\n.*  alltoall at interpose_sites_by_file.0x(?!\1\n)[0-9a-f]+\n",
}


@pytest.mark.parametrize("how", [how for how in SITES if f"sites_{how}" in PROGRAMS])
def test_report_names_sites(run, how):
    says(run(job(2, f"sites_{how}", TAQUIN_REPORT="summary")), SITES[how])


@pytest.mark.parametrize("how", ["kill", "abort"])
def test_nothing_is_left_after_a_job_that_ends_badly(run, how):
    command = job(3, "killed", TAQUIN_REPORT="full:/dev/null", TAQUIN_RECORD="/dev/null")
    assert run(["sh", str(pathlib.Path(__file__).parent / "killed.sh"), how, *command]) == "nothing is left\n"
