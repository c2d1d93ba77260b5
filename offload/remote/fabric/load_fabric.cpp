// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/load_fabric.h"

#include <dlfcn.h>

#include <array>
#include <csignal>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/private_library.h"
#include "offload/remote/fabric/socket_transport.h"

namespace dhpvm::offload {
namespace {

// Libraries of network adapters install signal handlers when they are loaded and searched, which would end the process
// with messages of their own. This restores the handlers.
class SignalKeeper {
 public:
  SignalKeeper() {
    for (int signal = 1; signal < kSignals; ++signal)
      known_[signal] = sigaction(signal, nullptr, &actions_[signal]) == 0;
  }
  ~SignalKeeper() {
    for (int signal = 1; signal < kSignals; ++signal) {
      if (known_[signal]) static_cast<void>(sigaction(signal, &actions_[signal], nullptr));
    }
  }
  SignalKeeper(const SignalKeeper&) = delete;
  SignalKeeper& operator=(const SignalKeeper&) = delete;

 private:
  static constexpr int kSignals = 32;  // without real-time signals, which libraries do not handle
  std::array<struct sigaction, kSignals> actions_{};
  std::array<bool, kSignals> known_{};
};

// A function that a library exports.
Result<void*> load(const std::string& folder, const char* library, const char* symbol, const char* package) {
  const SignalKeeper keeper;
  std::vector<std::string> paths{folder + "/" + library};
  if (folder.empty()) paths = private_library_paths(reinterpret_cast<const void*>(&load), library);
  const OpenedLibrary opened = open_first(paths);
  if (opened.handle == nullptr) {
    return error(ErrorCode::kUnsupported,
                 "remote workers need {}, which could not be loaded: {}. Install it next to the library of "
                 "DHPVM, and {} with it",
                 library, opened.reason, package);
  }
  const auto version = reinterpret_cast<std::uint32_t (*)()>(dlsym(opened.handle, kFabricVersionSymbol));
  void* const function = dlsym(opened.handle, symbol);
  if (version == nullptr || function == nullptr || version() != kFabricVersion) {
    return error(ErrorCode::kUnsupported, "{} is of another version of DHPVM: install both together",
                 opened.path);
  }
  return function;
}

class LoadedFabric final : public Fabric {
 public:
  LoadedFabric(std::string folder, std::unique_ptr<TlsLibrary> tls)
      : folder_(std::move(folder)), tls_(std::move(tls)) {}

  Result<std::unique_ptr<Identity>> load_identity(const Credentials& credentials) override {
    return tls_->load_identity(credentials);
  }
  Digest sha256(ConstBytes bytes) override { return tls_->sha256(bytes); }
  SealPair resume(const SealStates& states) override { return tls_->resume(states); }
  Result<std::unique_ptr<Transport>> create_transport(const TransportOptions& options) override {
    if (options.provider.empty()) return SocketTransport::create();
    DHPVM_ASSIGN(void* const create, load(folder_, kFabricLibrary, kCreateOfiTransportSymbol, "libfabric1"));
    const SignalKeeper keeper;
    Result<std::unique_ptr<Transport>> made = Error(ErrorCode::kInternal, "");
    reinterpret_cast<CreateOfiTransport>(create)(options, made);
    return made;
  }

 private:
  const std::string folder_;
  const std::unique_ptr<TlsLibrary> tls_;
};

}  // namespace

Result<std::unique_ptr<Fabric>> load_fabric(const std::string& folder) {
  DHPVM_ASSIGN(void* const create, load(folder, kTlsLibrary, kCreateTlsSymbol, "libssl3"));
  std::unique_ptr<TlsLibrary> tls;
  reinterpret_cast<CreateTls>(create)(tls);
  return std::unique_ptr<Fabric>(std::make_unique<LoadedFabric>(folder, std::move(tls)));
}

}  // namespace dhpvm::offload
