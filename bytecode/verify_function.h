// SPDX-License-Identifier: Apache-2.0
// Verifies the code of one function after the other, with scratch memory that is reused between them.
//
// encoding() looks at every word once, in order: opcodes, operands, branch targets. flow() then carries a
// state (which primitive registers are assigned, what the reference registers hold) from the entry along all
// paths. States are kept only for branch targets: between two of them code runs straight, and a walk carries
// the state along. Where paths meet, states merge; a target whose state changed is walked again.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/field_place.h"
#include "bytecode/verify_internal.h"

namespace dhpvm::bytecode::verification {

class FunctionVerifier {
 public:
  FunctionVerifier(const Facts& facts, Budget& budget);
  Status run(std::uint32_t function);

 private:
  // The methods below return false after fail(), which keeps the first message.
  template <typename... Args>
  [[gnu::cold, gnu::noinline]] bool fail(fmt::format_string<Args...> format, Args&&... args) {
    if (message_.empty()) message_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }

  // verify_encoding.cpp
  bool frame();
  bool encoding();
  bool operands(const DecodeRow& row, Word word);
  bool operand(char position, Operand kind, std::uint16_t value);
  bool second_word(const DecodeRow& row, Word word, Word x);
  bool references(const DecodeRow& row, Word word, Word x);
  bool branch(const DecodeRow& row, Word word);
  bool string(Word word);
  bool window(const DecodeRow& row, Word word, const Shape& shape, std::uint32_t extra_primitives = 0);
  bool targets_are_instructions();
  bool handlers_are_caught();
  bool lines();

  // verify_flow.cpp
  bool flow();
  bool walk(std::uint32_t pc);
  bool arrive(std::uint32_t pc, bool& go_on);
  bool branch_to(std::uint32_t pc);
  bool trap_to(std::uint32_t pc, const DecodeRow& row, Word word);
  enum class Merge { kFirst, kChanged, kSame };
  bool merge(std::uint32_t slot, Merge& outcome);
  bool registers_read(const DecodeRow& row, Word word, Word x);

  // verify_rules.cpp: the flow-dependent rule of one instruction, and its effect on reference registers
  bool rule(const DecodeRow& row, Word word, Word x);
  bool returns(const DecodeRow& row, Word word);
  bool call(const Shape& shape, Word word, std::uint32_t in_primitives);
  void clobber_from(std::uint16_t a, std::uint16_t b);
  bool access(const DecodeRow& row, std::uint16_t array, Word word, bool is_store);
  bool field_access(const DecodeRow& row, std::uint16_t array, Word word, FieldPlace place, bool is_store);
  bool update(const DecodeRow& row, Word word, Word x);
  bool object_access(const DecodeRow& row, std::uint16_t object, std::uint16_t offset, Word word,
                     bool is_store);
  bool finish_access(const ValueType& element, Word word, bool is_store);
  bool array_copy(Word word);
  bool parallel_for(Word word);
  bool dimension(Word word);
  bool rank(Word word, unsigned wanted);
  bool target(Word word);
  bool concat(Word word);
  bool array_in(std::uint16_t reg, const Type*& type);
  bool string_in(std::uint32_t reg);
  bool assignable(std::uint32_t reg, std::uint32_t type, std::string_view where);
  bool assigned(std::uint32_t first, std::uint32_t count, std::string_view what);
  bool unassigned_primitive(std::uint32_t reg);
  bool unusable_reference(std::uint32_t reg);

  bool is_assigned(std::uint32_t reg) const { return (primitives_[reg / 64] >> (reg % 64) & 1) != 0; }
  static bool bit(const std::vector<std::uint64_t>& map, std::uint32_t at) {
    return (map[at / 64] >> (at % 64) & 1) != 0;
  }
  static void set_bit(std::vector<std::uint64_t>& map, std::uint32_t at) {
    map[at / 64] |= std::uint64_t{1} << (at % 64);
  }
  static void clear_bit(std::vector<std::uint64_t>& map, std::uint32_t at) {
    map[at / 64] &= ~(std::uint64_t{1} << (at % 64));
  }

  const Facts& facts_;
  const Module& module_;
  Budget& budget_;

  // The function at hand.
  const Function* function_ = nullptr;
  const Shape* shape_ = nullptr;
  const Word* code_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t pc_ = 0;  // of the instruction at hand, for messages
  std::string message_;
  std::uint32_t limits_[32] = {};  // by Operand: values must be below

  // By word: where instructions start, and where branches lead.
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint64_t> targets_;
  // The protects, in code order: from the word behind each to its target.
  struct Reach {
    std::uint32_t begin;
    std::uint32_t end;
  };
  std::vector<Reach> reaches_;

  // Branch targets, numbered in code order, and their states.
  std::uint32_t primitive_words_ = 0;   // of a bit set of the P bank
  std::vector<std::uint32_t> slot_of_;  // by word; only entries of targets are meaningful
  std::vector<std::uint32_t> slot_pc_;
  std::vector<std::uint64_t> slot_primitives_;
  std::vector<RefState> slot_references_;
  std::vector<std::uint64_t> visited_;  // by slot
  std::vector<std::uint64_t> dirty_;    // by slot: changed since it was last walked
  std::uint32_t first_dirty_ = 0;       // no slot before this one is dirty

  // The state at the instruction at hand.
  std::vector<std::uint64_t> primitives_;
  std::vector<RefState> references_;
};

}  // namespace dhpvm::bytecode::verification
