// SPDX-License-Identifier: Apache-2.0
// Declares the classes of the C++ API, for headers that only name them. An application cannot declare them itself:
// they live in the inline namespace of version.h.
#pragma once

#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

class Engine;
class Error;
template <typename Signature>
class Function;
template <typename T>
class HostClass;
class Isolate;
class Module;
class Object;
class Record;
template <typename T>
class Result;
class Status;
class Value;
class Worker;
struct CompileOptions;
struct EngineOptions;
struct IsolateOptions;
struct WorkerOptions;

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
