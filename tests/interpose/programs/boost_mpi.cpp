// boost_mpi [STEPS]: Boost.MPI's all_to_all of numbers and of strings, which it packs; every value is checked.
#undef OMPI_SKIP_MPICXX  // Boost defines it itself
#include <boost/mpi.hpp>
#include <boost/serialization/string.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const boost::mpi::environment environment(argc, argv);
  const boost::mpi::communicator world;
  const int rank = world.rank();
  const auto ranks = static_cast<std::size_t>(world.size());
  const int steps = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 20;
  const auto word = [](int from, std::size_t to) {
    return std::string(10 * (to + 1) + static_cast<std::size_t>(from), static_cast<char>('a' + from));
  };
  long long sum = 0;
  for (int step = 0; step < steps; ++step) {
    std::vector<int> numbers;
    std::vector<std::string> words;
    for (std::size_t to = 0; to < ranks; ++to) {
      numbers.push_back(100 * rank + static_cast<int>(to) + step);
      words.push_back(word(rank, to));
    }
    std::vector<int> numbers_here;
    std::vector<std::string> words_here;
    boost::mpi::all_to_all(world, numbers, numbers_here);
    boost::mpi::all_to_all(world, words, words_here);
    for (std::size_t from = 0; from < ranks; ++from) {
      const int f = static_cast<int>(from);
      if (numbers_here[from] != 100 * f + rank + step || words_here[from] != word(f, static_cast<std::size_t>(rank)))
        world.abort(1);
      sum += numbers_here[from] + static_cast<long long>(words_here[from].size());
    }
  }
  for (int turn = 0; turn < world.size(); ++turn) {
    if (turn == rank) std::printf("rank %d: %lld\n", rank, sum);
    std::fflush(stdout);
    world.barrier();
  }
}
