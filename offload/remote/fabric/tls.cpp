// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/tls.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <list>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "offload/remote/fabric/aes_gcm.h"
#include "offload/remote/fabric/key_file.h"

namespace dhpvm::offload {
namespace {

struct FreeSsl {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Context = std::unique_ptr<SSL_CTX, FreeSsl>;

constexpr char kCipher[] = "TLS_AES_256_GCM_SHA384";
constexpr unsigned char kCipherNumber[] = {0x13, 0x02};
constexpr std::string_view kExporterLabel = "EXPORTER-dhpvm";
constexpr std::string_view kLastWordLabel = "EXPORTER-dhpvm last word";
// The prefix of a version of the protocol in the name for ALPN.
constexpr std::string_view kVersionName = "dhpvm/";

// The text of OpenSSL's oldest error; clears all errors.
std::string reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "no reason given" : text;
}

// The reason why the other side's certificate is refused; null if it is not.
const char* certificate_problem(const SSL* ssl) {
  switch (SSL_get_verify_result(ssl)) {
    case X509_V_OK: return nullptr;
    case X509_V_ERR_CERT_HAS_EXPIRED: return "its certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet: one of the two clocks may be wrong";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "its certificate is not for the name or address that was dialled (subjectAltName)";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "its certificate is not of the authority that is trusted here";
    case X509_V_ERR_CERT_REVOKED: return "its certificate has been revoked";
    default: return "its certificate is not valid";
  }
}

// The reason why the other side has refused, from its TLS alert; null for other errors.
const char* alert_problem(unsigned long code) {
  switch (ERR_GET_REASON(code)) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED: return "it says that this side's certificate has expired";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return "it says that this side's certificate has been revoked";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: return "it does not trust the authority of this side's certificate";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return "it wants a certificate of this side";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE: return "it does not accept this side's certificate";
    default: return nullptr;
  }
}

// A key, and its owner.
struct Secret {
  explicit Secret(ClientKey given) : client(std::move(given.client)), key(std::move(given.key)) {
    // A part of a hash, which distinguishes keys without revealing them.
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    constexpr std::string_view kLabel = "dhpvm key ";
    SecretBytes text(kLabel.size() + key.size());
    std::ranges::copy(std::as_bytes(std::span(kLabel)), text.begin());
    std::ranges::copy(key, text.begin() + kLabel.size());
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
    for (std::size_t i = 0; i < 8; ++i) name += fmt::format("{:02x}", digest[i]);
  }

  std::string client;
  SecretBytes key;
  std::string name;  // of the key, in the first message of TLS
};

// The name in a certificate; empty when it has none, several, or one that could be mistaken for another: rights depend
// on it, and it goes into logs.
std::string common_name(const X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return {};
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  const bool is_plain = std::ranges::all_of(name, [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code >= ' ' && code != 0x7f;
  });
  return is_plain && name.size() <= kLongestCertificateName ? name : std::string();
}

class TlsIdentity;

class TlsHandshake final : public Handshake {
 public:
  TlsHandshake(std::unique_ptr<SSL, FreeSsl> ssl, bool dials, IdentityKind kind)
      : ssl_(std::move(ssl)), dials_(dials), kind_(kind) {}

  Status step(ConstBytes input, std::vector<std::byte>& out) override;
  bool done() const override { return done_; }
  std::string peer() const override;
  std::string key_name() const override;
  std::uint16_t newest_there() const override;
  Result<SealPair> seals(ConstBytes context) override;
  Result<std::unique_ptr<Seal>> last_word_seal(ConstBytes context, SealUse use) override;

 private:
  Status proven() const;
  Status derive(std::span<GcmSecret> secrets, std::string_view label, ConstBytes context) const;

  const std::unique_ptr<SSL, FreeSsl> ssl_;  // owns its memory BIOs
  const bool dials_;
  const IdentityKind kind_;
  bool done_ = false;
};

class TlsIdentity final : public Identity {
 public:
  // Without keys, the identity has certificates.
  TlsIdentity(Context context, std::vector<ClientKey> keys) : context_(std::move(context)) {
    for (ClientKey& key : keys) secrets_.emplace_back(std::move(key));
  }

