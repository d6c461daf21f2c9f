#include "harness/why_not.hpp"

namespace taquin::harness {

using detail::algorithm;
using detail::shape;

std::string why_not(const algorithm& a, const shape& s) {
  shape other = s;
  other.in_place = !s.in_place;
  other.symmetric = true;
  other.one_unit = other.in_place;
  if (a.supports(other)) return s.in_place ? "needs separate buffers: leave out --in-place" : "needs --in-place";
  other = s;
  other.uniform = true;
  if (a.supports(other)) return "needs equal blocks";
  other.in_place = false;
  if (a.supports(other)) return "needs equal blocks and separate buffers";
  other = s;
  other.symmetric = true;
  if (a.supports(other)) return "needs equal counts of each pair";
  other.kind = exchange::form::alltoall;
  other.uniform = true;
  if (a.supports(other)) return "needs an alltoall";
  other.in_place = false;
  return a.supports(other) ? "needs an alltoall with separate buffers" : "does not serve such exchanges";
}

}  // namespace taquin::harness
