#include "algorithms/sparse/choice.hpp"

#include <memory>

namespace taquin::detail {

namespace {

constexpr std::uint64_t worth_measuring = 4;  // only larger differences of predicted times are trusted

}  // namespace

// Integers, so that every core computes the same. Algorithms that may have more messages waiting at a rank than
// `in_flight` are not considered.
std::pair<const sparse_algorithm*, const sparse_algorithm*> best_sparse(const sparse_shape& s) noexcept {
  const sparse_algorithm* first = nullptr;
  const sparse_algorithm* second = nullptr;
  for (const sparse_algorithm* a : sparse_algorithms()) {
    if (!a->suits(s)) continue;
    if (first == nullptr || a->nanoseconds(s) < first->nanoseconds(s)) {
      second = std::exchange(first, a);
    } else if (second == nullptr || a->nanoseconds(s) < second->nanoseconds(s)) {
      second = a;
    }
  }
  if (second != nullptr && second->nanoseconds(s) > worth_measuring * first->nanoseconds(s)) second = nullptr;
  return {first == nullptr ? &notify_tree : first, second};
}

sparse_choices& sparse_choices::of(mpi::communicator& comm) {
  if (sparse_choices* const made = comm.kept.get(kept_as)) return *made;
  return *comm.kept.put(kept_as, std::make_shared<sparse_choices>());
}

void sparse_choices::learn(std::uint64_t nanoseconds) noexcept {
  if (std::exchange(running_, false)) contests_[kind_].learn(turn_, nanoseconds);
}

const sparse_algorithm* sparse_choices::choose(const sparse_shape& s, const sparse_algorithm* measured) noexcept {
  kind_ = kind_of(s);
  contest& c = contests_[kind_];
  if (c.who(0) == nullptr) {
    const auto [first, second] = best_sparse(s);
    c = measured != nullptr && measured->suits(s) ? contest(measured, nullptr) : contest(first, second);
  }
  turn_ = c.next();
  running_ = c.who(turn_)->suits(s);
  return running_ ? c.who(turn_) : best_sparse(s).first;
}

}  // namespace taquin::detail
