// SPDX-License-Identifier: Apache-2.0
// Connections that have not authenticated themselves yet. Only for the progress thread.
//
// Their number is bounded, and a host with many displaces its own: when there are too many, the one that has waited
// longest among those of the host with the most is disconnected. An honest peer needs only a few round trips, and so
// leaves before its turn comes.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

class Strangers : public std::enable_shared_from_this<Strangers> {
 public:
  // A connection is a stranger for as long as its visit lives.
  class Visit {
   public:
    Visit(std::shared_ptr<Strangers> strangers, std::string host)
        : strangers_(std::move(strangers)), host_(std::move(host)) {}
    ~Visit() { strangers_->leave(*this); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    friend class Strangers;
    const std::shared_ptr<Strangers> strangers_;
    const std::string host_;
    std::list<std::pair<const Visit*, std::weak_ptr<Connection>>>::iterator place_;
  };

  explicit Strangers(std::size_t most) : most_(most) {}

  std::shared_ptr<Visit> enter(const std::shared_ptr<Connection>& connection);
  std::size_t count() const { return count_; }

 private:
  using Waiting = std::list<std::pair<const Visit*, std::weak_ptr<Connection>>>;

  void make_room();
  void leave(Visit& visit);

  const std::size_t most_;
  std::size_t count_ = 0;
  std::map<std::string, Waiting> hosts_;  // in the order of their arrival
};

}  // namespace dhpvm::offload
