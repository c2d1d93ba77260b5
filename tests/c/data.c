/* SPDX-License-Identifier: Apache-2.0
 * Values, arrays, objects, tensors. */
#include <pthread.h>

#include "check.h"

static void test_numbers(const host* state) {
  dhpvm_value values[11];
  dhpvm_value result;
  memset(values, 0, sizeof values);
  for (uint32_t i = 0; i < 11; ++i) values[i].kind = DHPVM_BOOL + i;
  values[0].of.boolean = 1;
  values[1].of.i8 = -1;
  values[2].of.u8 = 200;
  values[3].of.i16 = -300;
  values[4].of.u16 = 60000;
  values[5].of.i32 = -70000;
  values[6].of.u32 = 4000000000u;
  values[7].of.i64 = -5000000000;
  values[8].of.u64 = 6000000000u;
  values[9].of.f32 = 0.5f;
  values[10].of.f64 = 0.25;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "kinds", values, 11, &result, 1, NULL));
  CHECK(result.kind == DHPVM_F64);
  CHECK(result.of.f64 ==
        1000.0 - 1 + 200 - 300 + 60000 - 70000 + 4000000000.0 - 5000000000.0 + 6000000000.0 + 0.5 + 0.25);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "negate", &values[1], 1, &result, 1, NULL));
  CHECK(result.kind == DHPVM_I8 && result.of.i8 == 1);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "flip", &values[0], 1, &result, 1, NULL));
  CHECK(result.kind == DHPVM_BOOL && result.of.boolean == 0);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "half", &values[9], 1, &result, 1, NULL));
  CHECK(result.kind == DHPVM_F32 && result.of.f32 == 0.25f);
}

static void test_texts(const host* state) {
  dhpvm_value argument = text_value("Ada");
  dhpvm_value result;
  dhpvm_error* error = NULL;
  dhpvm_function* const greet = function_of(state, "greet", "(str)->str");
  CHECK_CODE(DHPVM_OK, dhpvm_call(greet, &argument, 1, &result, 1, NULL));
  CHECK(result.kind == DHPVM_TEXT && result.of.text.size == 10 &&
        memcmp(result.of.text.data, "hello, Ada", 10) == 0);
  argument.of.text.data = NULL;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(greet, &argument, 1, &result, 1, NULL));
  argument.of.text.size = 0;
  CHECK_CODE(DHPVM_OK, dhpvm_call(greet, &argument, 1, &result, 1, NULL));
  CHECK(result.of.text.size == 7);
  argument.kind = DHPVM_NULL;
  CHECK_CODE(DHPVM_NULL_REFERENCE, dhpvm_call(greet, &argument, 1, &result, 1, NULL));
  argument.kind = DHPVM_I64;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(greet, &argument, 1, &result, 1, &error));
  CHECK(strstr(dhpvm_error_message(error), "argument 1 cannot be passed: it is of kind ") != NULL);
  dhpvm_error_free(error);
  argument.kind = DHPVM_BOOL;
  argument.of.boolean = 0;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "maybe", &argument, 1, &result, 1, NULL));
  CHECK(result.kind == DHPVM_NULL);
  dhpvm_function_free(greet);
}

