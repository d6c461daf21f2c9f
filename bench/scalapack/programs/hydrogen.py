# Hydrogen molecules in LCAO mode, diagonalized by ScaLAPACK on 2 x 2 processes.
from ase import Atoms
from gpaw import GPAW, LCAO
from gpaw.mpi import world
positions = [(2.5 * i + d, 2.5 * j, 2.5 * k) for i in range(2) for j in range(2) for k in range(2) for d in (0, 0.74)]
atoms = Atoms("H16", positions=positions, cell=(6, 6, 6), pbc=True)
atoms.calc = GPAW(mode=LCAO(), basis="dzp", h=0.3, xc="LDA", txt=None, maxiter=100,
                  parallel={"sl_default": (2, 2, 8), "domain": (1, 2, 2)}, convergence={"energy": 1e-3, "density": 1e-2, "eigenstates": 1e-4})
energy = atoms.get_potential_energy()
if world.rank == 0:
    print(f"energy {energy:.10f} eV", flush=True)
