// SPDX-License-Identifier: Apache-2.0
#include "bench/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/plots.h"
#include "bench/report.h"
#include "bench/svg.h"

namespace dhpvm::tools {
namespace {

// Colours that people with colour blindness can tell apart (Okabe and Ito 2008).
constexpr std::string_view kStyle = R"css(
body { font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; max-width: 1000px;
       margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; }
svg text { font: 12px system-ui, sans-serif; fill: #222; } svg .small { font-size: 10.5px; fill: #555; }
svg .title { font-weight: 600; }
.pageable { fill: #999999; } .pinned { fill: #e69f00; } .best { fill: #56b4e9; } .automatic { fill: #0072b2; }
.upload { fill: #e69f00; } .kernel { fill: #009e73; } .download { fill: #56b4e9; }
.s0 { fill: #e69f00; stroke: #e69f00; } .s1 { fill: #0072b2; stroke: #0072b2; } .s2 { fill: #d55e00; stroke: #d55e00; }
.s3 { fill: #009e73; stroke: #009e73; } .s4 { fill: #cc79a7; stroke: #cc79a7; }
.curve { fill: none; stroke-width: 1.8; } .grid { stroke: #ddd; } .bar { stroke: #d55e00; stroke-dasharray: 4 3; }
.ideal { stroke: #000; stroke-width: 2; }
.key { display: inline-block; width: 0.9em; height: 0.9em; margin: 0 0.35em 0 1em; vertical-align: -0.1em; }
.simulated { background: #fff3cd; border: 1px solid #e0c060; padding: 0.6em 1em; }
table { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; }
td, th { padding: 0.15em 0.6em; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; } .wide { overflow-x: auto; }
.differ { background: #f8d7da; }
)css";

std::string key(std::string_view style, std::string_view text) {
  return fmt::format(
      "<span><svg class=\"key\" viewBox=\"0 0 10 10\"><rect width=\"10\" height=\"10\" "
      "class=\"{}\"/></svg>{}</span>",
      style, escaped(text));
}

std::vector<double> sizes_of(const std::vector<Case>& cases) {
  std::vector<double> sizes;
  for (const Case& one : cases) {
    if (std::ranges::find(sizes, one.size) == sizes.end()) sizes.push_back(one.size);
  }
  return sizes;
}

std::string size_keys(const std::vector<Case>& cases) {
  std::string text;
  const std::vector<double> sizes = sizes_of(cases);
  for (std::size_t n = 0; n < sizes.size(); ++n)
    text += key(fmt::format("s{}", std::min<std::size_t>(n, 4)), fmt::format("{:g} x the memory", sizes[n]));
  return text;
}

std::string head(const Plan& plan, const DeviceUse& device, const Summary& summary) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Batching on {0}</title>\n"
      "<style>{1}</style></head><body>\n<h1>Batching on {0}</h1>\n<p>{2}</p>\n",
      escaped(plan.settings.device), kStyle, escaped(device.description));
  if (device.is_simulated) {
    text +=
        "<p class=\"simulated\"><strong>Simulated.</strong> All times on this page are those of a device "
        "that does "
        "not exist: kernels and copies were done by the host, and a virtual clock kept what they would have "
        "taken.</p>\n";
  }
  return text +
         fmt::format(
             "<p>{} cases; loops may use {} of the device's memory. Results that differ from the host's: {}. "
             "The chunk size that the runtime chooses costs {:.1f} % more than the best of the sweep at "
             "worst. "
             "Against serial transfers of pageable memory, overlap and pinning are {:.2f} times as quick on "
             "average, {:.2f} times at best.</p>\n",
             summary.cases, size_text(device.memory_bytes), summary.wrong,
             100 * std::max(summary.worst_choice - 1, 0.0), summary.mean_over_pageable,
             summary.best_over_pageable);
}

std::string table(const std::vector<Case>& cases) {
  std::string text =
      "<div class=\"wide\"><table><tr><th>kernel</th><th>size</th><th>data</th><th>mode</th><th>chunks</th>"
      "<th>time</th><th>upload</th><th>kernel</th><th>download</th><th>serial model</th><th>ideal</th>"
      "<th>efficiency</th><th>GB/s</th><th>results</th></tr>\n";
  for (const Case& one : cases) {
    for (const Measurement& measurement : one.measurements) {
      const Run& run = measurement.run;
      text += fmt::format(
          "<tr{}><td>{}</td><td>{:g}x</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</"
          "td><td>{}</td>"
          "<td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.2f}</td><td>{}</td></tr>\n",
          measurement.difference.empty() ? "" : " class=\"differ\"", escaped(one.kernel->name), one.size,
          size_text(one.bytes), name_of(measurement.mode), run.chunks_per_loop(), time_text(run.seconds),
          time_text(run.stages.upload), time_text(run.stages.kernel), time_text(run.stages.download),
          time_text(serial_seconds(run.stages)),
          time_text(ideal_seconds(run.stages, run.chunks_per_loop(), measurement.device.copy_engines)),
          measurement.efficiency(), static_cast<double>(one.bytes) / run.seconds / 1e9,
          measurement.difference.empty() ? "same" : escaped(measurement.difference));
    }
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string report_page(const std::vector<Case>& cases, const Plan& plan, const DeviceUse& device) {
  std::string text = head(plan, device, summary_of(cases));
  const std::vector<double> sizes = sizes_of(cases);
  for (const double size : sizes) {
    std::vector<const Case*> chosen;
    for (const Case& one : cases) {
      if (one.size == size) chosen.push_back(&one);
    }
    text +=
        fmt::format("<h2>Times with arrays of {:g} x the memory, against serial pageable</h2>\n<p>", size);
    text += key("pageable", "serial, pageable") + key("pinned", "serial, pinned") +
            key("best", "overlapped, best of the sweep") + key("automatic", "overlapped, automatic");
    text +=
        ". The black line is the ideal: the longest stage, and filling the pipeline. Shorter is "
        "better.</p>\n";
    text += bars(chosen);
  }
  text +=
      "<h2>Overlap efficiency</h2>\n<p>The ideal time against the measured one, with automatic chunks; the "
      "dashed line is "
      "0.95.";
  text += size_keys(cases) + "</p>\n" + efficiencies(cases);
  text +=
      "<h2>Number of chunks</h2>\n<p>Time against the best, for fixed numbers of chunks; the dot is what the "
      "runtime "
      "chooses.";
  text += size_keys(cases) + "</p>\n";
  const double middle = sizes[sizes.size() / 2];
  std::string timelines;
  for (const Kernel* const kernel : plan.kernels) {
    std::vector<const Case*> chosen;
    for (const Case& one : cases) {
      if (one.kernel != kernel) continue;
      chosen.push_back(&one);
      if (one.size == middle)
        timelines +=
            fmt::format("<h3>{}: {}</h3>\n", escaped(kernel->name), escaped(kernel->title)) + timeline(one);
    }
    text += sweep(chosen);
  }
  text += fmt::format("<h2>Queues, with arrays of {:g} x the memory</h2>\n", middle) + timelines;
  text +=
      "<h2>All measurements</h2>\n<p>Upload, kernel and download are all operations of a stage together; the "
      "serial "
      "model is their sum, the ideal their longest and what fills the pipeline. GB/s is of all arrays.</p>\n";
  return text + table(cases) + "</body></html>\n";
}

}  // namespace dhpvm::tools
