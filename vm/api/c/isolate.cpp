// SPDX-License-Identifier: Apache-2.0
// Isolates in C.
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "vm/api/c/options.h"

namespace {

using dhpvm::Status;
using dhpvm::c::check_pointer;
using dhpvm::c::guarded;

dhpvm_device device_of(const dhpvm::DeviceUse& use) {
  return {
      sizeof(dhpvm_device),           use.name.c_str(), use.description.c_str(), "", use.is_simulated ? 1 : 0,
      use.shares_host_memory ? 1 : 0, use.copy_engines, use.memory_bytes};
}

}  // namespace

dhpvm_code dhpvm_isolate_new(dhpvm_module* module, const dhpvm_isolate_options* options,
                             dhpvm_isolate** isolate, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, module);
    DHPVM_TRY(check_pointer(isolate, "isolate"));
    DHPVM_ASSIGN(const dhpvm::IsolateOptions wanted, dhpvm::c::isolate_options(options));
    DHPVM_ASSIGN(dhpvm::Isolate made, dhpvm::Isolate::create(*found, wanted));
    const auto state = made.state();
    DHPVM_TRY(dhpvm::c::give(std::make_unique<dhpvm::c::IsolateHandle>(
                                 dhpvm::c::IsolateHandle{std::make_shared<dhpvm::Isolate>(std::move(made))}),
                             isolate));
    state->c_handle = *isolate;
    return {};
  });
}

dhpvm_code dhpvm_isolate_reload(dhpvm_isolate* isolate, const dhpvm_module* module, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_FIND(newer, module);
    found->returned->let_go();
    return found->isolate->reload(*newer);
  });
}

void dhpvm_isolate_free(dhpvm_isolate* isolate) {
  (void)guarded(nullptr, [&]() -> Status {
    const auto taken = dhpvm::c::take_back(isolate);
    if (taken != nullptr) taken->isolate->state()->c_handle = nullptr;
    return {};
  });
}

dhpvm_code dhpvm_isolate_interrupt(const dhpvm_isolate* isolate) {
  const auto* const found = dhpvm::c::find(isolate);
  if (found == nullptr) return DHPVM_INVALID_ARGUMENT;
  found->isolate->interrupt();
  return DHPVM_OK;
}

dhpvm_code dhpvm_isolate_run_main(dhpvm_isolate* isolate, const char* const* arguments, size_t count,
                                  int32_t* exit_code, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(exit_code, "exit_code"));
    if (count != 0) DHPVM_TRY(check_pointer(arguments, "arguments"));
    std::vector<std::string> words;
    for (const char* word : std::span(arguments, count)) {
      DHPVM_TRY(check_pointer(word, "arguments"));
      words.emplace_back(word);
    }
    found->returned->let_go();
    const std::shared_ptr<dhpvm::Isolate> running = found->isolate;
    DHPVM_ASSIGN(*exit_code, running->run_main(words));
    return {};
  });
}

dhpvm_code dhpvm_isolate_fuel_left(const dhpvm_isolate* isolate, uint64_t* fuel, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(fuel, "fuel"));
    *fuel = found->isolate->fuel_left();
    return {};
  });
}

dhpvm_code dhpvm_isolate_set_fuel(dhpvm_isolate* isolate, uint64_t fuel, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    found->isolate->set_fuel(fuel);
    return {};
  });
}

dhpvm_code dhpvm_isolate_set_deadline(dhpvm_isolate* isolate, int64_t deadline_ns, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    found->isolate->set_deadline(std::chrono::nanoseconds(deadline_ns));
    return {};
  });
}

dhpvm_code dhpvm_isolate_set_progress(dhpvm_isolate* isolate, dhpvm_progress_function function, void* user,
                                      int64_t interval_ns, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    if (interval_ns < 0) {
      return dhpvm::error(dhpvm::ErrorCode::kInvalidArgument,
                          "interval_ns is {}: the time between two reports cannot be negative", interval_ns);
    }
    dhpvm::ProgressFunction listener;
    if (function != nullptr) {
      listener = [function, user](const dhpvm::Progress& progress) {
        const std::string loop(progress.loop);
        const dhpvm_progress told{sizeof told,
                                  loop.c_str(),
                                  progress.done,
                                  progress.total,
                                  progress.elapsed.count(),
                                  static_cast<uint8_t>(progress.has_ended ? 1 : 0),
                                  {}};
        function(user, &told);
      };
    }
    found->isolate->set_progress(std::move(listener), std::chrono::nanoseconds(interval_ns));
    return {};
  });
}

dhpvm_code dhpvm_isolate_rest(dhpvm_isolate* isolate, int64_t waited_ns, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    return found->isolate->rest(std::chrono::nanoseconds(waited_ns));
  });
}

dhpvm_code dhpvm_isolate_collect(dhpvm_isolate* isolate, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    found->returned->let_go();
    found->isolate->collect();
    return {};
  });
}

dhpvm_code dhpvm_isolate_statistics(const dhpvm_isolate* isolate, dhpvm_statistic_visitor visit, void* user,
                                    dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(visit, "visit"));
    for_each_statistic(found->isolate->statistics(), [&](std::string_view name, std::string_view unit,
                                                         std::string_view meaning, std::uint64_t value) {
      visit(user, std::string(name).c_str(), std::string(unit).c_str(), std::string(meaning).c_str(), value);
    });
    return {};
  });
}

dhpvm_code dhpvm_isolate_explain(const dhpvm_isolate* isolate, dhpvm_bytes* text, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    return dhpvm::c::give_bytes(found->isolate->explain_loops(), text);
  });
}

dhpvm_code dhpvm_isolate_devices(const dhpvm_isolate* isolate, dhpvm_device_visitor visit, void* user,
                                 dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, isolate);
    DHPVM_TRY(check_pointer(visit, "visit"));
    for (const dhpvm::DeviceUse& use : found->isolate->devices()) {
      const dhpvm_device device = device_of(use);
      visit(user, &device);
    }
    return {};
  });
}
