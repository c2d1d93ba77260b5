// SPDX-License-Identifier: Apache-2.0
// Text to kernels: any text is refused in one line with a place, or its kernels run until they end, fault, or reach the
// limit. A second run gives the same result.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "offload/ptx/launch.h"

namespace dhpvm::ptx {
namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::uint64_t kLimit = 20'000;

void insist(bool condition, const char* what, std::string_view message) {
  if (condition) return;
  std::fprintf(stderr, "ptx_fuzz: %s: %.*s\n", what, static_cast<int>(message.size()), message.data());
  std::abort();
}

void check_message(const std::string& message) {
  insist(message.find('\n') == std::string::npos, "a message of several lines", message);
  insist(!message.empty() && message[0] >= '0' && message[0] <= '9', "a message without a place", message);
}

struct Finished {
  std::string fault;
  std::uint64_t executed = 0;
  std::vector<std::byte> memory;
  bool operator==(const Finished&) const = default;
};

// All 64-bit parameters are the address of the same memory, half of which is initialised.
Finished finish(const Program& program, const Function& entry, const std::shared_ptr<Allocation>& memory) {
  memory->poison();
  for (std::size_t i = 0; i < kBytes / 2; ++i) memory->bytes()[i] = static_cast<std::byte>(i / 4);
  memory->mark_written(0, kBytes / 2);
  KernelLaunch launch;
  launch.program = &program;
  launch.entry = &entry;
  launch.grid = {2, 1, 1};
  launch.block = {40, 1, 1};
  launch.limit = kLimit;
  launch.memory = {memory};
  launch.parameters.resize(parameter_bytes(entry), std::byte{3});
  const std::uint64_t address = memory->address();
  for (const Variable& parameter : entry.parameters) {
    if (parameter.bytes == sizeof address)
      std::memcpy(launch.parameters.data() + parameter.offset, &address, sizeof address);
  }
  LaunchOutcome outcome = run(launch);
  if (outcome.fault) check_message(outcome.fault->message);
  return {outcome.fault ? std::move(outcome.fault->message) : "", outcome.executed,
          std::vector<std::byte>(memory->bytes(), memory->bytes() + kBytes)};
}

int test_one(const std::uint8_t* data, std::size_t size) {
  const auto program = assemble(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!program.ok()) {
    check_message(program.error().message());
    return 0;
  }
  const std::shared_ptr<Allocation> memory = Allocation::create(kBytes);
  for (const Function& function : (*program)->functions) {
    if (!function.is_entry || !function.is_defined) continue;
    const Finished first = finish(**program, function, memory);
    // Variables of the module keep their values between launches.
    if ((*program)->globals != nullptr) continue;
    insist(finish(**program, function, memory) == first, "another result the second time", first.fault);
  }
  return 0;
}

}  // namespace
}  // namespace dhpvm::ptx

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return dhpvm::ptx::test_one(data, size);
}
