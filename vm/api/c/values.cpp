// SPDX-License-Identifier: Apache-2.0
#include "vm/api/c/values.h"

#include <bit>

#include "bytecode/kind.h"
#include "dhpvm/detail/window.h"

namespace dhpvm::c {
namespace {

using detail::HostType;
using detail::Kind;
using detail::to_register;
using Shape = HostType::Shape;

static_assert(kind_of(Kind::kBool) == DHPVM_BOOL && kind_of(Kind::kU32) == DHPVM_U32 &&
                  kind_of(Kind::kF64) == DHPVM_F64,
              "dhpvm/c/values.h numbers the kinds from 1 on");

constexpr const char* kKindTexts[] = {
    "DHPVM_NULL", "DHPVM_BOOL",  "DHPVM_I8",     "DHPVM_U8",       "DHPVM_I16",   "DHPVM_U16",
    "DHPVM_I32",  "DHPVM_U32",   "DHPVM_I64",    "DHPVM_U64",      "DHPVM_F32",   "DHPVM_F64",
    "DHPVM_TEXT", "DHPVM_ARRAY", "DHPVM_OBJECT", "DHPVM_RESOURCE", "DHPVM_RECORD"};

dhpvm_kind kind_of_type(const HostType& type) {
  switch (type.shape) {
    case Shape::kPrimitive: return kind_of(type.kind);
    case Shape::kString: return DHPVM_TEXT;
    case Shape::kArray: return DHPVM_ARRAY;
    case Shape::kResource: return DHPVM_RESOURCE;
    case Shape::kObject: return DHPVM_OBJECT;
  }
  return DHPVM_NULL;
}

// The type of the program's value in the C interface: everything except str and arrays of numbers is an object.
HostType host_type(const bytecode::Module& module, const bytecode::ValueType& value) {
  if (!value.is_ref()) return {Shape::kPrimitive, static_cast<Kind>(value.kind)};
  const bytecode::Type& type = module.types[value.type];
  if (type.kind == bytecode::TypeKind::kString) return {Shape::kString, Kind::kRef};
  if (type.kind == bytecode::TypeKind::kArray) {
    if (const Lanes lanes = lanes_of(module, type.element); lanes.count != 0)
      return {Shape::kArray, lanes.kind, type.rank};
  }
  return {Shape::kObject, Kind::kRef};
}

// Calls `visit(address, position)` for each element in row-major order.
template <typename F>
void each_element(const dhpvm_array& array, F&& visit) {
  std::int64_t sizes[3] = {1, 1, 1};
  std::int64_t strides[3] = {0, 0, 0};
  const unsigned front = DHPVM_MAXIMUM_RANK - array.rank;
  for (unsigned i = 0; i < array.rank; ++i) {
    sizes[front + i] = array.sizes[i];
    strides[front + i] = array.strides[i];
  }
  auto* const origin = static_cast<std::byte*>(array.data);
  std::size_t position = 0;
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    for (std::int64_t j = 0; j < sizes[1]; ++j) {
      for (std::int64_t k = 0; k < sizes[2]; ++k)
        visit(origin + i * strides[0] + j * strides[1] + k * strides[2], position++);
    }
  }
}

bool has_strides(const dhpvm_array& array) {
  return std::any_of(array.strides, array.strides + array.rank,
                     [](std::int64_t stride) { return stride != 0; });
}

void set_dense_strides(dhpvm_array& array, std::size_t element_bytes) {
  auto stride = static_cast<std::int64_t>(element_bytes);
  for (unsigned i = array.rank; i-- > 0; stride *= array.sizes[i]) array.strides[i] = stride;
}

// Whether the elements are adjacent, with the last dimension fastest.
bool is_row_major(const dhpvm_array& array, std::size_t element_bytes) {
  auto expected = static_cast<std::int64_t>(element_bytes);
  for (unsigned i = array.rank; i-- > 0; expected *= array.sizes[i]) {
    if (array.sizes[i] != 1 && array.strides[i] != expected) return false;
  }
  return true;
}

Status count_elements(const dhpvm_array& array, std::size_t element_bytes, std::size_t& count) {
  count = 1;
  for (unsigned i = 0; i < array.rank; ++i) {
    if (array.sizes[i] < 0)
      return error(ErrorCode::kNegativeLength, "the size {} of an array is negative", array.sizes[i]);
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(array.sizes[i]), &count))
      return error(ErrorCode::kNegativeLength, "the sizes of an array are beyond what any machine can hold");
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, element_bytes, &bytes))
    return error(ErrorCode::kNegativeLength, "the sizes of an array are beyond what any machine can hold");
  return {};
}

}  // namespace

const char* kind_text(dhpvm_kind kind) {
  return kind < std::size(kKindTexts) ? kKindTexts[kind] : "no dhpvm_kind";
}

std::vector<SignatureValue> describe(std::span<const HostType> types) {
  std::vector<SignatureValue> values;
  unsigned primitives = 0;
  unsigned references = 0;
  for (const HostType& type : types)
    values.push_back({kind_of_type(type), type, type.is_reference() ? references++ : primitives++});
  return values;
}

