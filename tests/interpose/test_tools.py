"""Other tools above and below, regions, devices, ranks that are not alike, and programs of other MPI libraries."""
import pytest
from driver import COMMAND, DEBIAN, LIBRARY, MPI, PROGRAMS, ROOT, in_any_order, installed, job, needs, of_ranks, says

ABOVE, BELOW = PROGRAMS["profiler_above"], PROGRAMS["profiler_below"]
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}[DEBIAN]


# 9 exchanges, 3 of them where taquin is switched off; taquin's messages are its own.
@pytest.mark.parametrize("preload, settings, seen", [
    ((ABOVE, LIBRARY), {"TAQUIN_ALGORITHM": "pairwise"}, "above: 9 exchanges, 0 messages, 0 collectives"),
    ((LIBRARY, BELOW), {"TAQUIN_ALGORITHM": "pairwise"}, "below: 3 exchanges, 0 messages, 0 collectives"),
    ((LIBRARY, BELOW), {"TAQUIN_RECORD": "/dev/null"}, "below: 9 exchanges, 0 messages, 0 collectives"),
    ((LIBRARY, BELOW), {"TAQUIN_DISABLE": "1", "TAQUIN_ALGORITHM": "pairwise"}, "below: 9 exchanges, 0 messages, 0 collectives"),
], ids=["above", "below", "below_a_recording", "below_what_is_disabled"])
def test_tools_see_the_programs_exchanges(run, preload, settings, seen):
    says(run(job(2, "regions", preload=preload, **settings)), seen)


def test_tools_see_each_communicator_freed_once(run):
    says(run(job(2, "regions", "come_and_go", preload=(ABOVE, LIBRARY, BELOW))),
         "above: 24 exchanges, 0 messages, 0 collectives, 0 completions, 48 frees.*below: [^\n]*, 48 frees")


@pytest.mark.parametrize("runtime", ["CUDA", "HIP"])
def test_memory_of_a_device_is_the_mpi_librarys(run, runtime):
    says(run(job(2, "regions", "device", preload=(LIBRARY, BELOW, PROGRAMS[f"device_runtime_{runtime}"]), TAQUIN_ALGORITHM="pairwise")),
         "below: 3 exchanges, 0 messages, 0 collectives")


# Ranks that are not alike: taquin stands aside on all, and says so once.
def test_settings_that_differ_make_taquin_stand_aside(run):
    first = job(2, "regions", preload=(LIBRARY, BELOW), TAQUIN_MEMORY="8K")
    others = job(2, "regions", preload=(LIBRARY, BELOW), TAQUIN_MEMORY="4K")
    says(in_any_order(run(of_ranks(first, others))),
         "^below: 9 exchanges[^\n]*\ntaquin: rank 1 has TAQUIN_MEMORY '4K', rank 0 has '8K'; taquin stands aside on all ranks\n\\Z")


@pytest.mark.parametrize("without", [0, 1])
def test_a_rank_without_the_library_makes_taquin_stand_aside(run, without):
    jobs = [job(2, "regions", preload=(LIBRARY,), TAQUIN_INIT_TIMEOUT=0.5), job(2, "regions", preload=())]
    says(run(of_ranks(jobs[1 - without], jobs[without])),
         f"^taquin: rank {without} is without the preloaded library [^\n]*; taquin stands aside on all ranks\n\\Z")


@needs("foreign")
def test_another_mpi_library_makes_taquin_stand_aside(run):
    says(run(job(2, "foreign", mpirun=[PROGRAMS["other_launcher"], "-n"])),
         "^taquin: this preloaded library was built for [^,]*, the program runs [^\n]*; taquin stands aside [^\n]*\n\\Z")


@needs("foreign")
def test_wrap_tells_that_a_build_is_missing(run):
    says(run([COMMAND, "wrap", PROGRAMS["foreign"]], status=1),
         f"^taquin wrap: the program uses {OTHER}, and this installation has no build of [^\n]*\n\\Z")


@needs("foreign")
def test_wrap_chooses_the_build_for_the_programs_mpi(run, tmp_path):
    """From one installation that holds several. A program of Open MPI without mpirun starts a daemon, which says it too."""
    command = installed(tmp_path, OTHER)
    assert run([command, "wrap", PROGRAMS["regions"]]) == ""
    says(run([command, "wrap", PROGRAMS["foreign"]]), "^(stand-in\n)+\\Z")


@needs("foreign")
def test_wrap_is_told_the_mpi_of_a_script(run, tmp_path):
    assert run([installed(tmp_path, OTHER), "wrap", "--mpi", OTHER, "echo", "hello"]) == "stand-in\nhello\n"


@needs("regions_abi")  # which another build is for
def test_a_program_of_the_standard_abi_makes_taquin_stand_aside(run):
    says(run([ROOT / "testbed/with-abi", MPI, *job(2, "regions_abi")]),
         "^taquin: this preloaded library was built for [^,]*, the program runs [^\n]* by MPI's standard ABI; "
         "taquin stands aside [^\n]*\n\\Z")


@needs("outside_debian")
def test_wrap_knows_mpich_outside_debian(run):
    says(run([COMMAND, "wrap", PROGRAMS["outside_debian"]], status=1),
         "^taquin wrap: the program uses mpich, and this installation has no build of [^\n]*\n\\Z")
