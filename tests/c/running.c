/* SPDX-License-Identifier: Apache-2.0
 * Handles, options, modules, host functions, errors, limits, streams, reports, threads, workers. */
#include <pthread.h>
#include <time.h>

#include "check.h"

/* Any function, with what is no handle of its kind. */
static void refuse_handle(void* handle) {
  dhpvm_value value;
  dhpvm_bytes bytes = {NULL, 0};
  dhpvm_error* error = NULL;
  dhpvm_object* object = NULL;
  int32_t exit_code = 0;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(handle, NULL, 0, NULL, 0, &error));
  CHECK(strstr(dhpvm_error_message(error), "is no handle of a function") != NULL);
  dhpvm_error_free(error);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_module_compile(handle, "", 0, NULL, &(dhpvm_module*){NULL}, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_settle(handle, 0, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_new(handle, NULL, &(dhpvm_isolate*){NULL}, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_module_bytes(handle, &bytes, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_interrupt(handle));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_run_main(handle, NULL, 0, &exit_code, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_explain(handle, &bytes, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_new_text(handle, "", 0, &object, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_type(handle, &bytes, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_worker_drain(handle, 0, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_error_code(handle));
  CHECK(dhpvm_function_signature(handle) == NULL && dhpvm_module_has_main(handle) == 0);
  CHECK(dhpvm_error_frame_count(handle) == 0 && *dhpvm_error_text(handle) == 0);
  CHECK(dhpvm_worker_is_needed(handle) == 0 && bytes.data == NULL && object == NULL);
  dhpvm_engine_free(handle);
  dhpvm_module_free(handle);
  dhpvm_isolate_free(handle);
  dhpvm_function_free(handle);
  dhpvm_object_free(handle);
  dhpvm_worker_free(handle);
  dhpvm_error_free(handle);
  (void)value;
}

void test_handles(void) {
  host state;
  dhpvm_function* function = NULL;
  dhpvm_engine* engine = NULL;
  const size_t before = dhpvm_live_handles();
  int local = 0;
  host_begin(&state, NULL);
  refuse_handle(NULL);
  refuse_handle(&local);
  refuse_handle((void*)(uintptr_t)-1);
  refuse_handle((void*)(uintptr_t)0x12345);
  /* A handle of another kind. */
  CHECK_CODE(DHPVM_INVALID_ARGUMENT,
             dhpvm_call((dhpvm_function*)(void*)state.isolate, NULL, 0, NULL, 0, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_interrupt((dhpvm_isolate*)(void*)state.module));
  /* Freed, and its place used again. */
  function = function_of(&state, "nothing", NULL);
  CHECK_CODE(DHPVM_OK, dhpvm_call(function, NULL, 0, NULL, 0, NULL));
  dhpvm_function_free(function);
  refuse_handle(function);
  dhpvm_function* const second = function_of(&state, "nothing", NULL);
  CHECK(second != function);
  refuse_handle(function);
  CHECK_CODE(DHPVM_OK, dhpvm_call(second, NULL, 0, NULL, 0, NULL));
  /* In any order. */
  dhpvm_isolate_free(state.isolate);
  dhpvm_isolate_free(state.isolate);
  refuse_handle(state.isolate);
  dhpvm_engine_free(state.engine);
  dhpvm_module_free(state.module);
  CHECK_CODE(DHPVM_OK, dhpvm_call(second, NULL, 0, NULL, 0, NULL));
  CHECK(state.released == 0);
  dhpvm_function_free(second);
  CHECK(state.released == 9);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_new(NULL, NULL, NULL));
  CHECK(engine == NULL && dhpvm_live_handles() == before);
}

void test_structures(void) {
  struct {
    dhpvm_engine_options known;
    char later[64];
  } options;
  dhpvm_engine* engine = NULL;
  dhpvm_error* error = NULL;
  memset(&options, 0, sizeof options);
  dhpvm_engine_options_init(&options.known, sizeof options.known);
  dhpvm_engine_options_init(NULL, sizeof(size_t));
  dhpvm_isolate_options_init(NULL, sizeof(size_t));
  dhpvm_compile_options_init(NULL, sizeof(size_t));
  dhpvm_worker_options_init(NULL, sizeof(size_t));
  /* A structure of an older header ends earlier, that of a newer one later. */
  {
    dhpvm_isolate_options whole, part;
    dhpvm_isolate_options_init(&whole, sizeof whole);
    memset(&part, 7, sizeof part);
    dhpvm_isolate_options_init(&part, offsetof(dhpvm_isolate_options, fuel));
    CHECK(part.size == offsetof(dhpvm_isolate_options, fuel) && part.heap_bytes == whole.heap_bytes);
    CHECK(memcmp(&part.fuel, "\7\7\7\7\7\7\7\7", sizeof part.fuel) == 0);
    dhpvm_isolate_options_init(&part, 1);
    CHECK(part.size == offsetof(dhpvm_isolate_options, fuel));
    memset(&options, 7, sizeof options);
    dhpvm_engine_options_init(&options.known, sizeof options);
    CHECK(options.known.size == sizeof options && options.later[0] == 0 && options.later[63] == 0);
    memset(&options, 0, sizeof options);
    dhpvm_engine_options_init(&options.known, sizeof options.known);
  }
  options.known.size = 0;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_new(&options.known, &engine, &error));
  CHECK(strstr(dhpvm_error_message(error), "dhpvm_engine_options.size is 0") != NULL);
  dhpvm_error_free(error);
  options.known.size = sizeof options.known - 1;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_new(&options.known, &engine, NULL));
  options.known.size = (size_t)-1;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_new(&options.known, &engine, NULL));
  options.known.size = sizeof options;
  options.later[63] = 1;
  CHECK_CODE(DHPVM_UNSUPPORTED, dhpvm_engine_new(&options.known, &engine, NULL));
  CHECK(engine == NULL);
  options.later[63] = 0;
  CHECK_CODE(DHPVM_OK, dhpvm_engine_new(&options.known, &engine, &error));
  CHECK(error == NULL);
  dhpvm_engine_free(engine);
  options.known.size = sizeof options.known;
  options.known.list_kernels = 9;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_new(&options.known, &engine, NULL));
  options.known.list_kernels = 0;
  options.known.worker_count = 1;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_new(&options.known, &engine, NULL));
}

static void count_export(void* user, const char* name, const char* signature) {
  if (strcmp(name, "greet") == 0 && strcmp(signature, "(str) -> str") == 0) ++*(int*)user;
}

void test_modules(void) {
  host state;
  dhpvm_module* module = NULL;
  dhpvm_isolate* isolate = NULL;
  dhpvm_error* error = NULL;
  dhpvm_bytes bytes = {NULL, 0};
  dhpvm_compile_options options;
  int found = 0;
  host_begin(&state, NULL);
  CHECK(dhpvm_module_has_main(state.module) == 1);
  CHECK_CODE(DHPVM_OK, dhpvm_module_exports(state.module, count_export, &found, NULL));
  CHECK(found == 1);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_module_exports(state.module, NULL, NULL, NULL));
  dhpvm_compile_options_init(&options, sizeof options);
  options.file_name = "mine.dhp";
  CHECK_CODE(DHPVM_COMPILE, dhpvm_module_compile(state.engine, "fn f( {", 7, &options, &module, &error));
  CHECK(strstr(dhpvm_error_message(error), "mine.dhp:1:") != NULL && module == NULL);
  dhpvm_error_free(error);
  CHECK_CODE(DHPVM_MALFORMED, dhpvm_module_load(state.engine, "no module", 9, &module, NULL));
  CHECK_CODE(DHPVM_NOT_FOUND, dhpvm_module_open(state.engine, "/nowhere.dhp", NULL, &module, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_module_bytes(state.module, &bytes, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_module_load(state.engine, bytes.data, bytes.size, &module, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_new(module, NULL, &isolate, NULL));
  dhpvm_isolate_free(isolate);
  dhpvm_module_free(module);
  for (size_t i = 0; i < bytes.size; i += 7) {
    bytes.data[i] = (char)(bytes.data[i] ^ 0x55);
    if (dhpvm_module_load(state.engine, bytes.data, bytes.size, &module, NULL) == DHPVM_OK)
      dhpvm_module_free(module);
    bytes.data[i] = (char)(bytes.data[i] ^ 0x55);
  }
  dhpvm_bytes_free(&bytes);
  CHECK_CODE(DHPVM_OK, dhpvm_module_compile(state.engine, "extern fn none(); fn f() { none(); }", 36, NULL,
                                            &module, NULL));
  CHECK_CODE(DHPVM_LINK, dhpvm_isolate_new(module, NULL, &isolate, NULL));
  dhpvm_module_free(module);
  host_end(&state);
}

static dhpvm_code never(dhpvm_host_call* call) {
  (void)call;
  return DHPVM_INTERNAL;
}

static void test_definitions(const host* state) {
  static const char* const kBad[] = {
      "",        "i64",        "(i64",      "(i64) ->", "(i64) -> i64 x", "(Node)",
      "([str])", "([f64, 4])", "([[f64]])", "(i64,)",   "(const str)",    "() -> (i64"};
  dhpvm_engine* const engine = state->engine;
  for (size_t i = 0; i < sizeof kBad / sizeof *kBad; ++i)
    CHECK_CODE(DHPVM_INVALID_ARGUMENT,
               dhpvm_engine_define(engine, "host.x", kBad[i], never, NULL, NULL, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_define(engine, "x", "()", never, NULL, NULL, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_define(engine, "host.x", "()", NULL, NULL, NULL, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_define(engine, NULL, "()", never, NULL, NULL, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_define(engine, "host.x", NULL, never, NULL, NULL, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_engine_define(engine, "host.x", " ( str , [ const u8 , 3 ] ) -> ( i64 , str )",
                                           never, NULL, NULL, NULL));
}

static void count_down(void* user) { --*(int64_t*)user; }

static void test_resources(const host* state) {
  int64_t age = 7;
  dhpvm_object* object = NULL;
  dhpvm_object* text = NULL;
  void* pointer = NULL;
  dhpvm_value argument;
  dhpvm_value result;
  CHECK_CODE(DHPVM_OK, dhpvm_object_new_resource(state->isolate, &age, count_down, &object, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_resource(object, &pointer, NULL));
  CHECK(pointer == &age);
  argument = object_value(object);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "call_look", &argument, 1, &result, 1, NULL));
  CHECK(result.of.i64 == 7);
  CHECK_CODE(DHPVM_OK, dhpvm_object_new_text(state->isolate, "x", 1, &text, NULL));
  CHECK_CODE(DHPVM_BAD_CAST, dhpvm_object_resource(text, &pointer, NULL));
  dhpvm_object_free(text);
  dhpvm_object_free(object);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_collect(state->isolate, NULL));
  CHECK(age == 6);
}

static void test_failures(const host* state) {
  dhpvm_value argument = i64_value(0);
  dhpvm_value result;
  dhpvm_error* error = NULL;
  CHECK_CODE(DHPVM_USER_TRAP, call_by_name(state, "call_refuse", &argument, 1, &result, 1, &error));
  CHECK(strstr(dhpvm_error_text(error), "the host has none") != NULL);
  CHECK(strstr(dhpvm_error_message(error), ": the host has none") != NULL);
  CHECK(strstr(dhpvm_error_text(error), "host.refuse") != NULL && dhpvm_error_is_trap(error) == 1);
  dhpvm_error_free(error);
  argument.of.i64 = 1;
  CHECK_CODE(DHPVM_HOST_EXCEPTION, call_by_name(state, "call_refuse", &argument, 1, &result, 1, NULL));
  argument.of.i64 = 2;
  CHECK_CODE(DHPVM_HOST_EXCEPTION, call_by_name(state, "call_refuse", &argument, 1, &result, 1, &error));
  CHECK(strstr(dhpvm_error_text(error), "12345") != NULL);
  dhpvm_error_free(error);
  CHECK_CODE(DHPVM_HOST_EXCEPTION, call_by_name(state, "call_wrong", NULL, 0, &result, 1, &error));
  CHECK(strstr(dhpvm_error_text(error), "result 1 of host function 'host.wrong'") != NULL);
  dhpvm_error_free(error);
}

void test_host_functions(void) {
  host state;
  double numbers[2] = {1.5, 2.5};
  dhpvm_array array = f64_array(numbers, 2);
  dhpvm_value arguments[2];
  dhpvm_value result;
  host_begin(&state, NULL);
  arguments[0] = i64_value(40);
  arguments[1] = i64_value(2);
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "call_add", arguments, 2, &result, 1, NULL));
  CHECK(result.of.i64 == 42);
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "call_twice", arguments, 1, &result, 1, NULL));
  CHECK(result.of.i64 == 80);
  arguments[0] = i64_value(4);
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "call_table", arguments, 1, &result, 1, NULL));
  CHECK(result.of.f32 == 11);
  dhpvm_function* const describe = function_of(&state, "call_describe", NULL);
  array.access = DHPVM_READ;
  arguments[0] = text_value("Ada");
  arguments[1] = array_value(&array);
  CHECK_CODE(DHPVM_OK, dhpvm_call(describe, arguments, 2, &result, 1, NULL));
  CHECK(result.kind == DHPVM_TEXT &&
        strncmp(result.of.text.data, "Ada has 2 values, the first is 1.5", 34) == 0);
  dhpvm_function_free(describe);
  /* A function that is freed while it runs. */
  state.freed_in_callback = function_of(&state, "call_drop", NULL);
  dhpvm_function* const dropped = state.freed_in_callback;
  CHECK_CODE(DHPVM_OK, dhpvm_call(dropped, NULL, 0, &result, 1, NULL));
  CHECK(result.of.i64 == 7);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(dropped, NULL, 0, &result, 1, NULL));
  dhpvm_function* const keep_text = function_of(&state, "call_keep_text", NULL);
  CHECK_CODE(DHPVM_OK, dhpvm_call(keep_text, NULL, 0, &result, 1, NULL));
  CHECK(result.of.text.size == 4 && memcmp(result.of.text.data, "kept", 4) == 0);
  dhpvm_object_free((dhpvm_object*)(void*)state.freed_in_callback);
  dhpvm_function_free(keep_text);
  test_resources(&state);
  test_failures(&state);
  test_definitions(&state);
  host_end(&state);
}

