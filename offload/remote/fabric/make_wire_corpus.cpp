// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of wire_fuzz and session_fuzz: make_wire_corpus tests/fuzz/wire_fuzz tests/fuzz/session_fuzz
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "offload/remote/fabric/channel.h"
#include "offload/remote/fabric/wire_examples.h"

namespace dhpvm::offload {
namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

// With its length in front: the form in which the fuzzer takes messages.
void append_message(Bytes& to, const Bytes& message) {
  to.push_back(static_cast<std::byte>(message.size()));
  to.push_back(static_cast<std::byte>(message.size() >> 8));
  append(to, message);
}

// A message of a frame lane without a key: kind, credits, content, number.
Bytes frame_message(unsigned kind, const Bytes& content, unsigned number) {
  Bytes message{static_cast<std::byte>(kind), std::byte{0}};
  append(message, content);
  for (unsigned i = 0; i < 4; ++i) message.push_back(static_cast<std::byte>(number >> (8 * i)));
  return message;
}

Bytes little_endian(std::uint64_t value) {
  Bytes bytes;
  for (unsigned i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  return bytes;
}

template <typename Records>
Status write_records(const std::string& folder, const char* name, unsigned mode, const Records& records) {
  Bytes all{static_cast<std::byte>(mode)};
  for (std::size_t i = 0; i < records.size(); ++i) {
    Bytes one{static_cast<std::byte>(mode)};
    wire::write(one, records[i]);
    wire::write(all, records[i]);
    DHPVM_TRY(write_file(folder + "/" + name + std::to_string(i) + ".bin", one));
  }
  return write_file(folder + "/" + name + "s.bin", all);
}

// ---- Steps of session_fuzz ------------------------------------------------------------------------------------------

Bytes step(unsigned kind, const Bytes& content) {
  Bytes bytes{static_cast<std::byte>(kind)};
  append_message(bytes, content);
  return bytes;
}
Bytes frame_step(const std::vector<wire::FromClient>& records) {
  Bytes frame;
  for (const wire::FromClient& record : records) wire::write(frame, record);
  return step(0, frame);
}
Bytes answer_step() { return step(2, {}); }

// A run of half as many bytes as the step has.
Bytes run_step(const wire::RunHeader& header, std::size_t bytes) {
  Bytes content = wire::write_run_header(header);
  content.resize(2 * bytes);
  return step(1, content);
}

Status write_sessions(const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const auto write = [&](const std::string& name, const std::vector<Bytes>& steps) {
    Bytes all;
    for (const Bytes& bytes : steps) append(all, bytes);
    return write_file(folder + "/" + name + ".bin", all);
  };
  unsigned number = 0;
  for (const wire::FromClient& record : wire::client_examples()) {
    DHPVM_TRY(write("record" + std::to_string(number++), {frame_step({record})}));
  }
  // Objects that the fuzzer makes: queue 2, memories 1 and 2 of 4096 and 64 bytes, semaphores 3 and 4.
  const wire::Order plain{2, {}, {}};
  const wire::Order waits{2, {{3, 1}}, {{4, 1}}};
  DHPVM_TRY(
      write("transfers", {frame_step({wire::Upload{plain, {1, 0, 100}}, wire::Download{plain, {1, 0, 100}}}),
                          run_step({0, 0}, 60), run_step({0, 60}, 40), answer_step()}));
  DHPVM_TRY(
      write("writes", {frame_step({wire::Write{plain, 1, 4000, Bytes(96, std::byte{7})},
                                   wire::Write{waits, 2, 0, Bytes(64, std::byte{8})},
                                   wire::Download{plain, {1, 3990, 106}}, wire::Signal{3, 1}}),
                       answer_step(), frame_step({wire::Write{plain, 2, 60, Bytes(5)}}), answer_step()}));
  // One that is kept, changed and done again; its memory freed; one on each device of more than one answer takes.
  const wire::Batch kept{waits, 3, {wire::Elements{1, 0, Bytes(96, std::byte{7})}, wire::Span{1, 0, 96}}};
  DHPVM_TRY(write(
      "batches",
      {frame_step({kept, wire::Signal{3, 1}}), answer_step(),
       frame_step({wire::Replay{plain, 3, {}, {Bytes(50, std::byte{8})}},
                   wire::Replay{plain, 3, {}, {Bytes(4096)}}}),
       answer_step(), frame_step({wire::Free{1}, wire::Replay{plain, 3, {}, {Bytes(5)}}}), answer_step()}));
  DHPVM_TRY(write("order", {frame_step({wire::Fill{waits, {1, 0, 4096}, 7},
                                        wire::Copy{{2, {{4, 1}}, {}}, {2, 0, 8}, {1, 0, 8}}}),
                            frame_step({wire::Signal{3, 1}}), answer_step()}));
  DHPVM_TRY(
      write("calls", {frame_step({wire::HostCall{plain}}), answer_step(), frame_step({wire::HostCallDone{2}}),
                      answer_step(), frame_step({wire::DestroyQueue{2}})}));
  DHPVM_TRY(write("failures", {frame_step({wire::Fill{waits, {1, 0, 8}, 7},
                                           wire::FailSemaphore{3, wire::example_failure()},
                                           wire::Upload{plain, {1, 0, 8}}}),
                               run_step({1, 0}, 8), answer_step()}));
  DHPVM_TRY(write("memory",
                  {frame_step({wire::Allocate{9, 1, 9, 1000}}), answer_step(), frame_step({wire::Free{9}}),
                   frame_step({wire::Allocate{10, 0, 9, 1 << 20}}), answer_step()}));
  wire::Digest digest{};
  const Bytes code(40, std::byte{'D'});
  for (std::size_t i = 0; i < code.size(); ++i) digest[i % digest.size()] ^= code[i];
  DHPVM_TRY(write(
      "code", {frame_step({wire::LoadKernel{9, 0, 9, digest, code.size(), 0, {}, "kernel"},
                           wire::ModulePart{digest, Bytes(code.begin(), code.begin() + 16)}}),
               frame_step({wire::ModulePart{digest, Bytes(code.begin() + 16, code.end())}}), answer_step()}));
  return {};
}

Status write_wire(const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  DHPVM_TRY(write_records(folder, "client", 0, wire::client_examples()));
  DHPVM_TRY(write_records(folder, "worker", 1, wire::worker_examples()));
  DHPVM_TRY(write_records(folder, "operator", 12, wire::operator_examples()));
  DHPVM_TRY(write_records(folder, "answer", 13, wire::operator_answer_examples()));
  Bytes header{std::byte{2}};
  append(header, wire::write_run_header({300, 4096}));
  DHPVM_TRY(write_file(folder + "/header.bin", header));
  Bytes preamble{std::byte{3}};
  append(preamble, Preamble{}.to_bytes());
  DHPVM_TRY(write_file(folder + "/preamble.bin", preamble));
  // A connection of frames, and one of bulk data, from the side that dials.
  Bytes hello;
  wire::write(hello, wire::client_examples().front());
  Bytes frames{std::byte{4}};
  append_message(frames, Preamble{}.to_bytes());
  append_message(frames, frame_message(0, hello, 0));
  append_message(frames, frame_message(1, {}, 1));
  append_message(frames, frame_message(2, {std::byte{1}, std::byte{'x'}}, 2));
  DHPVM_TRY(write_file(folder + "/frames.bin", frames));
  Bytes bulk{std::byte{4}};
  Preamble of_bulk;
  of_bulk.lane = LaneKind::kBulk;
  append_message(bulk, of_bulk.to_bytes());
  Bytes announcement = little_endian(5);
  append(announcement, wire::write_run_header({7, 0}));
  append(announcement, little_endian(0));
  append_message(bulk, announcement);
  Bytes piece(5, std::byte{1});
  append(piece, little_endian(1));
  append_message(bulk, piece);
  DHPVM_TRY(write_file(folder + "/bulk.bin", bulk));
  // The same behind a handshake, where the fuzzer numbers or seals them.
  for (const unsigned mode : {8u, 10u}) {
    Bytes lane{static_cast<std::byte>(mode)};
    append_message(lane, [&] {
      Bytes first{std::byte{0}, std::byte{0}};
      append(first, hello);
      return first;
    }());
    append_message(lane, {std::byte{1}, std::byte{1}});
    append_message(lane, {std::byte{2}, std::byte{0}, std::byte{1}, std::byte{'x'}});
    DHPVM_TRY(write_file(folder + "/behind" + std::to_string(mode) + ".bin", lane));
    Bytes data{static_cast<std::byte>(mode + 1)};
    Bytes run = little_endian(5);
    append(run, wire::write_run_header({7, 0}));
    append_message(data, run);
    append_message(data, Bytes(5, std::byte{1}));
    append_message(data, little_endian(0));
    DHPVM_TRY(write_file(folder + "/behind" + std::to_string(mode + 1) + ".bin", data));
  }
  Bytes question{std::byte{0}, std::byte{0}};
  for (const wire::FromOperator& record : wire::operator_examples()) wire::write(question, record);
  for (const unsigned mode : {14u, 15u}) {
    Bytes lane{static_cast<std::byte>(mode)};
    append_message(lane, question);
    DHPVM_TRY(write_file(folder + "/behind" + std::to_string(mode) + ".bin", lane));
  }
  Preamble with_key;
  with_key.identity = IdentityKind::kKey;
  for (const unsigned mode : {6u, 7u}) {
    Bytes secured{static_cast<std::byte>(mode)};
    with_key.role = mode == 6 ? Role::kClient : Role::kWorker;
    append_message(secured, with_key.to_bytes());
    append_message(secured, Bytes(50, std::byte{22}));
    DHPVM_TRY(write_file(folder + "/secured" + std::to_string(mode) + ".bin", secured));
  }
  return {};
}

}  // namespace
}  // namespace dhpvm::offload

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_wire_corpus WIRE_FOLDER SESSION_FOLDER\n");
    return 2;
  }
  dhpvm::Status status = dhpvm::offload::write_wire(argv[1]);
  if (status.ok()) status = dhpvm::offload::write_sessions(argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return status.ok() ? 0 : 1;
}
