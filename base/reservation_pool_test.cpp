// SPDX-License-Identifier: Apache-2.0
#include "base/reservation_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace dhpvm {
namespace {

constexpr std::size_t kPage = 4096;

TEST(ReservationPool, GivesBackWhatFits) {
  ReservationPool pool;
  Reservation first = pool.take(4 * kPage, kPage);
  ASSERT_NE(first.data(), nullptr);
  std::byte* const address = first.data();
  pool.give_back(std::move(first));
  const Reservation other = pool.take(8 * kPage, kPage);
  EXPECT_EQ(other.size(), 8 * kPage);
  EXPECT_NE(other.data(), address);
  const Reservation again = pool.take(4 * kPage, kPage);
  EXPECT_EQ(again.data(), address);
}

TEST(ReservationPool, KeepsTheAlignment) {
  ReservationPool pool;
  std::vector<Reservation> small;
  // At most one in 512 of these is aligned to 2 MiB by chance.
  for (int i = 0; i < 8; ++i) small.push_back(pool.take(kPage, kPage));
  for (Reservation& reservation : small) pool.give_back(std::move(reservation));
  const Reservation aligned = pool.take(kPage, kHugePage);
  ASSERT_NE(aligned.data(), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned.data()) % kHugePage, 0u);
}

TEST(ReservationPool, KeepsFew) {
  ReservationPool pool;
  std::vector<Reservation> many;
  for (int i = 0; i < 200; ++i) many.push_back(pool.take(kPage, kPage));
  for (Reservation& reservation : many) pool.give_back(std::move(reservation));
  for (Reservation& reservation : many) {
    reservation = pool.take(kPage, kPage);
    ASSERT_NE(reservation.data(), nullptr);
    *reservation.data() = std::byte{0};
  }
}

TEST(ReservationPool, RefusesWhatTheSystemRefuses) {
  ReservationPool pool;
  pool.give_back(pool.take(kPage, kPage));
  EXPECT_EQ(pool.take(SIZE_MAX / kPage * kPage - kPage, kPage).data(), nullptr);
  pool.give_back({});
  EXPECT_EQ(take_reservation(nullptr, kPage, kPage).size(), kPage);
}

// As in a process that locks all its memory, whose pages the system does not take back.
TEST(Reservation, DiscardsLockedPages) {
  const Reservation pages(2 * kPage, kPage);
  ASSERT_NE(pages.data(), nullptr);
  if (mlock(pages.data(), kPage) != 0) GTEST_SKIP() << "this process may lock no memory";
  pages.data()[0] = std::byte{1};
  pages.data()[kPage] = std::byte{2};
  pages.discard(0, 2 * kPage);
  EXPECT_EQ(pages.data()[0], std::byte{0});
  EXPECT_EQ(pages.data()[kPage], std::byte{0});
}

TEST(ReservationPool, IsForSeveralThreads) {
  ReservationPool pool;
  const auto work = [&pool] {
    for (int i = 0; i < 200; ++i) {
      Reservation mine = pool.take(kPage, kPage);
      ASSERT_EQ(*mine.data(), std::byte{0}) << "another thread writes to it";
      *mine.data() = std::byte{1};
      *mine.data() = std::byte{0};
      pool.give_back(std::move(mine));
    }
  };
  std::thread other(work);
  work();
  other.join();
}

}  // namespace
}  // namespace dhpvm
