/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface: everything that an application in C, or in any language that can call C, needs to run programs.
 * docs/embedding-c.md explains it by example. It is the stable interface: see dhpvm_abi_version.
 *
 *   dhpvm_engine* engine = NULL;
 *   dhpvm_module* module = NULL;
 *   dhpvm_isolate* isolate = NULL;
 *   dhpvm_function* twice = NULL;
 *   const char* source = "fn twice(x: f64) -> f64 { return 2.0 * x; }";
 *   dhpvm_value x = {.kind = DHPVM_F64, .of.f64 = 21}, y;
 *   if (dhpvm_engine_new(NULL, &engine, NULL) == DHPVM_OK &&
 *       dhpvm_module_compile(engine, source, strlen(source), NULL, &module, NULL) == DHPVM_OK &&
 *       dhpvm_isolate_new(module, NULL, &isolate, NULL) == DHPVM_OK &&
 *       dhpvm_isolate_function(isolate, "twice", "(f64) -> f64", &twice, NULL) == DHPVM_OK &&
 *       dhpvm_call(twice, &x, 1, &y, 1, NULL) == DHPVM_OK)
 *     printf("%g\n", y.of.f64);
 *
 * Handles. Engines, modules, isolates, functions, objects, workers and errors are handles: never dereferenced by the
 * caller, and ended by the function dhpvm_X_free of their kind, which accepts NULL. A handle keeps alive what it
 * needs: a function its isolate, an isolate its module, a module its engine; so handles may be freed in any order.
 * A value that is NULL, a handle of another kind, freed already, or no handle at all gives DHPVM_INVALID_ARGUMENT;
 * nothing is read through it.
 *
 * Errors. A function that can fail returns a dhpvm_code, DHPVM_OK if it succeeded. Its last parameter takes the error,
 * to be freed by the caller; NULL if the code is enough. Success sets it to NULL. After a failure, other results
 * are unchanged. No exception of C++ leaves a function of this interface.
 *
 * Structures begin with their size, which the caller sets to sizeof: members that a later version appends get their
 * defaults for a caller that does not know them. The functions dhpvm_X_init set the size and the defaults:
 * dhpvm_X_init(&x, sizeof x) writes no more than the structure that the caller was compiled with.
 *
 * Texts that are passed in are UTF-8. A `const char*` alone ends with a zero byte; one with a size may contain any
 * bytes. The library copies what it keeps.
 *
 * Threads. "any": any thread may call it, also several at once. "isolate": only one thread at a time may use the
 * isolate, its functions and its objects; the isolate may move between threads, with synchronisation by the caller.
 */
#ifndef DHPVM_C_H
#define DHPVM_C_H

#include <stddef.h>
#include <stdint.h>

#include "dhpvm/c/options.h"
#include "dhpvm/c/types.h"
#include "dhpvm/c/values.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The library. Threads: any. */

/* The version of the binary interface that the library has, to be compared with DHPVM_ABI_VERSION. It grows when
 * something is added; an application runs with every library whose version is not below its own. */
DHPVM_C_API uint32_t dhpvm_abi_version(void);
/* The version of the library: "0.1.0". */
DHPVM_C_API const char* dhpvm_version(void);
/* The text of a code: "index out of range"; "unknown error" for any other number. */
DHPVM_C_API const char* dhpvm_code_text(dhpvm_code code);
/* The number of handles in this process: for leak tests. */
DHPVM_C_API size_t dhpvm_live_handles(void);

/* ---- Errors. Threads: any; texts live as long as the error. */

DHPVM_C_API dhpvm_code dhpvm_error_code(const dhpvm_error* error);
/* Whether a program trapped: the mistake is the program's, and its isolate can be used afterwards. */
DHPVM_C_API int dhpvm_error_is_trap(const dhpvm_error* error);
/* Says what happened, and what to do about it. */
DHPVM_C_API const char* dhpvm_error_message(const dhpvm_error* error);
/* Code, message, causes and stack for people, in several lines. */
DHPVM_C_API const char* dhpvm_error_text(const dhpvm_error* error);
/* The program's stack when it trapped, innermost first. */
DHPVM_C_API size_t dhpvm_error_frame_count(const dhpvm_error* error);
/* DHPVM_NOT_FOUND for an index beyond the stack. */
DHPVM_C_API dhpvm_code dhpvm_error_frame(const dhpvm_error* error, size_t index, dhpvm_frame* frame);
DHPVM_C_API void dhpvm_error_free(dhpvm_error* error);

