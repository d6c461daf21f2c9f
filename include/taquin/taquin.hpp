// Everything that taquin offers to C++ programs.
#pragma once

#include "taquin/alltoall.hpp"        // IWYU pragma: export
#include "taquin/cost_model.hpp"      // IWYU pragma: export
#include "taquin/datatypes.hpp"       // IWYU pragma: export
#include "taquin/element_types.hpp"   // IWYU pragma: export
#include "taquin/error.hpp"           // IWYU pragma: export
#include "taquin/exchange.hpp"        // IWYU pragma: export
#include "taquin/failure.hpp"         // IWYU pragma: export
#include "taquin/in_place.hpp"        // IWYU pragma: export
#include "taquin/layout.hpp"          // IWYU pragma: export
#include "taquin/migrate.hpp"         // IWYU pragma: export
#include "taquin/migrate_arrays.hpp"  // IWYU pragma: export
#include "taquin/options.hpp"         // IWYU pragma: export
#include "taquin/patterns.hpp"        // IWYU pragma: export
#include "taquin/plan.hpp"            // IWYU pragma: export
#include "taquin/range_plans.hpp"     // IWYU pragma: export
#include "taquin/ranges.hpp"          // IWYU pragma: export
#include "taquin/redistribute.hpp"    // IWYU pragma: export
#include "taquin/shared_buffer.hpp"   // IWYU pragma: export
#include "taquin/sparse.hpp"          // IWYU pragma: export
#include "taquin/version.h"           // IWYU pragma: export