static void test_signatures(const host* state) {
  dhpvm_function* function = NULL;
  dhpvm_error* error = NULL;
  dhpvm_value values[2] = {i64_value(1), i64_value(2)};
  CHECK_CODE(DHPVM_NOT_FOUND, dhpvm_isolate_function(state->isolate, "grete", NULL, &function, &error));
  CHECK(strstr(dhpvm_error_message(error), "did you mean 'greet'") != NULL);
  dhpvm_error_free(error);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT,
             dhpvm_isolate_function(state->isolate, "greet", "(i64)", &function, &error));
  CHECK(strstr(dhpvm_error_message(error), "(str) -> str") != NULL);
  dhpvm_error_free(error);
  CHECK(function == NULL);
  function = function_of(state, "value", "(Node) -> i64");
  CHECK(dhpvm_function_parameter_count(function) == 1 && dhpvm_function_result_count(function) == 1);
  CHECK(dhpvm_function_parameter_kind(function, 0) == DHPVM_OBJECT);
  CHECK(dhpvm_function_parameter_kind(function, 1) == DHPVM_NULL);
  CHECK(dhpvm_function_result_kind(function, 0) == DHPVM_I64);
  CHECK(strstr(dhpvm_function_signature(function), "Node") != NULL);
  /* Too few, too many, of another kind, nowhere. */
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(function, values, 0, values, 1, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(function, values, 2, values, 1, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(function, values, 1, values, 0, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(function, values, 1, NULL, 1, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(function, NULL, 1, values, 1, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(function, values, 1, values, 1, &error));
  CHECK(strstr(dhpvm_error_text(error), "argument 1") != NULL &&
        strstr(dhpvm_error_text(error), "DHPVM_I64") != NULL);
  CHECK(values[0].of.i64 == 1);
  dhpvm_error_free(error);
  dhpvm_function_free(function);
}

void test_calls(void) {
  host state;
  dhpvm_value results[2];
  double numbers[] = {3, -4, 5};
  dhpvm_array array = f64_array(numbers, 3);
  dhpvm_value argument = array_value(&array);
  host_begin(&state, NULL);
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "nothing", NULL, 0, NULL, 0, NULL));
  test_numbers(&state);
  test_texts(&state);
  test_signatures(&state);
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "range", &argument, 1, results, 2, NULL));
  CHECK(results[0].of.f64 == -4 && results[1].of.f64 == 5);
  host_end(&state);
}

/* Every second element, backwards, misaligned. */
static void test_strides(const host* state) {
  double numbers[6] = {1, 2, 3, 4, 5, 6};
  char raw[4 * sizeof(double) + 1];
  dhpvm_array array = f64_array(numbers, 3);
  dhpvm_value arguments[2];
  dhpvm_value result;
  arguments[0] = array_value(&array);
  arguments[1] = f64_value(10);
  array.strides[0] = 2 * (int64_t)sizeof(double);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "sum", arguments, 1, &result, 1, NULL));
  CHECK(result.of.f64 == 9);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "scale", arguments, 2, NULL, 0, NULL));
  CHECK(numbers[0] == 10 && numbers[1] == 2 && numbers[4] == 50 && numbers[5] == 6);
  array.data = &numbers[5];
  array.sizes[0] = 6;
  array.strides[0] = -(int64_t)sizeof(double);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "range", arguments, 1, (dhpvm_value[2]){{0}}, 2, NULL));
  CHECK_CODE(DHPVM_OK, call_by_name(state, "sum", arguments, 1, &result, 1, NULL));
  CHECK(result.of.f64 == 10 + 2 + 30 + 4 + 50 + 6);
  /* A trap leaves what was written before. */
  memcpy(raw + 1, (const double[]){1, 2, 3, 4}, 4 * sizeof(double));
  array = f64_array((double*)(void*)(raw + 1), 4);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "scale", arguments, 2, NULL, 0, NULL));
  memcpy(numbers, raw + 1, 4 * sizeof(double));
  CHECK(numbers[0] == 10 && numbers[3] == 40);
  array.access = DHPVM_READ;
  CHECK_CODE(DHPVM_BORROW_ENDED, call_by_name(state, "scale", arguments, 2, NULL, 0, NULL));
}

