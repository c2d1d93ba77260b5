// SPDX-License-Identifier: Apache-2.0
// Tests of a module: functions that are found by their names, and run one at a time.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "dhpvm/isolate.h"
#include "dhpvm/module.h"
#include "vm/api/state.h"
#include "vm/api/target.h"

namespace dhpvm {
namespace {

// Takes nothing, and gives nothing or, as `void!` does, an error or null.
bool is_test(const bytecode::Module& module, const bytecode::Function& function) {
  if (!function.exported || !module.name_of(function).starts_with(kTestPrefix)) return false;
  const bytecode::Signature& signature = function.signature;
  if (!signature.parameters.empty() || signature.results.size() > 1) return false;
  if (signature.results.empty()) return true;
  const bytecode::ValueType& result = signature.results.front();
  return result.is_ref() && module.types[result.type].name == "Error";
}

// Reads objects of the classes of stdlib/errors.dhp. Bytecode may have other classes of these names: a field that is
// not there, or has another type, reads as null.
class ErrorReader {
 public:
  explicit ErrorReader(const bytecode::Module& module) : module_(module) {}

  Error read(gc::Ref error) const {
    std::string message(text(error, "message"));
    constexpr int kMostCauses = 100;
    gc::Ref cause = field(error, "cause");
    for (int i = 0; cause != nullptr && i < kMostCauses; ++i, cause = field(cause, "cause")) {
      message += "\n  because: " + std::string(text(cause, "message"));
    }
    std::vector<StackFrame> frames;
    std::string_view calls = text(error, "calls");
    while (!calls.empty()) {
      const std::size_t end = std::min(calls.find('\n'), calls.size());
      frames.push_back(frame_of(calls.substr(0, end)));
      calls.remove_prefix(std::min(end + 1, calls.size()));
    }
    const auto innermost = static_cast<std::ptrdiff_t>(frames.size());
    // The places where the error was passed on, which stand in the order opposite to that of a stack.
    constexpr std::size_t kMostFrames = 200;
    for (gc::Ref place = field(error, "passed"); place != nullptr && frames.size() < kMostFrames;
         place = field(place, "before")) {
      frames.insert(frames.begin() + innermost, frame_of(text(place, "text")));
    }
    return Error(ErrorCode::kUserTrap, std::move(message)).with_frames(std::move(frames));
  }

 private:
  gc::Ref field(gc::Ref object, std::string_view name) const {
    const bytecode::Type& type = module_.types[object->header.type];
    if (type.kind != bytecode::TypeKind::kClass) return nullptr;
    for (const bytecode::Field& field : type.fields) {
      if (field.name != name || !field.type.is_ref()) continue;
      gc::Ref value = nullptr;
      std::memcpy(static_cast<void*>(&value), reinterpret_cast<const std::byte*>(object) + field.offset,
                  sizeof(gc::Ref));
      return value;
    }
    return nullptr;
  }

  std::string_view text(gc::Ref object, std::string_view name) const {
    const gc::Ref value = field(object, name);
    if (value == nullptr || value->header.type != bytecode::kStringType) return {};
    return reinterpret_cast<const gc::String*>(value)->view();
  }

  // "  at load (notes.dhp:12)"
  static StackFrame frame_of(std::string_view line) {
    constexpr std::string_view kAt = "  at ";
    if (line.starts_with(kAt)) line.remove_prefix(kAt.size());
    StackFrame frame{.function = std::string(line), .file = {}};
    const std::size_t open = line.rfind(" (");
    const std::size_t colon = line.rfind(':');
    if (open == line.npos || colon == line.npos || colon < open || !line.ends_with(')')) return frame;
    const std::string_view number = line.substr(colon + 1, line.size() - colon - 2);
    std::from_chars(number.data(), number.data() + number.size(), frame.line);
    frame.function = line.substr(0, open);
    frame.file = line.substr(open + 2, colon - open - 2);
    return frame;
  }

  const bytecode::Module& module_;
};

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
  const std::shared_ptr<detail::IsolateState> state = state_;  // of the call, also if it reloads the isolate
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
  return failure == nullptr ? Status() : Status(ErrorReader(module).read(failure));
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
