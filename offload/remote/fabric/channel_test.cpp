// SPDX-License-Identifier: Apache-2.0
// Channels and their lanes, with and without secrets, over a network with faults.
#include "offload/remote/fabric/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <mutex>

#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/fabric/loopback.h"
#include "offload/remote/fabric/noted.h"

namespace dhpvm::offload {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes numbers(std::size_t count, unsigned seed = 1) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed) & 0xff);
  return bytes;
}

// One end: makes the requested lane, and records its events.
class End final : public FrameHandler,
                  public BulkHandler,
                  public Noted,
                  public std::enable_shared_from_this<End> {
 public:
  void on_open() override {
    note([&] { open_ = true; });
  }
  void on_frame(ConstBytes frame) override {
    note([&] { frames_.emplace_back(frame.begin(), frame.end()); });
  }
  void on_closed(const Error& reason) override {
    note([&] {
      EXPECT_FALSE(ended_);
      ended_ = reason;
    });
  }
  void on_bulk_open() override { on_open(); }
  void on_bulk_closed(const Error& reason) override { on_closed(reason); }
  void on_run(ConstBytes header, std::uint64_t bytes) override {
    const std::size_t run = runs_.size();
    note([&] { runs_.push_back({{header.begin(), header.end()}, Bytes(bytes), bytes == 0}); });
    // In parts, as a receiver with little memory would.
    for (std::size_t at = 0; at < bytes; at += 3 * BulkLane::kPieceBytes) {
      const std::size_t size = std::min<std::size_t>(bytes - at, 3 * BulkLane::kPieceBytes);
      const bool last = at + size == bytes;
      bulk_->receive(MutableBytes(runs_[run].bytes).subspan(at, size),
                     [this, run, last](const Status& status) {
                       if (last && status.ok()) note([&] { runs_[run].complete = true; });
                     });
    }
  }

  Channel::MakeLane make_lane() {
    return [self = shared_from_this()](const std::shared_ptr<Channel>& channel,
                                       LaneKind kind) -> std::shared_ptr<Lane> {
      if (kind == LaneKind::kFrames) {
        self->frame_ = std::make_shared<FrameLane>(channel, self, FrameLaneOptions{self->silence_});
        return self->frame_;
      }
      self->bulk_ = std::make_shared<BulkLane>(channel, self);
      return self->bulk_;
    };
  }
  Channel::Failed failed() {
    return [self = shared_from_this()](const Error& reason) { self->on_closed(reason); };
  }

  bool wait_open() {
    return wait([&] { return open_ || ended_; }) && open_;
  }
  bool wait_end() {
    return wait([&] { return ended_.has_value(); });
  }
  std::string end() { return ended_ ? ended_->to_string() : "no end"; }

  struct Run {
    Bytes header;
    Bytes bytes;
    bool complete;
  };
  std::chrono::milliseconds silence_{3000};
  std::shared_ptr<FrameLane> frame_;
  std::shared_ptr<BulkLane> bulk_;
  bool open_ = false;
  std::deque<Bytes> frames_;
  std::deque<Run> runs_;
  std::optional<Error> ended_;
};

// A client and a worker, on the loopback transport or on libfabric's.
class Pair {
 public:
  explicit Pair(bool over_tcp = false, FaultPlan from_client = {}, FaultPlan from_worker = {}) {
    auto loaded = load_fabric(FABRIC_FOLDER);
    EXPECT_TRUE(loaded.ok());
    fabric_ = std::move(loaded).value();
    here_ = over_tcp ? *fabric_->create_transport({}) : network_.create_transport(std::move(from_client));
    there_ = over_tcp ? *fabric_->create_transport({}) : network_.create_transport(std::move(from_worker));
    worker_options_.role = Role::kWorker;
  }
  ~Pair() {
    // The lanes' owners are done with them before their transports go.
    listener_ = nullptr;
    here_ = nullptr;
    there_ = nullptr;
  }

  void use_key(std::byte seed, bool for_client = true, bool for_worker = true) {
    const auto identity =
        std::shared_ptr<Identity>(*fabric_->load_identity({SecretBytes(kKeyBytes, seed), {}, {}, {}}));
    if (for_client) client_options_.identity = identity;
    if (for_worker) worker_options_.identity = identity;
  }

