// SPDX-License-Identifier: Apache-2.0
#include "vm/runtime.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/short_bytes.h"
#include "vm/isolate.h"
#include "vm/trap.h"
#include "vm/values.h"

namespace dhpvm::vm {
namespace {

using bytecode::a_of;
using bytecode::b_of;
using bytecode::c_of;
using bytecode::Op;
using bytecode::Word;

// Moving this many bytes takes a fraction of a millisecond, and bounds how late a deadline is honoured. A native
// function takes longer than a tick: it counts like moving this much.
constexpr std::uint64_t kNativeBytes = kBulkBytes / 64;

// The reason why the program has to stop now. Every thread that works for it sees the same until the outermost call
// returns.
Status stop_reason(const Context& context) {
  const std::uint32_t reasons = context.stop->reasons();
  if ((reasons & StopToken::kInterrupt) != 0) {
    return Error(ErrorCode::kInterrupted, "the program was asked to stop");
  }
  const auto is_late = [&] {
    return context.deadline && std::chrono::steady_clock::now() >= *context.deadline;
  };
  if ((reasons & StopToken::kDeadline) != 0 || is_late()) {
    const auto limit = context.isolate->options().limits.deadline;
    return error(ErrorCode::kDeadline, "the call took longer than {} ms",
                 std::chrono::duration<double, std::milli>(limit).count());
  }
  return {};
}

// Turns an error of the host into a trap of the running program.
Error as_trap(Error failure) {
  if (failure.family() != ErrorFamily::kUser) return failure;
  const bool io = failure.code() == ErrorCode::kIo || failure.code() == ErrorCode::kNotFound ||
                  failure.code() == ErrorCode::kPermissionDenied;
  Error trap(io ? ErrorCode::kIoTrap : ErrorCode::kHostException, failure.message());
  return std::move(trap).with_frames(failure.frames());
}

// Functions of the host should not throw, and exceptions cannot pass the frames of compiled code and of the
// interpreter.
Status call_guarded(const NativeFunction& function, NativeCall& call) {
  try {
    return function(call);
  } catch (const std::exception& problem) {
    return error(ErrorCode::kHostException, "a function of the host threw an exception: {}", problem.what());
  } catch (...) {
    return Error(ErrorCode::kHostException, "a function of the host threw an exception");
  }
}

void copy_texts(char* to, std::span<const gc::Ref> parts) {
  for (const gc::Ref part : parts) {
    const std::string_view text = reinterpret_cast<const gc::String*>(part)->view();
    copy_short(to, text.data(), text.size());
    to += text.size();
  }
}

// Batches vary in size by up to an eighth. With equal batches, a loop that takes a tick for a call and one for its
// back-edge could run out of ticks at the call every time, and no sample would find the place where it can continue in
// compiled code.
std::uint64_t next_batch(const Context& context) {
  constexpr std::uint64_t kMultiplier = 0x9E37'79B9'7F4A'7C15;  // 2^64 divided by the golden ratio
  const std::uint64_t random = context.fuel_batched * kMultiplier >> 32;
  return context.batch - (random * (context.batch / 8 + 1) >> 32);
}

}  // namespace

bool look_at_clock(Context& context) {
  // The interval of a check that costs as much as a look at the clock.
  constexpr std::uint64_t kSafepointsBetweenLooks = 16;
  if (++context.safepoints % kSafepointsBetweenLooks == 0) context.heap->look_for_idleness();
  Status status = stop_reason(context);
  if (status.ok()) return true;
  raise(context, std::move(status).error());
  return false;
}

Status Isolate::poll() const { return stop_reason(*context_); }

bool refill_ticks(Context& context) {
  context.ticks = 0;
  if (context.profiler != nullptr) context.profiler->check(context);
  if (!look_at_clock(context)) return false;
  if (context.fuel_left == 0) {
    raise(context, Error(ErrorCode::kOutOfFuel, "the fuel given to the program is used up"));
    return false;
  }
  const std::uint64_t batch = std::min(next_batch(context), context.fuel_left);
  if (context.fuel_limited) context.fuel_left -= batch;
  context.fuel_batched += batch;
  context.ticks = static_cast<std::int64_t>(batch);
  return true;
}

bool poll_after_bulk(Context& context, std::uint64_t bytes) {
  context.bulk_bytes += bytes;
  const std::uint64_t collections = context.heap->collections();
  if (context.bulk_bytes < kBulkBytes && collections == context.collections_seen) return true;
  context.bulk_bytes = 0;
  context.collections_seen = collections;
  return look_at_clock(context);
}

// The code of a failure that the program imports as a value. Limits and interrupts have none, and neither have mistakes
// of the program, such as an index outside of an array.
std::optional<FailureCode> failure_code(const Error& failure) {
  switch (failure.code()) {
    case ErrorCode::kIo:
    case ErrorCode::kIoTrap: return FailureCode::kInputOutput;
    case ErrorCode::kNotFound: return FailureCode::kNotFound;
    case ErrorCode::kPermissionDenied: return FailureCode::kDenied;
    case ErrorCode::kHostException: return FailureCode::kHost;
    default: return failure.family() == ErrorFamily::kUser ? std::optional(FailureCode::kHost) : std::nullopt;
  }
}

// The results of a fallible import after its call.
bool give_failure(Context& context, const LinkedImport& import, std::uint64_t* p, gc::Ref* r,
                  const Error& failure, FailureCode code) {
  std::fill_n(p, import.failure_code, 0);
  std::fill_n(r, import.failure_message, nullptr);
  Result<gc::String*> message = context.isolate->new_string(failure.message());
  if (!message.ok()) {
    raise(context, std::move(message).error());
    return false;
  }
  r[import.failure_message] = reinterpret_cast<gc::Ref>(*message);
  p[import.failure_code] = put(static_cast<std::int64_t>(code));
  return poll_after_bulk(context, kNativeBytes);
}

namespace {

// The verifier does not check the types of imports' results.
bool check_result(Context& context, const LinkedImport& import, gc::Ref result, gc::TypeId type) {
  if (result == nullptr || context.linked->is_instance(result->header.type, type)) return true;
  const std::vector<bytecode::Type>& types = context.linked->module().types;
  raise(context, error(ErrorCode::kBadCast, "'{}' gave an object of type {}, and should give one of type {}",
                       import.source->name, types[result->header.type].name, types[type].name));
  return false;
}

}  // namespace

bool call_import(Context& context, const LinkedImport& import, std::uint64_t* p, gc::Ref* r) {
  NativeCall call{*context.isolate, p, r};
  for (const std::uint16_t index : import.not_null) {
    if (call.r[index] != nullptr) continue;
    raise(context, error(ErrorCode::kNullReference, "reference argument {} of '{}' is null", index + 1,
                         import.source->name));
    return false;
  }
  Status status = call_guarded(*import.function, call);
  if (context.profiler != nullptr) {
    const auto index = static_cast<std::uint32_t>(&import - context.linked->imports().data());
    context.profiler->check(context, Profiler::Part::kNative, index);
  }
  if (status.ok()) [[likely]] {
    for (const auto& [slot, type] : import.checked_results) {
      if (!check_result(context, import, r[slot], type)) return false;
    }
    if (import.fallible) r[import.failure_message] = nullptr;
    return poll_after_bulk(context, kNativeBytes);
  }
  if (import.fallible) {
    if (const std::optional<FailureCode> code = failure_code(status.error()); code)
      return give_failure(context, import, p, r, status.error(), *code);
  }
  raise(context, as_trap(std::move(status).error()));
  return false;
}

bool make_accessible(Context& context) {
  const Word word = *context.pc;
  const bytecode::OpInfo& row = bytecode::info(static_cast<Op>(bytecode::op_of(word)));
  // Stores have the array and the index in A and B, everything else in B and C.
  const bool is_store = row.memory() == bytecode::Memory::kWritesElement;
  const bool is_atomic = row.memory() == bytecode::Memory::kUpdatesElement;
  auto& array = *reinterpret_cast<gc::Array*>(context.r[is_store ? a_of(word) : b_of(word)]);
  const auto index = get<std::int64_t>(context.p[is_store ? b_of(word) : c_of(word)]);
  return make_accessible(context, array, index, is_store || is_atomic);
}

bool make_accessible(Context& context, gc::Array& array, std::int64_t index, bool write) {
  ++context.slow_accesses;
  Status status = context.isolate->make_accessible(array, index, write);
  if (status.ok()) return true;
  raise(context, std::move(status).error());
  return false;
}

gc::Ref new_array(Context& context, gc::TypeId type, std::span<const std::int64_t> sizes) {
  auto array = context.isolate->new_array(type, sizes);
  if (!array.ok()) {
    raise(context, std::move(array).error());
    return nullptr;
  }
  return poll_after_bulk(context, 0) ? reinterpret_cast<gc::Ref>(*array) : nullptr;
}

bool copy_array(Context& context, gc::Array* to, gc::Array* from, std::int64_t to_start,
                std::int64_t from_start, std::int64_t count) {
  if (to == nullptr || from == nullptr) {
    raise(context, null_trap(context));
    return false;
  }
  const auto check = [&](gc::Array& array, std::int64_t start, bool write) -> Status {
    if (count < 0) return error(ErrorCode::kNegativeLength, "{} elements were to be copied", count);
    if (start < 0 || start > array.length || count > array.length - start) {
      return error(ErrorCode::kIndexOutOfRange, "{} elements from {} on are out of range for length {}",
                   count, start, array.length);
    }
    // Checking the last element is enough: elements become inaccessible together.
    return count == 0 ? Status() : context.isolate->make_accessible(array, start + count - 1, write);
  };
  Status status = check(*from, from_start, false);
  if (status.ok()) status = check(*to, to_start, true);
  if (!status.ok()) {
    raise(context, std::move(status).error());
    return false;
  }
  if (count == 0) return true;
  const gc::TypeInfo& info = context.types[to->header.type];
  const std::uint64_t size = info.element_size;
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * size;
  std::memmove(to->data + static_cast<std::uint64_t>(to_start) * size,
               from->data + static_cast<std::uint64_t>(from_start) * size, bytes);
  if (info.shape == gc::Shape::kRefArray) context.heap->write_barrier(to, to_start, count);
  return poll_after_bulk(context, bytes);
}

gc::Ref new_object(Context& context, gc::TypeId type) {
  const std::size_t size = gc::round_up(context.types[type].size, gc::kGranule);
  gc::Object* const object = context.heap->allocate_slow(type, size);
  if (object == nullptr) {
    raise(context, context.isolate->out_of_memory("an object of class '" +
                                                  std::string(context.types[type].name) + "'"));
    return nullptr;
  }
  return poll_after_bulk(context, 0) ? object : nullptr;
}

gc::Ref new_weak(Context& context, gc::TypeId type, gc::Ref target) {
  gc::Weak* const weak = context.heap->allocate_weak(type, target);
  if (weak == nullptr) {
    raise(context, context.isolate->out_of_memory("a weak reference"));
    return nullptr;
  }
  return poll_after_bulk(context, 0) ? reinterpret_cast<gc::Ref>(weak) : nullptr;
}

bool make_string_constant(Context& context, std::uint32_t index) {
  const std::string& text = context.linked->module().strings[index];
  gc::String* const string = context.heap->allocate_immortal_string(bytecode::kStringType, text);
  if (string == nullptr) {
    raise(context, context.isolate->out_of_memory("a string constant"));
    return false;
  }
  context.strings[index] = reinterpret_cast<gc::Ref>(string);
  return true;
}

gc::Ref concat_strings(Context& context, std::span<const gc::Ref> parts) {
  std::size_t size = 0;
  for (const gc::Ref part : parts) {
    if (part == nullptr) {
      raise(context, null_trap(context));
      return nullptr;
    }
    size += reinterpret_cast<const gc::String*>(part)->size;
  }
  auto made = context.isolate->new_string_of(size);
  if (!made.ok()) {
    raise(context, std::move(made).error());
    return nullptr;
  }
  copy_texts((*made)->bytes(), parts);
  return poll_after_bulk(context, 0) ? reinterpret_cast<gc::Ref>(*made) : nullptr;
}

gc::Ref concat_short_strings(Context& context, std::span<const gc::Ref> parts) {
  std::size_t size = 0;
  for (const gc::Ref part : parts) {
    if (part == nullptr) return nullptr;
    size += reinterpret_cast<const gc::String*>(part)->size;
  }
  if (context.bulk_bytes + size >= kBulkBytes) return nullptr;
  gc::String* const made = context.heap->allocate_short_string(bytecode::kStringType, size);
  if (made == nullptr) return nullptr;
  context.bulk_bytes += size;
  copy_texts(made->bytes(), parts);
  return reinterpret_cast<gc::Ref>(made);
}

bool strings_equal(gc::Ref left, gc::Ref right) {
  if (left == right) return true;
  if (left == nullptr || right == nullptr) return false;
  const std::string_view a = reinterpret_cast<const gc::String*>(left)->view();
  const std::string_view b = reinterpret_cast<const gc::String*>(right)->view();
  return equal_short(a, b);
}

std::int32_t compare_strings(gc::Ref left, gc::Ref right) {
  // char_traits<char> compares bytes as unsigned.
  const int order = reinterpret_cast<const gc::String*>(left)->view().compare(
      reinterpret_cast<const gc::String*>(right)->view());
  return (order > 0) - (order < 0);
}

namespace {

// "array 'a', a", as far as the loop that runs knows its name.
std::string array_text(const Context& context, const gc::Array* array) {
  const InterpretedLoop& loop = context.loop;
  const std::vector<bytecode::KernelSource::Array>& named = loop.kernel->record->source.arrays;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::string& name = context.linked->module().strings[named[i].name];
    if (&loop.r[i]->header == &array->header && !name.empty()) return fmt::format("array '{}', a", name);
  }
  return "an array";
}

}  // namespace

