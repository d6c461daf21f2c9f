#include "exchange.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "handles.hpp"

namespace py = pybind11;

namespace taquin::python {

namespace {

__extension__ using wide = __int128;

std::vector<count_t> copy(const py::handle& array) {
  const auto a = array.cast<count_array>();
  return {a.data(), a.data() + a.size()};
}

std::string text(wide v) {
  return v >= INT64_MIN && v <= INT64_MAX ? std::to_string(static_cast<count_t>(v)) : std::string("beyond 64 bits");
}

// The first block that does not lie in the side's buffer. alltoall: `repeat` blocks side by side are one.
std::optional<std::string> outside(const side& s, std::string_view form, const char* name, int repeat) {
  std::vector<element> elements;
  for (const MPI_Datatype type : s.types) elements.push_back(element::of(type));
  for (std::size_t i = 0; i < s.counts.size(); ++i) {
    const element& e = elements[elements.size() > 1 ? i : 0];
    const wide count = wide{s.counts[i]} * repeat;
    if (count <= 0 || e.true_extent == 0) continue;  // negative counts are the library's to report
    const wide first = wide{s.displs[i]} * (form == "alltoallw" ? 1 : e.extent) + e.true_lb;
    const wide last = first + (count - 1) * e.extent;
    const wide begin = std::min(first, last);
    const wide end = std::max(first, last) + e.true_extent;
    if (begin >= 0 && end <= s.bytes) continue;
    return std::string(name) + (form == "alltoall" ? " blocks of all ranks" : " block of rank " + std::to_string(i)) +
           " (" + text(count) + " elements) would be bytes " + text(begin) + " to " + text(end) + " of a buffer of " +
           std::to_string(s.bytes) + " bytes";
  }
  return std::nullopt;
}

int peers_of(MPI_Comm comm) {
  int inter = 0;
  int ranks = 0;
  MPI_Comm_test_inter(comm, &inter);
  (inter != 0 ? MPI_Comm_remote_size : MPI_Comm_size)(comm, &ranks);
  return ranks;
}

}  // namespace

exchange invalid_exchange_of(std::string_view form, bool in_place, MPI_Comm comm, const char* text) {
  static constexpr count_t none = 0;
  static const MPI_Datatype no_type = MPI_BYTE;
  const count_view zero(none, none);
  const void* from = in_place ? MPI_IN_PLACE : nullptr;
  exchange x = exchange::alltoall(from, 0, MPI_BYTE, nullptr, 0, MPI_BYTE, comm);
  if (form == "alltoallv") x = exchange::alltoallv(from, zero, zero, MPI_BYTE, nullptr, zero, zero, MPI_BYTE, comm);
  if (form == "alltoallw") x = exchange::alltoallw(from, zero, zero, &no_type, nullptr, zero, zero, &no_type, comm);
  if (form == "alltoallv_in_place") x = exchange::alltoallv_in_place(nullptr, zero, zero, zero, zero, MPI_BYTE, comm);
  detail::invalid_exchange::set(x, text);
  return x;
}

side side::of(const py::handle& given) {
  side s;
  s.address = given.attr("address").cast<std::uintptr_t>();
  s.bytes = given.attr("nbytes").cast<count_t>();
  s.counts = copy(given.attr("counts"));
  s.displs = copy(given.attr("displs"));
  for (const auto& type : given.attr("types")) s.types.push_back(datatype_of(type));
  return s;
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): Python gives addresses as numbers
void* side::base() const noexcept { return reinterpret_cast<void*>(address); }

description::description(std::string name, const py::object& given_send, const py::object& given_recv,
                         const py::handle& given_comm, choices& c)
    : form(std::move(name)), in_place(given_send.is_none()), comm(comm_of(given_comm)) {
  if (!c.invalid_text.empty()) return;
  try {
    take(given_send, given_recv, c);
  } catch (const std::exception& e) {  // all ranks get the error
    c.invalid_text = e.what();
  }
}

void description::take(const py::object& given_send, const py::object& given_recv, choices& c) {
  recv = side::of(given_recv);
  if (!in_place) send = side::of(given_send);
  const int repeat = form == "alltoall" ? peers_of(comm) : 1;
  auto invalid = outside(recv, form, "the receive", repeat);
  if (!invalid && !in_place) invalid = outside(send, form, "the send", repeat);
  if (invalid) c.invalid_text = *invalid;
}

exchange description::get(const choices& c) const {
  if (!c.invalid_text.empty()) return invalid_exchange_of(form, in_place, comm, c.invalid_text.c_str());
  exchange x;
  const auto view = [](const std::vector<count_t>& v) { return count_view(v.data()); };
  const void* from = in_place ? MPI_IN_PLACE : send.base();
  const MPI_Datatype sent = send.types.empty() ? MPI_DATATYPE_NULL : send.types[0];
  const MPI_Datatype received = recv.types.empty() ? MPI_DATATYPE_NULL : recv.types[0];
  if (form == "alltoall") {
    x = exchange::alltoall(from, in_place ? 0 : send.counts[0], sent, recv.base(), recv.counts[0], received, comm);
  } else if (form == "alltoallv") {
    x = exchange::alltoallv(from, view(send.counts), view(send.displs), sent, recv.base(), view(recv.counts),
                            view(recv.displs), received, comm);
  } else if (form == "alltoallw") {
    x = exchange::alltoallw(from, view(send.counts), view(send.displs), send.types.data(), recv.base(),
                            view(recv.counts), view(recv.displs), recv.types.data(), comm);
  } else {
    x = exchange::alltoallv_in_place(recv.base(), view(send.counts), view(send.displs), view(recv.counts),
                                     view(recv.displs), received, comm);
  }
  return x;
}

}  // namespace taquin::python
