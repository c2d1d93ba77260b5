// SPDX-License-Identifier: Apache-2.0
#include "vm/device_history.h"

#include <set>
#include <utility>

#include "base/error.h"
#include "offload/devices/device_base.h"

namespace dhpvm::vm {
namespace {

// All loops of a chain except one; each place in the source once.
std::string others_of(const DeviceHistory::Chain& chain, std::size_t one) {
  std::string text;
  if (chain == nullptr) return text;
  std::set<std::string_view> told;
  for (std::size_t n = 0; n < chain->size(); ++n) {
    if (n == one || !told.insert((*chain)[n]).second) continue;
    text += text.empty() ? "that at " : ", ";
    text += (*chain)[n];
  }
  return text;
}

// "host: 3.4 ms; sim: 1.2 ms (..)"
std::string text_of(const std::vector<ExpectedTime>& places) {
  std::string text;
  for (const ExpectedTime& expected : places) {
    const std::string time = expected.estimate      ? offload::describe(*expected.estimate)
                             : expected.seconds > 0 ? offload::seconds_text(expected.seconds)
                                                    : "not measured yet";
    text +=
        fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", expected.place, time,
                    expected.divisible ? "" : ", only as a whole: its chunks may write the same elements");
    if (expected.behind > 0)
      text += ", after what others have done in its place: " + offload::seconds_text(expected.behind);
  }
  return text;
}

}  // namespace

void DeviceHistory::ran(Number loop, std::string devices, const offload::PipelineOutcome& outcome) {
  Story& story = loops_[loop];
  ++story.executions;
  story.devices = std::move(devices);
  story.last = outcome;
}

void DeviceHistory::ran_in_chain(Number loop, const offload::ChainOutcome& outcome, Chain chain,
                                 std::size_t place) {
  Story& story = loops_[loop];
  ++story.executions;
  story.last = {};
  story.last.chunks = outcome.chunks;
  story.last.rows_per_chunk = outcome.rows_per_chunk;
  story.last.upload_bytes = outcome.upload_bytes;
  story.last.download_bytes = outcome.download_bytes;
  story.last.sliced = outcome.way == offload::ChainWay::kInSlices;
  story.chain = std::move(chain);
  story.place_in_chain = place;
  story.way = outcome.way;
  story.is_remote = outcome.is_remote;
  if ((outcome.is_remote || outcome.takes_batches) && outcome.way == offload::ChainWay::kAsWholes)
    ++story.told_together;
  if (outcome.is_replay) ++story.replayed;
  if (!outcome.why_unrecorded.empty()) story.why_unrecorded = outcome.why_unrecorded;
}

void DeviceHistory::not_considered(Number loop, double seconds) {
  ++(seconds == 0 ? loops_[loop].unmeasured : loops_[loop].too_short);
}

void DeviceHistory::chose(Number loop, std::vector<ExpectedTime> expected, std::string reason) {
  loops_[loop].expected = std::move(expected);
  loops_[loop].reason = std::move(reason);
}

// How often the loop was part of a recorded batch, and why not more often.
std::string DeviceHistory::recordings_of(const Story& story) {
  std::string text;
  if (story.told_together > 1) {
    text += fmt::format(
        "  {} of {} executions were in recorded {}; the others were not, because their loops, arrays or "
        "sizes differed from all that were recorded last{}\n",
        story.replayed, story.told_together,
        story.is_remote ? "messages, repeated by their number with the values that had changed"
                        : "graphs of launches, given to the driver as one with the values that had changed",
        story.is_remote && story.replayed == 0 ? ", or the worker is of an earlier release" : "");
  }
  if (!story.why_unrecorded.empty())
    text += fmt::format("  is launched by itself, because its driver refuses a recording: {}\n",
                        story.why_unrecorded);
  return text;
}

std::uint64_t DeviceHistory::executions() const {
  std::uint64_t sum = 0;
  for (const Story& story : loops_) sum += story.executions;
  return sum;
}

std::string DeviceHistory::explain(Number loop, bool is_deferred, std::string_view policy) const {
  const Story& story = loops_[loop];
  std::string text;
  if (story.executions != 0) {
    text += fmt::format("  ran on {}: {} {}; the last in {} {} of up to {} rows, {} up, {} down{}\n",
                        story.devices, story.executions, story.executions == 1 ? "execution" : "executions",
                        story.last.chunks, story.last.chunks == 1 ? "chunk" : "chunks",
                        story.last.rows_per_chunk, offload::bytes_text(story.last.upload_bytes),
                        offload::bytes_text(story.last.download_bytes),
                        story.last.sliced ? ", slice by slice" : "");
  }
  if (story.last.redone != 0) {
    text += fmt::format("  {} of the chunks were done again by an idle device, because another was slow\n",
                        story.last.redone);
  }
  if (const std::string others = others_of(story.chain, story.place_in_chain); !others.empty()) {
    const std::string_view how = story.way == offload::ChainWay::kInSlices ? "chunk by chunk together with"
                                 : story.is_remote                         ? "in one message with"
                                                                           : "as one with";
    text += fmt::format("  ran {} {}; these figures are for all of them\n", how, others);
  }
  text += recordings_of(story);
  if (!story.apart.empty()) text += fmt::format("  not together with the loop before it: {}\n", story.apart);
  if (is_deferred) text += "  is deferred: its results have not been needed yet\n";
  const auto tell_stays = [&](std::uint64_t times, std::string_view reason) {
    if (times == 0) return;
    text += fmt::format("  stayed on the host {} {}: {}\n", times, times == 1 ? "time" : "times", reason);
  };
  tell_stays(story.unmeasured, "it has not run for long enough to be measured");
  tell_stays(story.too_short, "it is too short for a device to be worth looking for");
  for (const auto& [reason, times] : story.stays) tell_stays(times, reason);
  if (!story.absent.empty()) text += fmt::format("  missing at the last execution: {}\n", story.absent);
  if (!story.expected.empty()) {
    text += fmt::format("  the last decision of policy {}: {}; expected: {}\n", policy, story.reason,
                        text_of(story.expected));
  }
  if (story.held != 0) {
    text += fmt::format(
        "  {} executions followed a decision for the same sizes that was made a moment before\n", story.held);
  }
  return text;
}

}  // namespace dhpvm::vm
