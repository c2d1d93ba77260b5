// SPDX-License-Identifier: Apache-2.0
// Prints docs/bytecode.md: the format as prose, the instructions from isa.def.
//   isa_reference           prints the page
//   isa_reference --check F  compares it with the file F; exit code 1 when they differ
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/file.h"
#include "bytecode/format.h"
#include "bytecode/isa.h"
#include "bytecode/isa_text.h"
#include "bytecode/names.h"
#include "bytecode/reference_text.h"

namespace dhpvm::bytecode {
namespace {

struct OperandRow {
  Operand kind;
  std::string_view name;
  std::string_view meaning;
};

constexpr OperandRow kOperands[] = {
    {Operand::kPd, "Pd", "primitive register, written"},
    {Operand::kPs, "Ps", "primitive register, read"},
    {Operand::kPm, "Pm", "primitive register, read and written"},
    {Operand::kRd, "Rd", "reference register, written"},
    {Operand::kRs, "Rs", "reference register, read"},
    {Operand::kPWin, "PWin", "first primitive register of a window or range"},
    {Operand::kRWin, "RWin", "first reference register of a window"},
    {Operand::kImm, "Imm", "signed 16-bit number"},
    {Operand::kImm32, "Imm32", "signed 32-bit number in b (low half) and c"},
    {Operand::kOff, "Off", "signed 16-bit branch offset in words, from the branch's first word"},
    {Operand::kOff32, "Off32", "signed 32-bit branch offset in b (low half) and c"},
    {Operand::kString, "String", "32-bit index into the strings, in b (low half) and c"},
    {Operand::kFunc, "Func", "index of a function"},
    {Operand::kKernel, "Kernel", "index of a kernel record"},
    {Operand::kImport, "Import", "index of an import"},
    {Operand::kMethod, "Method", "index of a method of the interface in x"},
    {Operand::kLocal, "Local", "index of a local array of the function"},
    {Operand::kField, "Field", "byte offset of a field in an object"},
    {Operand::kTrapCode, "TrapCode", "code of a trap (`include/dhpvm/result.h`)"},
    {Operand::kImm64, "Imm64", "x: 64 bits"},
    {Operand::kType, "Type", "x: index of a type"},
    {Operand::kP, "P", "x: one primitive register, read; bits 32 to 63 as for PP"},
    {Operand::kPP, "PP",
     "x: two primitive registers, read (x0 in bits 0 to 15, x1 in bits 16 to 31); bits 32 to 63 are 0, or "
     "name the field "
     "of a struct that an atomic update changes: byte offset / 4 in bits 32 to 47, size of the struct / 4 "
     "above"},
    {Operand::kElement, "Element",
     "x: byte offset of a field in a struct (low half) and size of the struct (high half)"},
};

std::string_view operand_name(Operand kind) {
  for (const OperandRow& row : kOperands) {
    if (row.kind == kind) return row.name;
  }
  return "";
}

// A vertical bar would end the cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string flag_letters(std::uint8_t flags) {
  std::string out;
  if ((flags & kKernel) != 0) out += 'K';
  if ((flags & kTraps) != 0) out += 'T';
  if ((flags & kCollects) != 0) out += 'G';
  if ((flags & kEndsBlock) != 0) out += 'E';
  if ((flags & kBranch) != 0) out += 'B';
  if ((flags & kBackEdge) != 0) out += 'L';
  if ((flags & kCall) != 0) out += 'C';
  if ((flags & kApproximate) != 0) out += 'A';
  return out;
}

std::string section_table() {
  std::string out = "| number | section | required |\n|---:|---|---|\n";
#define X(kind, name, number, required) \
  out += fmt::format("| {} | {} | {} |\n", number, name, required ? "yes" : "no");
  DHPVM_SECTIONS(X)
#undef X
  return out;
}

std::string limit_table() {
  return fmt::format(
      "| what | most |\n|---|---:|\n| strings | {} |\n| types, imports, functions, kernels, each | {} |\n"
      "| fields, methods, parameters, results, local arrays of one owner | {} |\n| words of code | {} |\n"
      "| bytes of a class instance or struct | {} |\n| bytes of local arrays per function | {} |\n",
      kMaxStrings, kMaxTypes, kMaxMembers, kMaxCodeWords, kMaxObjectBytes, kMaxLocalBytes);
}

std::string operand_table() {
  std::string out = "| operand | meaning |\n|---|---|\n";
  for (const OperandRow& row : kOperands) out += fmt::format("| `{}` | {} |\n", row.name, row.meaning);
  return out;
}

std::string version_table() {
  std::string out = "| version | |\n|---|---|\n";
#define DHPVM_ISA_VERSION(major, minor, first, meaning) \
  out += fmt::format("| {}.{} | {} |\n", major, minor, meaning);
#include "bytecode/isa.def"
  return out;
}

std::string_view meaning_of(Memory memory) {
  constexpr std::string_view kMeanings[] = {
#define DHPVM_MEMORY(name, meaning) meaning,
#include "bytecode/isa.def"
  };
  return kMeanings[static_cast<std::size_t>(memory)];
}

std::string_view name_of(Family family) {
  constexpr std::string_view kNames[] = {
#define DHPVM_FAMILY(name, memory, verified, meaning) #name,
#include "bytecode/isa.def"
  };
  return kNames[static_cast<std::size_t>(family)];
}

std::string_view name_of(Operation operation) {
  constexpr std::string_view kNames[] = {
      "",
#define DHPVM_OPERATION(name) #name,
#include "bytecode/isa.def"
  };
  return kNames[static_cast<std::size_t>(operation)];
}

std::string family_table() {
  std::string out = "| family | an instruction of it | memory |\n|---|---|---|\n";
#define DHPVM_FAMILY(name, memory, verified, meaning) \
  out += fmt::format("| {} | {} | {} |\n", #name, meaning, meaning_of(Memory::k##memory));
#include "bytecode/isa.def"
  return out;
}

std::string instruction_table() {
  std::string out =
      "| code | mnemonic | a | b | c | x | family | operation | kind | result | flags | semantics |\n"
      "|---:|---|---|---|---|---|---|---|---|---|---|---|\n";
  const auto kind_name = [](std::optional<Kind> kind) { return kind ? name_of(*kind) : ""; };
  for (std::uint16_t op = 0; op < kOpCount; ++op) {
    const OpInfo& row = info(static_cast<Op>(op));
    const OpText& text = text_of(static_cast<Op>(op));
    out += fmt::format("| {} | `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", op, text.mnemonic,
                       operand_name(row.a), operand_name(row.b), operand_name(row.c), operand_name(row.x),
                       name_of(row.family), name_of(row.operation), kind_name(row.kind),
                       kind_name(row.result), flag_letters(row.flags), cell(text.semantics));
  }
  return out;
}

std::string kind_table() {
  std::string out = "| number | kind | bytes |\n|---:|---|---:|\n";
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    out += fmt::format("| {} | {} | {} |\n", i, kKindNames[i], size_of(static_cast<Kind>(i)));
  return out;
}

std::string page() {
  std::string out;
  out += fmt::format(reference::kIntroduction, kMajorVersion, kMinorVersion);
  out += version_table();
  out += reference::kFile;
  out += section_table();
  out += reference::kSections;
  out += kind_table();
  out += reference::kLimits;
  out += limit_table();
  out += reference::kEncoding;
  out += operand_table();
  out += reference::kVerifier;
  out += reference::kText;
  out += fmt::format(reference::kInstructions, kOpCount);
  out += family_table();
  out += reference::kTable;
  out += instruction_table();
  return out;
}

int run_tool(int argc, char** argv) {
  const std::string text = page();
  if (argc == 1) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  if (argc != 3 || std::string_view(argv[1]) != "--check") {
    std::fprintf(stderr, "usage: isa_reference [--check FILE]\n");
    return 2;
  }
  const Result<std::string> present = read_text_file(argv[2]);
  if (!present.ok()) {
    std::fprintf(stderr, "isa_reference: %s\n", present.error().to_string().c_str());
    return 1;
  }
  if (*present == text) return 0;
  std::fprintf(stderr, "%s is out of date: run `isa_reference > %s`\n", argv[2], argv[2]);
  return 1;
}

}  // namespace
}  // namespace dhpvm::bytecode

int main(int argc, char** argv) { return dhpvm::bytecode::run_tool(argc, argv); }
