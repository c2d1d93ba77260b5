// SPDX-License-Identifier: Apache-2.0
#include "vm/device_loops.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/error.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "vm/isolate.h"

namespace dhpvm::vm {

// The devices that take part in an execution.
struct DeviceLoops::Participants {
  std::vector<offload::Part> parts;
  std::vector<const LoadedKernel*> kernels;  // by part
  std::string names;
  offload::Loop loop;      // with the bounds and arrays that these kernels take
  std::uint64_t rows = 0;  // of a chunk; 0: as measurements suggest
  bool is_forced = false;  // a device was requested by name
};

namespace {

// A closed array, or one whose loan has ended, has a length and no memory. The host's iterations report that.
bool has_closed_array(const offload::Loop& loop) {
  return std::ranges::any_of(loop.arrays, [](const codegen::KernelArray& array) {
    return array.data == nullptr && array.shape.length > 0;
  });
}

// Whether the loop writes elements of captured array `number` through another captured array.
bool is_changed_by_another_name(const offload::Loop& loop, std::size_t number) {
  for (std::size_t n = 0; n < loop.arrays.size(); ++n) {
    const offload::ArrayUse& use = loop.footprint->arrays[n];
    if (n != number && (use.is_written || use.is_updated) && loop.array(n).overlaps(loop.array(number)))
      return true;
  }
  return false;
}

OffloadOutcome failed(const OffloadRequest& request, Error error, std::string_view devices) {
  OffloadOutcome outcome;
  outcome.failure = std::move(error).with_context(
      fmt::format("parallel for at {} on {}", request.kernel.position, devices));
  return outcome;
}

}  // namespace

DeviceLoops::DeviceLoops(std::shared_ptr<const LinkedModule> linked, std::shared_ptr<CompileService> service,
                         offload::BufferPool& pool, Isolate& isolate)
    : linked_(std::move(linked)),
      options_(isolate.options()),
      service_(std::move(service)),
      track_(options_.tracer == nullptr ? 0 : options_.tracer->add_track("loops on devices")),
      history_(linked_->kernels().size()),
      devices_(linked_, *service_, pool, isolate, track_),
      choice_(options_, devices_, history_, linked_->kernels().size()),
      deferred_(devices_, history_),
      isolate_(isolate),
      joins_others_(linked_->kernels().size()) {}

DeviceLoops::~DeviceLoops() = default;

std::shared_ptr<void> DeviceLoops::leave() {
  deferred_.drop();
  return devices_.leave();
}

bool DeviceLoops::considers(const bytecode::KernelRecord& record) const {
  return choice_.may_offload(record) && !choice_.is_too_short(record, 0);
}

bool DeviceLoops::stays_on_host(const bytecode::KernelRecord& record, std::uint32_t number,
                                double host_seconds) {
  if (!choice_.may_offload(record)) return true;
  if (!choice_.is_too_short(record, host_seconds)) return false;
  history_.not_considered(number, host_seconds);
  return true;
}

// Makes accesses of the host fetch the arrays that the device uses, or has the only copy of.
void DeviceLoops::withhold(const OffloadRequest& request) {
  for (std::size_t n = 0; n < request.loop.arrays.size(); ++n) {
    offload::Buffer* const buffer = request.loop.storage[n].buffer;
    if (buffer == nullptr || buffer->copies() == nullptr) continue;
    auto& copies = offload::ArrayCopies::of(*buffer);
    auto& array = *reinterpret_cast<gc::Array*>(request.arrays[n]);
    if (!copies.host_may_write()) Isolate::withhold(array, copies.host_may_read());
  }
}

std::uint64_t DeviceLoops::rows_of_chunks(const OffloadRequest& request) const {
  const std::uint64_t batch = options_.devices.batch_iterations != 0
                                  ? options_.devices.batch_iterations
                                  : request.kernel.kernel->record->batch_hint;
  const offload::IterationSpace& space = request.loop.space;
  return batch == 0 ? 0 : std::max<std::uint64_t>(batch / (*space.count() / space.extent(0)), 1);
}

// Whether this execution of a loop that can trap will not trap: the positions that it reads from arrays on the host are
// all valid.
bool DeviceLoops::cannot_trap(const OffloadRequest& request, const LoadedKernel& loaded) {
  const offload::Footprint& footprint = *request.loop.footprint;
  if (!footprint.complete || !request.loop.reductions.empty()) return false;
  offload::LoopChunk chunk = request.loop;
  for (std::size_t n = 0; n < chunk.arrays.size() && n < 64; ++n) {
    const auto* const array = reinterpret_cast<const gc::Array*>(request.arrays[n]);
    // The elements must be on the host now: not arriving, and not to be computed by a deferred loop.
    if (array == nullptr || array->readable != array->length) continue;
    const offload::ArrayUse& use = footprint.arrays[n];
    if (!use.is_written && !use.is_updated && !is_changed_by_another_name(request.loop, n))
      chunk.inspectable |= std::uint64_t{1} << n;
  }
  return chunk.inspectable != 0 && loaded.cannot_trap(footprint, chunk);
}

// Fails when the program has to stop while a kernel is compiled.
Status DeviceLoops::take_part(const OffloadRequest& request, DeviceSelection chosen,
                              Participants& participants) {
  participants.loop = request.loop;
  participants.loop.can_trap = false;
  participants.rows = rows_of_chunks(request);
  participants.is_forced = chosen.is_forced;
  for (ChosenDevice& device : chosen.devices) {
    auto load = device.opened->kernels->load(request.kernel);
    if (!load.ok()) {
      return std::move(load).error().with_context(fmt::format(
          "parallel for at {}, while it was compiled for {}", request.kernel.position, device.opened->name));
    }
    const LoadedKernel& loaded = **load;
    if (loaded.kernel == nullptr) {
      choice_.stay(request, about(*device.opened, loaded.failure), chosen.is_forced);
      continue;
    }
    participants.parts.push_back({device.opened->device.get(), loaded.kernel, std::move(device.plan)});
    participants.kernels.push_back(&loaded);
    participants.loop.has_sites = participants.loop.has_sites || !loaded.sites.empty();
    if (!participants.names.empty()) participants.names += " and ";
    participants.names += device.opened->device->info().name;
  }
  participants.loop.can_trap = participants.loop.has_sites;
  if (participants.loop.can_trap && participants.parts.size() == 1)
    participants.loop.can_trap = !cannot_trap(request, *participants.kernels[0]);
  // Plans are made before the kernels are compiled, and become invalid if it turns out that a kernel traps, or does
  // not.
  for (offload::Part& part : participants.parts) {
    if (part.plan && part.plan->may_trap != participants.loop.can_trap) part.plan.reset();
  }
  return {};
}

std::optional<Error> DeviceLoops::refuse_host(std::string_view position, std::string_view reason) const {
  if (!options_.devices.is_required) return std::nullopt;
  return error(ErrorCode::kDeviceFailed, "parallel for at {} does not run on {}, which is required: {}",
               position, options_.devices.names, reason);
}

OffloadOutcome DeviceLoops::run(const OffloadRequest& request) {
  OffloadOutcome outcome = try_devices(request);
  // Iterations of a loop over a closed array report which array it is.
  if (!outcome.remaining.empty() && !outcome.failure && !has_closed_array(request.loop))
    outcome.failure = refuse_host(request.kernel.position, history_.last_stay(request.number()));
  return outcome;
}

OffloadOutcome DeviceLoops::try_devices(const OffloadRequest& request) {
  devices_.drop_lost([this](const offload::PipelineDevice& device) { deferred_.leave(device); });
  Participants participants;
  OffloadOutcome outcome;
  if (!has_closed_array(request.loop)) {
    if (Status status = take_part(request, choice_.choose(request), participants); !status.ok()) {
      outcome.failure = std::move(status).error();
      return outcome;
    }
  }
  if (participants.parts.empty()) {
    outcome.remaining = {request.loop.space};
    return outcome;
  }
  joins_others_[request.number()] =
      participants.parts.size() == 1 && participants.parts[0].device->joins(participants.loop);
  if (participants.parts.size() == 1) {
    const auto way = DeferredChain::way_of(participants.parts[0], participants.loop, participants.rows);
    if (way) return defer(request, participants, *way);
    if (participants.rows == 0 && deferred_.takes_last(participants.parts[0], participants.loop))
      return run_with_deferred(request, participants);
  }
  return run_now(request, participants);
}

void DeviceLoops::move_arrays(std::uint32_t number, std::span<const gc::Ref> arrays) {
  if (!joins_others_[number]) return;
  for (const gc::Ref reference : arrays) {
    if (reference != nullptr) isolate_.move_off_heap(*reinterpret_cast<gc::Array*>(reference));
  }
}

OffloadOutcome DeviceLoops::defer(const OffloadRequest& request, const Participants& participants,
                                  offload::LoopChain::Way way) {
  history_.deferred(request.number(), participants.names);
  if (Status status = deferred_.defer(request, participants.loop, participants.parts[0], participants.rows,
                                      participants.is_forced, way);
      !status.ok())
    return failed(request, std::move(status).error(), participants.names);
  withhold(request);
  OffloadOutcome outcome;
  outcome.iterations = *participants.loop.space.count();
  return outcome;
}

void DeviceLoops::trace(const OffloadRequest& request, Tracer::Clock::time_point begin) const {
  if (options_.tracer == nullptr) return;
  options_.tracer->slice(track_, fmt::format("parallel for at {}", request.kernel.position), begin,
                         Tracer::Clock::now(),
                         {{"iterations", static_cast<std::int64_t>(*request.loop.space.count())}});
}

// The program traps if the kernel, which has `sites`, says so.
void DeviceLoops::take_report(const Participants& participants, const codegen::KernelReport& report,
                              const std::vector<codegen::KernelSite>& sites, OffloadOutcome& outcome) {
  if (!offload::has_trapped(report)) return;
  if (report.trap.site >= sites.size() ||
      report.trap.array >= std::max<std::size_t>(participants.loop.arrays.size(), 1)) {
    outcome.failure =
        error(ErrorCode::kDeviceFailed, "{} reports a trap that the loop does not have", participants.names);
    return;
  }
  outcome.trap = report.trap;
  outcome.sites = &sites;
}

OffloadOutcome DeviceLoops::run_with_deferred(const OffloadRequest& request,
                                              const Participants& participants) {
  history_.deferred(request.number(), participants.names);
  const auto begin = Tracer::Clock::now();
  const auto result =
      deferred_.run_with(request, participants.loop, participants.parts[0], participants.is_forced);
  trace(request, begin);
  withhold(request);
  if (!result.ok()) return failed(request, result.error(), participants.names);
  OffloadOutcome outcome;
  outcome.iterations = *participants.loop.space.count();
  const LoadedKernel* const kernel =
      result->is_of_host ? devices_.load_on_host(request.kernel).loaded : participants.kernels[0];
  take_report(participants, result->report, kernel->sites, outcome);
  return outcome;
}

OffloadOutcome DeviceLoops::run_now(const OffloadRequest& request, Participants& participants) {
  // Deferred loops run first; they change which elements the devices hold.
  const Result<bool> settled = deferred_.settle();
  if (!settled.ok()) return failed(request, settled.error(), participants.names);
  for (offload::Part& part : participants.parts) {
    if (*settled) part.plan.reset();
  }
  const auto host = [&]() -> std::optional<offload::Part> {
    const OpenDevices::OnHost cores = devices_.load_on_host(request.kernel);
    if (cores.device == nullptr) return std::nullopt;
    participants.kernels.push_back(cores.loaded);
    return offload::Part{cores.device, cores.loaded->kernel, {}};
  };
  const auto begin = Tracer::Clock::now();
  auto result = offload::run_on_devices(participants.parts, participants.loop, participants.rows,
                                        request.accumulators, host, request.progress);
  trace(request, begin);
  withhold(request);
  if (auto* const failure = std::get_if<offload::PipelineFailure>(&result)) {
    if (!failure->remaining) return failed(request, std::move(failure->error), participants.names);
    const bool told = devices_.tell_losses();
    choice_.stay(request, fmt::format("{}: {}", participants.names, first_cause(failure->error)),
                 participants.is_forced && !told);
    OffloadOutcome outcome;
    outcome.remaining = std::move(*failure->remaining);
    return outcome;
  }
  return conclude(request, participants, std::get<offload::PipelineOutcome>(result));
}

OffloadOutcome DeviceLoops::conclude(const OffloadRequest& request, const Participants& participants,
                                     const offload::PipelineOutcome& done) {
  const bool told = !done.failures.empty() && devices_.tell_losses();
  for (const Error& failure : done.failures) {
    choice_.stay(request, fmt::format("in part: {}: {}", participants.names, first_cause(failure)),
                 participants.is_forced && !told);
  }
  history_.ran(request.number(), participants.names, done);
  chunks_ += done.chunks;
  OffloadOutcome outcome;
  outcome.iterations = *participants.loop.space.count();
  if (offload::has_trapped(done.report))
    take_report(participants, done.report, participants.kernels[done.trapped_on]->sites, outcome);
  return outcome;
}

Status DeviceLoops::release_buffers() {
  if (const Result<bool> settled = deferred_.settle(); !settled.ok()) return settled.error();
  return devices_.release_buffers();
}

std::string DeviceLoops::explain(std::uint32_t number) const {
  return history_.explain(number, deferred_.contains(number), choice_.policy());
}

DeviceTotals DeviceLoops::totals() const {
  DeviceTotals totals = devices_.totals();
  totals.loops = history_.executions();
  totals.chained = deferred_.chained();
  totals.chunks = chunks_ + deferred_.chunks();
  return totals;
}

}  // namespace dhpvm::vm