static void test_grids(const host* state) {
  float cells[2][3] = {{1, 2, 3}, {4, 5, 6}};
  dhpvm_array grid;
  dhpvm_value arguments[4];
  dhpvm_value result;
  memset(&grid, 0, sizeof grid);
  grid.size = sizeof grid;
  grid.data = cells;
  grid.kind = DHPVM_F32;
  grid.access = DHPVM_READ_WRITE;
  grid.rank = 2;
  grid.sizes[0] = 2;
  grid.sizes[1] = 3;
  arguments[0] = array_value(&grid);
  arguments[1] = i64_value(1);
  arguments[2] = i64_value(2);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "corner", arguments, 3, &result, 1, NULL));
  CHECK(result.of.f32 == 6);
  /* Transposed. */
  grid.sizes[0] = 3;
  grid.sizes[1] = 2;
  grid.strides[0] = sizeof(float);
  grid.strides[1] = 3 * sizeof(float);
  arguments[1] = i64_value(2);
  arguments[2] = i64_value(0);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "corner", arguments, 3, &result, 1, NULL));
  CHECK(result.of.f32 == 3);
  memset(&arguments[3], 0, sizeof arguments[3]);
  arguments[3].kind = DHPVM_F32;
  arguments[3].of.f32 = -1;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "put", arguments, 4, NULL, 0, NULL));
  CHECK(cells[0][2] == -1);
}

static void test_bad_arrays(const host* state) {
  double numbers[3] = {1, 2, 3};
  const dhpvm_array good = f64_array(numbers, 3);
  dhpvm_array array = good;
  dhpvm_value argument = array_value(&array);
  dhpvm_value result;
  dhpvm_function* const sum = function_of(state, "sum", "([f64]) -> f64");
#define REFUSED(code, change) \
  array = good;               \
  change;                     \
  CHECK_CODE(code, dhpvm_call(sum, &argument, 1, &result, 1, NULL))
  REFUSED(DHPVM_OK, (void)0);
  REFUSED(DHPVM_INVALID_ARGUMENT, array.size = 8);
  REFUSED(DHPVM_INVALID_ARGUMENT, array.kind = DHPVM_F32);
  REFUSED(DHPVM_INVALID_ARGUMENT, array.kind = DHPVM_TEXT);
  REFUSED(DHPVM_INVALID_ARGUMENT, array.kind = 999);
  REFUSED(DHPVM_INVALID_ARGUMENT, array.rank = 0);
  REFUSED(DHPVM_INVALID_ARGUMENT, array.rank = 2);
  REFUSED(DHPVM_INVALID_ARGUMENT, array.rank = 4);
  REFUSED(DHPVM_INVALID_ARGUMENT, array.access = 2);
  REFUSED(DHPVM_INVALID_ARGUMENT, array.data = NULL);
  REFUSED(DHPVM_NEGATIVE_LENGTH, array.sizes[0] = -1);
  REFUSED(DHPVM_NEGATIVE_LENGTH, array.sizes[0] = INT64_MAX);
  REFUSED(DHPVM_OK, (array.data = NULL, array.sizes[0] = 0));
#undef REFUSED
  argument.of.array = NULL;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_call(sum, &argument, 1, &result, 1, NULL));
  dhpvm_function_free(sum);
}

/* As in DLPack's own header. */
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  void* data;
  int32_t device_type, device_id, dimensions;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

