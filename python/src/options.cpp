#include "options.hpp"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <type_traits>

namespace py = pybind11;

namespace taquin::python {

namespace {

template <class Value>
void take(const py::handle& given, Value& value) {
  if constexpr (std::is_enum_v<Value>)
    value = static_cast<Value>(given.cast<int>());
  else if constexpr (std::is_same_v<Value, time_limit>)
    value = given.cast<float>();
  else
    value = given.cast<Value>();
}

}  // namespace

options choices::for_exchange() {
  options o = view();
  o.stats = &stats;
  return o;
}

redistribute_options choices::for_redistribution() {
  redistribute_options o;
  o.algorithm = algorithm;
  o.memory = memory;
  o.check = check;
  o.least_progress = least_progress;
  o.stats = &stats;
  o.on_timeout = on_timeout;
  o.timeout = timeout;
  o.in_flight = in_flight;
  return o;
}

layout_options choices::for_layouts() {
  layout_options o;
  o.memory = memory;
  o.scale = scale;
  o.conjugate = conjugate;
  o.stats = &stats;
  o.progress = progress;
  o.on_timeout = on_timeout;
  o.timeout = timeout;
  o.in_flight = in_flight;
  return o;
}

void read(choices& into, const py::dict& keywords) {
  for (const auto& [key, value] : keywords) {
    if (value.is_none()) continue;
    const auto name = key.cast<std::string>();
#define TAQUIN_OPTION(NAME, ...) \
  if (name == #NAME) take(value, into.NAME);
#include "base/options.def"
    if (name == "invalid") into.invalid_text = value.cast<std::string>();
    if (name == "scale") into.scale = value.cast<std::complex<double>>();
    if (name == "least_progress") into.least_progress = value.cast<double>();
    if (name == "conjugate") into.conjugate = value.cast<bool>();
    if (name == "numbers") into.numbers = value.cast<std::string>();
    if (name == "elements") into.elements = value.cast<std::string>();
  }
}

py::dict table() {
  py::dict rows;
#define TAQUIN_OPTION(NAME, FIELD, KIND, ...)                                                                     \
  {                                                                                                               \
    py::list words;                                                                                               \
    for (const detail::option_value& v : values_of(detail::option_rows::NAME)) words.append(std::string(v.word)); \
    rows[#NAME] = py::make_tuple(#KIND, py::tuple(words));                                                        \
  }
#include "base/options.def"
  return rows;
}

py::dict to_python(const statistics& s) {
  py::dict d;
  d["starts"] = s.starts;
  d["rounds"] = s.rounds;
  d["messages"] = s.messages;
  d["bytes_sent"] = s.bytes_sent;
  d["bytes_copied"] = s.bytes_copied;
  d["peak_memory"] = s.peak_memory;
  d["algorithm"] = std::string(s.algorithm);
  return d;
}

}  // namespace taquin::python
