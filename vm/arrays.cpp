// SPDX-License-Identifier: Apache-2.0
// Strings, arrays and other objects, made for the program by its own instructions, by natives and
// by the host.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "offload/devices/device_base.h"
#include "offload/schedule/memory/buffer.h"
#include "offload/schedule/memory/buffer_pool.h"
#include "vm/context.h"
#include "vm/isolate.h"
#include "vm/lent_array.h"
#include "vm/loop_tier.h"

namespace dhpvm::vm {
namespace {

// Sizes multiply to at most this many bytes: far beyond any machine, and safe to compute with.
constexpr std::uint64_t kMaximumBytes = std::uint64_t{1} << 46;
// So many elements of any type take fewer bytes than that.
constexpr std::uint64_t kUsualLength = std::uint64_t{1} << 20;

std::string shape_text(std::span<const std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += fmt::format("{}{}", text.empty() ? "" : " x ", size);
  return text;
}

struct Extent {
  std::int64_t length = 0;
  std::uint64_t bytes = 0;
};

Error negative_size(const gc::TypeInfo& info, std::span<const std::int64_t> sizes) {
  return error(ErrorCode::kNegativeLength, "the size {} of a new array '{}' is negative", shape_text(sizes),
               info.name);
}

// The number of elements, and their bytes, unless a size is negative or there are too many.
Status measure(const gc::TypeInfo& info, std::span<const std::int64_t> sizes, Extent& extent) {
  // Nearly all arrays have one dimension, and are far from the limits; a negative size is not.
  if (sizes.size() == 1 && static_cast<std::uint64_t>(sizes[0]) <= kUsualLength) [[likely]] {
    extent = {sizes[0], static_cast<std::uint64_t>(sizes[0]) * info.element_size};
    return {};
  }
  std::uint64_t length = 1;
  std::uint64_t bytes = info.element_size;
  bool is_empty = false;
  bool overflow = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) [[unlikely]]
      return negative_size(info, sizes);
    is_empty |= size == 0;
    overflow |= __builtin_mul_overflow(length, static_cast<std::uint64_t>(size), &length);
    overflow |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  // An empty array may have any outer size: the product is zero even if it would overflow before it meets the zero.
  if (is_empty) {
    extent = {};
    return {};
  }
  if (overflow || bytes > kMaximumBytes || length > kMaximumBytes) [[unlikely]] {
    return error(ErrorCode::kNegativeLength,
                 "a new array '{}' of {} elements is beyond what any machine can hold", info.name,
                 shape_text(sizes));
  }
  extent = {static_cast<std::int64_t>(length), bytes};
  return {};
}

void set_dimensions(gc::Array* array, const gc::TypeInfo& info, std::span<const std::int64_t> sizes) {
  if (info.size != sizeof(gc::MultiArray)) return;
  auto* const multi = reinterpret_cast<gc::MultiArray*>(array);
  std::ranges::fill(multi->dims, 1);
  std::ranges::copy(sizes, multi->dims);
}

}  // namespace

Result<gc::String*> Isolate::new_string_of(std::size_t size) {
  if (size > std::numeric_limits<std::uint32_t>::max()) {
    return error(ErrorCode::kUserTrap, "a text of {} bytes is too long; the longest has 4294967295", size);
  }
  context_->bulk_bytes += size;
  if (gc::String* string = heap_->allocate_string(bytecode::kStringType, size)) return string;
  return out_of_memory(fmt::format("a string of {} bytes", size));
}

Result<gc::String*> Isolate::new_string(std::string_view text) {
  gc::String* string = heap_->allocate_short_string(bytecode::kStringType, text.size());
  if (string != nullptr) {
    context_->bulk_bytes += text.size();
  } else {
    DHPVM_ASSIGN(string, new_string_of(text.size()));
  }
  std::ranges::copy(text, string->bytes());
  return string;
}

Result<gc::Array*> Isolate::new_array(gc::TypeId type, std::span<const std::int64_t> sizes) {
  const gc::TypeInfo& info = linked_->types()[type];
  Extent extent;
  DHPVM_TRY(measure(info, sizes, extent));
  gc::Array* array = nullptr;
  if (info.shape == gc::Shape::kArray && extent.bytes >= gc::kOffHeapThreshold) {
    DHPVM_ASSIGN(array, new_off_heap_array(type, extent.length, extent.bytes));
  } else {
    array = heap_->allocate_array(type, info, extent.length);
    if (array == nullptr) {
      return out_of_memory(fmt::format("an array '{}' of {} elements", info.name, shape_text(sizes)));
    }
  }
  set_dimensions(array, info, sizes);
  context_->bulk_bytes += extent.bytes;
  return array;
}

