"""A 3-D Fourier transform of an array in slabs: in place with taquin, and with a second array and plain mpi4py beside
it (one Alltoallw of subarrays, as parallel FFT packages do it).

    mpirun -n 4 python3 fft_transpose.py --n 128
"""

import argparse
import zlib

import numpy as np
import taquin
from measure import Measure, report
from mpi4py import MPI

comm = MPI.COMM_WORLD


def fill(block):
    """This rank's slab of the input, plane by plane."""
    random = np.random.default_rng(comm.rank)
    for plane in block:
        plane.real = random.random(plane.shape)
        plane.imag = 0
    return block


def transform_planes(block):
    """Along the last two axes, plane by plane: in place, but for one plane."""
    for plane in block:
        plane[...] = np.fft.fft2(plane)


def transform_first_axis(block):
    """Along the first axis."""
    for j in range(block.shape[1]):
        block[:, j] = np.fft.fft(block[:, j], axis=0)


def with_taquin(source, target):
    """One array."""
    storage, block = taquin.allocate(complex, comm, source, target)
    transform_planes(fill(block))
    block = taquin.redistribute_nd(block, source, target, comm, storage=storage)
    transform_first_axis(block)
    return block


def with_mpi4py(source, target):
    """Two arrays, and datatypes that say which part of each goes where."""
    block = fill(np.empty(source.local_shape(comm.rank), complex))
    transform_planes(block)
    other = np.empty(target.local_shape(comm.rank), complex)
    ones, zeros = [1] * comm.size, [0] * comm.size

    def part(array, axis, where):
        start, size = [0, 0, 0], list(array.shape)
        start[axis], size[axis] = where.start, where.stop - where.start
        if 0 in size:
            return MPI.BYTE.Create_contiguous(0).Commit()
        return MPI.DOUBLE_COMPLEX.Create_subarray(list(array.shape), size, start).Commit()

    sent = [part(block, 1, target.local_slice(r)[1]) for r in range(comm.size)]
    received = [part(other, 0, source.local_slice(r)[0]) for r in range(comm.size)]
    comm.Alltoallw([block, ones, zeros, sent], [other, ones, zeros, received])
    for kind in sent + received:
        kind.Free()
    del block
    transform_first_axis(other)
    return other


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--n", type=int, default=128, help="points along each axis")
    arguments.add_argument("--reps", type=int, default=3)
    chosen = arguments.parse_args()
    programs = {"taquin": with_taquin, "mpi4py": with_mpi4py}

    def distributions(n):
        return taquin.Blocks((n, n, n), (comm.size, 1, 1)), taquin.Blocks((n, n, n), (1, comm.size, 1))

    for program in programs.values():  # the MPI library takes its own memory now
        program(*distributions(max(comm.size, chosen.n // 4)))
    source, target = distributions(chosen.n)
    measure = Measure(comm)
    runs = {name: [] for name in programs}
    results = {}
    for _ in range(chosen.reps):
        for name, program in programs.items():
            block, seconds, peak = measure.run(lambda program=program: program(source, target))
            runs[name].append((seconds, peak))
            results[name] = zlib.crc32(block)
            del block
    assert results["taquin"] == results["mpi4py"]
    report(comm, 16 * max(source.local_size(0), 1), runs)


if __name__ == "__main__":
    main()
