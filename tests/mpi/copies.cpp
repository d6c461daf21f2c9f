// Plugins of one process, each with a taquin of its own inside: the linker joins some of their variables, those of
// inline functions and classes, and leaves others apart.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

namespace {

using exchange = int (*)();

TEST(copies_of_taquin, know_the_nodes_of_their_communicators) {
  std::vector<exchange> all;
  for (const char* const plugin : {COPY_1, COPY_2, COPY_3}) {
    void* const loaded = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(loaded, nullptr) << dlerror();
    all.push_back(reinterpret_cast<exchange>(dlsym(loaded, "exchange_by_nodes")));
    ASSERT_NE(all.back(), nullptr) << dlerror();
  }
  for (const exchange exchanges : all) EXPECT_EQ(exchanges(), 0);
}

}  // namespace
