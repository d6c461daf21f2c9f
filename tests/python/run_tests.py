"""Runs pytest on this rank; only rank 0 reports."""

import os
import sys

import pytest
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
arguments = ["-q", "-p", "no:cacheprovider", "--tb=short"]
if rank > 0:
    sys.stdout = open(os.devnull, "w", encoding="utf-8")
sys.dont_write_bytecode = True
status = int(pytest.main(arguments + sys.argv[1:]))
worst = MPI.COMM_WORLD.allreduce(status, MPI.MAX)
sys.exit(worst)
