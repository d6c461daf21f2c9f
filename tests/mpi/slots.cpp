// Objects that layers keep with a communicator: found by their key, and destroyed in order.
#include "mpi/slots.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace taquin::mpi {
namespace {

std::vector<int>& ended() {
  static std::vector<int> all;
  return all;
}

struct thing {
  explicit thing(int n) : number(n) {}
  thing(const thing&) = delete;
  thing& operator=(const thing&) = delete;
  ~thing() { ended().push_back(number); }
  int number;
};

const slot<thing> first;
const slot<const thing> second;

TEST(slots, give_what_was_put_under_the_key) {
  slots kept;
  EXPECT_FALSE(kept.has(first));
  EXPECT_EQ(kept.get(first), nullptr);
  EXPECT_EQ(kept.share(first), nullptr);
  kept.put(first, std::shared_ptr<thing>());
  EXPECT_TRUE(kept.has(first)) << "nothing is there, and that is known";
  EXPECT_EQ(kept.get(first), nullptr);
  const thing* const put = kept.put(second, std::make_shared<const thing>(2));
  EXPECT_EQ(kept.get(second), put);
  EXPECT_EQ(kept.share(second)->number, 2);
  EXPECT_EQ(kept.get(first), nullptr);
}

TEST(slots, destroy_last_put_first) {
  ended().clear();
  {
    slots kept;
    kept.put(second, std::make_shared<const thing>(2));
    kept.put(first, std::make_shared<thing>(1));
    kept.put(second, std::make_shared<const thing>(3));  // instead of the first one
    EXPECT_EQ(ended(), (std::vector{2}));
  }
  EXPECT_EQ(ended(), (std::vector{2, 1, 3}));
}

TEST(slots, live_as_long_as_they_are_shared) {
  std::shared_ptr<const thing> shared;
  {
    slots kept;
    kept.put(second, std::make_shared<const thing>(4));
    shared = kept.share(second);
    ended().clear();
  }
  EXPECT_TRUE(ended().empty());
  EXPECT_EQ(shared->number, 4);
}

}  // namespace
}  // namespace taquin::mpi
