"""One rank of random calls is hostile: what it gives, or what its code does, is wrong. Every rank comes back with an error,
nothing outside the receive side has changed, and the communicator serves the next call. TAQUIN_TEST_PROBLEMS: how many
calls; TAQUIN_TEST_SEED: the first."""

import os
import random

import numpy as np
import taquin

PROBLEMS = int(os.environ.get("TAQUIN_TEST_PROBLEMS", "150"))
SEED = int(os.environ.get("TAQUIN_TEST_SEED", "1"))


class Mischief(Exception):
    """What the program's own code raises."""


class Raises:
    """An array-like whose conversion raises."""

    def __array__(self, dtype=None, copy=None):
        raise Mischief("no array")

    def __len__(self):
        raise Mischief("no length")

    def __iter__(self):
        raise Mischief("no items")


def raising(*_):
    raise Mischief("of the program")


def too_big(lists):
    lists = list(lists)
    lists[-1] += 1
    return lists


# Each form: what one rank may do wrong, by name, and the call. `what` is None on ranks that do nothing wrong.
def alltoallv(comm, what, rng, n):
    p = comm.size
    send, recv = np.full(n * p + 1, comm.rank, "i8"), np.full(n * p + 1, -1, "i8")
    counts = [n] * p
    out = {"more": too_big(counts), "list": Raises(), "less": [n - 1] + counts[1:]}.get(what, counts)
    where = {"object": np.array([None] * p * n), "read-only": bytes(8 * n * p)}.get(what, recv)
    keywords = {"memory": Raises() if what == "option" else None, "check": rng.random() < 0.5}
    try:
        taquin.alltoallv([send, out], where if where is not recv else [recv, counts], comm, **keywords)
    finally:
        assert recv[-1] == -1


def in_place(comm, what, rng, n):
    p = comm.size
    data = np.full(n * p + 1, comm.rank, "i8")
    data[-1] = -1
    counts = [n] * p
    out = {"more": too_big(counts), "list": Raises(), "less": [n - 1] + counts[1:]}.get(what, counts)
    memory = {"option": "much"}.get(what, rng.choice([None, 65536]))
    try:
        taquin.alltoallv_in_place(data, out, counts, comm, memory=memory)
    finally:
        assert data[-1] == -1


def planned(comm, what, rng, n):
    data, came = np.full(n * comm.size, comm.rank, "i8"), np.empty(n * comm.size, "i8")
    form = {"form": "scatter", "callable": raising}.get(what, taquin.alltoall)
    with taquin.plan(form, Raises() if what == "list" else data, came, comm,
                     algorithm=7 if what == "option" else rng.choice(["auto", "pairwise"])) as plan:
        plan.run()
        plan.run()


def migrate(comm, what, rng, n):
    rows = np.full((n, 2), comm.rank)
    to = {"list": Raises(), "callable": raising, "rank": [1 << 32] * n, "less": [0] * (n - 1)}
    function = rng.random() < 0.5
    good = (lambda part: np.zeros(len(part), int)) if function else [0] * n
    came = taquin.migrate(rows if what != "object" else [rows], to.get(what, good), comm,
                          memory="much" if what == "option" else None)
    assert len(came) == (n * comm.size if comm.rank == 0 else 0)


def redistribution(comm, what, rng, n):
    rows = np.full((n, 3), comm.rank)
    move = taquin.Redistribution({"object": 3, "list": Raises()}.get(what, rows), comm,
                                 memory=-1 if what == "option" else None, algorithm=rng.choice(["auto", "cyclic"]))
    try:
        ranks = [(comm.rank + 1) % comm.size] * n
        move({"rank": [comm.size] * n, "callable": Raises()}.get(what, ranks), list(range(n - (what == "less"))))
    except taquin.Error:
        assert (rows == comm.rank).all()
        raise


def sparse(comm, what, rng, n):
    to = (comm.rank + rng.choice([0, 1])) % comm.size
    blocks = {to: np.full(n, comm.rank)}
    wrong = {"list": {to: Raises()}, "rank": {comm.size: np.zeros(1)}, "object": {to: np.array([None])}, "form": Raises()}
    came = taquin.sparse_exchange(wrong.get(what, blocks), comm, like=Raises() if what == "callable" else np.zeros(0, int),
                                  memory=1.5 if what == "option" else None)
    assert all((part == source).all() for source, part in came.items())


def blocks(comm, what, rng, n):
    p = comm.size
    shape = (n * p, p)
    by_row, by_column = taquin.Blocks(shape, (p, 1)), taquin.Blocks(shape, (1, p))
    block = np.full((n, p), comm.rank)
    taquin.redistribute_nd({"object": Raises(), "less": block[1:]}.get(what, block), by_row,
                           {"form": 3, "rank": taquin.Blocks(shape, (1, p + 1))}.get(what, by_column), comm,
                           algorithm=Raises() if what == "option" else rng.choice(["auto", "layouts"]))


FORMS = {
    alltoallv: ["more", "less", "list", "object", "read-only", "option"],
    in_place: ["more", "less", "list", "option"],
    planned: ["form", "callable", "list", "option"],
    migrate: ["list", "callable", "rank", "less", "object", "option"],
    redistribution: ["object", "list", "rank", "callable", "less", "option"],
    sparse: ["list", "rank", "object", "form", "callable", "option"],
    blocks: ["object", "less", "form", "rank", "option"],
}


def test_what_one_rank_does_wrong_is_an_error_on_all_and_the_next_call_is_right(comm):
    for seed in range(SEED, SEED + PROBLEMS):
        rng = random.Random(seed)  # the same on all ranks
        form = rng.choice(list(FORMS))
        guilty, what, n = rng.randrange(comm.size), rng.choice(FORMS[form]), rng.choice([1, 7, 500])
        mine = what if comm.rank == guilty else None
        error = None
        try:
            form(comm, mine, random.Random(seed), n)
        except taquin.Error as raised:
            error = raised
        told = comm.allgather(type(error).__name__)
        # A blocking call on one node that does not check tells who expects another size, and nobody else.
        partly = form in (alltoallv, in_place) and what in ("more", "less")
        assert any(name != "NoneType" for name in told) if partly else len(set(told)) == 1 and error, \
            f"seed {seed}, {form.__name__}, {what} on rank {guilty}: {told}"
        form(comm, None, random.Random(seed), n)
