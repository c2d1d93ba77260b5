/* SPDX-License-Identifier: Apache-2.0
 * The conformance test of the C interface: everything that dhpvm/c.h promises, from C. */
#include "check.h"

int failures = 0;

static const char kSource[] =
    "extern fn add(a: i64, b: i64) -> i64;\n"
    "extern fn describe(name: str, values: [f64]) -> str;\n"
    "extern fn refuse(how: i64) -> i64;\n"
    "extern fn wrong() -> i64;\n"
    "extern fn twice(x: i64) -> i64;\n"
    "extern fn drop();\n"
    "extern fn table(rows: i64) -> [f32, 2];\n"
    "extern fn look(what: resource) -> i64;\n"
    "extern fn keep_text() -> str;\n"
    "\n"
    "struct Range { low: f64; high: f64; }\n"
    "class Node { value: i64 = 0; next: Node? = null; }\n"
    "class Box { values: [f64]; init(values: [f64]) { this.values = values; } }\n"
    "\n"
    "fn nothing() {}\n"
    "fn kinds(a: bool, b: i8, c: u8, d: i16, e: u16, f: i32, g: u32, h: i64, i: u64, j: f32, k: f64) -> f64 "
    "{\n"
    "    return (b as f64) + (c as f64) + (d as f64) + (e as f64) + (f as f64) + (g as f64) + (h as f64)\n"
    "        + (i as f64) + (j as f64) + k + (if a { 1000.0 } else { 0.0 });\n"
    "}\n"
    "fn negate(x: i8) -> i8 => -x;\n"
    "fn flip(x: bool) -> bool => !x;\n"
    "fn half(x: f32) -> f32 => x / 2.0;\n"
    "fn greet(name: str) -> str => \"hello, \" + name;\n"
    "fn maybe(there: bool) -> str? { if there { return \"here\"; } return null; }\n"
    "fn sum(values: [f64]) -> f64 { var s = 0.0; for v in values { s += v; } return s; }\n"
    "fn scale(values: [f64], by: f64) { for i in 0..values.len { values[i] *= by; } }\n"
    "fn corner(grid: [f32, 2], row: i64, column: i64) -> f32 => grid[row, column];\n"
    "fn put(grid: [f32, 2], row: i64, column: i64, x: f32) { grid[row, column] = x; }\n"
    "fn range(values: [f64]) -> Range {\n"
    "    var r = Range(values[0], values[0]);\n"
    "    for v in values { if v < r.low { r.low = v; } if v > r.high { r.high = v; } }\n"
    "    return r;\n"
    "}\n"
    "fn chain(n: i64) -> Node? {\n"
    "    var node: Node? = null;\n"
    "    for i in 0..n { let made = Node(); made.value = i; made.next = node; node = made; }\n"
    "    return node;\n"
    "}\n"
    "fn value(node: Node) -> i64 => node.value;\n"
    "fn keep(values: [f64]) -> Box => Box(values);\n"
    "fn kept(box: Box) -> f64 => box.values[0];\n"
    "fn bytes(n: i64) -> [u8] { let b = [u8](n); for i in 0..n { b[i] = i as u8; } return b; }\n"
    "fn spin() { var _n = 0; while true { _n += 1; } }\n"
    "fn deep(n: i64) -> i64 => 1 + deep(n + 1);\n"
    "fn fill() { var list = chain(1); while true { let n = Node(); n.next = list; list = n; } }\n"
    "fn big(n: i64) -> i64 { let a = [f64](n); return a.len; }\n"
    "fn inner(values: [f64], at: i64) -> f64 => values[at];\n"
    "fn outer(values: [f64]) -> f64 => inner(values, values.len);\n"
    "fn call_add(a: i64, b: i64) -> i64 => add(a, b);\n"
    "fn call_describe(name: str, values: [f64]) -> str => describe(name, values);\n"
    "fn call_refuse(how: i64) -> i64 => refuse(how);\n"
    "fn call_wrong() -> i64 => wrong();\n"
    "fn call_twice(x: i64) -> i64 => twice(x);\n"
    "fn call_drop() -> i64 { drop(); return 7; }\n"
    "fn call_table(rows: i64) -> f32 { let t = table(rows); return t[rows - 1, 2]; }\n"
    "fn call_look(what: resource) -> i64 => look(what);\n"
    "fn call_keep_text() -> str => keep_text();\n"
    "fn saxpy(a: f64, x: [f64], y: [f64]) { parallel for i in 0..x.len { y[i] += a * x[i]; } }\n"
    "fn main(args: [str]) -> i32 { print(f\"{args.len} arguments\"); for a in args { print(a); } return 3; "
    "}\n"
    "struct Complex { re: f64; im: f64; }\n"
    "fn turn(z: [Complex, 2]) -> [Complex, 2] {\n"
    "    let turned = [Complex, 2](z.cols, z.rows);\n"
    "    for i in 0..z.rows {\n"
    "        for j in 0..z.cols { turned[j, i] = Complex(-z[i, j].im, z[i, j].re); }\n"
    "    }\n"
    "    z[0, 0].re = 100.0;\n"
    "    return turned;\n"
    "}\n";

