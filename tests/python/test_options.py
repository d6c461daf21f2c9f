"""Options: all that the library has are there, and reach it."""

import inspect

import numpy as np
import pytest
import taquin
from taquin import _core
from test_bad_input import everywhere


def test_every_option_of_the_library_is_a_keyword_or_one_of_options():
    named = {
        name
        for name, parameter in inspect.signature(taquin.plan).parameters.items()
        if parameter.kind == parameter.KEYWORD_ONLY and name != "options"
    }
    typed = set(taquin.Options.__annotations__)
    assert not named & typed
    assert named | typed == set(_core.options)
    for call in (taquin.alltoall, taquin.alltoallv, taquin.alltoallw, taquin.alltoallv_in_place):
        keywords = {n for n, p in inspect.signature(call).parameters.items() if p.kind == p.KEYWORD_ONLY}
        assert keywords - {"options", "statistics"} <= named


@pytest.mark.parametrize("algorithm", ["bruck_v", "modified_bruck", "spread_out", "two_phase", "hierarchical_factor"])
def test_options_reach_the_algorithm(comm, algorithm):
    p = comm.size
    choices: taquin.Options = {
        "radix": 3,
        "layout": "packed",
        "in_flight": 1,
        "inner": "pairwise",
        "levels": "one_factor,bruck_v",
        "ports": 2,
        "nodes": [p],
        "aux_parts": 1,
        "aux_heap": True,
        "sparse_requests": True,
        "leaders": 2,
    }
    send, recv = np.full(p, comm.rank), np.zeros(p, int)
    taquin.alltoall(send, recv, comm, algorithm=algorithm, options=choices)
    assert (recv == np.arange(p)).all()
    with taquin.plan(taquin.alltoall, send, recv, comm, algorithm=algorithm, options=choices) as exchange:
        exchange.run()
        assert exchange.algorithm == algorithm


@pytest.mark.parametrize(
    "options, match",
    [
        ({"radix": 1}, "radix must be ≥ 2, got 1"),
        ({"radix": 2.5}, "radix must be an integer"),
        ({"radix": 1 << 40}, "radix must fit 32 bits"),
        ({"layout": "loose"}, "one of 'automatic', 'indexed'"),
        ({"ports": 31}, "ports must be between 0 and 30, got 31"),
        ({"nodes": 2}, "not iterable"),
        ({"nodes": [0]}, "nodes"),
        ({"inner": "quickest"}, "quickest"),
        ({"algorithm": "pairwise"}, "keyword of its own"),
        ({"radics": 2}, "no option 'radics'"),
        (["radix"], "must be a dict"),
    ],
)
def test_bad_options_are_refused_on_every_rank(comm, options, match):
    data = np.full(comm.size, comm.rank)
    everywhere(comm, lambda guilty: taquin.alltoall(None, data, comm, options=options if guilty else None), match)
    assert (data == comm.rank).all()
