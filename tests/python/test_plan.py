"""Plans: prepared once, started as often as wanted."""

import datetime
import gc
import threading
import time

import numpy as np
import pytest
import taquin
from mpi4py import MPI


def test_a_plan_runs_again_and_again(comm):
    p, r = comm.size, comm.rank
    send, recv = np.zeros(p), np.zeros(p)
    with taquin.plan(taquin.alltoallv, [send, [1] * p], [recv, [1] * p], comm, memory="1M") as exchange:
        for step in range(4):
            send[:] = r + 10 * step
            exchange.start()
            assert exchange.started
            if step % 2:
                while not exchange.test():
                    pass
            else:
                exchange.wait()
            assert not exchange.started
            assert (recv == np.arange(p) + 10 * step).all()
        assert exchange.statistics.starts == 4
        assert exchange.memory <= exchange.peak_memory <= 1 << 20
        assert exchange.algorithm


@pytest.mark.parametrize("name", ["alltoall", "alltoallv", "alltoallw", "alltoallv_in_place"])
def test_each_call_has_a_plan(comm, name):
    p, r = comm.size, comm.rank
    data, out = np.full(p, r, "i"), np.zeros(p, "i")
    every = ([1] * p, [4 * i for i in range(p)], [MPI.INT] * p)
    arguments = {
        "alltoall": (data, out),
        "alltoallv": ([data, [1] * p], [out, [1] * p]),
        "alltoallw": ([data, *every], [out, *every]),
        "alltoallv_in_place": (data, [1] * p, [1] * p),
    }[name]
    with taquin.plan(name, *arguments, comm) as exchange:
        exchange.run()
    assert ((data if name == "alltoallv_in_place" else out) == np.arange(p)).all()


def test_a_block_that_ends_early_completes_the_exchange(comm):
    p, r = comm.size, comm.rank
    data = np.full(p, r)
    with pytest.raises(KeyError):
        with taquin.plan(taquin.alltoall, None, data, comm) as exchange:
            exchange.start()
            raise KeyError
    assert (data == np.arange(p)).all()
    with pytest.raises(taquin.UsageError, match="freed"):
        exchange.start()


def test_a_started_plan_is_neither_started_nor_freed(comm):
    data = np.zeros(comm.size)
    exchange = taquin.plan(taquin.alltoall, None, data, comm)
    exchange.start()
    with pytest.raises(taquin.UsageError):
        exchange.start()
    with pytest.raises(taquin.UsageError, match="wait"):
        exchange.free()
    exchange.wait()
    exchange.wait()
    assert exchange.test()
    exchange.free()


def test_a_started_plan_may_be_given_up(comm):
    p, r = comm.size, comm.rank
    data = np.full(p, r)
    exchange = taquin.plan(taquin.alltoall, None, data, comm)
    exchange.start()
    comm.Barrier()
    with pytest.warns(ResourceWarning):
        del exchange
        gc.collect()


def test_plans_outlive_their_communicator_and_types(comm):
    p, r = comm.size, comm.rank
    own, pair = comm.Dup(), MPI.INT.Create_contiguous(2).Commit()
    data = np.repeat(np.array([r] * p, "i"), 2)
    exchange = taquin.plan(taquin.alltoall, None, [data, 1, pair], own)
    pair.Free()
    exchange.run()
    assert (data == np.repeat(np.arange(p), 2)).all()
    own.Free()
    exchange.run()
    exchange.free()


def test_plans_hold_on_to_their_buffers(comm):
    p, r = comm.size, comm.rank
    buffer = bytearray([r] * p)
    exchange = taquin.plan(taquin.alltoall, None, buffer, comm)
    with pytest.raises(BufferError):
        buffer.append(0)
    exchange.run()
    assert bytes(buffer) == bytes(range(p))
    exchange.free()


def test_tuned_plans_stay_right(comm):
    p, r = comm.size, comm.rank
    data = np.zeros(p)
    with taquin.plan(taquin.alltoall, None, data, comm, tune=True) as exchange:
        for _ in range(12):
            data[:] = r
            exchange.run()
            assert (data == np.arange(p)).all()


@pytest.mark.skipif(MPI.COMM_WORLD.size < 2, reason="needs a peer to wait for")
@pytest.mark.skipif(MPI.Query_thread() < MPI.THREAD_MULTIPLE, reason="needs threads")
def test_plans_are_gone_on_with_as_asked(comm):
    data = np.full(comm.size, comm.rank)
    for progress in ("library", "calls", "thread"):
        with taquin.plan(taquin.alltoall, MPI.IN_PLACE, data, comm, progress=progress, timeout=300) as exchange:
            exchange.run()
            exchange.run()
        assert (data == comm.rank).all()
    with pytest.raises(taquin.UsageError, match="progress='magic' must be one of 'library', 'calls', 'thread'"):
        taquin.plan(taquin.alltoall, MPI.IN_PLACE, data, comm, progress="magic" if comm.rank == 0 else "calls")


def test_a_call_that_waits_too_long_fails(comm):
    if comm.size == 1:
        return
    rows = np.zeros((4, 3))
    for call in (
        lambda on: taquin.alltoall(MPI.IN_PLACE, np.full(on.size, on.rank), on, timeout=0.5, on_timeout="fail"),
        lambda on: taquin.migrate(rows, [0] * 4, on, timeout=datetime.timedelta(seconds=0.5), on_timeout="fail"),
        lambda on: taquin.Redistribution(rows, on, timeout=0.5, on_timeout="fail"),
    ):
        own = comm.Dup()
        # The first call with a timeout on a communicator is not watched.
        taquin.alltoall(MPI.IN_PLACE, np.full(own.size, own.rank), own, timeout=300)
        if comm.rank > 0:
            # The first rank whose time is over tells the others, which wait no longer.
            errors = taquin.TimedOut if comm.size == 2 else (taquin.TimedOut, taquin.PeerAborted)
            with pytest.raises(errors, match="has waited 0.5 s"):
                call(own)
        comm.Barrier()


def test_other_threads_run_while_a_call_waits(comm):
    # Rank 0 lets the others wait until a thread of theirs has said that it runs: without that, nobody would go on.
    data = np.full(comm.size, comm.rank)
    other = comm.Dup()

    def say():
        time.sleep(0.05)
        other.send(None, 0)

    if comm.rank == 0:
        for source in range(1, comm.size):
            other.recv(source=source)
        taquin.alltoall(None, data, comm)
    else:
        thread = threading.Thread(target=say)
        thread.start()
        taquin.alltoall(None, data, comm)
        thread.join()
    assert (data == np.arange(comm.size)).all()
    other.Free()


def test_a_plan_is_refused_what_it_does_not_know(comm):
    with pytest.raises(taquin.UsageError, match="alltoallw"):
        taquin.plan(taquin.migrate, np.zeros(1), comm)
    with pytest.raises(taquin.UsageError, match="3 arguments, not 1"):
        taquin.plan(taquin.alltoall, comm)
