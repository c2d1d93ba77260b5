// SPDX-License-Identifier: Apache-2.0
#include "vm/device_loops.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"
#include "bytecode/decode.h"
#include "bytecode/extract.h"
#include "bytecode/writer.h"
#include "offload/devices/device_base.h"
#include "offload/devices/kernel_compiler.h"
#include "offload/drivers/gpu_presence.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "offload/schedule/placement/cost_model.h"
#include "vm/isolate.h"

namespace dhpvm::vm {
namespace {

using offload::KernelFormat;

// With "auto", devices are looked for when a loop is expected to take this long on the host: opening one takes as long.
constexpr double kWorthOpening = 20e-3;

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma != 0) names.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

offload::HostMemory memory_kind(Batching batching) {
  return batching == Batching::kSerialPageable ? offload::HostMemory::kPageable
                                               : offload::HostMemory::kPinned;
}

bool is_host(std::string_view name) { return name == "host" || name == "cpu"; }
bool is_remote(std::string_view name) { return name == "remote" || name.starts_with("remote/"); }

void add_totals(DeviceTotals& totals, offload::PipelineDevice& device) {
  const auto add = [&](OperationTotal& sum, offload::Stage stage) {
    const offload::StageTotal total = device.model().total(stage);
    sum.operations += total.operations;
    sum.units += total.units;
    sum.time += total.time;
  };
  add(totals.uploads, offload::Stage::kUpload);
  add(totals.launches, offload::Stage::kLaunch);
  add(totals.downloads, offload::Stage::kDownload);
}

}  // namespace

const std::string& first_cause(const Error& error) {
  const Error* first = &error;
  while (first->cause() != nullptr) first = first->cause();
  return first->message();
}

DeviceLoops::DeviceLoops(std::shared_ptr<const LinkedModule> linked, std::shared_ptr<CompileService> service,
                         offload::BufferPool& pool, Isolate& isolate)
    : linked_(std::move(linked)),
      options_(isolate.options()),
      service_(std::move(service)),
      pool_(pool),
      isolate_(isolate),
      registrations_(std::make_unique<offload::Registrations>(
          pool, offload::RegistrationOptions{options_.devices.warn, memory_kind(options_.devices.batching)})),
      stories_(linked_->kernels().size()),
      track_(options_.tracer == nullptr ? 0 : options_.tracer->add_track("loops on devices")),
      policy_(options_.devices.policy != nullptr ? options_.devices.policy : offload::fastest_completion()) {}

DeviceLoops::~DeviceLoops() = default;

bool DeviceLoops::may_offload(const bytecode::KernelRecord& record) const {
  return !is_host(options_.devices.names) && !is_host(record.device_hint);
}

// The command line goes before what the program says, which goes before what seems best.
const std::string& DeviceLoops::wish_for(const bytecode::KernelRecord& record) const {
  return options_.devices.names != "auto" || record.device_hint.empty() ? options_.devices.names
                                                                        : record.device_hint;
}

bool DeviceLoops::is_too_short(const bytecode::KernelRecord& record, std::uint32_t number,
                               double host_seconds) {
  if (!opened_.empty() || host_seconds >= kWorthOpening || wish_for(record) != "auto") return false;
  Story& story = stories_[number];
  ++(host_seconds == 0 ? story.unmeasured : story.too_short);
  return true;
}

// One that is missing of several is waited for by nobody: loops use it as soon as it is there.
Status DeviceLoops::open_devices() {
  if (options_.devices.names == "auto") return {};
  bool has_any = false;
  std::vector<Error> problems;
  for (const std::string& wish : split(options_.devices.names)) {
    if (is_host(wish)) has_any = true;
    if (is_host(wish)) continue;
    offload::DevicePresence present = options_.devices.registry->present(wish);
    for (const std::string& name : present.names) {
      const auto device = options_.devices.registry->open(name);
      has_any = has_any || device.ok();
      if (!device.ok()) present.absent.push_back(device.error());
    }
    for (Error& problem : present.absent) {
      // Anything else is a mistake, which does not go away by itself.
      if (problem.code() != ErrorCode::kDeviceLost) return std::move(problem);
      problems.push_back(std::move(problem));
    }
  }
  if (!has_any && !problems.empty()) return std::move(problems.front());
  for (const Error& problem : problems) {
    warn_once(fmt::format("{}; loops run without it until it is there", one_line(problem)));
  }
  return {};
}

