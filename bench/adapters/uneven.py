"""Slabs along one axis into slabs along another, where ranks divide the axes and where they do not, beside Alltoallv.

    mpirun -n 4 python3 bench/adapters/uneven.py --mib 64 --reps 15

even, uneven   redistribute_nd in place, of as many indices as ranks divide, and of one more along each axis
back           the same in the other direction
Alltoallv      the uneven one by mpi4py: parts packed, Alltoallv into a second array

Milliseconds of the slowest rank, medians of interleaved runs; single, double and complex numbers.
"""

import argparse
import time

import numpy as np
import taquin
from mpi4py import MPI

comm = MPI.COMM_WORLD


def in_place(n, dtype, axes):
    source, target = (taquin.Blocks((n, n, n), tuple(comm.size if k == axis else 1 for k in range(3))) for axis in axes)
    storage, block = taquin.allocate(dtype, comm, source, target)
    storage[:] = comm.rank
    return lambda: taquin.redistribute_nd(block, source, target, comm, storage=storage)


def packed(n, dtype):
    source, target = taquin.Blocks((n, n, n), (comm.size, 1, 1)), taquin.Blocks((n, n, n), (1, comm.size, 1))
    block = np.full(source.local_shape(comm.rank), comm.rank, dtype)
    columns = [target.local_slice(rank)[1] for rank in range(comm.size)]
    shape = target.local_shape(comm.rank)
    coming = [source.local_shape(rank)[0] * shape[1] * n for rank in range(comm.size)]

    def run():
        parts = [block[:, of] for of in columns]
        send = np.concatenate([part.ravel() for part in parts])
        received = np.empty(int(np.prod(shape)), dtype)
        comm.Alltoallv([send, [part.size for part in parts]], [received, coming])
        return received.reshape(shape)

    return run


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mib", type=int, default=64, help="of each rank's block")
    arguments.add_argument("--reps", type=int, default=15)
    chosen = arguments.parse_args()
    for dtype in map(np.dtype, ("f4", "f8", "c16")):
        n = int(np.cbrt(chosen.mib * 2**20 * comm.size / dtype.itemsize)) // comm.size * comm.size
        programs = {
            "even": in_place(n, dtype, (0, 1)),
            "even, back": in_place(n, dtype, (1, 0)),
            "uneven": in_place(n + 1, dtype, (0, 1)),
            "uneven, back": in_place(n + 1, dtype, (1, 0)),
            "Alltoallv": packed(n + 1, dtype),
        }
        times = {name: [] for name in programs}
        for _ in range(chosen.reps):
            for name, run in programs.items():
                comm.Barrier()
                begin = time.perf_counter()
                run()
                times[name].append(max(comm.allgather(time.perf_counter() - begin)))
        if comm.rank == 0:
            medians = (f"{name} {sorted(of)[len(of) // 2] * 1e3:.1f}" for name, of in times.items())
            print(f"{dtype}, {n} or {n + 1}: {'; '.join(medians)}", flush=True)


if __name__ == "__main__":
    main()
