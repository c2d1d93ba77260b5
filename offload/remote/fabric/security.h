// SPDX-License-Identifier: Apache-2.0
// Authentication and protection of connections: interfaces, implemented with OpenSSL behind fabric.h.
//
// Two sides authenticate each other by a common secret key (a file), or by certificates of a common authority. From
// that TLS 1.3 derives fresh keys for every connection, which stay secret even if the secret is lost later; with these,
// AES-256-GCM seals every message.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dhpvm/result.h"
#include "offload/remote/fabric/secret_bytes.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

// The protection of bulk data; frames are always sealed when there is a secret. The stricter setting of the two sides
// applies.
enum class SealMode : std::uint8_t {
  kNone,       // as it is
  kIntegrity,  // readable by others; changes are detected
  kFull,
};

// On the wire; the numbers are fixed.
enum class IdentityKind : std::uint8_t { kNone = 0, kKey = 1, kCertificate = 2 };

// A longer name in a certificate counts as none.
inline constexpr std::size_t kLongestCertificateName = 64;

inline constexpr std::size_t kTagBytes = 16;
using Tag = std::array<std::byte, kTagBytes>;

// A seal on its way to another process: secret.
struct SealState {
  SealState() = default;
  SealState(const SealState&) = default;
  SealState& operator=(const SealState&) = default;
  ~SealState() { explicit_bzero(secret.data(), secret.size()); }
  std::array<std::byte, 44> secret{};  // the key, and the start of the nonces
  std::uint64_t messages = 0;          // sealed or opened so far
};
struct SealStates {
  SealState outgoing;
  SealState incoming;
};

// Seals or opens the messages of one direction of one connection, in their order: each is opened only where and when it
// was sealed, so that a message that is repeated, left out or moved is noticed. Used by one thread at a time.
class Seal {
 public:
  virtual ~Seal() = default;
  // Encrypts `from` into `to`, of the same size, and makes the tag of that and of `readable`, which is sent as it is.
  // `to` may be `from`.
  virtual Status seal(ConstBytes readable, ConstBytes from, MutableBytes to, Tag& tag) = 0;
  // Decrypts in place, or fails when anything is not as it was sealed; the data is useless then.
  virtual Status open(ConstBytes readable, MutableBytes data, const Tag& tag) = 0;
  // For TlsLibrary::resume; this seal is not used any more.
  virtual SealState state() const = 0;
};

enum class SealUse : std::uint8_t { kSeal, kOpen };

struct SealPair {
  std::unique_ptr<Seal> outgoing;
  std::unique_ptr<Seal> incoming;
};

// One side of the mutual authentication.
class Handshake {
 public:
  virtual ~Handshake() = default;
  // Takes the other side's bytes, none at first, and adds the reply to `out`, also when this fails: the other side then
  // learns why. Input after it is done() tells why the other side has failed.
  virtual Status step(ConstBytes input, std::vector<std::byte>& out) = 0;
  virtual bool done() const = 0;
  // The rest only when done(). The other side's name, for messages: that in its certificate, or of the client whose key
  // it has; empty where all have the same key.
  virtual std::string peer() const = 0;
  // The name of the key, which tells nothing about it; empty with certificates.
  virtual std::string key_name() const = 0;
  // For the side that was dialled: the newest version of the protocol that the other one speaks, as it has stated
  // inside TLS, where it cannot be changed. 0 if it has not: releases of version 3 and before do not.
  virtual std::uint16_t newest_there() const = 0;
  // Fresh keys, bound to `context`: both sides must give the same bytes.
  virtual Result<SealPair> seals(ConstBytes context) = 0;
  // One for a single message of the worker, which may follow any of the others (last_word.h).
  virtual Result<std::unique_ptr<Seal>> last_word_seal(ConstBytes context, SealUse use) = 0;
};

// A secret that has been loaded. Thread-safe.
class Identity {
 public:
  virtual ~Identity() = default;
  virtual IdentityKind kind() const = 0;
  // The names of its keys; none with certificates.
  virtual std::vector<std::string> key_names() const = 0;
  // `host` is who is dialled: a certificate must be for that name or address. Empty for the side that listens.
  // `newest`: the newest version of the protocol that this side speaks, for Handshake::newest_there().
  virtual Result<std::unique_ptr<Handshake>> begin(bool dials, const std::string& host,
                                                   std::uint16_t newest) = 0;
};

// A key that one client has.
struct ClientKey {
  std::string client;
  SecretBytes key;
};

// Either keys, or all three files.
struct Credentials {
  SecretBytes key;
  std::string certificate_file;  // PEM, with those between it and the authority
  std::string private_key_file;  // PEM
  std::string authority_file;    // PEM: whose certificates are accepted
  std::vector<ClientKey> clients = {};
};

}  // namespace dhpvm::offload
