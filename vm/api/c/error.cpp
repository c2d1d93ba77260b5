// SPDX-License-Identifier: Apache-2.0
// Errors, codes and bytes of the C interface, and the library's version.
#include <cstdlib>

#include "dhpvm/version.h"
#include "vm/api/c/states.h"

namespace dhpvm::c {
namespace {

static_assert(code_of(ErrorCode::kInvalidArgument) == DHPVM_INVALID_ARGUMENT &&
                  code_of(ErrorCode::kLink) == DHPVM_LINK &&
                  code_of(ErrorCode::kOutOfMemory) == DHPVM_OUT_OF_MEMORY &&
                  code_of(ErrorCode::kBadCast) == DHPVM_BAD_CAST &&
                  code_of(ErrorCode::kIoTrap) == DHPVM_IO_TRAP &&
                  code_of(ErrorCode::kProtocol) == DHPVM_PROTOCOL &&
                  code_of(ErrorCode::kPermissionDenied) == DHPVM_PERMISSION_DENIED,
              "dhpvm/c/types.h numbers the rows of DHPVM_ERROR_CODES from 1 on");

// "argument 1 cannot be passed: it is of kind i64, and the parameter of kind f64"
std::string message_with_causes(const Error& error) {
  std::string text = error.message();
  for (const Error* cause = error.cause(); cause != nullptr; cause = cause->cause()) {
    if (cause->message().empty()) continue;
    if (!text.empty()) text += ": ";
    text += cause->message();
  }
  return text;
}

}  // namespace

Error error_of(dhpvm_code code, std::string message) {
  if (is_code(code)) return {static_cast<ErrorCode>(code - 1), std::move(message)};
  return error(ErrorCode::kHostException, "{}the function returned {}, which is no dhpvm_code",
               message.empty() ? "" : message + ": ", code);
}

dhpvm_code report(Error failure, dhpvm_error** error) noexcept {
  const dhpvm_code code = code_of(failure.code());
  if (error == nullptr) return code;
  *error = nullptr;
  // Without memory for the details, the code alone has to do.
  try {
    auto state = std::make_unique<ErrorState>(ErrorState{std::move(failure), {}, {}});
    state->message = message_with_causes(state->error);
    state->text = state->error.to_string();
    (void)give(std::move(state), error);
  } catch (...) {
    return code;
  }
  return code;
}

dhpvm_code report_exception(dhpvm_error** error) noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return report({ErrorCode::kOutOfMemory, "the system has no memory for this call"}, error);
    } catch (const std::exception& exception) {
      return report({ErrorCode::kInternal, std::string("an exception was thrown: ") + exception.what()},
                    error);
    } catch (...) {
      return report({ErrorCode::kInternal, "an exception was thrown"}, error);
    }
  } catch (...) {
    if (error != nullptr) *error = nullptr;
    return DHPVM_OUT_OF_MEMORY;
  }
}

Status give_bytes(std::string_view content, dhpvm_bytes* bytes) {
  DHPVM_TRY(check_pointer(bytes, "bytes"));
  auto* const data = static_cast<char*>(std::malloc(content.size() + 1));
  if (data == nullptr) return Error(ErrorCode::kOutOfMemory, "the system has no memory for the result");
  if (!content.empty()) std::memcpy(data, content.data(), content.size());
  data[content.size()] = '\0';
  *bytes = {data, content.size()};
  return {};
}

}  // namespace dhpvm::c

using dhpvm::c::find;

uint32_t dhpvm_abi_version(void) { return DHPVM_ABI_VERSION; }
const char* dhpvm_version(void) { return DHPVM_VERSION; }
size_t dhpvm_live_handles(void) { return dhpvm::c::live_handles(); }

const char* dhpvm_code_text(dhpvm_code code) {
  if (code == DHPVM_OK) return "success";
  // Literals, so they end with a zero byte.
  return dhpvm::c::is_code(code) ? dhpvm::to_string(static_cast<dhpvm::ErrorCode>(code - 1)).data()
                                 : "unknown error";
}

dhpvm_code dhpvm_error_code(const dhpvm_error* error) {
  const auto* const state = find(error);
  return state == nullptr ? DHPVM_INVALID_ARGUMENT : dhpvm::c::code_of(state->error.code());
}

int dhpvm_error_is_trap(const dhpvm_error* error) {
  const auto* const state = find(error);
  return state != nullptr && state->error.is_trap() ? 1 : 0;
}

const char* dhpvm_error_message(const dhpvm_error* error) {
  const auto* const state = find(error);
  return state == nullptr ? "" : state->message.c_str();
}

const char* dhpvm_error_text(const dhpvm_error* error) {
  const auto* const state = find(error);
  return state == nullptr ? "" : state->text.c_str();
}

size_t dhpvm_error_frame_count(const dhpvm_error* error) {
  const auto* const state = find(error);
  return state == nullptr ? 0 : state->error.frames().size();
}

dhpvm_code dhpvm_error_frame(const dhpvm_error* error, size_t index, dhpvm_frame* frame) {
  return dhpvm::c::guarded(nullptr, [&]() -> dhpvm::Status {
    DHPVM_FIND(state, error);
    if (index >= state->error.frames().size())
      return dhpvm::Error(dhpvm::ErrorCode::kNotFound, "the stack has no such frame");
    const dhpvm::StackFrame& found = state->error.frames()[index];
    return dhpvm::c::fill_structure(
        frame, dhpvm_frame{0, found.function.c_str(), found.file.c_str(), found.line}, "dhpvm_frame");
  });
}

void dhpvm_error_free(dhpvm_error* error) { (void)dhpvm::c::take_back(error); }

void dhpvm_bytes_free(dhpvm_bytes* bytes) {
  if (bytes == nullptr) return;
  std::free(bytes->data);
  *bytes = {};
}
