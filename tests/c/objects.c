/* SPDX-License-Identifier: Apache-2.0
 * Objects that the host makes, and what hosts and programs pass each other beyond numbers and texts. */
#include <stddef.h>

#include "check.h"

static const char kSource[] =
    "import list; import map;\n"
    "extern fn each(visit: fn(i64), count: i64);\n"
    "extern fn value_of(node: Node?) -> i64;\n"
    "extern fn same(node: Node) -> Node;\n"
    "extern fn length(text: str?) -> i64?;\n"
    "class Node {\n"
    "    value: i64; next: Node?;\n"
    "    fn twice() -> i64 => 2 * value;\n"
    "}\n"
    "class Other { value: i64; }\n"
    "fn total(numbers: List<f64>) -> f64 { var sum = 0.0; for x in numbers { sum += x; } return sum; }\n"
    "fn prices() -> Map<str, i64> { let m = Map<str, i64>(); m.set(\"tea\", 2); m.set(\"milk\", 1); return "
    "m; }\n"
    "fn nodes() -> [Node] => [Node(4, null), Node(5, null)];\n"
    "fn adder(n: i64) -> fn(i64) -> i64 => fn(x: i64) -> i64 => x + n;\n"
    "fn count_up(n: i64) -> i64 { var sum = 0; each(fn(i: i64) { sum += i; }, n); return sum; }\n"
    "fn through_host() -> i64 => value_of(Node(7, null)) * 100 + value_of(null) * 10 + same(Node(3, "
    "null)).value;\n"
    "fn lengths() -> i64 => (length(\"four\") ?? -1) * 10 + (length(null) ?? -1);\n"
    "struct Point { x: f64; y: f32; }\n"
    "struct Place { name: str; at: Point; floor: i64?; owner: Node?; }\n"
    "class House { place: Place; rooms: i64?; }\n"
    "fn places() -> List<Place> {\n"
    "    let all = List<Place>(); all.push(Place(\"attic\", Point(1.0, 2.0), 3, Node(8, null)));\n"
    "    all.push(Place(\"yard\", Point(4.0, 5.0), null, null)); return all;\n"
    "}\n"
    "fn house() -> House => House(Place(\"x\", Point(1.0, 2.0), null, null), null);\n";

/* Calls the closure that it is given. */
static dhpvm_code host_each(dhpvm_host_call* call) {
  dhpvm_function* visit = NULL;
  CHECK(call->arguments[0].kind == DHPVM_OBJECT);
  CHECK_CODE(DHPVM_OK, dhpvm_object_method(call->arguments[0].of.object, "invoke", "(i64)", &visit, NULL));
  for (int64_t i = 0; i < call->arguments[1].of.i64; ++i) {
    const dhpvm_value index = i64_value(i);
    CHECK_CODE(DHPVM_OK, dhpvm_call(visit, &index, 1, NULL, 0, NULL));
  }
  dhpvm_function_free(visit);
  return DHPVM_OK;
}

static dhpvm_code host_value_of(dhpvm_host_call* call) {
  if (call->arguments[0].kind == DHPVM_NULL) return DHPVM_OK; /* with the zero that is there */
  return dhpvm_object_get(call->arguments[0].of.object, "value", &call->results[0], NULL);
}

static dhpvm_code host_same(dhpvm_host_call* call) {
  call->results[0] = call->user == NULL ? call->arguments[0] : object_value(call->user);
  return DHPVM_OK;
}

static dhpvm_code host_length(dhpvm_host_call* call) {
  CHECK(call->result_count == 2 && call->results[0].kind == DHPVM_BOOL && call->results[1].kind == DHPVM_I64);
  if (call->arguments[0].kind == DHPVM_NULL) return DHPVM_OK;
  call->results[0].of.boolean = 1;
  call->results[1].of.i64 = (int64_t)call->arguments[0].of.text.size;
  return DHPVM_OK;
}

static dhpvm_value number_from(const host* state, const char* name, const dhpvm_value* argument) {
  dhpvm_value result = {DHPVM_NULL, 0, {0}};
  CHECK_CODE(DHPVM_OK, call_by_name(state, name, argument, argument == NULL ? 0 : 1, &result, 1, NULL));
  return result;
}

