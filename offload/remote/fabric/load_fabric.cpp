// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/load_fabric.h"

#include <dlfcn.h>

#include <array>
#include <csignal>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// The path of the library in the folder of this code; if that
// is unknown, the bare name, for the loader's own search.
std::string beside_this_code() {
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&beside_this_code), &here) == 0 || here.dli_fname == nullptr) {
    return kFabricLibrary;
  }
  const std::string own = here.dli_fname;
  return own.substr(0, own.rfind('/') + 1) + kFabricLibrary;
}

// Libraries of network adapters install handlers for signals while they are loaded and looked for, and would end the
// process with a message of their own where ours have something better to do.
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
  static constexpr int kSignals = 32;  // without real-time signals, which libraries do not take
  std::array<struct sigaction, kSignals> actions_{};
  std::array<bool, kSignals> known_{};
};

}  // namespace

Result<std::unique_ptr<Fabric>> load_fabric(const std::string& library) {
  const SignalKeeper keeper;
  std::string reason;
  for (const std::string& name :
       {library.empty() ? beside_this_code() : library, std::string(kFabricLibrary)}) {
    // Stays loaded: libfabric keeps state that outlives every user of it.
    void* const loaded = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (loaded == nullptr) {
      if (const char* const text = dlerror(); text != nullptr && reason.empty()) reason = text;
    } else if (void* const symbol = dlsym(loaded, kCreateFabricSymbol)) {
      Result<std::unique_ptr<Fabric>> made = Error(ErrorCode::kInternal, "");
      reinterpret_cast<CreateFabric>(symbol)(kFabricVersion, made);
      return made;
    } else {
      reason = name + " is not DHPVM's fabric library";
    }
    if (!library.empty()) break;
  }
  return error(
      ErrorCode::kUnsupported,
      "remote workers need {}, which could not be loaded: {}. Install it next to the library of DHPVM, "
      "and libfabric1 and libssl3 with it",
      kFabricLibrary, reason);
}

}  // namespace dhpvm::offload
