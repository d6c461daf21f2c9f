#include "scalapack/blacs.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::scalapack {

namespace {

struct search {
  const char* name;
  void* found;
};

// In a library that was loaded for others not to see, as Python loads extension modules.
int inspect_library(dl_phdr_info* library, std::size_t, void* data) {
  auto& s = *static_cast<search*>(data);
  if (std::string_view(library->dlpi_name).find("scalapack") == std::string_view::npos &&
      std::string_view(library->dlpi_name).find("blacs") == std::string_view::npos)
    return 0;
  if (std::string_view(library->dlpi_name).find("taquin") != std::string_view::npos) return 0;
  if (void* const handle = dlopen(library->dlpi_name, RTLD_NOLOAD | RTLD_LAZY); handle != nullptr) {
    s.found = dlsym(handle, s.name);
    dlclose(handle);
  }
  return s.found != nullptr ? 1 : 0;
}

template <class Function>
Function* blacs(const char* name) {
  void* const found = find_function(name);
  if (found == nullptr) throw usage_error(std::string(name) + " is missing: the program has no BLACS", MPI_ERR_OTHER);
  return reinterpret_cast<Function*>(found);
}

// Communicators of some ranks of one, kept as an attribute of that one.
struct kept_communicator {
  std::vector<int> ranks;
  MPI_Comm comm;
};
using kept_list = std::vector<kept_communicator>;

int forget(MPI_Comm, int, void* value, void*) {
  const std::unique_ptr<kept_list> list(static_cast<kept_list*>(value));
  for (kept_communicator& k : *list) PMPI_Comm_free(&k.comm);
  return MPI_SUCCESS;
}

kept_list& kept_with(MPI_Comm parent) {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    TAQUIN_MPI(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr));
    return made;
  }();
  kept_list* list = nullptr;
  int found = 0;
  TAQUIN_MPI(PMPI_Comm_get_attr(parent, key, &list, &found));
  if (found != 0) return *list;
  auto fresh = std::make_unique<kept_list>();
  TAQUIN_MPI(PMPI_Comm_set_attr(parent, key, fresh.get()));
  return *fresh.release();
}

}  // namespace

void* find_function(const char* name) {
  if (void* const found = dlsym(RTLD_NEXT, name); found != nullptr) return found;
  if (void* const found = dlsym(RTLD_DEFAULT, name); found != nullptr) return found;
  search s{name, nullptr};
  dl_iterate_phdr(inspect_library, &s);
  return s.found;
}

grid grid_of(int context) {
  static auto* const info = blacs<void(int, int*, int*, int*, int*)>("Cblacs_gridinfo");
  grid g;
  if (context >= 0) info(context, &g.rows, &g.columns, &g.row, &g.column);
  return g;
}

MPI_Comm parent_of(int context) {
  constexpr int of_context = 10;
  static auto* const get = blacs<void(int, int, int*)>("Cblacs_get");
  static auto* const communicator = blacs<MPI_Comm(int)>("Cblacs2sys_handle");
  int handle = -1;
  get(context, of_context, &handle);
  return communicator(handle);
}

void maximum(int context, std::span<int> numbers) {
  static auto* const combine =
      blacs<void(int, const char*, const char*, int, int, int*, int, int*, int*, int, int, int)>("Cigamx2d");
  const int n = static_cast<int>(numbers.size());
  combine(context, "A", " ", n, 1, numbers.data(), n, nullptr, nullptr, -1, -1, -1);
}

MPI_Comm communicator_of(MPI_Comm parent, std::span<const int> ranks) {
  kept_list& list = kept_with(parent);
  const auto same = [&](const kept_communicator& k) { return std::ranges::equal(k.ranks, ranks); };
  if (const auto known = std::ranges::find_if(list, same); known != list.end()) return known->comm;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  TAQUIN_MPI(PMPI_Comm_group(parent, &all));
  TAQUIN_MPI(PMPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
  MPI_Comm comm = MPI_COMM_NULL;
  constexpr int tag = 0;
  TAQUIN_MPI(PMPI_Comm_create_group(parent, some, tag, &comm));
  TAQUIN_MPI(PMPI_Group_free(&some));
  TAQUIN_MPI(PMPI_Group_free(&all));
  list.push_back({{ranks.begin(), ranks.end()}, comm});
  return comm;
}

}  // namespace taquin::scalapack
