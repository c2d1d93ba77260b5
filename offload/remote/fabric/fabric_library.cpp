// SPDX-License-Identifier: Apache-2.0
// The function that the library exports, and what stands behind it.
#include <openssl/sha.h>
#include <rdma/fabric.h>

#include "base/error.h"
#include "offload/remote/fabric/fabric.h"
#include "offload/remote/fabric/ofi_transport.h"
#include "offload/remote/fabric/tls.h"

namespace dhpvm::offload {
namespace {

class LibraryFabric final : public Fabric {
 public:
  Result<std::unique_ptr<Transport>> create_transport(const TransportOptions& options) override {
    return OfiTransport::create(options);
  }
  Result<std::unique_ptr<Identity>> load_identity(const Credentials& credentials) override {
    return load_tls_identity(credentials);
  }
  Digest sha256(ConstBytes bytes) override {
    Digest digest;
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
           reinterpret_cast<unsigned char*>(digest.data()));
    return digest;
  }
};

Result<std::unique_ptr<Fabric>> create(std::uint32_t version) {
  if (version != kFabricVersion) {
    return error(ErrorCode::kUnsupported,
                 "{} is of another version (interface {}, not {}): install both together", kFabricLibrary,
                 kFabricVersion, version);
  }
  // The first look-up initialises all providers, with their side effects: now, while the caller keeps an eye on them.
  fi_info* found = nullptr;
  if (fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &found) == 0) fi_freeinfo(found);
  return std::unique_ptr<Fabric>(std::make_unique<LibraryFabric>());
}

}  // namespace
}  // namespace dhpvm::offload

extern "C" [[gnu::visibility("default")]] void dhpvm_create_fabric(
    std::uint32_t version, dhpvm::Result<std::unique_ptr<dhpvm::offload::Fabric>>& result) {
  result = dhpvm::offload::create(version);
}
