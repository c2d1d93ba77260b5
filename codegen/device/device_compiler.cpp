// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/device_compiler.h"

#include <llvm/Config/llvm-config.h>

#include <chrono>

#include "base/error.h"
#include "codegen/cached/build_id.h"
#include "codegen/cached/cache_codec.h"
#include "codegen/cached/kernel_content.h"
#include "codegen/host/guard.h"

namespace dhpvm::codegen {
namespace {

std::string text_of(const DeviceTarget& target) {
  return fmt::format("{} {} f64={} atomics64={} exact={} processor={}", target.language, target.processor,
                     target.has_f64, target.has_atomics_64, target.has_exact_f32, target.is_processor);
}

std::vector<std::byte> encode(const DeviceCode& code) {
  CacheWriter writer;
  writer.text(code.entry);
  writer.text(code.options);
  writer.number(code.group);
  writer.number(code.run);
  writer.number(code.items);
  writer.number(code.has_squares ? 1 : 0);
  writer.number(static_cast<std::uint64_t>(code.dealing));
  writer.number(code.parameters.size());
  for (const KernelParameter& parameter : code.parameters) {
    writer.number(static_cast<std::uint64_t>(parameter.kind));
    writer.number(parameter.index);
    writer.number(parameter.dimension);
    writer.number(static_cast<std::uint64_t>(parameter.form));
  }
  write_sites(writer, code.sites);
  return writer.take_bytes();
}

std::optional<DeviceCode> decode(const CachedCode& cached) {
  CacheReader reader(cached.metadata());
  DeviceCode code;
  code.entry = reader.text();
  code.options = reader.text();
  code.group = static_cast<std::uint32_t>(reader.number());
  code.run = static_cast<std::uint32_t>(reader.number());
  code.items = static_cast<std::uint32_t>(reader.number());
  code.has_squares = reader.number() != 0;
  code.dealing = static_cast<Dealing>(reader.number());
  code.parameters.resize(reader.count());
  for (KernelParameter& parameter : code.parameters) {
    parameter.kind = static_cast<ParameterKind>(reader.number());
    parameter.index = static_cast<std::uint32_t>(reader.number());
    parameter.dimension = static_cast<std::uint32_t>(reader.number());
    parameter.form = static_cast<ParameterForm>(reader.number());
  }
  code.sites = read_sites(reader);
  if (!reader.done()) return std::nullopt;
  const auto text = cached.object();
  code.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return code;
}

// If LLVM gives up, the frames that owned its objects are gone, so these leak.
Result<DeviceCode> make(const KernelLanguage& language, const KernelRequest& request,
                        const DeviceTarget& target) {
  DeviceCode code;
  bool abandoned = false;
  DHPVM_TRY(guarded(
      [&]() -> Status {
        DHPVM_ASSIGN(code, language.make(request, target));
        return {};
      },
      &abandoned));
  code.language = language.name();
  return code;
}

}  // namespace

DeviceCompiler::DeviceCompiler(std::shared_ptr<CodeCache> cache, Tracer* tracer, std::uint32_t track)
    : cache_(std::move(cache)), tracer_(tracer), track_(track) {}

Result<DeviceCode> DeviceCompiler::compile(const KernelRequest& request, const DeviceTarget& target,
                                           bool use_cache) {
  DHPVM_ASSIGN(const KernelLanguage* const language, languages_.find(target.language));
  const bool cached = cache_ != nullptr && use_cache;
  CacheKey key;
  if (cached) {
    key = cache_key(build_id(), {kernel_content(request), text_of(target), language->identity(),
                                 "LLVM " LLVM_VERSION_STRING});
    if (const std::optional<CachedCode> found = cache_->find(key)) {
      if (std::optional<DeviceCode> code = decode(*found)) {
        code->language = target.language;
        const std::lock_guard lock(mutex_);
        ++stats_.loaded_from_cache;
        return std::move(*code);
      }
      cache_->remove(key);
    }
  }
  const auto begin = Tracer::Clock::now();
  DHPVM_ASSIGN(DeviceCode code, make(*language, request, target));
  if (tracer_ != nullptr) {
    tracer_->slice(track_, fmt::format("make {}", language->title()), begin, Tracer::Clock::now());
  }
  if (cached) cache_->store(key, std::as_bytes(std::span(code.text)), encode(code));
  const std::lock_guard lock(mutex_);
  ++stats_.compiled;
  return code;
}

DeviceCompiler::Stats DeviceCompiler::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace dhpvm::codegen
