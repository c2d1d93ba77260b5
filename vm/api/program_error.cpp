// SPDX-License-Identifier: Apache-2.0
#include "vm/api/program_error.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {
namespace {

// Reads objects of the classes of stdlib/errors.dhp. Bytecode may have other classes of these names: a field that is
// missing, or has another type, reads as null.
class ErrorReader {
 public:
  explicit ErrorReader(const bytecode::Module& module) : module_(module) {}

  Error read(gc::Ref error) const {
    std::string message(text(error, "message"));
    constexpr int kMostCauses = 100;
    gc::Ref cause = field(error, "cause");
    for (int i = 0; cause != nullptr && i < kMostCauses; ++i) {
      const std::string_view line = text(cause, "message");
      int times = 1;  // in a row: recursion that makes an error of each error
      for (cause = field(cause, "cause"); cause != nullptr && times < kMostCauses; ++times) {
        if (text(cause, "message") != line) break;
        cause = field(cause, "cause");
      }
      message += "\n  because: " + std::string(line);
      if (times > 1) message += " (" + std::to_string(times) + " times)";
    }
    std::vector<StackFrame> frames;
    std::string_view calls = text(error, "calls");
    while (!calls.empty()) {
      const std::size_t end = std::min(calls.find('\n'), calls.size());
      frames.push_back(frame_of(calls.substr(0, end)));
      calls.remove_prefix(std::min(end + 1, calls.size()));
    }
    const auto innermost = static_cast<std::ptrdiff_t>(frames.size());
    // The most places where the error was passed on. They are stored in the order opposite to that of a stack.
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

bool is_program_error(const bytecode::Module& module, const bytecode::ValueType& type) {
  return type.is_ref() && module.types[type.type].name == "Error";
}

Error program_error(const bytecode::Module& module, gc::Ref error) { return ErrorReader(module).read(error); }

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