void test_errors(void) {
  host state;
  double numbers[3] = {1, 2, 3};
  dhpvm_array array = f64_array(numbers, 3);
  dhpvm_value argument = array_value(&array);
  dhpvm_value result = i64_value(99);
  dhpvm_error* error = NULL;
  dhpvm_frame frame;
  host_begin(&state, NULL);
  CHECK_CODE(DHPVM_INDEX_OUT_OF_RANGE, call_by_name(&state, "outer", &argument, 1, &result, 1, &error));
  CHECK(result.of.i64 == 99);
  CHECK(dhpvm_error_code(error) == DHPVM_INDEX_OUT_OF_RANGE && dhpvm_error_is_trap(error) == 1);
  CHECK(dhpvm_error_frame_count(error) == 2);
  memset(&frame, 0, sizeof frame);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_error_frame(error, 0, &frame));
  frame.size = sizeof frame;
  CHECK_CODE(DHPVM_OK, dhpvm_error_frame(error, 0, &frame));
  CHECK(strcmp(frame.function, "inner") == 0 && strcmp(frame.file, "program.dhp") == 0 && frame.line == 47);
  CHECK_CODE(DHPVM_OK, dhpvm_error_frame(error, 1, &frame));
  CHECK(strcmp(frame.function, "outer") == 0 && frame.line == 48);
  CHECK_CODE(DHPVM_NOT_FOUND, dhpvm_error_frame(error, 2, &frame));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_error_frame(error, 0, NULL));
  CHECK(strstr(dhpvm_error_text(error), "at outer (program.dhp:48)") != NULL);
  dhpvm_error_free(error);
  /* The isolate goes on. */
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "sum", &argument, 1, &result, 1, &error));
  CHECK(error == NULL && result.of.f64 == 6);
  host_end(&state);
}

