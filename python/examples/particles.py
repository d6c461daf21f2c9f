"""A particle code in small: particles move in a periodic box that ranks share as slabs; close ones push each other.

    move       those that left their slab go to its rank, in the array they stand in      taquin.alltoallv_in_place
    balance    slabs change so that each has as many particles, which follow              taquin.migrate
    ghosts     ranks send others the particles within the reach of theirs                 taquin.sparse_exchange
    errors     all ranks have them before anything has moved: they mend what was wrong and go on

No particle is ever lost, doubled or changed: checked by count, sum and identity.

    mpirun -n 4 python3 particles.py --steps 20 --particles 100000

--fault STEP: in that step one particle of rank 0 gets a position that is not a number. --mpi4py: Alltoallv moves the
particles into a second array instead, to compare peak memory.
"""

import argparse

import numpy as np
import taquin
from measure import Measure
from mpi4py import MPI

comm = MPI.COMM_WORLD
PARTICLE = np.dtype([("id", np.uint64), ("at", float, 3), ("speed", float, 3)])


class Slabs:
    """The box in slabs along x: rank i has what lies from edge i to edge i + 1."""

    def __init__(self):
        self.edges = np.linspace(0, 1, comm.size + 1)

    def owner(self, x):
        return np.searchsorted(self.edges[1:-1], x, side="right").astype(np.int32)

    def even_out(self, x):
        """Edges between which there are as many of all ranks' particles, by a histogram."""
        histogram = np.histogram(x[(x >= 0) & (x < 1)], 4096, (0, 1))[0]
        total = np.cumsum(comm.allreduce(histogram))
        wanted = total[-1] * np.arange(1, comm.size) / comm.size
        self.edges[1:-1] = (np.searchsorted(total, wanted) + 1) / len(total)


