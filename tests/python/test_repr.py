"""What objects and errors say of themselves."""

import numpy as np
import pytest
import taquin


def test_a_plan_says_what_it_is(comm):
    send, recv = np.zeros(comm.size), np.zeros(comm.size)
    with taquin.plan(taquin.alltoall, send, recv, comm, algorithm="pairwise") as exchange:
        exchange.run()
        assert repr(exchange) == f"<taquin.Plan of alltoall: pairwise, {exchange.memory} bytes, not started>"
        exchange.start()
        assert repr(exchange).endswith(", started>")
    assert repr(exchange) == "<taquin.Plan of alltoall: freed>"


def test_a_redistribution_says_what_it_is(comm):
    move = taquin.Redistribution(np.zeros((4, 2), "f4"), comm)
    assert repr(move) == f"<taquin.Redistribution of 4 rows of float32: {move.algorithm}, {move.memory} bytes>"


def test_results_and_options_say_what_they_hold(comm):
    done = taquin.Statistics()
    taquin.alltoall(None, np.zeros(comm.size), comm, statistics=done)
    assert repr(done).startswith("Statistics(starts=1, ")
    assert repr(taquin.Blocks((4, 4), (2, 1))) == "Blocks(shape=(4, 4), grid=(2, 1))"
    assert repr(taquin.Blocks((4,), (2,), ((1,),))) == "Blocks(shape=(4,), grid=(2,), cuts=((1,),))"
    options: taquin.Options = {"radix": 2}
    assert repr(options) == "{'radix': 2}"


def test_an_error_says_who_and_what(comm):
    with pytest.raises(taquin.UsageError) as caught:
        taquin.alltoall(np.zeros(comm.size), "text" if comm.rank == comm.size - 1 else np.zeros(comm.size), comm)
    error = caught.value
    assert repr(error).startswith(f"UsageError({str(error)!r}, error_class=")
    assert repr(error).endswith(")" if error.rank <= 0 else f", rank={comm.size - 1})")
    with pytest.raises(taquin.BudgetExceeded) as caught:
        taquin.migrate(np.zeros(1000), np.zeros(1000, int), comm, memory=100)
    assert "limit=100" in repr(caught.value)


def test_a_fault_of_all_ranks_is_nobodys(comm):
    with pytest.raises(taquin.UsageError) as caught:
        taquin.alltoall("text", np.zeros(comm.size), comm)
    assert str(caught.value).startswith("all ranks: " if comm.size > 1 else "rank 0: ")
    assert caught.value.rank == (-1 if comm.size > 1 else 0)


def test_less_than_expected_is_an_error(comm):
    p = comm.size
    send = np.zeros(p, int)
    recv = np.full(2 * p, -7)
    with pytest.raises(taquin.UsageError, match="expects"):
        taquin.alltoallv([send, [1] * p], [recv, [2] * p], comm)
    with pytest.raises(taquin.UsageError, match="expects"):
        taquin.plan(taquin.alltoallv, [send, [1] * p], [recv, [2] * p], comm)
