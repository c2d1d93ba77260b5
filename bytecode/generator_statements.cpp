// SPDX-License-Identifier: Apache-2.0
// Random statements.
#include "bytecode/field_place.h"
#include "bytecode/generator_internal.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode::testing {
namespace {

std::uint16_t u16(std::uint32_t value) { return static_cast<std::uint16_t>(value); }

}  // namespace

void BodyGenerator::constant(std::uint16_t reg, Pool pool) {
  switch (pool) {
    case Pool::kI32:
      f_.load_integer(reg, static_cast<std::int32_t>(choices_.bits()) >> choices_.below(32));
      return;
    case Pool::kI64:
      f_.load_integer(reg, static_cast<std::int64_t>(choices_.bits()) >> choices_.below(64));
      return;
    case Pool::kF32:
      f_.load_f32(reg, choices_.pick({0.0f, -0.0f, 1.5f, -3.25f, 1e30f, 7.0f, 1e-40f}));
      return;
    case Pool::kF64:
      f_.load_f64(reg, choices_.pick({0.0, -0.0, 2.5, -1e300, 0.1, 12345.678, 5e-324}));
      return;
    case Pool::kBool: f_.load_integer(reg, choices_.below(2)); return;
  }
}

std::uint16_t BodyGenerator::operand(Pool pool) {
  // The low half of an i64 is an i32. The converse is wrong: the bits above 32 are unspecified for parameters, results
  // of calls and constants.
  return source(pool == Pool::kI32 && choices_.one_in(10) ? Pool::kI64 : pool);
}

std::uint16_t BodyGenerator::index(std::uint32_t mask) {
  emit(Op::kAndImmI64, scratch_, source(Pool::kI64), u16(mask));
  if (choices_.one_in(250)) emit(Op::kAddImmI64, scratch_, scratch_, u16(choices_.bits() & 0xffff));
  return scratch_;
}

bool BodyGenerator::reference_of(TypeKind kind, Reference& found) {
  std::vector<Reference> fitting;
  for (const Reference& reference : references_) {
    if (world_.module.type(reference.type).kind == kind) fitting.push_back(reference);
  }
  if (fitting.empty()) return false;
  found = choices_.pick(fitting);
  return true;
}

std::uint16_t BodyGenerator::of_type(std::uint32_t type) {
  std::vector<std::uint16_t> fitting;
  for (const Reference& reference : references_) {
    if (reference.type == type) fitting.push_back(reference.reg);
  }
  return fitting.empty() ? kNone : choices_.pick(fitting);
}

void BodyGenerator::new_value(std::uint16_t reg, std::uint32_t id, std::uint32_t extra) {
  const Type& type = world_.module.type(id);
  switch (type.kind) {
    case TypeKind::kClass: return emit_x(Op::kNew, reg, 0, 0, id);
    case TypeKind::kInterface:
      emit_x(Op::kNew, window_r_, 0, 0, choices_.pick(world_.classes));
      return emit_x(Op::kUpcast, reg, window_r_, 0, id);
    case TypeKind::kArray:
      for (std::uint16_t i = 0; i < type.rank; ++i) {
        const std::uint32_t least = type.rank == 1 ? 8 : 4;
        f_.load_integer(u16(window_p_ + i), choices_.one_in(250) ? 0 : least + extra + choices_.below(4));
      }
      return emit_x(Op::kNewArray, reg, window_p_, 0, id);
    case TypeKind::kWeak:
      emit_x(Op::kNew, window_r_, 0, 0, type.element.type);
      return emit_x(Op::kNewWeak, reg, window_r_, 0, id);
    default:
      return f_.emit32(Op::kConstString, reg,
                       world_.module.string(choices_.pick({"", "a", "bc", "longer text"})));
  }
}

void BodyGenerator::mend(const Reference& reference) {
  if (choices_.one_in(100)) return;
  const Label good = f_.new_label();
  f_.branch(Op::kJumpNonNull, reference.reg, good);
  new_value(reference.reg, reference.type);
  f_.bind(good);
}

