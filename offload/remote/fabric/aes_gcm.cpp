// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/aes_gcm.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <bit>
#include <new>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

constexpr std::string_view kNextKey = "dhpvm next key";

unsigned char* data_of(MutableBytes bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
const unsigned char* data_of(ConstBytes bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

AesGcm::AesGcm(const GcmSecret& secret, SealUse use)
    : memory_(sizeof(GcmSecret)),
      secret_(*new(memory_.data()) GcmSecret(secret)),
      use_(use),
      context_(EVP_CIPHER_CTX_new()) {}

AesGcm::AesGcm(const SealState& state, SealUse use) : AesGcm(std::bit_cast<GcmSecret>(state.secret), use) {
  counter_ = state.messages;
}

SealState AesGcm::state() const {
  SealState state;
  state.secret = std::bit_cast<std::array<std::byte, sizeof(GcmSecret)>>(secret_);
  state.messages = counter_;
  return state;
}

AesGcm::~AesGcm() = default;

bool AesGcm::next() {
  if (context_ == nullptr) return false;
  const std::uint64_t number = counter_++;
  const bool derives = number % kMessagesPerKey == 0 && number != 0;
  if (derives) {
    unsigned size = 0;
    std::array<unsigned char, 32> derived{};
    if (HMAC(EVP_sha256(), secret_.key.data(), static_cast<int>(secret_.key.size()),
             reinterpret_cast<const unsigned char*>(kNextKey.data()), kNextKey.size(), derived.data(),
             &size) == nullptr) {
      return false;
    }
    secret_.key = derived;
    OPENSSL_cleanse(derived.data(), derived.size());
  }
  // As in TLS 1.3: the number of the message XORed into a secret start.
  std::array<unsigned char, 12> nonce = secret_.vector;
  for (unsigned i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<unsigned char>(number >> (8 * i));
  const bool has_key = std::exchange(has_key_, true);
  return EVP_CipherInit_ex(context_.get(), has_key ? nullptr : EVP_aes_256_gcm(), nullptr,
                           has_key && !derives ? nullptr : secret_.key.data(), nonce.data(),
                           use_ == SealUse::kSeal ? 1 : 0) == 1;
}

Status AesGcm::seal(ConstBytes readable, ConstBytes from, MutableBytes to, Tag& tag) {
  int size = 0;
  unsigned char end[16];
  const bool ok = next() &&
                  (readable.empty() || EVP_EncryptUpdate(context_.get(), nullptr, &size, data_of(readable),
                                                         static_cast<int>(readable.size())) == 1) &&
                  (from.empty() || EVP_EncryptUpdate(context_.get(), data_of(to), &size, data_of(from),
                                                     static_cast<int>(from.size())) == 1) &&
                  EVP_EncryptFinal_ex(context_.get(), end, &size) == 1 &&
                  EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag.size()),
                                      tag.data()) == 1;
  if (!ok) return error(ErrorCode::kInternal, "OpenSSL could not encrypt a message");
  return {};
}

Status AesGcm::open(ConstBytes readable, MutableBytes data, const Tag& tag) {
  int size = 0;
  unsigned char end[16];
  const bool ok = next() &&
                  (readable.empty() || EVP_DecryptUpdate(context_.get(), nullptr, &size, data_of(readable),
                                                         static_cast<int>(readable.size())) == 1) &&
                  (data.empty() || EVP_DecryptUpdate(context_.get(), data_of(data), &size, data_of(data),
                                                     static_cast<int>(data.size())) == 1) &&
                  EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()),
                                      const_cast<std::byte*>(tag.data())) == 1 &&
                  EVP_DecryptFinal_ex(context_.get(), end, &size) == 1;
  if (!ok) {
    return error(
        ErrorCode::kProtocol,
        "a message was changed, repeated or left out on its way: somebody interferes with the network");
  }
  return {};
}

}  // namespace dhpvm::offload
