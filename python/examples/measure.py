"""What a part of a program takes on the slowest rank: time, and memory at its peak."""

import ctypes
import gc
import time


def _kilobytes(name):
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))


class Measure:
    """Memory is counted from here on: what is there already, the interpreter and the MPI library, is not."""

    def __init__(self, comm):
        self.comm = comm
        gc.collect()
        self.before = _kilobytes("VmRSS")

    def run(self, body):
        """The result of body(), its seconds, and the most bytes that were there meanwhile."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what another program has freed is not this one's
        with open("/proc/self/clear_refs", "w", encoding="ascii") as reset:
            reset.write("5")  # the peak starts anew
        self.comm.Barrier()
        begin = time.perf_counter()
        result = body()
        seconds = time.perf_counter() - begin
        peak = (_kilobytes("VmHWM") - self.before) * 1024
        return result, max(self.comm.allgather(seconds)), max(self.comm.allgather(peak))


def report(comm, data_bytes, runs):
    """Prints the medians of (seconds, peak) of both programs side by side."""
    if comm.rank > 0:
        return
    median = lambda values: sorted(values)[len(values) // 2]
    for name, values in runs.items():
        seconds, peak = median([v[0] for v in values]), median([v[1] for v in values])
        print(f"{name:>8}: {seconds:8.3f} s, peak {peak / data_bytes:5.2f} x the data of a rank")
    ours, theirs = (median([v[0] for v in runs[name]]) for name in ("taquin", "mpi4py"))
    print(f"taquin takes {ours / theirs:.2f} x the time")
