// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/place.h"

#include "base/error.h"
#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

namespace bc = bytecode;
using bytecode::Op;
using hir::ExprKind;

namespace {

// The order of opcodes in a family: I8, U8, I16, U16, I32, I64, F32, F64, Ref.
Op member(Op first, bc::Kind kind) {
  constexpr std::uint16_t kOffsets[] = {1, 0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8};
  return static_cast<Op>(static_cast<std::uint16_t>(first) + kOffsets[static_cast<unsigned>(kind)]);
}
static_assert(static_cast<unsigned>(Op::kLoadRef) - static_cast<unsigned>(Op::kLoadI8) == 8);
static_assert(static_cast<unsigned>(Op::kStoreRef) - static_cast<unsigned>(Op::kStoreI8) == 8);
static_assert(static_cast<unsigned>(Op::kLoadFieldRef) - static_cast<unsigned>(Op::kLoadFieldI8) == 8);
static_assert(static_cast<unsigned>(Op::kStoreFieldRef) - static_cast<unsigned>(Op::kStoreFieldI8) == 8);
static_assert(static_cast<unsigned>(Op::kGetFieldRef) - static_cast<unsigned>(Op::kGetFieldI8) == 8);
static_assert(static_cast<unsigned>(Op::kPutFieldRef) - static_cast<unsigned>(Op::kPutFieldI8) == 8);
static_assert(static_cast<unsigned>(Op::kLocalLoadF64) - static_cast<unsigned>(Op::kLocalLoadI8) == 7);
static_assert(static_cast<unsigned>(Op::kLocalStoreF64) - static_cast<unsigned>(Op::kLocalStoreI8) == 7);

}  // namespace

Place PlaceLowering::place_of(const hir::Local& local) {
  const LocalSlot& known = parts_.locals.slot(local);
  Place place;
  place.type = local.type;
  if (known.kind == LocalSlot::Kind::kCell) {
    place.kind = Place::Kind::kField;
    place.base = known.registers[0];
    place.container = types_.cell(local.type);
  } else {
    place.registers = known.registers;
  }
  return place;
}

Place PlaceLowering::resolve(const Expr& e) {
  Place place;
  place.type = e.type;
  switch (e.kind) {
    case ExprKind::kLocal: return place_of(*e.local);
    case ExprKind::kField: return resolve_field(e);
    case ExprKind::kIndex: return resolve_index(e);
    case ExprKind::kFixedIndex: return resolve_fixed(e);
    case ExprKind::kUnwrap:
      if (!e.type->is_reference()) {
        place = resolve(*e.operands[0]);
        const auto count = static_cast<std::uint32_t>(leaves(e.type).size());
        narrow(place, e.type, {1, count});
        return place;
      }
      break;
    default: break;
  }
  place.registers = values(e);
  return place;
}

Place PlaceLowering::resolve_field(const Expr& e) {
  const Expr& whole = *e.operands[0];
  if (whole.type->is(TypeKind::kStruct)) {
    Place place = resolve(whole);
    narrow(place, e.type, types_.field(whole.type, e.index));
    return place;
  }
  const Type* type = whole.type->is(TypeKind::kNullable) ? whole.type->element : whole.type;
  Place place;
  place.kind = Place::Kind::kField;
  place.type = e.type;
  place.base = scalar(whole);
  place.container = types_.reference(type);
  place.first_leaf = types_.field(type, e.index).first;
  return place;
}

Place PlaceLowering::resolve_index(const Expr& e) {
  const Register array = scalar(*e.operands[0]);
  return element(e.type, array, element_index(e, array));
}

Place PlaceLowering::resolve_fixed(const Expr& e) {
  const LocalSlot& slot = parts_.locals.slot(*e.local);
  if (slot.kind == LocalSlot::Kind::kRegisters) {  // the array that replaces it in a parallel loop
    const Register array = slot.registers[0];
    const Register outer = scalar(*e.operands[0]);
    if (e.operands.size() == 1) return element(e.type, array, outer);
    const Register inner = scalar(*e.operands[1]);
    At at(*this, e.position);
    const Register position = registers_.primitive();
    code_.emit(Op::kIndex2, position, array, outer, inner);
    return element(e.type, array, position);
  }
  Place place;
  place.type = e.type;
  place.kind = Place::Kind::kFixedArray;
  place.registers = slot.registers;
  place.index = e.operands.size() == 1 ? scalar(*e.operands[0]) : fixed_position(e);
  return place;
}

// The linear index in a fixed array of rank 2. The access checks the end of the array; this checks the end of the row.
Register PlaceLowering::fixed_position(const Expr& e) {
  const Type* type = e.local->type;
  const Register row = scalar(*e.operands[0]);
  const Register column = scalar(*e.operands[1]);
  At at(*this, e.position);
  check_fixed_index(*e.operands[0], row, type->count / type->columns);
  check_fixed_index(*e.operands[1], column, type->columns);
  const Register position = registers_.primitive();
  code_.emit(Op::kMulI64, position, row, constant(static_cast<std::int64_t>(type->columns)));
  code_.emit(Op::kAddI64, position, position, column);
  return position;
}