void BodyGenerator::compute() {
  if (choices_.one_in(200)) return emit(Op::kNop);
  if (choices_.one_in(12)) {
    const auto pool = static_cast<Pool>(choices_.below(kPools));
    return choices_.one_in(2) ? constant(any(pool), pool) : emit(Op::kMoveP, any(pool), source(pool));
  }
  const Computation& c = choices_.pick(world_.computations);
  const OpInfo& row = info(c.op);
  const std::uint16_t a = any(c.a);
  const std::uint16_t b = operand(c.b);
  std::uint16_t third = 0;
  if (row.c == Operand::kPs) third = operand(c.c);
  if ((row.flags & kTraps) != 0 && !choices_.one_in(100)) {  // a division: the divisor is nearly always not 0
    third = u16(scratch_ + 2);                               // the others may hold an index
    f_.load_integer(third, choices_.pick({1, -1, 2, 3, -7, 10, 1000003}));
  }
  if (row.c == Operand::kImm) third = u16(choices_.bits() & 0xffff);
  if (row.x == Operand::kP) return emit_x(c.op, a, b, third, source(c.x0));
  emit(c.op, a, b, third);
}

// The element number, i64, of a random element.
std::uint16_t BodyGenerator::position(std::uint16_t array, std::uint32_t type) {
  const std::uint8_t rank = world_.module.type(type).rank;
  if (rank == 1) return index(7);
  for (std::uint16_t i = 0; i < rank; ++i) emit(Op::kAndImmI64, u16(scratch_ + i), source(Pool::kI64), 3);
  if (rank == 2)
    emit_x(Op::kIndex2, scratch_, array, scratch_, u16(scratch_ + 1));
  else
    emit_x(Op::kIndex3, scratch_, array, scratch_, Word{u16(scratch_ + 1)} | Word{u16(scratch_ + 2)} << 16);
  return scratch_;
}

void BodyGenerator::access(bool store, std::uint16_t array, std::uint32_t type, std::uint16_t at) {
  const ValueType element = world_.module.type(type).element;
  if (element.is_ref() && world_.module.type(element.type).kind == TypeKind::kStruct) {
    const Type& of = world_.module.type(element.type);
    const Field& field = choices_.pick(of.fields);
    const Word x = Word{of.size} << 32 | field.offset;
    const Op op = access_op(store ? Family::kStoreField : Family::kLoadField, field.type.kind);
    const std::uint16_t value = field.type.is_ref() ? of_type(field.type.type)
                                : store             ? source(pool_of(field.type.kind))
                                                    : any(pool_of(field.type.kind));
    if (value == kNone) return;
    return store ? emit_x(op, array, at, value, x) : emit_x(op, value, array, at, x);
  }
  const Op op = access_op(store ? Family::kStore : Family::kLoad, element.kind);
  const std::uint16_t value = element.is_ref() ? of_type(element.type)
                              : store          ? source(pool_of(element.kind))
                                               : any(pool_of(element.kind));
  if (value == kNone) return;
  store ? emit(op, array, at, value) : emit(op, value, array, at);
  if (element.is_ref() && !store) mend({element.type, value});
}

void BodyGenerator::array_access() {
  Reference array;
  if (!reference_of(TypeKind::kArray, array)) return compute();
  mend(array);
  if (choices_.one_in(4)) return atomic(array.reg, array.type, true);
  access(choices_.one_in(2), array.reg, array.type, position(array.reg, array.type));
}

