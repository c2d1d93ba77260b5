// SPDX-License-Identifier: Apache-2.0
// Writer and reader: what is written is read back, and nothing else is accepted.
#include <gtest/gtest.h>

#include <functional>

#include "bytecode/assembler.h"
#include "bytecode/format.h"
#include "bytecode/reader.h"
#include "bytecode/test_files.h"
#include "bytecode/test_modules.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"

namespace dhpvm::bytecode {
namespace {

using testing::Bytes;
using testing::fix_checksums;
using testing::get;
using testing::put;

Module tour() { return assemble(kTour).value(); }

std::size_t row_of(const Bytes& file, Section kind) {
  for (std::size_t row = kHeaderBytes;; row += kSectionEntryBytes) {
    if (get<std::uint32_t>(file, row) == static_cast<std::uint32_t>(kind)) return row;
  }
}
std::size_t start_of(const Bytes& file, Section kind) {
  return get<std::uint64_t>(file, row_of(file, kind) + 8);
}

TEST(File, ModulesRoundTrip) {
  const Module module = tour();
  const Bytes file = write_module(module);
  const Result<Module> again = read_module(file);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(*again == module);
  EXPECT_EQ(write_module(*again), file);
  EXPECT_TRUE(verify(*again).ok());
}

TEST(File, EmptyModuleRoundTrips) {
  const Module module = assemble("").value();
  const Result<Module> again = read_module(write_module(module));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == module);
}

TEST(File, CodeIsWrittenInFunctionOrder) {
  Module module = assemble("function f()\nnop\nreturn\nend\nfunction g()\nreturn\nend").value();
  const Bytes expected = write_module(module);
  module.code = {encode(Op::kReturn), encode(Op::kNop), encode(Op::kReturn)};
  module.functions[0].code_offset = 1;
  module.functions[1].code_offset = 0;
  EXPECT_TRUE(verify(module).ok());
  EXPECT_EQ(write_module(module), expected);
}

TEST(File, StrippingKeepsWhatRunsAndDropsTheRest) {
  const Module module = tour();
  const Bytes stripped_file = write_module(module, {.strip = true});
  EXPECT_LT(stripped_file.size(), write_module(module).size());
  const Module stripped = read_module(stripped_file).value();
  EXPECT_TRUE(verify(stripped).ok());
  EXPECT_EQ(stripped.code, module.code);
  EXPECT_EQ(stripped.strings.size(), module.strings.size());
  EXPECT_EQ(stripped.strings[0], "");                         // only a file name
  EXPECT_EQ(stripped.strings[1], module.strings[1]);          // a constant
  EXPECT_EQ(stripped.name_of(stripped.functions[2]), "fib");  // exported
  EXPECT_EQ(stripped.name_of(stripped.functions[0]), "?");
  EXPECT_TRUE(stripped.functions[0].lines.empty());
}

TEST(File, TruncationAtEveryByteIsRefused) {
  const Bytes file = write_module(tour());
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Result<Module> module = read_module(std::span(file).first(size));
    ASSERT_FALSE(module.ok()) << size;
    EXPECT_EQ(module.error().code(), ErrorCode::kMalformed) << size;
  }
}

