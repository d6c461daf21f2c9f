// How many messages may be in flight where an option leaves it open.
#pragma once

namespace taquin::detail {

/// The bound that `in_flight` of any options asks for; 0 asks for the usual one.
constexpr int in_flight_bound(int asked) noexcept { return asked > 0 ? asked : 32; }

}  // namespace taquin::detail
