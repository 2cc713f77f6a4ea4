/* One XLA foreign-function handler for all kernels of a process.
 *
 * A call carries the kernel's number; the table below, filled by `bridge_register`, knows its entry points and shapes. A
 * number that is not in the table (an executable restored in another process) is an error, not a crash. Every buffer is
 * float64 or int64. Leading axes are batch axes: for each of them an input has the result's length, or 1.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xla/ffi/api/c_api.h"

#define MAX_AXES 16

typedef struct {
    int64_t number, inputs, outputs;
    int64_t *ranks, *sizes; /* inputs, then outputs */
    void (*one)(void *const *);
    int64_t (*many)(int64_t, void *const *, const int64_t *);
} Entry;

static Entry **table;
static int64_t entries;

__attribute__((visibility("default"))) int bridge_register(int64_t number, int64_t inputs, int64_t outputs, const int64_t *ranks,
                                                           const int64_t *sizes, void *one, void *many) {
    const size_t bytes = sizeof(int64_t) * (size_t)(inputs + outputs);
    Entry *entry = malloc(sizeof *entry);
    Entry **grown = malloc(sizeof *table * (size_t)(entries + 1)); /* the old table stays: a call may be reading it */
    if (entry == NULL || grown == NULL) return -1;
    *entry = (Entry){number, inputs, outputs, malloc(bytes), malloc(bytes), one, many};
    if (entry->ranks == NULL || entry->sizes == NULL) return -1;
    memcpy(entry->ranks, ranks, bytes);
    memcpy(entry->sizes, sizes, bytes);
    if (entries > 0) memcpy(grown, table, sizeof *table * (size_t)entries);
    grown[entries] = entry;
    __atomic_store_n(&table, grown, __ATOMIC_RELEASE);
    __atomic_store_n(&entries, entries + 1, __ATOMIC_RELEASE);
    return 0;
}

static XLA_FFI_Error *failure(const XLA_FFI_CallFrame *frame, const char *message) {
    XLA_FFI_Error_Create_Args arguments = {0};
    arguments.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
    arguments.message = message;
    arguments.errc = XLA_FFI_Error_Code_FAILED_PRECONDITION;
    return frame->api->XLA_FFI_Error_Create(&arguments);
}

static const Entry *find(const XLA_FFI_CallFrame *frame) {
    if (frame->attrs.size != 1 || frame->attrs.types[0] != XLA_FFI_AttrType_SCALAR) return NULL;
    const int64_t number = *(const int64_t *)((const XLA_FFI_Scalar *)frame->attrs.attrs[0])->value;
    const int64_t count = __atomic_load_n(&entries, __ATOMIC_ACQUIRE);
    Entry **known = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    for (int64_t i = count - 1; i >= 0; i--)
        if (known[i]->number == number) return known[i];
    return NULL;
}

/* Whether all batch axes of a buffer have length 1 (0), the result's length (1), or differ (-1). */
static int batching(const XLA_FFI_Buffer *buffer, const int64_t *axes, int64_t count) {
    int all_one = 1, all_full = 1;
    for (int64_t i = 0; i < count; i++) {
        all_one &= buffer->dims[i] == 1;
        all_full &= buffer->dims[i] == axes[i];
    }
    return all_full ? 1 : all_one ? 0 : -1;
}

static void addresses_at(const Entry *entry, XLA_FFI_Buffer *const *buffers, const int64_t *axes, int64_t count,
                         int64_t position, void **pointers, int64_t *strides) {
    int64_t index[MAX_AXES];
    for (int64_t i = count - 2; i >= 0; i--) {
        index[i] = position % axes[i];
        position /= axes[i];
    }
    for (int64_t k = 0; k < entry->inputs + entry->outputs; k++) {
        int64_t offset = 0;
        for (int64_t i = 0; i < count - 1; i++) offset = offset * buffers[k]->dims[i] + (buffers[k]->dims[i] == 1 ? 0 : index[i]);
        const int64_t last = buffers[k]->dims[count - 1];
        pointers[k] = (double *)buffers[k]->data + offset * last * entry->sizes[k];
        strides[k] = last == 1 && axes[count - 1] != 1 ? 0 : entry->sizes[k];
    }
}

static XLA_FFI_Error *call(const XLA_FFI_CallFrame *frame, const Entry *entry, XLA_FFI_Buffer **buffers, void **pointers,
                           int64_t *strides) {
    const int64_t total = entry->inputs + entry->outputs;
    for (int64_t k = 0; k < total; k++) {
        buffers[k] = k < entry->inputs ? frame->args.args[k] : frame->rets.rets[k - entry->inputs];
        if (buffers[k]->dtype != XLA_FFI_DataType_F64 && buffers[k]->dtype != XLA_FFI_DataType_S64)
            return failure(frame, "compiled kernel: buffers must be float64 or int64");
        pointers[k] = buffers[k]->data;
    }
    const int64_t count = buffers[entry->inputs]->rank - entry->ranks[entry->inputs];
    const int64_t *axes = buffers[entry->inputs]->dims;
    if (count < 0 || count > MAX_AXES) return failure(frame, "compiled kernel: unexpected number of batch axes");
    int64_t states = 1, uniform = 1;
    for (int64_t i = 0; i < count; i++) states *= axes[i];
    for (int64_t k = 0; k < total; k++) {
        if (buffers[k]->rank - entry->ranks[k] != count) return failure(frame, "compiled kernel: unequal batch axes");
        const int moves = batching(buffers[k], axes, count);
        uniform &= moves >= 0;
        strides[k] = moves == 1 ? entry->sizes[k] : 0;
    }
    if (states == 1) {
        entry->one(pointers);
    } else if (uniform) {
        if (entry->many(states, pointers, strides)) return failure(frame, "compiled kernel: out of memory");
    } else {
        for (int64_t position = 0; states > 0 && position < states / axes[count - 1]; position++) {
            addresses_at(entry, buffers, axes, count, position, pointers, strides);
            if (entry->many(axes[count - 1], pointers, strides)) return failure(frame, "compiled kernel: out of memory");
        }
    }
    return NULL;
}

__attribute__((visibility("default"))) XLA_FFI_Error *bridge_handler(XLA_FFI_CallFrame *frame) {
    if (frame->extension_start != NULL && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
        metadata->api_version.major_version = XLA_FFI_API_MAJOR;
        metadata->api_version.minor_version = XLA_FFI_API_MINOR;
        return NULL;
    }
    const Entry *entry = find(frame);
    if (entry == NULL)
        return failure(frame, "compiled kernel: not loaded in this process; build its `jax` function here before running");
    if (frame->args.size != entry->inputs || frame->rets.size != entry->outputs)
        return failure(frame, "compiled kernel: wrong number of buffers");
    const size_t total = (size_t)(entry->inputs + entry->outputs);
    XLA_FFI_Buffer *buffers[total];
    void *pointers[total];
    int64_t strides[total];
    return call(frame, entry, buffers, pointers, strides);
}
