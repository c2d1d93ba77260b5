// SPDX-License-Identifier: Apache-2.0
// The code of a session: each module arrives once and is verified, and its kernels are compiled for the devices that
// run them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "offload/remote/worker/session_port.h"
#include "offload/remote/worker/session_state.h"

namespace dhpvm::offload {

class SessionCode {
 public:
  explicit SessionCode(SessionPort& port) : port_(port) {}

  Status handle(wire::LoadKernel& record) { return load({std::move(record), LaunchGuard::Indices::kAny}); }
  Status handle(wire::LoadSmall& record) { return load({std::move(record), LaunchGuard::Indices::kSmall}); }
  Status handle(wire::ModulePart& record);
  Status handle(wire::UnloadKernel& record);

  // Null when the device has no such kernel.
  session::LoadedKernel* find(wire::Id kernel, std::uint64_t device);
  // Logs the number of launches of each kernel that is still loaded.
  void log_launches() const;
  // On the session's own thread, when no operation uses the kernels any more.
  void clear();

 private:
  // A requested kernel, and the properties of its launches.
  struct Wanted : wire::LoadKernel {
    LaunchGuard::Indices indices = LaunchGuard::Indices::kAny;
  };
  struct ReceivedModule {
    std::shared_ptr<const bytecode::Module> module;  // null until it has been verified
    std::uint64_t expected = 0;
    std::vector<std::byte> arriving;
    std::vector<Wanted> waiting;
  };
  struct Compiled {
    session::LoadedKernel kernel;
    std::vector<codegen::KernelSite> sites;
  };

  Status load(Wanted record);
  void check_module(const wire::Digest& digest);
  void finish_check(const wire::Digest& digest,
                    const Result<std::shared_ptr<const bytecode::Module>>& checked);
  void compile(const Wanted& record, const std::shared_ptr<const bytecode::Module>& module);
  Result<Compiled> compile_now(const Wanted& record, const std::shared_ptr<const bytecode::Module>& module);
  void log_launches(const session::LoadedKernel& kernel) const;

  SessionPort& port_;
  std::unordered_map<wire::Id, session::LoadedKernel> kernels_;
  std::map<wire::Digest, ReceivedModule> modules_;
  std::uint64_t module_bytes_ = 0;
};

}  // namespace dhpvm::offload
