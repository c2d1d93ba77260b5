// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/call.h"

#include <cerrno>

namespace dhpvm::stdlib {

Status return_bytes(vm::NativeCall& call, std::string_view value) {
  const auto type = call.isolate.linked().find_array_type({bytecode::Kind::kU8});
  if (!type)
    return error(ErrorCode::kInternal, "a native function returns [u8], and the module has no such type");
  DHPVM_ASSIGN(gc::Array* const array,
               call.isolate.new_array(*type, static_cast<std::int64_t>(value.size())));
  if (!value.empty()) DHPVM_TRY(copy_text(call, reinterpret_cast<char*>(array->data), value));
  call.r[0] = reinterpret_cast<gc::Ref>(array);
  return {};
}

Error too_long() { return Error(ErrorCode::kUserTrap, "a text cannot be longer than 4294967295 bytes"); }

Status check_part(std::int64_t from, std::int64_t to, std::int64_t size) {
  if (from < 0 || from > to || to > size) [[unlikely]] {
    return error(ErrorCode::kIndexOutOfRange, "the part {}..{} is not inside the {} bytes of the text", from,
                 to, size);
  }
  return {};
}

Status check_elements(vm::NativeCall& call, gc::Array& array, std::int64_t at, std::int64_t count,
                      Access access) {
  if (at < 0 || count < 0 || at > array.length || count > array.length - at) {
    return error(ErrorCode::kIndexOutOfRange, "{} elements from {} on are not inside the array of {}", count,
                 at, array.length);
  }
  const std::int64_t accessible = access == Access::kWrite ? array.writable : array.readable;
  // `accessible` may be less for a reason that only the isolate knows, and can perhaps do something about.
  if (count > 0 && at + count > accessible) [[unlikely]] {
    DHPVM_TRY(call.isolate.make_accessible(array, at + count - 1, access == Access::kWrite));
  }
  return {};
}

Result<std::span<char>> bytes(vm::NativeCall& call, unsigned index, std::int64_t at, std::int64_t count,
                              Access access) {
  gc::Array& elements = *array(call, index);
  DHPVM_TRY(check_elements(call, elements, at, count, access));
  if (count == 0) return std::span<char>();
  return std::span<char>(reinterpret_cast<char*>(elements.data) + at, static_cast<std::size_t>(count));
}

Error io_error(std::string_view what, std::string_view path) {
  return io_error(what, path, std::error_code(errno, std::generic_category()));
}

Error io_error(std::string_view what, std::string_view path, const std::error_code& reason) {
  ErrorCode code = ErrorCode::kIoTrap;
  if (reason == std::errc::no_such_file_or_directory || reason == std::errc::not_a_directory)
    code = ErrorCode::kNotFound;
  if (reason == std::errc::permission_denied || reason == std::errc::operation_not_permitted ||
      reason == std::errc::read_only_file_system)
    code = ErrorCode::kPermissionDenied;
  return error(code, "cannot {} '{}': {}", what, path, reason.message());
}

Result<std::string> path_argument(vm::NativeCall& call, unsigned index, PathUse use) {
  const std::string_view path = text(call, index);
  if (path.empty()) return error(ErrorCode::kIoTrap, "the path is empty");
  if (path.find('\0') != path.npos)
    return error(ErrorCode::kIoTrap, "the path '{}' has a zero byte inside", path);
  return permitted_path(call, std::string(path), use);
}

Result<std::string> permitted_path(vm::NativeCall& call, std::string path, PathUse use) {
  const auto& rights = NativeState::of(call).rights;
  if (rights == nullptr) return path;
  return rights->permitted(path, use);
}

}  // namespace dhpvm::stdlib
