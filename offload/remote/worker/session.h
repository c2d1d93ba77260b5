// SPDX-License-Identifier: Apache-2.0
// A client at a worker: what it has made, and the operations that it has submitted.
//
// All state belongs to the progress thread. Devices may block, and so they are only asked on the session's own thread,
// except for submitting operations, which never blocks. What a stranger sends is checked here: that names are known, that
// limits are kept, that the protocol is followed. Whoever breaks the protocol is sent away; an operation that is wrong makes
// its queue fail, as it would on a local device.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "offload/devices/device.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/worker/session_state.h"
#include "offload/remote/worker/task_thread.h"
#include "offload/remote/worker/worker.h"

namespace dhpvm::offload {

class Session final : public FrameHandler, public BulkHandler, public std::enable_shared_from_this<Session> {
 public:
  Session(Worker& worker, std::uint64_t number, wire::Token token, std::function<void(const Error&)> ended);
  ~Session() override;

  // Before the lane opens.
  void attach(std::shared_ptr<FrameLane> frames) { frames_ = std::move(frames); }
  // False when there is one already.
  bool attach_bulk(std::shared_ptr<BulkLane> bulk);
  const std::shared_ptr<FrameLane>& frames() const { return frames_; }
  const wire::Token& token() const { return token_; }
  // Called when the client is to be dialled for the bulk lane.
  void when_welcome(std::function<void()> function) { when_welcome_ = std::move(function); }
  void close(Error reason);
  // Asks the client to leave.
  void announce_end();

  void on_open() override {}
  void on_frame(ConstBytes frame) override;
  void on_closed(const Error& reason) override;
  // Both lanes are there.
  void become_ready();
  bool is_ready() const { return is_ready_; }
  // Only of a bulk lane that this side has dialled.
  void on_bulk_open() override;
  void on_run(ConstBytes header, std::uint64_t bytes) override;
  void on_bulk_closed(const Error& reason) override;

 private:
  using Arrival = session::Arrival;
  using DownloadState = session::DownloadState;
  using LocalOrder = session::LocalOrder;
  using Module = session::Module;
  using Pending = session::Pending;
  using Promise = session::Promise;
  using Stream = session::Stream;
  using Timeline = session::Timeline;
  using UploadState = session::UploadState;

  // session.cpp: names
  Status handle(wire::Hello& record);
  Status handle(wire::Ping& record);
  Status handle(wire::Allocate& record);
  Status handle(wire::Free& record);
  Status handle(wire::CreateQueue& record);
  Status handle(wire::DestroyQueue& record);
  Status handle(wire::CreateSemaphore& record);
  Status handle(wire::DestroySemaphore& record);
  Status handle(wire::Signal& record);
  Status handle(wire::FailSemaphore& record);
  Status handle(wire::UnloadKernel& record);
  Result<Device*> device(std::uint64_t number) const;
  Result<std::shared_ptr<DeviceMemory>> allocate(Device& device, std::uint64_t bytes);
  void drop_queue(Stream& stream);
  void reply(wire::Id request, Status status);
  void log_jobs(const session::LoadedKernel& kernel) const;
  void send(const wire::FromWorker& record);
  void on_progress_thread(std::function<void()> function);

  // session_modules.cpp: code
  Status handle(wire::LoadKernel& record);
  Status handle(wire::ModulePart& record);
  void check_module(const wire::Digest& digest);
  void compile(const wire::LoadKernel& record, const std::shared_ptr<const bytecode::Module>& module);

  // session_operations.cpp: operations, from their arrival to their end
  Status handle(wire::Upload& record);
  Status handle(wire::Download& record);
  Status handle(wire::Copy& record);
  Status handle(wire::Fill& record);
  Status handle(wire::Launch& record);
  Status handle(wire::HostCall& record);
  Status handle(wire::HostCallDone& record);
  Result<Arrival> accept(const wire::Order& order);
  Result<MemorySpan> span(const wire::Span& wanted, const Stream& stream) const;
  void take(Arrival arrival);
  std::uint64_t outstanding() const;
  void advance();
  bool advance(Stream& stream);
  bool may_begin(const Pending& pending) const;
  Result<bool> submit(Stream& stream, const std::shared_ptr<Pending>& pending);
  Result<bool> submit_upload(Stream& stream, Pending& pending, UploadState& upload, const LocalOrder& order);
  Result<bool> submit_download(Stream& stream, const std::shared_ptr<Pending>& pending,
                               DownloadState& download, const LocalOrder& order);
  Status block(Stream& stream, const LocalOrder& order, std::function<void()> reached);
  void finish_here(Stream& stream);
  static void keep(const Promise& promise);
  void mark(Stream& stream);
  static void forget_done(Stream& stream);
  void give_up(const Pending& pending, const Error& error);
  void fail_in_turn(Stream& stream, Error error);
  void fail(Stream& stream, Error error);
  void watch();
  void look_for_failures();

  // session_bulk.cpp: data
  void continue_run();
  std::byte* shared_memory(const Stream& stream, const MemorySpan& span) const;
  bool may_receive_directly(const Stream& stream, const Pending& pending) const;
  void receive_directly(Stream& stream, const std::shared_ptr<Pending>& pending);
  void receive_staged(Stream& stream, const std::shared_ptr<Pending>& pending);
  void discard();
  void staging_freed();
  void send_run(const wire::RunHeader& header, ConstBytes data, std::function<void()> sent);

  void begin_end(const Error& reason);
  void end();

  Worker& worker_;
  const std::uint64_t number_;
  const wire::Token token_;
  std::function<void(const Error&)> ended_callback_;
  std::function<void()> when_welcome_;
  std::shared_ptr<FrameLane> frames_;
  std::shared_ptr<BulkLane> bulk_;
  bool greeted_ = false;
  bool is_ready_ = false;
  std::string client_;
  std::string peer_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration busy_{0};
  std::optional<Error> ended_;
  bool frames_closed_ = false;
  bool bulk_closed_ = false;

  std::unordered_map<wire::Id, session::Memory> memories_;
  std::unordered_map<wire::Id, std::shared_ptr<Timeline>> timelines_;
  std::unordered_map<wire::Id, session::LoadedKernel> kernels_;
  std::map<wire::Id, std::shared_ptr<Stream>> streams_;
  std::map<wire::Digest, Module> modules_;
  // Of memories that have not gone, whatever still has them.
  const std::shared_ptr<std::atomic<std::uint64_t>> memory_bytes_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint64_t module_bytes_ = 0;
  std::uint64_t requests_outstanding_ = 0;

  std::uint64_t next_operation_ = 0;
  std::map<std::uint64_t, std::pair<Stream*, std::shared_ptr<Pending>>>
      uploads_;  // whose data is yet to come
  std::optional<session::Run> run_;
  std::vector<std::byte> discarded_;
  std::map<std::uint64_t, session::Staging> staging_;  // by device
  std::deque<Promise> signals_;                        // by the host, that wait for those before them
  bool watching_ = false;

  // For the log.
  std::uint64_t jobs_ = 0;
  std::uint64_t bytes_in_ = 0;
  std::atomic<std::uint64_t> bytes_out_ = 0;

  TaskThread tasks_;  // the last member: it ends first
};

}  // namespace dhpvm::offload
