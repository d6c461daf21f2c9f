#include "call/failure_map.hpp"

#include <algorithm>
#include <utility>

namespace taquin::detail {

namespace {
thread_local failure::block_map last;
thread_local std::function<failure::block_map()> maker;
}  // namespace

void keep_map(failure::block_map&& map) noexcept {
  maker = nullptr;
  last = std::move(map);
}

void keep_map(std::function<failure::block_map()>&& make) noexcept {
  last = {};
  maker = std::move(make);
}

void forget_map() noexcept { keep_map(failure::block_map{}); }

failure::block_map take_map() noexcept {
  failure::block_map map = failure::blocks();
  forget_map();
  return map;
}

void doubt(failure::block_map& map, count_t at, count_t length) {
  for (auto list : {&failure::block_map::outgoing, &failure::block_map::incoming}) {
    std::vector<failure::part> all;
    for (const failure::part& p : map.*list) {
      const bool placed = p.what == failure::state::stands || p.what == failure::state::arrived;
      const count_t begin = placed ? std::clamp(at - p.at, count_t{0}, p.length) : p.length;
      const count_t end = placed ? std::clamp(at + length - p.at, count_t{0}, p.length) : p.length;
      const auto add = [&](failure::state what, count_t from, count_t to) {
        if (from < to) all.push_back({what, p.peer, p.offset + from, to - from, p.at < 0 ? -1 : p.at + from});
      };
      add(p.what, 0, begin);
      add(failure::state::unknown, begin, end);
      add(p.what, std::max(begin, end), p.length);
    }
    map.*list = std::move(all);
  }
}

void append(std::vector<failure::part>& to, const failure::part& p) {
  const auto follows = [&](const failure::part& a) {
    return a.what == p.what && a.peer == p.peer && a.offset + a.length == p.offset &&
           (a.at < 0 ? p.at < 0 : a.at + a.length == p.at);
  };
  if (!to.empty() && follows(to.back())) {
    to.back().length += p.length;
  } else {
    to.push_back(p);
  }
}

}  // namespace taquin::detail

namespace taquin::failure {

const block_map& blocks() noexcept {
  if (detail::maker) {
    try {
      detail::keep_map(detail::maker());
    } catch (const std::exception&) {  // without memory for it the map is not known
      detail::forget_map();
    }
  }
  return detail::last;
}

}  // namespace taquin::failure
