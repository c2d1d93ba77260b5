// SPDX-License-Identifier: Apache-2.0
// Code that is not what it should be, and launches of kernels outside the memory that they were given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "codegen/kernel_abi.h"
#include "offload/remote/worker/client_for_tests.h"

namespace dhpvm::offload::hostile {
namespace {

using ::testing::HasSubstr;

TEST(Hostile, CodeThatIsNotWhatItShouldBe) {
  Site site;
  const auto neighbour = Client::open(site);
  const auto image = site.image("saxpy");
  if (!image.ok()) GTEST_SKIP() << "SKIP: " << image.error().to_string();
  const Bytes& code = *(*image)->bytecode;
  const auto client = Client::open(site);
  wire::Id id = 10;
  const auto load = [&](const Bytes& sent, const wire::Digest& digest, std::uint64_t number) {
    const wire::Id request = id++;
    Records records{wire::LoadKernel{request, kHost, request, digest, sent.size(), number, {}, "a kernel"}};
    for (std::size_t at = 0; at < sent.size(); at += wire::kMaxModulePart) {
      const std::size_t size = std::min(sent.size() - at, wire::kMaxModulePart);
      records.emplace_back(wire::ModulePart{digest,
                                            {sent.begin() + static_cast<std::ptrdiff_t>(at),
                                             sent.begin() + static_cast<std::ptrdiff_t>(at + size)}});
    }
    for (const wire::FromClient& record : records) client->say({record});
    return client->answer(request);
  };
  EXPECT_THAT(load(code, wire::Digest{}, 0), HasSubstr("not what was announced"));
  EXPECT_TRUE(site.wait_log("refused code")) << site.log_;
  const Bytes nonsense(500, std::byte{'x'});
  EXPECT_NE(load(nonsense, site.fabric_->sha256(nonsense), 0), "");
  // With any byte changed, the module is refused or is a harmless program.
  unsigned refused = 0;
  for (std::size_t at = 0; at < code.size(); at += 41) {
    Bytes changed = code;
    changed[at] ^= std::byte{0x15};
    refused += load(changed, site.fabric_->sha256(changed), (*image)->kernel).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, code.size() / 41 / 2);
  EXPECT_THAT(load(code, site.fabric_->sha256(code), 99), HasSubstr("has no kernel 99"));
  EXPECT_TRUE(client->is_served());
  EXPECT_TRUE(neighbour->is_served());
}

// The fate of a launch of a kernel that is loaded so; empty if it is done.
std::string fate_of(const wire::Launch& launch, const wire::FromClient& load, const Bytes& code, Site& site) {
  const auto client = Client::open(site);
  Records records{load};
  for (std::size_t at = 0; at < code.size(); at += wire::kMaxModulePart) {
    const std::size_t size = std::min(code.size() - at, wire::kMaxModulePart);
    records.emplace_back(wire::ModulePart{site.fabric_->sha256(code),
                                          {code.begin() + static_cast<std::ptrdiff_t>(at),
                                           code.begin() + static_cast<std::ptrdiff_t>(at + size)}});
  }
  for (const wire::FromClient& record : records) client->say({record});
  EXPECT_EQ(client->answer(9), "");
  client->say({launch});
  std::string failure = client->fares(1, 1);
  client->leave();  // a worker has 16 sessions at most
  return failure;
}

// A launch of kernel 9, which is saxpy, over 100 elements.
wire::Launch good_launch() {
  wire::Launch good;
  good.order = on_queue(1);
  good.kernel = 9;
  good.space = {{0, 100}};
  good.scalars = {0x40000000};
  const wire::ArrayAt x{wire::Span{2, 0, 400}, 0, {100, 0, 100, {100, 1, 1}}};
  const wire::ArrayAt y{wire::Span{2, 400, 400}, 0, {100, 100, 100, {100, 1, 1}}};
  good.arrays = {x, y};
  good.report = wire::Span{2, 2048, sizeof(codegen::KernelReport)};
  return good;
}

TEST(Hostile, LaunchesOutsideTheirMemory) {
  Site site;
  const auto neighbour = Client::open(site);
  const auto image = site.image("saxpy");
  if (!image.ok()) GTEST_SKIP() << "SKIP: " << image.error().to_string();
  const Bytes& code = *(*image)->bytecode;
  const wire::LoadKernel load{9,  kHost,  9, site.fabric_->sha256(code), code.size(), (*image)->kernel,
                              {}, "saxpy"};
  // The fate of the launch that `change` makes of a good one.
  const auto fares = [&](const std::function<void(wire::Launch&)>& change) {
    wire::Launch launch = good_launch();
    change(launch);
    return fate_of(launch, load, code, site);
  };
  EXPECT_EQ(fares([](wire::Launch&) {}), "");
  const std::vector<std::function<void(wire::Launch&)>> changes = {
      [](wire::Launch& l) {
        l.space = {{0, 101}}, l.arrays[1].shape.writable = l.arrays[1].shape.length = 1000;
      },
      [](wire::Launch& l) { l.arrays[1].shape.writable = 1 << 20, l.space = {{0, 1 << 20}}; },
      [](wire::Launch& l) { l.arrays[1].first = -4; },
      [](wire::Launch& l) { l.arrays[1].first = 4; },
      [](wire::Launch& l) { l.arrays[0].first = std::numeric_limits<std::int64_t>::min(); },
      [](wire::Launch& l) { l.arrays[0].first = 2; },
      [](wire::Launch& l) { l.arrays[1].span->bytes = 396; },
      [](wire::Launch& l) { l.arrays[1] = {std::nullopt, 0, {0, 0, -1, {100, 1, 1}}}; },
      [](wire::Launch& l) {
        l.space = {{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}};
      },
      [](wire::Launch& l) { l.report->bytes = 4; },
      [](wire::Launch& l) { l.report->offset += 1; },
      [](wire::Launch& l) { l.report.reset(); },
      [](wire::Launch& l) { l.arrays.pop_back(); },
      [](wire::Launch& l) { l.scalars.push_back(1); },
      [](wire::Launch& l) { l.space.push_back({0, 1}); },
  };
  for (std::size_t n = 0; n < changes.size(); ++n) {
    const std::string failure = fares(changes[n]);
    EXPECT_THAT(failure, HasSubstr("invalid argument")) << n;
    EXPECT_TRUE(site.wait_log("queue 'a queue' failed")) << site.log_;
    EXPECT_TRUE(neighbour->is_served()) << n;
  }
}

// A kernel for small indices would compute others in 32 bits.
TEST(Hostile, LaunchesWithLargerIndicesThanPromised) {
  Site site;
  const auto image = site.image("saxpy");
  if (!image.ok()) GTEST_SKIP() << "SKIP: " << image.error().to_string();
  const Bytes& code = *(*image)->bytecode;
  const wire::LoadKernel any{9,  kHost,  9, site.fabric_->sha256(code), code.size(), (*image)->kernel,
                             {}, "saxpy"};
  const wire::LoadSmall small{any};
  EXPECT_EQ(fate_of(good_launch(), small, code, site), "");
  const std::int64_t least = codegen::kSmallIndices;
  const std::vector<std::function<void(wire::Launch&)>> changes = {
      [&](wire::Launch& l) { l.arrays[0].shape = {100, 0, least, {least, 1, 1}}; },
      [&](wire::Launch& l) { l.arrays[1].shape = {100, 100, least + 5, {least + 5, 1, 1}}; },
      // The iterations trap: the kernel that was loaded for any index finds that out, one by one.
      [&](wire::Launch& l) { l.space = {{least - 100, least}}; },
      [&](wire::Launch& l) { l.space = {{-1, 100}}; },
  };
  for (const auto& change : changes) {
    wire::Launch launch = good_launch();
    change(launch);
    EXPECT_EQ(fate_of(launch, any, code, site), "");
    EXPECT_THAT(fate_of(launch, small, code, site), HasSubstr("its kernel was loaded for others"));
  }
  // The last that are small.
  wire::Launch launch = good_launch();
  launch.arrays[0].shape = {100, 0, least - 1, {least - 1, 1, 1}};
  EXPECT_EQ(fate_of(launch, small, code, site), "");
}

}  // namespace
}  // namespace dhpvm::offload::hostile
