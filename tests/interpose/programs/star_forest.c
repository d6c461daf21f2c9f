/* Moves data along PETSc's star forests, back and forth, and prints sums of what has arrived; every value is checked.
   PETSc's options say by which calls: `-sf_type neighbor`, `-sf_neighbor_persistent`; `-steps N`: how often;
   `-times`: how long the first step, with what PETSc makes for it, and the others took on the slowest rank. */
#include <petscsf.h>

static PetscMPIInt rank, ranks;

/* Seconds of the first step, and of the last 9 of 10 others together. */
struct times {
  double first, others, at;
};

static void note(struct times* t, PetscInt step, PetscInt steps) {
  const double now = MPI_Wtime();
  if (step == 0) t->first = now - t->at;
  if (step == 0 || step == steps / 10) t->at = now;
  t->others = now - t->at;
}

static PetscErrorCode print_times(const struct times* t, const char* what, PetscInt steps) {
  double mine[2], most[2];
  PetscFunctionBeginUser;
  mine[0] = 1e6 * t->first;
  mine[1] = 1e6 * t->others / (double)PetscMax(1, steps - steps / 10 - 1);
  PetscCallMPI(MPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: first step %.1f, others %.2f\n", what, most[0], most[1]));
  PetscFunctionReturn(0);
}

/* Every rank has some roots of all ranks as leaves. */
static PetscErrorCode along_a_forest(PetscInt steps, PetscInt64* sum, struct times* t) {
  const PetscInt n = 100;
  PetscSF forest;
  PetscSFNode* root_of;
  PetscInt *roots, *leaves;
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n, &root_of, n, &roots, n, &leaves));
  for (PetscInt i = 0; i < n; ++i) {
    root_of[i].rank = (rank + i) % ranks;
    root_of[i].index = (7 * i + rank) % n;
  }
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &forest));
  PetscCall(PetscSFSetFromOptions(forest));
  PetscCall(PetscSFSetGraph(forest, n, n, NULL, PETSC_COPY_VALUES, root_of, PETSC_COPY_VALUES));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  t->at = MPI_Wtime();
  for (PetscInt step = 0; step < steps; ++step) {
    for (PetscInt i = 0; i < n; ++i) roots[i] = 1000 * rank + i + step;
    PetscCall(PetscSFBcastBegin(forest, MPIU_INT, roots, leaves, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(forest, MPIU_INT, roots, leaves, MPI_REPLACE));
    for (PetscInt i = 0; i < n; ++i)
      PetscCheck(leaves[i] == 1000 * root_of[i].rank + root_of[i].index + step, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "a leaf has %" PetscInt_FMT, leaves[i]);
    PetscCall(PetscSFReduceBegin(forest, MPIU_INT, leaves, roots, MPI_SUM));
    PetscCall(PetscSFReduceEnd(forest, MPIU_INT, leaves, roots, MPI_SUM));
    for (PetscInt i = 0; i < n; ++i) *sum += roots[i] * (i + 1);
    note(t, step, steps);
  }
  PetscCall(PetscSFDestroy(&forest));
  PetscCall(PetscFree3(root_of, roots, leaves));
  PetscFunctionReturn(0);
}

/* Every rank has one root for each rank: PETSc calls MPI_Ialltoall. */
static PetscErrorCode from_all_to_all(PetscInt steps, PetscInt64* sum, struct times* t) {
  PetscSF all;
  PetscLayout layout;
  PetscInt *out, *in;
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(ranks, &out, ranks, &in));
  PetscCall(PetscLayoutCreateFromSizes(PETSC_COMM_WORLD, ranks, PETSC_DECIDE, 1, &layout));
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &all));
  PetscCall(PetscSFSetGraphWithPattern(all, layout, PETSCSF_PATTERN_ALLTOALL));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  t->at = MPI_Wtime();
  for (PetscInt step = 0; step < steps; ++step) {
    for (PetscInt i = 0; i < ranks; ++i) out[i] = 100 * rank + i + step;
    PetscCall(PetscSFBcastBegin(all, MPIU_INT, out, in, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(all, MPIU_INT, out, in, MPI_REPLACE));
    for (PetscInt i = 0; i < ranks; ++i) {
      PetscCheck(in[i] == 100 * i + rank + step, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " came", in[i]);
      *sum += in[i] * (i + 1);
    }
    note(t, step, steps);
  }
  PetscCall(PetscSFDestroy(&all));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscCall(PetscFree2(out, in));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  PetscInt64 sums[2] = {0, 0};
  PetscInt steps = 20;
  PetscBool requested = PETSC_FALSE;
  struct times times[2] = {{0, 0, 0}, {0, 0, 0}};
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-times", &requested));
  PetscCall(along_a_forest(steps, &sums[0], &times[0]));
  PetscCall(from_all_to_all(steps, &sums[1], &times[1]));
  PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "rank %d: %" PetscInt64_FMT ", %" PetscInt64_FMT "\n", rank,
                                    sums[0], sums[1]));
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  if (requested) {
    PetscCall(print_times(&times[0], "forest", steps));
    PetscCall(print_times(&times[1], "alltoall", steps));
  }
  return PetscFinalize();
}
