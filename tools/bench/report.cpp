// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace dhpvm::tools {
namespace {

constexpr std::string_view kLine =
    "{:<16} {:>5} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>14} {:>14} {:>7} {:>6} {:>6} {:>6} {}\n";

// "2.35 ms /16"
std::string with_chunks(const Measurement& measurement) {
  return fmt::format("{} /{}", time_text(measurement.run.seconds), measurement.run.chunks_per_loop());
}

nlohmann::json to_json(const Measurement& measurement) {
  const Run& run = measurement.run;
  nlohmann::json json{
      {"mode", name_of(measurement.mode)},
      {"seconds", run.seconds},
      {"all_seconds", measurement.seconds},
      {"wall_seconds", run.wall_seconds},
      {"upload_seconds", run.stages.upload},
      {"kernel_seconds", run.stages.kernel},
      {"download_seconds", run.stages.download},
      {"serial_model_seconds", serial_seconds(run.stages)},
      {"ideal_model_seconds",
       ideal_seconds(run.stages, run.chunks_per_loop(), measurement.device.copy_engines)},
      {"overlap_efficiency", measurement.efficiency()},
      {"uploaded_bytes", run.upload_bytes},
      {"downloaded_bytes", run.download_bytes},
      {"operations", run.operations},
      {"loops", run.loops},
      {"chunks", run.chunks},
      {"chunks_per_loop", run.chunks_per_loop()},
      {"registrations", run.registrations},
      {"verified", measurement.difference.empty()},
  };
  if (measurement.chunks_wanted != 0) json["chunks_wanted"] = measurement.chunks_wanted;
  if (!measurement.difference.empty()) json["difference"] = measurement.difference;
  return json;
}

}  // namespace

std::string time_text(double seconds) {
  if (seconds < 999.5e-6) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 999.5e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(kUnits)) size /= 1024, ++unit;
  return fmt::format("{:.4g} {}", size, kUnits[unit]);
}

std::string table_heading() {
  return fmt::format(kLine, "kernel", "size", "data", "upload", "kernel", "download", "pageable", "pinned",
                     "best /chunks", "auto /chunks", "/best", "gain", "effic.", "GB/s", "results");
}

std::string table_line(const Case& one) {
  const Measurement& automatic = *one.find(Mode::kAutomatic);
  const Measurement* const best = one.best();
  const double pageable = one.find(Mode::kSerialPageable)->run.seconds;
  const Run& run = automatic.run;
  return fmt::format(
      kLine, one.kernel->name, fmt::format("{:g}x", one.size), size_text(one.bytes),
      time_text(run.stages.upload), time_text(run.stages.kernel), time_text(run.stages.download),
      time_text(pageable), time_text(one.find(Mode::kSerialPinned)->run.seconds),
      best == nullptr ? "-" : with_chunks(*best), with_chunks(automatic),
      best == nullptr ? "-" : fmt::format("{:.3f}", one.choice()),
      fmt::format("{:.2f}", pageable / run.seconds), fmt::format("{:.3f}", automatic.efficiency()),
      fmt::format("{:.2f}", static_cast<double>(one.bytes) / run.seconds / 1e9),
      one.verified() ? "same" : "DIFFER");
}

std::string table_closing(const std::vector<Case>& cases, const DeviceUse& device) {
  const Summary summary = summary_of(cases);
  std::string text = "\n";
  for (const Case& one : cases) {
    for (const Measurement& measurement : one.measurements) {
      if (measurement.difference.empty()) continue;
      text += fmt::format("WRONG: {} x {:g}, {}: {}\n", one.kernel->name, one.size, name_of(measurement.mode),
                          measurement.difference);
    }
  }
  if (device.is_simulated) text += "All times are SIMULATED: by the clock of a device that does not exist.\n";
  return text +
         fmt::format(
             "size: arrays against the memory that loops may use on the device ({}).\n"
             "upload, kernel, download: all operations of a stage together, when the size of chunks is "
             "automatic.\n"
             "pageable, pinned: one stage after the other, each waited for. best: the quickest of the "
             "sweep.\n"
             "/best: automatic against that, on a real device measured once more in turns. gain: pageable "
             "against\n"
             "automatic. effic.: the time that the longest\n"
             "stage takes, plus filling the pipeline, against the time that was measured. GB/s: of all "
             "arrays.\n"
             "\n"
             "{} cases, {} with results that differ from the host's\n"
             "automatic against the best of the sweep: {:.3f} at worst, {:.3f} on average (geometric mean)\n"
             "overlapped against serial pageable: {:.2f} times at best, {:.2f} on average; against serial "
             "pinned: "
             "{:.2f} on average\n"
             "registrations after the warm-up: {}\n",
             size_text(device.memory_bytes), summary.cases, summary.wrong, summary.worst_choice,
             summary.mean_choice, summary.best_over_pageable, summary.mean_over_pageable,
             summary.mean_over_pinned, summary.registrations);
}

std::string report_json(const std::vector<Case>& cases, const Plan& plan, const DeviceUse& device) {
  const Summary summary = summary_of(cases);
  nlohmann::json json{
      {"benchmark", "batching"},
      {"version", library_version()},
      {"device",
       {{"name", plan.settings.device},
        {"description", device.description},
        {"simulated", device.is_simulated},
        {"shares_host_memory", device.shares_host_memory},
        {"copy_engines", device.copy_engines}}},
      {"budget_bytes", plan.settings.budget},
      {"runs", plan.settings.runs},
      {"summary",
       {{"cases", summary.cases},
        {"wrong", summary.wrong},
        {"automatic_against_best_worst", summary.worst_choice},
        {"automatic_against_best_mean", summary.mean_choice},
        {"best_gain_over_pageable", summary.best_over_pageable},
        {"mean_gain_over_pageable", summary.mean_over_pageable},
        {"mean_gain_over_pinned", summary.mean_over_pinned},
        {"registrations_after_warm_up", summary.registrations}}},
  };
  json["cases"] = nlohmann::json::array();
  for (const Case& one : cases) {
    nlohmann::json entry{
        {"kernel", one.kernel->name}, {"title", one.kernel->title},       {"size", one.size},
        {"bytes", one.bytes},         {"host_seconds", one.host_seconds}, {"verified", one.verified()}};
    entry["measurements"] = nlohmann::json::array();
    entry["automatic_against_best"] = one.choice();
    for (const Measurement& measurement : one.measurements)
      entry["measurements"].push_back(to_json(measurement));
    json["cases"].push_back(std::move(entry));
  }
  return json.dump(1) + "\n";
}

}  // namespace dhpvm::tools