bool check_race(Context& context, const gc::Array* array, std::uint64_t index, const void* address,
                Access access) {
  const InterpretedLoop& loop = context.loop;
  if (!loop.active) return true;
  const std::uint64_t iteration = loop.linear_index();
  const auto earlier = context.races->note(address, iteration, access, context.pc);
  if (!earlier) return true;

  // "iteration 3 writes", "iterations 64 to 127 write".
  const auto done = [&](std::uint64_t number, Access what) {
    const std::string text = iteration_text(loop, number);
    return fmt::format("{} {}{}", text,
                       what == Access::kRead    ? "read"
                       : what == Access::kWrite ? "write"
                                                : "atomically update",
                       text.starts_with("iterations") ? "" : "s");
  };
  const auto place = [&](const Word* pc) {
    const std::string position = position_text(*context.linked, pc);
    return position.empty() ? std::string() : " at " + position;
  };
  std::string element = fmt::format("element {} of {} '{}'", index, array_text(context, array),
                                    context.types[array->header.type].name);
  const bytecode::Type& type = context.linked->module().types[array->header.type];
  if (type.element.is_ref()) {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - array->data) %
                        context.types[array->header.type].element_size;
    for (const bytecode::Field& field : context.linked->module().types[type.element.type].fields) {
      if (field.offset == offset) element = fmt::format("field '{}' of {}", field.name, element);
    }
  }
  raise(context, error(ErrorCode::kRace, "{} {}{}, which {}{}", done(iteration, access), element,
                       place(context.pc), done(earlier->iteration, earlier->access), place(earlier->pc)));
  return false;
}

}  // namespace dhpvm::vm
