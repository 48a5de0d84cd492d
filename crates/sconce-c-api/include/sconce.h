/* sconce: load and run TorchScript and torch.export programs without libtorch.
 *
 * A function that can fail gives a sconce_error, which the caller deletes, or NULL. Its results go to pointers that it
 * is given, and are NULL or 0 where it fails. What a constructor gives is deleted by the function that ends in _delete,
 * which takes NULL as well. Text and values that a function lends are there for as long as what they are part of.
 *
 * A module, a checkpoint, a value and a tensor may be used by any thread, a module and a checkpoint by several at once.
 * A session is used by the thread that made it: on others its functions give SCONCE_WRONG_THREAD, but for
 * sconce_session_interrupt and sconce_session_delete. A process that forks does not use its parent's sessions.
 *
 * Made by cbindgen from the library's source: do not change it here. */

#ifndef SCONCE_H_
#define SCONCE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DLPack 1.1. A host that has dlpack.h includes it before this file, and its definitions are used. */
#ifndef DLPACK_DLPACK_H_
#ifndef SCONCE_DLPACK_
#define SCONCE_DLPACK_
/* Nobody may write to the elements. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
/* The elements are a copy. */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
/* Elements of less than a byte are each in one of their own. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

typedef struct {
    uint32_t major;
    uint32_t minor;
} DLPackVersion;

typedef struct {
    int32_t device_type; /* 1 is the CPU */
    int32_t device_id;
} DLDevice;