TEST(File, EveryFlippedBitIsNoticed) {
  Bytes file = write_module(tour());
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(read_module(file).ok()) << "byte " << bit / 8;
    file[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(File, EveryFlippedBitBehindTheChecksumsIsHarmless) {
  const Bytes original = write_module(tour());
  int accepted = 0;
  for (std::size_t bit = 16 * 8; bit < original.size() * 8; ++bit) {
    Bytes file = original;
    file[bit / 8] ^= std::byte{1} << (bit % 8);
    fix_checksums(file);
    const Result<Module> module = read_module(file);
    if (module.ok() && verify(*module).ok()) ++accepted;
  }
  EXPECT_GT(accepted, 0);  // for example, a module with another constant
}

TEST(File, UnknownOptionalSectionsAreSkipped) {
  const Module module = tour();
  Bytes file = write_module(module);
  put<std::uint32_t>(file, row_of(file, Section::kLines), 1000);
  fix_checksums(file);
  const Result<Module> again = read_module(file);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(again->functions[0].lines.empty());
}

// Older machines accept the modules that they can run.
TEST(File, IsOfTheOldestVersionThatHasItsOpcodes) {
  const auto minor = [](std::string_view body) {
    const Result<Module> module = assemble("function f() registers 2 1\n" + std::string(body) + "\nend");
    EXPECT_TRUE(module.ok()) << module.error().to_string();
    return static_cast<unsigned>(write_module(*module)[6]);
  };
  EXPECT_EQ(minor("return"), 0u);
  EXPECT_EQ(minor("const.string r0, \"text\"\nreturn"), 0u);
  EXPECT_EQ(minor("caught p0\ntrap.again p0"), 1u);
  EXPECT_EQ(minor("trap.text \"text\""), 2u);
  EXPECT_EQ(minor("null r0\natomic.add.i64 p0, r0, p0, p0\nreturn"), 0u);
  EXPECT_EQ(minor("null r0\natomic.add.i64 p0, r0, p0, p0, 8:16\nreturn"), 2u);
  EXPECT_EQ(minor("null r0\natomic.cas.i32 p0, r0, p0, p0, p0\nreturn"), 2u);
}

struct Patch {
  std::function<void(Bytes&)> change;
  ErrorCode code;
  std::string_view expected;
};

// Each file is refused with its reason, in one line.
void expect_refused(std::span<const Patch> patches) {
  const Bytes original = write_module(tour());
  for (std::size_t i = 0; i < patches.size(); ++i) {
    Bytes file = original;
    patches[i].change(file);
    fix_checksums(file);
    const Result<Module> module = read_module(file);
    ASSERT_FALSE(module.ok()) << i;
    EXPECT_EQ(module.error().code(), patches[i].code) << i << ": " << module.error().message();
    EXPECT_NE(module.error().message().find(patches[i].expected), std::string::npos)
        << i << ": " << module.error().message();
    EXPECT_EQ(module.error().message().find('\n'), std::string::npos);
  }
}

TEST(File, BadHeadersAreRefused) {
  const Patch patches[] = {
      {[](Bytes& f) { f[0] = std::byte{'E'}; }, ErrorCode::kMalformed, "does not begin with \"DHPV\""},
      {[](Bytes& f) { put<std::uint16_t>(f, 4, 2); }, ErrorCode::kUnsupported,
       "and this build reads up to 1.2: use a newer DHPVM"},
      {[](Bytes& f) { put<std::uint16_t>(f, 6, 3); }, ErrorCode::kUnsupported, "format version 1.3"},
      {[](Bytes& f) { put<std::uint16_t>(f, 4, 0); }, ErrorCode::kUnsupported, "compile the program again"},
      {[](Bytes& f) { put<std::uint32_t>(f, 8, 4); }, ErrorCode::kUnsupported, "feature bits 0x4"},
      {[](Bytes& f) { put<std::uint32_t>(f, 20, 4); }, ErrorCode::kMalformed, "the reserved field is not 0"},
      {[](Bytes& f) { f.push_back(std::byte{0}); }, ErrorCode::kMalformed, "1 bytes behind the last section"},
      {[](Bytes& f) { put<std::uint32_t>(f, row_of(f, Section::kTypes), 77); }, ErrorCode::kUnsupported,
       "a section of kind 77"},
      {[](Bytes& f) { put<std::uint32_t>(f, row_of(f, Section::kTypes), 1); }, ErrorCode::kMalformed,
       "a second section strings"},
      {[](Bytes& f) { put<std::uint32_t>(f, row_of(f, Section::kTypes) + 4, 3); }, ErrorCode::kMalformed,
       "unknown flags"},
      {[](Bytes& f) { put<std::uint32_t>(f, row_of(f, Section::kTypes) + 28, 3); }, ErrorCode::kMalformed,
       "unknown flags"},
      {[](Bytes& f) { put<std::uint64_t>(f, row_of(f, Section::kTypes) + 8, 0); }, ErrorCode::kMalformed,
       "does not lie behind offset"},
      {[](Bytes& f) { put<std::uint64_t>(f, row_of(f, Section::kTypes) + 8, ~0ull); }, ErrorCode::kMalformed,
       "does not lie behind offset"},
      {[](Bytes& f) { put<std::uint64_t>(f, row_of(f, Section::kNames) + 16, ~0ull); }, ErrorCode::kMalformed,
       "does not lie behind offset"},
      {[](Bytes& f) { put<std::uint64_t>(f, row_of(f, Section::kStructs) + 16, 0); }, ErrorCode::kMalformed,
       "bytes behind the last section"},
      {[](Bytes& f) {
         const std::size_t row = row_of(f, Section::kStrings);
         put<std::uint64_t>(f, row + 16, get<std::uint64_t>(f, row + 16) - 20);
       },
       ErrorCode::kMalformed, "a gap before section types"},
  };
  expect_refused(patches);
}

TEST(File, BadSectionsAreRefused) {
  const auto section = [](Section kind, std::size_t at, std::uint8_t value) {
    return [=](Bytes& f) { f[start_of(f, kind) + at] = std::byte{value}; };
  };
  const Patch patches[] = {
      {section(Section::kStrings, 0, 0x7f), ErrorCode::kMalformed, "section strings, offset"},
      {section(Section::kStrings, 1, 0x7f), ErrorCode::kMalformed, "cut off"},
      {section(Section::kTypes, 0, 0x7e), ErrorCode::kMalformed, "section types, offset"},
      {section(Section::kTypes, 1, 9), ErrorCode::kMalformed, "unknown kind of type 9"},
      {section(Section::kFunctions, 1, 9), ErrorCode::kMalformed, "a flag is neither 0 nor 1"},
      {section(Section::kFunctions, 3, 40), ErrorCode::kMalformed, "unknown kind 40"},
      {section(Section::kKernels, 0, 200), ErrorCode::kMalformed, "section kernels, offset"},
      {section(Section::kKernels, 3, 200), ErrorCode::kMalformed, "a flag is neither 0 nor 1"},
      {section(Section::kLines, 0, 0xff), ErrorCode::kMalformed, "section lines, offset"},
      {section(Section::kStructs, 1, 99), ErrorCode::kMalformed, "function 99 does not exist"},
      {[](Bytes& f) {
         const std::size_t row = row_of(f, Section::kStructs);
         f.resize(get<std::uint64_t>(f, row + 8) + 2);
         put<std::uint64_t>(f, row + 16, 2);
       },
       ErrorCode::kMalformed, "section structs, offset"},
      {[](Bytes& f) {
         const std::size_t row = row_of(f, Section::kCode);
         put<std::uint32_t>(f, row, 1000);
         put<std::uint32_t>(f, row + 4, 0);
       },
       ErrorCode::kMalformed, "words of code, the code section has 0"},
      {[](Bytes& f) {
         const std::size_t row = row_of(f, Section::kCode);
         const auto size = get<std::uint64_t>(f, row + 16);
         put<std::uint64_t>(f, start_of(f, Section::kCode) + size - 8, 0);
         put<std::uint64_t>(f, row + 16, size - 8);
       },
       ErrorCode::kMalformed, "words of code"},
      {[](Bytes& f) {
         const std::size_t row = row_of(f, Section::kCode);
         put<std::uint64_t>(f, row + 16, get<std::uint64_t>(f, row + 16) - 1);
       },
       ErrorCode::kMalformed, ""},
  };
  expect_refused(patches);
}

TEST(File, DamageIsFoundByTheChecksums) {
  Bytes file = write_module(tour());
  file[start_of(file, Section::kCode)] ^= std::byte{1};
  EXPECT_NE(read_module(file).error().message().find("section code, offset"), std::string::npos);
  file = write_module(tour());
  put<std::uint32_t>(file, row_of(file, Section::kCode) + 4, 0);
  EXPECT_NE(read_module(file).error().message().find("the checksum does not match"), std::string::npos);
}

TEST(File, HostileCountsAllocateNothing) {
  // 0xffffffff strings, types, .. in a section of a few bytes.
  const Bytes original = write_module(tour());
  for (const Section kind : {Section::kStrings, Section::kTypes, Section::kImports, Section::kFunctions,
                             Section::kKernels, Section::kLines}) {
    Bytes file = original;
    const std::size_t at = start_of(file, kind);
    for (int i = 0; i < 4; ++i) file[at + i] = std::byte{0xff};
    file[at + 4] = std::byte{0x0f};
    fix_checksums(file);
    const Result<Module> module = read_module(file);
    ASSERT_FALSE(module.ok());
    EXPECT_NE(module.error().message().find("more than "), std::string::npos) << module.error().message();
  }
}

}  // namespace
}  // namespace dhpvm::bytecode
