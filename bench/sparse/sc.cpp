#include <sc.h>
#include <sc_notify.h>

#include <algorithm>

#include "peers.hpp"

namespace taquin::bench {

namespace {

// A tree of that many children at each level, which carries the numbers. Without a barrier messages of the next call
// mix with those of this one, and libsc 2.2 crashes.
template <int Children>
class tree final : public finder {
 public:
  explicit tree(MPI_Comm comm) : comm_(comm) {}
  ~tree() override {
    for (sc_array_t* a : {to_, from_, payload_}) sc_array_destroy(a);
  }
  void find(const std::vector<int>& to, std::vector<int>& numbers, std::vector<int>& from,
            std::vector<int>& arrived) override {
    fill(to_, to);
    fill(payload_, numbers);
    sc_notify_ext(to_, from_, payload_, Children, Children, Children, comm_);
    MPI_Barrier(comm_);
    read(from_, from);
    read(payload_, arrived);
  }

 private:
  static void fill(sc_array_t* a, const std::vector<int>& values) {
    sc_array_resize(a, values.size());
    std::ranges::copy(values, numbers_of(a));
  }
  static void read(sc_array_t* a, std::vector<int>& values) {
    values.assign(numbers_of(a), numbers_of(a) + a->elem_count);
  }
  static int* numbers_of(sc_array_t* a) { return static_cast<int*>(static_cast<void*>(a->array)); }

  MPI_Comm comm_;
  sc_array_t* to_ = sc_array_new(sizeof(int));
  sc_array_t* from_ = sc_array_new(sizeof(int));
  sc_array_t* payload_ = sc_array_new(sizeof(int));
};

template <int Children>
std::unique_ptr<finder> make(MPI_Comm comm) {
  return std::make_unique<tree<Children>>(comm);
}

}  // namespace

std::vector<peer> begin_sc() {
  sc_init(MPI_COMM_WORLD, 0, 0, nullptr, SC_LP_SILENT);
  return {{"sc_notify 2", make<2>}, {"sc_notify 4", make<4>}, {"sc_notify 8", make<8>}};
}

}  // namespace taquin::bench