  void start(LaneKind kind = LaneKind::kFrames) {
    auto listener = there_->listen({"127.0.0.1", 0}, [this](std::shared_ptr<Connection> connection) {
      return Channel::accept(*there_, std::move(connection), worker_options_, worker_->make_lane(),
                             worker_->failed());
    });
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(listener).value();
    Channel::dial(*here_, listener_->address(), host_, kind, client_options_, client_->make_lane(),
                  client_->failed());
  }
  void open(LaneKind kind = LaneKind::kFrames) {
    start(kind);
    ASSERT_TRUE(client_->wait_open()) << client_->end();
    ASSERT_TRUE(worker_->wait_open()) << worker_->end();
  }

  LoopbackNetwork network_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Transport> here_;
  std::unique_ptr<Transport> there_;
  std::unique_ptr<Listener> listener_;
  ChannelOptions client_options_;
  ChannelOptions worker_options_;
  std::string host_ = "localhost";
  std::shared_ptr<End> client_ = std::make_shared<End>();
  std::shared_ptr<End> worker_ = std::make_shared<End>();
};

// ---- Certificates for the tests -------------------------------------------------------------------------------------

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key make_private_key() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

Certificate sign(const std::string& name, const char* host, EVP_PKEY* key, X509* issuer,
                 EVP_PKEY* issuer_key) {
  Certificate made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), issuer == nullptr ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.data()),
                             static_cast<int>(name.size()), -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer == nullptr ? made.get() : issuer));
  const auto extend = [&](int kind, const std::string& value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    X509_add_ext(made.get(), extension, -1);
    X509_EXTENSION_free(extension);
  };
  if (issuer == nullptr) extend(NID_basic_constraints, "critical,CA:TRUE");
  if (host != nullptr) extend(NID_subject_alt_name, std::string("DNS:") + host);
  X509_sign(made.get(), issuer_key, EVP_sha256());
  return made;
}