/* ---- Bytes that the library has made for the caller. Threads: any. */

/* Frees them, and sets the structure to zero. */
DHPVM_C_API void dhpvm_bytes_free(dhpvm_bytes* bytes);

/* ---- Engine: the state that all programs of an application share. Threads: any. */

DHPVM_C_API void dhpvm_engine_options_init(dhpvm_engine_options* options, size_t size);
/* NULL: the defaults. */
DHPVM_C_API dhpvm_code dhpvm_engine_new(const dhpvm_engine_options* options, dhpvm_engine** engine,
                                        dhpvm_error** error);
DHPVM_C_API void dhpvm_engine_free(dhpvm_engine* engine);

/* Makes `function` callable from programs that declare it: `extern fn log(text: str);` finds "host.log". `signature` is
 * written as in the language: "(str)", "(f64, [const f32, 2]) -> i64", "() -> (f64, str)". It may name numbers, bool,
 * str, arrays of numbers, resource, and `object`, which is any reference, such as a class or a closure; `const` says
 * that the function only reads the elements. A `?` behind str, an array or resource lets null through, as DHPVM_NULL;
 * without it, null is a trap. An object may be null; `i64?` is two values, a bool and the number. Replaces an earlier
 * definition of the name, for modules that have no isolate yet.
 *
 * The engine calls `function` with `user` from every thread that runs an isolate, possibly at the same time, and calls
 * `release` (unless it is NULL) with `user` when it needs neither any more. `release` is not called if this fails. */
DHPVM_C_API dhpvm_code dhpvm_engine_define(dhpvm_engine* engine, const char* name, const char* signature,
                                           dhpvm_host_function function, void* user,
                                           dhpvm_release_function release, dhpvm_error** error);
/* Inside a host function: its error. The message is copied. Returns `code`, so that it can be the function's last
 * statement. */
DHPVM_C_API dhpvm_code dhpvm_host_fail(dhpvm_host_call* call, dhpvm_code code, const char* message);

/* Calls `visit` for each device of this machine, and of its workers. Loads the vendors' libraries, which takes some
 * time. Texts live during the visit. */
DHPVM_C_API dhpvm_code dhpvm_engine_devices(const dhpvm_engine* engine, dhpvm_device_visitor visit,
                                            void* user, dhpvm_error** error);
/* Calls `visit` for each worker that programs of the engine have used, or tried to use. */
DHPVM_C_API dhpvm_code dhpvm_engine_workers(const dhpvm_engine* engine, dhpvm_worker_visitor visit,
                                            void* user, dhpvm_error** error);
/* Memory still held by programs that have ended; all zero unless the library has a bug. */
DHPVM_C_API dhpvm_code dhpvm_engine_leftovers(const dhpvm_engine* engine, dhpvm_leftovers* leftovers,
                                              dhpvm_error** error);
/* Writes the engine's events so far as a Chrome trace, if dhpvm_engine_options.trace was set. */
DHPVM_C_API dhpvm_code dhpvm_engine_write_trace(const dhpvm_engine* engine, const char* path,
                                                dhpvm_error** error);
/* Drops queued compilations, and waits for the running one. DHPVM_DEADLINE if it runs on. */
DHPVM_C_API dhpvm_code dhpvm_engine_settle(const dhpvm_engine* engine, int64_t patience_ns,
                                           dhpvm_error** error);

/* ---- Module: a compiled and verified program, which never changes. Threads: any. */

DHPVM_C_API void dhpvm_compile_options_init(dhpvm_compile_options* options, size_t size);
/* Source text. DHPVM_COMPILE: the message holds all diagnostics. NULL: the default options. */
DHPVM_C_API dhpvm_code dhpvm_module_compile(dhpvm_engine* engine, const char* source, size_t size,
                                            const dhpvm_compile_options* options, dhpvm_module** module,
                                            dhpvm_error** error);