static dhpvm_code host_add(dhpvm_host_call* call) {
  CHECK(call->size == sizeof *call && call->argument_count == 2 && call->result_count == 1);
  CHECK(call->isolate != NULL && call->results[0].kind == DHPVM_I64);
  call->results[0].of.i64 = call->arguments[0].of.i64 + call->arguments[1].of.i64;
  return DHPVM_OK;
}

static dhpvm_code host_describe(dhpvm_host_call* call) {
  static char text[80];
  const dhpvm_array* const values = call->arguments[1].of.array;
  CHECK(values->kind == DHPVM_F64 && values->rank == 1 && values->access == DHPVM_READ);
  CHECK(values->strides[0] == (int64_t)sizeof(double));
  snprintf(text, sizeof text, "%.*s has %d values, the first is %g", (int)call->arguments[0].of.text.size,
           call->arguments[0].of.text.data, (int)values->sizes[0], *(const double*)values->data);
  call->results[0].of.text.data = text;
  call->results[0].of.text.size = strlen(text);
  return DHPVM_OK;
}

static dhpvm_code host_refuse(dhpvm_host_call* call) {
  switch (call->arguments[0].of.i64) {
    case 0: return dhpvm_host_fail(call, DHPVM_USER_TRAP, "the host has none");
    case 1: return DHPVM_IO;
    case 2: return 12345;
    default: return dhpvm_host_fail(NULL, DHPVM_USER_TRAP, "nobody");
  }
}

static dhpvm_code host_wrong(dhpvm_host_call* call) {
  call->results[0].kind = DHPVM_F64;
  call->results[0].of.f64 = 1;
  return DHPVM_OK;
}

/* Calls the program that called it. */
static dhpvm_code host_twice(dhpvm_host_call* call) {
  const host* const state = call->user;
  dhpvm_value arguments[2] = {call->arguments[0], call->arguments[0]};
  CHECK(call->isolate == state->isolate);
  return call_by_name(state, "call_add", arguments, 2, call->results, 1, NULL);
}

static dhpvm_code host_drop(dhpvm_host_call* call) {
  host* const state = call->user;
  dhpvm_function_free(state->freed_in_callback);
  state->freed_in_callback = NULL;
  return DHPVM_OK;
}

static dhpvm_code host_table(dhpvm_host_call* call) {
  static float cells[12];
  static dhpvm_array array;
  for (int i = 0; i < 12; ++i) cells[i] = (float)i;
  memset(&array, 0, sizeof array);
  array.size = sizeof array;
  array.data = cells;
  array.kind = DHPVM_F32;
  array.rank = 2;
  array.sizes[0] = call->arguments[0].of.i64;
  array.sizes[1] = 3;
  call->results[0].of.array = &array;
  return DHPVM_OK;
}

static dhpvm_code host_look(dhpvm_host_call* call) {
  CHECK(call->arguments[0].kind == DHPVM_RESOURCE);
  call->results[0].of.i64 = *(const int64_t*)call->arguments[0].of.resource;
  return DHPVM_OK;
}

/* Returns an object of the program. */
static dhpvm_code host_keep_text(dhpvm_host_call* call) {
  dhpvm_object* object = NULL;
  if (dhpvm_object_new_text(call->isolate, "kept", 4, &object, NULL) != DHPVM_OK) return DHPVM_INTERNAL;
  call->results[0].kind = DHPVM_OBJECT;
  call->results[0].of.object = object;
  ((host*)call->user)->freed_in_callback = (dhpvm_function*)(void*)object;
  return DHPVM_OK;
}

static void count_release(void* user) { ++((host*)user)->released; }

