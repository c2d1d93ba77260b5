/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of engines, modules, isolates and workers in C. Include dhpvm/c.h.
 *
 * Each has a function dhpvm_X_init(&x, sizeof x) that sets `size` and the defaults. The members are those of the
 * structures in C++, whose headers explain them at length: engine.h, module.h, limits.h, remote.h. A text that is NULL
 * is empty.
 */
#ifndef DHPVM_C_OPTIONS_H
#define DHPVM_C_OPTIONS_H

#include "dhpvm/c/types.h"

/* ---- Streams of programs. Each is called with the `user` member after it, on the thread that runs the isolate. */

/* Anything but DHPVM_OK ends the program with that code. */
typedef dhpvm_code (*dhpvm_write_function)(void* user, const char* text, size_t size);
/* Fills the front of the buffer, and returns the number of bytes; 0: end of file; below: DHPVM_IO. */
typedef int64_t (*dhpvm_read_function)(void* user, char* buffer, size_t size);

/* NULL: the stream of the engine, which by default is that of the process. */
typedef struct dhpvm_streams {
  dhpvm_write_function standard_output;
  void* output_user;
  dhpvm_write_function standard_error;
  void* error_user;
  dhpvm_read_function standard_input;
  void* input_user;
} dhpvm_streams;

enum { DHPVM_LOG_WARNING = 0, DHPVM_LOG_LISTING = 1 };
/* A warning of the library, or a requested listing. Called from any thread. */
typedef void (*dhpvm_log_function)(void* user, uint32_t kind, const char* text, size_t size);

/* ---- Authentication and encryption between client and worker. */

enum { DHPVM_SEAL_NONE = 0, DHPVM_SEAL_INTEGRITY = 1, DHPVM_SEAL_FULL = 2 };
typedef struct dhpvm_security {
  const char* key_file; /* of dhpvm_make_key_file */
  const char* certificate_file;
  const char* private_key_file;
  const char* authority_file;
  uint32_t seal; /* of array data in transit: DHPVM_SEAL_FULL */
  uint32_t reserved;
} dhpvm_security;

/* ---- The parts of the system that programs may use: see dhpvm/rights.h. */

typedef struct dhpvm_rights {
  size_t size;
  const char* const* read; /* folders with everything below them */
  size_t read_count;
  const char* const* write;
  size_t write_count;
  uint8_t environment; /* 1: environment variables may be read */
  uint8_t run;         /* 1: other programs may be started, which have all rights of the process */
  uint8_t reserved[6];
} dhpvm_rights;

/* ---- Engine. */

enum { DHPVM_LIST_NONE = 0, DHPVM_LIST_LLVM = 1, DHPVM_LIST_ASSEMBLY = 2, DHPVM_LIST_DEVICE = 3 };

typedef struct dhpvm_engine_options {
  size_t size;
  dhpvm_streams streams;
  dhpvm_log_function log; /* NULL: messages are dropped */
  void* log_user;
  uint8_t system_access; /* 1: programs may reach files and the environment */
  uint8_t code_cache;    /* 1: compiled code is kept on disk */
  uint8_t code_for_debugger;
  uint8_t code_for_profiler;
  uint8_t trace;             /* collect events for dhpvm_engine_write_trace */
  uint8_t list_kernels;      /* DHPVM_LIST_.. */
  uint8_t list_functions;    /* DHPVM_LIST_.. */
  uint8_t remote_write_back; /* 1: every loop on a worker ends with the write-back of its results */
  uint32_t threads;          /* for parallel loops, the calling one included; 0: one for each core */
  uint32_t reserved;
  const char* code_cache_directory;
  uint64_t code_cache_limit;
  const char* processor;     /* "native" */
  const char* list_language; /* "opencl" */
  /* Workers to dial when a program needs them: "gpubox:7471". */
  const char* const* workers;
  size_t worker_count;
  const char* listen;   /* the address where workers may dial in: "0.0.0.0:7471" */
  int64_t arrival_ns;   /* the wait for the first of them: 10 s */
  int64_t silence_ns;   /* a worker that sends nothing for this long is lost: 3 s */
  const char* provider; /* of libfabric; empty: TCP */
  dhpvm_security security;
  /* The member below came with version 3. */
  const dhpvm_rights* rights; /* NULL: programs with system_access may use all of it */
} dhpvm_engine_options;

/* ---- Module. */

typedef struct dhpvm_compile_options {
  size_t size;
  const char* file_name; /* of the source, in messages: "program.dhp" */
  const char* const* import_paths;
  size_t import_path_count;
  /* The members below came with version 2: a `size` that ends here leaves them at their defaults. */
  uint8_t host_objects; /* 1: constructors and all methods of classes, for dhpvm_object_new */
  uint8_t reserved[7];
} dhpvm_compile_options;

/* ---- Isolate. */

#define DHPVM_UNLIMITED UINT64_MAX
#define DHPVM_NO_DEADLINE INT64_MAX

