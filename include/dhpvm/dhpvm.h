// SPDX-License-Identifier: Apache-2.0
// The whole public API. Read engine.h first; docs/embedding.md explains the API by example.
#pragma once

#include "dhpvm/device.h"         // IWYU pragma: export
#include "dhpvm/engine.h"         // IWYU pragma: export
#include "dhpvm/forward.h"        // IWYU pragma: export
#include "dhpvm/function.h"       // IWYU pragma: export
#include "dhpvm/host_class.h"     // IWYU pragma: export
#include "dhpvm/isolate.h"        // IWYU pragma: export
#include "dhpvm/language.h"       // IWYU pragma: export
#include "dhpvm/limits.h"         // IWYU pragma: export
#include "dhpvm/module.h"         // IWYU pragma: export
#include "dhpvm/object.h"         // IWYU pragma: export
#include "dhpvm/remote.h"         // IWYU pragma: export
#include "dhpvm/result.h"         // IWYU pragma: export
#include "dhpvm/stats.h"          // IWYU pragma: export
#include "dhpvm/types.h"          // IWYU pragma: export
#include "dhpvm/value.h"          // IWYU pragma: export
#include "dhpvm/version.h"        // IWYU pragma: export
#include "dhpvm/worker_status.h"  // IWYU pragma: export
