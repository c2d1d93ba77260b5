/* SPDX-License-Identifier: Apache-2.0
 *
 * R's .Call over the C interface: programs in the language as functions of R. Vectors and matrices of doubles are lent
 * for a call, and read only, since values of R never change; what a program returns is copied. */
#define R_NO_REMAP /* of names as short as `error` */
#include <R.h>
#include <Rinternals.h>
#include <dhpvm/c.h>
#include <stdio.h>
#include <string.h>

/* Rf_error does not return, and frees no memory of C: what it says is kept here. */
static char message[4096];

static dhpvm_engine* engine = NULL;

static void keep_error(dhpvm_error* error) {
  snprintf(message, sizeof message, "%s", dhpvm_error_text(error));
  dhpvm_error_free(error);
}

static void end_program(SEXP program) {
  dhpvm_isolate_free(R_ExternalPtrAddr(program));
  R_ClearExternalPtr(program);
}

/* The program with this source text. */
SEXP dhpvm_r_compile(SEXP source) {
  const char* text = CHAR(STRING_ELT(source, 0));
  dhpvm_module* module = NULL;
  dhpvm_isolate* isolate = NULL;
  dhpvm_error* error = NULL;
  dhpvm_code code = engine == NULL ? dhpvm_engine_new(NULL, &engine, &error) : DHPVM_OK;
  if (code == DHPVM_OK) code = dhpvm_module_compile(engine, text, strlen(text), NULL, &module, &error);
  if (code == DHPVM_OK) code = dhpvm_isolate_new(module, NULL, &isolate, &error);
  dhpvm_module_free(module);
  if (code != DHPVM_OK) {
    keep_error(error);
    Rf_error("%s", message);
  }
  SEXP program = PROTECT(R_MakeExternalPtr(isolate, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(program, end_program, TRUE);
  UNPROTECT(1);
  return program;
}

/* A vector or matrix. R has the elements of a column side by side, so that its rows are far apart. */
static void describe(SEXP given, dhpvm_array* array) {
  memset(array, 0, sizeof *array);
  array->size = sizeof *array;
  array->data = REAL(given);
  array->kind = DHPVM_F64;
  array->access = DHPVM_READ;
  array->rank = Rf_isMatrix(given) ? 2 : 1;
  array->sizes[0] = Rf_isMatrix(given) ? Rf_nrows(given) : XLENGTH(given);
  array->strides[0] = (int64_t)sizeof(double);
  if (array->rank == 2) {
    array->sizes[1] = Rf_ncols(given);
    array->strides[1] = array->sizes[0] * (int64_t)sizeof(double);
  }
}

/* The value for a parameter of this kind; 0 if there is none. */
static int to_program(SEXP given, dhpvm_kind kind, dhpvm_value* value, dhpvm_array* array) {
  memset(value, 0, sizeof *value);
  value->kind = kind;
  switch (kind) {
    case DHPVM_BOOL: value->of.boolean = Rf_asLogical(given) == TRUE; return Rf_isLogical(given);
    case DHPVM_I32: value->of.i32 = Rf_asInteger(given); return Rf_isNumeric(given);
    case DHPVM_I64: value->of.i64 = (int64_t)Rf_asReal(given); return Rf_isNumeric(given);
    case DHPVM_F64: value->of.f64 = Rf_asReal(given); return Rf_isNumeric(given);
    case DHPVM_TEXT:
      if (!Rf_isString(given) || XLENGTH(given) != 1) return 0;
      value->of.text.data = CHAR(STRING_ELT(given, 0));
      value->of.text.size = strlen(value->of.text.data);
      return 1;
    case DHPVM_ARRAY:
      if (!Rf_isReal(given)) return 0;
      describe(given, array);
      value->of.array = array;
      return 1;
    default: return 0;
  }
}

/* A copy of the elements of an array of doubles, as a vector or a matrix. */
static SEXP copy_elements(const dhpvm_array* array) {
  const double* elements = array->data;
  if (array->rank == 1) {
    SEXP vector = Rf_allocVector(REALSXP, array->sizes[0]);
    if (array->sizes[0] != 0) memcpy(REAL(vector), elements, (size_t)array->sizes[0] * sizeof(double));
    return vector;
  }
  const int rows = (int)array->sizes[0];
  const int columns = (int)array->sizes[1];
  SEXP matrix = Rf_allocMatrix(REALSXP, rows, columns);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) REAL(matrix)[i + (R_xlen_t)j * rows] = elements[(int64_t)i * columns + j];
  }
  return matrix;
}

/* A result, whose handle ends here; NULL of R for what has no type there. */
static SEXP from_program(const dhpvm_value* value) {
  switch (value->kind) {
    case DHPVM_BOOL: return Rf_ScalarLogical(value->of.boolean);
    case DHPVM_I32: return Rf_ScalarInteger(value->of.i32);
    case DHPVM_I64: return Rf_ScalarReal((double)value->of.i64);
    case DHPVM_F64: return Rf_ScalarReal(value->of.f64);
    case DHPVM_TEXT:
      return Rf_ScalarString(
          Rf_mkCharLenCE(value->of.text.data, (int)value->of.text.size, CE_UTF8));
    case DHPVM_OBJECT: {
      dhpvm_array array = {.size = sizeof array};
      SEXP copy = R_NilValue;
      if (dhpvm_object_array(value->of.object, DHPVM_READ, &array, NULL) == DHPVM_OK && array.rank <= 2 &&
          array.kind == DHPVM_F64 && array.lanes == 1)
        copy = copy_elements(&array);
      dhpvm_object_free(value->of.object);
      return copy;
    }
    default: return R_NilValue;
  }
}

/* Calls a function of a program: its result, NULL, or a list of several. */
SEXP dhpvm_r_call(SEXP program, SEXP name, SEXP arguments) {
  dhpvm_function* function = NULL;
  dhpvm_error* error = NULL;
  if (dhpvm_isolate_function(R_ExternalPtrAddr(program), CHAR(STRING_ELT(name, 0)), NULL, &function, &error) !=
      DHPVM_OK) {
    keep_error(error);
    Rf_error("%s", message);
  }
  const size_t count = (size_t)XLENGTH(arguments);
  const size_t result_count = dhpvm_function_result_count(function);
  dhpvm_value* values = (dhpvm_value*)R_alloc(count + 1, sizeof *values);
  dhpvm_array* arrays = (dhpvm_array*)R_alloc(count + 1, sizeof *arrays);
  dhpvm_value* results = (dhpvm_value*)R_alloc(result_count + 1, sizeof *results);
  for (size_t i = 0; i < count; ++i) {
    const dhpvm_kind kind = dhpvm_function_parameter_kind(function, i);
    if (to_program(VECTOR_ELT(arguments, (R_xlen_t)i), kind, &values[i], &arrays[i])) continue;
    snprintf(message, sizeof message, "argument %zu does not fit: the function is %s", i + 1,
             dhpvm_function_signature(function));
    dhpvm_function_free(function);
    Rf_error("%s", message);
  }
  if (dhpvm_call(function, values, count, results, result_count, &error) != DHPVM_OK) {
    keep_error(error);
    dhpvm_function_free(function);
    Rf_error("%s", message);
  }
  SEXP list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)result_count));
  for (size_t i = 0; i < result_count; ++i) SET_VECTOR_ELT(list, (R_xlen_t)i, from_program(&results[i]));
  dhpvm_function_free(function);
  UNPROTECT(1);
  if (result_count == 0) return R_NilValue;
  return result_count == 1 ? VECTOR_ELT(list, 0) : list;
}
