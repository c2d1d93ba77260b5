// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/protocol.h"

#include <algorithm>
#include <utility>

#include "offload/remote/fabric/wire_codec.h"

namespace dhpvm::offload::wire {
namespace {

template <typename Codec>
void visit(Codec& codec, Is<Span> auto& value) {
  codec.number(value.memory);
  codec.number(value.offset);
  codec.number(value.bytes);
}
template <typename Codec>
void visit(Codec& codec, Is<Order> auto& value) {
  const auto entry = [&](auto& at) {
    codec.number(at.semaphore);
    codec.number(at.value);
  };
  codec.number(value.queue);
  codec.list(value.waits, kMaxWaits, 2, entry);
  codec.list(value.signals, kMaxWaits, 2, entry);
}

// The fields of an array that follow: fields with their usual value are left out.
enum ArrayFlags : std::uint64_t {
  kHasSpan = 1,
  kHasFirst = 2,     // else 0
  kHasReadable = 4,  // else the length
  kIsWritable = 8,   // all elements; else none, unless:
  kHasWritable = 16,
  kHasDims = 32,  // else the length, 1, 1
  kAllFlags = 64,
};

template <typename Codec>
void visit(Codec& codec, Is<ArrayAt> auto& value) {
  auto& shape = value.shape;
  std::uint64_t flags = 0;
  if constexpr (!Codec::kReads) {
    const std::array<std::int64_t, 3> vector = {shape.length, 1, 1};
    flags = (value.span ? kHasSpan : 0) | (value.first != 0 ? kHasFirst : 0) |
            (shape.readable != shape.length ? kHasReadable : 0) |
            (shape.writable == shape.length ? kIsWritable : 0) |
            (shape.writable != shape.length && shape.writable != 0 ? kHasWritable : 0) |
            (shape.dims != vector ? kHasDims : 0);
  }
  codec.number_below(flags, kAllFlags);
  codec.integer(shape.length);
  if constexpr (Codec::kReads) {
    if ((flags & kHasSpan) != 0) value.span.emplace();
    shape.readable = shape.length;
    shape.writable = (flags & kIsWritable) != 0 ? shape.length : 0;
    shape.dims = {shape.length, 1, 1};
  }
  if ((flags & kHasSpan) != 0) visit(codec, *value.span);
  if ((flags & kHasFirst) != 0) codec.integer(value.first);
  if ((flags & kHasReadable) != 0) codec.integer(shape.readable);
  if ((flags & kHasWritable) != 0) codec.integer(shape.writable);
  if ((flags & kHasDims) != 0) {
    for (auto& dim : shape.dims) codec.integer(dim);
  }
}
template <typename Codec>
void visit(Codec& codec, Is<Site> auto& value) {
  codec.number_below(value.kind, 3);
  codec.number_below(value.trap, 256);
  codec.list(value.calls, kMaxCalls, 2, [&](auto& call) {
    codec.number(call.function);
    codec.number(call.pc);
  });
}

template <typename Codec>
void visit(Codec& codec, Is<Hello> auto& value) {
  codec.text(value.name);
  codec.text(value.release);
}
template <typename Codec>
void visit(Codec& codec, Is<Ping> auto& value) {
  codec.number(value.number);
}
template <typename Codec>
void visit(Codec& codec, Is<Allocate> auto& value) {
  codec.number(value.request);
  codec.number(value.device);
  codec.number(value.memory);
  codec.number(value.bytes);
}
template <typename Codec>
void visit(Codec& codec, Is<Free> auto& value) {
  codec.number(value.memory);
}
template <typename Codec>
void visit(Codec& codec, Is<CreateQueue> auto& value) {
  codec.number(value.request);
  codec.number(value.queue);
  codec.number(value.device);
  codec.flag(value.observed);
  codec.text(value.name);
}
template <typename Codec>
void visit(Codec& codec, Is<DestroyQueue> auto& value) {
  codec.number(value.queue);
}
template <typename Codec>
void visit(Codec& codec, Is<CreateSemaphore> auto& value) {
  codec.number(value.semaphore);
  codec.number(value.device);
  codec.number(value.initial);
}
template <typename Codec>
void visit(Codec& codec, Is<DestroySemaphore> auto& value) {
  codec.number(value.semaphore);
}
template <typename Codec>
void visit(Codec& codec, Is<Signal> auto& value) {
  codec.number(value.semaphore);
  codec.number(value.value);
}
template <typename Codec>
void visit(Codec& codec, Is<FailSemaphore> auto& value) {
  codec.number(value.semaphore);
  visit(codec, value.failure);
}
template <typename Codec>
void visit(Codec& codec, Is<LoadKernel> auto& value) {
  codec.number(value.request);
  codec.number(value.device);
  codec.number(value.kernel);
  codec.bytes(value.digest);
  codec.number(value.module_bytes);
  codec.number(value.number);
  codec.list(value.proven, kMaxProven, 1, [&](auto& access) { codec.number(access); });
  codec.text(value.name);
}
template <typename Codec>
void visit(Codec& codec, Is<ModulePart> auto& value) {
  codec.bytes(value.digest);
  codec.bytes(value.bytes, kMaxModulePart);
}
template <typename Codec>
void visit(Codec& codec, Is<UnloadKernel> auto& value) {
  codec.number(value.kernel);
}
template <typename Codec>
void visit(Codec& codec, Is<Upload> auto& value) {
  visit(codec, value.order);
  visit(codec, value.to);
}
template <typename Codec>
void visit(Codec& codec, Is<Download> auto& value) {
  visit(codec, value.order);
  visit(codec, value.from);
}
template <typename Codec>
void visit(Codec& codec, Is<Copy> auto& value) {
  visit(codec, value.order);
  visit(codec, value.to);
  visit(codec, value.from);
}
template <typename Codec>
void visit(Codec& codec, Is<Fill> auto& value) {
  visit(codec, value.order);
  visit(codec, value.to);
  codec.number_below(value.value, 256);
}
template <typename Codec>
void visit(Codec& codec, Is<Work> auto& value) {
  codec.number(value.kernel);
  codec.list(value.space, 3, 2, [&](auto& bounds) {
    for (auto& bound : bounds) codec.integer(bound);
  });
  codec.list(value.scalars, kMaxScalars, sizeof(std::uint64_t), [&](auto& scalar) { codec.word(scalar); });
  codec.list(value.arrays, kMaxArrays, 2, [&](auto& array) { visit(codec, array); });
  codec.optional(value.partials, [&](auto& span) { visit(codec, span); });
  codec.optional(value.report, [&](auto& span) { visit(codec, span); });
}
template <typename Codec>
void visit(Codec& codec, Is<Launch> auto& value) {
  visit(codec, value.order);
  if constexpr (Codec::kReads) {
    visit(codec, static_cast<Work&>(value));
  } else {
    visit(codec, static_cast<const Work&>(value));
  }
}
template <typename Codec>
void visit(Codec& codec, Is<HostCall> auto& value) {
  visit(codec, value.order);
}
template <typename Codec>
void visit(Codec& codec, Is<HostCallDone> auto& value) {
  codec.number(value.queue);
}
template <typename Codec>
void visit(Codec& codec, Is<StopLaunches> auto& value) {
  codec.number(value.queue);
}

template <typename Codec>
void visit(Codec& codec, Is<Write> auto& value) {
  visit(codec, value.order);
  codec.number(value.memory);
  codec.number(value.offset);
  codec.bytes(value.bytes, kMaxElements);
}
template <typename Codec>
void visit(Codec& codec, Is<Elements> auto& value) {
  codec.number(value.memory);
  codec.number(value.offset);
  codec.bytes(value.bytes, kMaxElements);
}
template <typename Codec>
void visit(Codec& codec, Is<Step> auto& value) {
  std::uint64_t kind = value.index();
  codec.number_below(kind, std::variant_size_v<Step>);
  if constexpr (Codec::kReads)
    value = make_record<Step>(kind, std::make_index_sequence<std::variant_size_v<Step>>());
  std::visit([&](auto& what) { visit(codec, what); }, value);
}
template <typename Codec>
void visit(Codec& codec, Is<Batch> auto& value) {
  visit(codec, value.order);
  codec.optional(value.place, [&](auto& place) { codec.number_below(place, kMaxKept); });
  codec.list(value.steps, kMaxSteps, 4, [&](auto& step) { visit(codec, step); });
}
template <typename Codec>
void visit(Codec& codec, Is<Replay> auto& value) {
  visit(codec, value.order);
  codec.number_below(value.place, kMaxKept);
  codec.list(value.scalars, kMaxSteps * kMaxScalars, 1 + sizeof(std::uint64_t), [&](auto& scalar) {
    codec.number(scalar.number);
    codec.word(scalar.value);
  });
  codec.list(value.elements, kMaxSteps, 1, [&](auto& bytes) { codec.bytes(bytes, kMaxElements); });
}
template <typename Codec>
void visit(Codec& codec, Is<LoadSmall> auto& value) {
  if constexpr (Codec::kReads) {
    visit(codec, static_cast<LoadKernel&>(value));
  } else {
    visit(codec, static_cast<const LoadKernel&>(value));
  }
}

template <typename Codec>
void visit(Codec& codec, Is<Welcome> auto& value) {
  codec.text(value.name);
  codec.text(value.release);
  codec.bytes(value.token);
  codec.list(value.devices, kMaxDevices, 7, [&](auto& device) { visit(codec, device); });
  codec.number(value.max_operations);
  codec.number(value.memory_quota);
  codec.number(value.module_quota);
}
template <typename Codec>
void visit(Codec&, Is<Ready> auto&) {}
template <typename Codec>
void visit(Codec& codec, Is<Pong> auto& value) {
  codec.number(value.number);
  codec.number(value.clock_ns);
}
template <typename Codec>
void visit(Codec& codec, Is<Reply> auto& value) {
  codec.number(value.request);
  codec.optional(value.failure, [&](auto& failure) { visit(codec, failure); });
  codec.list(value.sites, kMaxSites, 3, [&](auto& site) { visit(codec, site); });
  codec.integer(value.begin_ns);
  codec.integer(value.end_ns);
}
template <typename Codec>
void visit(Codec& codec, Is<NeedModule> auto& value) {
  codec.bytes(value.digest);
}
template <typename Codec>
void visit(Codec& codec, Is<Progress> auto& value) {
  codec.number(value.queue);
  codec.number(value.operations);
}
template <typename Codec>
void visit(Codec& codec, Is<QueueFailed> auto& value) {
  codec.number(value.queue);
  visit(codec, value.failure);
}
template <typename Codec>
void visit(Codec& codec, Is<CallHost> auto& value) {
  codec.number(value.queue);
}
template <typename Codec>
void visit(Codec& codec, Is<Observed> auto& value) {
  codec.number(value.operation);
  codec.integer(value.begin_ns);
  codec.integer(value.end_ns);
}
template <typename Codec>
void visit(Codec&, Is<Draining> auto&) {}
template <typename Codec>
void visit(Codec& codec, Is<Queued> auto& value) {
  codec.number(value.place);
}
template <typename Codec>
void visit(Codec& codec, Is<Downloaded> auto& value) {
  codec.number(value.operation);
  codec.bytes(value.bytes, kMaxElements);
}

constexpr auto kFields = [](auto& codec, auto& record) { visit(codec, record); };

}  // namespace

Failure Failure::from(const Error& error) {
  Failure failure;
  for (const Error* level = &error; level != nullptr && failure.levels.size() < 8; level = level->cause()) {
    failure.levels.push_back({static_cast<std::uint64_t>(level->code()), level->message()});
  }
  return failure;
}

Error Failure::to_error() const {
  const auto code_of = [](std::uint64_t code) {
    return code <= static_cast<std::uint64_t>(kLastErrorCode) ? static_cast<ErrorCode>(code)
                                                              : ErrorCode::kDeviceFailed;
  };
  const auto printable = [](std::string text) {
    std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n'; });
    return text;
  };
  if (levels.empty()) return Error(ErrorCode::kDeviceFailed, "no reason given");
  Error error(code_of(levels.back().code), printable(levels.back().message));
  for (std::size_t i = levels.size() - 1; i-- > 0;) {
    error = std::move(error).with_context(printable(levels[i].message));
  }
  return error;
}

void write(std::vector<std::byte>& frame, const FromClient& record) { write_record(frame, record, kFields); }
void write(std::vector<std::byte>& frame, const FromWorker& record) { write_record(frame, record, kFields); }

Result<std::vector<FromClient>> read_from_client(ConstBytes frame) {
  return read_records<FromClient>(frame, kFields);
}
Result<std::vector<FromWorker>> read_from_worker(ConstBytes frame) {
  return read_records<FromWorker>(frame, kFields);
}

std::vector<std::byte> write_run_header(const RunHeader& header) {
  std::vector<std::byte> bytes;
  Writer writer(bytes);
  writer.number(header.operation);
  writer.number(header.offset);
  return bytes;
}

Result<RunHeader> read_run_header(ConstBytes header) {
  bytecode::ByteReader in(header, 0);
  RunHeader read;
  read.operation = in.varint64();
  read.offset = in.varint64();
  if (!in.ok() || in.remaining() != 0) {
    return error(ErrorCode::kProtocol,
                 "the other side breaks the protocol: bulk data for nothing that is known");
  }
  return read;
}

}  // namespace dhpvm::offload::wire
