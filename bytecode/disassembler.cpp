// SPDX-License-Identifier: Apache-2.0
#include "bytecode/disassembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/field_place.h"
#include "bytecode/isa_text.h"
#include "bytecode/names.h"
#include "bytecode/text_lexer.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode {
namespace {

// Maps a name to its entry in a table if exactly one entry has that name.
class NameTable {
 public:
  void add(std::string_view name, std::uint32_t index) {
    const auto [at, fresh] = ids_.emplace(name, index);
    if (!fresh) at->second = kNoIndex;
  }
  // The name when it is unambiguous, "#index" otherwise.
  std::string spell(std::string_view name, std::uint32_t index) const {
    const auto at = ids_.find(name);
    return at != ids_.end() && at->second == index ? spell_name(name) : fmt::format("#{}", index);
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

class Disassembler {
 public:
  explicit Disassembler(const Module& module) : m_(module) {
    for (std::uint32_t i = 0; i < m_.strings.size(); ++i) first_string_.emplace(m_.strings[i], i);
    for (std::uint32_t i = 0; i < m_.types.size(); ++i) types_.add(m_.types[i].name, i);
    for (std::uint32_t i = 0; i < m_.imports.size(); ++i) imports_.add(m_.imports[i].name, i);
    for (std::uint32_t i = 0; i < m_.functions.size(); ++i) {
      if (m_.functions[i].name < m_.strings.size()) functions_.add(m_.strings[m_.functions[i].name], i);
    }
  }

  std::string module() {
    print("module {}.{}\n", kMajorVersion, kMinorVersion);
    for (const std::string& text : m_.strings) print("string {}\n", quote(text));
    for (const Type& type : m_.types) this->type(type);
    for (const Import& import : m_.imports)
      print("import {}{}\n", spell_name(import.name), spell(import.signature));
    for (std::uint32_t i = 0; i < m_.functions.size(); ++i) function(i);
    for (const KernelRecord& kernel : m_.kernels) this->kernel(kernel);
    if (m_.entry != kNoIndex) print("entry {}\n", function_name(m_.entry));
    return std::move(out_);
  }

  std::string one_function(std::uint32_t id) {
    function(id);
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  // A string by its text when that leads back to the same entry, "$index" otherwise; "_" for none.
  std::string string_name(std::uint32_t index, bool as_name) const {
    if (index == kNoIndex) return "_";
    if (index < m_.strings.size() && first_string_.at(m_.strings[index]) == index)
      return as_name ? spell_name(m_.strings[index]) : quote(m_.strings[index]);
    return fmt::format("${}", index);
  }
  std::string type_name(std::uint32_t index) const {
    if (index >= m_.types.size()) return fmt::format("#{}", index);
    const std::string& name = m_.types[index].name;
    // A bare word that is a kind means the kind.
    if (find_name<Kind>(kKindNames, name)) return fmt::format("#{}", index);
    return types_.spell(name, index);
  }
  std::string function_name(std::uint32_t index) const {
    if (index >= m_.functions.size() || m_.functions[index].name >= m_.strings.size())
      return fmt::format("#{}", index);
    return functions_.spell(m_.strings[m_.functions[index].name], index);
  }
  std::string import_name(std::uint32_t index) const {
    return index < m_.imports.size() ? imports_.spell(m_.imports[index].name, index)
                                     : fmt::format("#{}", index);
  }
  std::string method_name(std::uint64_t interface, std::uint32_t index) const {
    if (interface < m_.types.size() && index < m_.types[interface].methods.size()) {
      const std::vector<Method>& methods = m_.types[interface].methods;
      const std::string& name = methods[index].name;
      if (std::count_if(methods.begin(), methods.end(), [&](const Method& m) { return m.name == name; }) == 1)
        return spell_name(name);
    }
    return fmt::format("#{}", index);
  }

  std::string spell(const ValueType& value) const {
    return value.is_ref() ? type_name(value.type) : std::string(name_of(value.kind));
  }
  std::string spell(const std::vector<ValueType>& values) const {
    std::string text;
    for (const ValueType& value : values) text += (text.empty() ? "" : ", ") + spell(value);
    return text;
  }
  std::string spell(const Signature& signature) const {
    return fmt::format("({}){}{}", spell(signature.parameters), signature.results.empty() ? "" : " -> ",
                       spell(signature.results));
  }

  void type(const Type& type) {
    print("type {} {}", name_of(type.kind), spell_name(type.name));
    if (type.kind == TypeKind::kArray || type.kind == TypeKind::kWeak) print(": {}", spell(type.element));
    if (type.kind == TypeKind::kArray) print(" rank {}", type.rank);
    print("\n");
    for (const Field& field : type.fields)
      print("  field {}: {}\n", spell_name(field.name), spell(field.type));
    for (const Method& method : type.methods)
      print("  method {}{}\n", spell_name(method.name), spell(method.signature));
    for (const Implementation& implementation : type.implementations) {
      print("  implements {}", type_name(implementation.interface));
      for (std::size_t i = 0; i < implementation.functions.size(); ++i)
        print("{}{}", i == 0 ? ": " : ", ", function_name(implementation.functions[i]));
      print("\n");
    }
  }

  void kernel(const KernelRecord& kernel) {
    print("kernel {} dims {}", function_name(kernel.function), kernel.dimensions);
    for (const Reduction& reduction : kernel.reductions)
      print(" reduce {}:{}", name_of(reduction.op), name_of(reduction.kind));
    if (!kernel.device_hint.empty()) print(" device {}", quote(kernel.device_hint));
    if (kernel.batch_hint != 0) print(" batch {}", kernel.batch_hint);
    if (kernel.fast_math) print(" fastmath");
    for (const KernelSource::Array& array : kernel.source.arrays)
      print(" {} {}", array.is_parts ? "parts" : "array", string_name(array.name, false));
    for (const std::uint16_t counter : kernel.source.iterated) print(" counter {}", counter);
    if (kernel.source.block_rows != 0) print(" rows {}", kernel.source.block_rows);
    print("\n");
  }

  void function(std::uint32_t id) {
    const Function& f = m_.functions[id];
    print("\nfunction {}{} registers {} {}{}  ; #{}\n", string_name(f.name, true), spell(f.signature),
          f.primitive_registers, f.reference_registers, f.exported ? " exported" : "", id);
    for (const StructValue& value : f.structs) print("  struct {} {}\n", value.first, type_name(value.type));
    for (const LocalArray& local : f.locals) print("  local {} {}\n", name_of(local.kind), local.count);
    if (f.code_offset <= m_.code.size() && f.code_size <= m_.code.size() - f.code_offset)
      body(f, m_.code.data() + f.code_offset);
    print("end\n");
  }

  static bool is_whole(const Word* code, std::uint32_t size, std::uint32_t pc) {
    return op_of(code[pc]) < kOpCount && kDecode[op_of(code[pc])].words <= size - pc;
  }
  // The word a branch leads to, or -1.
  static std::int64_t target_of(const DecodeRow& row, Word word, std::uint32_t pc) {
    if (row.b == Operand::kOff32) return std::int64_t{pc} + bc_of(word);
    if (row.c == Operand::kOff) return std::int64_t{pc} + static_cast<std::int16_t>(c_of(word));
    return -1;
  }

  void body(const Function& f, const Word* code) {
    const std::uint32_t size = f.code_size;
    std::vector<bool> starts(size, false);
    std::vector<bool> labels(size, false);
    for (std::uint32_t pc = 0; pc < size;) {
      starts[pc] = true;
      pc += is_whole(code, size, pc) ? kDecode[op_of(code[pc])].words : 1;
    }
    for (std::uint32_t pc = 0; pc < size; ++pc) {
      if (!starts[pc] || !is_whole(code, size, pc)) continue;
      const std::int64_t target = target_of(kDecode[op_of(code[pc])], code[pc], pc);
      if (target >= 0 && target < size && starts[static_cast<std::size_t>(target)])
        labels[static_cast<std::size_t>(target)] = true;
    }
    std::size_t line = 0;
    for (std::uint32_t pc = 0; pc < size;) {
      if (labels[pc]) print("L{}:\n", pc);
      for (; line < f.lines.size() && f.lines[line].pc <= pc; ++line) {
        const Line& at = f.lines[line];
        if (at.pc == pc) print("  line {} {}:{}\n", string_name(at.file, false), at.line, at.column);
      }
      if (!is_whole(code, size, pc)) {
        print("  word {:#x}\n", code[pc++]);
        continue;
      }
      const DecodeRow& row = kDecode[op_of(code[pc])];
      const Word x = row.words == 2 ? code[pc + 1] : 0;
      const std::int64_t target = target_of(row, code[pc], pc);
      const bool has_label = target >= 0 && target < size && labels[static_cast<std::size_t>(target)];
      instruction(row, code[pc], x, has_label ? target : -1);
      pc += row.words;
    }
  }

  void instruction(const DecodeRow& row, Word word, Word x, std::int64_t label) {
    // Text cannot express a reserved field that is not 0. The verifier refuses these.
    const bool c_used = row.c != Operand::kNone;
    const std::optional<FieldPlace> updated = field_place(row.family, row.x, x);
    const Word registers = updated && row.family == Family::kAtomic ? x & 0xffffffff : x;
    const bool unused = (row.a == Operand::kNone && a_of(word) != 0) ||
                        (row.b == Operand::kNone && b_of(word) != 0) || (!c_used && c_of(word) != 0) ||
                        (row.x == Operand::kP && registers > 0xffff) ||
                        (row.x == Operand::kPP && registers > 0xffffffff) ||
                        (row.x == Operand::kType && x >= m_.types.size());
    if (unused) {
      print("  word {:#x}\n", word);
      if (row.words == 2) print("  word {:#x}\n", x);
      return;
    }
    print("  {}", mnemonic_of(static_cast<Op>(op_of(word))));
    first_ = true;
    operand(row.a, a_of(word), word, x, label);
    operand(row.b, b_of(word), word, x, label);
    // 32-bit operands were printed whole with b; a method is printed with its interface, below.
    const bool wide = row.b == Operand::kImm32 || row.b == Operand::kOff32 || row.b == Operand::kString;
    if (!wide && row.c != Operand::kMethod) operand(row.c, c_of(word), word, x, label);
    second_word(row, word, x);
    if (updated && row.family == Family::kAtomic) argument("{}:{}", updated->offset, updated->size);
    if (row.x == Operand::kImm64) {
      const double value = std::bit_cast<double>(x);
      if (std::isnormal(value) && std::abs(value) > 1e-30 && std::abs(value) < 1e30)
        print("  ; {} as f64", value);
    }
    print("\n");
  }

  template <typename... Args>
  void argument(fmt::format_string<Args...> format, Args&&... args) {
    print("{}", first_ ? " " : ", ");
    first_ = false;
    print(format, std::forward<Args>(args)...);
  }

  void operand(Operand kind, std::uint16_t value, Word word, Word x, std::int64_t label) {
    switch (kind) {
      case Operand::kNone: return;
      case Operand::kPd:
      case Operand::kPs:
      case Operand::kPm:
      case Operand::kPWin: return argument("p{}", value);
      case Operand::kRd:
      case Operand::kRs:
      case Operand::kRWin: return argument("r{}", value);
      case Operand::kImm: return argument("{}", static_cast<std::int16_t>(value));
      case Operand::kImm32: return argument("{}", bc_of(word));
      case Operand::kOff:
        return label < 0 ? argument("{}", static_cast<std::int16_t>(value)) : argument("L{}", label);
      case Operand::kOff32: return label < 0 ? argument("{}", bc_of(word)) : argument("L{}", label);
      case Operand::kString: {
        const auto index = static_cast<std::uint32_t>(bc_of(word));
        return index == kNoIndex ? argument("${}", index) : argument("{}", string_name(index, false));
      }
      case Operand::kFunc: return argument("{}", function_name(value));
      case Operand::kKernel: return argument("#{}", value);
      case Operand::kImport: return argument("{}", import_name(value));
      case Operand::kMethod:
        return argument("{}::{}", type_name(static_cast<std::uint32_t>(x)), method_name(x, value));
      case Operand::kLocal: return argument("l{}", value);
      case Operand::kField: return argument("{}", value);
      case Operand::kTrapCode: return argument("{}", trap_name(value));
      default: return;
    }
  }

  static std::string trap_name(std::uint16_t code) {
    switch (code) {
#define X(name, text, family, meaning) \
  case static_cast<std::uint16_t>(ErrorCode::name): return #name;
      DHPVM_ERROR_CODES(X)
#undef X
      default: return fmt::format("{}", code);
    }
  }

  void second_word(const DecodeRow& row, Word word, Word x) {
    switch (row.x) {
      case Operand::kImm64:
        // Small numbers are most likely integers.
        if (x + 0x10000 < 0x20000)
          argument("{}", static_cast<std::int64_t>(x));
        else
          argument("{:#x}", x);
        return;
      case Operand::kType:
        if (row.c == Operand::kMethod) return operand(row.c, c_of(word), word, x, -1);
        return argument("{}", type_name(static_cast<std::uint32_t>(x)));
      case Operand::kP: return argument("p{}", x0_of(x));
      case Operand::kPP: argument("p{}", x0_of(x)); return argument("p{}", x1_of(x));
      case Operand::kElement: return argument("{}:{}", element_offset_of(x), element_size_of(x));
      default: return;
    }
  }

  const Module& m_;
  std::unordered_map<std::string_view, std::uint32_t> first_string_;
  NameTable types_;
  NameTable imports_;
  NameTable functions_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string disassemble(const Module& module) { return Disassembler(module).module(); }

std::string disassemble_function(const Module& module, std::uint32_t function) {
  return Disassembler(module).one_function(function);
}

}  // namespace dhpvm::bytecode