// Traps like the access of a fixed array of `size` elements. The array is only for the message and is never read.
void PlaceLowering::check_fixed_index(const Expr& e, Register index, std::uint64_t size) {
  if (const auto known = constant_of(e); known && static_cast<std::uint64_t>(*known) < size) return;
  Scope scope(*this);
  const LabelId fine = code_.new_label();
  code_.branch(Op::kJLtU64, index, constant(static_cast<std::int64_t>(size)), fine);
  code_.emit(Op::kLocalLoadI8, registers_.primitive(), parts_.locals.measure(size), index);
  code_.bind(fine);
}

Place PlaceLowering::element(const Type* type, Register array, Register index) {
  Place place;
  place.kind = Place::Kind::kElement;
  place.type = type;
  place.base = array;
  place.index = index;
  place.container = types_.element_struct(type);
  return place;
}

void PlaceLowering::narrow(Place& place, const Type* type, LeafRange range) {
  place.type = type;
  if (place.kind == Place::Kind::kRegisters || place.kind == Place::Kind::kFixedArray) {
    place.registers =
        Values(place.registers.begin() + range.first, place.registers.begin() + range.first + range.count);
  } else {
    place.first_leaf += range.first;
  }
}

// The register with the position of the element that operands[1..rank] of `e` name.
Register PlaceLowering::element_index(const Expr& e, Register array) {
  const Type* type = e.operands[0]->type;
  const Register outer = scalar(*e.operands[1]);
  if (type->rank == 1) return outer;
  const Register middle = scalar(*e.operands[2]);
  const Register inner = type->rank == 3 ? scalar(*e.operands[3]) : Register{0};
  At at(*this, e.position);
  const Register position = registers_.primitive();
  code_.emit(type->rank == 2 ? Op::kIndex2 : Op::kIndex3, position, array, outer,
             middle | static_cast<std::uint64_t>(inner) << 16);
  return position;
}

void PlaceLowering::load(const Place& place, std::span<const Register> to) {
  const Leaves& types = leaves(place.type);
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    const Kind kind = types[i].kind;
    switch (place.kind) {
      case Place::Kind::kRegisters: move(types[i], to[i], place.registers[i]); break;
      case Place::Kind::kField:
        get_field(types[i], to[i], place.base, place.container, place.first_leaf + i);
        break;
      case Place::Kind::kElement:
        if (place.container == bc::kNoIndex) {
          code_.emit(member(Op::kLoadI8, kind), to[i], place.base, place.index);
        } else {
          const std::uint64_t size = module_.builder().type(place.container).size;
          code_.emit(member(Op::kLoadFieldI8, kind), to[i], place.base, place.index,
                     types_.offset(place.container, place.first_leaf + i) | size << 32);
        }
        break;
      case Place::Kind::kFixedArray:
        code_.emit(member(Op::kLocalLoadI8, kind), to[i], place.registers[i], place.index);
        break;
    }
  }
}

void PlaceLowering::store(const Place& place, std::span<const Register> from) {
  const Leaves& types = leaves(place.type);
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    const Kind kind = types[i].kind;
    switch (place.kind) {
      case Place::Kind::kRegisters: move(types[i], place.registers[i], from[i]); break;
      case Place::Kind::kField:
        put_field(types[i], place.base, from[i], place.container, place.first_leaf + i);
        break;
      case Place::Kind::kElement:
        if (place.container == bc::kNoIndex) {
          code_.emit(member(Op::kStoreI8, kind), place.base, place.index, from[i]);
        } else {
          const std::uint64_t size = module_.builder().type(place.container).size;
          code_.emit(member(Op::kStoreFieldI8, kind), place.base, place.index, from[i],
                     types_.offset(place.container, place.first_leaf + i) | size << 32);
        }
        break;
      case Place::Kind::kFixedArray:
        code_.emit(member(Op::kLocalStoreI8, kind), place.registers[i], place.index, from[i]);
        break;
    }
  }
}

void PlaceLowering::get_field(const bc::ValueType& leaf, Register to, Register object, std::uint32_t type,
                              std::uint32_t index) {
  code_.emit(member(Op::kGetFieldI8, leaf.kind), to, object, types_.offset(type, index));
}

void PlaceLowering::put_field(const bc::ValueType& leaf, Register object, Register from, std::uint32_t type,
                              std::uint32_t index) {
  code_.emit(member(Op::kPutFieldI8, leaf.kind), object, types_.offset(type, index), from);
}

}  // namespace dhpvm::compiler
