"""That the stubs say what the extension has (mypy's stubtest), that the Python layer keeps to them (mypy), and that a
program which uses the package is understood, and one that misuses it is told."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

package = Path(os.environ["PYTHONPATH"].split(os.pathsep)[0])
GOOD = """
import numpy as np
import taquin
from mpi4py import MPI

comm: MPI.Comm = MPI.COMM_WORLD
done = taquin.Statistics()
rows = taquin.migrate(np.zeros((4, 2)), [0] * 4, comm, memory="1M", statistics=done)
table = taquin.migrate({"x": np.zeros((4, 2)), "n": np.zeros(4, int)}, [0] * 4, comm)
table["x"].sum()
with taquin.plan(taquin.alltoall, rows, rows.copy(), comm) as exchange:
    exchange.run()
text: str = exchange.algorithm
block = taquin.transpose(rows, comm)
block.sum()
"""
BAD = GOOD + """
taquin.alltoall(rows, rows, comm, memroy=3)
"""


def run(*command):
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=scratch)
    print(ended.stdout, ended.stderr)
    return ended.returncode


with tempfile.TemporaryDirectory() as scratch:
    real = Path(scratch, "package")  # mypy takes what is on MYPYPATH for sources, and follows no links
    (real / "taquin").mkdir(parents=True)
    for file in (package / "taquin").iterdir():
        if file.is_file():
            (real / "taquin" / file.name).write_bytes(file.read_bytes())
    os.environ["MYPYPATH"] = str(real)
    os.environ["PYTHONPATH"] = str(real)
    failed = 0
    mypy = [sys.executable, "-m", "mypy", "--cache-dir", str(Path(scratch, "cache"))]
    quiet = ["--ignore-missing-imports"]
    failed |= run(*mypy, "--strict", *quiet, "-p", "taquin")
    # pybind11's classes have a metaclass of its own, which stubs do not show.
    classes = ("LayoutPlan", "Migration", "Pages", "Plan", "Redistribution")
    Path(scratch, "allowed").write_text("".join(f"taquin._core.{name}\n" for name in classes), encoding="utf-8")
    failed |= run(sys.executable, "-m", "mypy.stubtest", "--allowlist", "allowed", "taquin._core", "taquin._build")
    Path(scratch, "good.py").write_text(GOOD, encoding="utf-8")
    Path(scratch, "bad.py").write_text(BAD, encoding="utf-8")
    failed |= run(*mypy, *quiet, "good.py")
    if run(*mypy, *quiet, "bad.py") == 0:
        print("a wrong keyword is not told")
        failed = 1
sys.exit(failed)
