/* SPDX-License-Identifier: Apache-2.0
 * An application in C: it keeps measurements, and lets rules of its users work on them. docs/embedding-c.md explains
 * each part.
 *
 * usage: embed_c_sample [RULES]
 */
#include <dhpvm/c.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 1000

/* Without its rules this application has nothing to do, so an error at start ends it. */
static void need(dhpvm_code code, dhpvm_error* error) {
  if (code == DHPVM_OK) return;
  fprintf(stderr, "embed_c_sample: %s\n", dhpvm_error_text(error));
  dhpvm_error_free(error);
  exit(1);
}

/* ---- What rules may call. */

static dhpvm_code host_log(dhpvm_host_call* call) {
  printf("rules say: %.*s\n", (int)call->arguments[0].of.text.size, call->arguments[0].of.text.data);
  return DHPVM_OK;
}

static dhpvm_code host_limit(dhpvm_host_call* call) {
  const size_t size = call->arguments[0].of.text.size;
  if (size != strlen("deviations") || memcmp(call->arguments[0].of.text.data, "deviations", size) != 0)
    return dhpvm_host_fail(call, DHPVM_USER_TRAP, "there is no such limit");
  call->results[0].of.f64 = *(const double*)call->user;
  return DHPVM_OK;
}

/* ---- Values. */

static dhpvm_value array_of(const dhpvm_array* array) {
  dhpvm_value value = {DHPVM_ARRAY, 0, {0}};
  value.of.array = array;
  return value;
}

static dhpvm_value object_of(dhpvm_object* object) {
  dhpvm_value value = {DHPVM_OBJECT, 0, {0}};
  value.of.object = object;
  return value;
}

/* One column of a table with two: every second number. */
static dhpvm_array column(double* table, int which) {
  dhpvm_array array = {
      .size = sizeof array, .data = table + which, .kind = DHPVM_F64, .access = DHPVM_READ_WRITE};
  array.rank = 1;
  array.sizes[0] = COUNT;
  array.strides[0] = 2 * (int64_t)sizeof(double);
  return array;
}

static dhpvm_function* function_of(dhpvm_isolate* isolate, const char* name, const char* signature) {
  dhpvm_function* function = NULL;
  dhpvm_error* error = NULL;
  need(dhpvm_isolate_function(isolate, name, signature, &function, &error), error);
  return function;
}

/* ---- The work. */

static void clip_columns(dhpvm_isolate* isolate, double* table) {
  dhpvm_function* const clip = function_of(isolate, "clip", "([f64]) -> i64");
  dhpvm_function* const report = function_of(isolate, "report", NULL);
  dhpvm_function* add = NULL;
  dhpvm_object* history = NULL;
  dhpvm_error* error = NULL;
  const dhpvm_value none = {DHPVM_I64, 0, {0}}; /* for the field `count` */
  dhpvm_value text, clipped, argument;
  need(dhpvm_object_new(isolate, "History", &none, 1, &history, &error), error);
  need(dhpvm_object_method(history, "add", "(i64)", &add, &error), error);
  for (int which = 0; which < 2; ++which) {
    const dhpvm_array values = column(table, which);
    argument = array_of(&values);
    need(dhpvm_call(clip, &argument, 1, &clipped, 1, &error), error);
    need(dhpvm_call(add, &clipped, 1, NULL, 0, &error), error);
  }
  argument = object_of(history);
  need(dhpvm_call(report, &argument, 1, &text, 1, &error), error);
  printf("%.*s\n", (int)text.of.text.size, text.of.text.data);
  dhpvm_object_free(history);
  dhpvm_function_free(report);
  dhpvm_function_free(add);
  dhpvm_function_free(clip);
}

static void survive_mistakes(dhpvm_isolate* isolate, double* table) {
  dhpvm_function* const reads_too_far = function_of(isolate, "reads_too_far", "([f64]) -> f64");
  dhpvm_function* const never_ends = function_of(isolate, "never_ends", "()");
  const dhpvm_array values = column(table, 0);
  const dhpvm_value argument = array_of(&values);
  dhpvm_error* error = NULL;
  dhpvm_value result;
  if (dhpvm_call(reads_too_far, &argument, 1, &result, 1, &error) == DHPVM_INDEX_OUT_OF_RANGE) {
    dhpvm_frame frame = {.size = sizeof frame};
    if (dhpvm_error_frame(error, 0, &frame) == DHPVM_OK)
      printf("%s, in %s\n", dhpvm_error_message(error), frame.function);
    dhpvm_error_free(error);
  }
  printf("%s\n", dhpvm_code_text(dhpvm_call(never_ends, NULL, 0, NULL, 0, NULL)));
  dhpvm_function_free(never_ends);
  dhpvm_function_free(reads_too_far);
}

int main(int count, char** words) {
  static double table[2 * COUNT];
  double deviations = 2;
  dhpvm_engine_options engine_options;
  dhpvm_compile_options compile_options;
  dhpvm_isolate_options isolate_options;
  dhpvm_engine* engine = NULL;
  dhpvm_module* module = NULL;
  dhpvm_isolate* isolate = NULL;
  dhpvm_error* error = NULL;

  dhpvm_engine_options_init(&engine_options, sizeof engine_options);
  engine_options.system_access = 0; /* rules may be anybody's */
  need(dhpvm_engine_new(&engine_options, &engine, &error), error);
  need(dhpvm_engine_define(engine, "host.log", "(str)", host_log, NULL, NULL, &error), error);
  need(dhpvm_engine_define(engine, "host.limit", "(str) -> f64", host_limit, &deviations, NULL, &error),
       error);

  dhpvm_compile_options_init(&compile_options, sizeof compile_options);
  compile_options.host_objects = 1;
  need(dhpvm_module_open(engine, count > 1 ? words[1] : EMBED_C_SAMPLE_RULES, &compile_options, &module,
                         &error),
       error);
  dhpvm_isolate_options_init(&isolate_options, sizeof isolate_options);
  isolate_options.heap_bytes = 64u << 20;
  isolate_options.deadline_ns = 500000000;
  need(dhpvm_isolate_new(module, &isolate_options, &isolate, &error), error);

  for (int i = 0; i < COUNT; ++i) {
    table[2 * i] = sin(i);
    table[2 * i + 1] = i % 100 == 0 ? 50 : cos(i);
  }
  clip_columns(isolate, table);
  survive_mistakes(isolate, table);

  dhpvm_isolate_free(isolate);
  dhpvm_module_free(module);
  dhpvm_engine_free(engine);
  return 0;
}