/* The bytes of a .bc file, which may come from anywhere: they are verified. */
DHPVM_C_API dhpvm_code dhpvm_module_load(dhpvm_engine* engine, const void* bytes, size_t size,
                                         dhpvm_module** module, dhpvm_error** error);
/* A file: bytecode, source or assembly, known by its content and name. */
DHPVM_C_API dhpvm_code dhpvm_module_open(dhpvm_engine* engine, const char* path,
                                         const dhpvm_compile_options* options, dhpvm_module** module,
                                         dhpvm_error** error);
/* The module as the content of a .bc file. */
DHPVM_C_API dhpvm_code dhpvm_module_bytes(const dhpvm_module* module, dhpvm_bytes* bytes,
                                          dhpvm_error** error);
/* Calls `visit` with name and signature of each function that can be called. */
DHPVM_C_API dhpvm_code dhpvm_module_exports(const dhpvm_module* module, dhpvm_export_visitor visit,
                                            void* user, dhpvm_error** error);
/* 1 if it has a main function, else 0; 0 for an invalid handle. */
DHPVM_C_API int dhpvm_module_has_main(const dhpvm_module* module);
DHPVM_C_API void dhpvm_module_free(dhpvm_module* module);

/* ---- Isolate: a program that runs. Threads: isolate, unless a function says any. */

DHPVM_C_API void dhpvm_isolate_options_init(dhpvm_isolate_options* options, size_t size);
/* DHPVM_LINK if the module needs a host function that is not defined, or of another signature. Threads: any. */
DHPVM_C_API dhpvm_code dhpvm_isolate_new(dhpvm_module* module, const dhpvm_isolate_options* options,
                                         dhpvm_isolate** isolate, dhpvm_error** error);
/* The program itself ends with its last function and object. */
DHPVM_C_API void dhpvm_isolate_free(dhpvm_isolate* isolate);
/* Goes on with a newer module, with an empty heap. From the next call on, functions of the isolate run the functions of
 * the same name in it; calls that are under way end in the old code, and objects stay there. DHPVM_NOT_FOUND or
 * DHPVM_INVALID_ARGUMENT if a function that the caller has is missing in the newer module or has another signature
 * there: the isolate then stays as it is. Not while other threads interrupt it. */
DHPVM_C_API dhpvm_code dhpvm_isolate_reload(dhpvm_isolate* isolate, const dhpvm_module* module,
                                            dhpvm_error** error);
/* Makes the running call trap with DHPVM_INTERRUPTED soon, unless it ends first; without one, the next call. Threads:
 * any, and signal handlers; the isolate must not be freed meanwhile. */
DHPVM_C_API dhpvm_code dhpvm_isolate_interrupt(const dhpvm_isolate* isolate);
/* Runs main with `arguments`, without the program's name; `exit_code` is its result or that of os.exit. */
DHPVM_C_API dhpvm_code dhpvm_isolate_run_main(dhpvm_isolate* isolate, const char* const* arguments,
                                              size_t count, int32_t* exit_code, dhpvm_error** error);
/* Fuel counts over the life of the isolate. Host functions may call these two while the program runs. */
DHPVM_C_API dhpvm_code dhpvm_isolate_fuel_left(const dhpvm_isolate* isolate, uint64_t* fuel,
                                               dhpvm_error** error);
DHPVM_C_API dhpvm_code dhpvm_isolate_set_fuel(dhpvm_isolate* isolate, uint64_t fuel, dhpvm_error** error);
/* Applies to calls that start from now on; DHPVM_NO_DEADLINE: no deadline. */
DHPVM_C_API dhpvm_code dhpvm_isolate_set_deadline(dhpvm_isolate* isolate, int64_t deadline_ns,
                                                  dhpvm_error** error);
/* From now on, `function` is called for parallel loops that take longer than `interval_ns`: at most once an interval,
 * and once at their end. NULL, the default: no calls. Isolate::set_progress lists the loops without calls. Call this
 * only between calls of the program. DHPVM_INVALID_ARGUMENT for an interval below 0. */
DHPVM_C_API dhpvm_code dhpvm_isolate_set_progress(dhpvm_isolate* isolate, dhpvm_progress_function function,
                                                  void* user, int64_t interval_ns, dhpvm_error** error);
/* Host and input functions that wait call this a few times a second, with the time that they have waited so far. An
 * error means that the program has to stop, and the function should return its code. */
