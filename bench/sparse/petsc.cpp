#include <petscsys.h>

#include "peers.hpp"

namespace taquin::bench {

namespace {

void check(PetscErrorCode code) {
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

template <PetscBuildTwoSidedType Type>
class two_sided final : public finder {
 public:
  explicit two_sided(MPI_Comm comm) : comm_(comm) {}
  void find(const std::vector<int>& to, std::vector<int>& numbers, std::vector<int>& from,
            std::vector<int>& arrived) override {
    check(PetscCommBuildTwoSidedSetType(comm_, Type));
    PetscMPIInt sources = 0;
    PetscMPIInt* ranks = nullptr;
    int* values = nullptr;
    check(PetscCommBuildTwoSided(comm_, 1, MPI_INT, static_cast<PetscMPIInt>(to.size()), to.data(), numbers.data(),
                                 &sources, &ranks, static_cast<void*>(&values)));
    from.assign(ranks, ranks + sources);
    arrived.assign(values, values + sources);
    check(PetscFree(ranks));
    check(PetscFree(values));
  }

 private:
  MPI_Comm comm_;
};

template <PetscBuildTwoSidedType Type>
std::unique_ptr<finder> make(MPI_Comm comm) {
  return std::make_unique<two_sided<Type>>(comm);
}

}  // namespace

std::vector<peer> begin_petsc() {
  check(PetscInitializeNoArguments());
  return {{"petsc ibarrier", make<PETSC_BUILDTWOSIDED_IBARRIER>},
          {"petsc redscatter", make<PETSC_BUILDTWOSIDED_REDSCATTER>},
          {"petsc allreduce", make<PETSC_BUILDTWOSIDED_ALLREDUCE>}};
}
void end_petsc() { check(PetscFinalize()); }

}  // namespace taquin::bench
