// SPDX-License-Identifier: Apache-2.0
// Assembler and disassembler.
#include <gtest/gtest.h>

#include <algorithm>

#include "bytecode/assembler.h"
#include "bytecode/disassembler.h"
#include "bytecode/isa_text.h"
#include "bytecode/reference_text.h"
#include "bytecode/test_modules.h"
#include "bytecode/text_lexer.h"
#include "bytecode/verifier.h"

namespace dhpvm::bytecode {
namespace {

TEST(Text, TourAssemblesAndVerifies) {
  const Result<Module> module = assemble(kTour);
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const Status status = verify(*module);
  EXPECT_TRUE(status.ok()) << status.error().to_string();
}

TEST(Text, DisassemblyAssemblesToTheSameModule) {
  const Result<Module> module = assemble(kTour);
  ASSERT_TRUE(module.ok());
  const std::string text = disassemble(*module);
  const Result<Module> again = assemble(text);
  ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << text;
  EXPECT_TRUE(*again == *module) << text;
  EXPECT_EQ(disassemble(*again), text);
}

TEST(Text, DisassemblyIsReadable) {
  const Result<Module> module = assemble(kTour);
  ASSERT_TRUE(module.ok());
  const std::string text = disassemble(*module);
  for (const std::string_view line :
       {"type array [f32, 2]: f32 rank 2", "  field \"weight (kg)\": f32",
        "  implements Shape: Node.area, \"Node scale\"", "import io.write(str) -> i64",
        "function main([str]) -> i32 registers 16 12  ; #6", "  line \"tour.dhp\" 20:1",
        "  jump.ge.imm.i64 p0, 2, L2", "  call p2, r0, fib", "  const.string r8, $3",
        "  call.interface p7, r8, Shape::area", "  load.field.ref r6, r5, p4, 0:16",
        "  const p12, 0x3ff8000000000000  ; 1.5 as f64", "  atomic.cas.i64 p7, r3, p7, p7, p7",
        "  local.store.f32 l0, p8, p7", "  struct 2 Mean", "  trap kUserTrap", "  fma.f64 p3, p6, p7, p3",
        "entry main",
        "kernel unused dims 2 reduce add:f64 reduce max:i32 device \"gpu\" batch 4096 fastmath"}) {
    EXPECT_NE(text.find(std::string(line) + "\n"), std::string::npos) << line << "\nis missing in\n" << text;
  }
  const std::string one = disassemble_function(*module, 5);
  EXPECT_EQ(one, "\nfunction twice(f64) -> f64 registers 1 0  ; #5\n  add.f64 p0, p0, p0\n  return\nend\n");
}

// Every opcode with operands at their extremes; not verifiable, but expressible.
TEST(Text, EveryOpcodeRoundTrips) {
  for (std::uint16_t op = 0; op < kOpCount; ++op) {
    for (const unsigned extreme : {0u, 1u, 0x7fffu, 0x8000u, 0xffffu}) {
      const auto value = static_cast<std::uint16_t>(extreme);
      const OpInfo& row = info(static_cast<Op>(op));
      const Result<Module> base = assemble(kTour);
      Module module = *base;
      const auto used = [&](Operand kind) { return kind == Operand::kNone ? std::uint16_t{0} : value; };
      const bool wide = row.b == Operand::kImm32 || row.b == Operand::kOff32 || row.b == Operand::kString;
      module.code = {encode(static_cast<Op>(op), used(row.a), used(row.b), wide ? value : used(row.c))};
      if (row.words() == 2)
        module.code.push_back(row.x == Operand::kType ? value % 3 + 2 : value * 0x1000100010001u);
      module.functions.resize(1);
      module.functions[0].code_offset = 0;
      module.functions[0].code_size = static_cast<std::uint32_t>(module.code.size());
      module.functions[0].lines.clear();
      const std::string text = disassemble(module);
      const Result<Module> again = assemble(text);
      ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << text;
      EXPECT_EQ(again->code, module.code) << mnemonic_of(static_cast<Op>(op)) << " " << value << "\n" << text;
    }
  }
}

TEST(Text, TheExampleOfTheReferencePageIsRight) {
  std::string_view text = reference::kText;
  text.remove_prefix(text.find("```\n") + 4);
  text = text.substr(0, text.find("```\n"));
  const Result<Module> module = assemble(text);
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const Status status = verify(*module);
  EXPECT_TRUE(status.ok()) << status.error().to_string();
}

TEST(Text, UnknownWordsRoundTrip) {
  Module module =
      *assemble("function f() registers 0 0\n word 0xffff\n word 0x1000000000000\n word 0x1\nend\n");
  ASSERT_EQ(module.code, (std::vector<Word>{0xffff, 0x1000000000000, 1}));
  const std::string text = disassemble(module);
  EXPECT_EQ(assemble(text)->code, module.code) << text;
  // The first word of a pair at the very end.
  module.code[2] = encode(Op::kConst, 1);
  EXPECT_EQ(assemble(disassemble(module))->code, module.code);
}

TEST(Text, NamesThatAreNoWordsRoundTrip) {
  Module module = *assemble(kTour);
  for (const char* name :
       {"", "_", "a b", "i64", "[f32, 2]", "[[x], 2]", "]", "[a]b", "\"", "\\", ";", "p0", "7up", "line"}) {
    module.types[2].name = name;
    module.types[2].fields[0].name = name;
    module.imports[0].name = name;
    module.strings[2] = name;
    module.functions[2].name = 2;
    const std::string text = disassemble(module);
    const Result<Module> again = assemble(text);
    ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << text;
    EXPECT_TRUE(*again == module) << name << "\n" << text;
  }
}

TEST(Text, ConstantsMayBeWrittenAsNumbersOfEachKind) {
  const Result<Module> module = assemble(R"(function f() registers 9 0
  const p0, 1.5
  const p1, 1.5f
  const p2, -1
  const p3, 18446744073709551615
  const p4, 1e-3
end)");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  EXPECT_EQ(module->code[1], 0x3ff8000000000000u);
  EXPECT_EQ(module->code[3], 0x3fc00000u);
  EXPECT_EQ(module->code[5], ~Word{0});
  EXPECT_EQ(module->code[7], ~Word{0});
  EXPECT_EQ(module->code[9], 0x3f50624dd2f1a9fcu);
}

struct Mistake {
  std::string_view text;
  std::string_view expected;
};

TEST(Text, MistakesNameTheirLine) {
  const Mistake mistakes[] = {
      {"bogus", "line 1: 'bogus' does not begin a statement"},
      {"\n\n  12", "line 3: '12' does not begin a statement"},
      {"string x", "line 1: 'x' is not a string in quotes"},
      {"string \"a\\q\"", "line 1: an unknown escape in \"a\\q\""},
      {"string \"never ends", "line 1: stray \"\\\"never ends\""},
      {"type array x: i63", "line 1: \"i63\" is not a type"},
      {"type thing x", "line 1: 'thing' is not a kind of type"},
      {"field x: i64", "line 1: belongs to no type"},
      {"entry main", "line 1: \"main\" is not a function"},
      {"function f() registers 70000 0\nend", "line 1: 70000 is not between 0 and 65535"},
      {"function f() registers 1 0\nadd.i65 p0, p0, p0\nend", "line 2: unknown instruction 'add.i65'"},
      {"function f() registers 1 0\nadd.i64 p0, p0\nend", "line 2: the line ends where , should follow"},
      {"function f() registers 1 0\nadd.i64 p0, p0, r0\nend", "line 2: 'r0' where p0 to p65535 should stand"},
      {"function f() registers 1 0\nadd.i64 p0, p0, p65536\nend",
       "line 2: 'p65536' where p0 to p65535 should stand"},
      {"function f() registers 1 0\nadd.i64 p0, p0, p0 p1\nend",
       "line 2: 'p1' after the end of the statement"},
      {"function f()\nimm p0, 3000000000\nend",
       "line 2: 3000000000 is not between -2147483648 and 2147483647"},
      {"function f()\nadd.imm.i64 p0, p0, 40000\nend", "line 2: 40000 is not between -32768 and 32767"},
      {"function f()\nconst p0, 0x1ffffffffffffffff\nend", "line 2: '0x1ffffffffffffffff' is not a number"},
      {"function f()\nconst p0, 1.5.5\nend", "line 2: '1.5.5' is not a number"},
      {"function f()\njump nowhere\nend", "line 2: label nowhere is not defined"},
      {"function f()\nx:\nx:\nend", "line 3: label x is defined twice"},
      {"function f()\ntrap kNoSuchTrap\nend", "line 2: 'kNoSuchTrap' is not the name of a trap"},
      {"function f()\ncall p0, r0, g\nend", "line 2: \"g\" is not a function"},
      {"function f()\nend\nfunction f()\nend\nentry f", "line 5: \"f\" is ambiguous: use #index"},
      {"function f()\nreturn", "line 2: the last function has no 'end'"},
      {"function f()\ncall p0, r0, #65536\nend", "line 2: #65536 does not fit in 16 bits"},
      {"function f()\ncall.interface p0, r0, str::x\nend", "line 2: \"x\" is not a method"},
      {"function f()\nconst.string r0, $99999999999\nend", "line 2: $99999999999 is too large"},
      {"module 2.0", "line 1: version 2.0 is not known; the newest is 1.2"},
  };
  for (const Mistake& mistake : mistakes) {
    const Result<Module> module = assemble(mistake.text);
    ASSERT_FALSE(module.ok()) << mistake.text;
    EXPECT_EQ(module.error().code(), ErrorCode::kCompile);
    EXPECT_EQ(module.error().message(), mistake.expected) << mistake.text;
  }
}

TEST(Text, SeveralMistakesAreReported) {
  const Result<Module> module = assemble("function f()\nx1\nnop\nx2\nend\nentry g\n");
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(
      module.error().message(),
      "line 2: unknown instruction 'x1'\nline 4: unknown instruction 'x2'\nline 6: \"g\" is not a function");
  std::string many = "function f()\n";
  for (int i = 0; i < 30; ++i) many += "oops\n";
  const std::string message = assemble(many + "end\n").error().message();
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 20);
  EXPECT_TRUE(message.ends_with("\nand 10 more")) << message;
}

TEST(Text, QuotingIsExactForEveryByte) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const std::string quoted = quote(all);
  std::string back;
  ASSERT_TRUE(unquote(std::string_view(quoted).substr(1, quoted.size() - 2), back));
  EXPECT_EQ(back, all);
}

}  // namespace
}  // namespace dhpvm::bytecode
