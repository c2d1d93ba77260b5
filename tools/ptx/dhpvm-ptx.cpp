// SPDX-License-Identifier: Apache-2.0
// dhpvm-ptx: runs a kernel of a PTX file without a GPU, and finds its mistakes.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "dhpvm/version.h"
#include "ending.h"
#include "offload/ptx/launch.h"
#include "options.h"
#include "tools/ptx/arguments.h"
#include "tools/ptx/npy.h"

namespace dhpvm::tools {
namespace {

constexpr std::string_view kTool = "dhpvm-ptx";
constexpr std::uint64_t kMostThreads = 1024;
constexpr std::uint64_t kMostShared = 227 << 10;
constexpr std::uint64_t kUsualLimit = 10'000'000'000;

constexpr std::string_view kUsage =
    "usage: dhpvm-ptx [options] FILE.ptx\n"
    "\n"
    "Runs a kernel of FILE.ptx on this machine's processor, exactly and strictly: no GPU is needed. Without\n"
    "--entry, lists the kernels. If FILE.ptx is -, reads standard input.\n";

constexpr Option kOptions[] = {
    {"Launch", "--entry", 'e', Value::kRequired, "NAME", "the kernel to run"},
    {"Launch", "--grid", 'g', Value::kRequired, "X[,Y,Z]", "blocks of the grid; 1 unless set"},
    {"Launch", "--block", 'b', Value::kRequired, "X[,Y,Z]", "threads of a block, 1024 at most; 1 unless set"},
    {"Launch", "--shared", 0, Value::kRequired, "SIZE", "dynamic shared memory of a block; 0 unless set"},
    {"Launch", "--arg", 'a', Value::kRequired, "ARGUMENT",
     "the next argument: f32:1.5, bytes:00ff (a structure), an\n"
     "unwritten array f32[100], one with values\n"
     "f32[100]:0, f32[100]:range, f32[]:1,2,3, or f32[]:@FILE with\n"
     "a file's bytes, or @FILE.npy"},
    {"Launch", "--limit", 0, Value::kRequired, "COUNT",
     "end a kernel after so many instructions of all threads;\n10_000_000_000 unless set"},
    {"Results", "--print", 'p', Value::kRequired, "N", "print argument N, an array; the first is 0"},
    {"Results", "--out", 'o', Value::kRequired, "N:FILE",
     "write argument N, an array, to a file: NumPy's format if\nits name ends in .npy, otherwise bytes"},
    {"Results", "--report", 0, Value::kNone, "",
     "print how many threads work, and how well their accesses to\nmemory fall together"},
    {"Results", "--time", 0, Value::kNone, "", "print instructions and time to standard error"},
    {"Other", "--version", 0, Value::kNone, "", "print the version"},
    {"Other", "--help", 'h', Value::kNone, "", "print this text"},
};

constexpr std::string_view kClosing =
    "\n"
    "The exit code is 0; 2 if the file or the command line is wrong; 3 if the kernel does something wrong: "
    "a\n"
    "race, an address outside of its arrays, a read of unwritten memory, threads that miss a "
    "barrier,\n"
    "a trap, or no end; 70 after an internal error.\n";

Result<ptx::Extent> parse_extent(std::string_view option, const std::string* text) {
  ptx::Extent extent;
  if (text == nullptr) return extent;
  const char* at = text->data();
  const char* const end = at + text->size();
  for (std::uint32_t* const part : {&extent.x, &extent.y, &extent.z}) {
    const auto [rest, problem] = std::from_chars(at, end, *part);
    if (problem != std::errc() || *part == 0) break;
    if (rest == end) return extent;
    if (*rest != ',') break;
    at = rest + 1;
  }
  return error(ErrorCode::kInvalidArgument, "{}={} is not one to three numbers above 0, like 4 or 4,2,1",
               option, *text);
}

std::string parameter_text(const ptx::Variable& parameter) {
  const unsigned bytes = ptx::size_of(parameter.type);
  std::string text = fmt::format(".{} {}", ptx::text_of(parameter.type), parameter.name);
  if (bytes != 0 && parameter.bytes != bytes) text += fmt::format("[{}]", parameter.bytes / bytes);
  return text;
}

std::string signature_of(const ptx::Function& entry) {
  std::string text = entry.name + "(";
  for (const ptx::Variable& parameter : entry.parameters)
    text += (text.ends_with('(') ? "" : ", ") + parameter_text(parameter);
  return text + ")";
}

std::string listing(const ptx::Program& program) {
  std::string text;
  for (const ptx::Function& function : program.functions) {
    if (function.is_entry && function.is_defined) text += signature_of(function) + "\n";
  }
  return text;
}

std::string names_of_entries(const ptx::Program& program) {
  std::string text;
  for (const ptx::Function& function : program.functions) {
    if (function.is_entry && function.is_defined) text += (text.empty() ? "" : ", ") + function.name;
  }
  return text.empty() ? "there is no kernel in the file" : "the file has " + text;
}

Status check_shape(const ptx::KernelLaunch& launch) {
  if (launch.block.count() > kMostThreads)
    return error(ErrorCode::kInvalidArgument, "a block of {} threads is too large: at most {}",
                 launch.block.count(), kMostThreads);
  if (launch.grid.y > 65535 || launch.grid.z > 65535 || launch.grid.x > 0x7fffffff)
    return error(ErrorCode::kInvalidArgument, "a grid has at most 2147483647, 65535 and 65535 blocks");
  const ptx::Extent& required = launch.entry->required_block;
  if (required.x != 0 && required.count() != launch.block.count())
    return error(ErrorCode::kInvalidArgument, "'{}' requires blocks of {},{},{} threads", launch.entry->name,
                 required.x, required.y, required.z);
  if (launch.program->shared_bytes + std::uint64_t{launch.dynamic_shared} > kMostShared)
    return error(ErrorCode::kInvalidArgument, "a block has at most {} bytes of shared memory", kMostShared);
  return {};
}

// Puts the arguments into the kernel's parameters.
Status pass(const std::vector<KernelArgument>& arguments, ptx::KernelLaunch& launch) {
  const std::vector<ptx::Variable>& parameters = launch.entry->parameters;
  if (arguments.size() != parameters.size())
    return error(ErrorCode::kInvalidArgument, "'{}' has {} parameters, and {} arguments are given: {}",
                 launch.entry->name, parameters.size(), arguments.size(), signature_of(*launch.entry));
  launch.parameters.resize(ptx::parameter_bytes(*launch.entry));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const KernelArgument& argument = arguments[i];
    if (argument.bytes.size() != parameters[i].bytes)
      return error(ErrorCode::kInvalidArgument, "argument {} has {} bytes, and the parameter {} has {}", i,
                   argument.bytes.size(), parameter_text(parameters[i]), parameters[i].bytes);
    std::memcpy(launch.parameters.data() + parameters[i].offset, argument.bytes.data(),
                argument.bytes.size());
    if (argument.memory != nullptr) launch.memory.push_back(argument.memory);
  }
  return {};
}

Result<const KernelArgument*> array_at(const std::vector<KernelArgument>& arguments, std::string_view text) {
  DHPVM_ASSIGN(const std::uint64_t index, parse_count(text));
  if (index >= arguments.size() || arguments[index].memory == nullptr)
    return error(ErrorCode::kInvalidArgument, "argument {} is no array", index);
  return &arguments[index];
}

// Unwritten elements have no value.
std::string text_of(const KernelArgument& array) {
  std::string text;
  const std::size_t size = size_of(array.type);
  for (std::size_t at = 0; at < array.memory->size(); at += size) {
    if (!text.empty()) text += ' ';
    text += array.memory->is_written(at, size) ? element_text(array.type, array.memory->bytes() + at) : "?";
  }
  return text + "\n";
}

// Checked before the kernel runs, so that a mistake here does not cost its results.
Status check_result(const Arguments::Given& given, const std::vector<KernelArgument>& arguments) {
  const std::size_t colon = given.value.find(':');
  DHPVM_TRY(array_at(arguments, std::string_view(given.value).substr(0, colon)));
  if (given.option->name == "--print" || (colon != std::string::npos && colon + 1 != given.value.size()))
    return {};
  return error(ErrorCode::kInvalidArgument, "--out={} names no file: write --out={}:FILE", given.value,
               given.value);
}

Status show(const Arguments::Given& given, const std::vector<KernelArgument>& arguments) {
  const std::size_t colon = given.value.find(':');
  DHPVM_ASSIGN(const KernelArgument* const array,
               array_at(arguments, std::string_view(given.value).substr(0, colon)));
  if (given.option->name == "--print") return print(text_of(*array));
  const std::string path = given.value.substr(colon + 1);
  const std::span<const std::byte> bytes(array->memory->bytes(), array->memory->size());
  return dhpvm::write_file(path, path.ends_with(".npy") ? npy_file(array->type, array->shape, bytes)
                                                        : std::vector<std::byte>(bytes.begin(), bytes.end()));
}

struct Request {
  ptx::KernelLaunch launch;
  std::vector<KernelArgument> arguments;
  std::vector<const Arguments::Given*> results;
};

Result<Request> request_of(const Arguments& options, const ptx::Program& program) {
  Request request;
  ptx::KernelLaunch& launch = request.launch;
  launch.program = &program;
  launch.entry = program.find_entry(*options.last("--entry"));
  if (launch.entry == nullptr)
    return error(ErrorCode::kInvalidArgument, "there is no kernel '{}': {}", *options.last("--entry"),
                 names_of_entries(program));
  DHPVM_ASSIGN(launch.grid, parse_extent("--grid", options.last("--grid")));
  DHPVM_ASSIGN(launch.block, parse_extent("--block", options.last("--block")));
  launch.limit = kUsualLimit;
  if (const std::string* const text = options.last("--limit")) {
    DHPVM_ASSIGN(launch.limit, parse_count(*text));
  }
  if (const std::string* const text = options.last("--shared")) {
    DHPVM_ASSIGN(const std::uint64_t bytes, parse_size(*text));
    launch.dynamic_shared = static_cast<std::uint32_t>(std::min(bytes, kMostShared + 1));
  }
  DHPVM_TRY(check_shape(launch));
  launch.is_metered = options.has("--report");
  for (const Arguments::Given& given : options.options) {
    if (given.option->name == "--arg") {
      DHPVM_ASSIGN(KernelArgument argument, parse_kernel_argument(given.value));
      request.arguments.push_back(std::move(argument));
    } else if (given.option->name == "--print" || given.option->name == "--out") {
      request.results.push_back(&given);
    }
  }
  DHPVM_TRY(pass(request.arguments, launch));
  for (const Arguments::Given* const given : request.results)
    DHPVM_TRY(check_result(*given, request.arguments));
  return request;
}

// The kernel's error is printed here, in the form of a compiler's message.
Result<Ending> launch_and_show(const Request& request, const Arguments& options) {
  const auto begin = std::chrono::steady_clock::now();
  const ptx::LaunchOutcome outcome = ptx::run(request.launch);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (options.has("--time"))
    std::fprintf(
        stderr, "%s",
        fmt::format("{} instructions of all threads in {:.3f} s: {:.1f} million a second\n", outcome.executed,
                    seconds.count(), static_cast<double>(outcome.executed) / seconds.count() / 1e6)
            .c_str());
  if (outcome.fault) {
    std::fprintf(stderr, "%s:%s\n", options.operands[0].c_str(), outcome.fault->message.c_str());
    return Ending{.code = 3};
  }
  for (const Arguments::Given* const given : request.results) DHPVM_TRY(show(*given, request.arguments));
  if (request.launch.is_metered) DHPVM_TRY(print(text_of(outcome.counts) + "\n"));
  return Ending{};
}

Result<Ending> work(const Arguments& options) {
  const std::string& path = options.operands[0];
  DHPVM_ASSIGN(const std::string text, read_text_file(path));
  const auto program = ptx::assemble(text);
  if (!program.ok()) {
    std::fprintf(stderr, "%s:%s\n", path.c_str(), program.error().message().c_str());
    return Ending{.code = 2};
  }
  if (!options.has("--entry")) {
    DHPVM_TRY(print(listing(**program)));
    return Ending{};
  }
  DHPVM_ASSIGN(const Request request, request_of(options, **program));
  return launch_and_show(request, options);
}

Ending main_of(std::span<const char* const> words) {
  const Result<Arguments> options = parse_arguments(kOptions, words, Operands::kAnywhere);
  if (!options.ok()) return usage_ending(kTool, options.error());
  std::string text;
  if (options->has("--help")) text = help_text(kUsage, kOptions, kClosing);
  if (options->has("--version")) text = "dhpvm-ptx " DHPVM_VERSION "\n";
  if (!text.empty()) {
    const Status printed = print(text);
    return printed.ok() ? Ending{} : ending_of(kTool, printed.error());
  }
  if (options->operands.size() != 1)
    return usage_ending(
        kTool, Error(ErrorCode::kInvalidArgument, "one file is expected: write dhpvm-ptx KERNEL.ptx"));
  const Result<Ending> ending = work(*options);
  if (ending.ok()) return *ending;
  if (ending.error().code() == ErrorCode::kInvalidArgument) return usage_ending(kTool, ending.error());
  return ending_of(kTool, ending.error());
}

}  // namespace
}  // namespace dhpvm::tools

int main(int count, char** words) {
  return dhpvm::tools::end_process(
      dhpvm::tools::main_of(std::span<const char* const>(words, static_cast<std::size_t>(count)).subspan(1)));
}