void DeviceLoops::warn_once(std::string message) {
  if (!options_.devices.warn) return;
  const auto [entry, is_new] = warned_.insert(std::move(message));
  if (is_new) options_.devices.warn(*entry);
}

DeviceLoops::Opened& DeviceLoops::open(const std::string& name) {
  for (const std::unique_ptr<Opened>& known : opened_) {
    if (known->name == name) return *known;
  }
  Opened& opened = *opened_.emplace_back(std::make_unique<Opened>());
  opened.name = name;
  auto made = make_device(opened);
  if (made.ok()) {
    opened.device = std::move(made).value();
  } else {
    opened.problem = made.error().message();
  }
  return opened;
}

Result<std::unique_ptr<offload::PipelineDevice>> DeviceLoops::make_device(Opened& opened) {
  DHPVM_ASSIGN(opened.owner, options_.devices.registry->open(opened.name));
  offload::PipelineDeviceOptions options;
  options.budget_bytes = options_.limits.device_bytes;
  options.poll = [this] { return isolate_.poll(); };
  options.tracer = options_.tracer;
  options.loops_track = track_;
  options.overlap = options_.devices.batching == Batching::kOverlapped;
  if (options_.devices.observer) {
    options.observer = [observer = options_.devices.observer, name = opened.name](
                           const offload::OperationRecord& record) { observer(name, record); };
  }
  return offload::PipelineDevice::create(opened.owner, pool_, *registrations_, options);
}

// The names of the devices that are there of those that are wished for, and why the others are not.
std::vector<std::string> DeviceLoops::expand(const std::vector<std::string>& names, std::string& absent) {
  std::vector<std::string> found;
  for (const std::string& wish : names) {
    if (is_host(wish)) {
      found.push_back(wish);
      continue;
    }
    offload::DevicePresence present = options_.devices.registry->present(wish);
    for (std::string& name : present.names) {
      if (std::ranges::find(found, name) == found.end()) found.push_back(std::move(name));
    }
    for (const Error& problem : present.absent) absent += (absent.empty() ? "" : "; ") + one_line(problem);
  }
  return found;
}

// Says once of each device that it is gone; whether there was anything to say.
bool DeviceLoops::tell_losses() {
  bool told = false;
  for (const std::unique_ptr<Opened>& opened : opened_) {
    if (opened->owner == nullptr || opened->told) continue;
    const std::optional<Error> gone = opened->owner->gone();
    if (!gone) continue;
    opened->told = told = true;
    if (options_.devices.warn) {
      options_.devices.warn(
          fmt::format("{} is gone, and its work is done elsewhere: {}", opened->name, one_line(*gone)));
    }
  }
  return told;
}

// Whoever comes back gets a new device, because the old one's memory and kernels are no more.
void DeviceLoops::drop_lost() {
  tell_losses();
  const auto is_of_chain = [this](const std::unique_ptr<Opened>& opened) {
    return chain_ != nullptr && opened->device.get() == &chain_->device() && opened->owner->gone();
  };
  if (std::ranges::any_of(opened_, is_of_chain)) {
    // The host does what was put off. Should that fail, whoever asks for the results is told.
    (void)chain_->settle();
    chain_.reset();
  }
  std::erase_if(opened_, [this](std::unique_ptr<Opened>& opened) {
    if (opened->owner == nullptr) return is_remote(opened->name);
    if (!opened->owner->gone()) return false;
    if (opened->device != nullptr) add_totals(dropped_, *opened->device);
    opened->kernels.clear();
    // Whoever is interrupted here comes back.
    if (opened->device != nullptr && !opened->device->give_up_copies().ok()) return false;
    opened->device.reset();
    registrations_->forget(*opened->owner);
    return true;
  });
}

