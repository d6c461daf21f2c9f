#include "node/peer_records.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>

#include "base/sizes.hpp"
#include "node/single_copy.hpp"

namespace taquin::detail {

using mpi::progress_record;

namespace {

// How a record begins.
struct record_head {
  std::uint64_t calls = 0;
  std::uint32_t identity = 0;
  std::array<char, sizeof(mpi::call_record::name)> name{};
};
static_assert(offsetof(mpi::call_record, identity) == offsetof(record_head, identity) &&
              offsetof(mpi::call_record, name) == offsetof(record_head, name));

}  // namespace

rank_state poll_at(const peer_record& place) {
  rank_state s;
  if (place.process < 0) return s;
  const int code = single_copy(place.process, place.last, &s.last, sizeof s.last);
  s.gone = code == ESRCH || (kill(place.process, 0) != 0 && errno == ESRCH);
  if (code != 0 || s.gone) return s;
  record_head here;
  s.known = single_copy(place.process, place.calls, &here, sizeof here) == 0 && here.identity == place.identity;
  if (s.known) s.calls = here.calls;
  const std::uint64_t record = s.last & ~progress_record::bits;
  s.elsewhere = record != 0 && record != place.calls;
  if (!s.elsewhere || (s.last & progress_record::inside) == 0) return s;
  record_head other;
  std::uint64_t last = 0;
  const bool read = single_copy(place.process, record, &other, sizeof other) == 0 &&
                    single_copy(place.process, place.last, &last, sizeof last) == 0;
  if (!read || last != s.last) {  // it has left that call, whose record may have been freed
    s.last &= ~progress_record::inside;
    return s;
  }
  other.name.back() = '\0';
  s.number = other.calls;
  s.where = other.name.data();
  return s;
}

std::string name_of_call(std::uint64_t word) {
  static constexpr std::array<const char*, 8> names{"alltoall", "alltoallv", "alltoallw", "redistribution",
                                                    "sparse",   "migration", "",          ""};
  return fmt::format("{}{}{}", (word & progress_record::plan) != 0 ? "plan of " : "",
                     names[as_size(progress_record::kind(word))],
                     (word & progress_record::in_place) != 0 ? " in place" : "");
}

std::string describe(const rank_state& s) {
  if (s.gone) return "its process has ended";
  if (!s.known) return "nothing is known of it";
  std::string text =
      s.calls == 0 ? "it has made no call here" : fmt::format("its last call here was number {}", s.calls);
  const bool inside = (s.last & progress_record::inside) != 0;
  if (!inside) return text + "; it is not in taquin";
  if (!s.elsewhere) return text + fmt::format(" ({}), in which it is", name_of_call(s.last));
  return text + fmt::format("; it is in call {} ({}) of {}", s.number, name_of_call(s.last),
                            s.where.empty() ? "another communicator" : "'" + s.where + "'");
}

}  // namespace taquin::detail
