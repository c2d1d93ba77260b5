/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles, codes, and the structures that the C interface fills in for its caller. Include dhpvm/c.h.
 */
#ifndef DHPVM_C_TYPES_H
#define DHPVM_C_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Raised with every addition to the interface. */
#define DHPVM_ABI_VERSION 6

#if defined(__GNUC__)
#define DHPVM_C_API __attribute__((visibility("default")))
#else
#define DHPVM_C_API
#endif

typedef struct dhpvm_engine dhpvm_engine;
typedef struct dhpvm_module dhpvm_module;
typedef struct dhpvm_isolate dhpvm_isolate;
typedef struct dhpvm_function dhpvm_function;
typedef struct dhpvm_object dhpvm_object;
typedef struct dhpvm_worker dhpvm_worker;
typedef struct dhpvm_error dhpvm_error;
/* Defined by DLPack 1: see its dlpack.h. */
struct DLManagedTensorVersioned;

/* A dhpvm_code; the numbers never change. dhpvm/result.h says what each means. */
typedef int32_t dhpvm_code;
enum {
  DHPVM_OK = 0,
  /* Wrong use. */
  DHPVM_INVALID_ARGUMENT = 1,
  DHPVM_NOT_FOUND = 2,
  DHPVM_IO = 3,
  DHPVM_MALFORMED = 4,
  DHPVM_UNVERIFIED = 5,
  DHPVM_UNSUPPORTED = 6,
  DHPVM_COMPILE = 7,
  DHPVM_LINK = 8,
  /* Traps of programs. */
  DHPVM_OUT_OF_MEMORY = 9,
  DHPVM_OFF_HEAP_EXHAUSTED = 10,
  DHPVM_STACK_OVERFLOW = 11,
  DHPVM_OUT_OF_FUEL = 12,
  DHPVM_DEADLINE = 13,
  DHPVM_INTERRUPTED = 14,
  DHPVM_INDEX_OUT_OF_RANGE = 15,
  DHPVM_NEGATIVE_LENGTH = 16,
  DHPVM_DIVISION_BY_ZERO = 17,
  DHPVM_NULL_REFERENCE = 18,
  DHPVM_BAD_CAST = 19,
  DHPVM_BORROW_ENDED = 20,
  DHPVM_CLOSED = 21,
  DHPVM_RACE = 22,
  DHPVM_USER_TRAP = 23,
  DHPVM_HOST_EXCEPTION = 24,
  DHPVM_DEVICE_EXHAUSTED = 25,
  DHPVM_DEVICE_FAILED = 26,
  DHPVM_DEVICE_LOST = 27,
  DHPVM_IO_TRAP = 28,
  /* A bug of DHPVM. */
  DHPVM_INTERNAL = 29,
  /* The other side of a connection breaks the protocol. */
  DHPVM_PROTOCOL = 30,
  /* The operating system does not allow the access. */
  DHPVM_PERMISSION_DENIED = 31
};

/* Called once, when the library no longer needs `user`. */
typedef void (*dhpvm_release_function)(void* user);

/* Bytes that the caller frees with dhpvm_bytes_free. A zero byte follows that is not counted. */
typedef struct dhpvm_bytes {
  char* data;
  size_t size;
} dhpvm_bytes;

/* One frame of a program's stack. Texts live as long as the error. */
typedef struct dhpvm_frame {
  size_t size; /* set by the caller */
  const char* function;
  const char* file; /* empty if the module has no lines */
  uint32_t line;    /* from 1; 0: unknown */
} dhpvm_frame;

/* A device. dhpvm_engine_devices sets only name, description and problem. */
typedef struct dhpvm_device {
  size_t size;
  const char* name;        /* as dhpvm_isolate_options.device takes it: "cuda:0" */
  const char* description; /* for people */
  const char* problem;     /* why it cannot be used, and what to do; empty if it can */
  int is_simulated;
  int shares_host_memory;
  uint32_t copy_engines;
  uint64_t memory_bytes;
} dhpvm_device;
typedef void (*dhpvm_device_visitor)(void* user, const dhpvm_device* device);

/* A worker that an engine uses. */
typedef struct dhpvm_worker_use {
  size_t size;
  const char* name;  /* "remote/gpubox:7471" */
  const char* host;  /* the name it gives itself; empty if never connected */
  const char* state; /* "ready", or why it is not */
  const char* seal;  /* "none", "integrity", "full"; "no key" without one */
  uint64_t jobs;
  uint64_t bytes_sent;
  uint64_t bytes_received;
  int64_t round_trip_ns; /* the shortest recent one; 0 if unknown */
} dhpvm_worker_use;
typedef void (*dhpvm_worker_visitor)(void* user, const dhpvm_worker_use* worker);

typedef struct dhpvm_leftovers {
  size_t size; /* set by the caller */
  uint64_t buffer_bytes;
  uint64_t device_bytes;
  uint64_t registrations;
} dhpvm_leftovers;

/* A counter: "heap_bytes", "bytes", "memory that the heap occupies now". Units are count, bytes and ns. */
typedef void (*dhpvm_statistic_visitor)(void* user, const char* name, const char* unit, const char* meaning,
                                        uint64_t value);
/* "dot", "([f64], [f64]) -> f64" */
typedef void (*dhpvm_export_visitor)(void* user, const char* name, const char* signature);

/* "next", "Node" */
typedef void (*dhpvm_field_visitor)(void* user, const char* name, const char* type);

#endif /* DHPVM_C_TYPES_H */
