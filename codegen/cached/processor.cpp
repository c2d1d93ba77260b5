// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/processor.h"

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "base/file.h"
#endif

namespace dhpvm::codegen {
namespace {

#if defined(__x86_64__)

struct Question {
  std::uint32_t leaf, part;
};
// Vendor, model and features, by AMD's and Intel's manuals of the instruction CPUID.
constexpr Question kQuestions[] = {{0, 0},          {1, 0},          {7, 0},         {7, 1},    {7, 2},
                                   {0xd, 1},        {0x14, 0},       {0x19, 0},      {0x1e, 1}, {0x24, 0},
                                   {0x80000001, 0}, {0x80000008, 0}, {0x80000021, 0}};

std::string ask() {
  std::string answers;
  const auto add = [&](std::uint32_t number) {
    answers.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  bool saves_registers = false;
  // As few queries as possible: in a virtual machine each takes microseconds.
  const std::uint32_t most_basic = __get_cpuid_max(0, nullptr);
  const std::uint32_t most_extended = __get_cpuid_max(0x80000000, nullptr);
  for (const Question& question : kQuestions) {
    if (question.leaf > (question.leaf < 0x80000000 ? most_basic : most_extended)) continue;
    std::array<std::uint32_t, 4> a = {};
    __cpuid_count(question.leaf, question.part, a[0], a[1], a[2], a[3]);
    if (question.leaf == 1) {
      saves_registers = (a[2] & bit_OSXSAVE) != 0;
      a[1] = 0;  // identifies the core
    }
    // The same leaf has address widths and the number of cores.
    if (question.leaf == 0x80000008) a[0] = a[2] = a[3] = 0;
    add(question.leaf);
    for (const std::uint32_t answer : a) add(answer);
  }
  if (saves_registers) {
    std::uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    add(low);
    add(high);
  }
  return answers;
}

#elif defined(__aarch64__)

// The register MIDR_EL1: manufacturer and model, by the Arm Architecture Reference Manual.
std::string model() {
  // That of the first core, because a machine may have cores of several models, and the caller may run on any.
  auto first = read_text_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
  if (first.ok()) return std::move(first).value();
  if ((::getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return {};
  std::uint64_t midr = 0;
  asm volatile("mrs %0, midr_el1" : "=r"(midr));
  return std::to_string(midr);
}

// The system's feature lists contain what it lets programs use, including all of this architecture's.
std::string ask() {
  return std::to_string(::getauxval(AT_HWCAP)) + ' ' + std::to_string(::getauxval(AT_HWCAP2)) + ' ' + model();
}

#else

std::string ask() { return {}; }

#endif

}  // namespace

const std::string& processor_identity() {
  static const std::string identity = ask();
  return identity;
}

}  // namespace dhpvm::codegen
