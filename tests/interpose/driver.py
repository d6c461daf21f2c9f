"""What the tests of the preloaded library share: where the build has put its programs, and how a job of them is run.

By hand: INTERPOSE_TESTS=build/ci/tests/interpose/built.json pytest tests/interpose -k NAME"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

with open(os.environ["INTERPOSE_TESTS"], encoding="utf-8") as file:
    BUILT = json.load(file)
os.environ.update(setting.split("=", 1) for setting in BUILT["environment"])

SOURCES = pathlib.Path(__file__).parent
ROOT = SOURCES.parent.parent
MPI = BUILT["mpi"]  # openmpi, mpich or abi
DEBIAN = "openmpi" if re.search("openmpi", BUILT["mpirun"][0]) else "mpich"  # the kind of launcher
PROGRAMS = BUILT["programs"]
LIBRARY = PROGRAMS["library"]
COMMAND = PROGRAMS["command"]
ALGORITHMS = re.findall(r"^TAQUIN_ALGORITHM\((\w+)", (ROOT / "src/algorithms/algorithms.def").read_text(), re.M)
SECONDS = 300  # for one job: a hang is a failure


def needs(name):
    """The mark of a test of a program that is not in every build."""
    return pytest.mark.skipif(name not in PROGRAMS, reason=f"this build has no program {name}")


def counts(*ranks):
    """The numbers of ranks that a test runs with. All but the largest have the mark `more`: `make test-rest` runs them."""
    return [pytest.param(n, marks=[pytest.mark.more] if n < max(ranks) else []) for n in ranks]


def job(ranks, program, *arguments, preload=(LIBRARY,), mpirun=None, **settings):
    """The command that runs a program of the tests, or any other given by its path, with these libraries loaded before it."""
    if preload:
        settings["LD_PRELOAD"] = ":".join(preload)
    variables = [f"{name}={value}" for name, value in settings.items()]
    return [*(mpirun or BUILT["mpirun"]), str(ranks), "env", *variables, PROGRAMS.get(program, program), *arguments]


def of_ranks(first, others):
    """One job of two: rank 0 of the first, the other ranks of the second."""
    launcher = len(BUILT["mpirun"]) + 1
    return [*first[:launcher], "sh", str(SOURCES.parent / "support/by_rank.sh"), *first[launcher:], "::", *others[launcher:]]


def output_of(command, directory, status=0, **variables):
    """What a command writes, to standard error too. Its exit status must be `status`, or any that is not 0 with None."""
    child = subprocess.Popen(command, cwd=directory, env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output = child.communicate(timeout=SECONDS)[0].decode(errors="replace")
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        print(child.communicate()[0].decode(errors="replace"))
        raise
    print(output, end="")
    assert child.returncode == status if status is not None else child.returncode != 0, f"exit status {child.returncode}"
    return output


def says(output, pattern):
    """Fails where the output does not have the pattern, in which a dot stands for the end of a line too."""
    assert re.search(pattern, output, re.S), f"the output lacks: {pattern}"


def in_any_order(output):
    """The lines of all ranks, sorted."""
    return "".join(sorted(output.splitlines(keepends=True)))


def forms_in(recording):
    """The calls of a recording with their forms, and the number of entries of the last call's matrix."""
    traffic = json.loads(pathlib.Path(recording).read_text(encoding="utf-8"))
    last = traffic["matrices"][traffic["calls"][-1]["matrix"]]
    entries = last.get("flows") or [x for row in last["rows"] for x in row if x > 0]
    return [f"{call['kind']} {call.get('form', 'blocking')} {call['repeats']}" for call in traffic["calls"]] + [f"flows {len(entries)}"]


def installed(directory, other=None):
    """A tree with the command and the library, and a stand-in for its build on another MPI library; the command in it."""
    for folder in ("bin", "lib"):
        (directory / folder).mkdir()
    shutil.copy(COMMAND, directory / "bin")
    shutil.copy(LIBRARY, directory / "lib")
    if other:
        (directory / "lib/taquin" / other).mkdir(parents=True)
        shutil.copy(PROGRAMS["stand_in"], directory / "lib/taquin" / other / "libtaquin_interpose.so")
    return str(directory / "bin" / pathlib.Path(COMMAND).name)
