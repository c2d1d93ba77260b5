// SPDX-License-Identifier: Apache-2.0
// Tests of a module: functions that are found by their names, and run one at a time.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "dhpvm/isolate.h"
#include "dhpvm/module.h"
#include "vm/api/program_error.h"
#include "vm/api/state.h"
#include "vm/api/target.h"

namespace dhpvm {
namespace {

// Takes nothing, and returns nothing or `void!`: an error or null.
bool is_test(const bytecode::Module& module, const bytecode::Function& function) {
  if (!function.exported || !module.name_of(function).starts_with(kTestPrefix)) return false;
  const bytecode::Signature& signature = function.signature;
  if (!signature.parameters.empty() || signature.results.size() > 1) return false;
  if (signature.results.empty()) return true;
  const bytecode::ValueType& result = signature.results.front();
  return detail::is_program_error(module, result);
}

}  // namespace

std::vector<std::string> Module::tests() const {
  const bytecode::Module& module = *state_->module;
  std::vector<std::string> names;
  for (const bytecode::Function& function : module.functions) {
    if (is_test(module, function)) names.emplace_back(module.name_of(function));
  }
  return names;
}

Status Isolate::run_test(std::string_view name) {
  DHPVM_ASSIGN(const std::uint32_t index, detail::find_export(*state_, name));
  const bytecode::Module& module = state_->machine->module();
  const bytecode::Function& function = module.functions[index];
  if (!is_test(module, function)) {
    return error(ErrorCode::kInvalidArgument,
                 "'{}' is no test: a test is called {}..., takes nothing, and gives nothing or `void!`", name,
                 kTestPrefix);
  }
  const std::shared_ptr<detail::IsolateState> state = state_;  // of the call, which may reload the isolate
  state->exit_code.reset();
  const detail::Target target{state, index, {}};
  detail::Call call(target);
  Status status = call.run();
  if (state->exit_code && (status.ok() || status.error().is_trap())) {
    std::vector<StackFrame> frames = status.ok() ? std::vector<StackFrame>() : status.error().frames();
    return error(ErrorCode::kUserTrap, "the test called os.exit({}); return instead", *state->exit_code)
        .with_frames(std::move(frames));
  }
  DHPVM_TRY(std::move(status));
  if (function.signature.results.empty()) return {};
  const auto failure = static_cast<gc::Ref>(call.r[0]);
  return failure == nullptr ? Status() : Status(detail::program_error(module, failure));
}

std::vector<ProfileStack> Isolate::profile() const {
  std::vector<ProfileStack> stacks;
  for (vm::ProfileStack& stack : state_->machine->profile()) {
    ProfileStack& made = stacks.emplace_back();
    made.time = stack.time;
    for (vm::ProfileFrame& frame : stack.frames)
      made.frames.push_back({std::move(frame.function), std::move(frame.file), frame.line});
  }
  return stacks;
}

std::vector<LineCount> Isolate::line_counts() const {
  std::vector<LineCount> counts;
  for (vm::LineCount& line : state_->machine->line_counts()) {
    counts.push_back({std::move(line.file), line.line, line.count});
  }
  return counts;
}

}  // namespace dhpvm