void host_begin(host* state, const dhpvm_isolate_options* options) {
  static const struct {
    const char* name;
    const char* signature;
    dhpvm_host_function function;
  } kFunctions[] = {
      {"host.add", "(i64, i64) -> i64", host_add},
      {"host.describe", "(str, [const f64]) -> str", host_describe},
      {"host.refuse", "(i64) -> i64", host_refuse},
      {"host.wrong", "() -> i64", host_wrong},
      {"host.twice", "(i64) -> i64", host_twice},
      {"host.drop", "()", host_drop},
      {"host.table", "(i64) -> [f32, 2]", host_table},
      {"host.look", "(resource) -> i64", host_look},
      {"host.keep_text", "() -> str", host_keep_text},
  };
  dhpvm_engine_options engine_options;
  dhpvm_error* error = NULL;
  memset(state, 0, sizeof *state);
  dhpvm_engine_options_init(&engine_options, sizeof engine_options);
  engine_options.code_cache = 0;
  CHECK_CODE(DHPVM_OK, dhpvm_engine_new(&engine_options, &state->engine, &error));
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) {
    CHECK_CODE(DHPVM_OK, dhpvm_engine_define(state->engine, kFunctions[i].name, kFunctions[i].signature,
                                             kFunctions[i].function, state, count_release, &error));
  }
  CHECK_CODE(DHPVM_OK,
             dhpvm_module_compile(state->engine, kSource, strlen(kSource), NULL, &state->module, &error));
  if (error == NULL) CHECK_CODE(DHPVM_OK, dhpvm_isolate_new(state->module, options, &state->isolate, &error));
  if (error == NULL) return;
  printf("%s\n", dhpvm_error_text(error));
  exit(1);
}

void host_end(host* state) {
  dhpvm_isolate_free(state->isolate);
  dhpvm_module_free(state->module);
  dhpvm_engine_free(state->engine);
  CHECK(state->released == 9);
  CHECK(dhpvm_live_handles() == 0);
}

dhpvm_function* function_of(const host* state, const char* name, const char* signature) {
  dhpvm_function* function = NULL;
  dhpvm_error* error = NULL;
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_function(state->isolate, name, signature, &function, &error));
  if (error != NULL) printf("%s\n", dhpvm_error_text(error));
  dhpvm_error_free(error);
  return function;
}

dhpvm_code call_by_name(const host* state, const char* name, const dhpvm_value* arguments,
                        size_t argument_count, dhpvm_value* results, size_t result_count,
                        dhpvm_error** error) {
  dhpvm_function* const function = function_of(state, name, NULL);
  const dhpvm_code code = dhpvm_call(function, arguments, argument_count, results, result_count, error);
  dhpvm_function_free(function);
  return code;
}

dhpvm_value i64_value(int64_t number) {
  dhpvm_value value = {DHPVM_I64, 0, {0}};
  value.of.i64 = number;
  return value;
}

dhpvm_value f64_value(double number) {
  dhpvm_value value = {DHPVM_F64, 0, {0}};
  value.of.f64 = number;
  return value;
}

dhpvm_value text_value(const char* text) {
  dhpvm_value value = {DHPVM_TEXT, 0, {0}};
  value.of.text.data = text;
  value.of.text.size = strlen(text);
  return value;
}

dhpvm_value array_value(const dhpvm_array* array) {
  dhpvm_value value = {DHPVM_ARRAY, 0, {0}};
  value.of.array = array;
  return value;
}

dhpvm_value object_value(dhpvm_object* object) {
  dhpvm_value value = {DHPVM_OBJECT, 0, {0}};
  value.of.object = object;
  return value;
}

dhpvm_array f64_array(double* data, int64_t count) {
  dhpvm_array array;
  memset(&array, 0, sizeof array);
  array.size = sizeof array;
  array.data = data;
  array.kind = DHPVM_F64;
  array.access = DHPVM_READ_WRITE;
  array.rank = 1;
  array.sizes[0] = count;
  return array;
}

int main(void) {
  CHECK(dhpvm_abi_version() == DHPVM_ABI_VERSION);
  CHECK(strlen(dhpvm_version()) >= 5);
  CHECK(strcmp(dhpvm_code_text(DHPVM_OK), "success") == 0);
  CHECK(strcmp(dhpvm_code_text(DHPVM_INDEX_OUT_OF_RANGE), "index out of range") == 0);
  CHECK(strcmp(dhpvm_code_text(-1), "unknown error") == 0);
  test_handles();
  test_structures();
  test_modules();
  test_calls();
  test_arrays();
  test_objects();
  test_made_objects();
  test_reload();
  test_rights();
  test_dlpack();
  test_host_functions();
  test_errors();
  test_limits();
  test_progress();
  test_streams();
  test_reports();
  test_required_device();
  test_threads();
  test_workers();
  CHECK(dhpvm_live_handles() == 0);
  printf(failures == 0 ? "the C interface does what its header says\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
