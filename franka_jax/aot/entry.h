/* ---- entry points (docs/kernels.md) ---------------------------------------------------------------------------------- */
#if LANES == 1
EXPORT const int64_t kernel_interface = @VERSION@;

/* One state: pointers to the inputs, then to the outputs. */
EXPORT void kernel_call(void *const *buffers) { body(buffers); }
#else
EXPORT const int64_t kernel_lanes = NATIVE_LANES;

@TRANSFERS@

enum { INPUTS = @INPUTS@, LEAVES = @LEAVES@, ROWS = @ROWS@, RESULTS = @RESULTS@ };
static const int64_t sizes[] = {@SIZES@};  /* rows of every leaf, inputs first */
static const int64_t starts[] = {@STARTS@}; /* its first row; results have a spare row each, for `stream` */

INLINE int streams(const int64_t states) {
    return CAN_STREAM && states >= NATIVE_LANES && states >= STREAM_BYTES / (8 * RESULTS);
}

/* `blocks` blocks in the kernel's own layout: leaf k of block b is an array (size, NATIVE_LANES), b * strides[k] vectors
 * after buffers[k], which is aligned to a vector; a stride of 0 is one input for all. */
EXPORT int64_t kernel_blocks(int64_t blocks, void *const *buffers, const int64_t *strides) {
    const int past_caches = streams(blocks * NATIVE_LANES);
    @MEMORY@
    for (int64_t block = 0; block < blocks; block++) {
        void *local[LEAVES + 1];
        for (int k = 0; k < LEAVES; k++)
            local[k] = past_caches && k >= INPUTS ? rows + starts[k] : (pack *)buffers[k] + block * strides[k];
        body(local);
        for (int k = INPUTS; past_caches && k < LEAVES; k++)
            stream(rows + starts[k], sizes[k], (double *)((pack *)buffers[k] + block * strides[k]), 0, 0);
    }
    if (past_caches) STREAM_END();
    @RELEASE@
    return 0;
}

/* `states` states: leaf k of state i starts at word i * strides[k] of buffers[k]; a stride of 0 is one input for all.
 * Returns 0, or -1 without memory. */
EXPORT int64_t kernel_batch(int64_t states, void *const *buffers, const int64_t *strides) {
    if (states <= 0) return 0;
    @MEMORY@
    pack *const flat = rows + ROWS;
    void *local[LEAVES + 1];
    int past_caches = streams(states), phases[LEAVES + 1];
    for (int k = 0; k < LEAVES; k++) {
        local[k] = rows + starts[k];
        phases[k] = sizes[k] ? phase_of(buffers[k]) : 0;
        if (k >= INPUTS) past_caches &= strides[k] == sizes[k];
    }
@FIXED@
    for (int64_t state = 0; state < states; state += NATIVE_LANES) {
        const int count = states - state < NATIVE_LANES ? (int)(states - state) : NATIVE_LANES;
@LOAD@
        body(local);
        if (past_caches && count == NATIVE_LANES) {
@FLAT@
            for (int k = INPUTS; k < LEAVES; k++) {
                pack *lines = flat + starts[k] - starts[INPUTS];
                stream(lines, sizes[k], (double *)buffers[k] + state * sizes[k], phases[k], state == 0);
                lines[0] = lines[sizes[k]];
            }
        } else {
@SAVE@
        }
    }
    if (past_caches) { /* what waits for a next block */
        const int64_t done = states / NATIVE_LANES * NATIVE_LANES;
        for (int k = INPUTS; k < LEAVES; k++)
            for (int l = 0; l < phases[k]; l++)
                ((double *)buffers[k])[done * sizes[k] - phases[k] + l] = flat[starts[k] - starts[INPUTS]][l];
        STREAM_END();
    }
    @RELEASE@
    return 0;
}
#endif