/* Structs of numbers of one kind, here complex numbers: elements of several lanes. */
static void test_lanes(const host* state) {
  double numbers[2][3][2] = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  dhpvm_array array;
  dhpvm_value argument;
  dhpvm_value result;
  dhpvm_object* lent = NULL;
  struct DLManagedTensorVersioned* tensor = NULL;
  memset(&array, 0, sizeof array);
  array.size = sizeof array;
  array.data = numbers;
  array.kind = DHPVM_F64;
  array.access = DHPVM_READ_WRITE;
  array.rank = 2;
  array.sizes[0] = 2;
  array.sizes[1] = 3;
  argument = array_value(&array);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, call_by_name(state, "turn", &argument, 1, &result, 1, NULL));
  array.lanes = 2;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "turn", &argument, 1, &result, 1, NULL));
  CHECK(numbers[0][0][0] == 100 && result.kind == DHPVM_OBJECT);
  CHECK_CODE(DHPVM_OK, dhpvm_object_array(result.of.object, DHPVM_READ, &array, NULL));
  CHECK(array.kind == DHPVM_F64 && array.lanes == 2 && array.rank == 2 && array.sizes[0] == 3);
  CHECK(array.strides[0] == 4 * (int64_t)sizeof(double) && array.strides[1] == 2 * (int64_t)sizeof(double));
  CHECK(((const double*)array.data)[6] == -10 && ((const double*)array.data)[7] == 9);
  CHECK_CODE(DHPVM_OK, dhpvm_object_to_dlpack(result.of.object, &tensor, NULL));
  CHECK(tensor->code == 5 && tensor->bits == 128 && tensor->lanes == 1);
  CHECK(tensor->strides[0] == 2 && tensor->strides[1] == 1 && tensor->data == array.data);
  tensor->deleter(tensor);
  dhpvm_object_free(result.of.object);
  /* The first column alone, which is gathered, and scattered after the call. */
  array.data = numbers;
  array.access = DHPVM_READ_WRITE;
  array.sizes[0] = 2;
  array.sizes[1] = 1;
  array.strides[0] = 6 * (int64_t)sizeof(double);
  array.strides[1] = 2 * (int64_t)sizeof(double);
  numbers[0][0][0] = 1;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "turn", &argument, 1, &result, 1, NULL));
  CHECK(numbers[0][0][0] == 100 && numbers[0][1][0] == 3);
  CHECK_CODE(DHPVM_OK, dhpvm_object_array(result.of.object, DHPVM_READ, &array, NULL));
  CHECK(array.sizes[1] == 2 && ((const double*)array.data)[2] == -8);
  dhpvm_object_free(result.of.object);
  array.data = numbers;
  array.sizes[1] = 3;
  memset(array.strides, 0, sizeof array.strides);
  array.sizes[0] = 2;
  CHECK_CODE(DHPVM_OK, dhpvm_object_lend(state->isolate, &array, NULL, NULL, &lent, NULL));
  array.lanes = 3;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_lend(state->isolate, &array, NULL, NULL, &lent, NULL));
  dhpvm_object_free(lent);
  /* A new one, in the program's memory. */
  array.data = NULL;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_new_array_of(state->isolate, &array, &lent, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_new_array_of(state->isolate, NULL, &lent, NULL));
  array.lanes = 2;
  CHECK_CODE(DHPVM_OK, dhpvm_object_new_array_of(state->isolate, &array, &lent, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_array(lent, DHPVM_READ_WRITE, &array, NULL));
  CHECK(array.lanes == 2 && array.sizes[0] == 2 && array.sizes[1] == 3 && ((double*)array.data)[11] == 0);
  ((double*)array.data)[0] = 5;
  argument.kind = DHPVM_OBJECT;
  argument.of.object = lent;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "turn", &argument, 1, &result, 1, NULL));
  CHECK(((const double*)array.data)[0] == 100);
  dhpvm_object_free(result.of.object);
  dhpvm_object_free(lent);
}

void test_arrays(void) {
  host state;
  host_begin(&state, NULL);
  test_strides(&state);
  test_lanes(&state);
  test_grids(&state);
  test_bad_arrays(&state);
  host_end(&state);
}

static void count(void* user) { ++*(int*)user; }

static void test_lending(const host* state) {
  double numbers[3] = {1, 2, 3};
  int released = 0;
  dhpvm_array array = f64_array(numbers, 3);
  dhpvm_object* lent = NULL;
  dhpvm_object* copy = NULL;
  dhpvm_value argument;
  dhpvm_value box;
  dhpvm_value result;
  CHECK_CODE(DHPVM_OK, dhpvm_object_lend(state->isolate, &array, count, &released, &lent, NULL));
  argument = object_value(lent);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "sum", &argument, 1, &result, 1, NULL));
  CHECK(result.of.f64 == 6);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "keep", &argument, 1, &box, 1, NULL));
  CHECK_CODE(DHPVM_OK, call_by_name(state, "kept", &box, 1, &result, 1, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_copy(lent, &copy, NULL));
  dhpvm_object_free(lent);
  CHECK(released == 0);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "kept", &box, 1, &result, 1, NULL));
  dhpvm_object_free(copy);
  CHECK(released == 1);
  CHECK_CODE(DHPVM_BORROW_ENDED, call_by_name(state, "kept", &box, 1, &result, 1, NULL));
  dhpvm_object_free(box.of.object);
  array.strides[0] = 16;
  CHECK_CODE(DHPVM_UNSUPPORTED, dhpvm_object_lend(state->isolate, &array, count, &released, &lent, NULL));
  array.strides[0] = 0;
  array.kind = DHPVM_U16;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT,
             dhpvm_object_lend(state->isolate, &array, count, &released, &lent, NULL));
  CHECK(released == 1);
}