static void* interrupt_soon(void* isolate) {
  const struct timespec wait = {0, 20000000};
  nanosleep(&wait, NULL);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_interrupt(isolate));
  return NULL;
}

void test_limits(void) {
  host state;
  dhpvm_isolate_options options;
  dhpvm_value argument = i64_value(0);
  dhpvm_value result;
  uint64_t fuel = 0;
  pthread_t thread;
  dhpvm_isolate_options_init(&options, sizeof options);
  options.heap_bytes = 8u << 20;
  options.off_heap_bytes = 1u << 20;
  options.stack_bytes = 256u << 10;
  options.fuel = 10000000;
  host_begin(&state, &options);
  CHECK_CODE(DHPVM_OUT_OF_MEMORY, call_by_name(&state, "fill", NULL, 0, NULL, 0, NULL));
  CHECK_CODE(DHPVM_STACK_OVERFLOW, call_by_name(&state, "deep", &argument, 1, &result, 1, NULL));
  argument.of.i64 = 1000000;
  CHECK_CODE(DHPVM_OFF_HEAP_EXHAUSTED, call_by_name(&state, "big", &argument, 1, &result, 1, NULL));
  CHECK_CODE(DHPVM_OUT_OF_FUEL, call_by_name(&state, "spin", NULL, 0, NULL, 0, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_fuel_left(state.isolate, &fuel, NULL));
  CHECK(fuel == 0);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_set_fuel(state.isolate, DHPVM_UNLIMITED, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_set_deadline(state.isolate, 20000000, NULL));
  CHECK_CODE(DHPVM_DEADLINE, call_by_name(&state, "spin", NULL, 0, NULL, 0, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_set_deadline(state.isolate, DHPVM_NO_DEADLINE, NULL));
  CHECK(pthread_create(&thread, NULL, interrupt_soon, state.isolate) == 0);
  CHECK_CODE(DHPVM_INTERRUPTED, call_by_name(&state, "spin", NULL, 0, NULL, 0, NULL));
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_rest(state.isolate, 1000, NULL));
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "nothing", NULL, 0, NULL, 0, NULL));
  host_end(&state);
}

