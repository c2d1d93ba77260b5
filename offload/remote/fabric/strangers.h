// SPDX-License-Identifier: Apache-2.0
// Connections that have not proven yet who they are. For the progress thread alone.
//
// They are bounded, and a host that fills the room displaces its own: with too many, the one that has waited longest
// among those of the host with the most is disconnected. An honest side needs a few round trips, so that it is out of
// here again before its turn comes.
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
  std::map<std::string, Waiting> hosts_;  // in the order in which they came
};

}  // namespace dhpvm::offload
