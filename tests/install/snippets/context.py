"""What the Python snippets of the documents speak of without saying what it is."""

import numpy as np
import taquin
from mpi4py import MPI

comm = MPI.COMM_WORLD
shape = (16, 8, 4)
steps = 10
send, recv = np.full(2 * comm.size, comm.rank), np.zeros(2 * comm.size, int)
counts = coming = [2] * comm.size


def work_on_something_else():
    pass