typedef struct told {
  size_t moments;
  size_t ends;
  uint64_t last;
} told;

static void count_moment(void* user, const dhpvm_progress* progress) {
  told* const all = user;
  CHECK(progress->size == sizeof *progress);
  CHECK(strstr(progress->loop, ".dhp:") != NULL);
  CHECK(progress->total == 100000 && progress->done <= progress->total && progress->elapsed_ns >= 0);
  all->moments += progress->has_ended == 0;
  all->ends += progress->has_ended != 0;
  all->last = progress->done;
}

void test_progress(void) {
  enum { kCount = 100000 };
  host state;
  told all = {0, 0, 0};
  size_t moments = 0;
  double* const elements = calloc(2 * (size_t)kCount, sizeof *elements);
  dhpvm_array arrays[2];
  dhpvm_value arguments[3];
  CHECK(elements != NULL);
  memset(arrays, 0, sizeof arrays);
  arguments[0] = f64_value(2);
  for (int i = 0; i < 2; ++i) {
    arrays[i].size = sizeof arrays[i];
    arrays[i].data = elements + (ptrdiff_t)i * kCount;
    arrays[i].kind = DHPVM_F64;
    arrays[i].access = DHPVM_READ_WRITE;
    arrays[i].rank = 1;
    arrays[i].sizes[0] = kCount;
    arguments[i + 1] = array_value(&arrays[i]);
  }
  host_begin(&state, NULL);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_set_progress(state.isolate, count_moment, &all, -1, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_set_progress(NULL, count_moment, &all, 0, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_set_progress(state.isolate, count_moment, &all, 0, NULL));
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "saxpy", arguments, 3, NULL, 0, NULL));
  CHECK(all.moments > 0 && all.ends == 1 && all.last == kCount);
  /* Nobody is told any more; and of a short loop nobody is. */
  moments = all.moments;
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_set_progress(state.isolate, NULL, NULL, 0, NULL));
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "saxpy", arguments, 3, NULL, 0, NULL));
  CHECK_CODE(DHPVM_OK,
             dhpvm_isolate_set_progress(state.isolate, count_moment, &all, INT64_C(3600000000000), NULL));
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "saxpy", arguments, 3, NULL, 0, NULL));
  CHECK(all.moments == moments && all.ends == 1);
  host_end(&state);
  free(elements);
}

