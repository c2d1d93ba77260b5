// SPDX-License-Identifier: Apache-2.0
// The flow-dependent rules: types of references, windows of calls, ranges of registers.
//
// A register that is null on every path is accepted where an object is expected: the instruction will trap. Its result
// then counts as null too, which no program can observe.
#include "bytecode/names.h"
#include "bytecode/verify_function.h"

namespace dhpvm::bytecode::verification {

bool FunctionVerifier::unassigned_primitive(std::uint32_t reg) {
  return fail("P{} is not assigned on every path to here", reg);
}

bool FunctionVerifier::unusable_reference(std::uint32_t reg) {
  if (references_[reg] == kUnset) return fail("R{} is not assigned on every path to here", reg);
  return fail("R{} holds objects of different types on the paths to here", reg);
}

bool FunctionVerifier::assigned(std::uint32_t first, std::uint32_t count, std::string_view what) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!is_assigned(first + i))
      return fail("{}: P{} is not assigned on every path to here", what, first + i);
  }
  return true;
}

bool FunctionVerifier::assignable(std::uint32_t reg, std::uint32_t type, std::string_view where) {
  if (references_[reg] >= kConflict) return unusable_reference(reg);
  if (facts_.assignable(references_[reg], type)) [[likely]]
    return true;
  return fail("{}: R{} is {}, wanted is {}", where, reg, facts_.type_name(references_[reg]),
              facts_.type_name(type));
}

// `type` comes back null when the register is null on every path.
bool FunctionVerifier::array_in(std::uint16_t reg, const Type*& type) {
  type = nullptr;
  if (references_[reg] == kNullRef) return true;
  type = &module_.types[references_[reg]];
  return type->kind == TypeKind::kArray ||
         fail("R{} is {}, not an array", reg, facts_.type_name(references_[reg]));
}

bool FunctionVerifier::string_in(std::uint32_t reg) { return assignable(reg, kStringType, "a string"); }

bool FunctionVerifier::returns(const DecodeRow& row, Word word) {
  const Banks& out = shape_->out;
  if (row.family == Family::kReturn) {
    if (!assigned(0, out.primitives, "result")) return false;
    for (std::uint32_t i = 0; i < out.references.size(); ++i) {
      if (!assignable(i, out.references[i], "result")) return false;
    }
    return budget_.spend(out.primitives + out.references.size()) ||
           fail("the module is too complex to verify");
  }
  const bool primitive = row.family == Family::kReturnP;
  if (out.primitives != (primitive ? 1 : 0) || out.references.size() != (primitive ? 0 : 1))
    return fail("the function does not have one {} result", primitive ? "primitive" : "reference");
  return primitive || assignable(a_of(word), out.references[0], "result");
}

// The callee's frame overlaps the windows: of the registers from there on, only results survive a call.
void FunctionVerifier::clobber_from(std::uint16_t a, std::uint16_t b) {
  if (a < function_->primitive_registers) {
    primitives_[a / 64] &= (std::uint64_t{1} << (a % 64)) - 1;
    std::fill(primitives_.begin() + a / 64 + 1, primitives_.end(), 0);
  }
  std::fill(references_.begin() + b, references_.end(), kUnset);
}

bool FunctionVerifier::call(const Shape& shape, Word word, std::uint32_t in_primitives) {
  const std::uint16_t a = a_of(word);
  const std::uint16_t b = b_of(word);
  const std::uint64_t cleared = (primitive_words_ - a / 64) + (references_.size() - b);
  if (!budget_.spend(in_primitives + shape.in.references.size() + shape.out.primitives + cleared))
    return fail("the module is too complex to verify");
  if (!assigned(a, in_primitives, "argument")) return false;
  for (std::uint32_t i = 0; i < shape.in.references.size(); ++i) {
    if (!assignable(b + i, shape.in.references[i], "argument")) return false;
  }
  clobber_from(a, b);
  for (std::uint32_t i = 0; i < shape.out.primitives; ++i) set_bit(primitives_, a + i);
  std::copy(shape.out.references.begin(), shape.out.references.end(), references_.begin() + b);
  return true;
}

