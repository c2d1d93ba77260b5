// SPDX-License-Identifier: Apache-2.0
// What needs libfabric or OpenSSL. The implementation is in a shared library of its own, loaded when a worker
// is started or connected to (load_fabric.h): they would cost every start of a program.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "dhpvm/result.h"
#include "offload/remote/fabric/security.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

struct TransportOptions {
  std::string provider = "tcp";  // of libfabric; must have FI_EP_MSG endpoints: tcp, verbs
  // For tests: registers memory even where the provider needs no registration.
  bool register_memory = false;
};

using Digest = std::array<std::byte, 32>;

// Thread-safe.
class Fabric {
 public:
  virtual ~Fabric() = default;
  // kUnsupported when libfabric has no such provider here.
  virtual Result<std::unique_ptr<Transport>> create_transport(const TransportOptions& options) = 0;
  // kInvalidArgument when the credentials cannot be used.
  virtual Result<std::unique_ptr<Identity>> load_identity(const Credentials& credentials) = 0;
  virtual Digest sha256(ConstBytes bytes) = 0;
};

// The shared library, the one function that it exports, and the number that tells whether library and caller were built
// from the same sources.
inline constexpr char kFabricLibrary[] = "libdhpvm_fabric.so";
inline constexpr char kCreateFabricSymbol[] = "dhpvm_create_fabric";
inline constexpr std::uint32_t kFabricVersion = 1;
using CreateFabric = void (*)(std::uint32_t version, Result<std::unique_ptr<Fabric>>& result);

}  // namespace dhpvm::offload
