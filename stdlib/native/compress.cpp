// SPDX-License-Identifier: Apache-2.0
// Natives of module compress.
#include "stdlib/native/call.h"
#include "stdlib/native/compression.h"
#include "stdlib/native/natives.h"
#include "stdlib/native/problem.h"

namespace dhpvm::stdlib {
namespace {

Result<Compression> format_argument(const vm::NativeCall& call) {
  const std::int64_t format = integer(call, 0);
  if (format < 0 || format > static_cast<std::int64_t>(Compression::kZstd))
    return error(ErrorCode::kUserTrap, "compress: there is no format {}", format);
  return static_cast<Compression>(format);
}

}  // namespace

Status compress_pack(vm::NativeCall& call) {
  DHPVM_ASSIGN(const Compression format, format_argument(call));
  const std::int64_t level = integer(call, 1);
  // Above 19, Zstandard takes some 1 GiB of memory of its own.
  const std::int64_t most = format == Compression::kZstd ? 19 : 9;
  if (level < 0 || level > most)
    return error(ErrorCode::kUserTrap, "compress: the level is {}, but should be 0 to {}", level, most);
  DHPVM_ASSIGN(const std::span<char> data, bytes(call, 0, 0, array(call, 0)->length, Access::kRead));
  return return_bytes_or_problem(
      call, pack({data.data(), data.size()}, format, static_cast<int>(level), stop_check(call)));
}

Status compress_unpack(vm::NativeCall& call) {
  DHPVM_ASSIGN(const Compression format, format_argument(call));
  const std::int64_t most = integer(call, 1);
  if (most < 0) return error(ErrorCode::kUserTrap, "compress: at most {} bytes are asked for", most);
  DHPVM_ASSIGN(const std::span<char> data, bytes(call, 0, 0, array(call, 0)->length, Access::kRead));
  const std::size_t limit = std::min(most_bytes(call), static_cast<std::size_t>(most));
  return return_bytes_or_problem(call, unpack({data.data(), data.size()}, format, limit, stop_check(call)));
}

}  // namespace dhpvm::stdlib