// The devices for an execution; none for the host's cores alone. `forced` if one was asked for by name.
std::vector<DeviceLoops::Opened*> DeviceLoops::choose(const Execution& execution, Story& story,
                                                      bool& forced) {
  const bytecode::KernelRecord& record = *execution.kernel->record;
  const std::string& wish = wish_for(record);
  std::vector<std::string> names = split(wish);
  const bool is_one_wish = names.size() == 1 && wish != "auto";
  std::string absent;
  if (wish != "auto") names = expand(names, absent);
  if (wish != "auto") story.absent = absent;
  if (is_one_wish && names.empty()) {
    // It was there once, or the program would not have begun: everybody has been told.
    stay(execution, story, nullptr, std::move(absent), false);
    return {};
  }
  forced = is_one_wish && names.size() == 1;
  if (forced) {
    story.choice.clear();
    Opened& opened = open(names[0]);
    if (opened.device != nullptr && !opened.device->failure()) return {&opened};
    stay(execution, story, &opened,
         opened.device == nullptr ? opened.problem : first_cause(*opened.device->failure()),
         options_.devices.names != "auto");
    return {};
  }
  if (wish == "auto") {
    names = {"host"};
    if (offload::may_have_gpu()) names.emplace_back("gpu");
    std::ranges::move(expand({"remote"}, absent), std::back_inserter(names));
    if (names.size() == 1) {
      ++story.stays["this machine has no GPU"];
      return {};
    }
  }
  std::vector<Candidate> candidates;
  for (const std::string& name : names) consider(execution, story, name, candidates);
  return choose_among(execution, story, candidates);
}

// Adds device `name`, if it can run the loop, with what is expected of it.
void DeviceLoops::consider(const Execution& execution, Story& story, const std::string& name,
                           std::vector<Candidate>& candidates) {
  if (is_host(name)) {
    const bool known = execution.host_seconds > 0;
    candidates.push_back(
        {nullptr,
         {offload::Place::Kind::kHost, "the host", execution.host_seconds, execution.host_seconds, known,
          true},
         known ? offload::seconds_text(execution.host_seconds) : std::string("not measured yet")});
    return;
  }
  Opened& opened = open(name);
  if (opened.device == nullptr || opened.device->failure()) {
    return stay(execution, story, &opened,
                opened.device == nullptr ? opened.problem : first_cause(*opened.device->failure()), false);
  }
  auto plan = plan_run(*opened.device, {&execution.loop, 1});
  if (!plan.ok()) return stay(execution, story, &opened, plan.error().message(), false);
  const offload::DeviceEstimate estimate = offload::estimate(*opened.device, execution.loop, *plan);
  const offload::DeviceInfo& info = opened.device->info();
  const auto kind = info.is_remote ? offload::Place::Kind::kWorker : offload::Place::Kind::kDevice;
  const bool divisible = can_be_split(*plan);
  candidates.push_back(
      {&opened,
       {kind, info.name, estimate.total_seconds, estimate.kernel_seconds, !estimate.is_guess, divisible},
       describe(estimate) + (divisible ? "" : ", only as a whole: its chunks may write the same elements")});
}

std::vector<DeviceLoops::Opened*> DeviceLoops::choose_among(const Execution& execution, Story& story,
                                                            const std::vector<Candidate>& candidates) {
  story.choice.clear();
  std::vector<offload::Place> places;
  for (const Candidate& candidate : candidates) {
    story.choice += fmt::format("{}{}: {}", story.choice.empty() ? "" : "; ",
                                candidate.opened == nullptr ? "host" : candidate.place.name, candidate.text);
    places.push_back(candidate.place);
  }
  const offload::PlacementChoice choice =
      policy_->choose(places, execution.loop.space.extent(0), execution.host_seconds);
  story.reason = choice.reason;
  if (choice.places.size() == 1 && candidates[choice.places[0]].opened == nullptr) {
    ++story.stays[choice.reason];
    return {};
  }
  std::vector<Opened*> chosen;
  for (const std::size_t n : choice.places) {
    Opened& opened = candidates[n].opened == nullptr ? open("host") : *candidates[n].opened;
    if (opened.device != nullptr) chosen.push_back(&opened);
  }
  return chosen;
}

