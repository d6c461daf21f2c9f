"""installed.py BUILD SOURCE WORK MPI: what pip makes of the source, and what CMake installs, is found and runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import mpi4py

build, source, work = map(Path, sys.argv[1:4])
mpi = sys.argv[4]  # the library of the build, as in mpicxx.NAME
USE = """
import numpy, taquin, sys
from mpi4py import MPI
assert taquin.__file__.startswith(sys.argv[1]), taquin.__file__
data = numpy.zeros(MPI.COMM_WORLD.size)
taquin.alltoall(None, data, MPI.COMM_WORLD)
"""


def run(*command, **environment):
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    print(ended.stdout, ended.stderr)
    assert ended.returncode == 0, command
    return ended.stdout


def use(folder):
    where = {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(mpi4py.__file__).parent.parent)])}
    run(sys.executable, "-c", USE, str(folder), **where)
    assert "spread_out" in run(sys.executable, "-m", "taquin", "list", **where)
    run(sys.executable, "-m", "taquin", "wrap", "true", **where)  # finds the library to preload


sys.path.insert(0, str(source / "python"))
import backend  # noqa: E402

# Without a build folder, pip builds for the MPI library of mpi4py.
assert backend._mpi() == (mpi if shutil.which(f"mpicxx.{mpi}") else ""), backend._mpi()
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
run(
    sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "--target", str(work / "pip"),
    f"--config-settings=build-dir={build}", str(source), PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_ROOT_USER_ACTION="ignore",
)
use(work / "pip")
run("cmake", "--install", str(build), "--prefix", str(work / "prefix"))
use(next((work / "prefix").rglob("_core*.so")).parent.parent)
shutil.rmtree(work)
