// SPDX-License-Identifier: Apache-2.0
// Builds modules instruction by instruction: the compiler's back end, and the tests' and fuzzers' front end.
//
//   ModuleBuilder module;
//   const Signature twice{.parameters = {{Kind::kI64}}, .results = {{Kind::kI64}}};
//   FunctionBuilder f(module, module.declare_function("twice", twice));
//   f.emit(Op::kAddI64, 0, 0, 0);
//   f.emit(Op::kReturnP, 0);
//   DHPVM_TRY(f.finish());
//   Module done = std::move(module).finish();
//
// The builder encodes; it does not verify. A refusal (a label that is never bound, an operand that does
// not fit) is a mistake of its caller, reported once, by finish(), as ErrorCode::kInternal.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bytecode/module.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode {

// Owns the module under construction. Not thread-safe.
class ModuleBuilder {
 public:
  ModuleBuilder();  // with the string and the resource type

  // The index of `text` in Module::strings; equal texts share one.
  std::uint32_t string(std::string_view text);

  // A new type without members; fill it with the functions below. Ids are given at once, so that types may
  // refer to each other in any order.
  std::uint32_t declare_class(std::string name);
  std::uint32_t declare_interface(std::string name);
  std::uint32_t declare_struct(std::string name);
  // Sets the fields of a class or struct and lays them out; type(id).fields[i].offset is valid from here on.
  void define_fields(std::uint32_t type, std::vector<Field> fields);
  void define_methods(std::uint32_t interface, std::vector<Method> methods);
  // Adds an interface to a class; kept sorted by interface. A second one for the same interface replaces it.
  void implement(std::uint32_t type, Implementation implementation);
  // Interned: equal arguments give the same id. A struct element is {kRef, id of the struct}.
  std::uint32_t array_type(ValueType element, std::uint8_t rank = 1);
  std::uint32_t weak_type(std::uint32_t target);
  const Type& type(std::uint32_t id) const { return module_.types[id]; }

  // The index of the native function `name`; interned by name, the first signature stays.
  std::uint32_t import_function(std::string_view name, Signature signature);

  // A function whose body comes later from a FunctionBuilder. An empty name leaves it nameless.
  std::uint32_t declare_function(std::string_view name, Signature signature, bool exported = false);
  void set_structs(std::uint32_t function, std::vector<StructValue> structs);
  std::uint32_t add_kernel(KernelRecord kernel);
  void set_entry(std::uint32_t function) { module_.entry = function; }

  const Module& module() const { return module_; }

  // The module, its code in the order of its functions. Functions without a body are left empty, which
  // the verifier refuses.
  Module finish() &&;

 private:
  friend class FunctionBuilder;
  std::uint32_t add_type(TypeKind kind, std::string name);
  std::string describe(ValueType type) const;

  Module module_;
  std::deque<std::string> interned_;  // owns the keys of string_ids_; a deque never moves them
  std::unordered_map<std::string_view, std::uint32_t> string_ids_;
  std::map<std::string, std::uint32_t, std::less<>> import_ids_;
  std::map<std::pair<std::uint64_t, std::uint8_t>, std::uint32_t> array_ids_;
  std::map<std::uint32_t, std::uint32_t> weak_ids_;
};

struct Label {
  std::uint32_t id = kNoIndex;
};

// Builds the body of one declared function. Several may be open at a time (an outlined loop inside its
// function). Keeps count of the registers that the code names; windows of calls included.
class FunctionBuilder {
 public:
  FunctionBuilder(ModuleBuilder& module, std::uint32_t function);

  // One instruction without a branch target. `x` is the second word, and must be there if and only if the
  // opcode has one.
  void emit(Op op, std::uint16_t a = 0, std::uint16_t b = 0, std::uint16_t c = 0,
            std::optional<Word> x = std::nullopt);
  // The same with a 32-bit operand in b:c (Imm32, String).
  void emit32(Op op, std::uint16_t a, std::uint32_t bc);

  // P[a] = value, in the shortest form.
  void load_integer(std::uint16_t a, std::int64_t value);
  void load_f32(std::uint16_t a, float value);
  void load_f64(std::uint16_t a, double value);

  Label new_label();
  // The next instruction is where `label` leads. A label is bound once.
  void bind(Label label);

  // Goes to `label`: Jump when it lies ahead, Loop when it is bound already.
  void jump(Label label);
  // A branch with the operands of its row, the offset left out. Conditional branches to a label that is bound
  // already become the inverse condition over a Loop; ForI32 and ForI64 need a bound label. Branches that
  // turn out too far for 16 bits are rewritten by finish().
  void branch(Op op, std::uint16_t a, Label label);                   // JumpIf, JumpNull, ..
  void branch(Op op, std::uint16_t a, std::uint16_t b, Label label);  // fused ones; b may be an immediate

  // The source position of the instructions from here on. line 0: unknown.
  void mark_line(std::uint32_t file, std::uint32_t line, std::uint32_t column);

  // A new local array; its index.
  std::uint16_t add_local(Kind kind, std::uint32_t count);

  // Makes the banks at least this large.
  void require_registers(std::uint32_t primitives, std::uint32_t references);

  // False after an instruction without fall-through, until a label is bound: no need to emit more there.
  bool reachable() const { return reachable_; }
  // Words emitted so far; grows with every instruction.
  std::uint32_t size() const { return static_cast<std::uint32_t>(code_.size()); }

  // Resolves all branches and moves the body into the module. Call once.
  Status finish();

 private:
  struct LabelState {
    std::uint32_t position = kNoIndex;  // word index before relaxation
    std::uint32_t fixups_before = 0;    // number of branches emitted before it was bound
  };
  struct Fixup {
    std::uint32_t at;  // word index of the branch before relaxation
    std::uint32_t label;
    bool far = false;  // does not fit in 16 bits: finish() writes the long form
  };

  void fail(std::string_view what, Op op);
  void count_registers(const OpInfo& row, Word word, Word x);
  void count_window(const OpInfo& row, Word word, Word x);
  void touch_primitive(std::uint32_t reg, std::uint32_t count = 1);
  void touch_reference(std::uint32_t reg, std::uint32_t count = 1);
  void add_fixup(Op op, std::uint16_t a, std::uint16_t b, Label label);
  void find_far_branches(std::vector<std::uint32_t>& extra_before);
  void write_code(const std::vector<std::uint32_t>& extra_before, std::vector<Word>& out) const;

  ModuleBuilder& module_;
  std::uint32_t function_;
  std::vector<Word> code_;
  std::vector<LabelState> labels_;
  std::vector<Fixup> fixups_;
  std::vector<Line> lines_;
  std::vector<LocalArray> locals_;
  std::uint32_t primitives_ = 0;
  std::uint32_t references_ = 0;
  bool reachable_ = true;
  std::string mistake_;
};

// The inverse of the conditional branch `op`, which is not a For*. Sets `swap` if the inverse takes the operands in the
// opposite order.
Op inverse(Op op, bool& swap);

}  // namespace dhpvm::bytecode
