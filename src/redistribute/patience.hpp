// How long a redistribution or a migration may wait.
#pragma once

#include "node/call_watch.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::detail {

inline patience patience_of(const redistribute_options& o) noexcept {
  return patience::of({.on_timeout = o.on_timeout, .timeout = o.timeout});
}

}  // namespace taquin::detail
