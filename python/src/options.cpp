#include "options.hpp"

namespace py = pybind11;

namespace taquin::python {

options choices::for_exchange() {
  options o;
  o.algorithm = algorithm;
  o.memory = memory;
  o.check = check;
  o.scratch_sends = scratch_sends;
  o.tune = tune;
  o.progress = progress;
  o.on_timeout = on_timeout;
  o.timeout = timeout;
  o.stats = &stats;
  return o;
}

redistribute_options choices::for_redistribution() {
  redistribute_options o;
  o.algorithm = algorithm;
  o.memory = memory;
  o.check = check;
  o.stats = &stats;
  o.fault = fault_or_null();
  o.on_timeout = on_timeout;
  o.timeout = timeout;
  return o;
}

void read(choices& into, const py::dict& keywords) {
  for (const auto& [key, value] : keywords) {
    const auto name = key.cast<std::string>();
    if (name == "algorithm") into.algorithm = value.cast<std::string>();
    if (name == "memory" && !value.is_none()) into.memory = value.cast<std::size_t>();
    if (name == "check") into.check = value.cast<bool>();
    if (name == "scratch_sends") into.scratch_sends = value.cast<bool>();
    if (name == "tune") into.tune = value.cast<bool>();
    if (name == "progress") into.progress = static_cast<progress_by>(value.cast<int>());
    if (name == "on_timeout") into.on_timeout = static_cast<after_timeout>(value.cast<int>());
    if (name == "timeout") into.timeout = value.cast<float>();
    if (name == "fault" && !value.is_none()) into.fault = value.cast<std::string>();
  }
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
