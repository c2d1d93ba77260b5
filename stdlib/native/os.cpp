// SPDX-License-Identifier: Apache-2.0
// Natives of module os.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"

namespace dhpvm::stdlib {
namespace {

namespace fs = std::filesystem;

Error path_error(std::string_view what, std::string_view path, const std::error_code& reason) {
  const bool missing = reason == std::errc::no_such_file_or_directory || reason == std::errc::not_a_directory;
  return error(missing ? ErrorCode::kNotFound : ErrorCode::kIoTrap, "cannot {} '{}': {}", what, path,
               reason.message());
}

}  // namespace

Status os_env(vm::NativeCall& call) {
  const std::string name(text(call, 0));
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? return_null(call) : return_text(call, value);
}

Status os_exit(vm::NativeCall& call) {
  const auto code = static_cast<std::int32_t>(call.p[0]);
  NativeState::of(call).exit_code = code;
  return error(ErrorCode::kInterrupted, "the program ended itself with exit code {}", code);
}

Status os_pid(vm::NativeCall& call) {
  return_integer(call, 0, ::getpid());
  return {};
}

Status os_cpu_count(vm::NativeCall& call) {
  // Containers and taskset restrict a process to fewer processors than there are.
  cpu_set_t allowed;
  const int count = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return_integer(call, 0, std::max(count, 1));
  return {};
}

Status os_gc(vm::NativeCall& call) {
  call.isolate.heap().collect(gc::CollectionKind::kFull);
  return {};
}

Status os_heap_bytes(vm::NativeCall& call) {
  return_integer(call, 0, static_cast<std::int64_t>(call.isolate.heap().stats().live_bytes));
  return {};
}

Status os_off_heap_bytes(vm::NativeCall& call) {
  return_integer(call, 0, static_cast<std::int64_t>(call.isolate.stats().off_heap_bytes));
  return {};
}

Status os_collections(vm::NativeCall& call) {
  const gc::HeapStats stats = call.isolate.heap().stats();
  return_integer(call, 0, static_cast<std::int64_t>(stats.minor_collections + stats.full_collections));
  return {};
}

Status os_list_dir(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  std::error_code problem;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, problem), end; !problem && entry != end; entry.increment(problem)) {
    names.push_back(entry->path().filename().string());
  }
  if (problem) return path_error("list", path, problem);
  std::sort(names.begin(), names.end());

  const auto type = call.isolate.linked().find_array_type({bytecode::Kind::kRef, bytecode::kStringType});
  if (!type) return error(ErrorCode::kInternal, "os.list_dir returns [str], and the module has no such type");
  DHPVM_ASSIGN(gc::Array* const list, call.isolate.new_array(*type, static_cast<std::int64_t>(names.size())));
  call.r[0] = reinterpret_cast<gc::Ref>(list);  // keeps the list alive while its elements are made
  for (std::size_t i = 0; i < names.size(); ++i) {
    DHPVM_ASSIGN(gc::String* const name, call.isolate.new_string(names[i]));
    reinterpret_cast<gc::String**>(list->data)[i] = name;
    call.isolate.heap().write_barrier(list, static_cast<std::int64_t>(i));
  }
  return {};
}

Status os_is_dir(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  std::error_code problem;
  return_bool(call, 0, fs::is_directory(path, problem));
  return {};
}

Status os_remove(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  std::error_code problem;
  const bool removed = fs::remove(path, problem);
  if (!removed && !problem) problem = std::make_error_code(std::errc::no_such_file_or_directory);
  return problem ? Status(path_error("remove", path, problem)) : Status();
}

Status os_rename(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string from, path_argument(call, 0));
  DHPVM_ASSIGN(const std::string to, path_argument(call, 1));
  std::error_code problem;
  fs::rename(from, to, problem);
  return problem ? Status(path_error("rename", from, problem)) : Status();
}

Status os_mkdir(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0));
  std::error_code problem;
  fs::create_directories(path, problem);
  return problem ? Status(path_error("make the folder", path, problem)) : Status();
}

}  // namespace dhpvm::stdlib
