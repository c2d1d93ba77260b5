// SPDX-License-Identifier: Apache-2.0
#include "vm/device_choice.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "offload/drivers/gpu_presence.h"
#include "offload/schedule/pipeline/pipeline.h"
#include "offload/schedule/placement/cost_model.h"
#include "vm/isolate.h"

namespace dhpvm::vm {
namespace {

// With "auto", devices are looked for when a loop is expected to take so long on the host: opening one takes as long.
constexpr double kWorthOpening = 20e-3;
// The time to measure the links to further workers: this, plus four times as long as the first one takes.
constexpr std::chrono::milliseconds kLinkGrace{2};
// The longest wait for links: the loop then runs without the devices whose links are not measured.
constexpr std::chrono::milliseconds kLinkPatience{300};

// An upper bound, in seconds, of the loop's time on the host, as far as it is known.
double longest_seconds(const OffloadRequest& request) {
  if (request.host_seconds > 0) return request.host_seconds;
  return offload::longest_iteration(request.loop) * static_cast<double>(*request.loop.space.count());
}

}  // namespace

const std::string& first_cause(const Error& error) {
  const Error* first = &error;
  while (first->cause() != nullptr) first = first->cause();
  return first->message();
}

DeviceChoice::DeviceChoice(const IsolateOptions& options, OpenDevices& devices, DeviceHistory& history,
                           std::size_t loops)
    : settings_(options.devices),
      devices_(devices),
      history_(history),
      held_(loops),
      policy_(settings_.policy != nullptr ? settings_.policy : offload::fastest_completion()) {}

bool DeviceChoice::may_offload(const bytecode::KernelRecord& record) const {
  return !is_host(settings_.names) && !is_host(record.device_hint);
}

// The command line takes precedence over the program's hint, and both over "auto".
const std::string& DeviceChoice::wish_for(const bytecode::KernelRecord& record) const {
  return settings_.names != "auto" || record.device_hint.empty() ? settings_.names : record.device_hint;
}

bool DeviceChoice::is_too_short(const bytecode::KernelRecord& record, double host_seconds) const {
  return !devices_.has_any() && host_seconds < kWorthOpening && wish_for(record) == "auto";
}

void DeviceChoice::stay(const OffloadRequest& request, const std::string& reason, bool is_forced) {
  history_.stayed(request.number(), reason);
  if (is_forced) devices_.warn_of_host(request.kernel.position, reason);
}

// The reason why no loop can run on the device; nothing if loops can.
std::optional<std::string> DeviceChoice::unusable(const OpenDevice& opened) {
  if (opened.device != nullptr && !opened.device->failure()) return std::nullopt;
  const std::string& reason =
      opened.device == nullptr ? opened.problem : first_cause(*opened.device->failure());
  return about(opened, reason);
}

DeviceSelection DeviceChoice::choose(const OffloadRequest& request) {
  if (OpenDevice* const held = held_.find(request, devices_.changes()); held != nullptr) {
    history_.held(request.number());
    return {{{held, std::nullopt}}, false};
  }
  const std::string& wish = wish_for(*request.kernel.kernel->record);
  std::vector<std::string> names = split_names(wish);
  const bool is_one_wish = names.size() == 1 && wish != "auto";
  std::string absent;
  if (wish != "auto") {
    names = devices_.present(names, absent);
    history_.missed(request.number(), absent);
  }
  if (is_one_wish && names.empty()) {
    // It was there when the program began; the user has been told since.
    stay(request, absent, false);
    return {};
  }
  if (is_one_wish && names.size() == 1) {
    history_.chose(request.number(), {}, {});
    OpenDevice& opened = devices_.open(names[0]);
    const std::optional<std::string> problem = unusable(opened);
    if (!problem) return {{{&opened, std::nullopt}}, true};
    stay(request, *problem, settings_.names != "auto");
    return {};
  }
  if (wish == "auto") {
    names = {"host"};
    if (offload::may_have_gpu()) names.emplace_back("gpu");
    std::ranges::move(devices_.present({"remote"}, absent), std::back_inserter(names));
    if (names.size() == 1) {
      history_.stayed(request.number(), "this machine has no GPU");
      return {};
    }
  }
  await_links(names);
  std::vector<Candidate> candidates;
  for (const std::string& name : names) {
    if (std::optional<Candidate> candidate = consider(request, name))
      candidates.push_back(std::move(*candidate));
  }
  return choose_among(request, std::move(candidates));
}

// Links to workers are measured when they are opened. A worker whose measurement takes much longer than the
// others is left out until that is over: the loop does not wait for it.
void DeviceChoice::await_links(const std::vector<std::string>& names) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::optional<Clock::duration> first;
  for (;;) {
    bool all_known = true;
    bool any_known = false;
    for (const std::string& name : names) {
      OpenDevice* const opened = is_host(name) ? nullptr : &devices_.open(name);
      const bool known = opened == nullptr || opened->device == nullptr || opened->device->is_link_measured();
      all_known = all_known && known;
      any_known = any_known || (known && (opened == nullptr || opened->device != nullptr));
    }
    const auto passed = Clock::now() - begin;
    if (any_known && !first) first = passed;
    if (all_known || passed > kLinkPatience || (first && passed > kLinkGrace + 4 * *first)) return;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

// The expected times of a device; nothing if it cannot run the loop.
std::optional<DeviceChoice::Candidate> DeviceChoice::consider(const OffloadRequest& request,
                                                              const std::string& name) {
  using Kind = offload::Place::Kind;
  if (is_host(name)) {
    const double seconds = request.host_seconds;
    return Candidate{nullptr,
                     {Kind::kHost, "the host", seconds, seconds, request.is_host_known, true},
                     {"host", seconds, std::nullopt, true},
                     std::nullopt};
  }
  OpenDevice& opened = devices_.open(name);
  if (const std::optional<std::string> problem = unusable(opened)) {
    stay(request, *problem, false);
    return std::nullopt;
  }
  if (!opened.device->is_link_measured()) {
    stay(request, about(opened, "its link is still being measured"), false);
    return std::nullopt;
  }
  offload::Loop loop = request.loop;
  loop.can_trap = opened.kernels->may_trap(request.kernel);
  auto plan = plan_run(*opened.device, {&loop, 1});
  if (!plan.ok()) {
    stay(request, about(opened, plan.error().message()), false);
    return std::nullopt;
  }
  const offload::DeviceEstimate estimate = offload::estimate(*opened.device, loop, *plan);
  // The device first has to get through chunks that others have done in its place meanwhile.
  const double behind = opened.device->seconds_behind();
  const offload::DeviceInfo& info = opened.device->info();
  const bool divisible = can_be_split(*plan);
  const Kind kind = info.is_remote             ? Kind::kWorker
                    : info.target.is_processor ? Kind::kHostCores
                                               : Kind::kDevice;
  return Candidate{&opened,
                   {kind, info.name, behind + estimate.total_seconds, estimate.kernel_seconds,
                    !estimate.is_guess, divisible, behind + estimate.least_seconds},
                   {info.name, estimate.total_seconds, estimate, divisible, behind},
                   std::move(plan).value()};
}

DeviceSelection DeviceChoice::choose_among(const OffloadRequest& request, std::vector<Candidate> candidates) {
  std::vector<ExpectedTime> expected;
  std::vector<offload::Place> places;
  for (Candidate& candidate : candidates) {
    expected.push_back(std::move(candidate.expected));
    places.push_back(candidate.place);
  }
  const offload::PlacementChoice choice =
      policy_->choose(places, request.loop.space.extent(0), longest_seconds(request));
  history_.chose(request.number(), std::move(expected), choice.reason);
  if (choice.places.size() == 1 && candidates[choice.places[0]].opened == nullptr) {
    history_.stayed(request.number(), choice.reason);
    return {};
  }
  if (choice.places.size() == 1 && places[choice.places[0]].known)
    held_.hold(request, *candidates[choice.places[0]].opened, devices_.changes());
  DeviceSelection chosen;
  for (const std::size_t n : choice.places) {
    Candidate& candidate = candidates[n];
    OpenDevice& opened = candidate.opened == nullptr ? devices_.open("host") : *candidate.opened;
    if (opened.device != nullptr) chosen.devices.push_back({&opened, std::move(candidate.plan)});
  }
  return chosen;
}

}  // namespace dhpvm::vm