class Certificates {
 public:
  explicit Certificates(const std::string& client = "client")
      : folder_(::testing::TempDir() + "dhpvm_tls_" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
    const Key authority_key = make_private_key();
    const Certificate authority =
        sign("test authority", nullptr, authority_key.get(), nullptr, authority_key.get());
    write("authority.pem", [&](FILE* file) { PEM_write_X509(file, authority.get()); });
    for (const char* name : {"client", "worker"}) {
      const Key key = make_private_key();
      const Certificate certificate = sign(std::string_view(name) == "client" ? client : name, "localhost",
                                           key.get(), authority.get(), authority_key.get());
      write(std::string(name) + ".pem", [&](FILE* file) { PEM_write_X509(file, certificate.get()); });
      write(std::string(name) + ".key", [&](FILE* file) {
        PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
      });
    }
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }
  Credentials of(const std::string& name) const {
    return {{}, folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key", folder_ + "/authority.pem"};
  }

 private:
  template <typename Write>
  void write(const std::string& name, Write write_to) {
    FILE* const file = std::fopen((folder_ + "/" + name).c_str(), "w");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(fchmod(fileno(file), 0600), 0);
    write_to(file);
    std::fclose(file);
  }
  const std::string folder_;
};

// ---- Opening --------------------------------------------------------------------------------------------------------

TEST(Channel, FramesWithoutAKeyStayOnThisMachine) {
  for (const bool over_tcp : {false, true}) {
    Pair pair(over_tcp);
    pair.open();
    for (unsigned i = 0; i < 200; ++i) pair.client_->frame_->send(numbers(i * 80, i));
    for (unsigned i = 0; i < 200; ++i) pair.worker_->frame_->send(numbers(i, i));
    ASSERT_TRUE(pair.worker_->wait([&] { return pair.worker_->frames_.size() == 200; }))
        << pair.worker_->end();
    ASSERT_TRUE(pair.client_->wait([&] { return pair.client_->frames_.size() == 200; }))
        << pair.client_->end();
    for (unsigned i = 0; i < 200; ++i) ASSERT_EQ(pair.worker_->frames_[i], numbers(i * 80, i));
  }
}

TEST(Channel, FramesWithAKey) {
  for (const bool over_tcp : {false, true}) {
    Pair pair(over_tcp);
    pair.use_key(std::byte{7});
    pair.open();
    for (unsigned i = 0; i < 200; ++i) pair.client_->frame_->send(numbers(i * 80, i));
    ASSERT_TRUE(pair.worker_->wait([&] { return pair.worker_->frames_.size() == 200; }))
        << pair.worker_->end();
    for (unsigned i = 0; i < 200; ++i) ASSERT_EQ(pair.worker_->frames_[i], numbers(i * 80, i));
    pair.worker_->frame_->send(numbers(FrameLane::kLargestFrame));
    ASSERT_TRUE(pair.client_->wait([&] { return pair.client_->frames_.size() == 1; })) << pair.client_->end();
  }
}

// An eavesdropper cannot read frames.
TEST(Channel, FramesAreUnreadableWithAKey) {
  const std::string secret = "the content of this frame is nobody's business";
  std::mutex mutex;
  std::string wire;
  Pair pair(false, [&](unsigned, std::uint64_t, ConstBytes bytes) {
    const std::lock_guard lock(mutex);
    wire.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Fault{};
  });
  pair.use_key(std::byte{7});
  pair.open();
  pair.client_->frame_->send(std::as_bytes(std::span(secret)));
  ASSERT_TRUE(pair.worker_->wait([&] { return pair.worker_->frames_.size() == 1; }));
  const std::lock_guard lock(mutex);
  EXPECT_GT(wire.size(), secret.size());
  EXPECT_EQ(wire.find(secret), std::string::npos);
}

TEST(Channel, WrongKey) {
  Pair pair;
  pair.use_key(std::byte{1}, true, false);
  pair.use_key(std::byte{2}, false, true);
  pair.start();
  ASSERT_TRUE(pair.client_->wait_end());
  ASSERT_TRUE(pair.worker_->wait_end());
  EXPECT_FALSE(pair.client_->open_);
  EXPECT_FALSE(pair.worker_->open_);
  EXPECT_THAT(pair.client_->end(), HasSubstr("the same key file"));
  EXPECT_THAT(pair.worker_->end(), HasSubstr("the same key file"));
}

TEST(Channel, KeyAtOneSideOnly) {
  for (const bool client_has_it : {false, true}) {
    Pair pair;
    pair.use_key(std::byte{1}, client_has_it, !client_has_it);
    pair.start();
    ASSERT_TRUE(pair.client_->wait_end());
    ASSERT_TRUE(pair.worker_->wait_end());
    EXPECT_THAT(pair.client_->end(), HasSubstr("--key-file"));
    EXPECT_THAT(pair.worker_->end(), HasSubstr("--key-file"));
  }
}

TEST(Channel, Certificates) {
  const Certificates files;
  Pair pair(true);
  pair.client_options_.identity = *pair.fabric_->load_identity(files.of("client"));
  pair.worker_options_.identity = *pair.fabric_->load_identity(files.of("worker"));
  pair.open();
  pair.client_->frame_->send(numbers(100));
  ASSERT_TRUE(pair.worker_->wait([&] { return pair.worker_->frames_.size() == 1; })) << pair.worker_->end();
  EXPECT_THAT(pair.worker_->frame_->peer(), HasSubstr("client (127.0.0.1"));
  EXPECT_THAT(pair.client_->frame_->peer(), HasSubstr("worker"));
}

// Rights hang on names: none may be taken for another.
TEST(Channel, UnusualNamesInCertificatesCountAsNone) {
  using std::string_literals::operator""s;
  for (const std::string& name : {"client\0.evil.org"s,
                                  "cli\x01"
                                  "ent"s,
                                  "client\x7f"s}) {
    const Certificates files(name);
    Pair pair(true);
    pair.client_options_.identity = *pair.fabric_->load_identity(files.of("client"));
    pair.worker_options_.identity = *pair.fabric_->load_identity(files.of("worker"));
    pair.open();
    EXPECT_EQ(pair.worker_->frame_->channel().name(), "");
  }
}

TEST(Channel, KeysAndCertificatesAtOneDoor) {
  const Certificates files;
  for (const bool with_key : {true, false}) {
    Pair pair(true);
    pair.use_key(std::byte{1}, with_key, true);
    pair.worker_options_.other_identity = *pair.fabric_->load_identity(files.of("worker"));
    if (!with_key) pair.client_options_.identity = *pair.fabric_->load_identity(files.of("client"));
    pair.open();
    EXPECT_EQ(pair.worker_->frame_->channel().name(), with_key ? "" : "client");
    EXPECT_EQ(pair.worker_->frame_->channel().key_name().empty(), !with_key);
  }
}

TEST(Channel, CertificateForAnotherHost) {
  const Certificates files;
  Pair pair;
  pair.host_ = "elsewhere.example.org";
  pair.client_options_.identity = *pair.fabric_->load_identity(files.of("client"));
  pair.worker_options_.identity = *pair.fabric_->load_identity(files.of("worker"));
  pair.start();
  ASSERT_TRUE(pair.client_->wait_end());
  EXPECT_FALSE(pair.client_->open_);
  EXPECT_THAT(pair.client_->end(), HasSubstr("not for the name or address that was dialled"));
  ASSERT_TRUE(pair.worker_->wait_end());
}

TEST(Channel, CertificateOfAnotherAuthority) {
  Credentials foreign;
  const Certificates files;
  Pair pair;
  pair.worker_options_.identity = *pair.fabric_->load_identity(files.of("worker"));
  std::filesystem::path folder = ::testing::TempDir() + "other";
  // The same names, signed by another authority, in a folder of their own.
  const std::filesystem::path ours = std::filesystem::path(files.of("client").authority_file).parent_path();
  std::filesystem::rename(ours, folder);
  {
    const Certificates others;
    pair.client_options_.identity = *pair.fabric_->load_identity(others.of("client"));
    pair.start();
    ASSERT_TRUE(pair.client_->wait_end());
    ASSERT_TRUE(pair.worker_->wait_end());
    EXPECT_FALSE(pair.worker_->open_);
  }
  std::filesystem::remove_all(folder);
}

TEST(Channel, UnusableCredentials) {
  const Pair pair;
  EXPECT_FALSE(pair.fabric_->load_identity({SecretBytes(31), {}, {}, {}}).ok());
  const auto missing =
      pair.fabric_->load_identity({{}, "/nonexistent.pem", "/nonexistent.key", "/nonexistent.ca"});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message(), HasSubstr("/nonexistent.pem"));
}

