// Traffic files: what is read is written and read again as the same.
#include "workloads/traffic.hpp"

#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace taquin::workloads;
  try {
    const traffic t = parse_traffic(taquin::fuzz::text_of(data, size));
    const traffic again = parse_traffic(traffic_text(t));
    taquin::fuzz::require(again.matrices == t.matrices && again.calls.size() == t.calls.size());
    for (const auto& m : t.matrices) taquin::fuzz::require(m.total() >= 0 && m.most_sent() <= m.total());
  } catch (const traffic_error&) {
  }
  return 0;
}