static void test_program_arrays(const host* state) {
  const int64_t size = 4;
  const int64_t negative = -1;
  dhpvm_object* object = NULL;
  dhpvm_array array;
  dhpvm_value argument = i64_value(300);
  dhpvm_value result;
  dhpvm_bytes name = {NULL, 0};
  CHECK_CODE(DHPVM_INVALID_ARGUMENT,
             dhpvm_object_new_array(state->isolate, DHPVM_TEXT, &size, 1, &object, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT,
             dhpvm_object_new_array(state->isolate, DHPVM_F64, &size, 0, &object, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT,
             dhpvm_object_new_array(state->isolate, DHPVM_U16, &size, 1, &object, NULL));
  CHECK_CODE(DHPVM_NEGATIVE_LENGTH,
             dhpvm_object_new_array(state->isolate, DHPVM_F64, &negative, 1, &object, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_new_array(state->isolate, DHPVM_F64, &size, 1, &object, NULL));
  array.size = 3;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_array(object, DHPVM_READ_WRITE, &array, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_array(object, 7, &array, NULL));
  array.size = sizeof array;
  CHECK_CODE(DHPVM_OK, dhpvm_object_array(object, DHPVM_READ_WRITE, &array, NULL));
  CHECK(array.kind == DHPVM_F64 && array.rank == 1 && array.sizes[0] == 4 && array.strides[0] == 8);
  void* const elements = array.data;
  CHECK_CODE(DHPVM_OK, dhpvm_object_array(object, DHPVM_DESCRIBE, &array, NULL));
  CHECK(array.data == NULL && array.kind == DHPVM_F64 && array.rank == 1 && array.sizes[0] == 4);
  array.data = elements;
  for (int i = 0; i < 4; ++i) ((double*)array.data)[i] = i;
  argument = object_value(object);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "sum", &argument, 1, &result, 1, NULL));
  CHECK(result.of.f64 == 6);
  CHECK_CODE(DHPVM_OK, dhpvm_object_type(object, &name, NULL));
  CHECK(strcmp(name.data, "[f64]") == 0 && name.size == 5);
  dhpvm_bytes_free(&name);
  CHECK(name.data == NULL);
  dhpvm_object_free(object);
  argument = i64_value(300);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "bytes", &argument, 1, &result, 1, NULL));
  CHECK(result.kind == DHPVM_OBJECT);
  CHECK_CODE(DHPVM_OK, dhpvm_object_array(result.of.object, DHPVM_READ, &array, NULL));
  CHECK(array.kind == DHPVM_U8 && array.sizes[0] == 300 && ((const uint8_t*)array.data)[299] == 299 % 256);
  CHECK_CODE(DHPVM_BAD_CAST, dhpvm_object_text(result.of.object, (const char*[]){NULL}, (size_t[]){0}, NULL));
  dhpvm_object_free(result.of.object);
}

