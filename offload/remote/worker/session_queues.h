// SPDX-License-Identifier: Apache-2.0
// The queues of a session, and their operations from the moment that they are accepted to their end.
//
// The device needs operations in an order in which none waits for a later one.
// Here an upload waits for its data, a download for staging memory, a host call
// for the host; so the operations behind them in the same queue, and those that
// wait for their signals, are held back until these have been given to the device.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "offload/remote/worker/session_objects.h"
#include "offload/remote/worker/session_port.h"
#include "offload/remote/worker/session_state.h"
#include "offload/remote/worker/session_transfers.h"

namespace dhpvm::offload {

class SessionQueues {
 public:
  SessionQueues(SessionPort& port, SessionObjects& objects, SessionTransfers& transfers)
      : port_(port), objects_(objects), transfers_(transfers) {}

  Status handle(wire::CreateQueue& record);
  Status handle(wire::DestroyQueue& record);
  Status handle(wire::Signal& record);
  Status handle(wire::HostCallDone& record);
  Status handle(wire::StopLaunches& record);

  // Null when there is none.
  std::shared_ptr<session::Stream> find(wire::Id queue) const;
  // The number of the first of the next `count` operations, and the number of operations so far.
  std::uint64_t take_numbers(std::uint64_t count) { return std::exchange(operations_, operations_ + count); }
  std::uint64_t operations() const { return operations_; }
  // Operations that are not done.
  std::uint64_t outstanding() const;
  // Appends an operation to its queue; if the queue has failed, the operation fails at once.
  void enqueue(const std::shared_ptr<session::Stream>& stream, std::shared_ptr<session::Pending> pending);

  // Gives the devices all operations that they may get now.
  void advance();
  // The session does the front of the stream itself, after the device has reached it: then `reached` is called, on a
  // thread of the device. finish_front() says that it is done.
  Status block(session::Stream& stream, const session::LocalOrder& order, std::function<void()> reached);
  void finish_front(session::Stream& stream);

  // At the end of the session: makes waiting operations fail, stops running ones, and releases the queues, which finish
  // what cannot be stopped.
  void abandon(const Error& reason);
  void clear() { streams_.clear(); }

 private:
  // The client is told after so many operations that they are done, unless a frame ends earlier.
  static constexpr std::uint64_t kMarkEvery = 16;
  static constexpr std::chrono::milliseconds kWatchEvery{10};

  Status create(Device& device, session::Stream& stream, bool is_observed);
  void drop(session::Stream& stream);
  bool send_signals();
  bool advance(const std::shared_ptr<session::Stream>& stream);
  Result<bool> submit(const std::shared_ptr<session::Stream>& stream,
                      const std::shared_ptr<session::Pending>& pending);
  Result<bool> submit_batch(session::Stream& stream, session::BatchState& batch,
                            const session::LocalOrder& order);
  static void given(session::Stream& stream, session::Pending& pending);
  static void stop_launches(session::Stream& stream);
  static void keep(const session::Promise& promise);
  void mark(session::Stream& stream);
  static void forget_done(session::Stream& stream);
  void give_up(const session::Pending& pending, const Error& error);
  void fail_in_turn(const std::shared_ptr<session::Stream>& stream, const Error& error);
  void fail(session::Stream& stream, const Error& error);
  void watch();
  void look_for_failures();

  SessionPort& port_;
  SessionObjects& objects_;
  SessionTransfers& transfers_;
  std::map<wire::Id, std::shared_ptr<session::Stream>> streams_;
  std::deque<session::Promise> signals_;  // signals by the host that wait for earlier ones
  std::uint64_t operations_ = 0;
  std::chrono::steady_clock::duration busy_{0};  // the time with operations outstanding
  std::chrono::steady_clock::time_point watched_since_;
  bool watching_ = false;
};

}  // namespace dhpvm::offload
