// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_code.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/one_line.h"
#include "bytecode/reader.h"
#include "bytecode/verifier.h"
#include "offload/devices/kernel_compiler.h"

namespace dhpvm::offload {
namespace {

wire::Site describe(const codegen::KernelSite& site) {
  wire::Site described;
  described.kind = static_cast<std::uint64_t>(site.kind);
  described.trap = static_cast<std::uint64_t>(site.trap);
  for (const codegen::CodePosition& call : site.calls) described.calls.push_back({call.function, call.pc});
  return described;
}

}  // namespace

Status SessionCode::load(Wanted record) {
  DHPVM_TRY(port_.device(record.device));
  DHPVM_TRY(port_.begin_request());
  if (kernels_.contains(record.kernel)) return protocol_violation("a kernel is loaded twice");
  const WorkerLimits& limits = port_.limits();
  const auto known = modules_.find(record.digest);
  Status refused;
  if (kernels_.size() >= limits.objects) {
    refused = error(ErrorCode::kDeviceExhausted, "this session has {} kernels, which is the limit",
                    kernels_.size());
  } else if (known == modules_.end() && record.module_bytes > limits.module_bytes - module_bytes_) {
    refused = error(ErrorCode::kDeviceExhausted,
                    "this session may have {} bytes of code, has {}, and wants to send {}",
                    limits.module_bytes, module_bytes_, record.module_bytes);
  } else if (known == modules_.end() && record.module_bytes == 0) {
    refused = error(ErrorCode::kInvalidArgument, "the kernel's module is empty");
  }
  if (!refused.ok()) {
    port_.reply(record.request, refused);
    return {};
  }
  kernels_[record.kernel].device = record.device;
  if (known == modules_.end()) {
    ReceivedModule& module = modules_[record.digest];
    module.expected = record.module_bytes;
    module_bytes_ += record.module_bytes;
    module.waiting.push_back(std::move(record));
    port_.send(wire::NeedModule{module.waiting.front().digest});
  } else if (known->second.module == nullptr) {
    known->second.waiting.push_back(std::move(record));
  } else {
    compile(record, known->second.module);
  }
  return {};
}

Status SessionCode::handle(wire::ModulePart& record) {
  const auto entry = modules_.find(record.digest);
  if (entry == modules_.end() || entry->second.arriving.size() == entry->second.expected) {
    return protocol_violation("it sends code that nobody has asked for");
  }
  ReceivedModule& module = entry->second;
  if (record.bytes.empty() || record.bytes.size() > module.expected - module.arriving.size()) {
    return protocol_violation("it sends more code than it has announced");
  }
  module.arriving.insert(module.arriving.end(), record.bytes.begin(), record.bytes.end());
  if (module.arriving.size() == module.expected) check_module(record.digest);
  return {};
}

Status SessionCode::handle(wire::UnloadKernel& record) {
  const auto entry = kernels_.find(record.kernel);
  if (entry == kernels_.end() || entry->second.kernel == nullptr) {
    return protocol_violation("it unloads a kernel that does not exist");
  }
  log_launches(entry->second);
  port_.post_task([kernel = std::move(entry->second.kernel)]() mutable { kernel.reset(); });
  kernels_.erase(entry);
  return {};
}

session::LoadedKernel* SessionCode::find(wire::Id kernel, std::uint64_t device) {
  const auto entry = kernels_.find(kernel);
  const bool usable =
      entry != kernels_.end() && entry->second.kernel != nullptr && entry->second.device == device;
  return usable ? &entry->second : nullptr;
}

void SessionCode::log_launches() const {
  for (const auto& [id, kernel] : kernels_) log_launches(kernel);
}

void SessionCode::log_launches(const session::LoadedKernel& kernel) const {
  if (kernel.launches == 0) return;
  port_.log(LogLevel::kDebug, fmt::format("kernel {} was launched {} {}", quoted_name(kernel.name),
                                          kernel.launches, kernel.launches == 1 ? "time" : "times"));
}

void SessionCode::clear() {
  kernels_.clear();
  modules_.clear();
}

// Verifies the module on the session's own thread, then compiles the kernels that wait for it.
void SessionCode::check_module(const wire::Digest& digest) {
  port_.post_task([this, digest, file = modules_[digest].arriving] {
    const auto check = [&]() -> Result<std::shared_ptr<const bytecode::Module>> {
      if (port_.host().fabric().sha256(file) != digest) {
        return error(ErrorCode::kUnverified, "the code that arrived is not what was announced");
      }
      DHPVM_ASSIGN(bytecode::Module module, bytecode::read_module(file));
      DHPVM_TRY(bytecode::verify(module));
      return std::make_shared<const bytecode::Module>(std::move(module));
    };
    port_.post_to_progress([this, digest, checked = check()] {
      if (!port_.has_ended()) finish_check(digest, checked);
    });
  });
}

void SessionCode::finish_check(const wire::Digest& digest,
                               const Result<std::shared_ptr<const bytecode::Module>>& checked) {
  ReceivedModule& module = modules_[digest];
  const std::vector<Wanted> waiting = std::exchange(module.waiting, {});
  if (checked.ok()) {
    module.module = *checked;
    module.arriving = {};
    module.expected = 0;
  } else {
    port_.log(LogLevel::kWarning, fmt::format("refused code: {}", checked.error().message()));
    module_bytes_ -= module.expected;
    modules_.erase(digest);
  }
  for (const Wanted& record : waiting) {
    if (checked.ok()) {
      compile(record, *checked);
    } else {
      kernels_.erase(record.kernel);
      port_.reply(record.request, checked.error());
    }
  }
}

void SessionCode::compile(const Wanted& record, const std::shared_ptr<const bytecode::Module>& module) {
  port_.post_task([this, record, module] {
    const auto begin = std::chrono::steady_clock::now();
    auto made = compile_now(record, module);
    const auto end = std::chrono::steady_clock::now();
    port_.post_to_progress([this, record, made = std::move(made), begin, end] {
      if (port_.has_ended()) return;
      wire::Reply answer;
      answer.request = record.request;
      answer.begin_ns = std::chrono::nanoseconds(begin.time_since_epoch()).count();
      answer.end_ns = std::chrono::nanoseconds(end.time_since_epoch()).count();
      if (made.ok()) {
        kernels_[record.kernel] = made->kernel;
        for (const codegen::KernelSite& site : made->sites) answer.sites.push_back(describe(site));
        port_.log(LogLevel::kInfo,
                  fmt::format("kernel {} ready for {} after {:.1f} ms", quoted_name(record.name),
                              port_.opened(record.device)->info().name,
                              std::chrono::duration<double, std::milli>(end - begin).count()));
      } else {
        kernels_.erase(record.kernel);
        answer.failure = wire::Failure::from(made.error());
      }
      port_.reply(answer);
    });
  });
}

Result<SessionCode::Compiled> SessionCode::compile_now(
    const Wanted& record, const std::shared_ptr<const bytecode::Module>& module) {
  if (record.number >= module->kernels.size()) {
    return error(ErrorCode::kInvalidArgument, "the module has no kernel {}", record.number);
  }
  const auto number = static_cast<std::uint32_t>(record.number);
  std::vector<std::uint32_t> proven;
  for (const std::uint64_t access : record.proven) {
    proven.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(access, kNothing)));
  }
  Compiled compiled;
  compiled.kernel.device = record.device;
  compiled.kernel.name = record.name;
  DHPVM_ASSIGN(compiled.kernel.guard, LaunchGuard::create(module, number, std::move(proven), record.indices));
  DHPVM_ASSIGN(codegen::CodeGenerator* const generator, port_.host().options().generator());
  codegen::KernelRequest request;
  request.module = module.get();
  request.kernel = number;
  request.proven = compiled.kernel.guard->proven_paths();
  request.has_small_indices = record.indices == LaunchGuard::Indices::kSmall;
  Device& device = *port_.opened(record.device);
  DHPVM_ASSIGN(const KernelImage image, compile_kernel(*generator, request, device.info(),
                                                       describe_kernel(*module, number, record.name)));
  if (image.sites.size() > wire::kMaxSites) {
    return error(ErrorCode::kUnsupported, "the kernel has {} places where it can trap; {} can be sent",
                 image.sites.size(), wire::kMaxSites);
  }
  compiled.sites = image.sites;
  DHPVM_ASSIGN(compiled.kernel.kernel, device.load(image));
  return compiled;
}

}  // namespace dhpvm::offload
