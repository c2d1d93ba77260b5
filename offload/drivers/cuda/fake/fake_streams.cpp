// SPDX-License-Identifier: Apache-2.0
// Streams and events of the fake driver, and the calls of the host that stand in streams.
#include "offload/drivers/cuda/fake/fake_call.h"

using namespace dhpvm::offload::cu;        // NOLINT: it defines what these declare
using namespace dhpvm::offload::cu::fake;  // NOLINT

FAKE Code cuLaunchHostFunc(Stream stream, HostFunction function, void* data) {
  FAKE_CALL(cuLaunchHostFunc, true);
  push(*stream, [=] {
    in_host_function() = true;
    function(data);
    in_host_function() = false;
  });
  return CUDA_SUCCESS;
}

FAKE Code cuStreamCreate(Stream* stream, unsigned flags) {
  FAKE_CALL(cuStreamCreate, true);
  if (flags != kStreamNonBlocking) return misuse(CUDA_ERROR_INVALID_VALUE);
  *stream = new CUstream_st;
  (*stream)->context = current().back();
  (*stream)->thread = std::thread([created = *stream] { run_stream(*created); });
  ++all.counts.streams;
  return CUDA_SUCCESS;
}

FAKE Code cuStreamDestroy_v2(Stream stream) {
  FAKE_RELEASE(cuStreamDestroy_v2);
  stream->closing = true;
  all.changed.notify_all();
  lock.unlock();
  stream->thread.join();
  lock.lock();
  --all.counts.streams;
  delete stream;
  return answer;
}

FAKE Code cuStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  FAKE_CALL(cuStreamWaitEvent, true);
  if (flags != 0) return misuse(CUDA_ERROR_INVALID_VALUE);
  if (event->latest == nullptr) return CUDA_SUCCESS;
  push(*stream, [record = event->latest, stream] {
    std::unique_lock inner(state().mutex);
    state().changed.wait(inner, [&] { return record->done || stream->context->lost != CUDA_SUCCESS; });
  });
  return CUDA_SUCCESS;
}

FAKE Code cuStreamSynchronize(Stream stream) {
  FAKE_CALL(cuStreamSynchronize, true);
  wait_until_idle(*stream, lock);
  return stream->context->lost;
}

FAKE Code cuEventCreate(Event* event, unsigned flags) {
  FAKE_CALL(cuEventCreate, true);
  if ((flags & ~(kEventBlockingSync | kEventDisableTiming)) != 0) return misuse(CUDA_ERROR_INVALID_VALUE);
  *event = new CUevent_st{(flags & kEventDisableTiming) == 0, nullptr};
  ++all.counts.events;
  ++all.counts.events_created;
  return CUDA_SUCCESS;
}

FAKE Code cuEventDestroy_v2(Event event) {
  FAKE_RELEASE(cuEventDestroy_v2);
  --all.counts.events;
  delete event;
  return answer;
}

FAKE Code cuEventRecord(Event event, Stream stream) {
  FAKE_CALL(cuEventRecord, true);
  event->latest = std::make_shared<Record>();
  push(*stream, [record = event->latest] {
    const std::lock_guard inner(state().mutex);
    record->when = std::chrono::steady_clock::now();
    record->done = true;
    state().changed.notify_all();
  });
  return CUDA_SUCCESS;
}

FAKE Code cuEventQuery(Event event) {
  FAKE_CALL(cuEventQuery, true);
  return event->latest == nullptr || event->latest->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

FAKE Code cuEventSynchronize(Event event) {
  FAKE_CALL(cuEventSynchronize, true);
  CUctx_st& context = *current().back();
  const std::shared_ptr<Record> record = event->latest;
  if (record != nullptr) all.changed.wait(lock, [&] { return record->done || context.lost != CUDA_SUCCESS; });
  return context.lost;
}

FAKE Code cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  FAKE_CALL(cuEventElapsedTime, true);
  if (!begin->timed || !end->timed || begin->latest == nullptr || end->latest == nullptr)
    return misuse(CUDA_ERROR_INVALID_HANDLE);
  if (!begin->latest->done || !end->latest->done) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(end->latest->when - begin->latest->when).count();
  return CUDA_SUCCESS;
}
