// SPDX-License-Identifier: Apache-2.0
// Tensors of DLPack as arrays of programs, and the other way round.
#include "vm/api/c/dlpack.h"

#include <algorithm>
#include <span>

#include "bytecode/kind.h"
#include "vm/api/c/objects.h"

namespace dhpvm::c {
namespace {

struct TensorKind {
  std::uint8_t code;
  std::uint8_t bits;
};
// By kind of number.
constexpr TensorKind kTensorKinds[] = {{kDlBool, 8},  {kDlInt, 8},    {kDlUInt, 8},  {kDlInt, 16},
                                       {kDlUInt, 16}, {kDlInt, 32},   {kDlUInt, 32}, {kDlInt, 64},
                                       {kDlUInt, 64}, {kDlFloat, 32}, {kDlFloat, 64}};

// A complex number has two lanes.
Status take_elements(const DlDataType& type, dhpvm_array& array) {
  const bool is_complex = type.code == kDlComplex && type.lanes == 1;
  const int code = is_complex ? kDlFloat : type.code;
  const int bits = is_complex ? type.bits / 2 : type.bits;
  array.lanes = is_complex ? 2 : type.lanes;
  for (std::size_t i = 0; i < std::size(kTensorKinds); ++i) {
    if (array.lanes == 0 || code != kTensorKinds[i].code || bits != kTensorKinds[i].bits) continue;
    array.kind = static_cast<dhpvm_kind>(i + DHPVM_BOOL);
    return {};
  }
  return error(ErrorCode::kUnsupported,
               "the tensor's elements (code {}, {} bits, {} lanes) are of no type that programs have",
               type.code, type.bits, type.lanes);
}

Result<dhpvm_array> array_of(const DLManagedTensorVersioned& managed) {
  if (managed.major_version != kDlMajorVersion)
    return error(ErrorCode::kUnsupported, "the tensor is of DLPack {}, and this library reads version {}",
                 managed.major_version, kDlMajorVersion);
  const DlTensor& tensor = managed.tensor;
  if (tensor.device.type != kDlCpu)
    return error(ErrorCode::kUnsupported,
                 "the tensor is on a device of type {}: copy it to the host's memory first",
                 tensor.device.type);
  if (tensor.dimensions < 1 || tensor.dimensions > DHPVM_MAXIMUM_RANK)
    return error(ErrorCode::kUnsupported, "the tensor has {} dimensions, and arrays of programs have 1 to 3",
                 tensor.dimensions);
  DHPVM_TRY(check_pointer(tensor.shape, "tensor.shape"));
  dhpvm_array array{};
  array.size = sizeof array;
  DHPVM_TRY(take_elements(tensor.type, array));
  array.data = tensor.data == nullptr ? nullptr : static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  array.access = (managed.flags & kDlReadOnly) != 0 ? DHPVM_READ : DHPVM_READ_WRITE;
  array.rank = static_cast<std::uint32_t>(tensor.dimensions);
  for (unsigned i = 0; i < array.rank; ++i) {
    array.sizes[i] = tensor.shape[i];
    if (tensor.strides != nullptr)
      array.strides[i] = tensor.strides[i] * (tensor.type.bits / 8) * tensor.type.lanes;
  }
  // Strides that are all 0 stand for dense elements in dhpvm_array.
  if (tensor.strides != nullptr &&
      std::ranges::all_of(array.strides, [](auto stride) { return stride == 0; }) &&
      std::any_of(array.sizes, array.sizes + array.rank, [](auto size) { return size > 1; }))
    return error(ErrorCode::kUnsupported, "all elements of the tensor are one and the same: copy it first");
  return array;
}

void delete_tensor(void* tensor) {
  auto* const managed = static_cast<DLManagedTensorVersioned*>(tensor);
  if (managed->deleter != nullptr) managed->deleter(managed);
}

// A tensor that shows an array of the program, and the object that keeps the array alive.
struct ExportedTensor {
  DLManagedTensorVersioned managed{};
  std::int64_t shape[DHPVM_MAXIMUM_RANK] = {};
  std::int64_t strides[DHPVM_MAXIMUM_RANK] = {};
  dhpvm::Object object;
  std::shared_ptr<LentMemory> lent;
  std::weak_ptr<ReturnedObjects> returned;
};

void give_back(DLManagedTensorVersioned* managed) {
  std::unique_ptr<ExportedTensor> tensor(static_cast<ExportedTensor*>(managed->context));
  // Another thread may use the isolate now: the isolate's own thread releases the object.
  const std::shared_ptr<ReturnedObjects> returned = tensor->returned.lock();
  if (returned == nullptr) return;
  try {
    returned->add(std::move(tensor->object), std::move(tensor->lent));
  } catch (...) {
    // Without memory for the list, the array stays alive until the isolate ends.
    (void)tensor.release();
  }
}

// A struct of two floats is a complex number if its name says so; NumPy takes no elements of two lanes.
DlDataType element_type(const dhpvm::Object& object, const dhpvm_array& array) {
  const TensorKind kind = kTensorKinds[array.kind - DHPVM_BOOL];
  const bool is_complex =
      array.lanes == 2 && kind.code == kDlFloat && object.type_name().starts_with("[Complex");
  if (is_complex) return {kDlComplex, static_cast<std::uint8_t>(2 * kind.bits), 1};
  return {kind.code, kind.bits, static_cast<std::uint16_t>(array.lanes)};
}

Status export_tensor(const ObjectHandle& object, DLManagedTensorVersioned** result) {
  dhpvm_array array{};
  Status status = view(object.object, DHPVM_READ_WRITE, array);
  const bool is_read_only = !status.ok() && status.error().code() == ErrorCode::kBorrowEnded &&
                            view(object.object, DHPVM_READ, array).ok();
  if (!status.ok() && !is_read_only) return status;
  auto tensor = std::make_unique<ExportedTensor>();
  std::copy_n(array.sizes, array.rank, tensor->shape);
  const DlDataType type = element_type(object.object, array);
  for (unsigned i = 0; i < array.rank; ++i)
    tensor->strides[i] = array.strides[i] / (type.bits / 8 * type.lanes);
  tensor->object = object.object;
  tensor->lent = object.lent;
  const auto& isolate = detail::ObjectState::of(object.object)->isolate;
  if (const auto* const handle = find(isolate->c_handle)) {
    handle->returned->let_go();
    tensor->returned = handle->returned;
  }
  DLManagedTensorVersioned& managed = tensor->managed;
  managed.major_version = kDlMajorVersion;
  managed.minor_version = kDlMinorVersion;
  managed.context = tensor.get();
  managed.deleter = &give_back;
  managed.flags = is_read_only ? kDlReadOnly : 0;
  managed.tensor = {array.data, {kDlCpu, 0},   static_cast<std::int32_t>(array.rank),
                    type,       tensor->shape, tensor->strides,
                    0};
  *result = &tensor.release()->managed;
  return {};
}

}  // namespace
}  // namespace dhpvm::c

using dhpvm::Status;
using dhpvm::c::check_pointer;

dhpvm_code dhpvm_object_from_dlpack(dhpvm_isolate* isolate, struct DLManagedTensorVersioned* tensor,
                                    dhpvm_object** object, dhpvm_error** error) {
  return dhpvm::c::guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(tensor, "tensor"));
    DHPVM_TRY(check_pointer(object, "object"));
    found->returned->let_go();
    DHPVM_ASSIGN(const dhpvm_array array, dhpvm::c::array_of(*tensor));
    const auto owner = std::make_shared<dhpvm::c::ReleasedUser>(&dhpvm::c::delete_tensor, tensor);
    Status status = dhpvm::c::lend(*found, array, owner, object);
    if (!status.ok()) owner->keep();
    return status;
  });
}

dhpvm_code dhpvm_object_to_dlpack(dhpvm_object* object, struct DLManagedTensorVersioned** tensor,
                                  dhpvm_error** error) {
  return dhpvm::c::guarded(error, [&]() -> Status {
    DHPVM_FIND(found, object);
    DHPVM_TRY(check_pointer(tensor, "tensor"));
    return dhpvm::c::export_tensor(*found, tensor);
  });
}
