// Recorded calls as the library sees exchanges.
#pragma once

#include "exchange/shape.hpp"
#include "workloads/traffic.hpp"

namespace taquin::workloads {

/// What such a call is to the library: calls between neighbours are exchanges with counts.
exchange::form form_of(call_kind kind);

/// What is known of a recorded call, as if all its ranks were on one node.
detail::shape shape_of(const traffic& t, const recorded_call& call);

}  // namespace taquin::workloads
