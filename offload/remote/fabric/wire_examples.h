// SPDX-License-Identifier: Apache-2.0
// One record of every kind, for tests and as seeds of the fuzzer.
#pragma once

#include <vector>

#include "offload/remote/fabric/operator_protocol.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload::wire {

inline Failure example_failure() { return {{{5, "while something"}, {24, "it broke"}}}; }

inline std::vector<FromClient> client_examples() {
  const Order order{2, {{1, 5}, {2, 1'000'000}}, {{3, 7}}};
  Digest digest{};
  digest[5] = std::byte{77};
  Launch launch;
  launch.order = order;
  launch.kernel = 4;
  launch.space = {{0, 1000}, {-3, 5}};
  launch.scalars = {1, ~std::uint64_t{0}};
  launch.arrays = {{Span{1, 0, 4000}, 0, {1000, 1000, 1000, {1000, 1, 1}}},
                   {Span{2, 64, 4000}, -400, {1000, 0, 1000, {10, 100, 1}}},
                   {{}, 0, {0, 0, -1, {0, 0, 0}}}};
  launch.partials = Span{5, 0, 8};
  launch.report = Span{6, 0, 96};
  return {
      Hello{"blur.bc", "0.1.0"},
      Ping{3},
      Allocate{1, 0, 1, 1 << 20},
      Free{1},
      CreateQueue{7, 2, 0, true, "upload"},
      DestroyQueue{2},
      CreateSemaphore{3, 0, 10},
      DestroySemaphore{3},
      Signal{3, 11},
      FailSemaphore{3, example_failure()},
      LoadKernel{2, 0, 4, digest, 5000, 1, {0, 3}, "blur.dhp:12"},
      ModulePart{digest, std::vector<std::byte>(100, std::byte{9})},
      UnloadKernel{4},
      Upload{order, {1, 0, 100}},
      Download{order, {1, 100, 100}},
      Copy{order, {1, 0, 8}, {2, 0, 8}},
      Fill{order, {1, 0, 8}, 255},
      launch,
      HostCall{order},
      HostCallDone{2},
      StopLaunches{2},
      Write{order, 1, 100, std::vector<std::byte>(100, std::byte{7})},
      Batch{order, 3, {Elements{1, 100, std::vector<std::byte>(100, std::byte{7})}, launch, Span{1, 0, 8}}},
      Batch{order, {}, {launch}},
      Replay{order, 3, {{1, 5}}, {std::vector<std::byte>(100, std::byte{8})}},
      LoadSmall{{8, 0, 9, digest, 5000, 1, {0, 3}, "blur.dhp:12"}}};
}

inline std::vector<FromWorker> worker_examples() {
  Welcome welcome;
  welcome.name = "gpubox";
  welcome.release = "0.1.0";
  welcome.devices = {{"cuda:0", "a GPU", 1 << 30, 1 << 28, 132, true, false},
                     {"host", "cores", 1, 1, 2, false, true}};
  welcome.max_operations = 1024;
  Reply loaded{2, {}, {{0, 0, {{1, 2}, {3, 4}}}, {2, 1, {}}}, 1'000, -5};
  return {welcome,
          Ready{},
          Pong{3, 123'456'789},
          Reply{1, example_failure(), {}, 0, 0},
          loaded,
          NeedModule{},
          Progress{2, 100},
          QueueFailed{2, example_failure()},
          CallHost{2},
          Observed{17, -5, 1'000'000},
          Draining{},
          Queued{3},
          Downloaded{17, std::vector<std::byte>(100, std::byte{7})}};
}

inline std::vector<FromOperator> operator_examples() { return {AskFacts{}, EndSession{3, "lunch is over"}}; }

inline std::vector<ToOperator> operator_answer_examples() {
  SessionFacts session;
  session.number = 3;
  session.program = "blur.bc";
  session.client = "anna";
  session.key = "0123456789abcdef";
  session.peer = "192.0.2.7:40112";
  session.seal = "full";
  session.age_ms = 12'400;
  session.memory_bytes = 1 << 20;
  session.devices = 5;
  session.priority = 100;
  return {WorkerFacts{"gpubox", "0.1.0", 1000, 16, 16, true},
          Device{"host", "cores", 1, 1, 2, false, true},
          session,
          FactsEnd{7},
          SessionEnding{3, {}},
          SessionEnding{4, example_failure()}};
}

}  // namespace dhpvm::offload::wire
