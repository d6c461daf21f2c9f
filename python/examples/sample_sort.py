"""A sample sort: numbers on all ranks become sorted over the ranks, in place with taquin, and with a second buffer and
plain mpi4py beside it.

    mpirun -n 4 python3 sample_sort.py --mib 64
"""

import argparse

import numpy as np
import taquin
from measure import Measure, report
from mpi4py import MPI

comm = MPI.COMM_WORLD
SAMPLES = 1024  # of each rank: a rank gets at most its share and ranks/SAMPLES of it more


def numbers(n, storage):
    """This rank's numbers, in the storage."""
    data = storage[:n]
    np.random.default_rng(comm.rank).random(out=data)
    return data


def sends(data):
    """Sorts this rank's numbers, and returns how many go to each rank."""
    data.sort()
    samples = data[np.linspace(0, len(data) - 1, SAMPLES).astype(int)]
    everyones = np.sort(np.concatenate(comm.allgather(samples)))
    splitters = everyones[SAMPLES * np.arange(1, comm.size)]
    ends = np.append(np.searchsorted(data, splitters), len(data))
    return np.diff(ends, prepend=0)


def with_taquin(n):
    """One buffer, of the share and what sampling may add to it."""
    storage = np.empty(n + n * comm.size // SAMPLES + SAMPLES)
    to = sends(numbers(n, storage))
    coming = np.empty_like(to)
    taquin.alltoall(to, coming, comm)
    taquin.alltoallv_in_place(storage, to, coming, comm, memory=max(n * 8 // 100, 1 << 16))
    here = storage[: coming.sum()]
    here.sort()
    return here


def with_mpi4py(n):
    """A buffer to send from, and one to receive in."""
    data = numbers(n, np.empty(n))
    to = sends(data)
    coming = np.empty_like(to)
    comm.Alltoall(to, coming)
    here = np.empty(coming.sum())
    comm.Alltoallv([data, to], [here, coming])
    here.sort()
    return here


def is_sorted(here, piece=65536):
    """Compared piece by piece, without an array of so many truth values."""
    later = here[1:]
    return all((later[i : i + piece] >= here[:-1][i : i + piece]).all() for i in range(0, len(later), piece))


def check(here, n):
    """Sorted on each rank, and from rank to rank; nothing lost."""
    assert is_sorted(here)
    ends = comm.allgather((here[0], here[-1]) if len(here) else None)
    ends = [e for e in ends if e]
    assert all(a[1] <= b[0] for a, b in zip(ends, ends[1:]))
    assert comm.allreduce(len(here)) == n * comm.size
    return comm.allgather(float(here.sum()))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mib", type=float, default=64, help="data of each rank")
    arguments.add_argument("--reps", type=int, default=3)
    chosen = arguments.parse_args()
    n = int(chosen.mib * 2**20) // 8
    programs = {"taquin": with_taquin, "mpi4py": with_mpi4py}
    for program in programs.values():  # the MPI library takes its own memory now
        check(program(max(SAMPLES, n // 64)), max(SAMPLES, n // 64))
    measure = Measure(comm)
    runs = {name: [] for name in programs}
    results = {}
    for _ in range(chosen.reps):
        for name, program in programs.items():
            here, seconds, peak = measure.run(lambda program=program: program(n))
            runs[name].append((seconds, peak))
            results[name] = check(here, n)
            del here
    assert results["taquin"] == results["mpi4py"]
    report(comm, 8 * n, runs)


if __name__ == "__main__":
    main()
