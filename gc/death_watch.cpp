// SPDX-License-Identifier: Apache-2.0
#include "gc/death_watch.h"

#include <utility>

namespace dhpvm::gc {

std::size_t CleanerList::run_dead(std::vector<Entry>& entries, const Marker& marker) {
  std::vector<Entry> dead;
  std::vector<Entry> survivors;
  for (const Entry& entry : entries) (marker.is_marked(entry.object) ? survivors : dead).push_back(entry);
  entries.clear();
  old_.insert(old_.end(), survivors.begin(), survivors.end());
  for (const Entry& entry : dead) entry.run(entry.object, entry.context);
  return dead.size();
}

std::size_t CleanerList::run_dead_all(const Marker& marker) {
  std::vector<Entry> entries = std::exchange(old_, {});
  return run_dead(entries, marker) + run_dead(young_, marker);
}

void CleanerList::run_all() {
  for (std::vector<Entry>* entries : {&young_, &old_}) {
    for (const Entry& entry : std::exchange(*entries, {})) entry.run(entry.object, entry.context);
  }
}

void WeakList::clear_dead(std::vector<Weak*>& weaks, const Marker& marker) {
  const std::vector<Weak*> entries = std::exchange(weaks, {});
  for (Weak* weak : entries) {
    if (!marker.is_marked(reinterpret_cast<Object*>(weak))) continue;
    if (weak->target != nullptr && !marker.is_marked(weak->target)) weak->target = nullptr;
    if (weak->target != nullptr) old_.push_back(weak);
  }
}

void WeakList::clear_dead_all(const Marker& marker) {
  clear_dead(old_, marker);
  clear_dead(young_, marker);
}

}  // namespace dhpvm::gc
