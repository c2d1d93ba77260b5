// SPDX-License-Identifier: Apache-2.0
// The counters of an isolate.
#pragma once

#include <cstdint>
#include <string_view>

#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// X(name, unit, meaning): one row per counter. Units: count, bytes, ns. The structure, `dhpvm-run --stats`
// and its JSON are made from this table; rows may be added in any version.
#define DHPVM_STATISTICS(X)                                                        \
  X(host_calls, count, "calls from C++ into the program")                          \
  X(main_time, ns, "time in Isolate::run_main")                                    \
  X(fuel_used, count, "calls, turns of loops and iterations of parallel loops")    \
  X(parallel_loops, count, "executions of `parallel for`")                         \
  X(parallel_iterations, count, "iterations in all of them")                       \
  X(bytes_allocated, bytes, "allocated in the heap since the start")               \
  X(live_bytes, bytes, "in use in the heap as of the last collection")             \
  X(heap_bytes, bytes, "memory that the heap occupies now")                        \
  X(heap_peak_bytes, bytes, "most that blocks of small objects have occupied")     \
  X(off_heap_bytes, bytes, "elements of large arrays now")                         \
  X(off_heap_peak_bytes, bytes, "most that they have occupied")                    \
  X(device_loops, count, "executions of parallel loops on devices")                \
  X(device_chained, count, "of them, together with others")                        \
  X(device_chunks, count, "chunks that they were divided into")                    \
  X(device_uploads, count, "copies to devices that are done")                      \
  X(device_upload_bytes, bytes, "in them")                                         \
  X(device_upload_time, ns, "for them, on the clocks of the devices")              \
  X(device_launches, count, "kernels that devices have run")                       \
  X(device_launch_time, ns, "for them, on the clocks of the devices")              \
  X(device_downloads, count, "copies from devices that are done")                  \
  X(device_download_bytes, bytes, "in them")                                       \
  X(device_download_time, ns, "for them, on the clocks of the devices")            \
  X(device_registrations, count, "pieces of memory made known to devices")         \
  X(device_registration_time, ns, "for making them known")                         \
  X(device_bytes, bytes, "device memory in use now")                               \
  X(minor_collections, count, "collections of new objects")                        \
  X(full_collections, count, "collections of the whole heap")                      \
  X(minor_pause_total, ns, "time in minor collections, all parts of each")         \
  X(minor_pause_p99, ns, "99 % of their pauses (parts) took at most this long")    \
  X(minor_pause_max, ns, "the longest of these pauses")                            \
  X(full_pause_total, ns, "time in full collections")                              \
  X(full_pause_max, ns, "the longest full collection")                             \
  X(cleaners_run, count, "files and other resources that the collector released")  \
  X(compiles, count, "units of code compiled by the engine, for all its isolates") \
  X(compile_median, ns, "the median time of compiling one")                        \
  X(loop_compile_median, ns, "the same, of parallel loops alone")                  \
  X(cache_hits, count, "units of code found in the cache on disk instead")

struct Statistics {
#define X(name, unit, meaning) std::uint64_t name = 0;
  DHPVM_STATISTICS(X)
#undef X
};

// Calls visit(name, unit, meaning, value) for each counter, in the order of the table; the first three
// are string views.
template <typename Visitor>
void for_each_statistic(const Statistics& statistics, Visitor&& visit) {
#define X(name, unit, meaning) \
  visit(std::string_view(#name), std::string_view(#unit), std::string_view(meaning), statistics.name);
  DHPVM_STATISTICS(X)
#undef X
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
