// SPDX-License-Identifier: Apache-2.0
// The interface of the code that needs OpenSSL or libfabric. It is in separate shared libraries, which are loaded when
// a worker is started or connected to (load_fabric.h), because loading them would slow down every start of a program.
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
  // A provider of libfabric with FI_EP_MSG endpoints, such as tcp or verbs. Empty: TCP sockets without libfabric.
  std::string provider = {};
  // For tests: registers memory even where the provider needs no registration.
  bool register_memory = false;
};

using Digest = std::array<std::byte, 32>;

// Thread-safe.
class TlsLibrary {
 public:
  virtual ~TlsLibrary() = default;
  // kInvalidArgument when the credentials cannot be used.
  virtual Result<std::unique_ptr<Identity>> load_identity(const Credentials& credentials) = 0;
  virtual Digest sha256(ConstBytes bytes) = 0;
  // The seals of a connection that was opened by another process.
  virtual SealPair resume(const SealStates& states) = 0;
};

// Thread-safe.
class Fabric : public TlsLibrary {
 public:
  // kUnsupported when libfabric is not installed, or has no such provider here.
  virtual Result<std::unique_ptr<Transport>> create_transport(const TransportOptions& options) = 0;
};

// The shared libraries and the functions that they export. Library and caller must be built from the same sources; each
// library exports a number by which this is checked.
inline constexpr char kTlsLibrary[] = "libdhpvm_tls.so";
inline constexpr char kCreateTlsSymbol[] = "dhpvm_create_tls";
using CreateTls = void (*)(std::unique_ptr<TlsLibrary>& result);
inline constexpr char kFabricLibrary[] = "libdhpvm_fabric.so";
inline constexpr char kCreateOfiTransportSymbol[] = "dhpvm_create_ofi_transport";
using CreateOfiTransport = void (*)(const TransportOptions& options,
                                    Result<std::unique_ptr<Transport>>& result);
inline constexpr char kFabricVersionSymbol[] = "dhpvm_fabric_version";
inline constexpr std::uint32_t kFabricVersion = 4;

}  // namespace dhpvm::offload