// The value moved by an access to an element or field of type `element`, whose kind is known to fit.
bool FunctionVerifier::finish_access(const ValueType& element, Word word, bool is_store) {
  if (!element.is_ref()) return true;
  if (is_store) return assignable(c_of(word), element.type, "stored");
  references_[a_of(word)] = element.type;
  return true;
}

bool FunctionVerifier::access(const DecodeRow& row, std::uint16_t array, Word word, bool is_store) {
  const Type* type;
  if (!array_in(array, type)) return false;
  if (type == nullptr) {
    if (row.ref_writes != 0) references_[a_of(word)] = kNullRef;
    return true;
  }
  const ValueType& element = type->element;
  const bool is_struct = element.is_ref() && module_.types[element.type].kind == TypeKind::kStruct;
  if (is_struct || (row.kinds >> static_cast<unsigned>(element.kind) & 1) == 0)
    return fail("R{} is {}, whose elements are of another kind", array, facts_.type_name(references_[array]));
  return finish_access(element, word, is_store);
}

bool FunctionVerifier::field_access(const DecodeRow& row, std::uint16_t array, Word word, FieldPlace place,
                                    bool is_store) {
  const Type* type;
  if (!array_in(array, type)) return false;
  if (type == nullptr) {
    if (row.ref_writes != 0) references_[a_of(word)] = kNullRef;
    return true;
  }
  if (!type->element.is_ref() || module_.types[type->element.type].kind != TypeKind::kStruct)
    return fail("R{} is {}, not an array of structs", array, facts_.type_name(references_[array]));
  const std::uint32_t element = type->element.type;
  if (module_.types[element].size != place.size)
    return fail("elements of {} have {} bytes, not {}", facts_.type_name(references_[array]),
                module_.types[element].size, place.size);
  const FieldSlot* field = facts_.field_at(element, place.offset);
  if (field == nullptr || (row.kinds >> static_cast<unsigned>(field->type.kind) & 1) == 0)
    return fail("{} has no such field at offset {}", facts_.type_name(element), place.offset);
  return finish_access(field->type, word, is_store);
}

bool FunctionVerifier::update(const DecodeRow& row, Word word, Word x) {
  const std::optional<FieldPlace> place = field_place(row.family, row.x, x);
  return place ? field_access(row, b_of(word), word, *place, false) : access(row, b_of(word), word, false);
}

bool FunctionVerifier::object_access(const DecodeRow& row, std::uint16_t object, std::uint16_t offset,
                                     Word word, bool is_store) {
  const RefState state = references_[object];
  if (state == kNullRef) {
    if (row.ref_writes != 0) references_[a_of(word)] = kNullRef;
    return true;
  }
  if (module_.types[state].kind != TypeKind::kClass)
    return fail("R{} is {}, not an instance of a class", object, facts_.type_name(state));
  const FieldSlot* field = facts_.field_at(state, offset);
  if (field == nullptr || (row.kinds >> static_cast<unsigned>(field->type.kind) & 1) == 0)
    return fail("{} has no such field at offset {}", facts_.type_name(state), offset);
  return finish_access(field->type, word, is_store);
}

bool FunctionVerifier::array_copy(Word word) {
  const Type* to;
  const Type* from;
  if (!array_in(a_of(word), to) || !array_in(b_of(word), from)) return false;
  if (to != nullptr && from != nullptr && to->element != from->element)
    return fail("elements of {} cannot be copied into {}", facts_.type_name(references_[b_of(word)]),
                facts_.type_name(references_[a_of(word)]));
  return assigned(c_of(word), 3, "position or count");
}

bool FunctionVerifier::parallel_for(Word word) {
  // Each index is given as two bounds.
  const KernelRecord& kernel = module_.kernels[c_of(word)];
  const Shape& shape = facts_.functions[kernel.function];
  return call(shape, word, shape.in.primitives + kernel.dimensions);
}

bool FunctionVerifier::dimension(Word word) {
  const Type* type;
  if (!array_in(b_of(word), type)) return false;
  return c_of(word) < (type == nullptr ? 3 : type->rank) ||
         fail("dimension {} of {}", c_of(word), facts_.type_name(references_[b_of(word)]));
}

bool FunctionVerifier::rank(Word word, unsigned wanted) {
  const Type* type;
  if (!array_in(b_of(word), type)) return false;
  return type == nullptr || type->rank == wanted ||
         fail("{} has rank {}", facts_.type_name(references_[b_of(word)]), type->rank);
}

