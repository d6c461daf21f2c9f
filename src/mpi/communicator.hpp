// What taquin keeps per communicator of the user's, as an attribute of it and freed with it.
#pragma once

#include <mpi.h>

#include <memory>

namespace taquin::detail {
struct node_view;
class chooser;
}  // namespace taquin::detail

namespace taquin::mpi {

/// A private duplicate, so that taquin's messages never meet the user's, and facts about the group.
class communicator {
 public:
  /// The state that `of` has made before, or null. Local.
  static communicator* known(MPI_Comm user);
  /// The state of an intracommunicator. Collective when asked for the first time: it duplicates.
  static communicator& of(MPI_Comm user);

  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;

  /// Keeps the state alive, also when the user frees the communicator meanwhile: as MPI does for pending operations.
  struct release {
    void operator()(communicator* state) const noexcept { state->drop(); }
  };
  using lease = std::unique_ptr<communicator, release>;
  /// The state of a communicator that nobody else uses; freed with the last lease. Local.
  static lease adopt(MPI_Comm made) { return lease(new communicator(made)); }
  [[nodiscard]] lease keep() noexcept {
    ++users_;
    return lease(this);
  }

  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  /// What topology/detect.hpp found out about the nodes, and what it made of those given last; null before.
  std::shared_ptr<const detail::node_view> nodes;
  std::shared_ptr<const detail::node_view> given_nodes;

  /// What plan/choose.hpp remembers; null before the first choice.
  std::shared_ptr<detail::chooser> choices;

  /// Plans that are started at the same time must not take each other's messages: each takes tags of its own. Plans
  /// are made in the same order on all ranks, so the tags agree. A plan owns `tags_per_plan` tags from the given one.
  static constexpr int tags_per_plan = 32;
  static constexpr int agreement_tag = tags_per_plan - 1;  ///< of those, the agreement's
  [[nodiscard]] int next_tag() noexcept {
    const int tag = next_tag_;
    next_tag_ = (next_tag_ + tags_per_plan) % most_tags;
    return tag;
  }

 private:
  static constexpr int most_tags = 32768;  // MPI guarantees tags up to 32767
  explicit communicator(MPI_Comm own);
  static int keyval();
  int drop() noexcept;
  static int on_delete(MPI_Comm, int, void* value, void*);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  int next_tag_ = 0;
  int users_ = 1;  // the attribute and the leases
};

/// True for an intercommunicator.
bool is_inter(MPI_Comm comm);

}  // namespace taquin::mpi