Result<offload::Buffer*> Isolate::new_buffer(std::uint64_t bytes) {
  const auto allocate = [&]() -> Result<offload::Buffer*> {
    if (heap_->fits_memory(bytes)) return pool_->allocate(bytes);
    return out_of_system_memory(ErrorCode::kOffHeapExhausted,
                                fmt::format("an array of {}", offload::bytes_text(bytes)));
  };
  auto buffer = allocate();
  if (buffer.ok()) return buffer;
  // Unreachable arrays may hold the memory.
  heap_->collect(gc::CollectionKind::kFull, gc::CollectionReason::kExternal);
  // Deferred loops and loops in flight may hold arrays that are otherwise unreachable.
  if (loops_ != nullptr) {
    (void)loops_->watch_deadline(*context_);
    DHPVM_TRY(loops_->release_buffers());
  }
  heap_->release_memory();
  return allocate();
}

Result<gc::Array*> Isolate::new_off_heap_array(gc::TypeId type, std::int64_t length, std::uint64_t bytes) {
  auto buffer = new_buffer(bytes);
  if (!buffer.ok()) return std::move(buffer).error();
  gc::Array* const array = heap_->allocate_array_handle(type, linked_->types()[type], length);
  if (array == nullptr) {
    (*buffer)->close();
    return out_of_memory("the handle of an array");
  }
  array->readable = array->writable = length;
  give_buffer(*array, **buffer);
  return array;
}

// The array owns the buffer from now on.
void Isolate::give_buffer(gc::Array& array, offload::Buffer& buffer) {
  array.data = buffer.data();
  array.buffer = &buffer;
  Context& context = *context_;
  context.off_heap_bytes += buffer.capacity();
  context.off_heap_peak_bytes = std::max(context.off_heap_peak_bytes, context.off_heap_bytes);
  heap_->add_external(buffer.capacity());
  heap_->add_cleaner(
      reinterpret_cast<gc::Ref>(&array),
      [](gc::Object* dead, void* isolate) {
        static_cast<Isolate*>(isolate)->release_buffer(reinterpret_cast<gc::Array*>(dead));
      },
      this);
}

void Isolate::move_off_heap(gc::Array& array) {
  const gc::TypeInfo& info = linked_->types()[array.header.type];
  const auto bytes = static_cast<std::size_t>(array.length) * info.element_size;
  if (array.buffer != nullptr || array.data == nullptr || bytes == 0 || info.shape != gc::Shape::kArray ||
      array.header.has(gc::kBorrowed) || array.header.has(gc::kImmortal) || !heap_->fits_memory(bytes))
    return;
  const auto buffer = pool_->allocate(bytes, offload::BufferContents::kUndefined);
  if (!buffer.ok()) return;
  std::memcpy((*buffer)->data(), array.data, bytes);
  give_buffer(array, **buffer);
}

void Isolate::release_buffer(gc::Array* array) {
  auto* const buffer = static_cast<offload::Buffer*>(array->buffer);
  if (buffer == nullptr) return;  // closed already
  context_->off_heap_bytes -= buffer->capacity();
  context_->heap->remove_external(buffer->capacity());
  buffer->close();
  array->buffer = nullptr;
}

Result<gc::Resource*> Isolate::new_resource(void* pointer, gc::Cleaner cleaner, void* context) {
  gc::Resource* const resource = heap_->allocate_resource(bytecode::kResourceType, pointer, cleaner, context);
  if (resource == nullptr) return out_of_memory("a resource");
  return resource;
}

Result<gc::Object*> Isolate::new_object(gc::TypeId type) {
  const gc::TypeInfo& info = linked_->types()[type];
  if (gc::Object* const object = heap_->allocate(type, info)) return object;
  return out_of_memory(fmt::format("an object of class '{}'", info.name));
}

Result<gc::Array*> new_lent_array(Isolate& isolate, gc::TypeId type, void* data,
                                  std::span<const std::int64_t> sizes, bool writable) {
  const gc::TypeInfo& info = isolate.linked().types()[type];
  if (info.shape != gc::Shape::kArray || sizes.size() != isolate.module().types[type].rank) {
    return error(ErrorCode::kInvalidArgument, "memory cannot be lent as '{}' of {}", info.name,
                 shape_text(sizes));
  }
  Extent extent;
  DHPVM_TRY(measure(info, sizes, extent));
  if (data == nullptr && extent.length != 0) [[unlikely]] {
    return error(ErrorCode::kInvalidArgument, "memory at the address null cannot be lent as '{}' of {}",
                 info.name, shape_text(sizes));
  }
  gc::Array* const array = isolate.heap().allocate_array_handle(type, info, extent.length);
  if (array == nullptr) return isolate.out_of_memory("the handle of a lent array");
  set_dimensions(array, info, sizes);
  // An empty span may have a null address; but null in an array means that the loan has ended.
  static std::byte nothing;
  array->data = data != nullptr ? static_cast<std::byte*>(data) : &nothing;
  array->readable = extent.length;
  array->writable = writable ? extent.length : 0;
  array->header.set(gc::kBorrowed);
  return array;
}

