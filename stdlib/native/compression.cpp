// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/compression.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

#include "base/error.h"
#include "stdlib/native/compression_library.h"
#include "stdlib/native/loaded_library.h"

namespace dhpvm::stdlib {
namespace {

// The bytes of input or output of one call of a library: some milliseconds of work.
constexpr std::size_t kPart = std::size_t{1} << 20;

Error cut_off() { return Error(ErrorCode::kMalformed, "the data is cut off"); }
Error too_large(std::size_t most) {
  return error(ErrorCode::kUnsupported, "there are more than {} bytes in the data", most);
}

// 15 bits are the largest window of the format. 16 more mean gzip; a negative number means neither header nor checksum.
int window_bits(Compression format) {
  if (format == Compression::kDeflate) return -MAX_WBITS;
  return format == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
}

// Room at the end of a text that grows by what a library has written.
class Growing {
 public:
  // `most`: the size that the text may reach.
  explicit Growing(std::size_t most) : most_(most) {}
  // Up to kPart bytes of room; one byte is there beyond `most`, which shows that there is more.
  std::size_t make_room() {
    const std::size_t wanted = std::clamp<std::size_t>(used_, 4096, kPart);
    const std::size_t end = std::min(used_ + wanted, most_ < text_.max_size() ? most_ + 1 : text_.max_size());
    if (text_.size() < end) {
      // In steps of a part, so that the text is copied as seldom as by doubling.
      text_.resize(std::min(std::max(end, used_ + used_ / 2), most_ + 1));
    }
    return std::min(text_.size() - used_, kPart);
  }
  char* end() { return text_.data() + used_; }
  void add(std::size_t written) { used_ += written; }
  bool is_above_limit() const { return used_ > most_; }
  std::string take() {
    text_.resize(used_);
    return std::move(text_);
  }

 private:
  std::string text_;
  std::size_t used_ = 0;
  std::size_t most_;
};

// A stream that ends itself.
struct ZStream {
  z_stream state{};
  int (*finish)(z_stream*);
  explicit ZStream(int (*end)(z_stream*)) : finish(end) {}
  ZStream(const ZStream&) = delete;
  ZStream& operator=(const ZStream&) = delete;
  ~ZStream() { finish(&state); }