void DeviceLoops::stay(const Execution& execution, Story& story, const Opened* opened, std::string reason,
                       bool forced) {
  std::string text = opened == nullptr || reason.find(opened->name) != reason.npos
                         ? std::move(reason)
                         : fmt::format("{}: {}", opened->name, reason);
  ++story.stays[text];
  if (forced) {
    warn_once(fmt::format("parallel for at {} runs on the host: {}", execution.position, text));
  }
}

DeviceLoops::Loaded& DeviceLoops::load(Opened& opened, const Execution& execution) {
  const auto [found, is_new] = opened.kernels.try_emplace({execution.number, execution.variant});
  if (!is_new) return found->second;
  auto made = make(opened, execution);
  if (made.ok()) {
    found->second = std::move(made).value();
  } else {
    found->second.failure = made.error().message();
  }
  return found->second;
}

// Functions have other numbers where the kernel has been compiled. What another machine says about positions
// in the code is not believed: traps are raised there.
Status DeviceLoops::translate(std::vector<codegen::KernelSite>& sites,
                              std::span<const std::uint32_t> functions) const {
  const bytecode::Module& module = linked_->module();
  const auto is_instruction = [&](const codegen::CodePosition& position) {
    const bytecode::Function& function = module.functions[position.function];
    std::uint32_t pc = 0;
    while (pc < function.code_size && pc < position.pc) {
      pc += bytecode::kDecode[bytecode::op_of(module.code[function.code_offset + pc])].words;
    }
    return pc == position.pc && pc < function.code_size;
  };
  for (codegen::KernelSite& site : sites) {
    bool is_sound = !site.calls.empty() && site.calls.size() <= functions.size();
    for (codegen::CodePosition& position : site.calls) {
      is_sound = is_sound && position.function < functions.size();
      if (!is_sound) break;
      position.function = functions[position.function];
      is_sound = is_instruction(position);
    }
    if (!is_sound) {
      return Error(ErrorCode::kDeviceFailed,
                   "the device says that the loop can trap where it has no instruction");
    }
  }
  return {};
}

Result<DeviceLoops::Loaded> DeviceLoops::make(Opened& opened, const Execution& execution) {
  offload::Device& device = opened.device->device();
  offload::KernelImage image;
  image.format = device.info().format;
  image.name = execution.position;
  image.dimensions = execution.kernel->dimensions;
  image.scalars = static_cast<std::uint32_t>(execution.kernel->scalars);
  image.arrays = static_cast<std::uint32_t>(execution.kernel->arrays);
  image.reductions = execution.kernel->record->reductions;
  std::vector<std::uint32_t>
      functions;  // kBytecode: in this module, by their numbers in the one that is sent
  codegen::KernelRequest request;
  request.module = &linked_->module();
  request.kernel = execution.number;
  request.proven = execution.proven;
  request.dimensions = execution.dimensions;
  if (image.format == KernelFormat::kBytecode) {
    bytecode::ExtractedKernel extracted = bytecode::extract_kernel(linked_->module(), execution.number);
    image.bytecode = std::make_shared<const std::vector<std::byte>>(bytecode::write_module(extracted.module));
    image.proven.assign(execution.proven_accesses.begin(), execution.proven_accesses.end());
    functions = std::move(extracted.functions);
  } else {
    DHPVM_ASSIGN(codegen::CodeGenerator* const generator, service_->generator());
    DHPVM_ASSIGN(image, compile_kernel(*generator, request, device.info(), std::move(image)));
  }
  Loaded loaded;
  DHPVM_ASSIGN(loaded.kernel, device.load(image));
  if (const auto compilation = loaded.kernel->compilation()) {
    opened.device->trace_compilation(fmt::format("compile {}", execution.position), compilation->begin,
                                     compilation->end);
  }
  const std::vector<codegen::KernelSite>* const sites = loaded.kernel->sites();
  loaded.sites = sites != nullptr ? *sites : image.sites;
  if (image.format == KernelFormat::kBytecode) DHPVM_TRY(translate(loaded.sites, functions));
  return loaded;
}