std::vector<SignatureValue> describe(const bytecode::Module& module,
                                     const std::vector<bytecode::ValueType>& types) {
  std::vector<HostType> seen;
  for (const bytecode::ValueType& type : types) seen.push_back(host_type(module, type));
  std::vector<SignatureValue> values = describe(seen);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind == DHPVM_ARRAY)
      values[i].lanes = lanes_of(module, module.types[types[i].type].element).count;
  }
  return values;
}

std::uint64_t register_of(const dhpvm_value& value) {
  switch (value.kind) {
    case DHPVM_BOOL: return value.of.boolean != 0 ? 1 : 0;
    case DHPVM_I8: return to_register(value.of.i8);
    case DHPVM_U8: return to_register(value.of.u8);
    case DHPVM_I16: return to_register(value.of.i16);
    case DHPVM_U16: return to_register(value.of.u16);
    case DHPVM_I32: return to_register(value.of.i32);
    case DHPVM_U32: return to_register(value.of.u32);
    case DHPVM_F32: return to_register(value.of.f32);
    default: return value.of.u64;
  }
}

dhpvm_value value_of(dhpvm_kind kind, std::uint64_t bits) {
  dhpvm_value value{};
  value.kind = kind;
  switch (kind) {
    case DHPVM_BOOL: value.of.boolean = (bits & 0xff) != 0 ? 1 : 0; break;
    case DHPVM_I8:
    case DHPVM_U8: value.of.u8 = static_cast<std::uint8_t>(bits); break;
    case DHPVM_I16:
    case DHPVM_U16: value.of.u16 = static_cast<std::uint16_t>(bits); break;
    case DHPVM_I32:
    case DHPVM_U32: value.of.u32 = static_cast<std::uint32_t>(bits); break;
    case DHPVM_F32: value.of.f32 = std::bit_cast<float>(static_cast<std::uint32_t>(bits)); break;
    default: value.of.u64 = bits; break;
  }
  return value;
}

Status check_array(const dhpvm_array* array, CheckedArray& checked) {
  DHPVM_TRY(check_pointer(array, "array"));
  if (array->size < sizeof(dhpvm_array))
    return error(ErrorCode::kInvalidArgument, "dhpvm_array.size is {}, and should be sizeof: {}", array->size,
                 sizeof(dhpvm_array));
  if (!is_number(array->kind))
    return error(ErrorCode::kInvalidArgument,
                 "dhpvm_array.kind is {}, and should be that of a number or bool", kind_text(array->kind));
  if (array->rank == 0 || array->rank > DHPVM_MAXIMUM_RANK)
    return error(ErrorCode::kInvalidArgument, "dhpvm_array.rank is {}, and should be 1 to 3", array->rank);
  if (array->access > DHPVM_READ_WRITE)
    return error(ErrorCode::kInvalidArgument,
                 "dhpvm_array.access is {}, and should be DHPVM_READ or DHPVM_READ_WRITE", array->access);
  checked.array = *array;
  const std::size_t number_bytes = bytecode::size_of(static_cast<bytecode::Kind>(element_kind(array->kind)));
  checked.element_bytes = number_bytes * lane_count(*array);
  DHPVM_TRY(count_elements(*array, checked.element_bytes, checked.count));
  if (checked.count != 0 && array->data == nullptr)
    return error(ErrorCode::kInvalidArgument,
                 "dhpvm_array.data is NULL, and should be the address of {} elements", checked.count);
  if (checked.count == 0) {
    checked.is_dense = true;
    return {};
  }
  if (!has_strides(*array)) set_dense_strides(checked.array, checked.element_bytes);
  const bool is_aligned = (reinterpret_cast<std::uintptr_t>(array->data) & (number_bytes - 1)) == 0;
  checked.is_dense = is_aligned && is_row_major(checked.array, checked.element_bytes);
  return {};
}

void gather(const CheckedArray& array, std::byte* dense) {
  each_element(array.array, [&](const std::byte* element, std::size_t position) {
    std::memcpy(dense + position * array.element_bytes, element, array.element_bytes);
  });
}

void scatter(const CheckedArray& array, const std::byte* dense) {
  each_element(array.array, [&](std::byte* element, std::size_t position) {
    std::memcpy(element, dense + position * array.element_bytes, array.element_bytes);
  });
}

void fill_array(const vm::Isolate& machine, const gc::Array& elements, Lanes lanes, unsigned rank,
                dhpvm_access access, dhpvm_array& array) {
  array.size = sizeof array;
  array.data = elements.data;
  array.kind = kind_of(lanes.kind);
  array.access = access;
  array.rank = rank;
  array.lanes = lanes.count;
  std::int64_t stride =
      bytecode::size_of(static_cast<bytecode::Kind>(lanes.kind)) * std::int64_t{lanes.count};
  for (unsigned i = DHPVM_MAXIMUM_RANK; i-- > 0;) {
    array.sizes[i] = i < rank ? machine.dimension(elements, i) : 0;
    array.strides[i] = i < rank ? stride : 0;
    if (i < rank) stride *= array.sizes[i];
  }
}

}  // namespace dhpvm::c
