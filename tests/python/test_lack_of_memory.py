"""One rank's n-th allocation by Python fails, for every n, in every collective function: all ranks have an error, or
none; none waits for ever, and the communicator serves the next call."""

import numpy as np
import pytest
import taquin

_testcapi = pytest.importorskip("_testcapi")  # CPython's own, which fails allocations

MOST = 400  # allocations of a call

# Each makes the arguments, and returns the call, which allocates nothing itself.


def alltoall(comm):
    p = comm.size
    send, recv = np.full(4 * p, comm.rank), np.empty(4 * p, int)
    return lambda: taquin.alltoall(send, recv, comm, memory="1M")


def alltoallv(comm):
    p = comm.size
    send, recv = [np.full(4 * p, comm.rank), [4] * p], [np.empty(4 * p, int), [4] * p]
    return lambda: taquin.alltoallv(send, recv, comm)


def alltoallv_in_place(comm):
    data, counts = np.full(3 * comm.size, comm.rank), [3] * comm.size
    return lambda: taquin.alltoallv_in_place(data, counts, counts, comm)


def plan(comm):
    send, recv = np.full(4 * comm.size, comm.rank), np.empty(4 * comm.size, int)
    return lambda: taquin.plan(taquin.alltoall, send, recv, comm)


def migrate(comm):
    rows = np.full((6, 2), comm.rank)
    to = np.zeros(6, int)  # of rank 0 alone the array grows
    return lambda: taquin.migrate(rows, to, comm)


def migrate_arrays(comm):
    table = {"a": np.full((6, 2), comm.rank), "b": np.full(6, comm.rank)}
    to = np.zeros(6, int)
    return lambda: taquin.migrate(table, to, comm)


def sparse_exchange(comm):
    blocks = {(comm.rank + 1) % comm.size: np.full(50, comm.rank)}
    return lambda: taquin.sparse_exchange(blocks, comm)


def sparse_exchange_arrays(comm):
    data, destinations, counts = np.full(5, comm.rank), [0], [5]
    return lambda: taquin.sparse_exchange_arrays(destinations, counts, data, comm)


def redistribute_nd(comm):
    p = comm.size
    slabs, others = taquin.Blocks((2 * p + 1, 2 * p + 1), (p, 1)), taquin.Blocks((2 * p + 1, 2 * p + 1), (1, p))
    block = np.zeros(slabs.local_shape(comm.rank))
    return lambda: taquin.redistribute_nd(block, slabs, others, comm)


def transpose(comm):
    rows = np.zeros(taquin.Blocks((30 * comm.size, 40), (comm.size, 1)).local_shape(comm.rank))
    return lambda: taquin.transpose(rows, comm)


def columns_of(comm):
    cut, whole = taquin.Dimension.cyclic(2 * comm.size + 1, comm.size), taquin.Dimension.whole(3)
    return taquin.Layout([cut, whole]), taquin.Layout([taquin.Dimension.whole(2 * comm.size + 1), whole], ranks=[0])


def redistribute_layout(comm):
    source, target = columns_of(comm)
    array = np.zeros(max(source.local_size(comm.rank), target.local_size(comm.rank)))
    return lambda: taquin.redistribute_layout(array, source, target, comm)


def redistribute_layout_to_another_array(comm):
    source, target = columns_of(comm)
    array, out = np.zeros(source.local_size(comm.rank)), np.zeros(target.local_size(comm.rank))
    return lambda: taquin.redistribute_layout(array, source, target, comm, out=out, axes=(0, 1))


def plan_layout(comm):
    source, target = columns_of(comm)
    array, out = np.zeros(source.local_size(comm.rank)), np.zeros(target.local_size(comm.rank))
    return lambda: taquin.plan_layout(array, source, target, comm, out=out)


FORMS = [alltoall, alltoallv, alltoallv_in_place, plan, migrate, migrate_arrays, sparse_exchange, sparse_exchange_arrays,
         redistribute_nd, transpose, redistribute_layout, redistribute_layout_to_another_array, plan_layout]


def failing_from(n, last, call):
    """Calls with allocations from n on that fail, before the last one; what it raised."""
    try:
        if n is not None:
            _testcapi.set_nomemory(n, last)
        call()
    except (taquin.Error, MemoryError) as error:
        return error
    finally:
        _testcapi.remove_mem_hooks()
    return None


@pytest.mark.parametrize("guilty", [0, -1], ids=["first", "last"])
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_an_allocation_that_fails_on_one_rank_is_the_error_of_all(comm, form, guilty):
    bad = comm.rank == guilty % comm.size
    form(comm)()  # caches of a first call are no part of others
    fired = served = 0
    for n in range(MOST):
        call = form(comm)
        error = failing_from(n if bad else None, n + 1, call)
        told = comm.allgather(None if error is None else type(error).__name__)
        assert None not in told or not any(told), f"allocation {n}: {told}"
        fired += error is not None
        served = served + 1 if error is None else 0
        if served == 12:
            break
    assert fired >= 3 and served == 12
    form(comm)()