  // Offers the next part of the input that is left in `data`.
  void refill(std::string_view& data) {
    if (state.avail_in != 0) return;
    const std::size_t part = std::min(data.size(), kPart);
    // zlib does not write to its input; its interface is older than const.
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    state.avail_in = static_cast<uInt>(part);
    data.remove_prefix(part);
  }
  void offer(Growing& out) {
    state.avail_out = static_cast<uInt>(out.make_room());
    state.next_out = reinterpret_cast<Bytef*>(out.end());
  }
};

Result<std::string> pack_zlib(std::string_view data, Compression format, int level, const StopCheck& check) {
  const ZlibLibrary* const library = zlib_library();
  if (library == nullptr) return no_library("zlib (libz.so.1)");
  ZStream stream(library->deflate_end);
  constexpr int kMemoryLevel = 8;  // zlib's own choice
  if (library->deflate_init(&stream.state, level == 0 ? Z_DEFAULT_COMPRESSION : level, Z_DEFLATED,
                            window_bits(format), kMemoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                            sizeof(z_stream)) != Z_OK)
    throw std::bad_alloc();
  Growing out(std::numeric_limits<std::size_t>::max() / 2);
  for (int outcome = Z_OK; outcome != Z_STREAM_END;) {
    DHPVM_TRY(check());
    stream.refill(data);
    stream.offer(out);
    const uInt room = stream.state.avail_out;
    outcome = library->deflate(&stream.state, data.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.add(room - stream.state.avail_out);
  }
  return out.take();
}

// Whether a gzip file goes on with another member. Zeros may follow, as tapes and some programs leave them.
Result<bool> has_next_member(std::string_view rest) {
  const std::size_t at = rest.find_first_not_of('\0');
  if (at == rest.npos) return false;
  if (at == 0 && rest.starts_with("\x1f\x8b")) return true;
  return Error(ErrorCode::kMalformed, "other bytes follow the end of the data");
}

Result<std::string> unpack_zlib(std::string_view data, Compression format, std::size_t most,
                                const StopCheck& check) {
  const ZlibLibrary* const library = zlib_library();
  if (library == nullptr) return no_library("zlib (libz.so.1)");
  ZStream stream(library->inflate_end);
  if (library->inflate_init(&stream.state, window_bits(format), ZLIB_VERSION, sizeof(z_stream)) != Z_OK)
    throw std::bad_alloc();
  Growing out(most);
  while (true) {
    DHPVM_TRY(check());
    stream.refill(data);
    stream.offer(out);
    const uInt room = stream.state.avail_out;
    const int outcome = library->inflate(&stream.state, Z_NO_FLUSH);
    out.add(room - stream.state.avail_out);
    if (out.is_above_limit()) return too_large(most);
    if (outcome == Z_MEM_ERROR) throw std::bad_alloc();
    if (outcome == Z_STREAM_END) {
      const std::string_view rest(reinterpret_cast<const char*>(stream.state.next_in),
                                  stream.state.avail_in + data.size());
      if (rest.empty()) return out.take();
      if (format != Compression::kGzip)
        return Error(ErrorCode::kMalformed, "other bytes follow the end of the data");
      DHPVM_ASSIGN(const bool goes_on, has_next_member(rest));
      if (!goes_on) return out.take();
      library->inflate_reset(&stream.state);
      continue;
    }
    // Without progress there is nothing left to read: room for output is always there.
    if (outcome == Z_BUF_ERROR && data.empty() && stream.state.avail_in == 0) return cut_off();
    if (outcome == Z_NEED_DICT) return Error(ErrorCode::kMalformed, "the data needs a dictionary");
    if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
      return error(ErrorCode::kMalformed, "the data is damaged: {}",
                   stream.state.msg != nullptr ? stream.state.msg : "no reason is given");
    }
  }
}

using ZstdContext = std::unique_ptr<ZstdLibrary::Context, std::size_t (*)(ZstdLibrary::Context*)>;

Result<std::string> pack_zstd(std::string_view data, int level, const StopCheck& check) {
  const ZstdLibrary* const library = zstd_library();
  if (library == nullptr) return no_library("Zstandard (libzstd.so.1)");
  const ZstdContext context(library->create_packer(), library->free_packer);
  if (context == nullptr) throw std::bad_alloc();
  library->set_parameter(context.get(), ZstdLibrary::kCompressionLevel, level);
  library->set_parameter(context.get(), ZstdLibrary::kChecksum, 1);
  Growing out(std::numeric_limits<std::size_t>::max() / 2);
  for (std::size_t begin = 0;;) {
    DHPVM_TRY(check());
    const std::size_t part = std::min(data.size() - begin, kPart);
    const bool is_last = begin + part == data.size();
    ZstdLibrary::Input input{data.data() + begin, part, 0};
    ZstdLibrary::Output output{nullptr, out.make_room(), 0};
    output.data = out.end();
    const std::size_t left =
        library->pack(context.get(), &output, &input, is_last ? ZstdLibrary::kEnd : ZstdLibrary::kContinue);
    if (library->is_error(left) != 0) throw std::bad_alloc();
    out.add(output.position);
    begin += input.position;
    if (is_last && left == 0) return out.take();
  }
}

Result<std::string> unpack_zstd(std::string_view data, std::size_t most, const StopCheck& check) {
  const ZstdLibrary* const library = zstd_library();
  if (library == nullptr) return no_library("Zstandard (libzstd.so.1)");
  const ZstdContext context(library->create_unpacker(), library->free_unpacker);
  if (context == nullptr) throw std::bad_alloc();
  if (data.empty()) return cut_off();
  Growing out(most);
  for (std::size_t begin = 0;;) {
    DHPVM_TRY(check());
    ZstdLibrary::Input input{data.data() + begin, std::min(data.size() - begin, kPart), 0};
    ZstdLibrary::Output output{nullptr, out.make_room(), 0};
    output.data = out.end();
    const std::size_t left = library->unpack(context.get(), &output, &input);
    if (library->is_error(left) != 0)
      return error(ErrorCode::kMalformed, "the data is damaged: {}", library->error_name(left));
    out.add(output.position);
    begin += input.position;
    if (out.is_above_limit()) return too_large(most);
    if (begin != data.size()) continue;
    // 0 says that a frame is complete and written; then another one would begin.
    if (left == 0) return out.take();
    if (output.position < output.size) return cut_off();
  }
}

}  // namespace

Result<std::string> pack(std::string_view data, Compression format, int level, const StopCheck& check) {
  return format == Compression::kZstd ? pack_zstd(data, level, check) : pack_zlib(data, format, level, check);
}

Result<std::string> unpack(std::string_view data, Compression format, std::size_t most,
                           const StopCheck& check) {
  return format == Compression::kZstd ? unpack_zstd(data, most, check)
                                      : unpack_zlib(data, format, most, check);
}

}  // namespace dhpvm::stdlib
