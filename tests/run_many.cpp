// SPDX-License-Identifier: Apache-2.0
// Runs many programs in one process: `run_many [OPTION..]`, with the options of dhpvm-run. Each line of standard input
// names a program; each line of standard output says in JSON how it went: "exit_code" as dhpvm-run ends by, "stdout",
// and in "stderr" the error, if it ended by one. A process for each would take longer to start than most programs run.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "dhpvm/dhpvm.h"
#include "ending.h"
#include "options.h"
#include "run_options.h"

namespace dhpvm::tools {
namespace {

constexpr std::string_view kTool = "run_many";

Result<int> run(const Engine& engine, const std::string& path, const RunRequest& request,
                std::string& output) {
  DHPVM_ASSIGN(const Module module, Module::open(engine, path, request.compile));
  IsolateOptions options = request.isolate;
  options.standard_output = [&](std::string_view text) -> Status {
    output += text;
    return {};
  };
  DHPVM_ASSIGN(Isolate isolate, Isolate::create(module, options));
  return isolate.run_main();
}

void answer(const Engine& engine, const std::string& path, const RunRequest& request) {
  std::string output;
  const Result<int> outcome = run(engine, path, request, output);
  const nlohmann::json line = {
      {"exit_code", outcome.ok() ? *outcome : exit_code_of(outcome.error().family())},
      {"stdout", output},
      {"stderr", outcome.ok() ? std::string() : outcome.error().to_string()}};
  std::cout << line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << std::endl;
}

Ending main_of(std::span<const char* const> words) {
  const Result<Arguments> arguments = parse_arguments(run_options(), words, Operands::kEndOptions);
  if (!arguments.ok()) return usage_ending(kTool, arguments.error());
  const Result<RunRequest> request = request_of(*arguments);
  if (!request.ok()) return usage_ending(kTool, request.error());
  const Engine engine(request->engine);
  for (std::string path; std::getline(std::cin, path);) answer(engine, path, *request);
  return {};
}

}  // namespace
}  // namespace dhpvm::tools

int main(int count, char** words) {
  return dhpvm::tools::end_process(
      dhpvm::tools::main_of(std::span<const char* const>(words, static_cast<std::size_t>(count)).subspan(1)));
}
