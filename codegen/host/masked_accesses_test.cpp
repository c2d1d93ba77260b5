// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/masked_accesses.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "codegen/host/ir_for_tests.h"
#include "codegen/host/optimise.h"

namespace dhpvm::codegen {
namespace {

// Sixteen lanes, those in `mask`, copy from `from` to `to`; a load gives 77 in lane 3 where that is off.
std::string copy_lanes(unsigned bits) {
  return fmt::format(R"(
declare <16 x i{0}> @llvm.masked.load.v16i{0}.p0(ptr, i32, <16 x i1>, <16 x i{0}>)
declare void @llvm.masked.store.v16i{0}.p0(<16 x i{0}>, ptr, i32, <16 x i1>)
define void @copy(ptr %from, ptr %to, ptr %loaded, i16 %bits) {{
  %mask = bitcast i16 %bits to <16 x i1>
  %instead = insertelement <16 x i{0}> zeroinitializer, i{0} 77, i64 3
  %values = call <16 x i{0}> @llvm.masked.load.v16i{0}.p0(ptr %from, i32 {1}, <16 x i1> %mask,
                                                          <16 x i{0}> %instead)
  store <16 x i{0}> %values, ptr %loaded, align 1
  call void @llvm.masked.store.v16i{0}.p0(<16 x i{0}> %values, ptr %to, i32 {1}, <16 x i1> %mask)
  ret void
}})",
                     bits, bits / 8);
}

// Two pages; the second one is inaccessible.
class LastPage {
 public:
  LastPage() : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const memory = mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    begin_ = static_cast<std::byte*>(memory);
    if (mprotect(begin_ + size_, size_, PROT_NONE) != 0) release();
  }
  ~LastPage() { release(); }
  LastPage(const LastPage&) = delete;
  LastPage& operator=(const LastPage&) = delete;

  bool is_there() const { return begin_ != nullptr; }
  std::byte* end() const { return begin_ + size_; }

 private:
  void release() {
    if (begin_ != nullptr) munmap(begin_, 2 * size_);
    begin_ = nullptr;
  }

  std::size_t size_;
  std::byte* begin_ = nullptr;
};

template <typename Element>
void check(const char* cpu) {
  constexpr unsigned kLanes = 16;
  const auto compiler = new_compiler(cpu);
  auto code = compiler->compile(parse(*compiler, copy_lanes(8 * sizeof(Element))), Pipeline::kKernels);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  const auto copy = code->template function<void(const Element*, Element*, Element*, std::uint16_t)>("copy");
  const LastPage page;
  ASSERT_TRUE(page.is_there());
  // As many elements as fit before the end of the page; the lanes after it are off.
  for (unsigned inside = 0; inside <= kLanes; ++inside) {
    auto* const from = reinterpret_cast<Element*>(page.end() - inside * sizeof(Element));
    for (unsigned lane = 0; lane < inside; ++lane) from[lane] = static_cast<Element>(lane * 31 + 5);
    for (const unsigned pattern : {0xffffU, 0x8001U, 0x0f30U, 0U, 0xa5a5U, 0x0100U}) {
      const unsigned mask = pattern & ((1U << inside) - 1U);
      std::array<Element, kLanes> to{};
      std::array<Element, kLanes> loaded{};
      copy(from, to.data(), loaded.data(), static_cast<std::uint16_t>(mask));
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const bool is_active = (mask >> lane & 1U) != 0;
        const auto expected = is_active ? static_cast<Element>(lane * 31 + 5) : Element{0};
        EXPECT_EQ(to[lane], expected) << inside << " " << mask << " " << lane;
        EXPECT_EQ(loaded[lane], is_active || lane != 3 ? expected : Element{77});
      }
    }
  }
}

TEST(MaskedAccesses, CopyTheActiveLanes) {
  for (const char* cpu : {
#if defined(__x86_64__)
           "x86-64",
#endif
           "native"}) {
    check<std::uint8_t>(cpu);
    check<std::uint16_t>(cpu);
    check<std::uint32_t>(cpu);
    check<std::uint64_t>(cpu);
  }
}

// No lane is active, and the address is invalid.
TEST(MaskedAccesses, NothingIsReadForNoLane) {
  const auto compiler = new_compiler();
  auto code = compiler->compile(parse(*compiler, copy_lanes(8)), Pipeline::kKernels);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  std::array<std::uint8_t, 16> loaded{};
  code->function<void(const std::uint8_t*, std::uint8_t*, std::uint8_t*, std::uint16_t)>("copy")(
      reinterpret_cast<const std::uint8_t*>(16), nullptr, loaded.data(), 0);
  EXPECT_EQ(loaded[3], 77);
}

}  // namespace
}  // namespace dhpvm::codegen