  Status prepare();
  IdentityKind kind() const override {
    return secrets_.empty() ? IdentityKind::kCertificate : IdentityKind::kKey;
  }
  std::vector<std::string> key_names() const override {
    std::vector<std::string> names;
    for (const Secret& secret : secrets_) names.push_back(secret.name);
    return names;
  }
  Result<std::unique_ptr<Handshake>> begin(bool dials, const std::string& host,
                                           std::uint16_t newest) override;

 private:
  static TlsIdentity& of(SSL* ssl) {
    return *static_cast<TlsIdentity*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  }
  static int use_key(SSL* ssl, const EVP_MD* digest, const unsigned char** name, std::size_t* name_size,
                     SSL_SESSION** session);
  static int find_key(SSL* ssl, const unsigned char* name, std::size_t name_size, SSL_SESSION** session);
  static SSL_SESSION* make_session(SSL* ssl, const Secret& secret);
  static int select_version(SSL* ssl, const unsigned char** name, unsigned char* name_size,
                            const unsigned char* names, unsigned names_size, void* unused);

  const Context context_;
  std::list<Secret> secrets_;  // constant after the constructor
};

Status TlsIdentity::prepare() {
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_app_data(context, this);
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  // Sessions are never resumed: no tickets, no session cache, no early data.
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_set_ciphersuites(context, kCipher) != 1) {
    return error(ErrorCode::kUnsupported, "this OpenSSL has no {}: {}", kCipher, reason());
  }
  // With a key, a dialled side that shows a certificate is refused; with certificates, a side that shows none is
  // refused.
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_alpn_select_cb(context, select_version, nullptr);
  if (!secrets_.empty()) {
    SSL_CTX_set_psk_use_session_callback(context, use_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
  }
  return {};
}

SSL_SESSION* TlsIdentity::make_session(SSL* ssl, const Secret& secret) {
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, kCipherNumber);
  std::unique_ptr<SSL_SESSION, FreeSsl> session(SSL_SESSION_new());
  if (cipher == nullptr || session == nullptr ||
      SSL_SESSION_set1_master_key(session.get(), reinterpret_cast<const unsigned char*>(secret.key.data()),
                                  secret.key.size()) != 1 ||
      SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1) {
    return nullptr;
  }
  return session.release();
}

int TlsIdentity::use_key(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* name_size,
                         SSL_SESSION** session) {
  Secret& own = of(ssl).secrets_.front();
  SSL_set_app_data(ssl, &own);
  *session = make_session(ssl, own);
  *name = reinterpret_cast<const unsigned char*>(own.name.data());
  *name_size = own.name.size();
  return *session == nullptr ? 0 : 1;
}

int TlsIdentity::find_key(SSL* ssl, const unsigned char* name, std::size_t name_size, SSL_SESSION** session) {
  *session = nullptr;
  std::list<Secret>& secrets = of(ssl).secrets_;
  const std::string_view wanted(reinterpret_cast<const char*>(name), name_size);
  const auto found = std::ranges::find(secrets, wanted, &Secret::name);
  // Another key: the handshake continues without one, and fails because there is no certificate.
  if (found == secrets.end()) return 1;
  SSL_set_app_data(ssl, &*found);
  *session = make_session(ssl, *found);
  return *session == nullptr ? 0 : 1;
}