// The host asks before it touches what the device works on, or has the only copy of.
void DeviceLoops::withhold(const Execution& execution) {
  for (std::size_t n = 0; n < execution.loop.arrays.size(); ++n) {
    offload::Buffer* const buffer = execution.loop.arrays[n].buffer;
    if (buffer == nullptr || buffer->copies() == nullptr) continue;
    auto& copies = offload::ArrayCopies::of(*buffer);
    auto& array = *reinterpret_cast<gc::Array*>(execution.arrays[n]);
    if (!copies.host_may_write()) Isolate::withhold(array, copies.host_may_read());
  }
}

DeviceLoops::Outcome DeviceLoops::failed(const Execution& execution, Error error, std::string_view devices) {
  Outcome outcome;
  outcome.failure =
      std::move(error).with_context(fmt::format("parallel for at {} on {}", execution.position, devices));
  return outcome;
}

// The host's cores as a device, for what other devices leave.
std::optional<offload::Part> DeviceLoops::host_part(const Execution& execution, const Loaded*& loaded) {
  Opened& opened = open("host");
  if (opened.device == nullptr) return std::nullopt;
  loaded = &load(opened, execution);
  if (loaded->kernel == nullptr) return std::nullopt;
  return offload::Part{opened.device.get(), loaded->kernel};
}

DeviceLoops::Outcome DeviceLoops::run(const Execution& execution) {
  Story& story = stories_[execution.number];
  Outcome outcome;
  outcome.remaining = {execution.loop.space};
  bool forced = false;
  drop_lost();
  std::vector<offload::Part> parts;
  std::vector<const Loaded*> kernels;
  std::string devices;
  offload::DeviceLoop loop = execution.loop;
  loop.can_trap = false;
  for (Opened* const opened : choose(execution, story, forced)) {
    const Loaded& loaded = load(*opened, execution);
    if (loaded.kernel == nullptr) {
      stay(execution, story, opened, loaded.failure, forced);
      continue;
    }
    parts.push_back({opened->device.get(), loaded.kernel});
    kernels.push_back(&loaded);
    loop.can_trap = loop.can_trap || !loaded.sites.empty();
    devices += (devices.empty() ? "" : " and ") + opened->device->info().name;
  }
  if (parts.empty()) return outcome;
  std::uint64_t rows = 0;
  const std::uint64_t batch = options_.devices.batch_iterations != 0 ? options_.devices.batch_iterations
                                                                     : execution.kernel->record->batch_hint;
  if (batch != 0) rows = std::max<std::uint64_t>(batch / (*loop.space.count() / loop.space.extent(0)), 1);
  if (may_be_put_off(parts, loop)) {
    story.device = devices;
    if (Status status = put_off(execution, loop, parts[0], rows, forced); !status.ok())
      return failed(execution, std::move(status).error(), devices);
    withhold(execution);
    outcome.remaining.clear();
    outcome.iterations = *loop.space.count();
    return outcome;
  }
  // What has been put off comes first.
  if (Status status = chain_ == nullptr ? Status() : chain_->settle(); !status.ok())
    return failed(execution, std::move(status).error(), devices);
  const auto host = [&]() -> std::optional<offload::Part> {
    const Loaded* loaded = nullptr;
    auto part = host_part(execution, loaded);
    if (part) kernels.push_back(loaded);
    return part;
  };
  const auto begin = Tracer::Clock::now();
  auto result = offload::run_on_devices(parts, loop, rows, execution.accumulators, host);
  if (options_.tracer != nullptr) {
    options_.tracer->slice(track_, fmt::format("parallel for at {}", execution.position), begin,
                           Tracer::Clock::now(),
                           {{"iterations", static_cast<std::int64_t>(*loop.space.count())}});
  }
  withhold(execution);
  if (auto* const failure = std::get_if<offload::PipelineFailure>(&result)) {
    if (!failure->remaining) return failed(execution, std::move(failure->error), devices);
    outcome.remaining = std::move(*failure->remaining);
    const bool told = tell_losses();
    stay(execution, story, nullptr, fmt::format("{}: {}", devices, first_cause(failure->error)),
         forced && !told);
    return outcome;
  }
  auto& done = std::get<offload::PipelineOutcome>(result);
  const bool told = !done.failures.empty() && tell_losses();
  for (const Error& failure : done.failures) {
    stay(execution, story, nullptr, fmt::format("in part: {}: {}", devices, first_cause(failure)),
         forced && !told);
  }
  ++story.executions;
  chunks_ += done.chunks;
  story.device = std::move(devices);
  story.last = done;
  outcome.remaining.clear();
  outcome.iterations = *loop.space.count();
  if (done.report.status == static_cast<std::uint32_t>(codegen::KernelStatus::kTrapped)) {
    outcome.trap = done.report.trap;
    outcome.sites = &kernels[done.trapped_on]->sites;
    if (outcome.trap->site >= outcome.sites->size() ||
        outcome.trap->array >= std::max<std::size_t>(loop.arrays.size(), 1)) {
      outcome.trap.reset();
      outcome.failure =
          error(ErrorCode::kDeviceFailed, "{} reports a trap that the loop does not have", story.device);
    }
  }
  return outcome;
}

