// SPDX-License-Identifier: Apache-2.0
// Reports what a worker does in the text format of Prometheus (version 0.0.4), and the answers to requests for it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "offload/remote/worker/worker_report.h"

namespace dhpvm::offload {

std::string metrics_text(const WorkerReport& report);

// The answer to a request of HTTP, which ends with the empty line behind its headers: GET or HEAD of /metrics, or of
// /healthz, which is 503 while the worker drains. Headers of requests are not looked at.
std::string http_answer(std::string_view request, const std::function<WorkerReport()>& report);
// That to a request which is too long.
std::string http_answer_too_long();

}  // namespace dhpvm::offload
