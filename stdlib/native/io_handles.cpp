// SPDX-License-Identifier: Apache-2.0
// Natives of module io: open files.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"
#include "stdlib/native/resource.h"

namespace dhpvm::stdlib {
namespace {

constexpr char kFileKind = 0;

// A C stream. It buffers, and wants a seek between reading and writing.
class File final : public ResourceObject {
 public:
  File(std::FILE* stream, std::string path)
      : ResourceObject(&kFileKind), stream_(stream), path_(std::move(path)) {}
  ~File() override {
    if (stream_ != nullptr) std::fclose(stream_);
  }

  // What is buffered may fail to be written only now: the error must not get lost.
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
  Error failure(std::string_view what) const { return io_error(what, path_); }
  std::FILE* stream() const { return stream_; }

 private:
  std::FILE* stream_;
  std::string path_;
  bool last_was_write_ = false;
};

Result<File*> file(const vm::NativeCall& call) {
  DHPVM_ASSIGN(ResourceObject* const object, resource_object(call.r[0], &kFileKind, "an open file"));
  return static_cast<File*>(object);
}

Status write(File& to, std::string_view part) {
  DHPVM_TRY(to.turn_to(true));
  return std::fwrite(part.data(), 1, part.size(), to.stream()) == part.size() ? Status()
                                                                              : to.failure("write");
}

}  // namespace

Status io_open(vm::NativeCall& call) {
  DHPVM_ASSIGN(std::string path, path_argument(call, 0));
  const std::string_view mode = text(call, 1);
  // e: a process started by the host must not inherit the file.
  const char* system_mode = mode == "r"    ? "re"
                            : mode == "w"  ? "we"
                            : mode == "a"  ? "ae"
                            : mode == "r+" ? "r+e"
                                           : nullptr;
  if (system_mode == nullptr) {
    return error(ErrorCode::kIoTrap, "cannot open '{}': the mode is '{}', and should be r, w, a or r+", path,
                 mode);
  }
  std::FILE* stream = std::fopen(path.c_str(), system_mode);
  if (stream == nullptr) return io_error("open", path);
  auto opened = std::make_unique<File>(stream, std::move(path));
  // fopen opens a folder for reading, and only the first read fails.
  struct stat info{};
  if (::fstat(::fileno(stream), &info) == 0 && S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return opened->failure("open");
  }
  DHPVM_ASSIGN(gc::Resource* const handle, new_resource(call.isolate, std::move(opened)));
  call.r[0] = reinterpret_cast<gc::Ref>(handle);
  return {};
}

Status io_file_read(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const from, file(call));
  DHPVM_ASSIGN(const std::span<char> into,
               bytes(call, 1, integer(call, 0), integer(call, 1), Access::kWrite));
  DHPVM_TRY(from->turn_to(false));
  const std::size_t count = std::fread(into.data(), 1, into.size(), from->stream());
  if (count < into.size() && std::ferror(from->stream()) != 0) {
    std::clearerr(from->stream());
    return from->failure("read");
  }
  return_integer(call, 0, static_cast<std::int64_t>(count));
  return {};
}

Status io_file_read_line(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const from, file(call));
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
  return write(*to, {part.data(), part.size()});
}

Status io_file_write_text(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const to, file(call));
  return write(*to, text(call, 1));
}

Status io_file_flush(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const to, file(call));
  return std::fflush(to->stream()) == 0 ? Status() : to->failure("write");
}

Status io_file_seek(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const target, file(call));
  return ::fseeko(target->stream(), integer(call, 0), SEEK_SET) == 0 ? Status() : target->failure("seek in");
}

Status io_file_position(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const target, file(call));
  const off_t position = ::ftello(target->stream());
  if (position < 0) return target->failure("find the position in");
  return_integer(call, 0, position);
  return {};
}

Status io_file_size(vm::NativeCall& call) {
  DHPVM_ASSIGN(File* const target, file(call));
  struct stat info{};
  if (std::fflush(target->stream()) != 0) return target->failure("write");
  if (::fstat(::fileno(target->stream()), &info) != 0) return target->failure("find the size of");
  return_integer(call, 0, info.st_size);
  return {};
}

Status io_close(vm::NativeCall& call) {
  if (reinterpret_cast<const gc::Resource*>(call.r[0])->pointer == nullptr) return {};
  DHPVM_ASSIGN(File* const target, file(call));
  const std::unique_ptr<ResourceObject> owner = release_resource(call.r[0]);
  return target->close();
}

}  // namespace dhpvm::stdlib
