// SPDX-License-Identifier: Apache-2.0
// Natives of module io: open files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"
#include "stdlib/native/resource.h"

namespace dhpvm::stdlib {
namespace {

constexpr char kFileKind = 0;

// A C stream over a descriptor. It is buffered, and needs a seek between reading and writing. Its own reads and writes
// can be interrupted while they wait.
class File final : public ResourceObject {
 public:
  File(Descriptor descriptor, std::string path)
      : ResourceObject(&kFileKind), descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  ~File() override {
    check_ = briefly();
    if (stream_ != nullptr) std::fclose(stream_);
  }
  Status open(const char* mode) {
    const cookie_io_functions_t functions = {
        [](void* self, char* into, std::size_t size) { return static_cast<File*>(self)->take(into, size); },
        [](void* self, const char* from, std::size_t size) {
          return static_cast<File*>(self)->put(from, size);
        },
        [](void* self, off64_t* to, int whence) { return static_cast<File*>(self)->seek(to, whence); },
        nullptr};
    // As fopen does for a; pipes have no position.
    if (*mode == 'a') ::lseek64(descriptor(), 0, SEEK_END);
    stream_ = ::fopencookie(this, mode, functions);
    return stream_ == nullptr ? failure("open") : Status();
  }

  // Closing writes the buffered bytes, and reports their error if that fails.
  Status close() {
    std::FILE* stream = std::exchange(stream_, nullptr);
    return std::fclose(stream) == 0 ? Status() : failure("write");
  }
  Status turn_to(bool writing) {
    if (last_was_write_ != writing && ::fseeko(stream_, 0, SEEK_CUR) != 0 && errno != ESPIPE)
      return failure("use");
    last_was_write_ = writing;
    return {};
  }
  // For one call: the check that ends waits, and the most bytes that may be read.
  void begin(const vm::NativeCall& call, std::size_t most) {
    check_ = stop_check(call);
    most_ = most;
    interruption_.reset();
  }
  void end() { check_ = nullptr; }
  Error failure(std::string_view what) {
    if (interruption_) return *std::exchange(interruption_, std::nullopt);
    return io_error(what, path_);
  }
  std::FILE* stream() const { return stream_; }
  int descriptor() const { return descriptor_.number(); }

 private:
  ssize_t interrupted(Error reason) {
    interruption_ = std::move(reason);
    errno = ECANCELED;
    return -1;
  }
  ssize_t take(char* into, std::size_t size) {
    if (most_ == 0)
      return interrupted(
          error(ErrorCode::kOutOfMemory, "a line of '{}' is longer than the program may hold", path_));
    auto count = read_some(descriptor(), {into, size}, check_);
    if (!count.ok()) return interrupted(std::move(count).error());
    most_ -= std::min(most_, static_cast<std::size_t>(std::max<ssize_t>(*count, 0)));
    return *count;
  }
  ssize_t put(const char* from, std::size_t size) {
    Status status = write_all(descriptor(), {from, size}, "'" + path_ + "'", check_);
    if (status.ok()) return static_cast<ssize_t>(size);
    const Error& reason = status.error();
    (void)interrupted(reason.is_trap() ? reason : Error(ErrorCode::kIoTrap, reason.message()));
    return 0;  // as fopencookie wants it
  }
  int seek(off64_t* to, int whence) const {
    const off64_t position = ::lseek64(descriptor(), *to, whence);
    if (position < 0) return -1;
    *to = position;
    return 0;
  }

