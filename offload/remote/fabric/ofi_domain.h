// SPDX-License-Identifier: Apache-2.0
// A network interface of the machine in libfabric, with what all connections over it share, and the memory that is
// registered with it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "offload/remote/fabric/ofi_handles.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

// Events of connections: established, requested, ended.
struct OfiFabric {
  std::string name;
  Fid<fid_fabric> fabric;
  Fid<fid_eq> events;
  int descriptor = -1;  // readable when there is an event; not owned
};

class OfiDomain {
 public:
  // `registers`: register memory even if the provider does not need it.
  static Result<std::unique_ptr<OfiDomain>> open(OfiFabric& fabric, fi_info& info, bool registers);

  bool is_for(const OfiFabric& fabric, const fi_info& info) const;
  fid_domain* domain() const { return domain_.get(); }
  fid_cq* completions() const { return completions_.get(); }
  int descriptor() const { return descriptor_; }
  OfiFabric& fabric() const { return fabric_; }

  bool registers() const { return registers_; }
  // Registers memory for sending and receiving. Thread-safe.
  Result<Fid<fid_mr>> register_memory(const void* memory, std::size_t bytes);

 private:
  OfiDomain(OfiFabric& fabric, std::string name, bool registers)
      : fabric_(fabric), name_(std::move(name)), registers_(registers) {}

  OfiFabric& fabric_;
  const std::string name_;
  const bool registers_;
  Fid<fid_domain> domain_;
  Fid<fid_cq> completions_;
  int descriptor_ = -1;
  std::atomic<std::uint64_t> next_key_ = 1;
};

}  // namespace dhpvm::offload
