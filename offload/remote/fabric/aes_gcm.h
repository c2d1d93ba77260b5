// SPDX-License-Identifier: Apache-2.0
// AES-256-GCM with counters as nonces.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "offload/remote/fabric/security.h"

namespace dhpvm::offload {

// Key and initial vector of one direction.
struct GcmSecret {
  std::array<unsigned char, 32> key{};
  std::array<unsigned char, 12> vector{};
};

class AesGcm final : public Seal {
 public:
  // One key serves so many messages; then both sides derive the next key from it. At 256 KiB each that is 16 GiB, well
  // below what AES-GCM may encrypt under one key (RFC 8446, section 5.5).
  static constexpr std::uint64_t kMessagesPerKey = 1 << 16;

  AesGcm(const GcmSecret& secret, SealUse use);
  // Continues from the state of another one.
  AesGcm(const SealState& state, SealUse use);
  ~AesGcm() override;
  Status seal(ConstBytes readable, ConstBytes from, MutableBytes to, Tag& tag) override;
  Status open(ConstBytes readable, MutableBytes data, const Tag& tag) override;
  SealState state() const override;

 private:
  struct FreeContext {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };

  // Prepares the context for the next message.
  bool next();

  SecretBytes memory_;
  GcmSecret& secret_;  // there
  const SealUse use_;
  std::uint64_t counter_ = 0;
  bool has_key_ = false;  // the context has the current key
  std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context_;
};

}  // namespace dhpvm::offload
