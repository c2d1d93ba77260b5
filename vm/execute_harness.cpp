// SPDX-License-Identifier: Apache-2.0
#include "vm/execute_harness.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "base/crc32c.h"
#include "bytecode/reader.h"
#include "bytecode/verifier.h"
#include "vm/invocation.h"
#include "vm/isolate.h"

namespace dhpvm::vm {
namespace {

using bytecode::Module;
using bytecode::TypeKind;
using bytecode::ValueType;
using Random = std::minstd_rand;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "execute: %s\n", what.c_str());
  std::abort();
}

// Numbers that programs treat specially come up often.
std::uint64_t some_number(Random& random) {
  switch (random() % 6) {
    case 0: return random() % 4;
    case 1: return random() % 70'000;
    case 2: return ~std::uint64_t{0} - random() % 4;
    case 3: return 0x3ff0000000000000 + random();
    case 4: return std::uint64_t{1} << random() % 64;
    default: return std::uint64_t{random()} << 32 | random();
  }
}

// A value for a reference parameter or result of `type`; often null, and for classes new and empty.
gc::Ref some_reference(Isolate& isolate, std::uint32_t type, Random& random) {
  if (random() % 4 == 0) return nullptr;
  const auto as_ref = [](auto made) { return made.ok() ? reinterpret_cast<gc::Ref>(*made) : nullptr; };
  switch (isolate.module().types[type].kind) {
    case TypeKind::kString: return as_ref(isolate.new_string(random() % 2 == 0 ? "" : "some text"));
    case TypeKind::kClass: return as_ref(isolate.new_object(type));
    case TypeKind::kResource:
      return as_ref(isolate.new_resource(&isolate, [](gc::Object*, void*) {}, nullptr));
    case TypeKind::kArray: {
      const std::int64_t sizes[3] = {static_cast<std::int64_t>(random() % 40),
                                     static_cast<std::int64_t>(random() % 40), random() % 8 == 0 ? 200 : 3};
      const unsigned rank = isolate.module().types[type].rank;
      return as_ref(isolate.new_array(type, {sizes + (3 - rank), rank}));
    }
    default: return nullptr;  // interfaces, weak references
  }
}

// A native of any type: collects, calls back or fails now and then, and returns something.
Status any_native(NativeCall& call, const bytecode::Import& import, const std::shared_ptr<Random>& state) {
  Random& random = *state;
  Isolate& isolate = call.isolate;
  if (random() % 8 == 0) isolate.heap().collect(gc::CollectionKind::kMinor);
  if (random() % 16 == 0) return Error(ErrorCode::kIo, "as it happens");
  if (random() % 8 == 0 && !isolate.module().functions.empty()) {
    const std::size_t functions = isolate.module().functions.size();
    Invocation inner(isolate, static_cast<std::uint32_t>(random() % functions));
    if (inner.ok()) DHPVM_TRY(inner.run());
  }
  std::size_t primitives = 0;
  std::size_t references = 0;
  for (const ValueType& result : import.signature.results) {
    if (result.is_ref()) {
      call.r[references++] = some_reference(isolate, result.type, random);
    } else {
      call.p[primitives++] = some_number(random);
    }
  }
  return {};
}

NativeRegistry natives_for(const Module& module, const std::shared_ptr<Random>& random) {
  NativeRegistry natives;
  for (const bytecode::Import& import : module.imports) {
    // Refused for types that no native can name: then linking fails, which is fine too.
    (void)natives.define(import.name, signature_text(module, import.signature),
                         [&import, random](NativeCall& call) { return any_native(call, import, random); });
  }
  return natives;
}

void run_function(Isolate& isolate, std::uint32_t function, Random& random) {
  Invocation call(isolate, function);
  if (!call.ok()) return;
  const bytecode::Signature& signature = isolate.module().functions[function].signature;
  std::size_t primitives = 0;
  std::size_t references = 0;
  for (const ValueType& parameter : signature.parameters) {
    if (parameter.is_ref()) {
      call.r()[references++] = some_reference(isolate, parameter.type, random);
    } else {
      call.p()[primitives++] = some_number(random);
    }
  }
  const Status status = call.run();
  if (!status.ok() && !status.error().is_trap()) give_up(status.error().to_string());
}

}  // namespace

bool execute(std::span<const std::byte> file) {
  auto read = bytecode::read_module(file);
  if (!read.ok() || !bytecode::verify(*read).ok()) return false;
  const auto module = std::make_shared<const Module>(std::move(read).value());
  const auto random = std::make_shared<Random>(crc32c(file));
  const auto linked = LinkedModule::link(module, natives_for(*module, random));
  if (!linked.ok()) return false;

  IsolateOptions options;
  options.limits.heap_bytes = std::size_t{1} << 20;
  options.limits.off_heap_bytes = std::size_t{4} << 20;
  options.limits.stack_bytes = std::size_t{128} << 10;
  options.limits.deadline = std::chrono::milliseconds(100);  // in case fuel does not bound the time
  options.check_races = (*random)() % 4 == 0;
  const bool stress = (*random)() % 2 == 0;
  options.gc_stress = stress ? 1 + (*random)() % 8 : 0;
  options.gc_verify = stress;
  auto isolate = Isolate::create(*linked, options);
  if (!isolate.ok()) give_up(isolate.error().to_string());
  for (std::uint32_t function = 0; function < module->functions.size() && function < 32; ++function) {
    (*isolate)->set_fuel(stress ? 300 : 5000);
    run_function(**isolate, function, *random);
  }
  (*isolate)->heap().collect(gc::CollectionKind::kFull);
  if (const Status status = (*isolate)->heap().check(); !status.ok()) give_up(status.error().to_string());
  return true;
}

}  // namespace dhpvm::vm
