// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dhpvm::offload {
namespace {

// Text in a label.
std::string escaped(std::string_view text) {
  std::string made;
  for (const char letter : text) {
    if (letter == '\\' || letter == '"') made += '\\';
    made += letter == '\n' ? std::string_view("\\n") : std::string_view(&letter, 1);
  }
  return made;
}

class Page {
 public:
  void begin(std::string_view name, std::string_view kind, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP dhpvm_worker_{0} {1}\n# TYPE dhpvm_worker_{0} {2}\n", name, help, kind);
  }
  void value(double number) { text_ += fmt::format("dhpvm_worker_{} {}\n", name_, number); }
  void value(std::uint64_t number) { text_ += fmt::format("dhpvm_worker_{} {}\n", name_, number); }
  void value(std::string_view label, std::string_view text, std::uint64_t number) {
    text_ += fmt::format("dhpvm_worker_{}{{{}=\"{}\"}} {}\n", name_, label, escaped(text), number);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

struct Sum {
  std::uint64_t sessions = 0;
  std::uint64_t memory_bytes = 0;
};

void add_clients(Page& page, const WorkerReport& report) {
  std::map<std::string_view, Sum> clients;
  for (const wire::SessionFacts& session : report.sessions) {
    Sum& sum = clients[session.client.empty() ? std::string_view(session.key) : session.client];
    ++sum.sessions;
    sum.memory_bytes += session.memory_bytes;
  }
  page.begin("client_sessions", "gauge", "sessions of each client, served or waiting");
  for (const auto& [client, sum] : clients) page.value("client", client, sum.sessions);
  page.begin("client_memory_bytes", "gauge", "memory that the sessions of each client have on devices");
  for (const auto& [client, sum] : clients) page.value("client", client, sum.memory_bytes);
}

std::string answer(std::string_view status, std::string_view kind, std::string_view body, bool is_head) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\n{}Connection: close\r\n\r\n{}",
      status, kind, body.size(), status.starts_with("405") ? "Allow: GET, HEAD\r\n" : "",
      is_head ? std::string_view() : body);
}

constexpr std::string_view kPlain = "text/plain; charset=utf-8";
constexpr std::string_view kMetrics = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

std::string metrics_text(const WorkerReport& report) {
  const auto waiting = static_cast<std::uint64_t>(
      std::ranges::count_if(report.sessions, [](const auto& session) { return session.place != 0; }));
  SessionEnd::Work work = report.work;
  for (const wire::SessionFacts& session : report.sessions) {
    work.jobs += session.jobs;
    work.bytes_in += session.bytes_in;
    work.bytes_out += session.bytes_out;
  }
  Page page;
  page.begin("up_seconds", "gauge", "time since the worker began");
  page.value(static_cast<double>(report.facts.up_ms) / 1000);
  page.begin("draining", "gauge", "1 when it takes no new sessions");
  page.value(std::uint64_t{report.facts.is_draining ? 1U : 0U});
  page.begin("sessions", "gauge", "sessions there are, by state");
  page.value("state", "served", report.sessions.size() - waiting);
  page.value("state", "waiting", waiting);
  page.begin("sessions_limit", "gauge", "sessions there may be, by state");
  page.value("state", "served", report.facts.most_served);
  page.value("state", "waiting", report.facts.most_waiting);
  page.begin("sessions_begun_total", "counter", "sessions that have begun");
  page.value(report.sessions_begun);
  page.begin("sessions_ended_total", "counter", "sessions that have ended, by cause");
  for (std::size_t n = 0; n < kEndCauses.size(); ++n)
    page.value("cause", kEndCauses[n].word, report.ended[n]);
  page.begin("refused_total", "counter", "connections that got no session");
  page.value(report.refused);
  page.begin("jobs_total", "counter", "kernels launched");
  page.value(work.jobs);
  page.begin("received_bytes_total", "counter", "bytes of arrays from clients");
  page.value(work.bytes_in);
  page.begin("sent_bytes_total", "counter", "bytes of arrays to clients");
  page.value(work.bytes_out);
  add_clients(page, report);
  page.begin("device_memory_limit_bytes", "gauge", "memory of each device that is lent");
  for (const wire::Device& device : report.devices) page.value("device", device.name, device.memory_bytes);
  return page.take();
}

std::string http_answer(std::string_view request, const std::function<WorkerReport()>& report) {
  const std::string_view line = request.substr(0, request.find("\r\n"));
  const std::size_t method_end = line.find(' ');
  const std::size_t target_end = line.rfind(' ');
  if (method_end == line.npos || target_end == method_end ||
      !line.substr(target_end + 1).starts_with("HTTP/1.")) {
    return answer("400 Bad Request", kPlain, "this is no request of HTTP/1\n", false);
  }
  const std::string_view method = line.substr(0, method_end);
  std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  target = target.substr(0, target.find('?'));
  const bool is_head = method == "HEAD";
  if (target != "/metrics" && target != "/healthz")
    return answer("404 Not Found", kPlain, "there are /metrics and /healthz\n", is_head);
  if (method != "GET" && !is_head)
    return answer("405 Method Not Allowed", kPlain, "only GET and HEAD\n", false);
  const WorkerReport present = report();
  if (target == "/metrics") return answer("200 OK", kMetrics, metrics_text(present), is_head);
  if (present.facts.is_draining) return answer("503 Service Unavailable", kPlain, "draining\n", is_head);
  return answer("200 OK", kPlain, "ok\n", is_head);
}

std::string http_answer_too_long() {
  return answer("431 Request Header Fields Too Large", kPlain, "the request is too long\n", false);
}

}  // namespace dhpvm::offload