// Accepts any version that the other side has stated: Handshake::newest_there() reads it.
int TlsIdentity::select_version(SSL*, const unsigned char** name, unsigned char* name_size,
                                const unsigned char* names, unsigned names_size, void*) {
  for (std::span<const unsigned char> rest(names, names_size); !rest.empty();) {
    const std::span<const unsigned char> entry =
        rest.subspan(1, std::min<std::size_t>(rest[0], rest.size() - 1));
    rest = rest.subspan(1 + entry.size());
    const std::string_view text(reinterpret_cast<const char*>(entry.data()), entry.size());
    if (!text.starts_with(kVersionName)) continue;
    *name = entry.data();
    *name_size = static_cast<unsigned char>(entry.size());
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

Result<std::unique_ptr<Handshake>> TlsIdentity::begin(bool dials, const std::string& host,
                                                      std::uint16_t newest) {
  std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context_.get()));
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (ssl == nullptr || in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    return error(ErrorCode::kInternal, "OpenSSL could not begin a handshake: {}", reason());
  }
  SSL_set_bio(ssl.get(), in, out);
  if (dials) {
    SSL_set_connect_state(ssl.get());
    std::string version = fmt::format("{}{}", kVersionName, newest);
    version.insert(version.begin(), static_cast<char>(version.size()));
    if (SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(version.data()),
                            static_cast<unsigned>(version.size())) != 0) {
      return error(ErrorCode::kInternal, "OpenSSL could not begin a handshake: {}", reason());
    }
    if (kind() == IdentityKind::kCertificate && !host.empty()) {
      X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl.get());
      if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1 &&
          SSL_set1_host(ssl.get(), host.c_str()) != 1) {
        return error(ErrorCode::kInvalidArgument, "no certificate can be for the host '{}'", host);
      }
      ERR_clear_error();
    }
  } else {
    SSL_set_accept_state(ssl.get());
    if (kind() == IdentityKind::kKey)
      SSL_set_verify(ssl.get(), SSL_VERIFY_NONE, nullptr);  // proven() checks the key
  }
  return std::unique_ptr<Handshake>(std::make_unique<TlsHandshake>(std::move(ssl), dials, kind()));
}

Status TlsHandshake::step(ConstBytes input, std::vector<std::byte>& out) {
  ERR_clear_error();
  BIO* const in = SSL_get_rbio(ssl_.get());
  if (!input.empty() &&
      BIO_write(in, input.data(), static_cast<int>(input.size())) != static_cast<int>(input.size())) {
    return error(ErrorCode::kInternal, "OpenSSL could not take {} bytes: {}", input.size(), reason());
  }
  // After the handshake, only an alert can come, which is not part of it.
  char nothing;
  const int result = done_ ? SSL_read(ssl_.get(), &nothing, 1) : SSL_do_handshake(ssl_.get());
  const int state = SSL_get_error(ssl_.get(), result);
  Status status;
  if (result == 1) {
    if (done_) return error(ErrorCode::kProtocol, "the other side goes on with TLS where it should not");
    done_ = true;
    status = proven();
  } else if (state != SSL_ERROR_WANT_READ) {
    const unsigned long code = ERR_peek_error();
    const char* problem = certificate_problem(ssl_.get());
    if (problem == nullptr) problem = alert_problem(code);
    if (problem != nullptr) {
      ERR_clear_error();
      status = error(ErrorCode::kDeviceLost, "the other side could not be authenticated: {}", problem);
    }
    const char* const advice = kind_ == IdentityKind::kKey
                                   ? "both sides must have the same key file"
                                   : "both sides need certificates of an authority that the "
                                     "other one trusts, and the dialled one for its host's name";
    if (problem == nullptr) {
      status = error(ErrorCode::kDeviceLost, "the other side could not be authenticated ({}): {}", reason(),
                     advice);
    }
  }
  std::array<std::byte, 4096> buffer;
  BIO* const from = SSL_get_wbio(ssl_.get());
  for (int size; (size = BIO_read(from, buffer.data(), static_cast<int>(buffer.size()))) > 0;) {
    out.insert(out.end(), buffer.begin(), buffer.begin() + size);
  }
  return status;
}

// Checks that the handshake used the identity that was to be proven: a certificate must not do where a key is required.
Status TlsHandshake::proven() const {
  if (kind_ == IdentityKind::kKey) {
    if (SSL_session_reused(ssl_.get()) == 1) return {};
  } else {
    const std::unique_ptr<X509, FreeSsl> certificate(SSL_get1_peer_certificate(ssl_.get()));
    if (certificate != nullptr && SSL_get_verify_result(ssl_.get()) == X509_V_OK) return {};
  }
  return error(ErrorCode::kDeviceLost, "the other side has not proven who it is");
}

std::string TlsHandshake::key_name() const {
  if (kind_ != IdentityKind::kKey) return {};
  const auto* const secret = static_cast<const Secret*>(SSL_get_app_data(ssl_.get()));
  return secret == nullptr ? std::string() : secret->name;
}

