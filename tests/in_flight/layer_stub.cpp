// A counter that always says 0: the tests here must notice.
#include "in_flight/layer.hpp"

namespace taquin::test::flood {

void begin() {}
peaks counted() { return {}; }
std::int64_t left() { return 0; }

}  // namespace taquin::test::flood
