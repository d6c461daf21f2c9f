// spread_out for others: its direct messages, for algorithms that send only some blocks that way.
#pragma once

#include "algorithms/algorithm.hpp"
#include "exchange/shape.hpp"
#include "schedule/schedule.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// One round: the blocks of more than `above` bytes to rank+1, rank+2, …, none to the rank itself.
void add_direct_round(schedule& s, const local_exchange& x, const options& o, count_t above);

/// Its parts, at most, own types included.
schedule_size direct_size(const shape& s) noexcept;

}  // namespace taquin::detail