std::uint16_t TlsHandshake::newest_there() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  std::string_view text(reinterpret_cast<const char*>(name), size);
  if (dials_ || !text.starts_with(kVersionName)) return 0;
  text.remove_prefix(kVersionName.size());
  std::uint16_t version = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), version);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? version : 0;
}

std::string TlsHandshake::peer() const {
  if (kind_ == IdentityKind::kKey) {
    const auto* const secret = static_cast<const Secret*>(SSL_get_app_data(ssl_.get()));
    return secret == nullptr ? std::string() : secret->client;
  }
  const std::unique_ptr<X509, FreeSsl> certificate(SSL_get1_peer_certificate(ssl_.get()));
  return certificate == nullptr ? std::string() : common_name(certificate.get());
}

Status TlsHandshake::derive(std::span<GcmSecret> secrets, std::string_view label, ConstBytes context) const {
  static_assert(sizeof(GcmSecret) == 32 + 12);
  if (SSL_export_keying_material(
          ssl_.get(), reinterpret_cast<unsigned char*>(secrets.data()), secrets.size_bytes(), label.data(),
          label.size(), reinterpret_cast<const unsigned char*>(context.data()), context.size(), 1) != 1) {
    return error(ErrorCode::kInternal, "OpenSSL could not derive keys: {}", reason());
  }
  return {};
}

Result<SealPair> TlsHandshake::seals(ConstBytes context) {
  GcmSecret secrets[2];  // of the side that has dialled, and of the other side
  DHPVM_TRY(derive(secrets, kExporterLabel, context));
  SealPair pair;
  pair.outgoing = std::make_unique<AesGcm>(secrets[dials_ ? 0 : 1], SealUse::kSeal);
  pair.incoming = std::make_unique<AesGcm>(secrets[dials_ ? 1 : 0], SealUse::kOpen);
  OPENSSL_cleanse(secrets, sizeof(secrets));
  return pair;
}

Result<std::unique_ptr<Seal>> TlsHandshake::last_word_seal(ConstBytes context, SealUse use) {
  GcmSecret secret;
  DHPVM_TRY(derive({&secret, 1}, kLastWordLabel, context));
  auto seal = std::make_unique<AesGcm>(secret, use);
  OPENSSL_cleanse(&secret, sizeof(secret));
  return std::unique_ptr<Seal>(std::move(seal));
}

Status load_certificates(SSL_CTX* context, const Credentials& credentials) {
  const auto failed = [](const char* what, const std::string& file) {
    return error(ErrorCode::kInvalidArgument, "cannot use {} as {}: {}", file, what, reason());
  };
  struct stat facts{};
  if (stat(credentials.private_key_file.c_str(), &facts) == 0)
    DHPVM_TRY(check_secrecy("the private key", credentials.private_key_file, facts.st_mode));
  if (SSL_CTX_use_certificate_chain_file(context, credentials.certificate_file.c_str()) != 1) {
    return failed("the certificate", credentials.certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context, credentials.private_key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return failed("the private key of the certificate", credentials.private_key_file);
  }
  if (SSL_CTX_load_verify_locations(context, credentials.authority_file.c_str(), nullptr) != 1) {
    return failed("the certificate of the authority", credentials.authority_file);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Identity>> load_tls_identity(const Credentials& credentials) {
  Context context(SSL_CTX_new(TLS_method()));
  if (context == nullptr) return error(ErrorCode::kUnsupported, "OpenSSL cannot be used: {}", reason());
  std::vector<ClientKey> keys = credentials.clients;
  if (!credentials.key.empty()) keys.insert(keys.begin(), ClientKey{{}, credentials.key});
  if (keys.empty()) DHPVM_TRY(load_certificates(context.get(), credentials));
  for (const ClientKey& key : keys) {
    if (key.key.size() == kKeyBytes) continue;
    return error(ErrorCode::kInvalidArgument, "a key has {} bytes, not {}", kKeyBytes, key.key.size());
  }
  auto identity = std::make_unique<TlsIdentity>(std::move(context), std::move(keys));
  DHPVM_TRY(identity->prepare());
  return std::unique_ptr<Identity>(std::move(identity));
}

}  // namespace dhpvm::offload