gc::Array* lend_row(Isolate& isolate, gc::TypeId type, void* data, std::int64_t size, bool writable) {
  const gc::TypeInfo& info = isolate.linked().types()[type];
  const bool is_usual = info.shape == gc::Shape::kArray && info.size == sizeof(gc::Array) &&
                        static_cast<std::uint64_t>(size) <= kUsualLength && data != nullptr;
  if (!is_usual) [[unlikely]]
    return nullptr;
  gc::Array* const array = isolate.heap().allocate_array_handle(type, info, size);
  if (array == nullptr) [[unlikely]]
    return nullptr;
  array->data = static_cast<std::byte*>(data);
  array->readable = size;
  array->writable = writable ? size : 0;
  array->header.set(gc::kBorrowed);
  return array;
}

void end_loan(gc::Array& array) {
  // A handle that the program has closed is not borrowed any more.
  if (!array.header.has(gc::kBorrowed)) return;
  array.data = nullptr;
  array.readable = array.writable = 0;
}

Result<Loan> Isolate::lend_array(gc::TypeId type, void* data, std::span<const std::int64_t> sizes,
                                 bool writable) {
  DHPVM_ASSIGN(gc::Array* const array, new_lent_array(*this, type, data, sizes, writable));
  return Loan(std::make_unique<gc::Root<gc::Array>>(*heap_, array));
}

Loan& Loan::operator=(Loan&& other) noexcept {
  end();
  array_ = std::move(other.array_);
  return *this;
}

void Loan::end() {
  if (!array_) return;
  if (gc::Array* const array = array_->get()) end_loan(*array);  // null if the isolate is gone
  array_.reset();
}

std::int64_t Isolate::dimension(const gc::Array& array, unsigned dimension) const {
  if (linked_->types()[array.header.type].size != sizeof(gc::MultiArray)) return array.length;
  return reinterpret_cast<const gc::MultiArray&>(array).dims[dimension];
}

Status Isolate::make_accessible(gc::Array& array, std::int64_t index, bool write) {
  if (index < 0 || index >= array.length) {
    return error(ErrorCode::kIndexOutOfRange, "index {} is out of range for length {}", index, array.length);
  }
  const std::int64_t accessible = write ? array.writable : array.readable;
  if (index < accessible) return {};
  if (array.buffer != nullptr) return fetch(array, write);
  if (!array.header.has(gc::kBorrowed)) {
    return Error(ErrorCode::kClosed, "the array has been closed");
  }
  if (array.data == nullptr) {
    return Error(
        ErrorCode::kBorrowEnded,
        "the array was lent by the host for the duration of a call, which is over; copy what must stay");
  }
  return Error(ErrorCode::kBorrowEnded,
               "the array was lent by the host for reading only; lend memory that may be written, or copy it "
               "first");
}

// The array is neither closed nor borrowed: a device has its elements, or works on them.
Status Isolate::fetch(gc::Array& array, bool write) {
  ++context_->fetches;
  if (offload::BufferCopies* const copies = static_cast<offload::Buffer*>(array.buffer)->copies()) {
    // Loops that were deferred may run now. If no thread can watch the clock, a deadline stops them between chunks
    // only.
    if (loops_ != nullptr) (void)loops_->watch_deadline(*context_);
    Status status = write ? copies->to_host_for_writing() : copies->to_host_for_reading();
    if (context_->profiler != nullptr) context_->profiler->check(*context_, Profiler::Part::kDevices);
    if (!status.ok()) {
      // An error of the user's family is not the program's mistake either: the device has failed.
      if (status.error().family() != ErrorFamily::kUser) return status;
      return Error(ErrorCode::kDeviceFailed, status.error().message());
    }
  }
  array.readable = array.length;
  if (write) array.writable = array.length;
  return {};
}

void Isolate::withhold(gc::Array& array, bool host_reads) {
  array.writable = 0;
  if (!host_reads) array.readable = 0;
}

void Isolate::close_array(gc::Array* array) {
  release_buffer(array);
  array->header.clear(gc::kBorrowed);
  array->data = nullptr;
  array->readable = array->writable = 0;
}

}  // namespace dhpvm::vm