class Simulation:
    """The first `count` rows of an array are this rank's particles; the others are room."""

    def __init__(self, per_rank, memory, by_taquin):
        self.memory, self.by_taquin, self.mended = memory, by_taquin, 0
        self.reach = min(0.5 / np.cbrt(per_rank * comm.size), 100 / (per_rank * comm.size))
        self.slabs = Slabs()
        self.rows, self.count = np.zeros(per_rank + per_rank // 4 + 64, PARTICLE), per_rank
        random = np.random.default_rng(comm.rank)
        mine = self.mine()
        mine["id"] = comm.rank * per_rank + np.arange(per_rank)
        for axis in range(3):
            mine["at"][:, axis] = random.random(per_rank)
            mine["speed"][:, axis] = random.normal(0, 0.002, per_rank)
        mine["at"][:, 0] **= 2  # more on the left
        self.balance()

    def mine(self):
        return self.rows[: self.count]

    def step(self, number, fault):
        self.push()
        mine = self.mine()
        mine["at"] += mine["speed"]
        mine["at"] %= 1
        mine["at"][mine["at"] >= 1] = 0  # a tiny negative number wraps to 1 exactly
        if number == fault and comm.rank == 0 and self.count:
            mine["at"][0, 0] = np.nan
        self.move()
        if number % 10 == 0 or number == fault:
            self.balance()

    def move(self):
        """Brings those that have left behind those that stay, in the order of their ranks, and exchanges them."""
        x = self.mine()["at"][:, 0]
        # Particles without a place stay here: balance() fails on all ranks.
        owner = np.where(np.isnan(x), np.int32(comm.rank), self.slabs.owner(x))
        leaves = np.flatnonzero(owner != comm.rank)
        leaving = self.rows[leaves[np.argsort(owner[leaves], kind="stable")]]
        stay = self.count - len(leaves)
        self.rows[leaves[leaves < stay]] = self.rows[stay + np.flatnonzero(owner[stay:] == comm.rank)]
        self.rows[stay : self.count] = leaving
        to, coming = np.bincount(owner, minlength=comm.size), np.empty(comm.size, np.int64)
        taquin.alltoall(to, coming, comm)
        self.exchange(stay, to, coming)

    def exchange(self, stay, to, coming):
        arriving = int(coming.sum())
        if arriving > len(self.rows):
            self.rows = np.concatenate([self.mine(), np.empty(arriving + arriving // 8 - self.count, PARTICLE)])

        def places(counts):  # this rank's own first, then the others in their order
            others = np.where(np.arange(comm.size) == comm.rank, 0, counts)
            at = stay + np.cumsum(others) - others
            at[comm.rank] = 0
            return counts, at

        if not self.by_taquin:
            kind = MPI.BYTE.Create_contiguous(PARTICLE.itemsize).Commit()
            rows = np.empty_like(self.rows)
            comm.Alltoallv([self.rows, *places(to), kind], [rows, *places(coming), kind])
            kind.Free()
            self.rows = rows
        while self.by_taquin:
            try:
                taquin.alltoallv_in_place(self.rows, places(to), places(coming), comm, memory=self.memory)
                break
            except taquin.BudgetExceeded:  # on all ranks, before anything has moved: all allow more
                self.memory *= 2
                self.mended += 1
        self.count = arriving

    def balance(self):
        self.slabs.even_out(self.mine()["at"][:, 0])

        def checked(rows):
            x = rows["at"][:, 0]
            if not ((x >= 0) & (x < 1)).all():
                raise ValueError(f"particle {rows['id'][np.argmin((x >= 0) & (x < 1))]} is nowhere")
            return self.slabs.owner(x)

        if not self.by_taquin:
            self.mend()
            return self.move()
        try:
            arrived = taquin.migrate(self.rows, checked, comm, count=self.count)
        except taquin.UsageError as error:  # on all ranks, with the rank named and the particles kept
            if comm.rank == 0:
                print(f"going on after: {error}")
            self.mend()
            self.mended += 1
            arrived = taquin.migrate(self.rows, checked, comm, count=self.count)
        if not np.shares_memory(arrived, self.rows) and len(arrived):
            self.rows = arrived
        self.count = len(arrived)

    def mend(self):
        x = self.mine()["at"][:, 0]
        x[np.isnan(x)] = 0.5

    def push(self):
        """Close particles push each other: also those of other slabs within reach of this one, the ghosts. Slabs may be
        narrower than that, and the box goes on behind its end."""
        at, ghosts = self.mine()["at"], {}
        for shift in (-1, 0, 1):
            x = at[:, 0] + shift
            near = np.flatnonzero((x > -self.reach) & (x < 1 + self.reach))
            low, high = (self.slabs.owner(x[near] + side) for side in (-self.reach, self.reach))
            for other in range(low.min(initial=comm.size), high.max(initial=-1) + 1):
                if shift or other != comm.rank:
                    there = at[near[(low <= other) & (high >= other)]]
                    there[:, 0] += shift
                    ghosts.setdefault(other, []).append(there)
        sent = {other: np.concatenate(parts) for other, parts in ghosts.items() if sum(map(len, parts))}
        came = taquin.sparse_exchange(sent, comm, like=np.empty((0, 3)))
        places = np.concatenate([at, *came.values()])
        order = np.argsort(places[:, 0], kind="stable")
        places = places[order]
        force, ahead = np.zeros_like(places), 1
        while ahead < len(places):  # pairs that are `ahead` places apart in the order of x
            apart = places[ahead:] - places[:-ahead]
            if (apart[:, 0] > self.reach).all():
                break
            distance = (apart**2).sum(axis=1)
            apart[(distance == 0) | (distance > self.reach**2)] = 0
            force[ahead:] += apart
            force[:-ahead] -= apart
            ahead += 1
        here = order < self.count
        self.mine()["speed"][order[here]] += 1e-3 * force[here]

    def census(self):
        """What no step may change: how many there are, and two sums over their identities."""
        ids = self.mine()["id"]
        mixed = (ids + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
        return comm.allreduce(np.array([len(ids), ids.sum(dtype=np.uint64), mixed.sum(dtype=np.uint64)], np.uint64)).tolist()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, default=20)
    arguments.add_argument("--particles", type=int, default=1000, help="of each rank")
    arguments.add_argument("--memory", type=int, default=1 << 16, help="extra bytes that moving may take, doubled if too few")
    arguments.add_argument("--fault", type=int, default=-1)
    arguments.add_argument("--mpi4py", action="store_true")
    chosen = arguments.parse_args()
    box = Simulation(chosen.particles, chosen.memory, not chosen.mpi4py)
    before = box.census()

    def run():
        for number in range(1, chosen.steps + 1):
            box.step(number, chosen.fault)
            if box.census() != before:
                return False
        return True

    good, seconds, peak = Measure(comm).run(run)
    x = box.mine()["at"][:, 0]
    good = comm.allreduce(bool(good and (box.slabs.owner(x) == comm.rank).all()), MPI.LAND)
    if comm.rank == 0:
        print(f"{before[0]} particles, {chosen.steps} steps: {'all there' if good else 'PARTICLES LOST OR CHANGED'}")
        print(f"{seconds:.2f} s; peak {peak / 2**20:.1f} MiB over the start; {box.mended} errors mended")
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
