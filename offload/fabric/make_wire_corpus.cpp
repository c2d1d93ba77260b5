// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of wire_fuzz: make_wire_corpus tests/fuzz/wire_fuzz
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "offload/fabric/channel.h"
#include "offload/fabric/wire_examples.h"

namespace dhpvm::offload {
namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

// With its length in front, as the fuzzer takes messages of connections.
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

Status run(const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  DHPVM_TRY(write_records(folder, "client", 0, wire::client_examples()));
  DHPVM_TRY(write_records(folder, "worker", 1, wire::worker_examples()));
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
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_wire_corpus FOLDER\n");
    return 2;
  }
  const dhpvm::Status status = dhpvm::offload::run(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return status.ok() ? 0 : 1;
}