enum { DHPVM_JIT_OFF = 0, DHPVM_JIT_ON = 1, DHPVM_JIT_EAGER = 2, DHPVM_JIT_BASELINE = 3 };
enum { DHPVM_POLICY_FASTEST = 0, DHPVM_POLICY_REMOTE = 1 };
enum { DHPVM_BATCHING_OVERLAPPED = 0, DHPVM_BATCHING_SERIAL = 1, DHPVM_BATCHING_SERIAL_PAGEABLE = 2 };

/* An operation that a device has done. */
enum { DHPVM_UPLOAD = 0, DHPVM_LAUNCH = 1, DHPVM_DOWNLOAD = 2, DHPVM_OTHER_OPERATION = 3 };
typedef struct dhpvm_device_operation {
  size_t size;
  const char* device; /* valid during the call */
  uint32_t kind;
  uint32_t reserved;
  uint64_t bytes;
  uint64_t iterations;
  int64_t begin_ns; /* on the device's clock */
  int64_t end_ns;
} dhpvm_device_operation;
/* From any thread, possibly several at once. */
typedef void (*dhpvm_device_observer)(void* user, const dhpvm_device_operation* operation);

typedef struct dhpvm_isolate_options {
  size_t size;
  /* Limits. DHPVM_UNLIMITED means no limit, which the stack must have; reaching a limit is a trap. */
  uint64_t heap_bytes;     /* 4 GiB */
  uint64_t off_heap_bytes; /* 8 GiB: elements of arrays of 64 KiB and more */
  uint64_t device_bytes;   /* unlimited */
  uint64_t stack_bytes;    /* 16 MiB */
  uint64_t fuel;           /* unlimited; over the life of the isolate */
  int64_t deadline_ns;     /* DHPVM_NO_DEADLINE; of each call */
  dhpvm_streams streams;
  const char* device; /* "auto" */
  dhpvm_device_observer device_observer;
  void* observer_user;
  double policy_factor; /* 4 */
  uint64_t batch;       /* iterations of each chunk; 0: measured */
  uint32_t jit_threshold;
  uint32_t gc_stress;
  uint8_t jit;      /* DHPVM_JIT_ON */
  uint8_t policy;   /* DHPVM_POLICY_FASTEST */
  uint8_t batching; /* DHPVM_BATCHING_OVERLAPPED */
  uint8_t jit_wait;
  uint8_t check_races;
  uint8_t gc_verify;
  /* Since version 4: if `device` names only devices other than the host, loops that would run on the host fail with
   * DHPVM_DEVICE_FAILED, and so does dhpvm_isolate_new if none of these devices can be used. */
  uint8_t require_device;
  uint8_t reserved;
  /* The member below came with version 3. */
  const dhpvm_rights* rights; /* of those that the engine permits; NULL: all of these */
} dhpvm_isolate_options;

/* How far a long parallel loop has come. */
typedef struct dhpvm_progress {
  size_t size;
  const char* loop; /* where it is in the source: "blur.dhp:12"; valid during the call */
  uint64_t done;    /* iterations, also those that a device has been given */
  uint64_t total;   /* more than 0 */
  int64_t elapsed_ns;
  uint8_t has_ended; /* well, or with a trap */
  uint8_t reserved[7];
} dhpvm_progress;
/* On the thread that runs the isolate. Must not call into it, and delays the loop. */
typedef void (*dhpvm_progress_function)(void* user, const dhpvm_progress* progress);

/* ---- Worker. */

typedef void (*dhpvm_line_function)(void* user, const char* line);

typedef struct dhpvm_worker_options {
  size_t size;
  const char* const* devices; /* to lend; none: all usable ones */
  size_t device_count;
  const char* const* listen; /* addresses: "127.0.0.1:7471"; port 0: any free port */
  size_t listen_count;
  const char* const* clients; /* to dial */
  size_t client_count;
  int64_t patience_ns; /* with clients that do not answer: 60 s */
  int64_t silence_ns;  /* 3 s */
  int64_t time_ns;     /* for each session, with work outstanding; 0: unlimited */
  uint64_t memory_bytes;
  uint64_t code_bytes;
  const char* provider;
  dhpvm_security security;
  dhpvm_line_function log; /* a line for every session and job, from any thread */
  void* log_user;
  uint32_t sessions; /* at the same time: 16 */
  uint32_t reserved;
  /* The members below came later: a `size` that ends here leaves them at their defaults. */
  uint64_t total_memory_bytes; /* of all sessions together: unlimited */
  int64_t idle_ns;             /* a session with nothing to do for this long is ended; 0: never */
  const char* clients_file;    /* instead of a key file: the clients that may come in, with keys and limits */
  uint32_t waiting;            /* sessions in the queue of a full worker: 16 */
  uint32_t reserved_later;
  /* The last one came with version 2. */
  const char* metrics; /* where /metrics and /healthz are served: "127.0.0.1:9471"; empty: nowhere */
} dhpvm_worker_options;

#endif /* DHPVM_C_OPTIONS_H */
