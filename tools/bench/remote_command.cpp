// SPDX-License-Identifier: Apache-2.0
#include "bench/remote_command.h"

#include <algorithm>
#include <string>

#include "bench/files.h"
#include "bench/remote_report.h"
#include "bench/workers.h"
#include "remote.h"

namespace dhpvm::tools {
namespace {

constexpr std::string_view kParts[] = {"loops", "overlap", "several", "products"};

// SGEMM of Parboil, in both of its sizes.
constexpr std::array<std::int64_t, 3> kSmall{128, 160, 96};
constexpr std::array<std::int64_t, 3> kMedium{1024, 1056, 992};

Error invalid(std::string text) { return Error(ErrorCode::kInvalidArgument, std::move(text)); }

struct Request {
  RemotePlan plan;
  std::vector<std::string> parts;
  std::vector<std::string> devices;
  RemoteRequest workers;
  bool wants(std::string_view part) const {
    return parts.empty() || std::ranges::find(parts, part) != parts.end();
  }
};

Result<Request> request_of(const Arguments& arguments) {
  Request request;
  request.plan.products = {kSmall, kMedium};
  request.plan.progress = show_progress;
  for (const Arguments::Given& given : arguments.options) {
    const std::string_view name = given.option->name;
    if (name == "--only") {
      DHPVM_TRY(for_each_item(given.value, [&](std::string_view item) -> Status {
        if (std::ranges::find(kParts, item) == std::end(kParts))
          return invalid("--only=" + std::string(item) + ": there are loops, overlap, several and products");
        request.parts.emplace_back(item);
        return {};
      }));
    } else if (name == "--device") {
      DHPVM_TRY(for_each_item(given.value, [&](std::string_view item) -> Status {
        request.devices.emplace_back(item);
        return {};
      }));
    } else if (name == "--data") {
      DHPVM_ASSIGN(request.plan.bytes, parse_size(given.value));
      if (request.plan.bytes < (1u << 20)) return invalid("--data: at least 1M is needed");
    } else if (name == "--small") {
      request.plan.products = {kSmall};
    } else if (name == "--runs") {
      DHPVM_ASSIGN(request.plan.runs, parse_count(given.value));
      if (request.plan.runs == 0) return invalid("--runs: at least one is needed");
    } else if (given.option->group == kRemoteGroup) {
      DHPVM_TRY(set_remote(request.workers, name, given.value));
    }
  }
  if (request.workers.connect.empty())
    return invalid(
        "say which workers to measure, --connect=HOST:PORT; `./dev bench remote` starts some on this "
        "machine itself");
  return request;
}

// The devices that workers lend, limited to the requested ones.
Result<std::vector<DeviceEntry>> devices_of(const Engine& engine, const Request& request) {
  std::vector<DeviceEntry> found;
  std::string problems;
  for (DeviceEntry& device : engine.devices()) {
    if (device.name != "remote" && !device.name.starts_with("remote/")) continue;
    if (!device.problem.empty()) {
      problems += device.name + ": " + device.problem + "\n";
    } else if (request.devices.empty() ||
               std::ranges::find(request.devices, device.name) != request.devices.end()) {
      found.push_back(std::move(device));
    }
  }
  if (!problems.empty() || found.empty())
    return Error(ErrorCode::kNotFound, problems.empty() ? "no worker lends such a device" : problems);
  return found;
}

Result<int> measure(const Engine& engine, Request& request, const Arguments& arguments) {
  RemoteResults results;
  DHPVM_ASSIGN(results.devices, devices_of(engine, request));
  RemotePlan& plan = request.plan;
  for (const DeviceEntry& device : results.devices) {
    plan.devices.push_back(device.name);
    DHPVM_TRY(print(device.name + ": " + device.description + "\n"));
  }
  // Clears the line with the progress, and prints.
  const auto show = [](const std::string& text) {
    show_progress("");
    return print("\n" + text);
  };
  for (const std::string& device : plan.devices) {
    if (!request.wants("loops")) continue;
    DHPVM_ASSIGN(LoopCosts loops, measure_loops(engine, plan, device));
    DHPVM_TRY(show(text_of(loops)));
    results.loops.push_back(std::move(loops));
  }
  for (const std::string& device : plan.devices) {
    if (!request.wants("overlap")) continue;
    DHPVM_ASSIGN(Overlap overlap, measure_overlap(engine, plan, device));
    DHPVM_TRY(show(text_of(overlap)));
    results.overlaps.push_back(std::move(overlap));
  }
  if (request.wants("several") && plan.devices.size() > 1) {
    DHPVM_ASSIGN(results.several, measure_several(engine, plan));
    DHPVM_TRY(show(text_of(*results.several, results.devices)));
  }
  for (const auto& shape : plan.products) {
    if (!request.wants("products")) continue;
    DHPVM_ASSIGN(const std::vector<Product> products, measure_products(engine, plan, shape));
    DHPVM_TRY(show(text_of(products)));
    results.products.insert(results.products.end(), products.begin(), products.end());
  }
  const auto is_gpu = [](const DeviceEntry& device) { return device.name.find("/cuda") != device.name.npos; };
  if (request.wants("products") && std::ranges::none_of(results.devices, is_gpu))
    DHPVM_TRY(print("  (no worker lends a GPU)\n"));
  if (const std::string* const path = arguments.last("--json"))
    DHPVM_TRY(write_file(*path, report_json(results)));
  return results.verified() ? 0 : 1;
}

}  // namespace

Result<int> run_remote(const EngineOptions& base, const Arguments& arguments) {
  DHPVM_ASSIGN(Request request, request_of(arguments));
  EngineOptions options = base;
  options.remote = workers_of(request.workers);
  const Engine engine(options);
  return measure(engine, request, arguments);
}

}  // namespace dhpvm::tools
