"""Runs pytest on this rank; only rank 0 reports. A rank that hangs says where."""

import faulthandler
import os
import sys

import pytest
from mpi4py import MPI

terminal = os.fdopen(os.dup(2), "w")  # pytest catches the other
faulthandler.dump_traceback_later(int(os.environ.get("HANG_SECONDS", "150")), exit=True, file=terminal)
rank = MPI.COMM_WORLD.rank
arguments = ["-q", "-p", "no:cacheprovider", "--tb=short", "--color=no", "-p", "no:faulthandler"]
if rank > 0:
    sys.stdout = open(os.devnull, "w", encoding="utf-8")
sys.dont_write_bytecode = True
status = int(pytest.main(arguments + sys.argv[1:]))
worst = MPI.COMM_WORLD.allreduce(status, MPI.MAX)
sys.exit(worst)