static void test_construction(const host* state) {
  dhpvm_value values[2] = {i64_value(21), {DHPVM_NULL, 0, {0}}};
  dhpvm_object* node = NULL;
  dhpvm_object* list = NULL;
  dhpvm_object* none = NULL;
  dhpvm_function* function = NULL;
  dhpvm_error* error = NULL;
  CHECK_CODE(DHPVM_OK, dhpvm_object_new(state->isolate, "Node", values, 2, &node, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_method(node, "twice", "() -> i64", &function, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_call(function, NULL, 0, values, 1, NULL));
  CHECK(values[0].of.i64 == 42);
  dhpvm_function_free(function);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_method(node, "twice", "(i64)", &function, NULL));
  CHECK_CODE(DHPVM_NOT_FOUND, dhpvm_object_method(node, "twise", NULL, &function, &error));
  CHECK(strstr(dhpvm_error_message(error), "did you mean 'twice'") != NULL);
  dhpvm_error_free(error);

  values[0] = i64_value(0);
  CHECK_CODE(DHPVM_OK, dhpvm_object_new(state->isolate, "List<f64>", values, 1, &list, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_method(list, "push", "(f64)", &function, NULL));
  values[0] = f64_value(1.5);
  CHECK_CODE(DHPVM_OK, dhpvm_call(function, values, 1, NULL, 0, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_call(function, values, 1, NULL, 0, NULL));
  dhpvm_function_free(function);
  values[0] = object_value(list);
  CHECK(number_from(state, "total", values).of.f64 == 3.0);

  CHECK_CODE(DHPVM_NOT_FOUND, dhpvm_object_new(state->isolate, "Nodes", values, 1, &none, &error));
  CHECK(strstr(dhpvm_error_text(error), "host_objects") != NULL);
  dhpvm_error_free(error);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_new(state->isolate, "Node", values, 1, &none, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_new(state->isolate, NULL, values, 1, &none, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_new(NULL, "Node", values, 1, &none, NULL));
  CHECK(none == NULL);
  dhpvm_object_free(list);
  dhpvm_object_free(node);
}

static void add_element(void* user, const dhpvm_value* key, const dhpvm_value* value) {
  int64_t* const sum = user;
  dhpvm_value number = *value;
  if (key != NULL) *sum += 1000 * (int64_t)key->of.text.size;
  if (value->kind == DHPVM_OBJECT) {
    CHECK_CODE(DHPVM_OK, dhpvm_object_get(value->of.object, "value", &number, NULL));
    dhpvm_object_free(value->of.object);
  }
  *sum = 10 * *sum + number.of.i64;
}

static void test_elements(const host* state) {
  dhpvm_value result;
  int64_t sum = 0;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "nodes", NULL, 0, &result, 1, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_elements(result.of.object, add_element, &sum, NULL));
  CHECK(sum == 45);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_elements(result.of.object, NULL, &sum, NULL));
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_elements(NULL, add_element, &sum, NULL));
  dhpvm_object_free(result.of.object);
  sum = 0;
  CHECK_CODE(DHPVM_OK, call_by_name(state, "prices", NULL, 0, &result, 1, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_elements(result.of.object, add_element, &sum, NULL));
  CHECK(sum == ((3000 * 10 + 2) + 4000) * 10 + 1);
  dhpvm_object_free(result.of.object);
  result = i64_value(3);
  result = number_from(state, "adder", &result);
  CHECK_CODE(DHPVM_BAD_CAST, dhpvm_object_elements(result.of.object, add_element, &sum, NULL));
  dhpvm_object_free(result.of.object);
}

/* The kinds and names of the fields, and that what is in them lives during the visit. */
static void check_place(void* user, const dhpvm_value* key, const dhpvm_value* value) {
  int* const visits = user;
  const dhpvm_record* const place = value->of.record;
  dhpvm_value number;
  CHECK(key == NULL && value->kind == DHPVM_RECORD && place->size == sizeof *place && place->count == 4);
  CHECK(strcmp(place->type, "Place") == 0 && strcmp(place->fields[0].name, "name") == 0);
  CHECK(place->fields[1].value.kind == DHPVM_RECORD && place->fields[1].value.of.record->count == 2);
  CHECK(strcmp(place->fields[1].value.of.record->fields[1].name, "y") == 0);
  if (*visits == 0) {
    CHECK(place->fields[0].value.of.text.size == 5 &&
          place->fields[1].value.of.record->fields[1].value.of.f32 == 2);
    CHECK(place->fields[2].value.kind == DHPVM_I64 && place->fields[2].value.of.i64 == 3);
    CHECK(place->fields[3].value.kind == DHPVM_OBJECT);
    CHECK_CODE(DHPVM_OK, dhpvm_object_get(place->fields[3].value.of.object, "value", &number, NULL));
    CHECK(number.of.i64 == 8);
  } else {
    CHECK(place->fields[2].value.kind == DHPVM_NULL && place->fields[3].value.kind == DHPVM_NULL);
  }
  ++*visits;
}

/* A field that is a struct, set and read as a whole. */
static void test_struct_fields(const host* state, dhpvm_object* house) {
  const dhpvm_value numbers[2] = {i64_value(9), {DHPVM_NULL, 0, {0}}};
  dhpvm_object* owner = NULL;
  dhpvm_record_field at_fields[2] = {{"y", f64_value(4)}, {"x", i64_value(3)}};
  dhpvm_record_field fields[4] = {{"at", {DHPVM_RECORD, 0, {0}}},
                                  {"name", text_value("hall")},
                                  {"floor", i64_value(2)},
                                  {"owner", {DHPVM_NULL, 0, {0}}}};
  dhpvm_record at = {sizeof at, NULL, at_fields, 2};
  dhpvm_record place = {sizeof place, NULL, fields, 4};
  dhpvm_value value = {DHPVM_RECORD, 0, {0}};
  dhpvm_error* error = NULL;
  CHECK_CODE(DHPVM_OK, dhpvm_object_new(state->isolate, "Node", numbers, 2, &owner, NULL));
  fields[0].value.of.record = &at;
  fields[3].value = object_value(owner);
  value.of.record = &place;
  CHECK_CODE(DHPVM_OK, dhpvm_object_set(house, "place", &value, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_get(house, "place", &value, NULL));
  CHECK(value.kind == DHPVM_RECORD && value.of.record->count == 4);
  CHECK(strcmp(value.of.record->fields[0].name, "name") == 0 &&
        strncmp(value.of.record->fields[0].value.of.text.data, "hall", 4) == 0);
  CHECK(value.of.record->fields[1].value.of.record->fields[0].value.of.f64 == 3);
  CHECK(value.of.record->fields[2].value.kind == DHPVM_I64);
  CHECK(dhpvm_object_equal(value.of.record->fields[3].value.of.object, owner));
  CHECK_CODE(DHPVM_OK, dhpvm_object_get(house, "place.at", &value, NULL));
  CHECK(value.kind == DHPVM_RECORD && value.of.record->count == 2);
  CHECK(value.of.record->fields[1].value.kind == DHPVM_F32 && value.of.record->fields[1].value.of.f32 == 4);

  /* Nothing changes unless all of it fits. */
  value.kind = DHPVM_RECORD;
  value.of.record = &at;
  at_fields[0].value = f64_value(0.1);
  at_fields[1].value = f64_value(77);
  CHECK_CODE(DHPVM_BAD_CAST, dhpvm_object_set(house, "place.at", &value, NULL));
  at.count = 1;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_set(house, "place.at", &value, &error));
  CHECK(strstr(dhpvm_error_message(error), "has no field 'x'") != NULL);
  dhpvm_error_free(error);
  CHECK_CODE(DHPVM_OK, dhpvm_object_get(house, "place.at.x", &value, NULL));
  CHECK(value.of.f64 == 3);
  value.kind = DHPVM_RECORD;
  value.of.record = NULL;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_set(house, "place.at", &value, NULL));
  value.of.record = &at;
  at.size = 4;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_set(house, "place.at", &value, NULL));
  at.size = sizeof at;
  at.fields = NULL;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_set(house, "place.at", &value, NULL));
  at.fields = at_fields;
  at_fields[0].name = NULL;
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_object_set(house, "place.at", &value, NULL));
  CHECK_CODE(DHPVM_NOT_FOUND, dhpvm_object_get(house, "plaice", &value, NULL));
  dhpvm_object_free(owner);
}

