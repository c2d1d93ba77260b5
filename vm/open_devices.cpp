// SPDX-License-Identifier: Apache-2.0
#include "vm/open_devices.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"
#include "vm/isolate.h"

namespace dhpvm::vm {
namespace {

offload::HostMemory memory_kind(Batching batching) {
  return batching == Batching::kSerialPageable ? offload::HostMemory::kPageable
                                               : offload::HostMemory::kPinned;
}

// How often a full worker is asked whether it is the program's turn.
constexpr std::chrono::milliseconds kLookAgain{20};

// Whether the worker is full, and has a place in its queue for this program.
bool is_full(const Error& problem) { return problem.code() == ErrorCode::kDeviceExhausted; }

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

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma != 0) names.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

std::string about(const OpenDevice& opened, const std::string& text) {
  return text.find(opened.name) != text.npos ? text : fmt::format("{}: {}", opened.name, text);
}

OpenDevices::OpenDevices(std::shared_ptr<const LinkedModule> linked, CompileService& service,
                         offload::BufferPool& pool, Isolate& isolate, std::uint32_t track)
    : linked_(std::move(linked)),
      service_(service),
      pool_(pool),
      isolate_(isolate),
      options_(isolate.options()),
      track_(track),
      registrations_(std::make_unique<offload::Registrations>(
          pool,
          offload::RegistrationOptions{options_.devices.warn, memory_kind(options_.devices.batching)})) {}

OpenDevices::~OpenDevices() = default;

Result<OpenDevices::Wished> OpenDevices::look_for_wished() {
  Wished wished;
  for (const std::string& wish : split_names(options_.devices.names)) {
    if (is_host(wish)) wished.has_any = true;
    if (is_host(wish)) continue;
    offload::DevicePresence present = options_.devices.registry->present(wish);
    wished.is_queued = wished.is_queued || std::ranges::any_of(present.absent, is_full);
    for (const std::string& name : present.names) {
      const auto device = options_.devices.registry->open(name);
      wished.has_any = wished.has_any || device.ok();
      if (!device.ok()) present.absent.push_back(device.error());
    }
    for (Error& problem : present.absent) {
      // Any other problem is a mistake that stays; but one worker of several does not stop the program.
      const bool goes_away = problem.code() == ErrorCode::kDeviceLost || is_full(problem);
      if (!goes_away && present.names.empty()) return std::move(problem);
      wished.problems.push_back(std::move(problem));
    }
  }
  return wished;
}

Status OpenDevices::open_wished() {
  if (options_.devices.names == "auto") return {};
  Status status = await_wished();
  if (status.ok() || !options_.devices.is_required || status.error().code() == ErrorCode::kDeadline)
    return status;
  return Error(ErrorCode::kDeviceFailed, one_line(status.error()));
}

// With several devices, a missing one is skipped, and loops use it as soon as it is there. A full worker that has
// queued this program is waited for only if there is no other device.
Status OpenDevices::await_wished() {
  const auto begin = std::chrono::steady_clock::now();
  DHPVM_ASSIGN(Wished wished, look_for_wished());
  while (!wished.has_any && wished.is_queued) {
    const Error& full = *std::ranges::find_if(wished.problems, is_full);
    warn_once(fmt::format("{}; it waits there", one_line(full)));
    if (std::chrono::steady_clock::now() - begin > options_.limits.deadline)
      return Error(ErrorCode::kDeadline, full.message());
    std::this_thread::sleep_for(kLookAgain);
    DHPVM_ASSIGN(wished, look_for_wished());
  }
  if (!wished.has_any && !wished.problems.empty()) return std::move(wished.problems.front());
  for (const Error& problem : wished.problems) {
    warn_once(fmt::format("{}; loops run without it until it is there", one_line(problem)));
  }
  return {};
}

void OpenDevices::warn_once(std::string message) {
  if (!options_.devices.warn) return;
  const auto [entry, is_new] = warned_.insert(std::move(message));
  if (is_new) options_.devices.warn(*entry);
}

void OpenDevices::warn_of_host(std::string_view position, std::string_view reason) {
  if (!options_.devices.is_required)
    warn_once(fmt::format("parallel for at {} runs on the host: {}", position, reason));
}

OpenDevice& OpenDevices::open(const std::string& name) {
  for (const std::unique_ptr<OpenDevice>& known : opened_) {
    if (known->name == name) return *known;
  }
  ++changes_;
  OpenDevice& opened = *opened_.emplace_back(std::make_unique<OpenDevice>());
  opened.name = name;
  auto made = make(opened);
  if (made.ok()) {
    opened.device = std::move(made).value();
    opened.kernels = std::make_unique<DeviceKernels>(linked_, service_, opened.owner, *opened.device,
                                                     [this] { return isolate_.poll(); });
  } else {
    opened.problem = one_line(made.error());
  }
  return opened;
}

OpenDevices::OnHost OpenDevices::load_on_host(const KernelWish& wish) {
  if (options_.devices.is_required) return {};
  OpenDevice& opened = open("host");
  if (opened.device == nullptr) return {};
  const Result<const LoadedKernel*> loaded = opened.kernels->load(wish);
  if (!loaded.ok() || (*loaded)->kernel == nullptr) return {};
  return {opened.device.get(), *loaded};
}

// The stricter setting of both sides applies. The protection may still be less than the user expects, so say so.
void OpenDevices::warn_of_weak_seal(const std::string& device) {
  for (const offload::PeerStatus& peer : options_.devices.registry->peers()) {
    const bool is_readable = peer.seal == "none" || peer.seal == "integrity";
    if (!is_readable || !(device + "/").starts_with(peer.name + "/")) continue;
    warn_once(
        fmt::format("the arrays that {} gets and gives can be read{} by others on the network (--seal={})",
                    peer.name, peer.seal == "none" ? ", and changed," : "", peer.seal));
  }
}

Result<std::unique_ptr<offload::PipelineDevice>> OpenDevices::make(OpenDevice& opened) {
  DHPVM_ASSIGN(opened.owner, options_.devices.registry->open(opened.name));
  if (is_remote(opened.name)) warn_of_weak_seal(opened.name);
  offload::PipelineDeviceOptions options;
  options.budget_bytes = options_.limits.device_bytes;
  options.poll = [this] { return isolate_.poll(); };
  options.stop = &isolate_.stop_token();
  options.tracer = options_.tracer;
  options.loops_track = track_;
  options.overlap = options_.devices.batching == Batching::kOverlapped;
  if (options_.devices.observer) {
    options.observer = [observer = options_.devices.observer, name = opened.name](
                           const offload::OperationRecord& record) { observer(name, record); };
  }
  DHPVM_ASSIGN(auto device, offload::PipelineDevice::create(opened.owner, pool_, *registrations_, options));
  // If the link has failed meanwhile, the next use of the device finds out.
  if (const Status status = device->begin_to_measure_link(); !status.ok() && !device->failure())
    return status.error();
  return device;
}

bool OpenDevices::is_open(const std::string& name) const {
  return std::ranges::any_of(opened_, [&](const std::unique_ptr<OpenDevice>& opened) {
    return opened->name == name && opened->device != nullptr && !opened->device->failure() &&
           !opened->device->departure();
  });
}

std::vector<std::string> OpenDevices::present(const std::vector<std::string>& wishes, std::string& absent) {
  // Short loops are many, so the list of present devices is kept for a moment. A worker that dials in meanwhile is
  // noticed this much later.
  constexpr std::chrono::milliseconds kHolds{5};
  const auto is_known = [this](const std::string& name) { return is_host(name) || is_open(name); };
  const auto now = std::chrono::steady_clock::now();
  if (presence_.wishes == wishes && now < presence_.until && std::ranges::all_of(presence_.names, is_known))
    return presence_.names;
  std::vector<std::string> found;
  // Each device once: the parts of a split loop run on threads of their own, and a device is used by one thread at a
  // time.
  const auto add = [&found](std::string name) {
    const auto is_same = [&](const std::string& other) {
      return other == name || (is_host(other) && is_host(name));
    };
    if (std::ranges::none_of(found, is_same)) found.push_back(std::move(name));
  };
  for (const std::string& wish : wishes) {
    if (is_host(wish) || (is_remote(wish) && is_open(wish))) {
      add(wish);
      continue;
    }
    offload::DevicePresence present = options_.devices.registry->present(wish);
    for (std::string& name : present.names) add(std::move(name));
    for (const Error& problem : present.absent) absent += (absent.empty() ? "" : "; ") + one_line(problem);
  }
  if (absent.empty()) presence_ = {wishes, found, now + kHolds};
  return found;
}

bool OpenDevices::tell_losses() {
  bool told = false;
  for (const std::unique_ptr<OpenDevice>& opened : opened_) {
    if (opened->device == nullptr || opened->loss_was_told) continue;
    const std::optional<Error> departure = opened->device->departure();
    if (!departure) continue;
    opened->loss_was_told = told = true;
    if (options_.devices.warn) {
      options_.devices.warn(
          fmt::format("{} is gone, and its work is done elsewhere: {}", opened->name, one_line(*departure)));
    }
  }
  return told;
}

// A device that comes back is opened anew, because its memory and kernels are lost.
void OpenDevices::drop_lost(const std::function<void(offload::PipelineDevice&)>& before) {
  tell_losses();
  // `before` may open other devices.
  for (std::size_t n = 0; n < opened_.size(); ++n) {
    if (opened_[n]->device != nullptr && opened_[n]->device->departure()) before(*opened_[n]->device);
  }
  const std::size_t dropped = std::erase_if(opened_, [&](std::unique_ptr<OpenDevice>& opened) {
    if (opened->device == nullptr) return is_remote(opened->name);
    if (!opened->device->departure()) return false;
    // If interrupted, drop it at the next call.
    if (!opened->device->blocks().give_up_copies().ok()) return false;
    add_totals(dropped_, *opened->device);
    opened->kernels.reset();
    opened->device.reset();
    registrations_->forget(*opened->owner);
    return true;
  });
  changes_ += dropped;
}

Status OpenDevices::release_buffers() {
  for (const std::unique_ptr<OpenDevice>& opened : opened_) {
    if (opened->device == nullptr || opened->device->failure()) continue;
    DHPVM_TRY(opened->device->wait(opened->device->submitted()));
    opened->device->release_held();
  }
  return {};
}

std::shared_ptr<void> OpenDevices::leave() {
  // Most launches end within the time for which Pace makes them.
  constexpr std::chrono::milliseconds kPatience{50};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  // The engine, which has the devices as well, may be ending by then.
  struct Left {
    std::vector<std::shared_ptr<offload::Device>> owners;   // before all that is theirs
    std::unique_ptr<offload::Registrations> registrations;  // before the devices that use them
    std::vector<std::unique_ptr<OpenDevice>> devices;
  };
  const auto left = std::make_shared<Left>();
  for (std::unique_ptr<OpenDevice>& opened : opened_) {
    if (opened->owner != nullptr) left->owners.push_back(opened->owner);
    if (opened->device == nullptr || !opened->device->is_paced() || opened->device->ends_by(deadline))
      continue;
    opened->device->leave();
    // Asks the isolate, and holds kernels; operations in flight hold theirs.
    opened->kernels.reset();
    left->devices.push_back(std::move(opened));
  }
  std::erase(opened_, nullptr);
  opened_.clear();
  if (left->devices.empty()) return nullptr;
  left->registrations = std::move(registrations_);
  return left;
}

DeviceTotals OpenDevices::totals() const {
  DeviceTotals totals = dropped_;
  for (const std::unique_ptr<OpenDevice>& opened : opened_) {
    if (opened->device == nullptr) continue;
    add_totals(totals, *opened->device);
    totals.bytes_in_use += opened->device->blocks().allocated_bytes();
  }
  const offload::RegistrationStats registrations = registrations_->stats();
  totals.registrations = registrations.made;
  totals.registration_time = registrations.time;
  return totals;
}

std::vector<DeviceUse> OpenDevices::uses() const {
  std::vector<DeviceUse> uses;
  for (const std::unique_ptr<OpenDevice>& opened : opened_) {
    if (opened->device == nullptr) continue;
    const offload::DeviceInfo& info = opened->device->info();
    uses.push_back({info.name, info.description, info.is_simulated, info.shares_host_memory,
                    info.copy_engines, opened->device->blocks().budget(), opened->device->device().now()});
  }
  return uses;
}

}  // namespace dhpvm::vm
