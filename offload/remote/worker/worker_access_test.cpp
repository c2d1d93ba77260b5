// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dhpvm::offload {
namespace {

using ::testing::HasSubstr;

class FakeIdentity final : public Identity {
 public:
  FakeIdentity(IdentityKind kind, std::vector<std::string> names) : kind_(kind), names_(std::move(names)) {}
  IdentityKind kind() const override { return kind_; }
  std::vector<std::string> key_names() const override { return names_; }
  Result<std::unique_ptr<Handshake>> begin(bool, const std::string&, std::uint16_t) override {
    return Error(ErrorCode::kUnsupported, "nobody comes in here");
  }

 private:
  const IdentityKind kind_;
  const std::vector<std::string> names_;
};

std::shared_ptr<Identity> keys(std::vector<std::string> names) {
  return std::make_shared<FakeIdentity>(IdentityKind::kKey, std::move(names));
}
std::shared_ptr<Identity> certificates() {
  return std::make_shared<FakeIdentity>(IdentityKind::kCertificate, std::vector<std::string>());
}

ClientEntry client(const std::string& name, const std::string& certificate = {}) {
  ClientEntry entry;
  entry.name = name;
  entry.certificate = certificate;
  if (certificate.empty()) entry.keys.emplace_back(32);
  return entry;
}

TEST(WorkerAccess, TheHolderOfTheOnlyKeyMayDoAll) {
  const WorkerAccess access(keys({"k1"}));
  EXPECT_TRUE(access.admit("", "k1", Right::kUse).ok());
  EXPECT_TRUE(access.admit("", "k1", Right::kOperate).ok());
}

TEST(WorkerAccess, WithoutAKeyNobodyOperates) {
  for (const WorkerAccess& access : {WorkerAccess(nullptr), WorkerAccess(certificates())}) {
    EXPECT_TRUE(access.admit("anna", "", Right::kUse).ok());
    const auto refused = access.admit("anna", "", Right::kOperate);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message(), HasSubstr("--clients"));
  }
}

TEST(WorkerAccess, ClientsHaveTheRightsOfTheFile) {
  ClientEntry anna = client("anna");
  anna.priority = 300;
  ClientEntry boss = client("boss", "boss.example.com");
  boss.may_use = false;
  boss.may_operate = true;
  const auto access = WorkerAccess::of_clients(keys({"k1"}), certificates(), {anna, boss});
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->admit("anna", "k1", Right::kUse)->priority, 300u);
  EXPECT_FALSE(access->admit("anna", "k1", Right::kOperate).ok());
  EXPECT_EQ(access->admit("boss.example.com", "", Right::kOperate)->name, "boss");
  EXPECT_THAT(access->admit("boss.example.com", "", Right::kUse).error().message(), HasSubstr("\"use\""));
  EXPECT_THAT(access->admit("anna", "k0", Right::kUse).error().message(), HasSubstr("revoked"));
  // The name of a client is not that of a certificate, and the other way round.
  EXPECT_FALSE(access->admit("anna", "", Right::kUse).ok());
  EXPECT_FALSE(access->admit("boss", "", Right::kOperate).ok());
  EXPECT_FALSE(access->admit("boss.example.com", "k1", Right::kOperate).ok());
  EXPECT_FALSE(access->admit("", "", Right::kUse).ok());
  EXPECT_EQ(access->identity()->kind(), IdentityKind::kKey);
  EXPECT_EQ(access->other_identity()->kind(), IdentityKind::kCertificate);
}

TEST(WorkerAccess, CertificatesNeedThatOfTheWorker) {
  const auto refused = WorkerAccess::of_clients(keys({"k1"}), nullptr, {client("a"), client("b", "b.org")});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("--certificate"));
  const auto only = WorkerAccess::of_clients(nullptr, certificates(), {client("b", "b.org")});
  ASSERT_TRUE(only.ok());
  EXPECT_EQ(only->identity()->kind(), IdentityKind::kCertificate);
  EXPECT_EQ(only->other_identity(), nullptr);
}

}  // namespace
}  // namespace dhpvm::offload
