// The hardware that a machine profile was made on, in familiar terms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <string>

namespace taquin::detail {

struct profile;  // select/selection.hpp

/// A node and its network. Unknown fields are empty or 0.
struct hardware {
  std::string processor;     ///< its model
  int sockets = 0;           ///< sockets
  int cores = 0;             ///< that programs are given
  std::uint64_t memory = 0;  ///< bytes of the node
  std::string mpi;           ///< the MPI library and the standard that it follows
  std::string link;          ///< the fastest network interface and its speed
  bool operator==(const hardware&) const = default;
};

/// Model and sockets from the texts of /proc/cpuinfo and /proc/meminfo. Pure.
hardware core_of(std::istream& cpuinfo, std::istream& meminfo);

/// The fastest interface under a tree like /sys/class: InfiniBand first, then Ethernet that is up.
std::string link_of(const std::filesystem::path& classes);

/// Of this node.
hardware this_hardware();

/// "Intel Xeon ..., 2 sockets, 32 cores, 256 GiB, Open MPI v4.1.4, MPI 3.1, eth0 10000 Mbit/s"
std::string words_of(const hardware& h);

/// Why a profile does not hold on this machine: it has other cores, another MPI library or, where the profile has them,
/// another core model or number of sockets. Empty where it holds. Memory and link change no time of an exchange within
/// a node, and a cluster's nodes differ in them: they are reported, not compared.
std::string made_elsewhere(const profile& p);

}  // namespace taquin::detail
