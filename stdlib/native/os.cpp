// SPDX-License-Identifier: Apache-2.0
// Natives of module os.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"

namespace dhpvm::stdlib {
namespace {

namespace fs = std::filesystem;

// A name for mkdtemp() and mkostemp(), which replace the last letters. An error if the prefix would leave the folder.
Result<std::string> temporary_name(vm::NativeCall& call) {
  const std::string_view prefix = text(call, 0);
  if (prefix.find('/') != prefix.npos || prefix.find('\0') != prefix.npos) {
    return error(ErrorCode::kIoTrap, "'{}' cannot begin the name of a file", prefix);
  }
  const char* const folder = std::getenv("TMPDIR");
  const std::string_view set = folder == nullptr ? "" : folder;
  DHPVM_ASSIGN(const std::string place,
               permitted_path(call, std::string(set.empty() ? "/tmp" : set), PathUse::kWrite));
  return fmt::format("{}/{}XXXXXX", place, prefix);
}

// Whether a link at the path may have the target: one to elsewhere would send others there who write into the program's
// folder.
Status check_target(vm::NativeCall& call, const std::string& target, const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  DHPVM_TRY(permitted_path(call, target.starts_with('/') ? target : folder + target, PathUse::kWrite));
  return {};
}

bool has_parent_part(const fs::path& path) { return std::ranges::find(path, "..") != path.end(); }

}  // namespace

Status os_env(vm::NativeCall& call) {
  if (const auto& rights = NativeState::of(call).rights; rights != nullptr) {
    DHPVM_TRY(rights->check_environment());
  }
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
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kRead));
  std::error_code problem;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, problem), end; !problem && entry != end; entry.increment(problem)) {
    names.push_back(entry->path().filename().string());
  }
  if (problem) return io_error("list", path, problem);
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
  // Outside of the program's rights there is nothing.
  const Result<std::string> path = path_argument(call, 0, PathUse::kRead);
  if (!path.ok() && path.error().code() == ErrorCode::kIoTrap) return path.error();
  std::error_code problem;
  return_bool(call, 0, path.ok() && fs::is_directory(*path, problem));
  return {};
}

Status os_remove(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kReplace));
  std::error_code problem;
  const bool removed = fs::remove(path, problem);
  if (!removed && !problem) problem = std::make_error_code(std::errc::no_such_file_or_directory);
  return problem ? Status(io_error("remove", path, problem)) : Status();
}

Status os_rename(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string from, path_argument(call, 0, PathUse::kReplace));
  DHPVM_ASSIGN(const std::string to, path_argument(call, 1, PathUse::kReplace));
  std::error_code problem;
  // A link that counts from its folder leads elsewhere in another one.
  if (const fs::path target = fs::read_symlink(from, problem); !problem && target.is_relative())
    DHPVM_TRY(check_target(call, target.native(), to));
  fs::rename(from, to, problem);
  return problem ? Status(io_error("rename", from, problem)) : Status();
}

Status os_mkdir(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kWrite));
  std::error_code problem;
  fs::create_directories(path, problem);
  return problem ? Status(io_error("make the folder", path, problem)) : Status();
}

Status os_current_dir(vm::NativeCall& call) {
  std::error_code problem;
  const fs::path path = fs::current_path(problem);
  if (problem) return io_error("find", "the current folder", problem);
  DHPVM_ASSIGN(const std::string permitted, permitted_path(call, path.native(), PathUse::kRead));
  return return_text(call, permitted);
}

Status os_real_path(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kRead));
  std::error_code problem;
  const fs::path real = fs::canonical(path, problem);
  return problem ? Status(io_error("find", path, problem)) : return_text(call, real.native());
}

Status os_stat(vm::NativeCall& call) {
  const bool follow = (call.p[0] & 1) != 0;
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, follow ? PathUse::kRead : PathUse::kReadLink));
  struct stat info{};
  if ((follow ? ::stat(path.c_str(), &info) : ::lstat(path.c_str(), &info)) != 0)
    return io_error("find", path);
  const mode_t mode = info.st_mode;
  return_integer(call, 0, S_ISREG(mode) ? 0 : S_ISDIR(mode) ? 1 : S_ISLNK(mode) ? 2 : 3);
  return_integer(call, 1, info.st_size);
  return_number(call, 2,
                static_cast<double>(info.st_mtim.tv_sec) + static_cast<double>(info.st_mtim.tv_nsec) * 1e-9);
  return {};
}

Status os_link(vm::NativeCall& call) {
  const std::string target(text(call, 0));
  DHPVM_ASSIGN(const std::string path, path_argument(call, 1, PathUse::kReplace));
  if (target.empty() || target.find('\0') != target.npos)
    return error(ErrorCode::kIoTrap, "'{}' cannot be the target of a link", target);
  DHPVM_TRY(check_target(call, target, path));
  // Otherwise it would lead out when a folder above it is moved.
  if (NativeState::of(call).rights != nullptr && has_parent_part(target))
    return error(ErrorCode::kPermissionDenied,
                 "the program may not make a link to '{}': with limited rights, a target has no '..'",
                 target);
  if (::symlink(target.c_str(), path.c_str()) != 0) return io_error("make the link", path);
  return {};
}

Status os_read_link(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kReadLink));
  std::error_code problem;
  const fs::path target = fs::read_symlink(path, problem);
  return problem ? Status(io_error("read the link", path, problem)) : return_text(call, target.native());
}

Status os_is_terminal(vm::NativeCall& call) {
  return_bool(call, 0, NativeState::of(call).console.is_terminal(integer(call, 0)));
  return {};
}

Status os_make_temp_dir(vm::NativeCall& call) {
  DHPVM_ASSIGN(std::string name, temporary_name(call));
  if (::mkdtemp(name.data()) == nullptr) return io_error("make the folder", name);
  return return_text(call, name);
}

Status os_make_temp_file(vm::NativeCall& call) {
  DHPVM_ASSIGN(std::string name, temporary_name(call));
  const Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.number() < 0) return io_error("make the file", name);
  return return_text(call, name);
}

Status os_remove_all(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string path, path_argument(call, 0, PathUse::kReplace));
  std::error_code problem;
  const std::uintmax_t removed = fs::remove_all(path, problem);
  if (!problem && removed == 0) problem = std::make_error_code(std::errc::no_such_file_or_directory);
  if (problem) return io_error("remove", path, problem);
  return_integer(call, 0, static_cast<std::int64_t>(removed));
  return {};
}

}  // namespace dhpvm::stdlib