typedef struct transcript {
  char text[200];
  size_t size;
} transcript;

static dhpvm_code collect(void* user, const char* text, size_t size) {
  transcript* const into = user;
  if (into->size + size >= sizeof into->text) return DHPVM_IO;
  memcpy(into->text + into->size, text, size);
  into->size += size;
  return DHPVM_OK;
}

static dhpvm_code fail_to_write(void* user, const char* text, size_t size) {
  (void)user;
  (void)text;
  (void)size;
  return DHPVM_IO;
}

void test_streams(void) {
  host state;
  transcript output = {{0}, 0};
  dhpvm_isolate_options options;
  const char* const words[] = {"one", "two"};
  int32_t exit_code = 0;
  dhpvm_isolate_options_init(&options, sizeof options);
  options.streams.standard_output = collect;
  options.streams.output_user = &output;
  host_begin(&state, &options);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_run_main(state.isolate, words, 2, &exit_code, NULL));
  CHECK(exit_code == 3 && strcmp(output.text, "2 arguments\none\ntwo\n") == 0);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_run_main(state.isolate, NULL, 2, &exit_code, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_run_main(state.isolate, words, 2, NULL, NULL));
  host_end(&state);
  options.streams.standard_output = fail_to_write;
  host_begin(&state, &options);
  CHECK_CODE(DHPVM_IO, dhpvm_isolate_run_main(state.isolate, words, 2, &exit_code, NULL));
  host_end(&state);
}

