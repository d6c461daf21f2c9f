// One random sparse exchange from filling to comparison.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "soak/layout.hpp"
#include "soak/program.hpp"
#include "taquin/sparse.hpp"

namespace taquin::soak {

/// The properties of a random sparse exchange, known to all ranks of a communicator.
struct sparse_recipe {
  /// To whom blocks go.
  enum class to : std::uint8_t { anybody, one, next, nobody };

  std::uint64_t seed = 0;
  int p = 1;
  to whom = to::anybody;
  int most_blocks = 0;   ///< of a rank; several may go to one
  count_t most = 0;      ///< elements of a block
  std::size_t type = 0;  ///< of the elements, on both sides
  std::string_view algorithm = "auto";
  limit memory = limit::none;
  int in_flight = 0;
  int rounds = 1;     ///< data are sent so often, along what was found once
  count_t chunk = 0;  ///< elements of a chunk, on every other rank; 0: all are received together
  bool replies = false;
  bool delays = false;
  company beside = company::nothing;
};

sparse_recipe make_sparse_recipe(std::uint64_t seed, int p);
inline constexpr int sparse_simplifications = 12;
bool simplify(sparse_recipe& r, int way);
std::string describe(const sparse_recipe& r);

/// The memory of a rank's sparse exchanges, kept from one to the next.
class sparse_arrays {
 public:
  /// Runs the recipe. Returns the error; empty when there is none. Collective.
  std::string run(const sparse_recipe& r, const turn& t);

 private:
  /// A block that `from` sends, as its block number `number`, and its elements.
  struct block {
    int from;
    int number;
    count_t elements;
  };
  static constexpr std::size_t margin = 64;
  void draw(const sparse_recipe& r, int rank);
  void write(const sparse_recipe& r, std::span<const block> blocks, int round, bool answers,
             std::vector<std::byte>& to);
  std::string compare(const sparse_recipe& r, std::span<const block> blocks, int round, bool answers, const turn& t);
  [[nodiscard]] std::string check_sources(const sparse_call& call) const;
  std::string receive(const sparse_recipe& r, sparse_call& call, int round, const turn& t);
  std::string reply(const sparse_recipe& r, sparse_call& call, int round, const turn& t);
  std::string exchange(const sparse_recipe& r, const turn& t);

  std::vector<int> to_;              // of this rank's blocks
  std::vector<count_t> counts_;      // of them
  std::vector<block> arrived_, go_;  // to this rank, by source; from it
  std::vector<std::byte> sent_, data_, got_, image_, row_;
};

}  // namespace taquin::soak
