// main() of the tests without ranks.
#include <gtest/gtest.h>

#include "support/chosen_files.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  taquin::test::choose_files(argc, argv);
  return RUN_ALL_TESTS();
}