static void find_calls(void* user, const char* name, const char* unit, const char* meaning, uint64_t value) {
  if (strcmp(name, "host_calls") == 0 && strcmp(unit, "count") == 0 && *meaning != 0)
    *(uint64_t*)user = value;
}

static void find_host(void* user, const dhpvm_device* device) {
  CHECK(device->size == sizeof *device && device->description != NULL && device->problem != NULL);
  if (strcmp(device->name, "host") == 0) ++*(int*)user;
}

static void no_device(void* user, const dhpvm_device* device) {
  (void)device;
  ++*(int*)user;
}

void test_reports(void) {
  host state;
  double x[100];
  double y[100];
  dhpvm_array arrays[2];
  dhpvm_value arguments[3];
  dhpvm_bytes text = {NULL, 0};
  dhpvm_leftovers leftovers;
  uint64_t calls = 0;
  int hosts = 0;
  dhpvm_isolate_options options;
  dhpvm_isolate_options_init(&options, sizeof options);
  options.device = "host";
  host_begin(&state, &options);
  for (int i = 0; i < 100; ++i) x[i] = y[i] = i;
  arrays[0] = f64_array(x, 100);
  arrays[1] = f64_array(y, 100);
  arguments[0] = f64_value(2);
  arguments[1] = array_value(&arrays[0]);
  arguments[2] = array_value(&arrays[1]);
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "saxpy", arguments, 3, NULL, 0, NULL));
  CHECK(y[99] == 297);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_statistics(state.isolate, find_calls, &calls, NULL));
  CHECK(calls == 1);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_explain(state.isolate, &text, NULL));
  CHECK(text.size != 0 && strlen(text.data) == text.size);
  dhpvm_bytes_free(&text);
  CHECK_CODE(DHPVM_OK, dhpvm_engine_devices(state.engine, find_host, &hosts, NULL));
  CHECK(hosts == 1);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_devices(state.isolate, no_device, &hosts, NULL));
  CHECK(hosts == 1);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_write_trace(state.engine, "trace.json", NULL));
  memset(&leftovers, 0, sizeof leftovers);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_engine_leftovers(state.engine, &leftovers, NULL));
  leftovers.size = sizeof leftovers;
  CHECK_CODE(DHPVM_OK, dhpvm_engine_leftovers(state.engine, &leftovers, NULL));
  CHECK(leftovers.buffer_bytes == 0 && leftovers.device_bytes == 0 && leftovers.registrations == 0);
  CHECK_CODE(DHPVM_OK, dhpvm_engine_settle(state.engine, 60000000000, NULL));
  host_end(&state);
}

