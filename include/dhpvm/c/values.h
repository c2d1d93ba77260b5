/* SPDX-License-Identifier: Apache-2.0
 *
 * Values between C and programs. Include dhpvm/c.h.
 *
 *   language                kind of value      member of `of`
 *   bool, i8 .. u64         DHPVM_BOOL, ..     boolean, i8 .. u64
 *   f32, f64                DHPVM_F32, ..      f32, f64
 *   str                     DHPVM_TEXT         text: copied into the program; also DHPVM_OBJECT
 *   [f64], [i32, 2], ..     DHPVM_ARRAY        array: the host's memory, lent for the call; also DHPVM_OBJECT
 *   [Complex] with          DHPVM_ARRAY        array: elements of 2 lanes; likewise for each struct whose fields are
 *   struct Complex {                           numbers of one kind, which lie one behind the other
 *     re: f64; im: f64; }
 *   any other reference     DHPVM_OBJECT       object
 *   null                    DHPVM_NULL
 *   a struct                a value for each field, in order; as a field of an object or an element of a collection,
 *                           DHPVM_RECORD, record
 *   i64?                    DHPVM_BOOL, whether it is there, and the number
 *
 * Results of functions: a str is DHPVM_TEXT, which lives until the next call through the same function handle, every
 * other reference DHPVM_OBJECT, a handle that the caller frees. Arguments of host functions: a str is DHPVM_TEXT, an
 * array DHPVM_ARRAY, both valid until the function returns, a resource DHPVM_RESOURCE, any other reference
 * DHPVM_OBJECT, a handle that the library frees when the function returns: dhpvm_object_copy keeps it. Results of host
 * functions: texts and arrays are copied when the function returns, so they must outlive it; objects remain the host's
 * to free.
 */
#ifndef DHPVM_C_VALUES_H
#define DHPVM_C_VALUES_H

#include "dhpvm/c/types.h"

typedef uint32_t dhpvm_kind;
enum {
  DHPVM_NULL = 0,
  DHPVM_BOOL = 1,
  DHPVM_I8 = 2,
  DHPVM_U8 = 3,
  DHPVM_I16 = 4,
  DHPVM_U16 = 5,
  DHPVM_I32 = 6,
  DHPVM_U32 = 7,
  DHPVM_I64 = 8,
  DHPVM_U64 = 9,
  DHPVM_F32 = 10,
  DHPVM_F64 = 11,
  DHPVM_TEXT = 12,
  DHPVM_ARRAY = 13,
  DHPVM_OBJECT = 14,
  DHPVM_RESOURCE = 15,
  DHPVM_RECORD = 16 /* since version 6: a struct, as a field or an element of a collection */
};

typedef uint32_t dhpvm_access;
enum {
  DHPVM_READ = 0,
  DHPVM_READ_WRITE = 1,
  DHPVM_DESCRIBE = 2 /* for dhpvm_object_array: kind and sizes alone */
};

#define DHPVM_MAXIMUM_RANK 3

/* Elements in memory of the host, or of a program.
 *
 * As an argument, memory is lent for the call: the program works on it without a copy, and traps with
 * DHPVM_BORROW_ENDED if it uses the array later. Elements that do not lie densely in row-major order are gathered into
 * a copy for the call, and scattered back after it unless `access` is DHPVM_READ. Arrays of one call must not overlap
 * if the program writes to one of them. */
typedef struct dhpvm_array {
  size_t size; /* sizeof(dhpvm_array) */
  void* data;  /* may be NULL if a size is 0 */
  dhpvm_kind kind;
  dhpvm_access access;               /* whether the program may write elements */
  uint32_t rank;                     /* 1 to 3 */
  uint32_t lanes;                    /* since version 4: numbers in an element; 0 or 1: it is a number */
  int64_t sizes[DHPVM_MAXIMUM_RANK]; /* outermost first */
  /* From an element to its neighbour in each dimension, in bytes, and may be negative. All zero: dense, row-major. */
  int64_t strides[DHPVM_MAXIMUM_RANK];
} dhpvm_array;

typedef struct dhpvm_value {
  dhpvm_kind kind;
  uint32_t reserved; /* 0 */
  union {
    uint8_t boolean; /* 0 or 1 */
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
    struct {
      const char* data;
      size_t size;
    } text;
    const dhpvm_array* array;
    dhpvm_object* object;
    void* resource; /* the pointer of dhpvm_object_new_resource */
    const struct dhpvm_record* record;
  } of;
} dhpvm_value;

/* The fields of a struct, in its order: a struct inside it is a record again, a field that may be null is DHPVM_NULL or
 * its value. */
typedef struct dhpvm_record {
  size_t size;      /* sizeof(dhpvm_record) */
  const char* type; /* "Point"; empty for a struct inside another */
  const struct dhpvm_record_field* fields;
  size_t count;
} dhpvm_record;

typedef struct dhpvm_record_field {
  const char* name;
  dhpvm_value value;
} dhpvm_record_field;

/* An element of an array, List or Set, for which `key` is NULL, or an entry of a Map. Texts and records live during the
 * visit, with the objects inside records, which dhpvm_object_copy keeps; other objects are handles that the visitor
 * frees. */
typedef void (*dhpvm_element_visitor)(void* user, const dhpvm_value* key, const dhpvm_value* value);

/* One call of a host function, which fills in `results`: all of them are zero at first, of the kinds of the signature.
 * The numbers of arguments and results are those of the signature that the function was defined with. */
typedef struct dhpvm_host_call {
  size_t size;
  void* user;             /* of dhpvm_engine_define */
  dhpvm_isolate* isolate; /* that calls; not to be freed; NULL if its handle was freed */
  const dhpvm_value* arguments;
  size_t argument_count;
  dhpvm_value* results;
  size_t result_count;
} dhpvm_host_call;

/* Anything but DHPVM_OK ends the program: as it is if it is the code of a trap (DHPVM_USER_TRAP, say), else as
 * DHPVM_HOST_EXCEPTION. dhpvm_host_fail gives it a message. */
typedef dhpvm_code (*dhpvm_host_function)(dhpvm_host_call* call);

#endif /* DHPVM_C_VALUES_H */
