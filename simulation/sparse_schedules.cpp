#include "base/sizes.hpp"
#include "simulation/evaluate.hpp"
#include "simulation/sparse_moves.hpp"

namespace taquin::detail {

namespace {

constexpr count_t receipt = 1;  // bytes of the acknowledgement of a message to its sender

void add_messages(std::vector<schedule>& all, const whole_moves::round& round) {
  for (const auto& m : round.messages) {
    all[as_size(m.from)].send(m.to, bytes_at(m.bytes));
    all[as_size(m.to)].recv(m.from, bytes_at(m.bytes));
  }
}

void add_receipts(std::vector<schedule>& all, const whole_moves::round& round) {
  for (schedule& s : all) s.end_round();
  for (const auto& m : round.messages) {
    all[as_size(m.to)].send(m.from, bytes_at(receipt));
    all[as_size(m.from)].recv(m.to, bytes_at(receipt));
  }
}

}  // namespace

std::vector<schedule> schedules_of(const sparse_moves& m, int ranks) {
  std::vector<schedule> all;
  all.reserve(as_size(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    all.emplace_back(std::pmr::new_delete_resource()).add_type(element::bytes(1));
  const auto waits = [&](std::size_t k) { return k > 0 && m.synchronizes_at(k); };
  int met = 0;
  for (std::size_t k = 0; k < m.all.rounds.size(); ++k) {
    const auto& round = m.all.rounds[k];
    if (waits(k)) {
      ++met;
      for (schedule& s : all) s.await(met);
    }
    for (const auto& c : round.copies)
      all[as_size(c.rank)].add_copy(bytes_at(c.bytes, c.from), bytes_at(c.bytes, c.to));
    if (m.all.through_memory) {
      for (const auto& one : round.messages)
        all[as_size(one.to)].add_copy(bytes_at(one.bytes, place::shared), bytes_at(one.bytes, place::recv));
    } else {
      add_messages(all, round);
      if (m.taken_at(k)) add_receipts(all, round);
    }
    const bool arrive = waits(k + 1) && k + 1 < m.all.rounds.size();
    for (schedule& s : all) arrive ? s.arrive() : s.end_round();
  }
  return all;
}

}  // namespace taquin::detail
