/* A dense matrix becomes one of ScaLAPACK and back (pdgemr2d), and multiplies a vector in between. */
#include <petscmat.h>
int main(int argc, char **argv) {
  Mat a, s, back;
  Vec x, y;
  PetscInt n = 2000, first, last, i, j;
  PetscReal before, after, solution;
  PetscInitialize(&argc, &argv, NULL, NULL);
  PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL);
  MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, NULL, &a);
  MatGetOwnershipRange(a, &first, &last);
  for (i = first; i < last; ++i)
    for (j = 0; j < n; ++j)
      MatSetValue(a, i, j, (PetscScalar)((i * 7919 + j * 104729) % 1009) / 1009 + (i == j ? n : 0), INSERT_VALUES);
  MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY);
  MatNorm(a, NORM_FROBENIUS, &before);
  MatConvert(a, MATSCALAPACK, MAT_INITIAL_MATRIX, &s);
  MatConvert(s, MATDENSE, MAT_INITIAL_MATRIX, &back);
  MatAXPY(back, -1, a, SAME_NONZERO_PATTERN);
  MatNorm(back, NORM_FROBENIUS, &after);
  MatCreateVecs(s, &x, &y);
  VecSet(x, 1);
  MatMult(s, x, y);
  VecNorm(y, NORM_2, &solution);
  PetscPrintf(PETSC_COMM_WORLD, "norm %.15e, difference %g, of the product %.15e\n", (double)before, (double)after,
              (double)solution);
  MatDestroy(&a);
  MatDestroy(&s);
  MatDestroy(&back);
  VecDestroy(&x);
  VecDestroy(&y);
  return PetscFinalize();
}
