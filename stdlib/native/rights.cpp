// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/rights.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "stdlib/native/call.h"

namespace dhpvm::stdlib {
namespace {

// As many as Linux follows.
constexpr int kMostLinks = 40;

// The parts of a path that are still to be walked, the next one last.
void put_parts(std::string_view path, std::vector<std::string>& parts) {
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::size_t begin = slash == path.npos ? 0 : slash + 1;
    if (begin < path.size()) parts.emplace_back(path.substr(begin));
    path = path.substr(0, slash == path.npos ? 0 : slash);
  }
}

Result<std::string> target_of(const std::string& link) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size < 0) return io_error("follow", link);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

bool is_within(const std::string& path, const std::string& folder) {
  if (folder == "/" || path == folder) return true;
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

// A folder that does not exist permits nothing but what is made at its path.
std::vector<std::string> physical(const std::vector<std::string>& folders) {
  std::vector<std::string> out;
  for (const std::string& folder : folders) {
    if (Result<std::string> path = physical_path(folder, PathUse::kRead); path.ok())
      out.push_back(std::move(path).value());
  }
  return out;
}

}  // namespace

Result<std::string> physical_path(const std::string& path, PathUse use) {
  const bool follows_last = use == PathUse::kRead || use == PathUse::kWrite;
  std::vector<std::string> parts;
  put_parts(path, parts);
  std::string at;
  if (!path.starts_with('/')) {
    std::array<char, PATH_MAX> current;
    if (::getcwd(current.data(), current.size()) == nullptr) return io_error("find", "the current folder");
    at = current.data();
    if (at == "/") at.clear();
  }
  // A slash at the end says that the last part is a folder, so a link there is followed.
  const bool ends_with_slash = path.ends_with('/');
  bool exists = true;
  int links = 0;
  while (!parts.empty()) {
    const std::string part = std::move(parts.back());
    parts.pop_back();
    if (part == ".") continue;
    if (part == "..") {
      if (!exists) return error(ErrorCode::kNotFound, "cannot find '{}': '{}' does not exist", path, at);
      at.resize(at.empty() ? 0 : at.rfind('/'));
      continue;
    }
    std::string next = at;
    next += '/';
    next += part;
    struct stat info{};
    if (!exists || ::lstat(next.c_str(), &info) != 0) {
      if (exists && errno != ENOENT && errno != ENOTDIR) return io_error("find", path);
      exists = false;
      at = next;
      continue;
    }
    const bool is_last = parts.empty() && !ends_with_slash;
    if (!S_ISLNK(info.st_mode) || (is_last && !follows_last)) {
      at = next;
      continue;
    }
    if (++links > kMostLinks) return io_error("find", path, std::error_code(ELOOP, std::generic_category()));
    DHPVM_ASSIGN(const std::string target, target_of(next));
    if (target.starts_with('/')) at.clear();
    put_parts(target, parts);
  }
  return at.empty() ? "/" : at;
}

Rights::Rights(const SystemRights& given)
    : read_(physical(given.read)),
      write_(physical(given.write)),
      environment_(given.environment),
      run_(given.run) {}

Result<std::string> Rights::permitted(const std::string& path, PathUse use) const {
  DHPVM_ASSIGN(std::string found, physical_path(path, use));
  const bool reads = use == PathUse::kRead || use == PathUse::kReadLink;
  const std::vector<std::string>& folders = reads ? read_ : write_;
  // A link in the place of the folder itself would be what the next program with this right finds there.
  const auto holds = [&](const std::string& folder) {
    return is_within(found, folder) && (use != PathUse::kReplace || found != folder);
  };
  if (std::any_of(folders.begin(), folders.end(), holds)) return found;
  return error(ErrorCode::kPermissionDenied, "the program may not {} '{}'; --allow={}:FOLDER permits it",
               reads ? "read" : "write", path, reads ? "read" : "write");
}

Status Rights::check_environment() const {
  if (environment_) return {};
  return error(ErrorCode::kPermissionDenied,
               "the program may not read the environment; --allow=env permits it");
}

Status Rights::check_run() const {
  if (run_) return {};
  return error(ErrorCode::kPermissionDenied,
               "the program may not start other programs; --allow=run permits it");
}

}  // namespace dhpvm::stdlib