// An update of an element, or of a field of a struct; an ordinary access where the machine has no such update.
void BodyGenerator::atomic(std::uint16_t array, std::uint32_t type, bool keep_old_value) {
  const std::uint16_t at = position(array, type);
  const ValueType element = world_.module.type(type).element;
  Kind kind = element.kind;
  Word place = 0;
  if (element.is_ref() && world_.module.type(element.type).kind == TypeKind::kStruct) {
    const Type& of = world_.module.type(element.type);
    const Field& field = choices_.pick(of.fields);
    kind = field.type.kind;
    place = atomic_place({.size = of.size, .offset = field.offset});
  }
  // Between iterations only commuting updates are deterministic; exchanges are for sequential code.
  std::vector<Op> ops;
  if (keep_old_value && choices_.one_in(3)) ops = atomic_ops(kind, Order::kMatters);
  if (ops.empty()) ops = atomic_ops(kind, Order::kAny);
  if (ops.empty()) return access(choices_.one_in(2), array, type, at);
  const Op op = choices_.pick(ops);
  const Pool pool = pool_of(*info(op).kind);
  const std::uint16_t old = keep_old_value ? any(pool) : window_p_;
  Word x = place | source(pool);
  if (info(op).x == Operand::kPP) x |= Word{source(pool)} << 16;
  emit_x(op, old, array, at, x);
}

void BodyGenerator::array_operation() {
  Reference array;
  if (!reference_of(TypeKind::kArray, array)) return compute();
  mend(array);
  const std::uint16_t p = window_p_;
  switch (choices_.below(4)) {
    case 0: return emit(Op::kArrayLength, any(Pool::kI64), array.reg);
    case 1:
      return emit(Op::kArrayDim, any(Pool::kI64), array.reg,
                  u16(choices_.below(world_.module.type(array.type).rank)));
    case 2:
      f_.load_integer(p, choices_.below(3));
      f_.load_integer(u16(p + 1), choices_.below(3));
      f_.load_integer(u16(p + 2), choices_.one_in(60) ? -1 : choices_.below(5));
      return emit(Op::kArrayCopy, array.reg, of_type(array.type), p);
    default:
      new_value(array.reg, array.type);
      if (choices_.one_in(30)) emit(Op::kArrayClose, array.reg);
  }
}

void BodyGenerator::local_access() {
  if (locals_.empty()) return compute();
  const auto local = u16(choices_.below(static_cast<std::uint32_t>(locals_.size())));
  const Kind kind = locals_[local].kind;
  if (choices_.one_in(8)) return emit(Op::kLocalZero, local);
  const std::uint16_t at = index(7);
  if (choices_.one_in(2))
    emit(access_op(Family::kLocalStore, kind), local, at, source(pool_of(kind)));
  else
    emit(access_op(Family::kLocalLoad, kind), any(pool_of(kind)), local, at);
}

void BodyGenerator::object_access() {
  Reference object;
  if (!reference_of(TypeKind::kClass, object)) return compute();
  if (world_.module.type(object.type).fields.empty()) return mend(object);
  mend(object);
  const Field& field = choices_.pick(world_.module.type(object.type).fields);
  const bool store = choices_.one_in(2);
  const Op op = access_op(store ? Family::kPutField : Family::kGetField, field.type.kind);
  const std::uint16_t value = field.type.is_ref() ? of_type(field.type.type)
                              : store             ? source(pool_of(field.type.kind))
                                                  : any(pool_of(field.type.kind));
  if (value == kNone) return;
  if (store) return emit(op, object.reg, u16(field.offset), value);
  emit(op, value, object.reg, u16(field.offset));
  if (field.type.is_ref()) mend({field.type.type, value});
}

void BodyGenerator::reference_move() {
  if (references_.empty()) return compute();
  const Reference to = choices_.pick(references_);
  switch (choices_.below(5)) {
    case 0: return emit(Op::kMoveR, to.reg, of_type(to.type));
    case 1: return new_value(to.reg, to.type);
    case 2: return choices_.one_in(4) ? emit(Op::kNull, to.reg) : mend(to);
    case 3: mend(to); return emit(Op::kNullCheck, to.reg);
    default: {
      Reference weak;
      if (!reference_of(TypeKind::kWeak, weak)) return compute();
      mend(weak);
      // Whether the target is still alive depends on the collector: the result must not depend on it.
      emit(Op::kGetWeak, window_r_, weak.reg);
      const std::uint16_t target = of_type(world_.module.type(weak.type).element.type);
      if (target != kNone) emit_x(Op::kNewWeak, weak.reg, target, 0, weak.type);
    }
  }
}

