// One random redistribution or migration from filling to comparison.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "soak/layout.hpp"
#include "soak/program.hpp"

namespace taquin::soak {

/// The properties of a random redistribution, known to all ranks of a communicator.
struct block_recipe {
  std::uint64_t seed = 0;
  int p = 1;
  int most = 0;        ///< blocks on a rank
  bool equal = false;  ///< as many on all ranks
  int live = 100;      ///< of 100 blocks
  int length = 1;      ///< elements of a block
  std::size_t type = 0;
  std::string_view algorithm = "auto";
  double least_progress = 0;
  bool check = true;
  limit memory = limit::none;
  int starts = 1;
  bool tested = false;
  bool delays = false;
  company beside = company::nothing;
  bool migrates = false;  ///< taquin::migrate of a vector instead
  bool at_once = false;   ///< a start and its wait are one call
};

block_recipe make_block_recipe(std::uint64_t seed, int p);
inline constexpr int block_simplifications = 12;
bool simplify(block_recipe& r, int way);
std::string describe(const block_recipe& r);

/// The memory of a rank's redistributions, kept from one to the next.
class block_arrays {
 public:
  /// Runs the recipe. Returns the error; empty when there is none. Collective.
  std::string run(const block_recipe& r, const turn& t);

 private:
  struct place {
    int rank;
    int index;
  };
  void draw_map(const block_recipe& r, int salt);
  void fill(const block_recipe& r, int rank, int salt, std::byte* image);
  std::size_t wrong(const block_recipe& r, int rank, int salt);
  std::string redistribute(const block_recipe& r, const turn& t);
  std::string migrate(const block_recipe& r, const turn& t);

  std::vector<int> sizes_, first_;    // blocks of each rank, and before it
  std::vector<place> from_, to_;      // the k-th live block is at from_[k] and goes to to_[k]
  std::vector<int> ranks_, indices_;  // this rank's map
  std::vector<std::byte> data_, image_, row_;
  std::vector<std::array<std::uint64_t, 2>> elements_;
};

}  // namespace taquin::soak
