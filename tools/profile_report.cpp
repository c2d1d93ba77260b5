// SPDX-License-Identifier: Apache-2.0
#include "profile_report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "bench/svg.h"

namespace dhpvm::tools {
namespace {

using std::chrono::nanoseconds;

std::string line_of(const StackFrame& frame) {
  return frame.file.empty() ? std::string() : frame.file + ":" + std::to_string(frame.line);
}

std::string place_of(const StackFrame& frame) {
  const std::string line = line_of(frame);
  return line.empty() ? frame.function : frame.function + " (" + line + ")";
}

nanoseconds total_of(std::span<const ProfileStack> stacks) {
  nanoseconds total{0};
  for (const ProfileStack& stack : stacks) total += stack.time;
  return total;
}

std::string share(nanoseconds time, nanoseconds total) {
  char text[48];
  std::snprintf(text, sizeof text, "%9.3f s %5.1f %%", std::chrono::duration<double>(time).count(),
                100 * std::chrono::duration<double>(time) / total);
  return text;
}

struct Times {
  nanoseconds own{0};
  nanoseconds all{0};
};

// The entries with the most time of their own, as many as a terminal shows at once.
std::vector<std::pair<std::string, Times>> largest(const std::map<std::string, Times>& entries) {
  constexpr std::size_t kMost = 20;
  std::vector<std::pair<std::string, Times>> sorted(entries.begin(), entries.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    return std::pair(a.second.own, a.second.all) > std::pair(b.second.own, b.second.all);
  });
  if (sorted.size() > kMost) sorted.resize(kMost);
  return sorted;
}

std::string folded_text(std::span<const ProfileStack> stacks) {
  std::string text;
  for (const ProfileStack& stack : stacks) {
    std::string line;
    for (const StackFrame& frame : stack.frames) {
      std::string place = place_of(frame);
      std::ranges::replace(place, ';', ',');  // it separates frames
      line += (line.empty() ? "" : ";") + place;
    }
    if (line.empty()) continue;
    const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(stack.time).count();
    text += line + " " + std::to_string(microseconds) + "\n";
  }
  return text;
}

std::string speedscope_text(std::span<const ProfileStack> stacks, std::string_view title) {
  using Json = nlohmann::ordered_json;
  Json frames = Json::array();
  std::map<std::string, std::size_t> known;
  Json samples = Json::array();
  Json weights = Json::array();
  for (const ProfileStack& stack : stacks) {
    Json sample = Json::array();
    for (const StackFrame& frame : stack.frames) {
      const auto [entry, is_new] = known.try_emplace(place_of(frame), known.size());
      if (is_new) {
        Json made = {{"name", frame.function}};
        if (!frame.file.empty()) made.update({{"file", frame.file}, {"line", frame.line}});
        frames.push_back(std::move(made));
      }
      sample.push_back(entry->second);
    }
    samples.push_back(std::move(sample));
    weights.push_back(stack.time.count());
  }
  const Json profile = {{"type", "sampled"},
                        {"name", title},
                        {"unit", "nanoseconds"},
                        {"startValue", 0},
                        {"endValue", total_of(stacks).count()},
                        {"samples", std::move(samples)},
                        {"weights", std::move(weights)}};
  const Json document = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                         {"exporter", "dhpvm-run"},
                         {"name", title},
                         {"shared", {{"frames", std::move(frames)}}},
                         {"profiles", Json::array({profile})}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Calls by their callers. The lines that ran are the innermost entries.
struct Call {
  nanoseconds time{0};
  std::map<std::string, std::unique_ptr<Call>> inner;

  Call& take(const std::string& name, nanoseconds more) {
    std::unique_ptr<Call>& call = inner[name];
    if (call == nullptr) call = std::make_unique<Call>();
    call->time += more;
    return *call;
  }
  std::size_t depth() const {
    std::size_t deepest = 0;
    for (const auto& [name, call] : inner) deepest = std::max(deepest, call->depth());
    return deepest + 1;
  }
};

class FlameGraph {
 public:
  explicit FlameGraph(std::span<const ProfileStack> stacks) {
    for (const ProfileStack& stack : stacks) {
      root_.time += stack.time;
      Call* call = &root_;
      for (const StackFrame& frame : stack.frames) call = &call->take(frame.function, stack.time);
      if (stack.frames.empty()) continue;
      if (const std::string line = line_of(stack.frames.back()); !line.empty()) call->take(line, stack.time);
    }
  }

  std::string page(std::string_view title) const {
    Svg svg(kWidth, static_cast<double>(root_.depth()) * kRow, "Where the time goes: the wider, the more");
    draw(svg, "all", root_, 0, kWidth, 0);
    const std::string name = escaped(title);
    return "<!doctype html>\n<meta charset=\"utf-8\">\n<title>" + name + "</title>\n<style>" +
           std::string(kStyle) + "</style>\n<h1>" + name +
           "</h1>\n<p>Every box is a function; below it stand those that it calls, and the lines that run. "
           "Its "
           "width is its share of the time. Point at a box for the figures.</p>\n" +
           std::move(svg).finish() + "\n";
  }

 private:
  static constexpr double kWidth = 1200;
  static constexpr double kRow = 18;
  static constexpr double kLetter = 6.6;  // the width of a letter in the style below, rounded up
  static constexpr std::string_view kStyle =
      "body{font:14px sans-serif;margin:2em}svg{width:100%;height:auto}svg text{font:11px "
      "monospace;fill:#222}"
      ".call{fill:#f4b183;stroke:#fff}.line{fill:#ffe0a3;stroke:#fff}.part{fill:#9dc3e6;stroke:#fff}";

  void draw(Svg& svg, const std::string& name, const Call& call, double x, double width, double y) const {
    // Less than half a point is not visible.
    if (width < 0.5) return;
    const std::string_view style = name.starts_with('[') ? "part" : call.inner.empty() ? "line" : "call";
    svg.rectangle(x, y, width, kRow - 1, style, name + share(call.time, root_.time));
    const auto letters = static_cast<std::size_t>(std::max(0.0, (width - 6) / kLetter));
    if (letters >= 3) svg.text(x + 3, y + kRow - 5, shortened(name, letters));
    for (const auto& [inner_name, inner] : call.inner) {
      const double part =
          width * (std::chrono::duration<double>(inner->time) / std::chrono::duration<double>(call.time));
      draw(svg, inner_name, *inner, x, part, y + kRow);
      x += part;
    }
  }

  // Cutting between the bytes of a letter would make the page invalid UTF-8.
  static std::string shortened(const std::string& name, std::size_t letters) {
    if (name.size() <= letters) return name;
    std::size_t end = letters - 1;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
    return name.substr(0, end) + "…";
  }

  Call root_;
};

}  // namespace

Result<ProfileForm> profile_form_of(std::string_view path) {
  if (path.ends_with(".folded")) return ProfileForm::kFolded;
  if (path.ends_with(".json")) return ProfileForm::kSpeedscope;
  if (path.ends_with(".html")) return ProfileForm::kFlameGraph;
  return Error(
      ErrorCode::kInvalidArgument,
      "--profile=" + std::string(path) +
          " has no form that is known: end the name in .html for a picture, .json for speedscope.app "
          "or .folded for other programs");
}

std::string profile_table(std::span<const ProfileStack> stacks) {
  const nanoseconds total = total_of(stacks);
  if (total.count() == 0) return "profile: the program was over before the first sample, after 2 ms\n";
  std::map<std::string, Times> functions;
  std::map<std::string, Times> lines;
  for (const ProfileStack& stack : stacks) {
    std::set<std::string> active;  // each function once, however often it recurs
    for (const StackFrame& frame : stack.frames) {
      if (active.insert(frame.function).second) functions[frame.function].all += stack.time;
    }
    if (stack.frames.empty()) continue;
    functions[stack.frames.back().function].own += stack.time;
    // A frame that is not code of the program counts for the line that waits for it.
    const auto at = std::find_if(stack.frames.rbegin(), stack.frames.rend(),
                                 [](const StackFrame& frame) { return !frame.file.empty(); });
    if (at != stack.frames.rend()) lines[place_of(*at)].own += stack.time;
  }
  std::string text = "profile of" + share(total, total).substr(0, 11) + "\n";
  text += "            itself        with what it calls  function\n";
  for (const auto& [name, times] : largest(functions))
    text += share(times.own, total) + "  " + share(times.all, total) + "  " + name + "\n";
  text += "            itself  line\n";
  for (const auto& [name, times] : largest(lines)) text += share(times.own, total) + "  " + name + "\n";
  return text;
}

std::string profile_text(std::span<const ProfileStack> stacks, ProfileForm form, std::string_view title) {
  switch (form) {
    case ProfileForm::kFolded: return folded_text(stacks);
    case ProfileForm::kSpeedscope: return speedscope_text(stacks, title);
    case ProfileForm::kFlameGraph: break;
  }
  return FlameGraph(stacks).page(title);
}

}  // namespace dhpvm::tools