/* Loops run on the device that is required, or fail. */
void test_required_device(void) {
  static const char* const devices[] = {"sim", "sim?load_fail=1000"};
  host state;
  double x[100] = {0};
  double y[100] = {0};
  dhpvm_isolate* isolate = NULL;
  dhpvm_array arrays[2];
  dhpvm_value arguments[3];
  dhpvm_isolate_options options;
  dhpvm_isolate_options_init(&options, sizeof options);
  CHECK(options.require_device == 0);
  options.require_device = 1;
  options.jit_wait = 1;
  arrays[0] = f64_array(x, 100);
  arrays[1] = f64_array(y, 100);
  arguments[0] = f64_value(2);
  arguments[1] = array_value(&arrays[0]);
  arguments[2] = array_value(&arrays[1]);
  for (int unable = 0; unable < 2; ++unable) {
    options.device = devices[unable];
    host_begin(&state, &options);
    CHECK_CODE(unable ? DHPVM_DEVICE_FAILED : DHPVM_OK,
               call_by_name(&state, "saxpy", arguments, 3, NULL, 0, NULL));
    host_end(&state);
  }
  options.device = "host";
  host_begin(&state, NULL);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_new(state.module, &options, &isolate, NULL));
  options.device = "cuda:99";
  CHECK_CODE(DHPVM_DEVICE_FAILED, dhpvm_isolate_new(state.module, &options, &isolate, NULL));
  host_end(&state);
}

/* Each thread has an isolate of its own. */
static void* run_isolate(void* module) {
  dhpvm_isolate* isolate = NULL;
  dhpvm_function* function = NULL;
  dhpvm_value arguments[2];
  dhpvm_value result;
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_new(module, NULL, &isolate, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_function(isolate, "call_add", NULL, &function, NULL));
  for (int64_t i = 0; i < 20000; ++i) {
    arguments[0] = i64_value(i);
    arguments[1] = i64_value(1);
    const dhpvm_code code = dhpvm_call(function, arguments, 2, &result, 1, NULL);
    CHECK(code == DHPVM_OK && result.of.i64 == i + 1);
    if (code != DHPVM_OK) break;
  }
  dhpvm_function_free(function);
  dhpvm_isolate_free(isolate);
  return NULL;
}

void test_threads(void) {
  host state;
  pthread_t threads[4];
  host_begin(&state, NULL);
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, run_isolate, state.module) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  host_end(&state);
}

static void find_remote(void* user, const dhpvm_device* device) {
  if (strncmp(device->name, "remote/", 7) == 0 && *device->problem == 0) ++*(int*)user;
}

static void find_worker(void* user, const dhpvm_worker_use* worker) {
  if (strcmp(worker->state, "ready") == 0 && worker->size == sizeof *worker) ++*(int*)user;
}

/* Whether a worker starts with these options. */
static dhpvm_code start_worker(dhpvm_engine* engine, const dhpvm_worker_options* options) {
  dhpvm_worker* worker = NULL;
  const dhpvm_code code = dhpvm_worker_start(engine, options, &worker, NULL);
  dhpvm_worker_free(worker);
  return code;
}