typedef struct {
    uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 10 to 14 float8 */
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL is row by row */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif
#endif

/* What went wrong. */
typedef struct sconce_error sconce_error;
/* A program and its weights. */
typedef struct sconce_module sconce_module;
/* How a session is made. */
typedef struct sconce_options sconce_options;
/* A module with a memory: calls see what earlier calls changed. */
typedef struct sconce_session sconce_session;
/* A tensor: a strided view of memory. */
typedef struct sconce_tensor sconce_tensor;
/* A value of a program. */
typedef struct sconce_value sconce_value;
/* The tensors of a file. */
typedef struct sconce_checkpoint sconce_checkpoint;

/* The major version of the library. */
#define SCONCE_VERSION_MAJOR 0

/* The minor version of the library. */
#define SCONCE_VERSION_MINOR 1

/* The patch version of the library. */
#define SCONCE_VERSION_PATCH 0

/* What went wrong, in one number: SCONCE_OK and its siblings. */
typedef uint32_t sconce_code;

/* Text or bytes that the caller owns: size bytes at data, with a NUL behind them that is not counted. Deleted by
 * sconce_string_delete. */
typedef struct sconce_string {
    /* The bytes; NULL where there are none. */
    const char *data;
    /* How many there are. */
    size_t size;
    /* The library's. */
    void *owner;
} sconce_string;

/* Told what a program prints: size bytes of UTF-8 at text, which are there during the call. */
typedef void (*sconce_print)(void *user, const char *text, size_t size);

/* A number of a type of elements, those of PyTorch's c10::ScalarType: SCONCE_FLOAT32 and its siblings. */
typedef uint32_t sconce_dtype;

/* Gives memory of the host's back; it may be called on any thread. */
typedef void (*sconce_deleter)(void *context);

/* What a value is: SCONCE_KIND_NONE and its siblings. */
typedef uint32_t sconce_kind;

/* Nothing went wrong. */
#define SCONCE_OK 0

/* An argument is NULL, out of range, or not what the method takes. */
#define SCONCE_INVALID_ARGUMENT 1

/* A file cannot be read or written. */
#define SCONCE_IO 2

/* A file is damaged, or is something else. */
#define SCONCE_FORMAT 3

/* The program's code does not compile. */
#define SCONCE_COMPILE 4

/* The program raised an exception. */
#define SCONCE_RAISED 5

/* A limit of time, steps or memory was reached. */
#define SCONCE_LIMIT 6

/* Something that the library does not have. */
#define SCONCE_UNSUPPORTED 7

/* A session was used on another thread than the one that made it. */
#define SCONCE_WRONG_THREAD 8

/* sconce_session_interrupt ended the call. */
#define SCONCE_INTERRUPTED 9

/* A bug of the library. */
#define SCONCE_INTERNAL 10

/* torch.uint8 */
#define SCONCE_UINT8 0

/* torch.int8 */
#define SCONCE_INT8 1

/* torch.int16 */
#define SCONCE_INT16 2

/* torch.int32 */
#define SCONCE_INT32 3

/* torch.int64 */
#define SCONCE_INT64 4

/* torch.float16 */
#define SCONCE_FLOAT16 5

/* torch.float32 */
#define SCONCE_FLOAT32 6

/* torch.float64 */
#define SCONCE_FLOAT64 7

/* torch.complex32 */
#define SCONCE_COMPLEX32 8

/* torch.complex64 */
#define SCONCE_COMPLEX64 9

/* torch.complex128 */
#define SCONCE_COMPLEX128 10

/* torch.bool */
#define SCONCE_BOOL 11

/* torch.bfloat16 */
#define SCONCE_BFLOAT16 15

/* torch.float8_e5m2 */
#define SCONCE_FLOAT8_E5M2 23

/* torch.float8_e4m3fn */
#define SCONCE_FLOAT8_E4M3FN 24

/* torch.float8_e5m2fnuz */
#define SCONCE_FLOAT8_E5M2FNUZ 25

/* torch.float8_e4m3fnuz */
#define SCONCE_FLOAT8_E4M3FNUZ 26

/* torch.uint16 */
#define SCONCE_UINT16 27

/* torch.uint32 */
#define SCONCE_UINT32 28

/* torch.uint64 */
#define SCONCE_UINT64 29

/* What sconce_tensor_dtype gives of NULL. */
#define SCONCE_NO_DTYPE UINT32_MAX

/* None; also what sconce_value_kind gives of NULL. */
#define SCONCE_KIND_NONE 0

/* A bool. */
#define SCONCE_KIND_BOOL 1

/* An int; also a dtype, layout or memory format. */
#define SCONCE_KIND_INT 2

/* A float. */
#define SCONCE_KIND_FLOAT 3

/* A complex number. */
#define SCONCE_KIND_COMPLEX 4

/* A string; also a device. */
#define SCONCE_KIND_STRING 5

/* A tensor. */
#define SCONCE_KIND_TENSOR 6

/* A list. */
#define SCONCE_KIND_LIST 7

/* A tuple; also a named tuple. */
#define SCONCE_KIND_TUPLE 8

/* A dict. */
#define SCONCE_KIND_DICT 9

/* An object of a class of the program, or a member of an enum. */
#define SCONCE_KIND_OBJECT 10

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* The version of this interface, that of the library's file name: 0 until the interface is stable, when functions are only
 * added. */
uint32_t sconce_abi_version(void);

/* The version of the library, such as "0.1.0". */
const char *sconce_version(void);

/* Opens a checkpoint: what torch.save, safetensors or NumPy wrote. weights_only refuses what PyTorch's weights_only=True
 * does. The file must not be cut while anything of it is used. */
sconce_error *sconce_checkpoint_open(const char *path,
                                     bool weights_only,
                                     sconce_checkpoint **out);

/* How many tensors a checkpoint has; 0 of NULL. */
size_t sconce_checkpoint_tensor_count(const sconce_checkpoint *checkpoint);

/* A tensor: its dotted name, which is there until the checkpoint is deleted, and its elements, read only, which the caller
 * gives back by the deleter in the structure. They are read when they are asked for. */
sconce_error *sconce_checkpoint_tensor(const sconce_checkpoint *checkpoint,
                                       size_t index,
                                       const char **name,
                                       struct DLManagedTensorVersioned **out);

/* The tensor of a name, as sconce_checkpoint_tensor gives it. Where there is none the code is SCONCE_INVALID_ARGUMENT. */
sconce_error *sconce_checkpoint_find(const sconce_checkpoint *checkpoint,
                                     const char *name,
                                     struct DLManagedTensorVersioned **out);

/* Deletes a checkpoint, which may be NULL. Tensors that were given stay. */
void sconce_checkpoint_delete(sconce_checkpoint *checkpoint);

/* Which error it is; SCONCE_OK of NULL. */
sconce_code sconce_error_code(const sconce_error *error);

/* What went wrong. The text is there until the error is deleted; "" of NULL. */
const char *sconce_error_message(const sconce_error *error);

/* The traceback of what the program raised, as PyTorch prints it; "" of other errors. */
const char *sconce_error_traceback(const sconce_error *error);

/* The class of what the program raised, such as "builtins.ValueError"; "RuntimeError" of what an operator raised itself;
 * "" of other errors. */
const char *sconce_error_exception(const sconce_error *error);

/* Deletes an error, which may be NULL. */
void sconce_error_delete(sconce_error *error);

/* Loads a program of a file, mapped into memory: what torch.jit.save or torch.export.save wrote. Nothing runs. The file
 * must not be cut while the module or anything of it is used. */
sconce_error *sconce_module_load(const char *path,
                                 sconce_module **out);

/* Loads a program of a file's bytes, which are copied. */
sconce_error *sconce_module_load_memory(const void *data, size_t size, sconce_module **out);

/* An extra file of the archive: _extra_files of torch.jit.save. Where there is none of that name the code is
 * SCONCE_FORMAT. */
sconce_error *sconce_module_extra_file(const sconce_module *module,
                                       const char *name,
                                       struct sconce_string *out);

/* Switches the module and all below it to training, or to evaluation, before its first session is made: module.train(on). */
sconce_error *sconce_module_train(sconce_module *module,
                                  bool on);

/* How many methods the module has; 0 of NULL. */
size_t sconce_module_method_count(const sconce_module *module);

/* The name of a method, and what it takes and gives. The texts are there until the module is deleted. */
sconce_error *sconce_module_method(const sconce_module *module,
                                   size_t index,
                                   const char **name,
                                   const char **schema);

/* How many arguments a method takes, the module itself not counted. */
sconce_error *sconce_module_argument_count(const sconce_module *module, const char *method, size_t *out);

/* The name of an argument, its type as an annotation ("Dict[str, Tensor]"), and whether it has a default. The texts are there
 * until the module is deleted. */
sconce_error *sconce_module_argument(const sconce_module *module,
                                     const char *method,
                                     size_t index,
                                     const char **name,
                                     const char **type,
                                     bool *has_default);

/* How many parameters the module has, or how many buffers. */
sconce_error *sconce_module_tensor_count(const sconce_module *module, bool buffers, size_t *out);

/* A parameter or buffer: its dotted name, which is there until the module is deleted, and its elements, read only, which
 * the caller gives back by the deleter in the structure. */
sconce_error *sconce_module_tensor(const sconce_module *module,
                                   bool buffers,
                                   size_t index,
                                   const char **name,
                                   struct DLManagedTensorVersioned **out);

/* The value of an attribute by its dotted name, such as "cutoff" or "model.r_max". */
sconce_error *sconce_module_attribute(const sconce_module *module, const char *name, sconce_value **out);

/* A method as TorchScript. */
sconce_error *sconce_module_code(const sconce_module *module, const char *method, struct sconce_string *out);

/* The operators that a method and all that it calls need and that are not here, a line each; nothing where all are. */
sconce_error *sconce_module_missing(const sconce_module *module,
                                    const char *method,
                                    struct sconce_string *out);

/* Saves the module as torch.jit.save does, in the place of a file that is there. */
sconce_error *sconce_module_save(const sconce_module *module, const char *path);

/* Deletes a module, which may be NULL. Sessions of it go on. */
void sconce_module_delete(sconce_module *module);

/* Options as sessions have them that are given none: no limits but what memory the machine has left, forward optimised. */
sconce_options *sconce_options_new(void);

/* Deletes options, which may be NULL. Sessions that were made with them go on. */
void sconce_options_delete(sconce_options *options);

/* How long a call may take, in seconds. */
void sconce_options_set_seconds(sconce_options *options, double seconds);

/* How many instructions a call may run. */
void sconce_options_set_steps(sconce_options *options, uint64_t steps);

/* How many bytes the values of a session may hold at once. */
void sconce_options_set_memory(sconce_options *options, uint64_t bytes);

/* Whether forward is frozen and optimised, as torch.jit.freeze does. It is unless this says otherwise. */
void sconce_options_set_optimize(sconce_options *options, bool on);

/* Whether every product of a convolution is computed as it stands. Otherwise some are computed with fewer
 * multiplications, which round otherwise: by Winograd's algorithm. */
void sconce_options_set_exact(sconce_options *options, bool on);

/* How exact products with constant weights are in optimised code: full, which they are unless this says otherwise,
 * bf16 or int8-weights. Making a session fails for other names, and for what goes with neither of the others: exact,
 * or forward that is not optimised. precision is copied; NULL is full. */
void sconce_options_set_precision(sconce_options *options,
                                  const char *precision);

/* The seed of a session's random numbers: torch.manual_seed. */
void sconce_options_set_seed(sconce_options *options, uint64_t seed);

/* Whether a program that needs an operator that is not here is refused before it runs, rather than when it comes to it. */
void sconce_options_set_strict(sconce_options *options,
                               bool on);

/* Who is told what programs print, on the thread of the call; NULL is nobody. user is passed on. The function must not
 * unwind. */
void sconce_options_set_print(sconce_options *options,
                              sconce_print print,
                              void *user);

/* Who is told the warnings of programs, as sconce_options_set_print. */
void sconce_options_set_warn(sconce_options *options, sconce_print warn, void *user);

/* Makes a session of this thread. options may be NULL. The session keeps what it needs of the module. */
sconce_error *sconce_session_new(const sconce_module *module,
                                 const sconce_options *options,
                                 sconce_session **out);

/* Calls a method. args are n values, which stay the caller's; names is NULL, or says for each the name of its
 * argument or NULL where it is given by its position. The result is the caller's. */
sconce_error *sconce_session_call(sconce_session *session,
                                  const char *method,
                                  const sconce_value *const *args,
                                  size_t n,
                                  const char *const *names,
                                  sconce_value **out);

/* Calls a method of tensors: in are n_in tensors by position, lent for the length of the call; a result that is a
 * tensor, or a tuple or list of tensors, goes to out, which has room for n_out, and their number to n_made. The
 * caller gives them back by the deleter in each. */
sconce_error *sconce_session_call_tensors(sconce_session *session,
                                          const char *method,
                                          struct DLManagedTensorVersioned *const *in,
                                          size_t n_in,
                                          struct DLManagedTensorVersioned **out,
                                          size_t n_out,
                                          size_t *n_made);

/* Ends the call that is running, from any thread, with the code SCONCE_INTERRUPTED, between two instructions. Where none is
 * running the next one ends so. */
void sconce_session_interrupt(sconce_session *session);

/* Deletes a session, which may be NULL, from any thread. On another thread than its own, what it holds is freed when its
 * thread next makes or calls a session, or ends. */
void sconce_session_delete(sconce_session *session);

/* Frees the bytes, and leaves none. The structure itself is the caller's; the pointer may be NULL. */
void sconce_string_delete(struct sconce_string *string);

/* A tensor over memory of the caller's: its first element is at data, its strides are in elements and may be negative;
 * NULL is row by row. Nobody writes to the memory. deleter, which may be NULL, is called with context when nothing here
 * uses the memory any more, also where this fails; until then the memory stays. Where deleter is NULL, it stays as long as
 * the tensor, and what programs keep of it. The caller may write to it while no call is running. */
sconce_error *sconce_tensor_from_blob(void *data,
                                      sconce_dtype dtype,
                                      const int64_t *sizes,
                                      const int64_t *strides,
                                      size_t ndim,
                                      sconce_deleter deleter,
                                      void *context,
                                      sconce_tensor **out);

/* A tensor of DLPack, which is taken: also where this fails it is given back by its deleter. */
sconce_error *sconce_tensor_from_dlpack(struct DLManagedTensorVersioned *taken,
                                        sconce_tensor **out);

/* The tensor as DLPack has it, read only and over the same memory. The caller gives it back by its deleter. */
sconce_error *sconce_tensor_to_dlpack(const sconce_tensor *tensor, struct DLManagedTensorVersioned **out);

/* A tensor of zeros. */
sconce_error *sconce_tensor_new(sconce_dtype dtype, const int64_t *sizes, size_t ndim, sconce_tensor **out);

/* The tensor with elements of another type. */
sconce_error *sconce_tensor_to(const sconce_tensor *tensor, sconce_dtype dtype, sconce_tensor **out);

/* The tensor with its elements row by row: over the same memory where they lie so. */
sconce_error *sconce_tensor_contiguous(const sconce_tensor *tensor, sconce_tensor **out);

/* The tensor once more, over the same memory; NULL of NULL. */
sconce_tensor *sconce_tensor_clone(const sconce_tensor *tensor);

/* The type of the elements; SCONCE_NO_DTYPE of NULL. */
sconce_dtype sconce_tensor_dtype(const sconce_tensor *tensor);

/* The number of dimensions; 0 of NULL. */
size_t sconce_tensor_ndim(const sconce_tensor *tensor);

/* The sizes of the dimensions, as long as the tensor is there; NULL of NULL. */
const int64_t *sconce_tensor_sizes(const sconce_tensor *tensor);

/* The steps of the dimensions in elements, as long as the tensor is there; NULL of NULL. */
const int64_t *sconce_tensor_strides(const sconce_tensor *tensor);

/* The first element, as long as the tensor is there; the others are where the strides say. They may not be written to. */
sconce_error *sconce_tensor_data(const sconce_tensor *tensor,
                                 const void **out);

/* Copies the elements, row by row, as elements of as, into bytes bytes at into. Too few are SCONCE_INVALID_ARGUMENT. */
sconce_error *sconce_tensor_copy_to(const sconce_tensor *tensor,
                                    void *into,
                                    size_t bytes,
                                    sconce_dtype as);

/* Deletes a tensor, which may be NULL. Tensors that belong to a value are not deleted. */
void sconce_tensor_delete(sconce_tensor *tensor);

/* Sets how many threads one operator may use, for the whole process; 0 is as many as the machine has processors. */
void sconce_set_num_threads(size_t count);

/* How many threads one operator may use. */
size_t sconce_num_threads(void);

/* None. */
sconce_value *sconce_value_none(void);

/* A bool. */
sconce_value *sconce_value_bool(bool value);

/* An int; for a dtype, its number as sconce_dtype. */
sconce_value *sconce_value_int(int64_t value);

/* A float. */
sconce_value *sconce_value_float(double value);

/* A complex number. */
sconce_value *sconce_value_complex(double real, double imaginary);

/* A string of size bytes of UTF-8, which are copied. */
sconce_error *sconce_value_string(const char *data, size_t size, sconce_value **out);

/* A device, such as "cpu", for arguments of the type Device. */
sconce_error *sconce_value_device(const char *name, sconce_value **out);

/* A tensor, which is taken; NULL of NULL. */
sconce_value *sconce_value_tensor(sconce_tensor *taken);

/* A list of n values, which are taken, also where this fails. element_type is the type of the elements as schemas write
 * it ("Tensor", "int", "Dict(str, Tensor)"); NULL leaves it to them, and to the method that is called. */
sconce_error *sconce_value_list(sconce_value *const *taken,
                                size_t n,
                                const char *element_type,
                                sconce_value **out);

/* A tuple of n values, which are taken, also where this fails. */
sconce_error *sconce_value_tuple(sconce_value *const *taken, size_t n, sconce_value **out);

/* A dict from strings to n values, which are taken, also where this fails. */
sconce_error *sconce_value_dict(const char *const *keys,
                                sconce_value *const *taken,
                                size_t n,
                                sconce_value **out);

/* A dict from ints to n values, which are taken, also where this fails. */
sconce_error *sconce_value_dict_int(const int64_t *keys,
                                    sconce_value *const *taken,
                                    size_t n,
                                    sconce_value **out);

/* The value once more; tensors are over the same memory. NULL of NULL. */
sconce_value *sconce_value_clone(const sconce_value *value);

/* What a value is; SCONCE_KIND_NONE of NULL. */
sconce_kind sconce_value_kind(const sconce_value *value);

/* The bool that it is. False, and nothing written, where it is none. */
bool sconce_value_as_bool(const sconce_value *value, bool *out);

/* The int that it is. False, and nothing written, where it is none. */
bool sconce_value_as_int(const sconce_value *value, int64_t *out);

/* The float that it is, or the int as one. False, and nothing written, where it is neither. */
bool sconce_value_as_float(const sconce_value *value, double *out);

/* The parts of the complex number that it is. False, and nothing written, where it is none. */
bool sconce_value_as_complex(const sconce_value *value, double *real, double *imaginary);

/* The text of a string, the name of a device, or that of an enum's member: size bytes of UTF-8 without a NUL behind them,
 * as long as the value is there. False, and nothing written, where it is none of these. */
bool sconce_value_as_string(const sconce_value *value,
                            const char **data,
                            size_t *size);

/* The tensor that it is, as long as the value is there; NULL where it is none. */
const sconce_tensor *sconce_value_as_tensor(const sconce_value *value);

/* How many items a list, tuple, dict or object has; 0 of anything else. */
size_t sconce_value_size(const sconce_value *value);

/* An item of a list or tuple, a value of a dict, an attribute of an object, in order and as long as the whole is there; NULL
 * past the end. */
const sconce_value *sconce_value_at(const sconce_value *value,
                                    size_t index);

/* A key of a dict, in order and as long as the dict is there; NULL past the end and of anything else. */
const sconce_value *sconce_value_key(const sconce_value *value, size_t index);

/* The value of a dict's key that is a string, an object's attribute, or a named tuple's field, as long as the whole is
 * there; NULL where there is none. */
const sconce_value *sconce_value_get(const sconce_value *value,
                                     const char *key);

/* The name of a named tuple's field or an object's attribute, as sconce_value_as_string gives text. */
bool sconce_value_name(const sconce_value *value, size_t index, const char **data, size_t *size);

/* The class of an object, an enum's member or a named tuple, as sconce_value_as_string gives text. */
bool sconce_value_class(const sconce_value *value, const char **data, size_t *size);

/* Deletes a value, which may be NULL, with all that it holds. Values that belong to another are not deleted. */
void sconce_value_delete(sconce_value *value);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SCONCE_H_ */