DHPVM_C_API dhpvm_code dhpvm_isolate_rest(dhpvm_isolate* isolate, int64_t waited_ns, dhpvm_error** error);
/* A full collection now. */
DHPVM_C_API dhpvm_code dhpvm_isolate_collect(dhpvm_isolate* isolate, dhpvm_error** error);
/* Calls `visit` for each counter: see dhpvm/stats.h for the list, which later versions extend. */
DHPVM_C_API dhpvm_code dhpvm_isolate_statistics(const dhpvm_isolate* isolate, dhpvm_statistic_visitor visit,
                                                void* user, dhpvm_error** error);
/* Explains in words how each parallel loop was run, and why it ran no faster. */
DHPVM_C_API dhpvm_code dhpvm_isolate_explain(const dhpvm_isolate* isolate, dhpvm_bytes* text,
                                             dhpvm_error** error);
/* Calls `visit` for each device on which loops have run. */
DHPVM_C_API dhpvm_code dhpvm_isolate_devices(const dhpvm_isolate* isolate, dhpvm_device_visitor visit,
                                             void* user, dhpvm_error** error);

/* ---- Functions of an isolate. Threads: isolate. */

/* Finds an exported function. `signature`, if it is not NULL, is compared with the program's: "([f64], i64) -> f64"; a
 * struct is its fields, a class its name: "(Node) -> Node". DHPVM_NOT_FOUND with the nearest name;
 * DHPVM_INVALID_ARGUMENT with both signatures. */
DHPVM_C_API dhpvm_code dhpvm_isolate_function(dhpvm_isolate* isolate, const char* name, const char* signature,
                                              dhpvm_function** function, dhpvm_error** error);
/* Its signature as the language writes it; lives as long as the handle. NULL for an invalid handle. */
DHPVM_C_API const char* dhpvm_function_signature(const dhpvm_function* function);
/* The numbers of values that it takes and returns; 0 for an invalid handle. */
DHPVM_C_API size_t dhpvm_function_parameter_count(const dhpvm_function* function);
DHPVM_C_API size_t dhpvm_function_result_count(const dhpvm_function* function);
/* The kind of value that parameter or result `index` takes: DHPVM_ARRAY for an array of numbers, or of structs whose
 * fields are numbers of one kind, DHPVM_TEXT for a str, DHPVM_OBJECT for other references. DHPVM_NULL for an index
 * beyond the list. */
DHPVM_C_API dhpvm_kind dhpvm_function_parameter_kind(const dhpvm_function* function, size_t index);
DHPVM_C_API dhpvm_kind dhpvm_function_result_kind(const dhpvm_function* function, size_t index);
/* Calls it with as many values as the signature has, each of the kind of its parameter, as values.h defines them.
 * DHPVM_INVALID_ARGUMENT names the value that does not fit. A trap has the program's stack. `results` are written if it
 * succeeds. Texts among them live until the next call through the same handle; objects are the caller's to free. Calls
 * nest: a host function may call functions of the isolate that called it. */
DHPVM_C_API dhpvm_code dhpvm_call(dhpvm_function* function, const dhpvm_value* arguments,
                                  size_t argument_count, dhpvm_value* results, size_t result_count,
                                  dhpvm_error** error);
DHPVM_C_API void dhpvm_function_free(dhpvm_function* function);

/* ---- Objects of an isolate. Threads: isolate. A handle keeps its object alive. */

/* A new str. */
DHPVM_C_API dhpvm_code dhpvm_object_new_text(dhpvm_isolate* isolate, const char* text, size_t size,
                                             dhpvm_object** object, dhpvm_error** error);
/* A new array in the program's memory, zeroed, that is passed as often as wanted without a copy: `kind` of its
 * elements, `rank` sizes. DHPVM_INVALID_ARGUMENT if no function of the module deals with such arrays. */
DHPVM_C_API dhpvm_code dhpvm_object_new_array(dhpvm_isolate* isolate, dhpvm_kind kind, const int64_t* sizes,
                                              uint32_t rank, dhpvm_object** object, dhpvm_error** error);
/* The same for elements of several numbers, complex ones for example: `described` has kind, lanes, rank and sizes;
 * its data and strides are not looked at. DHPVM_INVALID_ARGUMENT also where the program has several such types. */
