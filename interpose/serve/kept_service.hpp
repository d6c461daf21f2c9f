// Services that are kept with the program's communicators, and how they go.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>

#include "mpi/attribute.hpp"

namespace taquin::interpose {

/// One for each communicator that has one. `Service` has communicator_is_freed(), which may be called again.
template <class Service>
class kept_service {
 public:
  /// Null where there is none.
  [[nodiscard]] static std::shared_ptr<Service> find(MPI_Comm comm) {
    const auto* const found = all().find(comm);
    return found != nullptr ? *found : nullptr;
  }
  static std::shared_ptr<Service> keep(MPI_Comm comm, std::shared_ptr<Service> made) {
    auto entry = std::make_unique<std::shared_ptr<Service>>(std::move(made));
    auto kept = *entry;
    all().set(comm, entry.get());
    static_cast<void>(entry.release());
    return kept;
  }
  /// The program frees the communicator now. Pending calls continue.
  static void forget(MPI_Comm comm) {
    const std::shared_ptr<Service> last = find(comm);  // goes when MPI deletes no attribute
    if (last == nullptr) return;
    last->communicator_is_freed();
    all().erase(comm);
  }

 private:
  static const mpi::attribute<std::shared_ptr<Service>>& all() {
    static const mpi::attribute<std::shared_ptr<Service>> one([](MPI_Comm, int, void* value, void*) {
      const std::unique_ptr<std::shared_ptr<Service>> gone(static_cast<std::shared_ptr<Service>*>(value));
      (*gone)->communicator_is_freed();
      return MPI_SUCCESS;
    });
    return one;
  }
};

}  // namespace taquin::interpose
