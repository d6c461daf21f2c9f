#include "redistribute/node_steps.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>

#include "base/copy_bytes.hpp"
#include "node/single_copy.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

using kind = mailbox::kind;

constexpr std::size_t header_bytes = cache_line;

// Bytes for blocks of several ranks, where the blocks of each rank begin at a cache line.
constexpr std::size_t space_for(std::size_t blocks, std::size_t block_bytes, std::size_t ranks) noexcept {
  return blocks * block_bytes + ranks * cache_line;
}

// Parts of another process's memory, copied many at a time.
class part_list {
 public:
  explicit part_list(pid_t process) noexcept : process_(process) {}
  void add(std::uint64_t address, std::byte* to, std::size_t bytes) noexcept {
    if (used_ > 0 && parts_[used_ - 1].address + parts_[used_ - 1].bytes == address &&
        static_cast<std::byte*>(parts_[used_ - 1].to) + parts_[used_ - 1].bytes == to) {
      parts_[used_ - 1].bytes += bytes;
      return;
    }
    if (used_ == parts_.size()) copy();
    parts_[used_++] = {address, to, bytes};
  }
  // True when all could be read.
  bool copy() noexcept {
    if (used_ > 0 && single_copy(process_, std::span(parts_).first(used_)) != 0) good_ = false;
    used_ = 0;
    return good_;
  }

 private:
  pid_t process_;
  std::array<remote_part, 32> parts_;
  std::size_t used_ = 0;
  bool good_ = true;
};

}  // namespace

bool node_steps::suit(const setting& s, const channel& c) noexcept {
  const auto most = as_size(*std::ranges::max_element(s.blocks));
  const std::size_t space = c.payload_bytes();
  if (header_bytes + most * sizeof(listed) > space) return false;
  return space_for(most, s.block_bytes, s.blocks.size()) <= space || (s.readable && most <= s.staging);
}

std::size_t node_steps::shared_bytes(std::size_t blocks, std::size_t block_bytes, const channel& c) noexcept {
  return std::min(header_bytes + blocks * sizeof(listed), c.payload_bytes()) +
         std::min(space_for(blocks, block_bytes, as_size(c.size())), c.payload_bytes());
}

node_steps::node_steps(const setting& s, channel& c, store& units, memory_budget& memory)
    : s_(s),
      c_(c),
      units_(units),
      memory_(memory),
      map_(units, &memory),
      out_at_(s.blocks.size() + 1, 0, &memory),
      in_at_(s.blocks.size() + 1, 0, &memory),
      index_(&memory),
      staged_(&memory),
      sources_(map_.slots(), no_slot, &memory),
      copied_(units.bytes_copied()) {
  index_.reserve(map_.blocks());
  staged_.reserve(std::min(s.staging, map_.blocks()));
}

bool node_steps::agreed(const setting& s, const channel& c, word w) noexcept {
  const std::uint32_t requested = choices(s, w);
  for (int k = 0; k < c.size(); ++k) {
    const mailbox& box = k == c.rank() ? c.to(k) : c.from(k);
    if (box.what() == kind::record || box.choices != requested) return false;
  }
  return true;
}

void node_steps::publish(const setting& s, const channel& c, word w, bool good) noexcept {
  for (int k = 1; k <= c.size(); ++k) {
    const int reader = (c.rank() + k) % c.size();
    c.to(reader).choices = good ? choices(s, w) : 0;
    if (!good) c.to(reader).describe(kind::none, 0);
    c.publish(reader);
  }
}

bool node_steps::agree(const setting& s, channel& c, bool good) {
  c.begin();
  for (int reader = 0; reader < c.size(); ++reader) c.to(reader).describe(kind::none, 0);
  publish(s, c, word::ready, good);
  c.wait_for_mailboxes();
  return agreed(s, c, word::ready);
}

bool node_steps::run(const setting& s, channel& c, store& units, memory_budget& memory, const given_map& given,
                     statistics* stats) {
  std::optional<node_steps> steps;
  bool good = false;
  try {
    steps.emplace(s, c, units, memory);
    good = steps->prepare(given);
  } catch (const budget_exceeded&) {
  } catch (const std::bad_alloc&) {
  }
  c.begin();
  if (good) steps->write_lists();
  publish(s, c, word::lists, good);
  c.wait_for_mailboxes();
  if (!agreed(s, c, word::lists)) return false;
  good = steps->learn();
  c.begin();
  if (good) steps->pack();
  publish(s, c, word::ready, good);
  c.wait_for_mailboxes();
  if (!agreed(s, c, word::ready)) return false;
  steps->put();
  if (stats != nullptr) steps->account(*stats);
  return true;
}

// Does everything that may fail on this rank alone.
bool node_steps::prepare(const given_map& given) {
  if (check_ranges(given, s_.blocks, c_.rank())) return false;
  for (count_t k = 0; k < given.length; ++k) {
    const count_t r = given.ranks[static_cast<int>(k)];
    if (r < 0) continue;
    const auto index = static_cast<slot>(given.indices[static_cast<int>(k)]);
    map_.set(static_cast<slot>(k), {static_cast<std::int32_t>(r), index});
    moves_here_ = moves_here_ || (r == c_.rank() && static_cast<count_t>(index) != k);
  }
  stay_ = map_.begins(out_at_, c_.rank());
  choose_transport();
  return transport_ != kind::none;
}

void node_steps::choose_transport() {
  const std::size_t leaving = out_at_.back();
  const std::size_t lists = header_bytes + leaving * sizeof(listed);
  const std::size_t data = space_for(leaving, s_.block_bytes, s_.blocks.size());
  const std::size_t left = memory_.limit() - memory_.used();
  if (data <= c_.payload_bytes() && data <= left && lists <= left - data) {
    transport_ = kind::payload;
    space_ = lists + data;
  } else if (s_.readable && lists <= left) {
    transport_ = kind::remote;
    space_ = lists;
  }
}