bool FunctionVerifier::target(Word word) {
  const RefState state = references_[b_of(word)];
  if (state != kNullRef && module_.types[state].kind != TypeKind::kWeak)
    return fail("R{} is {}, not a weak reference", b_of(word), facts_.type_name(state));
  references_[a_of(word)] = state == kNullRef ? kNullRef : module_.types[state].element.type;
  return true;
}

bool FunctionVerifier::concat(Word word) {
  const std::uint16_t count = c_of(word);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!string_in(b_of(word) + i)) return false;
  }
  references_[a_of(word)] = kStringType;
  return budget_.spend(count) || fail("the module is too complex to verify");
}

bool FunctionVerifier::rule(const DecodeRow& row, Word word, Word x) {
  const std::uint16_t a = a_of(word);
  const std::uint16_t b = b_of(word);
  const std::uint16_t c = c_of(word);
  const Type* type;
  switch (row.family) {
    case Family::kNop:
    case Family::kJump:
    case Family::kFor:
    case Family::kJumpIf:
    case Family::kJumpCompare:
    case Family::kJumpNull:
    case Family::kNullCheck:
    case Family::kProtect:
    case Family::kCaught:
    case Family::kTrapAgain:
    case Family::kMoveP:
    case Family::kConstant:
    case Family::kInteger:
    case Family::kDivide:
    case Family::kShift:
    case Family::kFloat:
    case Family::kCompare:
    case Family::kSameObject:
    case Family::kIsNull:
    case Family::kConvert:
    case Family::kTrap:
    case Family::kLocalLoad:
    case Family::kLocalStore:
    case Family::kLocalZero:
    case Family::kIsType: return true;
    case Family::kReturn:
    case Family::kReturnP:
    case Family::kReturnR: return returns(row, word);
    case Family::kTrapMessage: return string_in(a);
    case Family::kCall: return call(facts_.functions[c], word, facts_.functions[c].in.primitives);
    case Family::kCallNative: return call(facts_.imports[c], word, facts_.imports[c].in.primitives);
    case Family::kCallInterface: return call(facts_.methods[x][c], word, facts_.methods[x][c].in.primitives);
    case Family::kParallelFor: return parallel_for(word);
    case Family::kMoveR: references_[a] = references_[b]; return true;
    case Family::kNull: references_[a] = kNullRef; return true;
    case Family::kConstString: references_[a] = kStringType; return true;
    case Family::kLoad: return access(row, b, word, false);
    case Family::kAtomic: return update(row, word, x);
    case Family::kStore: return access(row, a, word, true);
    case Family::kLoadField: return field_access(row, b, word, *field_place(row.family, row.x, x), false);
    case Family::kStoreField: return field_access(row, a, word, *field_place(row.family, row.x, x), true);
    case Family::kGetField: return object_access(row, b, c, word, false);
    case Family::kPutField: return object_access(row, a, b, word, true);
    case Family::kArrayLength: return array_in(b, type);
    case Family::kArrayClose: return array_in(a, type);
    case Family::kArrayDim: return dimension(word);
    case Family::kIndex: return rank(word, row.x == Operand::kPP ? 3 : 2);
    case Family::kNewArray:
      if (!assigned(b, module_.types[x].rank, "size")) return false;
      references_[a] = static_cast<RefState>(x);
      return true;
    case Family::kArrayCopy: return array_copy(word);
    case Family::kNew:
    case Family::kCast: references_[a] = static_cast<RefState>(x); return true;
    case Family::kUpcast:
      if (!assignable(b, static_cast<std::uint32_t>(x), "upcast")) return false;
      references_[a] = static_cast<RefState>(x);
      return true;
    case Family::kNewWeak:
      if (!assignable(b, module_.types[x].element.type, "target")) return false;
      references_[a] = static_cast<RefState>(x);
      return true;
    case Family::kGetWeak: return target(word);
    case Family::kStringLength:
    case Family::kStringByte: return string_in(b);
    case Family::kStringEq:
    case Family::kStringCompare: return string_in(b) && string_in(c);
    case Family::kStringConcat: return concat(word);
  }
  return true;
}

}  // namespace dhpvm::bytecode::verification
