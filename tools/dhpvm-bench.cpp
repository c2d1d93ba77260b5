// SPDX-License-Identifier: Apache-2.0
// dhpvm-bench: measures the effect of batching on loops on a device, and loops on workers.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "bench/files.h"
#include "bench/page.h"
#include "bench/remote_command.h"
#include "bench/report.h"
#include "bench/suite.h"
#include "ending.h"
#include "open.h"
#include "options.h"
#include "remote.h"

namespace dhpvm::tools {
namespace {

constexpr std::string_view kTool = "dhpvm-bench";

constexpr std::string_view kBatchingUsage =
    "usage: dhpvm-bench batching [options]\n"
    "\n"
    "Runs kernels whose arrays are smaller and larger than the memory of a device, in four modes: serial "
    "with "
    "pageable\n"
    "memory, serial with pinned memory, overlapped in fixed numbers of chunks, and overlapped with chunks of "
    "a "
    "size that\n"
    "the runtime chooses. Every result is compared with that of the host's cores.\n";

constexpr std::string_view kRemoteUsage =
    "usage: dhpvm-bench remote --connect=HOST:PORT[,..] [options]\n"
    "\n"
    "Runs loops on the devices of workers: some that do nothing, some whose data and computation take "
    "equally long,\n"
    "some on all devices at once, and products of matrices against the interpreter and native code of this "
    "machine.\n";

constexpr std::string_view kWorkersGroup = "What to measure of workers";

constexpr Option kOptions[] = {
    {"What to measure", "--device", 0, Value::kRequired, "NAME",
     "where loops run: sim, opencl:0, cuda:0 .. (default: a CUDA device if there is one, else sim);\n"
     "of workers: only these of their devices; may be repeated, or a list with commas"},
    {"What to measure", "--kernel", 0, Value::kRequired, "NAME",
     "only this kernel; may be repeated, or a list with commas"},
    {"What to measure", "--sizes", 0, Value::kRequired, "LIST",
     "sizes of the arrays against the device's memory (default 0.5,2,8)"},
    {"What to measure", "--budget", 0, Value::kRequired, "SIZE",
     "memory that loops may use on the device (default 1G on CUDA devices, 64M elsewhere)"},
    {"What to measure", "--chunks", 0, Value::kRequired, "LIST",
     "numbers of chunks to try (default 1,2,4,8,16,32,64,128,256)"},
    {"What to measure", "--runs", 0, Value::kRequired, "N",
     "times that each is run; the median counts (default 7, on a simulated device 1)"},
    {"What to measure", "--list", 0, Value::kNone, "",
     "print the kernels and the devices, and do not run anything"},

    {kWorkersGroup, "--only", 0, Value::kRequired, "LIST",
     "of loops, overlap, several and products (default: all)"},
    {kWorkersGroup, "--data", 0, Value::kRequired, "SIZE", "arrays of loops that move data (default 64M)"},
    {kWorkersGroup, "--small", 0, Value::kNone, "", "leave out the product of large matrices"},
    {kRemoteGroup, "--connect", 0, Value::kRequired, "LIST", "the workers: gpubox:7471,otherbox"},
    {kRemoteGroup, "--key-file", 0, Value::kRequired, "FILE", "the secret that they have as well"},
    {kRemoteGroup, "--seal", 0, Value::kRequired, "MODE", "of data: full (default), integrity or none"},

    {"Results", "--json", 0, Value::kRequired, "FILE", "write all figures there"},
    {"Results", "--html", 0, Value::kRequired, "FILE", "write a page with plots there"},

    {"Other", "--threads", 0, Value::kRequired, "N", "threads of the host (default: one for each core)"},
    {"Other", "--version", 0, Value::kNone, "", "print the version"},
    {"Other", "--help", 'h', Value::kNone, "", "print this text"},
};

constexpr std::string_view kClosing =
    "\n"
    "The exit code is 0 if all results agree, 1 if one differs, 2 if the command line is unusable.\n";

// Whether `dhpvm-bench remote` uses the option.
bool is_of_workers(const Option& option) {
  constexpr std::string_view kOthers[] = {"--kernel", "--sizes", "--budget", "--chunks", "--list", "--html"};
  return std::ranges::find(kOthers, option.name) == std::end(kOthers);
}

// Whether `dhpvm-bench batching` uses the option.
bool is_of_batching(const Option& option) {
  return option.group != kRemoteGroup && option.group != kWorkersGroup;
}

// The text for the one command that `operands` name, or for both.
std::string help_of(const std::vector<std::string>& operands) {
  const std::string_view command = operands.empty() ? std::string_view() : operands[0];
  std::vector<Option> used(std::begin(kOptions), std::end(kOptions));
  if (command == "batching") {
    std::erase_if(used, [](const Option& option) { return !is_of_batching(option); });
    return help_text(kBatchingUsage, used, kClosing);
  }
  if (command == "remote") {
    std::erase_if(used, [](const Option& option) { return !is_of_workers(option); });
    return help_text(kRemoteUsage, used, kClosing);
  }
  return help_text(std::string(kBatchingUsage) + "\n" + std::string(kRemoteUsage), used, kClosing);
}

Error invalid(std::string text) { return Error(ErrorCode::kInvalidArgument, std::move(text)); }

Result<double> parse_factor(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || rest != end || !(value > 0) || value > 1e6)
    return invalid("'" + std::string(text) +
                   "' is no size: write how many times the memory of the device, like 0.5");
  return value;
}

std::string default_device(const Engine& engine) {
  for (const DeviceEntry& device : engine.devices()) {
    if (device.problem.empty() && device.name.starts_with("cuda")) return device.name;
  }
  return "sim";
}

Result<Plan> plan_of(const Arguments& arguments, const Engine& engine) {
  Plan plan;
  const std::string* const device = arguments.last("--device");
  plan.settings.device = device != nullptr ? *device : default_device(engine);
  const bool is_simulated = plan.settings.device.starts_with("sim");
  plan.settings.budget = std::uint64_t{plan.settings.device.starts_with("cuda") ? 1024u : 64u} << 20;
  plan.settings.runs = is_simulated ? 1 : 7;
  plan.sizes = {0.5, 2, 8};
  plan.chunks = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  for (const Arguments::Given& given : arguments.options) {
    const std::string_view name = given.option->name;
    if (name == "--kernel") {
      DHPVM_TRY(for_each_item(given.value, [&](std::string_view item) -> Status {
        DHPVM_ASSIGN(const Kernel* const kernel, find_kernel(item));
        plan.kernels.push_back(kernel);
        return {};
      }));
    } else if (name == "--sizes") {
      plan.sizes.clear();
      DHPVM_TRY(for_each_item(given.value, [&](std::string_view item) -> Status {
        DHPVM_ASSIGN(const double size, parse_factor(item));
        plan.sizes.push_back(size);
        return {};
      }));
    } else if (name == "--chunks") {
      plan.chunks.clear();
      DHPVM_TRY(for_each_item(given.value, [&](std::string_view item) -> Status {
        DHPVM_ASSIGN(const std::uint64_t count, parse_count(item));
        if (count == 0) return invalid("--chunks: 0 chunks are none");
        plan.chunks.push_back(count);
        return {};
      }));
    } else if (name == "--budget") {
      DHPVM_ASSIGN(plan.settings.budget, parse_size(given.value));
      if (plan.settings.budget < (1u << 20)) return invalid("--budget: at least 1M is needed");
    } else if (name == "--runs") {
      DHPVM_ASSIGN(plan.settings.runs, parse_count(given.value));
      if (plan.settings.runs == 0) return invalid("--runs: at least one is needed");
    }
  }
  if (plan.kernels.empty()) {
    for (const Kernel& kernel : kernels()) plan.kernels.push_back(&kernel);
  }
  if (plan.settings.device == "host" || plan.settings.device == "cpu")
    return invalid("--device=" + plan.settings.device +
                   ": nothing is batched on the host; choose a device of --list");
  return plan;
}

std::string listing(const Engine& engine) {
  std::string text = "kernels:\n";
  const auto line = [&](std::string_view name, std::string_view what) {
    text += "  " + std::string(name) + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ');
    text += std::string(what) + "\n";
  };
  for (const Kernel& kernel : kernels()) line(kernel.name, kernel.title);
  text += "devices:\n";
  for (const DeviceEntry& device : engine.devices()) {
    line(device.name, device.problem.empty() ? device.description : "cannot be used: " + device.problem);
  }
  return text;
}

// A folder for the files that kernels read, which is removed at the end.
class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> create() {
    std::error_code problem;
    std::string path = (std::filesystem::temp_directory_path(problem) / "dhpvm-bench-XXXXXX").string();
    if (problem || ::mkdtemp(path.data()) == nullptr)
      return Error(ErrorCode::kIo,
                   "cannot make a folder for temporary files: set TMPDIR to a folder with space");
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

Result<int> run(const Engine& engine, Plan plan, const Arguments& arguments) {
  DHPVM_ASSIGN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  plan.settings.folder = scratch->path();
  std::vector<Case> cases;
  for (const Kernel* const kernel : plan.kernels) {
    for (const double size : plan.sizes) {
      DHPVM_ASSIGN(Case one, measure_case(engine, plan, *kernel, size, show_progress));
      show_progress("");
      if (cases.empty()) {
        const DeviceUse& device = one.measurements[0].device;
        DHPVM_TRY(print(plan.settings.device + ": " + device.description + "\n\n" + table_heading()));
      }
      DHPVM_TRY(print(table_line(one)));
      cases.push_back(std::move(one));
    }
  }
  const DeviceUse& device = cases[0].measurements[0].device;
  DHPVM_TRY(print(table_closing(cases, device)));
  if (const std::string* const path = arguments.last("--json"))
    DHPVM_TRY(write_file(*path, report_json(cases, plan, device)));
  if (const std::string* const path = arguments.last("--html"))
    DHPVM_TRY(write_file(*path, report_page(cases, plan, device)));
  return summary_of(cases).wrong == 0 ? 0 : 1;
}

Ending main_of(std::span<const char* const> words) {
  const Result<Arguments> arguments = parse_arguments(kOptions, words, Operands::kAnywhere);
  if (!arguments.ok()) return usage_ending(kTool, arguments.error());
  std::string text;
  EngineOptions options;
  options.log = print_log;
  if (const std::string* const threads = arguments->last("--threads")) {
    const Result<std::uint64_t> count = parse_count(*threads);
    if (!count.ok()) return usage_ending(kTool, count.error());
    options.threads = static_cast<unsigned>(std::min<std::uint64_t>(*count, 1024));
  }
  if (arguments->operands == std::vector<std::string>{"remote"} && !arguments->has("--help")) {
    const Result<int> outcome = run_remote(options, *arguments);
    if (outcome.ok()) return {.code = *outcome};
    return outcome.error().code() == ErrorCode::kInvalidArgument ? usage_ending(kTool, outcome.error())
                                                                 : ending_of(kTool, outcome.error());
  }
  const Engine engine(options);
  if (arguments->has("--list")) text = listing(engine);
  if (arguments->has("--help")) text = help_of(arguments->operands);
  if (arguments->has("--version")) text = "dhpvm-bench " + std::string(library_version()) + "\n";
  if (!text.empty()) {
    const Status printed = print(text);
    return printed.ok() ? Ending{} : ending_of(kTool, printed.error());
  }
  if (arguments->operands != std::vector<std::string>{"batching"})
    return usage_ending(kTool, invalid("say what to measure: dhpvm-bench batching, or dhpvm-bench remote"));
  Result<Plan> plan = plan_of(*arguments, engine);
  if (!plan.ok()) return usage_ending(kTool, plan.error());
  const Result<int> outcome = run(engine, std::move(*plan), *arguments);
  return outcome.ok() ? Ending{.code = *outcome} : ending_of(kTool, outcome.error());
}

}  // namespace
}  // namespace dhpvm::tools

int main(int count, char** words) {
  return dhpvm::tools::end_process(
      dhpvm::tools::main_of(std::span<const char* const>(words, static_cast<std::size_t>(count)).subspan(1)));
}