/* The members that were appended to the options of a worker. */
static void test_later_members(dhpvm_engine* engine, dhpvm_worker_options options) {
  CHECK(options.waiting == 16 && options.total_memory_bytes == DHPVM_UNLIMITED);
  CHECK(options.idle_ns == 0 && options.clients_file == NULL && options.metrics == NULL);
  options.idle_ns = 1000000000;
  options.waiting = 0;
  CHECK_CODE(DHPVM_OK, start_worker(engine, &options));
  options.clients_file = "no-such-file-of-clients";
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, start_worker(engine, &options));
  options.metrics = "127.0.0.1:0";
  options.size = offsetof(dhpvm_worker_options, metrics);
  options.clients_file = NULL;
  CHECK_CODE(DHPVM_OK, start_worker(engine, &options));
  options.size = sizeof options;
  {
    dhpvm_worker* worker = NULL;
    dhpvm_bytes address = {NULL, 0};
    CHECK_CODE(DHPVM_OK, dhpvm_worker_start(engine, &options, &worker, NULL));
    CHECK_CODE(DHPVM_OK, dhpvm_worker_metrics(worker, &address, NULL));
    CHECK(strncmp(address.data, "127.0.0.1:", 10) == 0);
    CHECK_CODE(DHPVM_OK, dhpvm_worker_reload_clients(worker, NULL));
    dhpvm_bytes_free(&address);
    dhpvm_worker_free(worker);
  }
  /* A caller whose header lacks them: what lies behind its structure is not read. */
  options.size = offsetof(dhpvm_worker_options, total_memory_bytes);
  CHECK_CODE(DHPVM_OK, start_worker(engine, &options));
  ++options.size;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, start_worker(engine, &options));
}

void test_workers(void) {
  const char* const anywhere[] = {"127.0.0.1:0"};
  const char* const devices[] = {"host"};
  char key_file[64];
  const char* addresses[1];
  dhpvm_engine* engine = NULL;
  dhpvm_engine* client = NULL;
  dhpvm_worker* worker = NULL;
  dhpvm_worker_options options;
  dhpvm_engine_options client_options;
  dhpvm_bytes address = {NULL, 0};
  dhpvm_error* error = NULL;
  int found = 0;
  snprintf(key_file, sizeof key_file, "conformance-key-%06d", (int)(clock() % 1000000));
  remove(key_file);
  CHECK_CODE(DHPVM_OK, dhpvm_make_key_file(key_file, NULL));
  CHECK_CODE(DHPVM_IO, dhpvm_make_key_file(key_file, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_engine_new(NULL, &engine, NULL));
  dhpvm_worker_options_init(&options, sizeof options);
  options.devices = devices;
  options.device_count = 1;
  options.listen = anywhere;
  options.listen_count = 1;
  options.security.key_file = key_file;
  if (dhpvm_worker_start(engine, &options, &worker, &error) != DHPVM_OK) {
    /* A build without what workers need says so. */
    printf("SKIP workers: %s\n", dhpvm_error_message(error));
    CHECK(getenv("DHPVM_TEST_WORKERS") == NULL);
    dhpvm_error_free(error);
    dhpvm_engine_free(engine);
    remove(key_file);
    return;
  }
  test_later_members(engine, options);
  CHECK(dhpvm_worker_is_needed(worker) == 1);
  CHECK_CODE(DHPVM_OK, dhpvm_worker_addresses(worker, &address, NULL));
  address.data[strcspn(address.data, "\n")] = 0;
  addresses[0] = address.data;
  dhpvm_engine_options_init(&client_options, sizeof client_options);
  client_options.workers = addresses;
  client_options.worker_count = 1;
  client_options.security.key_file = key_file;
  CHECK_CODE(DHPVM_OK, dhpvm_engine_new(&client_options, &client, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_engine_devices(client, find_remote, &found, NULL));
  CHECK(found == 1);
  CHECK_CODE(DHPVM_OK, dhpvm_engine_workers(client, find_worker, &found, NULL));
  CHECK(found == 2);
  dhpvm_engine_free(client);
  CHECK_CODE(DHPVM_OK, dhpvm_worker_drain(worker, 10000000000, NULL));
  dhpvm_worker_free(worker);
  dhpvm_engine_free(engine);
  dhpvm_bytes_free(&address);
  remove(key_file);
}