DHPVM_C_API dhpvm_code dhpvm_object_new_array_of(dhpvm_isolate* isolate, const dhpvm_array* described,
                                                 dhpvm_object** object, dhpvm_error** error);
/* Memory of the host as an array of the program, without a copy, until the handle is freed: then the program's accesses
 * trap with DHPVM_BORROW_ENDED, and `release`, unless it is NULL, is called with `user`. Rows must be dense:
 * DHPVM_UNSUPPORTED for other strides. `release` is not called if this fails. */
DHPVM_C_API dhpvm_code dhpvm_object_lend(dhpvm_isolate* isolate, const dhpvm_array* array,
                                         dhpvm_release_function release, void* user, dhpvm_object** object,
                                         dhpvm_error** error);
/* The same for a tensor of DLPack 1 in the host's memory: the handle takes it over, and calls its deleter in the end.
 * It remains the caller's if this fails. */
DHPVM_C_API dhpvm_code dhpvm_object_from_dlpack(dhpvm_isolate* isolate,
                                                struct DLManagedTensorVersioned* tensor,
                                                dhpvm_object** object, dhpvm_error** error);
/* The array as a tensor of DLPack 1, without a copy. The tensor keeps it alive until its deleter is called, from any
 * thread. The program sees what is written to it; it must not be touched while a function of the program runs. The
 * tensor of an array that the host has lent for reading has DLPack's flag for read-only memory. */
DHPVM_C_API dhpvm_code dhpvm_object_to_dlpack(dhpvm_object* object, struct DLManagedTensorVersioned** tensor,
                                              dhpvm_error** error);
/* A pointer of the host as the language's `resource`, which programs pass on; `release`, unless it is NULL, is called
 * with it when no reference to it is left. `release` is not called if this fails. */
DHPVM_C_API dhpvm_code dhpvm_object_new_resource(dhpvm_isolate* isolate, void* pointer,
                                                 dhpvm_release_function release, dhpvm_object** object,
                                                 dhpvm_error** error);
/* The pointer behind a resource that was made by the function above; DHPVM_BAD_CAST for another object. */
DHPVM_C_API dhpvm_code dhpvm_object_resource(const dhpvm_object* object, void** pointer, dhpvm_error** error);
/* A new object of a class, made as the program makes it: type "Node", or "List<f64>", and a value for each parameter of
 * the constructor. For modules compiled with dhpvm_compile_options.host_objects: DHPVM_NOT_FOUND if there is no such
 * constructor, and the errors of dhpvm_call. It is the function "new Node", which dhpvm_isolate_function finds, too. */
DHPVM_C_API dhpvm_code dhpvm_object_new(dhpvm_isolate* isolate, const char* type,
                                        const dhpvm_value* arguments, size_t argument_count,
                                        dhpvm_object** object, dhpvm_error** error);
/* A method of an object as a function that is bound to it and keeps it alive; the name "invoke" stands for a closure
 * itself. Its parameters are those behind the object; otherwise as dhpvm_isolate_function. Found are the methods of
 * interfaces that the class implements, those that the program itself calls, and with
 * dhpvm_compile_options.host_objects all. */
DHPVM_C_API dhpvm_code dhpvm_object_method(const dhpvm_object* object, const char* name,
                                           const char* signature, dhpvm_function** function,
                                           dhpvm_error** error);
/* Calls `visit` for each element of an array of one dimension, a List or a Set, and for each entry of a Map, in the
 * program's order, as they are when this is called: structs are DHPVM_RECORD. DHPVM_BAD_CAST for another object. */
DHPVM_C_API dhpvm_code dhpvm_object_elements(const dhpvm_object* object, dhpvm_element_visitor visit,
                                             void* user, dhpvm_error** error);
/* Another handle to the same object. */
DHPVM_C_API dhpvm_code dhpvm_object_copy(const dhpvm_object* object, dhpvm_object** copy,
                                         dhpvm_error** error);
/* Its type: "Node", "[f64, 2]", "str". */
DHPVM_C_API dhpvm_code dhpvm_object_type(const dhpvm_object* object, dhpvm_bytes* name, dhpvm_error** error);
/* Calls `visit` for each field of an instance of a class; none for other objects. */
DHPVM_C_API dhpvm_code dhpvm_object_fields(const dhpvm_object* object, dhpvm_field_visitor visit, void* user,
                                           dhpvm_error** error);