void BodyGenerator::type_test() {
  Reference a;
  Reference b;
  if (!reference_of(TypeKind::kClass, a) || !reference_of(TypeKind::kInterface, b)) return compute();
  switch (choices_.below(5)) {
    case 0:
      return emit_x(Op::kIsType, any(Pool::kBool), choices_.one_in(2) ? a.reg : b.reg, 0,
                    choices_.pick(world_.classes));
    case 1: return emit_x(Op::kUpcast, b.reg, a.reg, 0, world_.interface);
    case 2:
      if (!choices_.one_in(4))
        emit_x(Op::kUpcast, b.reg, a.reg, 0, world_.interface);  // else it may well trap
      return emit_x(Op::kCast, a.reg, b.reg, 0, a.type);
    case 3: return emit(Op::kEqRef, any(Pool::kBool), a.reg, b.reg);
    default: return emit(Op::kIsNull, any(Pool::kBool), a.reg);
  }
}

void BodyGenerator::string_operation() {
  const std::uint16_t a = of_type(kStringType);
  if (a == kNone) return compute();
  const std::uint16_t b = of_type(kStringType);
  mend({kStringType, a});
  switch (choices_.below(5)) {
    case 0: return emit(Op::kStringEq, any(Pool::kBool), a, b);
    case 1: mend({kStringType, b}); return emit(Op::kStringCompare, any(Pool::kI32), a, b);
    case 2: return emit(Op::kStringLength, any(Pool::kI64), a);
    case 3:
      if (!choices_.one_in(100)) f_.emit32(Op::kConstString, a, world_.module.string("some text"));
      return emit(Op::kStringByte, any(Pool::kI32), a, index(7));
    default: {
      // Constants only: joining a text with itself in a loop doubles it each time.
      const std::uint32_t count = 1 + choices_.below(3);
      for (std::uint32_t i = 0; i < count; ++i) new_value(u16(window_r_ + i), kStringType);
      return emit(Op::kStringConcat, a, window_r_, u16(count));
    }
  }
}

void BodyGenerator::place_arguments(const Signature& signature, std::uint16_t first_reference) {
  std::uint16_t p = window_p_;
  std::uint16_t r = first_reference;
  for (const ValueType& parameter : signature.parameters) {
    if (!parameter.is_ref()) {
      emit(Op::kMoveP, p++, source(pool_of(parameter.kind)));
      continue;
    }
    const std::uint16_t value = of_type(parameter.type);
    if (value == kNone)
      emit(Op::kNull, r++);
    else
      emit(Op::kMoveR, r++, value);
  }
}

void BodyGenerator::take_results(const Signature& signature) {
  std::uint16_t p = window_p_;
  std::uint16_t r = window_r_;
  for (const ValueType& result : signature.results) {
    if (!result.is_ref()) {
      emit(Op::kMoveP, any(pool_of(result.kind)), p++);
      continue;
    }
    const std::uint16_t to = of_type(result.type);
    if (to != kNone) emit(Op::kMoveR, to, r);
    ++r;
  }
}

void BodyGenerator::call() {
  const std::vector<std::uint32_t>& callees = role_ == Role::kKernel ? world_.pure : world_.callable;
  if (callees.empty()) return compute();
  const std::uint32_t callee = choices_.pick(callees);
  const Signature signature = world_.module.module().functions[callee].signature;
  place_arguments(signature, window_r_);
  emit(Op::kCall, window_p_, window_r_, u16(callee));
  take_results(signature);
}