static void test_references(const host* state) {
  dhpvm_value argument = i64_value(5);
  dhpvm_value node;
  dhpvm_value result;
  dhpvm_object* copy = NULL;
  dhpvm_object* text = NULL;
  dhpvm_array array;
  const char* data = NULL;
  size_t size = 0;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "chain", &argument, 1, &node, 1, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_collect(state->isolate, NULL));
  CHECK_CODE(DHPVM_OK, call_by_name(state, "value", &node, 1, &result, 1, NULL));
  CHECK(result.of.i64 == 4);
  CHECK_CODE(DHPVM_OK, dhpvm_object_copy(node.of.object, &copy, NULL));
  CHECK(dhpvm_object_equal(copy, node.of.object) == 1 && dhpvm_object_equal(copy, NULL) == 0);
  array.size = sizeof array;
  CHECK_CODE(DHPVM_BAD_CAST, dhpvm_object_array(copy, DHPVM_READ, &array, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_new_text(state->isolate, "Eve", 3, &text, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_text(text, &data, &size, NULL));
  CHECK(size == 3 && memcmp(data, "Eve", 3) == 0);
  argument = object_value(text);
  CHECK_CODE(DHPVM_OK, call_by_name(state, "greet", &argument, 1, &result, 1, NULL));
  CHECK(result.of.text.size == 10);
  CHECK_CODE(DHPVM_BAD_CAST, call_by_name(state, "value", &argument, 1, &result, 1, NULL));
  dhpvm_object_free(copy);
  dhpvm_object_free(text);
  dhpvm_object_free(node.of.object);
}

static void count_field(void* user, const char* name, const char* type) {
  if (strcmp(name, "next") == 0 && strcmp(type, "Node") == 0) ++*(int*)user;
}

static void test_fields(const host* state) {
  dhpvm_value argument = i64_value(2);
  dhpvm_value node;
  dhpvm_value value;
  dhpvm_error* error = NULL;
  int found = 0;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "chain", &argument, 1, &node, 1, NULL));
  dhpvm_object* const object = node.of.object;
  CHECK_CODE(DHPVM_OK, dhpvm_object_fields(object, count_field, &found, NULL));
  CHECK(found == 1);
  CHECK_CODE(DHPVM_OK, dhpvm_object_get(object, "value", &value, NULL));
  CHECK(value.kind == DHPVM_I64 && value.of.i64 == 1);
  CHECK_CODE(DHPVM_OK, dhpvm_object_get(object, "next", &value, NULL));
  CHECK(value.kind == DHPVM_OBJECT);
  CHECK_CODE(DHPVM_OK, dhpvm_object_set(value.of.object, "next", &node, NULL));
  dhpvm_object_free(value.of.object);
  value = i64_value(9);
  CHECK_CODE(DHPVM_OK, dhpvm_object_set(object, "value", &value, NULL));
  CHECK_CODE(DHPVM_OK, call_by_name(state, "value", &node, 1, &value, 1, NULL));
  CHECK(value.of.i64 == 9);
  value = f64_value(1);
  CHECK_CODE(DHPVM_BAD_CAST, dhpvm_object_set(object, "value", &value, NULL));
  value = text_value("x");
  CHECK_CODE(DHPVM_BAD_CAST, dhpvm_object_set(object, "next", &value, NULL));
  value.kind = DHPVM_ARRAY;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_set(object, "next", &value, NULL));
  value.kind = DHPVM_NULL;
  CHECK_CODE(DHPVM_OK, dhpvm_object_set(object, "next", &value, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_get(object, "next", &value, NULL));
  CHECK(value.kind == DHPVM_NULL);
  CHECK_CODE(DHPVM_NOT_FOUND, dhpvm_object_get(object, "nxet", &value, &error));
  CHECK(strstr(dhpvm_error_message(error), "did you mean 'next'") != NULL);
  dhpvm_error_free(error);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_get(object, NULL, &value, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_get(object, "next", NULL, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_set(NULL, "next", &value, NULL));
  dhpvm_object_free(object);
}

void test_objects(void) {
  host state;
  host other;
  dhpvm_value argument = i64_value(1);
  dhpvm_value node;
  dhpvm_value result;
  host_begin(&state, NULL);
  test_lending(&state);
  test_program_arrays(&state);
  test_references(&state);
  test_fields(&state);
  host_begin(&other, NULL);
  CHECK_CODE(DHPVM_OK, call_by_name(&other, "chain", &argument, 1, &node, 1, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, call_by_name(&state, "value", &node, 1, &result, 1, NULL));
  dhpvm_object_free(node.of.object);
  dhpvm_isolate_free(other.isolate);
  dhpvm_module_free(other.module);
  dhpvm_engine_free(other.engine);
  host_end(&state);
}

static void* delete_in_thread(void* tensor) {
  struct DLManagedTensorVersioned* const managed = tensor;
  managed->deleter(managed);
  return NULL;
}

static void count_delete(struct DLManagedTensorVersioned* tensor) { ++*(int*)tensor->context; }

void test_dlpack(void) {
  host state;
  int deleted = 0;
  double numbers[4] = {0, 1, 2, 3};
  int64_t shape[1] = {3};
  struct DLManagedTensorVersioned given = {1, 1,  &deleted, count_delete, 0,    numbers, 1, 0, 1,
                                           2, 64, 1,        shape,        NULL, 8};
  struct DLManagedTensorVersioned* taken = NULL;
  dhpvm_object* object = NULL;
  dhpvm_value argument;
  dhpvm_value result;
  pthread_t thread;
  host_begin(&state, NULL);
  CHECK_CODE(DHPVM_OK, dhpvm_object_from_dlpack(state.isolate, &given, &object, NULL));
  argument = object_value(object);
  CHECK_CODE(DHPVM_OK, call_by_name(&state, "sum", &argument, 1, &result, 1, NULL));
  CHECK(result.of.f64 == 6);
  CHECK_CODE(DHPVM_OK, dhpvm_object_to_dlpack(object, &taken, NULL));
  CHECK(taken->data == &numbers[1] && taken->shape[0] == 3 && taken->strides[0] == 1 && taken->bits == 64);
  CHECK(taken->code == 2 && taken->device_type == 1 && taken->dimensions == 1);
  dhpvm_object_free(object);
  CHECK(deleted == 0);
  CHECK(pthread_create(&thread, NULL, delete_in_thread, taken) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(deleted == 0);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_collect(state.isolate, NULL));
  CHECK(deleted == 1);
  given.major = 2;
  CHECK_CODE(DHPVM_UNSUPPORTED, dhpvm_object_from_dlpack(state.isolate, &given, &object, NULL));
  given.major = 1;
  given.device_type = 2;
  CHECK_CODE(DHPVM_UNSUPPORTED, dhpvm_object_from_dlpack(state.isolate, &given, &object, NULL));
  given.device_type = 1;
  given.bits = 16;
  CHECK_CODE(DHPVM_UNSUPPORTED, dhpvm_object_from_dlpack(state.isolate, &given, &object, NULL));
  given.bits = 64;
  given.dimensions = 4;
  CHECK_CODE(DHPVM_UNSUPPORTED, dhpvm_object_from_dlpack(state.isolate, &given, &object, NULL));
  given.dimensions = 1;
  given.strides = (int64_t[]){2};
  CHECK_CODE(DHPVM_UNSUPPORTED, dhpvm_object_from_dlpack(state.isolate, &given, &object, NULL));
  /* One element for all, as expand() of other packages gives it. */
  given.strides = (int64_t[]){0};
  CHECK_CODE(DHPVM_UNSUPPORTED, dhpvm_object_from_dlpack(state.isolate, &given, &object, NULL));
  CHECK(deleted == 1);
  /* Memory that is lent for reading stays so. */
  given.strides = NULL;
  given.flags = 1;
  CHECK_CODE(DHPVM_OK, dhpvm_object_from_dlpack(state.isolate, &given, &object, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_to_dlpack(object, &taken, NULL));
  CHECK(taken->flags == 1 && taken->data == &numbers[1]);
  taken->deleter(taken);
  dhpvm_object_free(object);
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_collect(state.isolate, NULL));
  CHECK(deleted == 2);
  /* A tensor that outlives everything. */
  CHECK_CODE(DHPVM_OK, dhpvm_object_new_array(state.isolate, DHPVM_F64, shape, 1, &object, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_to_dlpack(object, &taken, NULL));
  dhpvm_object_free(object);
  dhpvm_isolate_free(state.isolate);
  ((double*)taken->data)[2] = 5;
  taken->deleter(taken);
  state.isolate = NULL;
  host_end(&state);
}
