// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/code_keys.h"

#include "codegen/cached/kernel_content.h"
#include "codegen/cached/processor.h"

namespace dhpvm::codegen {
namespace {

// What compiled functions depend on besides the module and the target.
std::string surroundings_of(const FunctionRequest& request) {
  std::string content;
  const auto add = [&](const void* data, std::size_t size) {
    content.append(static_cast<const char*>(data), size);
  };
  const auto add_number = [&](std::uint64_t number) { add(&number, sizeof(number)); };
  add(&request.layout, sizeof(request.layout));
  for (const std::uint32_t cost : request.stack_costs) add_number(cost);
  add_number(request.functions.size());
  for (const std::uint32_t function : request.functions) add_number(function);
  for (const std::uint32_t function : request.continued) add_number(function);
  return content;
}

CacheKey make_key(const CodeSetting& setting, std::string_view kind, std::string_view content,
                  std::string_view surroundings) {
  // Library and caller may come from different builds, as long as their interface is the same.
  const std::string interface = std::to_string(kInterfaceVersion);
  return cache_key(setting.build, {kind, content, surroundings, setting.cpu, processor_identity(),
                                   setting.is_traceable ? "traceable" : "", interface});
}

}  // namespace

CacheKey key_of(const KernelRequest& request, const CodeSetting& setting) {
  return make_key(setting, "kernel", kernel_content(request), {});
}

// The whole module, because inlining, layouts and the classes of an interface may come from any part of it.
CacheKey key_of(const FunctionRequest& request, const CodeSetting& setting) {
  const std::string_view module(reinterpret_cast<const char*>(request.identity.data()),
                                request.identity.size());
  return make_key(setting, "functions", module, surroundings_of(request));
}

}  // namespace dhpvm::codegen
