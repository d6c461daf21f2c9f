// How many messages may be in flight if an option leaves it open.
#pragma once

namespace taquin::detail {

/// The bound of `in_flight` in any options; 0 means the default.
constexpr int in_flight_bound(int requested) noexcept { return requested > 0 ? requested : 32; }

}  // namespace taquin::detail