static void test_records(const host* state) {
  dhpvm_value result;
  dhpvm_value number = i64_value(4);
  int visits = 0;
  const uint64_t handles = dhpvm_live_handles();
  CHECK_CODE(DHPVM_OK, call_by_name(state, "places", NULL, 0, &result, 1, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_elements(result.of.object, check_place, &visits, NULL));
  CHECK(visits == 2);
  dhpvm_object_free(result.of.object);
  CHECK(dhpvm_live_handles() == handles);

  CHECK_CODE(DHPVM_OK, call_by_name(state, "house", NULL, 0, &result, 1, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_object_set(result.of.object, "rooms", &number, NULL));
  number = (dhpvm_value){DHPVM_NULL, 0, {0}};
  CHECK_CODE(DHPVM_OK, dhpvm_object_get(result.of.object, "rooms", &number, NULL));
  CHECK(number.kind == DHPVM_I64 && number.of.i64 == 4);
  number.kind = DHPVM_NULL;
  CHECK_CODE(DHPVM_OK, dhpvm_object_set(result.of.object, "rooms", &number, NULL));
  number.kind = DHPVM_I64;
  CHECK_CODE(DHPVM_OK, dhpvm_object_get(result.of.object, "rooms", &number, NULL));
  CHECK(number.kind == DHPVM_NULL);
  CHECK_CODE(DHPVM_OK, dhpvm_object_get(result.of.object, "place.at.x", &number, NULL));
  CHECK(number.kind == DHPVM_F64 && number.of.f64 == 1);
  test_struct_fields(state, result.of.object);
  dhpvm_object_free(result.of.object);
  CHECK(dhpvm_live_handles() == handles);
}

void test_made_objects(void) {
  host state;
  dhpvm_engine_options engine_options;
  dhpvm_compile_options options;
  dhpvm_object* other = NULL;
  dhpvm_isolate* second = NULL;
  dhpvm_value value = i64_value(1);
  dhpvm_error* error = NULL;
  memset(&state, 0, sizeof state);
  dhpvm_engine_options_init(&engine_options, sizeof engine_options);
  engine_options.code_cache = 0;
  CHECK_CODE(DHPVM_OK, dhpvm_engine_new(&engine_options, &state.engine, NULL));
  CHECK_CODE(DHPVM_OK,
             dhpvm_engine_define(state.engine, "host.each", "(object, i64)", host_each, NULL, NULL, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_engine_define(state.engine, "host.value_of", "(object) -> i64", host_value_of,
                                           NULL, NULL, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_engine_define(state.engine, "host.same", "(object) -> object", host_same, NULL,
                                           NULL, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_engine_define(state.engine, "host.length", "(str?) -> i64?", host_length, NULL,
                                           NULL, NULL));
  dhpvm_compile_options_init(&options, sizeof options);
  CHECK(options.host_objects == 0);
  options.host_objects = 1;
  CHECK_CODE(DHPVM_OK,
             dhpvm_module_compile(state.engine, kSource, strlen(kSource), &options, &state.module, &error));
  if (error != NULL) {
    printf("%s\n", dhpvm_error_text(error));
    exit(1);
  }
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_new(state.module, NULL, &state.isolate, NULL));
  test_construction(&state);
  test_elements(&state);
  test_records(&state);
  value = i64_value(5);
  CHECK(number_from(&state, "count_up", &value).of.i64 == 10);
  CHECK(number_from(&state, "through_host", NULL).of.i64 == 703);
  CHECK(number_from(&state, "lengths", NULL).of.i64 == 39);
  /* What the program does not expect never reaches it. */
  value = i64_value(1);
  CHECK_CODE(DHPVM_OK, dhpvm_object_new(state.isolate, "Other", &value, 1, &other, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_engine_define(state.engine, "host.same", "(object) -> object", host_same, other,
                                           NULL, NULL));
  dhpvm_module_free(state.module);
  CHECK_CODE(DHPVM_OK,
             dhpvm_module_compile(state.engine, kSource, strlen(kSource), &options, &state.module, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_new(state.module, NULL, &second, NULL));
  {
    dhpvm_function* function = NULL;
    CHECK_CODE(DHPVM_OK, dhpvm_isolate_function(second, "through_host", NULL, &function, NULL));
    CHECK(dhpvm_call(function, NULL, 0, &value, 1, NULL) != DHPVM_OK);
    dhpvm_function_free(function);
  }
  dhpvm_object_free(other);
  dhpvm_isolate_free(second);
  dhpvm_isolate_free(state.isolate);
  dhpvm_module_free(state.module);
  dhpvm_engine_free(state.engine);
  CHECK(dhpvm_live_handles() == 0);
}

static dhpvm_module* compiled(dhpvm_engine* engine, const char* source) {
  dhpvm_module* module = NULL;
  CHECK_CODE(DHPVM_OK, dhpvm_module_compile(engine, source, strlen(source), NULL, &module, NULL));
  return module;
}

void test_reload(void) {
  dhpvm_engine* engine = NULL;
  dhpvm_isolate* isolate = NULL;
  dhpvm_function* answer = NULL;
  dhpvm_value result;
  dhpvm_error* error = NULL;
  dhpvm_module* modules[3];
  CHECK_CODE(DHPVM_OK, dhpvm_engine_new(NULL, &engine, NULL));
  modules[0] = compiled(engine, "fn answer() -> i64 => 1;");
  modules[1] = compiled(engine, "fn other() -> i64 => 3; fn answer() -> i64 => 2;");
  modules[2] = compiled(engine, "fn answer() -> f64 => 2.0;");
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_new(modules[0], NULL, &isolate, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_function(isolate, "answer", NULL, &answer, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_call(answer, NULL, 0, &result, 1, NULL));
  CHECK(result.of.i64 == 1);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_reload(isolate, modules[2], &error));
  CHECK(strstr(dhpvm_error_message(error), "was () -> i64") != NULL);
  dhpvm_error_free(error);
  CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_reload(isolate, NULL, NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_isolate_reload(isolate, modules[1], NULL));
  CHECK_CODE(DHPVM_OK, dhpvm_call(answer, NULL, 0, &result, 1, NULL));
  CHECK(result.of.i64 == 2);
  dhpvm_function_free(answer);
  dhpvm_isolate_free(isolate);
  for (int i = 0; i < 3; ++i) dhpvm_module_free(modules[i]);
  dhpvm_engine_free(engine);
  CHECK(dhpvm_live_handles() == 0);
}

void test_rights(void) {
  static const char kReads[] = "import os;\nfn home() -> bool => os.env(\"PATH\") != null;\n";
  static const char* folders[] = {"/", NULL};
  dhpvm_rights rights;
  dhpvm_isolate_options options;
  dhpvm_engine_options engine_options;
  dhpvm_engine* engine = NULL;
  dhpvm_isolate* isolate = NULL;
  dhpvm_module* module = NULL;
  dhpvm_function* home = NULL;
  dhpvm_value result;
  memset(&rights, 0, sizeof rights);
  rights.size = sizeof rights;
  for (int i = 0; i < 4; ++i) { /* permitted by the engine, and by the isolate */
    dhpvm_engine_options_init(&engine_options, sizeof engine_options);
    dhpvm_isolate_options_init(&options, sizeof options);
    CHECK(options.rights == NULL && engine_options.rights == NULL);
    rights.environment = (uint8_t)(i & 1);
    engine_options.rights = &rights;
    CHECK_CODE(DHPVM_OK, dhpvm_engine_new(&engine_options, &engine, NULL));
    module = compiled(engine, kReads);
    rights.environment = (uint8_t)(i >> 1);
    options.rights = &rights;
    CHECK_CODE(DHPVM_OK, dhpvm_isolate_new(module, &options, &isolate, NULL));
    CHECK_CODE(DHPVM_OK, dhpvm_isolate_function(isolate, "home", NULL, &home, NULL));
    CHECK_CODE(i == 3 ? DHPVM_OK : DHPVM_IO_TRAP, dhpvm_call(home, NULL, 0, &result, 1, NULL));
    dhpvm_function_free(home);
    dhpvm_isolate_free(isolate);
    rights.size = 3;
    CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_new(module, &options, &isolate, NULL));
    rights.size = sizeof rights;
    rights.read = folders;
    rights.read_count = 2;
    CHECK_CODE(DHPVM_INVALID_ARGUMENT, dhpvm_isolate_new(module, &options, &isolate, NULL));
    rights.read_count = 0;
    /* A caller of version 2 knows no rights. */
    options.size = offsetof(dhpvm_isolate_options, rights);
    CHECK_CODE(DHPVM_OK, dhpvm_isolate_new(module, &options, &isolate, NULL));
    dhpvm_isolate_free(isolate);
    dhpvm_module_free(module);
    dhpvm_engine_free(engine);
  }
  CHECK(dhpvm_live_handles() == 0);
}
