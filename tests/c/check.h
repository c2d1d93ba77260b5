/* SPDX-License-Identifier: Apache-2.0
 * Declarations that the parts of the conformance test share. */
#ifndef DHPVM_TESTS_C_CHECK_H
#define DHPVM_TESTS_C_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dhpvm/c.h"

extern int failures;

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                    \
    }                                                                \
  } while (0)

/* The call must end with this code. */
#define CHECK_CODE(code, call)                                                                       \
  do {                                                                                               \
    dhpvm_error* check_error = NULL;                                                                 \
    const dhpvm_code check_code = (call);                                                            \
    (void)check_error;                                                                               \
    if (check_code != (code)) {                                                                      \
      printf("%s:%d: %s is %d (%s), and should be %d\n", __FILE__, __LINE__, #call, (int)check_code, \
             dhpvm_code_text(check_code), (int)(code));                                              \
      ++failures;                                                                                    \
    }                                                                                                \
  } while (0)

/* The program of the tests, compiled by this engine, with all that it needs of the host. */
typedef struct host {
  dhpvm_engine* engine;
  dhpvm_module* module;
  dhpvm_isolate* isolate;
  int64_t released;                  /* users of host functions that were released */
  dhpvm_function* freed_in_callback; /* to be freed by host.drop */
} host;

void host_begin(host* state, const dhpvm_isolate_options* options);
void host_end(host* state);
dhpvm_function* function_of(const host* state, const char* name, const char* signature);
/* Calls a function of the test program; the code. */
dhpvm_code call_by_name(const host* state, const char* name, const dhpvm_value* arguments,
                        size_t argument_count, dhpvm_value* results, size_t result_count,
                        dhpvm_error** error);

dhpvm_value i64_value(int64_t number);
dhpvm_value f64_value(double number);
dhpvm_value text_value(const char* text);
dhpvm_value array_value(const dhpvm_array* array);
dhpvm_value object_value(dhpvm_object* object);
/* A dense array of f64 that the program may write. */
dhpvm_array f64_array(double* data, int64_t count);

void test_handles(void);
void test_structures(void);
void test_modules(void);
void test_calls(void);
void test_arrays(void);
void test_objects(void);
void test_made_objects(void);
void test_reload(void);
void test_rights(void);
void test_dlpack(void);
void test_host_functions(void);
void test_errors(void);
void test_limits(void);
void test_progress(void);
void test_streams(void);
void test_reports(void);
void test_required_device(void);
void test_threads(void);
void test_workers(void);

#endif
