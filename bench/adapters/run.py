"""The adapters of taquin beside what their packages do today: peak memory and time of a rank, medians of interleaved runs.

    mpirun -n 4 python3 bench/adapters/run.py --mib 64 --reps 5

mpi4py-fft   Transfer.forward and .backward, beside adapters.transfer_in_place there and back
caput        hand-written, like MPIArray.redistribute: parts packed, Alltoallv, parts unpacked
httomo       hand-written, like alltoall_ring: parts go around a ring into an array for the result

Peak: the process's high-water mark above what it had before the array was made, as a multiple of the array. --most: fails
where it is more than that with taquin. --uneven: along each axis one index more than the ranks divide.
"""

import argparse
import pathlib
import sys
import zlib

import numpy as np
from mpi4py import MPI
from mpi4py_fft.pencil import Pencil, Subcomm
from taquin import Blocks, adapters

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "examples"))
from measure import Measure  # noqa: E402

comm = MPI.COMM_WORLD


class MPIArray(np.ndarray):
    """What caput documents of its class of this name."""

    @classmethod
    def wrap(cls, block, axis, over):
        array = np.asarray(block).view(cls)
        array.axis, array.comm = axis, over
        array.global_shape = tuple(over.allreduce(n) if k == axis else n for k, n in enumerate(block.shape))
        return array


def slab(shape, axis):
    return Blocks(shape, tuple(comm.size if k == axis else 1 for k in range(3))).local_slice(comm.rank)


def fill(block):
    """Plane by plane, so that no other memory is used."""
    plane = np.arange(block[0].size).reshape(block[0].shape) % 251
    for i in range(len(block)):
        block[i] = plane
        block[i] += comm.rank + i
    return block


def filled(shape, axis, dtype):
    return fill(np.empty([s.stop - s.start for s in slab(shape, axis)], dtype))


def of_mpi4py_fft(n):
    pencil = Pencil(Subcomm(comm, [0, 1, 1]), (n, n, n), 1)
    transfer = pencil.transfer(pencil.pencil(0), complex)

    def theirs():
        array = filled((n, n, n), 0, complex)
        other = np.empty(transfer.subshapeB, complex)
        transfer.forward(array, other)
        transfer.backward(other, array)
        return array

    def ours():
        room = max(np.prod(transfer.subshapeA), np.prod(transfer.subshapeB))
        storage = np.empty(room, complex)
        array = fill(storage[: np.prod(transfer.subshapeA)].reshape(transfer.subshapeA))
        other = adapters.transfer_in_place(transfer, array, storage=storage)
        return adapters.transfer_in_place(transfer, other, storage=storage, backward=True)

    return 16, theirs, ours


def of_caput(n):
    shape = (n, n, n)
    cuts = [slab_of.start for slab_of in (Blocks(shape, (1, comm.size, 1)).local_slice(r)[1] for r in range(1, comm.size))]

    def theirs():
        array = filled(shape, 0, float)
        parts = np.split(array, cuts, axis=1)
        send = np.concatenate([part.ravel() for part in parts])
        width = slab(shape, 1)[1]
        lengths = [Blocks(shape, (comm.size, 1, 1)).local_shape(r)[0] for r in range(comm.size)]
        received = np.empty(n * (width.stop - width.start) * n, float)
        counts = [k * (width.stop - width.start) * n for k in lengths]
        comm.Alltoallv([send, [part.size for part in parts]], [received, counts])
        result = np.empty((n, width.stop - width.start, n), float)
        first = item = 0
        for k, count in zip(lengths, counts):
            result[first : first + k] = received[item : item + count].reshape(k, -1, n)
            first, item = first + k, item + count
        return result

    def ours():
        return np.asarray(adapters.redistribute_mpi_array(MPIArray.wrap(filled(shape, 0, float), 0, comm), 1))

    return 8, theirs, ours


def of_httomo(n):
    shape = (n, n, n)
    cuts = [round(n / comm.size * r) for r in range(1, comm.size)]

    def theirs():
        parts = np.split(filled(shape, 0, np.float32), cuts, axis=1)
        shapes = comm.alltoall([part.shape for part in parts])
        ends = np.cumsum([length for length, _, _ in shapes])
        result = np.empty((int(ends[-1]), *shapes[0][1:]), np.float32)
        for step in range(comm.size):
            to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
            into = result[ends[source] - shapes[source][0] : ends[source]]
            comm.Sendrecv(np.ascontiguousarray(parts[to]), to, 0, into, source, 0)
        return result

    def ours():
        return adapters.alltoall_in_place(np.split(filled(shape, 0, np.float32), cuts, axis=1), comm)

    return 4, theirs, ours


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mib", type=int, default=64, help="of each rank's array")
    arguments.add_argument("--reps", type=int, default=5)
    arguments.add_argument("--most", type=float)
    arguments.add_argument("--uneven", action="store_true")
    chosen = arguments.parse_args()
    middle = lambda values: sorted(values)[len(values) // 2]
    if comm.rank == 0:
        print("| package | peak today | peak with taquin | time, taquin to today's |\n|---|---|---|---|")
    for name, make in (("mpi4py-fft", of_mpi4py_fft), ("caput", of_caput), ("httomo", of_httomo)):
        item = make(comm.size)[0]
        for program in make(2 * comm.size)[1:]:  # the MPI library takes its own memory now
            program()
        n = int(np.cbrt(chosen.mib * 2**20 * comm.size / item)) // comm.size * comm.size + chosen.uneven
        programs = make(n)[1:]
        measure, runs, results = Measure(comm), ([], []), [None, None]
        for _ in range(chosen.reps):
            for k, program in enumerate(programs):
                result, seconds, peak = measure.run(program)
                runs[k].append((seconds, peak * comm.size / (item * n**3)))
                results[k] = zlib.crc32(result)
                del result
        assert results[0] == results[1], name
        peaks = [middle([peak for _, peak in of]) for of in runs]
        times = [middle([seconds for seconds, _ in of]) for of in runs]
        if comm.rank == 0:
            print(f"| {name} | {peaks[0]:.2f} | {peaks[1]:.2f} | {times[1] / times[0]:.2f} |", flush=True)
        if chosen.most and peaks[1] > chosen.most:
            sys.exit(f"{name}: a peak of {peaks[1]:.3f} arrays with taquin, {chosen.most} at most")


if __name__ == "__main__":
    main()