void BodyGenerator::call_method() {
  Reference receiver;
  if (!reference_of(choices_.one_in(2) ? TypeKind::kClass : TypeKind::kInterface, receiver)) return compute();
  mend(receiver);
  const std::vector<Method>& methods = world_.module.type(world_.interface).methods;
  const std::uint32_t method = choices_.below(static_cast<std::uint32_t>(methods.size()));
  const Signature signature = methods[method].signature;
  emit(Op::kMoveR, window_r_, receiver.reg);
  place_arguments(signature, u16(window_r_ + 1));
  emit_x(Op::kCallInterface, window_p_, window_r_, u16(method), world_.interface);
  take_results(signature);
}

void BodyGenerator::call_native() {
  if (world_.natives.empty()) return compute();
  const std::uint32_t import = choices_.pick(world_.natives);
  const Signature signature = world_.module.module().imports[import].signature;
  place_arguments(signature, window_r_);
  emit(Op::kCallNative, window_p_, window_r_, u16(import));
  take_results(signature);
}

void BodyGenerator::launch() {
  if (world_.kernels.empty()) return compute();
  const std::uint32_t id = choices_.pick(world_.kernels);
  const KernelRecord& kernel = world_.module.module().kernels[id];
  const Signature signature = world_.module.module().functions[kernel.function].signature;
  const std::uint32_t dimensions = kernel.dimensions;
  // Fresh arrays, so that an iteration's own element never aliases a shared one. They are kept afterwards, so that the
  // results of the loop are read, and made first, because making them uses the window of primitives.
  constexpr std::uint32_t kLarge[] = {5000, 60, 14};  // by dimensions
  std::uint32_t extra = 0;
  if (world_.options.large_loops && loops_ == 0 && choices_.one_in(2))
    extra = choices_.below(choices_.one_in(3) ? kLarge[dimensions - 1] : 60 / (dimensions * dimensions));
  std::uint16_t r = window_r_;
  for (const ValueType& parameter : signature.parameters) {
    if (!parameter.is_ref()) continue;
    new_value(r, parameter.type, extra);
    const std::uint16_t keep = of_type(parameter.type);
    if (keep != kNone) emit(Op::kMoveR, keep, r);
    ++r;
  }
  std::uint16_t p = window_p_;
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    f_.load_integer(p++, choices_.below(3));
    // Within the arrays, whose sizes are mostly 8 (rank 1) and 4 at least; now and then not.
    const std::uint32_t high = extra + choices_.below(dimensions == 1 ? 9 : 5);
    f_.load_integer(p++, choices_.one_in(100) ? extra + 20 : high);
  }
  std::uint32_t skip = dimensions;
  for (const ValueType& parameter : signature.parameters) {
    if (parameter.is_ref()) continue;
    if (skip > 0)
      --skip;
    else
      emit(Op::kMoveP, p++, source(pool_of(parameter.kind)));
  }
  emit(Op::kParallelFor, window_p_, window_r_, u16(id));
  take_results(signature);
}

void BodyGenerator::raise() {
  const Label past = f_.new_label();
  const Computation& c = choices_.pick(world_.conditions);
  if (info(c.op).b != Operand::kImm && info(c.op).b != Operand::kPs) return compute();
  const std::uint16_t b = info(c.op).b == Operand::kImm ? u16(choices_.bits() & 0xffff) : source(c.b);
  f_.branch(c.op, source(c.a), b, past);
  if (!choices_.one_in(60)) {
    compute();
  } else if (choices_.one_in(3)) {
    f_.emit32(Op::kTrapText, 0, world_.module.string("an assertion"));
  } else if (choices_.one_in(2)) {
    emit(Op::kTrap, static_cast<std::uint16_t>(ErrorCode::kUserTrap));
  } else {
    new_value(window_r_, kStringType);
    emit(Op::kTrapMessage, window_r_);
  }
  f_.bind(past);
}

}  // namespace dhpvm::bytecode::testing
