// SPDX-License-Identifier: Apache-2.0
// A transport that counts the bytes of all messages on its way to another one.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

struct Meter {
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<std::uint64_t> received = 0;
};

// Counts the bytes of dialled connections; accepted connections are not counted.
class MeteredTransport final : public Transport {
 public:
  MeteredTransport(std::unique_ptr<Transport> inner, std::shared_ptr<Meter> meter)
      : inner_(std::move(inner)), meter_(std::move(meter)) {}

  Result<std::shared_ptr<Connection>> connect(const Address& address,
                                              std::shared_ptr<ConnectionHandler> handler) override {
    auto counting = std::make_shared<Handler>(std::move(handler), meter_);
    auto made = inner_->connect(address, std::move(counting));
    if (!made.ok()) return made;
    return std::shared_ptr<Connection>(std::make_shared<Counted>(*std::move(made), meter_));
  }
  Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptFunction accept) override {
    return inner_->listen(address, std::move(accept));
  }
  void post(std::function<void()> function) override { inner_->post(std::move(function)); }
  void post_at(Clock::time_point when, std::function<void()> function) override {
    inner_->post_at(when, std::move(function));
  }
  void attend(const std::function<bool()>& is_done, Clock::time_point deadline) override {
    inner_->attend(is_done, deadline);
  }
  void expect(std::int64_t answers) override { inner_->expect(answers); }

 private:
  class Handler final : public ConnectionHandler {
   public:
    Handler(std::shared_ptr<ConnectionHandler> inner, std::shared_ptr<Meter> meter)
        : inner_(std::move(inner)), meter_(std::move(meter)) {}
    void on_connected() override { inner_->on_connected(); }
    void on_received(std::uint64_t tag, std::size_t bytes) override {
      meter_->received += bytes;
      inner_->on_received(tag, bytes);
    }
    void on_sent(std::uint64_t tag) override { inner_->on_sent(tag); }
    void on_closed(const Error& reason) override { inner_->on_closed(reason); }

   private:
    const std::shared_ptr<ConnectionHandler> inner_;
    const std::shared_ptr<Meter> meter_;
  };

  class Counted final : public Connection {
   public:
    Counted(std::shared_ptr<Connection> inner, std::shared_ptr<Meter> meter)
        : inner_(std::move(inner)), meter_(std::move(meter)) {}
    void send(std::span<const ConstBytes> parts, std::uint64_t tag) override {
      for (const ConstBytes part : parts) meter_->sent += part.size();
      inner_->send(parts, tag);
    }
    void send_copy(ConstBytes message) override {
      meter_->sent += message.size();
      inner_->send_copy(message);
    }
    void receive(std::span<const MutableBytes> parts, std::uint64_t tag) override {
      inner_->receive(parts, tag);
    }
    void close(Error reason) override { inner_->close(std::move(reason)); }
    std::string peer() const override { return inner_->peer(); }
    bool is_local() const override { return inner_->is_local(); }

   private:
    const std::shared_ptr<Connection> inner_;
    const std::shared_ptr<Meter> meter_;
  };

  const std::unique_ptr<Transport> inner_;
  const std::shared_ptr<Meter> meter_;
};

}  // namespace dhpvm::offload