TEST(Channel, TwoOfTheSameRole) {
  Pair pair;
  pair.worker_options_.role = Role::kClient;
  pair.start();
  ASSERT_TRUE(pair.client_->wait_end());
  EXPECT_THAT(pair.client_->end(), HasSubstr("not a worker"));
}

// Plays a part by hand against a channel, on a connection of its own.
class Stranger final : public ConnectionHandler, public Noted {
 public:
  explicit Stranger(std::vector<Bytes> says) : says_(std::move(says)) {}
  void on_connected() override {
    for (const Bytes& message : says_) connection_->send_copy(message);
  }
  void on_received(std::uint64_t, std::size_t bytes) override {
    note([&] { heard_.emplace_back(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(bytes)); });
  }
  void on_sent(std::uint64_t) override {}
  void on_closed(const Error&) override {
    note([&] { closed_ = true; });
  }
  static std::shared_ptr<Stranger> dial(Pair& pair, std::vector<Bytes> says) {
    auto stranger = std::make_shared<Stranger>(std::move(says));
    pair.here_->post([&pair, stranger] {
      stranger->connection_ = *pair.here_->connect(pair.listener_->address(), stranger);
      const MutableBytes part = stranger->memory_;
      stranger->connection_->receive({&part, 1}, 0);
    });
    return stranger;
  }
  bool wait_end() {
    return wait([&] { return closed_; });
  }
  std::vector<Bytes> heard_;

 private:
  std::vector<Bytes> says_;
  std::shared_ptr<Connection> connection_;
  Bytes memory_ = Bytes(8192);
  bool closed_ = false;
};

Bytes preamble_with(std::size_t at, unsigned value) {
  Bytes bytes = Preamble{}.to_bytes();
  bytes[at] = static_cast<std::byte>(value);
  return bytes;
}

// As releases before and after this one may send it.
Bytes of_versions(std::uint16_t highest, std::uint16_t oldest) {
  Preamble preamble;
  preamble.version = highest;
  preamble.oldest = oldest;
  return preamble.to_bytes();
}

TEST(Channel, StrangersAreSentAway) {
  const std::vector<std::pair<std::vector<Bytes>, const char*>> cases = {
      {{numbers(12)}, "does not speak"},    {{numbers(3)}, "does not speak"},
      {{Bytes()}, "does not speak"},        {{of_versions(99, 98)}, "versions 98 to 99"},
      {{of_versions(1, 0)}, "version 1 "},  {{of_versions(99, 0)}, "version 99 "},
      {{of_versions(2, 2)}, "malformed"},   {{of_versions(3, 4)}, "malformed"},
      {{preamble_with(6, 3)}, "malformed"}, {{preamble_with(7, 9)}, "malformed"},
      {{preamble_with(8, 3)}, "malformed"}, {{preamble_with(11, 1)}, "malformed"},
      {{preamble_with(6, 1)}, "a key"},     {{numbers(5000)}, "4096"},
  };
  for (const auto& [says, expected] : cases) {
    Pair pair;
    pair.start();
    ASSERT_TRUE(pair.worker_->wait_open());
    auto stranger_end = std::make_shared<End>();
    pair.worker_ = stranger_end;
    const auto stranger = Stranger::dial(pair, says);
    ASSERT_TRUE(stranger->wait_end()) << expected;
    ASSERT_TRUE(stranger_end->wait_end()) << expected;
    EXPECT_THAT(stranger_end->end(), HasSubstr(expected));
    // A client of another version learns the worker's version.
    if (std::string_view(expected) == "version 99 ") {
      ASSERT_EQ(stranger->heard_.size(), 1u);
      EXPECT_EQ(Preamble::read(stranger->heard_[0])->version, kProtocolVersion);
    }
  }
}

