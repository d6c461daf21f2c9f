// Recorded calls as the library sees exchanges.
#pragma once

#include "exchange/shape.hpp"
#include "workloads/traffic.hpp"

namespace taquin::workloads {

/// The form of such a call for the library: calls between neighbours are exchanges with counts.
exchange::form form_of(call_kind kind);

/// The shape of a recorded call, as if all its ranks were on one node.
detail::shape shape_of(const traffic& t, const recorded_call& call);

}  // namespace taquin::workloads
