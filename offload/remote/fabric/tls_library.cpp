// SPDX-License-Identifier: Apache-2.0
// The function that libdhpvm_tls exports, and its implementation.
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "offload/remote/fabric/aes_gcm.h"
#include "offload/remote/fabric/fabric.h"
#include "offload/remote/fabric/tls.h"

namespace dhpvm::offload {
namespace {

class OpenSslLibrary final : public TlsLibrary {
 public:
  Result<std::unique_ptr<Identity>> load_identity(const Credentials& credentials) override {
    return load_tls_identity(credentials);
  }
  Digest sha256(ConstBytes bytes) override {
    Digest digest;
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
           reinterpret_cast<unsigned char*>(digest.data()));
    return digest;
  }
  SealPair resume(const SealStates& states) override {
    return {std::make_unique<AesGcm>(states.outgoing, SealUse::kSeal),
            std::make_unique<AesGcm>(states.incoming, SealUse::kOpen)};
  }
};

}  // namespace
}  // namespace dhpvm::offload

extern "C" [[gnu::visibility("default")]] void dhpvm_create_tls(
    std::unique_ptr<dhpvm::offload::TlsLibrary>& result) {
  // The size of OpenSSL's secure heap for private keys: locked, left out of core dumps, and wiped. Without it they are
  // in ordinary memory.
  constexpr std::size_t kBytes = 64 << 10;
  constexpr std::size_t kSmallest = 32;
  static_cast<void>(CRYPTO_secure_malloc_init(kBytes, kSmallest));
  result = std::make_unique<dhpvm::offload::OpenSslLibrary>();
}
