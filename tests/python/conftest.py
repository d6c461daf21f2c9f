"""Tests run on every rank of mpirun. A test that fails on one rank fails on all, so that no rank goes on alone; which
tests run, and in which order, is the same on all."""

import sys

import numpy as np
import pytest
from mpi4py import MPI


@pytest.fixture(scope="module")
def comm():
    """A communicator of the file's own: to make one takes long where there are more ranks than cores."""
    own = MPI.COMM_WORLD.Dup()
    yield own
    own.Free()


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    outcome = yield
    failed = outcome.excinfo is not None and not issubclass(outcome.excinfo[0], pytest.skip.Exception)
    if failed:
        print(f"rank {MPI.COMM_WORLD.rank}: {pyfuncitem.nodeid}: {outcome.excinfo[1]!r}", file=sys.stderr, flush=True)
    all_failed = MPI.COMM_WORLD.allreduce(int(failed))
    if all_failed and not failed:
        elsewhere = AssertionError(f"failed on {all_failed} other ranks")
        if not hasattr(outcome, "force_exception"):  # pluggy before 1.1
            raise elsewhere
        outcome.force_exception(elsewhere)


def fill(rank, peer, n, dtype):
    """n items that rank sends to peer."""
    values = (np.arange(n) * 7 + rank * 31 + peer * 5) % 100
    return values.astype(dtype)
