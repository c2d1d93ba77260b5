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
  kNone,       // not protected
  kIntegrity,  // readable by others; changes are detected
  kFull,
};

// On the wire; the numbers are fixed.
enum class IdentityKind : std::uint8_t { kNone = 0, kKey = 1, kCertificate = 2 };

// A longer name in a certificate is ignored.
inline constexpr std::size_t kLongestCertificateName = 64;

inline constexpr std::size_t kTagBytes = 16;
using Tag = std::array<std::byte, kTagBytes>;

// The state of a seal, to be passed to another process. Secret.
struct SealState {
  SealState() = default;
  SealState(const SealState&) = default;
  SealState& operator=(const SealState&) = default;
  ~SealState() { explicit_bzero(secret.data(), secret.size()); }
  std::array<std::byte, 44> secret{};  // the key, and the start of the nonces
  std::uint64_t messages = 0;          // the number of messages sealed or opened so far
};
struct SealStates {
  SealState outgoing;
  SealState incoming;
};

// Seals or opens the messages of one direction of one connection, in their order: each must be opened in its place, so
// that a message that is repeated, left out or moved is noticed. Used by one thread at a time.
class Seal {
 public:
  virtual ~Seal() = default;
  // Encrypts `from` into `to`, of the same size, and makes the tag of that and of `readable`, which is sent in the
  // clear. `to` may be `from`.
  virtual Status seal(ConstBytes readable, ConstBytes from, MutableBytes to, Tag& tag) = 0;
  // Decrypts in place. Fails when anything differs from what was sealed; the data is useless then.
  virtual Status open(ConstBytes readable, MutableBytes data, const Tag& tag) = 0;
  // For TlsLibrary::resume; afterwards this seal must not be used any more.
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
  // Takes the other side's bytes (none at first), and appends the reply to `out`, also when it fails, so that the other
  // side learns why. Input after done() reports why the other side has failed.
  virtual Status step(ConstBytes input, std::vector<std::byte>& out) = 0;
  virtual bool done() const = 0;
  // The functions below only after done(). The other side's name, for messages: the one in its certificate, or the
  // name of the client whose key it has; empty if all have the same key.
  virtual std::string peer() const = 0;
  // The name of the key, which reveals nothing about the key; empty with certificates.
  virtual std::string key_name() const = 0;
  // For the side that was dialled: the newest version of the protocol that the other side speaks, as stated inside TLS,
  // where it cannot be changed. 0 if it was not stated: versions up to 3 do not state it.
  virtual std::uint16_t newest_there() const = 0;
  // Fresh keys, bound to `context`: both sides must pass the same bytes.
  virtual Result<SealPair> seals(ConstBytes context) = 0;
  // A seal for a single message of the worker, which may follow any other message (last_word.h).
  virtual Result<std::unique_ptr<Seal>> last_word_seal(ConstBytes context, SealUse use) = 0;
};

// A secret that has been loaded. Thread-safe.
class Identity {
 public:
  virtual ~Identity() = default;
  virtual IdentityKind kind() const = 0;
  // The names of its keys; empty with certificates.
  virtual std::vector<std::string> key_names() const = 0;
  // `host`: the name that was dialled; a certificate must be for that name or address. Empty for the side that listens.
  // `newest`: the newest version of the protocol that this side speaks, for Handshake::newest_there().
  virtual Result<std::unique_ptr<Handshake>> begin(bool dials, const std::string& host,
                                                   std::uint16_t newest) = 0;
};

// A key of one client.
struct ClientKey {
  std::string client;
  SecretBytes key;
};

// Either keys, or all three files.
struct Credentials {
  SecretBytes key;
  std::string certificate_file;  // PEM, with the certificates between it and the authority
  std::string private_key_file;  // PEM
  std::string authority_file;    // PEM: whose certificates are accepted
  std::vector<ClientKey> clients = {};
};

}  // namespace dhpvm::offload