std::string DeviceLoops::explain(std::uint32_t number) const {
  const Story& story = stories_[number];
  std::string text;
  if (story.executions != 0) {
    text += fmt::format(
        "  ran on {}: {} executions; the last in {} {} of up to {} rows, {} up, {} down{}\n", story.device,
        story.executions, story.last.chunks, story.last.chunks == 1 ? "chunk" : "chunks",
        story.last.rows_per_chunk, offload::bytes_text(story.last.upload_bytes),
        offload::bytes_text(story.last.download_bytes), story.last.sliced ? ", slice by slice" : "");
  }
  if (!story.chained.empty()) {
    text += fmt::format("  ran chunk by chunk together with {}, for all of which these figures are\n",
                        story.chained);
  }
  if (!story.apart.empty()) text += fmt::format("  not together with the loop before it: {}\n", story.apart);
  const auto is_this = [&](const PutOff& loop) { return loop.number == number; };
  if (chain_ != nullptr && chain_->size() != 0 && std::ranges::any_of(put_off_, is_this))
    text += "  was put off at last, and nobody has needed its results yet\n";
  const auto tell_stays = [&](std::uint64_t times, std::string_view reason) {
    if (times == 0) return;
    text += fmt::format("  stayed on the host {} {}: {}\n", times, times == 1 ? "time" : "times", reason);
  };
  tell_stays(story.unmeasured, "it has not run for long enough to be measured");
  tell_stays(story.too_short, "it is too short for a device to be worth looking for");
  for (const auto& [reason, times] : story.stays) tell_stays(times, reason);
  if (!story.absent.empty()) text += fmt::format("  not there at last: {}\n", story.absent);
  if (!story.choice.empty()) {
    text += fmt::format("  policy {} decided at last: {}; expected: {}\n", policy_->name(), story.reason,
                        story.choice);
  }
  return text;
}

DeviceTotals DeviceLoops::totals() const {
  DeviceTotals totals = dropped_;
  for (const Story& story : stories_) totals.loops += story.executions;
  totals.chained = chained_;
  totals.chunks = chunks_;
  for (const std::unique_ptr<Opened>& opened : opened_) {
    if (opened->device == nullptr) continue;
    add_totals(totals, *opened->device);
    totals.bytes_in_use += opened->device->allocated_bytes();
  }
  const offload::RegistrationStats registrations = registrations_->stats();
  totals.registrations = registrations.made;
  totals.registration_time = registrations.time;
  return totals;
}

std::vector<DeviceUse> DeviceLoops::devices() const {
  std::vector<DeviceUse> uses;
  for (const std::unique_ptr<Opened>& opened : opened_) {
    if (opened->device == nullptr) continue;
    const offload::DeviceInfo& info = opened->device->info();
    uses.push_back({info.name, info.description, info.is_simulated, info.shares_host_memory,
                    info.copy_engines, opened->device->budget(), opened->device->device().now()});
  }
  return uses;
}

}  // namespace dhpvm::vm
