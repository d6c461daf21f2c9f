#include "mpi/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>

#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {

namespace {

std::atomic<int> private_communicators{0};

int read_limit(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<int>(std::clamp(std::strtol(text, nullptr, 10), 0L, 1L << 30U));
}

// Sets of tags for plans: what the MPI library has beside the calls'. TAQUIN_TAG_LIMIT lowers it, for tests.
int sets_of_plans(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(PMPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&value), &found));
  constexpr int guaranteed = 32767;
  const int most = found != 0 ? *static_cast<int*>(value) : guaranteed;
  static const int limit = read_limit("TAQUIN_TAG_LIMIT", std::numeric_limits<int>::max());
  return std::max(std::min(most, limit) / communicator::tags_per_plan - communicator::tag_sets_of_calls, 1);
}

// Errors of calls on the user's communicator come back as codes meanwhile.
class quiet {
 public:
  explicit quiet(MPI_Comm comm) : comm_(comm) {
    TAQUIN_MPI(PMPI_Comm_get_errhandler(comm, &before_));
    TAQUIN_MPI(PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  }
  quiet(const quiet&) = delete;
  quiet& operator=(const quiet&) = delete;
  ~quiet() {
    PMPI_Comm_set_errhandler(comm_, before_);
    PMPI_Errhandler_free(&before_);
  }

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

// Not a duplicate: that would call the copy functions of the user's attributes.
MPI_Comm same_ranks(MPI_Comm user) {
  MPI_Group group = MPI_GROUP_NULL;
  TAQUIN_MPI(PMPI_Comm_group(user, &group));
  MPI_Comm made = MPI_COMM_NULL;
  if (PMPI_Comm_create(user, group, &made) != MPI_SUCCESS) made = MPI_COMM_NULL;
  PMPI_Group_free(&group);
  return made;
}

// Null on all ranks where any has none.
MPI_Comm make_private(MPI_Comm user, int& sets) {
  const quiet q(user);
  if (!holds_everywhere(private_communicators < communicator::limit(), user)) return MPI_COMM_NULL;
  MPI_Comm made = same_ranks(user);
  // Ranks give out the same tags without asking, as long as there are some.
  sets = made != MPI_COMM_NULL ? sets_of_plans(made) : 0;
  allreduce(sets, MPI_MIN, user);
  if (sets > 0) return made;
  if (made != MPI_COMM_NULL) PMPI_Comm_free(&made);
  return MPI_COMM_NULL;
}

}  // namespace

int communicator::limit() {
  constexpr int otherwise = 256;
  static const int most = read_limit("TAQUIN_COMMUNICATOR_LIMIT", otherwise);
  return most;
}

int communicator::on_delete(MPI_Comm, int, void* value, void*) { return static_cast<communicator*>(value)->drop(); }

int communicator::drop() noexcept {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) > 1) return MPI_SUCCESS;
  if (record != nullptr && record->lost && !finalized()) {
    keep_for_ever();
    return MPI_SUCCESS;
  }
  const int code = finalized() || comm_ == MPI_COMM_NULL ? MPI_SUCCESS : PMPI_Comm_free(&comm_);
  if (count_ != nullptr) --*count_;
  delete this;
  return code;
}

// Messages of a call that was left in the middle may still come. MPI libraries give the context of a communicator that was
// freed to the next that is made, which would then receive them: this one stays, and so do those that were made of it.
void communicator::keep_for_ever() noexcept {
  static std::atomic<communicator*> all{nullptr};
  next_lost_ = all.load(std::memory_order_relaxed);
  while (!all.compare_exchange_weak(next_lost_, this)) {
  }
}

// A duplicate of the user's communicator starts without the attribute and gets a state of its own.
const attribute<communicator>& communicator::kept() {
  static const attribute<communicator> all(&communicator::on_delete);
  return all;
}

communicator::communicator(MPI_Comm own) : comm_(own) {
  if (own == MPI_COMM_NULL) return;
  // Failures inside the library come back as codes and leave it as exceptions; the user's handler is the C API's
  // matter.
  TAQUIN_MPI(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
  TAQUIN_MPI(PMPI_Comm_rank(comm_, &rank_));
  TAQUIN_MPI(PMPI_Comm_size(comm_, &size_));
  sets_of_plans_ = sets_of_plans(comm_);
}

std::shared_ptr<call_record> make_call_record(MPI_Comm user) {
  auto record = std::make_shared<call_record>();
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  if (PMPI_Comm_get_name(user, name.data(), &length) == MPI_SUCCESS)
    std::copy_n(name.begin(), record->name.size() - 1, record->name.begin());
  return record;
}

void refuse_lost(const call_record& r) {
  throw usage_error(
      fmt::format("a call on {} was left in the middle on this rank, by a timeout or an error: taquin cannot use the "
                  "communicator any more",
                  r.name[0] != '\0' ? fmt::format("'{}'", r.name.data()) : "this communicator"),
      MPI_ERR_COMM);
}

communicator* communicator::known(MPI_Comm user) {
  communicator* const state = kept().find(user);
  if (state != nullptr && state->comm_ == MPI_COMM_NULL)
    throw on_all_ranks(usage_error(
        fmt::format("there is no private communicator for this one: taquin has {} (at most {}), or the MPI library has "
                    "none left",
                    private_communicators.load(), limit()),
        MPI_ERR_UNSUPPORTED_OPERATION));
  return state;
}

communicator& communicator::of(MPI_Comm user) {
  if (communicator* state = known(user)) return *state;
  int sets = 0;
  lease state = adopt(make_private(user, sets));
  state->sets_of_plans_ = sets;
  state->record = make_call_record(user);
  if (state->comm_ != MPI_COMM_NULL) {
    state->count_ = &private_communicators;
    ++private_communicators;
  }
  kept().set(user, state.get());
  static_cast<void>(state.release());  // the communicator's now
  return *known(user);
}

bool is_inter(MPI_Comm comm) {
  int inter = 0;
  TAQUIN_MPI(PMPI_Comm_test_inter(comm, &inter));
  return inter != 0;
}

}  // namespace taquin::mpi
