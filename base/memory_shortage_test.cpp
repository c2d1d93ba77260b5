// SPDX-License-Identifier: Apache-2.0
#include "base/memory_shortage.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/reservation.h"

namespace dhpvm {
namespace {

constexpr std::size_t kPage = 4096;

TEST(MemoryShortage, NamesTheLimitOfMappings) {
  // Neighbours that differ are mappings of their own. Some systems allow millions, which takes too long.
  constexpr std::size_t kPages = 200'000;
  const Reservation pages(kPages * kPage, kPage);
  ASSERT_NE(pages.data(), nullptr);
  for (std::size_t page = 0; page < kPages; page += 2) {
    if (mprotect(pages.data() + page * kPage, kPage, PROT_NONE) == 0) continue;
    EXPECT_NE(memory_shortage().find("vm.max_map_count"), std::string::npos) << memory_shortage();
    return;
  }
  GTEST_SKIP() << "this system allows more than " << kPages << " mappings";
}

TEST(MemoryShortage, NamesTheLimitOfAddressSpace) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit small{.rlim_cur = rlim_t{4} << 40, .rlim_max = before.rlim_max};
  if (setrlimit(RLIMIT_AS, &small) != 0) GTEST_SKIP() << "this system does not limit address space";
  EXPECT_NE(memory_shortage().find("ulimit -v"), std::string::npos) << memory_shortage();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

}  // namespace
}  // namespace dhpvm
