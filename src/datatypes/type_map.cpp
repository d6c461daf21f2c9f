#include "datatypes/type_map.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "base/sizes.hpp"
#include "datatypes/decode.hpp"
#include "datatypes/strided_copy.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"

namespace taquin::detail {

namespace {

// The children of a loop are adjacent. The decoded tree is freed while it is copied.
void flatten(tree& t, std::size_t at, std::vector<loop>& flat) {
  const auto first = static_cast<std::uint32_t>(flat.size());
  flat[at] = {t.offset, t.count, t.stride, t.length, first, static_cast<std::uint32_t>(t.children.size())};
  flat.resize(flat.size() + t.children.size());
  for (std::size_t i = 0; i < t.children.size(); ++i) flatten(t.children[i], first + i, flat);
  t.children = {};
}

std::vector<loop> flattened(tree root) {
  std::vector<loop> flat;
  if (root.empty()) return flat;
  flat.reserve(loops_of(root));
  flat.resize(1);
  flatten(root, 0, flat);
  return flat;
}

count_t bytes_of(const tree& t) noexcept {
  count_t each = t.length;
  for (const tree& child : t.children) each += bytes_of(child);
  return t.count * each;
}

// True when the decoded structure has as many data bytes as the type.
bool complete(const decoded& d, MPI_Datatype type) { return bytes_of(d.data) == mpi::size_of(type); }

// A duplicate of a type has the same map.
int copy_map(MPI_Datatype, int, void*, void* value, void* copy, int* flag) {
  static_cast<const type_map*>(value)->share();
  *static_cast<void**>(copy) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_map(MPI_Datatype, int, void* value, void*) {
  static_cast<const type_map*>(value)->drop();
  return MPI_SUCCESS;
}

}  // namespace

const type_map* type_map::decode(MPI_Datatype type) {
  auto d = decode_type(type);
  if (!d || !complete(*d, type)) return nullptr;
  std::unique_ptr<type_map> map(new type_map);
  map->loops_ = flattened(std::move(d->data));
  map->signature_ = d->sign.type;
  map->signature_count_ = d->sign.count;
  map->owned_ = std::move(d->sign.owner);
  return map.release();
}

const type_map* type_map::of(MPI_Datatype type) {
  static std::mutex mutex;
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    TAQUIN_MPI(PMPI_Type_create_keyval(copy_map, delete_map, &made, nullptr));
    return made;
  }();
  void* value = nullptr;
  int found = 0;
  const std::lock_guard lock(mutex);
  TAQUIN_MPI(PMPI_Type_get_attr(type, key, static_cast<void*>(&value), &found));
  if (found != 0) return static_cast<const type_map*>(value);
  std::unique_ptr<const type_map> map(decode(type));
  if (map == nullptr) {
    std::unique_ptr<type_map> opaque(new type_map);
    opaque->opaque_ = true;
    map = std::move(opaque);
  }
  TAQUIN_MPI(PMPI_Type_set_attr(type, key, const_cast<type_map*>(map.get())));
  return map.release();
}

std::byte* type_map::pack(std::uint32_t i, const std::byte* from, std::byte* to) const {
  if (loops_.empty()) return to;
  const loop& l = loops_[i];
  from += l.offset;
  if (l.length > 0) {
    strided_copy(from, l.stride, to, l.length, l.length, l.count);
    return to + l.count * l.length;
  }
  for (count_t k = 0; k < l.count; ++k, from += l.stride)
    for (std::uint32_t child = 0; child < l.children; ++child) to = pack(l.first_child + child, from, to);
  return to;
}

const std::byte* type_map::unpack(std::uint32_t i, const std::byte* from, std::byte* to) const {
  if (loops_.empty()) return from;
  const loop& l = loops_[i];
  to += l.offset;
  if (l.length > 0) {
    strided_copy(from, l.length, to, l.stride, l.length, l.count);
    return from + l.count * l.length;
  }
  for (count_t k = 0; k < l.count; ++k, to += l.stride)
    for (std::uint32_t child = 0; child < l.children; ++child) from = unpack(l.first_child + child, from, to);
  return from;
}

run_cursor::run_cursor(const type_map& map, count_t count, count_t extent) noexcept
    : map_(map), count_(map.loops().empty() ? 0 : count), extent_(extent) {
  if (!map.loops().empty() && height(0) > most) depth_ = -1;
}

int run_cursor::height(std::uint32_t i) const noexcept {
  const loop& l = map_.loops()[i];
  int most_below = 0;
  for (std::uint32_t c = 0; c < l.children; ++c) most_below = std::max(most_below, height(l.first_child + c));
  return 1 + most_below;
}

void run_cursor::push(const loop& node, count_t base) noexcept {
  frames_[as_size(depth_++)] = {&node, base + node.offset, 0, 0};
}

run_cursor::run run_cursor::next() noexcept {
  for (;;) {
    if (depth_ == 0) {
      if (element_ == count_) return {};
      push(map_.loops()[0], element_++ * extent_);
    }
    frame& f = frames_[as_size(depth_ - 1)];
    const loop& l = *f.node;
    if (f.iteration == l.count) {
      --depth_;
      continue;
    }
    const count_t here = f.base + f.iteration * l.stride;
    if (l.length > 0) {
      ++f.iteration;
      return {here, l.length};
    }
    if (f.child == l.children) {
      f.child = 0;
      ++f.iteration;
      continue;
    }
    push(map_.loops()[l.first_child + f.child++], here);
  }
}

}  // namespace taquin::detail