  Descriptor descriptor_;
  std::FILE* stream_ = nullptr;
  std::string path_;
  bool last_was_write_ = false;
  StopCheck check_;
  std::size_t most_ = 0;
  std::optional<Error> interruption_;
};

// A file while one native uses it.
class Use {
 public:
  Use(const vm::NativeCall& call, File& file, std::size_t most = std::numeric_limits<std::size_t>::max())
      : file_(file) {
    file.begin(call, most);
  }
  ~Use() { file_.end(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  File& file_;
};

Result<File*> file(const vm::NativeCall& call) {
  DHPVM_ASSIGN(ResourceObject* const object, resource_object(call.r[0], &kFileKind, "an open file"));
  return static_cast<File*>(object);
}

Status write(const vm::NativeCall& call, File& to, std::string_view part) {
  const Use use(call, to);
  DHPVM_TRY(to.turn_to(true));
  return std::fwrite(part.data(), 1, part.size(), to.stream()) == part.size() ? Status()
                                                                              : to.failure("write");
}

}  // namespace

Status io_open(vm::NativeCall& call) {
  const std::string_view mode = text(call, 1);
  const int flags = mode == "r"    ? O_RDONLY
                    : mode == "w"  ? O_WRONLY | O_CREAT | O_TRUNC
                    : mode == "a"  ? O_WRONLY | O_CREAT | O_APPEND
                    : mode == "r+" ? O_RDWR
                                   : -1;
  if (flags < 0) {
    return error(ErrorCode::kIoTrap, "cannot open '{}': the mode is '{}', and should be r, w, a or r+",
                 text(call, 0), mode);
  }
  const bool writes = mode != "r";
  DHPVM_ASSIGN(std::string path, path_argument(call, 0, writes ? PathUse::kWrite : PathUse::kRead));
  // `r+` needs both rights.
  if (mode == "r+") {
    DHPVM_ASSIGN(path, permitted_path(call, path, PathUse::kRead));
  }
  DHPVM_ASSIGN(Descriptor descriptor, open_file(path, flags, "open", stop_check(call)));
  // A folder can be opened for reading, and only the first read fails.
  struct stat info{};
  const bool is_folder = ::fstat(descriptor.number(), &info) == 0 && S_ISDIR(info.st_mode);
  auto opened = std::make_unique<File>(std::move(descriptor), std::move(path));
  if (is_folder) {
    errno = EISDIR;
    return opened->failure("open");
  }
  DHPVM_TRY(opened->open(std::string(mode).c_str()));
  DHPVM_ASSIGN(gc::Resource* const handle, new_resource(call.isolate, std::move(opened)));
  call.r[0] = reinterpret_cast<gc::Ref>(handle);
  return {};
}

Status io_file_read(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const from, file(call));
  DHPVM_ASSIGN(const std::span<char> into,
               bytes(call, 1, integer(call, 0), integer(call, 1), Access::kWrite));
  const Use use(call, *from);
  DHPVM_TRY(from->turn_to(false));
  std::size_t count = 0;
  DHPVM_TRY(in_parts(into.size(), stop_check(call), [&](std::size_t begin, std::size_t end) -> Status {
    // The file may have ended in an earlier part.
    if (count == begin) count += std::fread(into.data() + begin, 1, end - begin, from->stream());
    return {};
  }));
  if (count < into.size() && std::ferror(from->stream()) != 0) {
    std::clearerr(from->stream());
    return from->failure("read");
  }
  return_integer(call, 0, static_cast<std::int64_t>(count));
  return {};
}

Status io_file_read_line(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const from, file(call));
  const Use use(call, *from, most_text(call));
  DHPVM_TRY(from->turn_to(false));
  char* line = nullptr;
  std::size_t capacity = 0;
  const ssize_t size = ::getline(&line, &capacity, from->stream());
  const std::unique_ptr<char, void (*)(void*)> owner(line, std::free);
  if (size < 0) {
    if (std::ferror(from->stream()) == 0) return return_null(call);
    std::clearerr(from->stream());
    return from->failure("read");
  }
  std::string_view content(line, static_cast<std::size_t>(size));
  if (content.ends_with('\n')) content.remove_suffix(1);
  if (content.ends_with('\r')) content.remove_suffix(1);
  if (content.size() > kMaxTextSize) return too_long();
  return return_text(call, content);
}

Status io_file_write(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const to, file(call));
  DHPVM_ASSIGN(const std::span<char> part, bytes(call, 1, integer(call, 0), integer(call, 1), Access::kRead));
  return write(call, *to, {part.data(), part.size()});
}

Status io_file_write_text(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const to, file(call));
  return write(call, *to, text(call, 1));
}

Status io_file_flush(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const to, file(call));
  const Use use(call, *to);
  return std::fflush(to->stream()) == 0 ? Status() : to->failure("write");
}

Status io_file_seek(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const target, file(call));
  const Use use(call, *target);
  return ::fseeko(target->stream(), integer(call, 0), SEEK_SET) == 0 ? Status() : target->failure("seek in");
}

Status io_file_position(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const target, file(call));
  const Use use(call, *target);
  const off_t position = ::ftello(target->stream());
  if (position < 0) return target->failure("find the position in");
  return_integer(call, 0, position);
  return {};
}

Status io_file_size(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const target, file(call));
  const Use use(call, *target);
  struct stat info{};
  if (std::fflush(target->stream()) != 0) return target->failure("write");
  if (::fstat(target->descriptor(), &info) != 0) return target->failure("find the size of");
  return_integer(call, 0, info.st_size);
  return {};
}

Status io_close(vm::NativeCall& call) {
  if (reinterpret_cast<const gc::Resource*>(call.r[0])->pointer == nullptr) return {};
  DHPVM_ASSIGN(File* const target, file(call));
  const std::unique_ptr<ResourceObject> owner = release_resource(call.r[0]);
  const Use use(call, *target);
  return target->close();
}

}  // namespace dhpvm::stdlib
