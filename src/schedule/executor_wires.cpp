// The messages of a schedule as arguments of MPI calls: derived datatypes, staging and requests, made once.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/sizes.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

namespace {
// A persistent request saves the MPI library its set-up, but is memory of its own that is cold at the next exchange;
// small messages need no request in both MPI libraries.
constexpr int most_plain_bytes = 4096;
// MPI_Isend sends a few bytes immediately, which starting a persistent request does not do (Open MPI, 8 bytes per pair:
// 0.5 us instead of 0.9 us on 2 ranks).
constexpr count_t most_immediate_bytes = 512;
#ifdef TAQUIN_NO_PERSISTENT_SENDS
constexpr bool persistent_sends = false;
#else
constexpr bool persistent_sends = true;
#endif
}  // namespace

// The packed messages of a round stand side by side in the staging buffer; rounds reuse it.
void executor::make_wires() {
  std::uint32_t m = 0;
  std::byte* staging = staging_.data();
  bool joined = false;
  for (const round& r : schedule_.rounds) {
    if (!joined) staging = staging_.data();
    joined = r.joins;
    for (; m < r.messages_end; ++m) wires_.push_back(make_wire(schedule_.messages[m], staging));
  }
}

executor::wire executor::make_wire(const message& m, std::byte*& staging) {
  const region& first = schedule_.regions[m.first_region];
  if (!simple(m) && m.how != packing::packed) return make_derived(m);
  auto c = simple(m) ? mpi::make_counted(first.count, schedule_.types[first.type].type)
                     : mpi::make_counted(schedule_.bytes(m), MPI_BYTE);
  if (c.owner) derived_.push_back(std::move(c.owner));
  if (simple(m)) return {at(first), c.count, 0, c.type, nullptr};
  const wire w{staging, c.count, 0, c.type, staging};
  staging += schedule_.bytes(m);
  return w;
}

// One type for all regions, with absolute addresses.
executor::wire executor::make_derived(const message& m) {
  MPI_Datatype all = indexed(m) ? make_indexed(m) : make_struct(m);
  derived_.emplace_back(all);
  TAQUIN_MPI(PMPI_Type_commit(&all));
  return {MPI_BOTTOM, 1, 0, all, nullptr};
}

MPI_Datatype executor::make_indexed(const message& m) {
  const region* first = schedule_.regions.data() + m.first_region;
  std::pmr::memory_resource* memory = derived_.get_allocator().resource();
  std::pmr::vector<int> lengths(m.regions, memory);
  std::pmr::vector<MPI_Aint> places(m.regions, memory);
  bool identical = true;
  for (std::uint32_t i = 0; i < m.regions; ++i) {
    TAQUIN_MPI(PMPI_Get_address(at(first[i]), &places[i]));
    lengths[i] = static_cast<int>(first[i].count);
    identical = identical && lengths[i] == lengths[0];
  }
  const auto n = static_cast<int>(m.regions);
  const MPI_Datatype type = schedule_.types[first->type].type;
  MPI_Datatype all = MPI_DATATYPE_NULL;
  if (identical) {
    TAQUIN_MPI(PMPI_Type_create_hindexed_block(n, lengths[0], places.data(), type, &all));
  } else {
    TAQUIN_MPI(PMPI_Type_create_hindexed(n, lengths.data(), places.data(), type, &all));
  }
  return all;
}

// A struct of strided runs.
MPI_Datatype executor::make_struct(const message& m) {
  const region* first = schedule_.regions.data() + m.first_region;
  std::pmr::memory_resource* memory = derived_.get_allocator().resource();
  std::pmr::vector<int> lengths(m.regions, 1, memory);
  std::pmr::vector<MPI_Aint> places(m.regions, memory);
  std::pmr::vector<MPI_Datatype> types(m.regions, memory);
  std::pmr::vector<mpi::datatype> parts(memory);
  parts.reserve(2 * std::size_t{m.regions});
  for (std::uint32_t i = 0; i < m.regions; ++i) {
    const region& r = first[i];
    TAQUIN_MPI(PMPI_Get_address(at(r), &places[i]));
    auto run = mpi::make_counted(r.count, schedule_.types[r.type].type);
    if (run.owner) parts.push_back(std::move(run.owner));
    lengths[i] = run.count;
    types[i] = run.type;
    if (r.repeat == 1) continue;
    MPI_Datatype strided = MPI_DATATYPE_NULL;
    if (r.stride == -r.count * schedule_.types[r.type].extent) {  // which Open MPI 4.1 takes for its reverse
      std::vector<MPI_Aint> down(as_size(r.repeat));
      for (std::size_t k = 0; k < down.size(); ++k) down[k] = static_cast<MPI_Aint>(k) * r.stride;
      TAQUIN_MPI(
          PMPI_Type_create_hindexed_block(static_cast<int>(r.repeat), run.count, down.data(), run.type, &strided));
    } else {
      TAQUIN_MPI(PMPI_Type_create_hvector(static_cast<int>(r.repeat), run.count, r.stride, run.type, &strided));
    }
    parts.emplace_back(strided);
    lengths[i] = 1;
    types[i] = strided;
  }
  MPI_Datatype all = MPI_DATATYPE_NULL;
  TAQUIN_MPI(PMPI_Type_create_struct(static_cast<int>(m.regions), lengths.data(), places.data(), types.data(), &all));
  return all;
}

void executor::make_requests() {
  if (!where_.reused) return;
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    const wire& w = wires_[i];
    const message& m = schedule_.messages[i];
    MPI_Request& request = persistent_.emplace_back(MPI_REQUEST_NULL);
    if (w.staging != nullptr && w.type == MPI_BYTE && w.count <= most_plain_bytes) continue;
    if (simple(m) && schedule_.bytes(m) <= most_immediate_bytes) continue;
    if (m.direction == message_direction::send && !persistent_sends) continue;
    const int tag = where_.tag + m.tag;
    if (m.direction == message_direction::send) {
      TAQUIN_MPI(PMPI_Send_init(w.data, w.count, w.type, m.peer, tag, where_.comm, &request));
    } else {
      TAQUIN_MPI(PMPI_Recv_init(w.data, w.count, w.type, m.peer, tag, where_.comm, &request));
    }
  }
}

}  // namespace taquin::detail
