// SPDX-License-Identifier: Apache-2.0
// The state of a worker in the text format of Prometheus (version 0.0.4), and the answers to HTTP requests for it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "offload/remote/worker/worker_report.h"

namespace dhpvm::offload {

std::string metrics_text(const WorkerReport& report);

// The answer to an HTTP request, which ends with the empty line after its headers: GET or HEAD of /metrics, or of
// /healthz, which is 503 while the worker drains. Headers of the request are ignored.
std::string http_answer(std::string_view request, const std::function<WorkerReport()>& report);
// The answer to a request that is too long.
std::string http_answer_too_long();

}  // namespace dhpvm::offload
