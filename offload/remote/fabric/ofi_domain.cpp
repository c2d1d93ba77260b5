// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/ofi_domain.h"

#include <utility>

namespace dhpvm::offload {

Result<std::unique_ptr<OfiDomain>> OfiDomain::open(OfiFabric& fabric, fi_info& info, bool registers) {
  const bool must_register = (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  std::unique_ptr<OfiDomain> made(new OfiDomain(fabric, info.domain_attr->name, must_register || registers));
  fid_domain* domain = nullptr;
  if (const int code = fi_domain(fabric.fabric.get(), &info, &domain, nullptr); code != 0) {
    return ofi_error("open a network interface", code);
  }
  made->domain_.reset(domain);
  fi_cq_attr attributes{};
  attributes.size = 4096;
  attributes.format = FI_CQ_FORMAT_MSG;
  attributes.wait_obj = FI_WAIT_FD;
  fid_cq* completions = nullptr;
  if (const int code = fi_cq_open(domain, &attributes, &completions, nullptr); code != 0) {
    return ofi_error("create a completion queue", code);
  }
  made->completions_.reset(completions);
  if (const int code = fi_control(&completions->fid, FI_GETWAIT, &made->descriptor_); code != 0) {
    return ofi_error("wait for completions with a file descriptor", code);
  }
  return made;
}

bool OfiDomain::is_for(const OfiFabric& fabric, const fi_info& info) const {
  return &fabric == &fabric_ && name_ == info.domain_attr->name;
}

Result<Fid<fid_mr>> OfiDomain::register_memory(const void* memory, std::size_t bytes) {
  fid_mr* region = nullptr;
  const int code = fi_mr_reg(domain_.get(), memory, bytes, FI_SEND | FI_RECV, 0, next_key_.fetch_add(1), 0,
                             &region, nullptr);
  if (code != 0) return ofi_error("register memory; check `ulimit -l`", code);
  return Fid<fid_mr>(region);
}

}  // namespace dhpvm::offload