void node_steps::write_lists() {
  std::byte* const space = c_.payload(c_.rank());
  auto* const mine = new (space) owner;
  if (transport_ == kind::remote) {
    mine->data = reinterpret_cast<std::uint64_t>(units_.at(0));
    if (const auto place = find_shared(units_.at(0), map_.blocks() * s_.block_bytes)) mine->shared = *place;
  }
  for (int r = 0; r < c_.size(); ++r) {
    mailbox& box = c_.to(r);
    const std::uint32_t n = out_at_[as_size(r) + 1] - out_at_[as_size(r)];
    box.place = header_bytes + out_at_[as_size(r)] * sizeof(listed);
    box.describe(n > 0 ? transport_ : kind::none, n);
  }
  auto* const list = reinterpret_cast<listed*>(space + header_bytes);
  list_ = list;
  map_.partition(out_at_, c_.rank(), [&](std::uint32_t k, slot at) { new (list + k) listed{map_[at].index, at}; });
}

// Marks the places of incoming blocks, and reads those blocks that must be read. False if a block is missing.
bool node_steps::learn() {
  bool good = true;
  for (slot k = 0; k < map_.blocks(); ++k)
    if (map_[k].rank == c_.rank()) good = take(map_[k].index) && good;
  std::size_t arrived = 0;
  for (int from = 0; from < c_.size(); ++from) {
    in_at_[as_size(from)] = static_cast<std::uint32_t>(arrived);
    if (from != c_.rank()) arrived += c_.from(from).size();
  }
  in_at_.back() = static_cast<std::uint32_t>(arrived);
  if (arrived > map_.blocks() - std::min<std::size_t>(stay_, map_.blocks())) return false;
  for (int from = 0; from < c_.size(); ++from) {
    if (from == c_.rank()) continue;
    const mailbox& box = c_.from(from);
    const auto* const list = reinterpret_cast<const listed*>(c_.payload(from) + box.place);
    for (std::uint64_t i = 0; i < box.size(); ++i) {
      good = take(list[i].index) && good;
      index_.push_back(list[i].index);
    }
  }
  if (s_.check && !good) return false;
  for (int from = 0; from < c_.size(); ++from)
    if (from != c_.rank() && c_.from(from).what() == kind::remote && !read(from, c_.from(from))) return false;
  return true;
}

// Reads blocks into staging. Places of dead blocks would do, but if another rank has an error no rank may write.
bool node_steps::read(int source, const mailbox& box) {
  owner from;
  std::memcpy(&from, c_.payload(source), sizeof from);
  const std::byte* const seen =
      from.shared.known() ? view_shared(from.shared, as_size(s_.blocks[as_size(source)]) * s_.block_bytes) : nullptr;
  const auto* const list = reinterpret_cast<const listed*>(c_.payload(source) + box.place);
  part_list parts(c_.process(source));
  const std::size_t n = s_.block_bytes;
  for (std::uint64_t i = 0; i < box.size(); ++i) {
    if (staged_.size() == s_.staging) return false;
    const slot to = map_.blocks() + static_cast<slot>(staged_.size());
    staged_.push_back(list[i].index);
    const std::size_t offset = list[i].at * n;
    if (seen != nullptr)
      copy_bytes(units_.at(to), seen + offset, n);
    else
      parts.add(from.data + offset, units_.at(to), n);
  }
  return parts.copy();
}

void node_steps::pack() {
  std::byte* const space = c_.payload(c_.rank());
  std::size_t at = 0;
  for (int r = 0; r < c_.size(); ++r) {
    const std::uint32_t first = out_at_[as_size(r)];
    const std::uint32_t end = out_at_[as_size(r) + 1];
    mailbox& box = c_.to(r);
    box.place = at;
    box.describe(end > first ? transport_ : kind::none, end - first);
    if (transport_ != kind::payload) continue;
    for (std::uint32_t k = first; k < end;) {
      unit_run run{list_[k].at, 1};
      while (++k < end && list_[k].at == run.end()) ++run.length;
      units_.gather(std::span(&run, 1), space + at);
      at += as_size(run.length) * s_.block_bytes;
    }
    at = up_to_line(at);
  }
}

void node_steps::put() {
  for (slot k = 0; k < map_.blocks(); ++k)
    if (map_[k].rank != c_.rank()) map_.clear(k);
  if (moves_here_) map_.place(c_.rank(), map_.slots() - 1, sources_);
  for (std::size_t i = 0; i < staged_.size(); ++i) units_.copy(map_.blocks() + static_cast<slot>(i), staged_[i]);
  for (int from = 0; from < c_.size(); ++from) {
    if (from == c_.rank() || c_.from(from).what() != kind::payload) continue;
    const std::byte* data = c_.payload(from) + c_.from(from).place;
    for (std::uint32_t k = in_at_[as_size(from)]; k < in_at_[as_size(from) + 1];) {
      unit_run run{index_[k], 1};
      while (++k < in_at_[as_size(from) + 1] && index_[k] == run.end()) ++run.length;
      units_.write(data, run);
      data += as_size(run.length) * s_.block_bytes;
    }
  }
}

void node_steps::account(statistics& s) const noexcept {
  s.rounds += 2;
  for (std::size_t r = 0; r + 1 < out_at_.size(); ++r) s.messages += out_at_[r + 1] > out_at_[r] ? 1U : 0U;
  s.bytes_sent += out_at_.back() * s_.block_bytes;
  s.bytes_copied += units_.bytes_copied() - copied_;
  s.peak_memory = std::max(s.peak_memory, memory_.used() + space_);
}

}  // namespace taquin::detail
