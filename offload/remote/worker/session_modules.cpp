// SPDX-License-Identifier: Apache-2.0
// Code: it arrives once for each session, is verified, and compiled for the device that is to run it.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "bytecode/reader.h"
#include "bytecode/verifier.h"
#include "offload/devices/kernel_compiler.h"
#include "offload/remote/worker/session.h"

namespace dhpvm::offload {
namespace {

constexpr std::uint64_t kRequests = 64;

Error broken(const char* what) {
  return error(ErrorCode::kProtocol, "the client breaks the protocol: {}", what);
}

wire::Site describe(const codegen::KernelSite& site) {
  wire::Site described;
  described.kind = static_cast<std::uint64_t>(site.kind);
  described.trap = static_cast<std::uint64_t>(site.trap);
  for (const codegen::CodePosition& call : site.calls) described.calls.push_back({call.function, call.pc});
  return described;
}

}  // namespace

Status Session::handle(wire::LoadKernel& record) {
  DHPVM_TRY(device(record.device));
  if (++requests_outstanding_ > kRequests) return broken("too many requests at once");
  if (kernels_.contains(record.kernel)) return broken("a kernel is loaded twice");
  const WorkerLimits& limits = worker_.options().limits;
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
    reply(record.request, std::move(refused));
    return {};
  }
  kernels_[record.kernel].device = record.device;
  if (known == modules_.end()) {
    Module& module = modules_[record.digest];
    module.expected = record.module_bytes;
    module_bytes_ += record.module_bytes;
    module.waiting.push_back(std::move(record));
    send(wire::NeedModule{module.waiting.front().digest});
  } else if (known->second.module == nullptr) {
    known->second.waiting.push_back(std::move(record));
  } else {
    compile(record, known->second.module);
  }
  return {};
}

Status Session::handle(wire::ModulePart& record) {
  const auto entry = modules_.find(record.digest);
  if (entry == modules_.end() || entry->second.arriving.size() == entry->second.expected) {
    return broken("it sends code that nobody has asked for");
  }
  Module& module = entry->second;
  if (record.bytes.empty() || record.bytes.size() > module.expected - module.arriving.size()) {
    return broken("it sends more code than it has announced");
  }
  module.arriving.insert(module.arriving.end(), record.bytes.begin(), record.bytes.end());
  if (module.arriving.size() == module.expected) check_module(record.digest);
  return {};
}

// Verifies the module, and compiles the kernels that wait for it.
void Session::check_module(const wire::Digest& digest) {
  tasks_.post([this, digest, file = modules_[digest].arriving] {
    const auto check = [&]() -> Result<std::shared_ptr<const bytecode::Module>> {
      if (worker_.fabric().sha256(file) != digest) {
        return error(ErrorCode::kUnverified, "the code that arrived is not what was announced");
      }
      DHPVM_ASSIGN(bytecode::Module module, bytecode::read_module(file));
      DHPVM_TRY(bytecode::verify(module));
      return std::make_shared<const bytecode::Module>(std::move(module));
    };
    auto checked = check();
    on_progress_thread([this, digest, checked = std::move(checked)] {
      if (ended_) return;
      Module& module = modules_[digest];
      const std::vector<wire::LoadKernel> waiting = std::exchange(module.waiting, {});
      if (checked.ok()) {
        module.module = *checked;
        module.arriving = {};
        module.expected = 0;
      } else {
        worker_.log(fmt::format("session {}: refused code: {}", number_, checked.error().message()));
        module_bytes_ -= module.expected;
        modules_.erase(digest);
      }
      for (const wire::LoadKernel& record : waiting) {
        if (checked.ok()) {
          compile(record, *checked);
        } else {
          kernels_.erase(record.kernel);
          reply(record.request, checked.error());
        }
      }
    });
  });
}

void Session::compile(const wire::LoadKernel& record, const std::shared_ptr<const bytecode::Module>& module) {
  tasks_.post([this, record, module] {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<codegen::KernelSite> sites;
    const auto make = [&]() -> Result<session::LoadedKernel> {
      if (record.number >= module->kernels.size()) {
        return error(ErrorCode::kInvalidArgument, "the module has no kernel {}", record.number);
      }
      const auto number = static_cast<std::uint32_t>(record.number);
      std::vector<std::uint32_t> proven;
      for (const std::uint64_t access : record.proven) {
        proven.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(access, kNothing)));
      }
      session::LoadedKernel loaded;
      loaded.device = record.device;
      loaded.name = record.name;
      DHPVM_ASSIGN(loaded.guard, LaunchGuard::create(module, number, std::move(proven)));
      DHPVM_ASSIGN(codegen::CodeGenerator* const generator, worker_.options().generator());
      codegen::KernelRequest request;
      request.module = module.get();
      request.kernel = number;
      request.proven = loaded.guard->proven_paths();
      Device& device = *worker_.devices()[record.device];
      DHPVM_ASSIGN(const KernelImage image, compile_kernel(*generator, request, device.info(),
                                                           describe_kernel(*module, number, record.name)));
      if (image.sites.size() > wire::kMaxSites) {
        return error(ErrorCode::kUnsupported, "the kernel has {} places where it can trap; {} can be sent",
                     image.sites.size(), wire::kMaxSites);
      }
      sites = image.sites;
      DHPVM_ASSIGN(loaded.kernel, device.load(image));
      return loaded;
    };
    auto made = make();
    const auto end = std::chrono::steady_clock::now();
    on_progress_thread([this, record, sites = std::move(sites), made = std::move(made), begin, end] {
      if (ended_) return;
      wire::Reply answer;
      answer.request = record.request;
      answer.begin_ns = std::chrono::nanoseconds(begin.time_since_epoch()).count();
      answer.end_ns = std::chrono::nanoseconds(end.time_since_epoch()).count();
      if (made.ok()) {
        kernels_[record.kernel] = *made;
        for (const codegen::KernelSite& site : sites) answer.sites.push_back(describe(site));
        worker_.log(fmt::format("session {}: kernel '{}' ready for {} after {:.1f} ms", number_, record.name,
                                worker_.devices()[record.device]->info().name,
                                std::chrono::duration<double, std::milli>(end - begin).count()));
      } else {
        kernels_.erase(record.kernel);
        answer.failure = wire::Failure::from(made.error());
      }
      --requests_outstanding_;
      send(answer);
    });
  });
}

}  // namespace dhpvm::offload
