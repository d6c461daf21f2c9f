/* Moves data along PETSc's star forests, back and forth, and prints sums of what has arrived; every value is checked.
   PETSc's options say by which calls: `-sf_type neighbor`, `-sf_neighbor_persistent`; `-steps N`: how often. */
#include <petscsf.h>

static PetscMPIInt rank, ranks;

/* Every rank has some roots of all ranks as leaves. */
static PetscErrorCode along_a_forest(PetscInt steps, PetscInt64* sum) {
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
  }
  PetscCall(PetscSFDestroy(&forest));
  PetscCall(PetscFree3(root_of, roots, leaves));
  PetscFunctionReturn(0);
}

/* Every rank has one root for each rank: PETSc calls MPI_Ialltoall. */
static PetscErrorCode from_all_to_all(PetscInt steps, PetscInt64* sum) {
  PetscSF all;
  PetscLayout layout;
  PetscInt *out, *in;
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(ranks, &out, ranks, &in));
  PetscCall(PetscLayoutCreateFromSizes(PETSC_COMM_WORLD, ranks, PETSC_DECIDE, 1, &layout));
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &all));
  PetscCall(PetscSFSetGraphWithPattern(all, layout, PETSCSF_PATTERN_ALLTOALL));
  for (PetscInt step = 0; step < steps; ++step) {
    for (PetscInt i = 0; i < ranks; ++i) out[i] = 100 * rank + i + step;
    PetscCall(PetscSFBcastBegin(all, MPIU_INT, out, in, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(all, MPIU_INT, out, in, MPI_REPLACE));
    for (PetscInt i = 0; i < ranks; ++i) {
      PetscCheck(in[i] == 100 * i + rank + step, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " came", in[i]);
      *sum += in[i] * (i + 1);
    }
  }
  PetscCall(PetscSFDestroy(&all));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscCall(PetscFree2(out, in));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  PetscInt64 sums[2] = {0, 0};
  PetscInt steps = 20;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(along_a_forest(steps, &sums[0]));
  PetscCall(from_all_to_all(steps, &sums[1]));
  PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "rank %d: %" PetscInt64_FMT ", %" PetscInt64_FMT "\n", rank,
                                    sums[0], sums[1]));
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  return PetscFinalize();
}