TEST(Channel, ClientsOfOtherReleasesGetTheHighestCommonVersion) {
  const struct {
    std::uint16_t highest, oldest, agreed, told;
  } cases[] = {{2, 0, 2, 0}, {3, 2, 3, 2}, {4, 2, 4, 2}, {5, 2, 5, 2},
               {6, 2, 6, 2}, {7, 5, 6, 2}, {99, 1, 6, 2}};
  for (const auto& [highest, oldest, agreed, told] : cases) {
    Pair pair;
    pair.start();
    ASSERT_TRUE(pair.worker_->wait_open());
    auto end = std::make_shared<End>();
    pair.worker_ = end;
    const auto stranger = Stranger::dial(pair, {of_versions(highest, oldest)});
    ASSERT_TRUE(end->wait_open()) << end->end();
    EXPECT_EQ(end->frame_->channel().version(), agreed);
    ASSERT_TRUE(stranger->wait([&] { return !stranger->heard_.empty(); }));
    Bytes answer = of_versions(agreed, told);
    answer[9] = static_cast<std::byte>(Role::kWorker);
    EXPECT_EQ(stranger->heard_[0], answer);
  }
}

// Answers with version 2 to any offer, and goes.
class Refuser final : public ConnectionHandler {
 public:
  explicit Refuser(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {
    const MutableBytes part = memory_;
    connection_->receive({&part, 1}, 0);
  }
  void on_connected() override {}
  void on_received(std::uint64_t, std::size_t) override { connection_->send_copy(of_versions(2, 0)); }
  void on_sent(std::uint64_t) override {}
  void on_closed(const Error&) override { connection_ = nullptr; }

 private:
  std::shared_ptr<Connection> connection_;
  Bytes memory_ = Bytes(4096);
};

// The first connection is answered as releases of version 2 do it, or as an attacker on the way can.
void start_behind_refuser(Pair& pair, std::atomic<unsigned>& dialled) {
  auto listener = pair.there_->listen(
      {"127.0.0.1", 0}, [&](std::shared_ptr<Connection> connection) -> std::shared_ptr<ConnectionHandler> {
        if (++dialled == 1) return std::make_shared<Refuser>(std::move(connection));
        return Channel::accept(*pair.there_, std::move(connection), pair.worker_options_,
                               pair.worker_->make_lane(), pair.worker_->failed());
      });
  ASSERT_TRUE(listener.ok());
  pair.listener_ = std::move(listener).value();
  Channel::dial(*pair.here_, pair.listener_->address(), pair.host_, LaneKind::kFrames, pair.client_options_,
                pair.client_->make_lane(), pair.client_->failed());
}

// They take their own version only, and answer others with it before they leave.
TEST(Channel, WorkersOfTheLastReleaseAreDialledAgain) {
  for (const bool with_key : {false, true}) {
    Pair pair;
    if (with_key) pair.use_key(std::byte{7});
    std::atomic<unsigned> dialled = 0;
    pair.worker_options_.version = kVersionWithoutRange;
    pair.worker_options_.newest = kVersionWithoutRange;
    start_behind_refuser(pair, dialled);
    ASSERT_TRUE(pair.client_->wait_open()) << pair.client_->end();
    ASSERT_TRUE(pair.worker_->wait_open()) << pair.worker_->end();
    EXPECT_EQ(pair.client_->frame_->channel().version(), 2);
    EXPECT_EQ(dialled, 2u);
    pair.client_->frame_->send(numbers(5));
    EXPECT_TRUE(pair.worker_->wait([&] { return pair.worker_->frames_.size() == 1; })) << pair.worker_->end();
  }
}

TEST(Channel, NobodyOnTheWayLowersTheVersion) {
  const Certificates files;
  for (const bool with_key : {false, true}) {
    Pair pair;
    if (with_key) {
      pair.use_key(std::byte{7});
    } else {
      pair.client_options_.identity = *pair.fabric_->load_identity(files.of("client"));
      pair.worker_options_.identity = *pair.fabric_->load_identity(files.of("worker"));
    }
    std::atomic<unsigned> dialled = 0;
    start_behind_refuser(pair, dialled);
    ASSERT_TRUE(pair.worker_->wait_end());
    EXPECT_FALSE(pair.worker_->open_);
    EXPECT_THAT(pair.worker_->end(),
                HasSubstr("speaks version 6 of the protocol, and its first message says 2"));
    ASSERT_TRUE(pair.client_->wait_end());
  }
}

// A later release that speaks this one's version is no attack.
TEST(Channel, LaterReleasesMayBeDialledWithAnEarlierVersion) {
  Pair pair;
  pair.use_key(std::byte{7});
  pair.client_options_.newest = 9;
  pair.open();
  EXPECT_EQ(pair.worker_->frame_->channel().version(), kProtocolVersion);
}

TEST(Channel, SilentStrangersAreNotWaitedFor) {
  Pair pair;
  pair.use_key(std::byte{1}, false, true);
  pair.worker_options_.handshake_deadline = 50ms;
  pair.start();
  ASSERT_TRUE(pair.worker_->wait_end());
  auto stranger_end = std::make_shared<End>();
  pair.worker_ = stranger_end;
  Preamble with_key;
  with_key.identity = IdentityKind::kKey;
  const auto stranger = Stranger::dial(pair, {with_key.to_bytes()});
  ASSERT_TRUE(stranger->wait_end());
  ASSERT_TRUE(stranger_end->wait_end());
  EXPECT_THAT(stranger_end->end(), HasSubstr("has not answered"));
}

TEST(Channel, GarbageInsteadOfTls) {
  for (const std::size_t size : {1u, 100u, 4084u}) {
    Pair pair;
    pair.use_key(std::byte{1}, false, true);
    pair.start();
    ASSERT_TRUE(pair.worker_->wait_end());
    auto stranger_end = std::make_shared<End>();
    pair.worker_ = stranger_end;
    Preamble with_key;
    with_key.identity = IdentityKind::kKey;
    Bytes message = with_key.to_bytes();
    // The beginning of a TLS record whose length never arrives; or no TLS record at all.
    for (std::size_t i = 0; i < size; ++i) message.push_back(static_cast<std::byte>(i == 0 ? 22 : i * 13));
    const auto stranger = Stranger::dial(pair, {message, numbers(4096), numbers(4096), numbers(4096)});
    ASSERT_TRUE(stranger->wait_end());
    ASSERT_TRUE(stranger_end->wait_end());
    EXPECT_FALSE(stranger_end->open_);
  }
}

// ---- Interference ---------------------------------------------------------------------------------------------------

// Message `at` of the client, with or without a key, suffers `fault`; how the worker's end fares.
std::string suffers(Fault fault, std::uint64_t at, bool with_key, LaneKind kind = LaneKind::kFrames,
                    SealMode seal = SealMode::kFull) {
  Pair pair(false,
            [=](unsigned, std::uint64_t message, ConstBytes) { return message == at ? fault : Fault{}; });
  if (with_key) pair.use_key(std::byte{9});
  pair.client_options_.seal = pair.worker_options_.seal = seal;
  pair.worker_->silence_ = pair.client_->silence_ = 1s;
  pair.worker_options_.handshake_deadline = pair.client_options_.handshake_deadline = 1s;
  pair.start(kind);
  if (pair.client_->wait_open()) {
    const Bytes memory = numbers(3 * BulkLane::kPieceBytes);
    for (unsigned i = 0; i < 8; ++i) {
      if (kind == LaneKind::kFrames) pair.client_->frame_->send(numbers(50, i));
      if (kind == LaneKind::kBulk) pair.client_->bulk_->send(numbers(8), memory, [](const Status&) {});
    }
    EXPECT_TRUE(pair.worker_->wait([&] {
      return pair.worker_->ended_ || pair.worker_->frames_.size() == 8 ||
             (pair.worker_->runs_.size() == 8 && pair.worker_->runs_.back().complete);
    }));
    pair.here_ = nullptr;  // the memory must stay until then
  }
  return pair.worker_->wait_end() ? pair.worker_->end() : "no end";
}

TEST(Channel, NothingThatHappensToMessagesGoesUnnoticed) {
  using Kind = Fault::Kind;
  for (const bool with_key : {false, true}) {
    // With a key, messages 0 and 1 are the handshake's; 3 is one of the frames.
    const char* const noticed =
        with_key ? "was changed, repeated or left out" : "was lost, repeated or moved";
    EXPECT_THAT(suffers({Kind::kDrop}, 3, with_key), HasSubstr(noticed));
    EXPECT_THAT(suffers({Kind::kReorder}, 3, with_key), HasSubstr(noticed));
    EXPECT_THAT(suffers({Kind::kRepeat}, 3, with_key), HasSubstr(noticed));
    EXPECT_THAT(suffers({Kind::kTruncate, 20}, 3, with_key), HasSubstr(noticed));
    EXPECT_THAT(suffers({Kind::kTruncate, 3}, 3, with_key), HasSubstr("too short"));
    EXPECT_THAT(suffers({Kind::kDelay, 0, 100ms}, 3, with_key), HasSubstr("closed"));
    EXPECT_THAT(suffers({Kind::kCut}, 3, with_key), HasSubstr("closed by the other side"));
  }
  for (std::size_t at = 0; at < 68; at += 5) {
    EXPECT_THAT(suffers({Kind::kFlip, at}, 3, true), HasSubstr("was changed, repeated or left out")) << at;
  }
}

TEST(Channel, NothingThatHappensToBulkDataGoesUnnoticed) {
  using Kind = Fault::Kind;
  for (const SealMode seal : {SealMode::kNone, SealMode::kIntegrity, SealMode::kFull}) {
    const bool with_key = seal != SealMode::kNone;
    const char* const noticed =
        with_key ? "was changed, repeated or left out" : "was lost, repeated or moved";
    // The handshake takes one or two messages, the announcement of a run one more.
    const auto happens = [&](Fault fault) { return suffers(fault, 3, with_key, LaneKind::kBulk, seal); };
    EXPECT_THAT(happens({Kind::kReorder}), HasSubstr(noticed));
    EXPECT_THAT(happens({Kind::kDrop}), HasSubstr(noticed));
    EXPECT_THAT(happens({Kind::kTruncate, 20}), HasSubstr("another size"));
    EXPECT_THAT(happens({Kind::kCut}), HasSubstr("closed by the other side"));
    if (with_key) {
      EXPECT_THAT(happens({Kind::kFlip, 200'000}), HasSubstr(noticed));
    }
  }
}

TEST(Channel, HandshakesThatAreInterferedWithFail) {
  using Kind = Fault::Kind;
  for (std::size_t at = 0; at < 300; at += 37) {
    EXPECT_NE(suffers({Kind::kFlip, at}, 0, true), "no end") << at;
  }
  for (const Fault fault :
       {Fault{Kind::kDrop}, Fault{Kind::kTruncate, 100}, Fault{Kind::kRepeat}, Fault{Kind::kCut}}) {
    EXPECT_NE(suffers(fault, 0, true), "no end");
    EXPECT_NE(suffers(fault, 1, true), "no end");
  }
}

TEST(Channel, AWeakerSealCannotBeForcedOnTheWay) {
  // Byte 7 of the first message is the client's seal: kFull, and kNone after two flips of different bits.
  Pair pair(false, [](unsigned, std::uint64_t message, ConstBytes) {
    return message == 0 ? Fault{Fault::Kind::kFlip, 7, {}} : Fault{};
  });
  pair.use_key(std::byte{3});
  pair.client_options_.seal = SealMode::kIntegrity;
  pair.worker_options_.seal = SealMode::kNone;
  pair.start();
  pair.client_->wait_open();
  if (pair.client_->frame_ != nullptr) pair.client_->frame_->send(numbers(10));
  ASSERT_TRUE(pair.worker_->wait_end());
  EXPECT_TRUE(pair.worker_->frames_.empty());
}

// ---- Frames ---------------------------------------------------------------------------------------------------------

TEST(FrameLane, TellsWhyItCloses) {
  Pair pair;
  pair.use_key(std::byte{5});
  pair.open();
  pair.worker_->frame_->close(Error(ErrorCode::kDeviceExhausted, "inner")
                                  .with_context("the quota\n of this \x1b[31msession is used up"));
  ASSERT_TRUE(pair.client_->wait_end());
  ASSERT_TRUE(pair.worker_->wait_end());
  EXPECT_EQ(pair.client_->ended_->code(), ErrorCode::kDeviceExhausted);
  EXPECT_THAT(pair.client_->end(), HasSubstr("says: the quota of this [31msession is used up: inner"));
  EXPECT_THAT(pair.worker_->end(), HasSubstr("the quota"));
}

TEST(FrameLane, IdleSidesKeepEachOtherAlive) {
  Pair pair;
  // A busy machine may keep threads waiting for some tens of milliseconds.
  pair.client_->silence_ = pair.worker_->silence_ = 500ms;
  pair.open();
  std::this_thread::sleep_for(1500ms);
  EXPECT_FALSE(pair.client_->wait([&] { return true; }) && pair.client_->ended_.has_value());
  pair.client_->frame_->send(numbers(3));
  ASSERT_TRUE(pair.worker_->wait([&] { return pair.worker_->frames_.size() == 1; })) << pair.worker_->end();
}

TEST(FrameLane, APatientSideGivesSignsToAnImpatientOne) {
  Pair pair;
  pair.client_->silence_ = 400ms;
  pair.worker_->silence_ = 1h;
  pair.open();
  std::this_thread::sleep_for(1200ms);
  pair.client_->frame_->send(numbers(3));
  ASSERT_TRUE(pair.worker_->wait([&] { return pair.worker_->frames_.size() == 1 || pair.worker_->ended_; }));
  EXPECT_FALSE(pair.worker_->ended_) << pair.worker_->end();
}

TEST(FrameLane, ASilentSideIsTakenForDead) {
  Pair pair(false, {}, [](unsigned, std::uint64_t message, ConstBytes) {
    return message == 0 ? Fault{} : Fault{Fault::Kind::kDrop, 0, {}};
  });
  pair.client_->silence_ = 100ms;
  pair.open();
  ASSERT_TRUE(pair.client_->wait_end());
  EXPECT_THAT(pair.client_->end(), HasSubstr("no sign of life for"));
  EXPECT_EQ(pair.client_->ended_->code(), ErrorCode::kDeviceLost);
}

// ---- Bulk data ------------------------------------------------------------------------------------------------------

TEST(BulkLane, RunsOfAllSizesInOrder) {
  const std::size_t sizes[] = {0,
                               1,
                               100,
                               BulkLane::kPieceBytes - 1,
                               BulkLane::kPieceBytes,
                               BulkLane::kPieceBytes + 1,
                               3 * BulkLane::kPieceBytes,
                               10'000'000,
                               0,
                               5};
  for (const bool over_tcp : {false, true}) {
    for (const SealMode seal : {SealMode::kNone, SealMode::kIntegrity, SealMode::kFull}) {
      for (const bool with_key : {false, true}) {
        Pair pair(over_tcp);
        if (with_key) pair.use_key(std::byte{5});
        pair.client_options_.seal = pair.worker_options_.seal = seal;
        pair.open(LaneKind::kBulk);
        std::vector<Bytes> sent;
        std::atomic<unsigned> done = 0;
        for (const std::size_t size : sizes) sent.push_back(numbers(size, static_cast<unsigned>(size)));
        for (std::size_t i = 0; i < sent.size(); ++i) {
          pair.client_->bulk_->send(numbers(i, 1), sent[i],
                                    [&](const Status& status) { done += status.ok() ? 1 : 100; });
        }
        ASSERT_TRUE(pair.worker_->wait([&] {
          return pair.worker_->ended_ ||
                 (pair.worker_->runs_.size() == sent.size() && pair.worker_->runs_.back().complete);
        }));
        ASSERT_FALSE(pair.worker_->ended_) << pair.worker_->end();
        for (std::size_t i = 0; i < sent.size(); ++i) {
          EXPECT_EQ(pair.worker_->runs_[i].header, numbers(i, 1));
          EXPECT_EQ(pair.worker_->runs_[i].bytes, sent[i]);
          EXPECT_TRUE(pair.worker_->runs_[i].complete);
        }
        while (done < sent.size()) std::this_thread::yield();
        EXPECT_EQ(done, sent.size());
      }
    }
  }
}

TEST(BulkLane, WhoWaitsLearnsOfTheEnd) {
  Pair pair;
  pair.open(LaneKind::kBulk);
  std::atomic<unsigned> failed = 0;
  const Bytes memory = numbers(20 * BulkLane::kPieceBytes);
  pair.there_->post([&] { pair.worker_->bulk_->close(Error(ErrorCode::kInterrupted, "enough")); });
  ASSERT_TRUE(pair.worker_->wait_end());
  ASSERT_TRUE(pair.client_->wait_end());
  for (int i = 0; i < 3; ++i) {
    pair.client_->bulk_->send({}, memory, [&](const Status& status) { failed += status.ok() ? 0 : 1; });
  }
  while (failed < 3) std::this_thread::yield();
}

}  // namespace
}  // namespace dhpvm::offload
