#include "c/invalid_text.hpp"

#include <utility>

#include "datatypes/committed.hpp"
#include "taquin/taquin.h"

namespace {
thread_local const char* pending = nullptr;
}

const char* taquin::detail::take_invalid_text() noexcept { return std::exchange(pending, nullptr); }

namespace taquin::detail {

namespace {

const char* invalid_text_of_side(const blocks& side, int peers) noexcept {
  if (side.types == nullptr) return taquin::detail::invalid_text_of(side.element.type);
  const char* text = nullptr;
  for (int k = 0; k < peers && text == nullptr; ++k)
    if (side.counts.missing() || side.counts[k] > 0) text = taquin::detail::invalid_text_of(side.types[k]);
  return text;
}

}  // namespace

exchange with_invalid_text(exchange x) noexcept {
  int peers = 0;
  if (x.comm == MPI_COMM_NULL) return x;
  if (x.send.types != nullptr || x.recv.types != nullptr) {
    int inter = 0;
    PMPI_Comm_test_inter(x.comm, &inter);
    if (inter != 0)
      PMPI_Comm_remote_size(x.comm, &peers);
    else
      PMPI_Comm_size(x.comm, &peers);
  }
  const char* text = take_invalid_text();
  if (text == nullptr) text = invalid_text_of_side(x.recv, peers);
  if (text == nullptr && !x.in_place) text = invalid_text_of_side(x.send, peers);
  if (text != nullptr) invalid_exchange::set(x, text);
  return x;
}

}  // namespace taquin::detail

void TAQUIN_Set_invalid_argument(const char* what) { pending = what; }
