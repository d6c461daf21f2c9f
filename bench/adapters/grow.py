"""Ways to make a larger array out of one that is too small: milliseconds, medians, and memory at its peak.

    python3 bench/adapters/grow.py --mib 64 --reps 15

moved       its pages move into the larger array (what taquin does)
released    it is copied part by part, and the pages of each part are given back after that
copied      it is copied
"""

import argparse
import ctypes
import mmap
import pathlib
import sys
import time

import numpy as np
from mpi4py import MPI
from taquin import _core
from taquin._messages import address_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "examples"))
from measure import Measure  # noqa: E402

DONTNEED, PART = 4, 1 << 20


def moved(old, size):
    pages = _core.Pages(size, address_of(old))
    pages.take(address_of(old), old.nbytes)
    return np.asarray(pages)


def released(old, size):
    new = np.empty(size, np.uint8)
    give_back = ctypes.CDLL(None).madvise
    to_page = -address_of(old) % mmap.PAGESIZE
    first = 0
    for end in [*range(to_page + PART, old.nbytes, PART), old.nbytes]:
        new[first:end] = old[first:end]
        page = max(first, to_page)
        whole = (end - page) // mmap.PAGESIZE * mmap.PAGESIZE
        give_back(ctypes.c_void_p(address_of(old) + page), ctypes.c_size_t(whole), DONTNEED)
        first = end
    return new


def copied(old, size):
    new = np.empty(size, np.uint8)
    new[: old.nbytes] = old
    return new


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mib", type=int, default=64)
    arguments.add_argument("--reps", type=int, default=15)
    chosen = arguments.parse_args()
    nbytes, runs, measure = chosen.mib << 20, {moved: [], released: [], copied: []}, Measure(MPI.COMM_SELF)
    for _ in range(chosen.reps):
        for way, of in runs.items():

            def body(way=way):
                old = np.full(nbytes, 7, np.uint8)
                begin = time.perf_counter()
                new = way(old, nbytes + nbytes // 64)
                seconds = time.perf_counter() - begin
                new[nbytes:] = 7
                assert (new[:: mmap.PAGESIZE] == 7).all() and new[nbytes - 1] == 7, way.__name__
                return seconds

            seconds, _, peak = measure.run(body)
            of.append((seconds, peak / nbytes))
    for way, of in runs.items():
        seconds, peak = (sorted(values)[len(of) // 2] for values in zip(*of))
        print(f"{way.__name__:>9}: {seconds * 1e3:7.3f} ms, peak {peak:.2f} x the array")


if __name__ == "__main__":
    main()