/* The value of a field: a number or bool of its kind; DHPVM_NULL; DHPVM_RECORD for a struct, which lives until the next
 * struct is read through the same handle; or DHPVM_OBJECT for every other value, also a str, which the caller has to
 * free. DHPVM_NOT_FOUND with the nearest name; DHPVM_BAD_CAST if the object is no instance of a class. */
DHPVM_C_API dhpvm_code dhpvm_object_get(const dhpvm_object* object, const char* field, dhpvm_value* value,
                                        dhpvm_error** error);
/* Stores a field: a value of exactly its kind, DHPVM_TEXT or DHPVM_OBJECT for a str, DHPVM_OBJECT or DHPVM_NULL for
 * other references, DHPVM_RECORD for a struct, with all its fields in any order, whose numbers may be of any kind if
 * those of the struct hold the same; DHPVM_BAD_CAST otherwise. What does not fit changes nothing. The program may rely
 * on invariants of its fields: a `let` field, or one that is never null. */
DHPVM_C_API dhpvm_code dhpvm_object_set(dhpvm_object* object, const char* field, const dhpvm_value* value,
                                        dhpvm_error** error);
/* 1 if both are handles to the same object, else 0. */
DHPVM_C_API int dhpvm_object_equal(const dhpvm_object* one, const dhpvm_object* other);
/* The bytes of a str; valid as long as the handle. */
DHPVM_C_API dhpvm_code dhpvm_object_text(const dhpvm_object* object, const char** text, size_t* size,
                                         dhpvm_error** error);
/* The elements of an array of numbers, or of structs whose fields are numbers of one kind (dhpvm_array.lanes), in
 * place: `array->size` is set by the caller. Valid as long as the handle, while no function of the program runs. If
 * `access` is DHPVM_READ, the host may not write them. If a device has the newest elements, this fetches them, unless
 * `access` is DHPVM_DESCRIBE: `data` is NULL then. */
DHPVM_C_API dhpvm_code dhpvm_object_array(const dhpvm_object* object, dhpvm_access access, dhpvm_array* array,
                                          dhpvm_error** error);
DHPVM_C_API void dhpvm_object_free(dhpvm_object* object);

/* ---- Worker: lends devices of this machine to programs on others. Threads: any. */

/* Creates a file with a random key, readable only by its owner, for dhpvm_security. */
DHPVM_C_API dhpvm_code dhpvm_make_key_file(const char* path, dhpvm_error** error);
DHPVM_C_API void dhpvm_worker_options_init(dhpvm_worker_options* options, size_t size);
DHPVM_C_API dhpvm_code dhpvm_worker_start(dhpvm_engine* engine, const dhpvm_worker_options* options,
                                          dhpvm_worker** worker, dhpvm_error** error);
/* The addresses it listens on, with the ports that the system chose, one a line. */
DHPVM_C_API dhpvm_code dhpvm_worker_addresses(const dhpvm_worker* worker, dhpvm_bytes* text,
                                              dhpvm_error** error);
/* The address where metrics are served, with the port that the system chose; empty: none. */
DHPVM_C_API dhpvm_code dhpvm_worker_metrics(const dhpvm_worker* worker, dhpvm_bytes* address,
                                            dhpvm_error** error);
/* Reads the file of clients anew. Sessions whose key is no longer there end. */
DHPVM_C_API dhpvm_code dhpvm_worker_reload_clients(dhpvm_worker* worker, dhpvm_error** error);
/* 1 while work can still arrive. */
DHPVM_C_API int dhpvm_worker_is_needed(const dhpvm_worker* worker);
/* Accepts no new sessions, and waits for current ones to end. DHPVM_DEADLINE if some go on. */
DHPVM_C_API dhpvm_code dhpvm_worker_drain(dhpvm_worker* worker, int64_t patience_ns, dhpvm_error** error);
/* Ends all sessions. */
DHPVM_C_API void dhpvm_worker_free(dhpvm_worker* worker);

#ifdef __cplusplus
}
#endif

#endif /* DHPVM_C_H */
