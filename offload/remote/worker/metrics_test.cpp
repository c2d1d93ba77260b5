// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "offload/remote/fabric/socket_address.h"
#include "offload/remote/worker/metrics_server.h"
#include "offload/remote/worker/metrics_text.h"

namespace dhpvm::offload {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

WorkerReport example() {
  WorkerReport report;
  report.facts.most_served = 16;
  report.facts.up_ms = 1500;
  report.devices.push_back({"ho\"st", "cores", 1024, 1024, 2, false, false});
  wire::SessionFacts session;
  session.client = "an\\na\n";
  session.jobs = 5;
  session.memory_bytes = 77;
  report.sessions.push_back(session);
  session.place = 1;
  report.sessions.push_back(session);
  report.work.jobs = 10;
  report.ended[static_cast<std::size_t>(EndCause::kCrashed)] = 2;
  return report;
}

TEST(Metrics, TextOfPrometheus) {
  const std::string text = metrics_text(example());
  for (const char* const line :
       {"# TYPE dhpvm_worker_jobs_total counter\ndhpvm_worker_jobs_total 20\n",
        "dhpvm_worker_up_seconds 1.5\n", "dhpvm_worker_sessions{state=\"served\"} 1\n",
        "dhpvm_worker_sessions{state=\"waiting\"} 1\n",
        "dhpvm_worker_sessions_ended_total{cause=\"crashed\"} 2\n",
        "dhpvm_worker_client_sessions{client=\"an\\\\na\\n\"} 2\n",
        "dhpvm_worker_client_memory_bytes{client=\"an\\\\na\\n\"} 154\n",
        "dhpvm_worker_device_memory_limit_bytes{device=\"ho\\\"st\"} 1024\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Metrics, RequestsAndAnswers) {
  const auto ask = [](const std::string& request) { return http_answer(request, example); };
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("dhpvm_worker_sessions_limit"));
  EXPECT_THAT(ask("GET /healthz?x=1 HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(ask("GET /healthz HTTP/1.1\r\n\r\n"), EndsWith("\r\n\r\nok\n"));
  EXPECT_THAT(ask("HEAD /healthz HTTP/1.1\r\n\r\n"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask("GET /metrics/../x HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask("POST /metrics HTTP/1.1\r\n\r\n"), HasSubstr("Allow: GET"));
  for (const char* const nonsense : {"\r\n\r\n", " \r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n",
                                     "GET /metrics HTTP/2\r\n\r\n", "\x16\x03\x01\r\n\r\n"})
    EXPECT_THAT(ask(nonsense), StartsWith("HTTP/1.1 400 ")) << nonsense;
  const auto draining = [] {
    WorkerReport report = example();
    report.facts.is_draining = true;
    return report;
  };
  EXPECT_THAT(http_answer("GET /healthz HTTP/1.1\r\n\r\n", draining), StartsWith("HTTP/1.1 503 "));
  std::mt19937 dice(2026);
  for (int n = 0; n < 5000; ++n) {
    std::string request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    for (unsigned change = dice() % 4; change != 0; --change)
      request[dice() % request.size()] = static_cast<char>(dice());
    EXPECT_THAT(ask(request.substr(dice() % 9)), StartsWith("HTTP/1.1 "));
  }
}

class MetricsServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = MetricsServer::start({"127.0.0.1", 0}, example);
    ASSERT_TRUE(started.ok()) << started.error().to_string();
    server_ = std::move(started).value();
  }
  Descriptor dial() const {
    auto address = socket_address(server_->address());
    Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(made.get(), address->get(), address->size), 0);
    return made;
  }
  static void say(const Descriptor& socket, const std::string& text) {
    static_cast<void>(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL));
  }
  // Until the server closes.
  static std::string hear(const Descriptor& socket) {
    std::string heard;
    std::array<char, 4096> piece{};
    for (ssize_t got; (got = recv(socket.get(), piece.data(), piece.size(), 0)) > 0;)
      heard.append(piece.data(), static_cast<std::size_t>(got));
    return heard;
  }
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, AnswersInPieces) {
  const Descriptor visitor = dial();
  for (const char* const piece : {"GET /hea", "lthz HTTP/1.1\r\n", "\r", "\nand what nobody asked for"})
    say(visitor, piece);
  EXPECT_THAT(hear(visitor), HasSubstr("ok\n"));
}

TEST_F(MetricsServerTest, WhoSaysTooMuchIsTold) {
  const Descriptor visitor = dial();
  say(visitor, "GET /metrics HTTP/1.1\r\n" + std::string(5000, 'x'));
  EXPECT_THAT(hear(visitor), StartsWith("HTTP/1.1 431 "));
}

TEST_F(MetricsServerTest, CrowdsThatSayNothingKeepNobodyOut) {
  std::vector<Descriptor> crowd;
  for (int n = 0; n < 200; ++n) {
    crowd.push_back(dial());
    if (n % 2 != 0) say(crowd.back(), "GET /metrics");
  }
  const Descriptor visitor = dial();
  say(visitor, "GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(hear(visitor), HasSubstr("dhpvm_worker_jobs_total 20"));
  // Those that are there still are sent away.
  EXPECT_THAT(hear(crowd.back()), Not(HasSubstr("HTTP")));
}

TEST_F(MetricsServerTest, OnlyThisMachineIsServed) {
  const auto refused = MetricsServer::start({"0.0.0.0", 0}, example);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace dhpvm::offload
