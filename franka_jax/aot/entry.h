/* ---- entry points (docs/kernels.md) ---------------------------------------------------------------------------------- */
#if LANES == 1
EXPORT const int64_t kernel_interface = @VERSION@;

/* One state: pointers to the inputs, then to the outputs. */
EXPORT void kernel_call(void *const *buffers) { body(buffers); }
#else
EXPORT const int64_t kernel_lanes = NATIVE_LANES;

@TRANSFERS@

/* `blocks` blocks in the kernel's own layout: every leaf is an array (blocks, size, NATIVE_LANES), aligned to a vector. */
EXPORT int64_t kernel_blocks(int64_t blocks, void *const *buffers) {
    for (int64_t block = 0; block < blocks; block++) {
        void *local[@BUFFERS@];
        (void)buffers;
@STEPS@
        body(local);
    }
    return 0;
}

/* `states` states: leaf k of state i starts at word i * strides[k] of buffers[k]; a stride of 0 is one input for all.
 * Returns 0, or -1 without memory. */
EXPORT int64_t kernel_batch(int64_t states, void *const *buffers, const int64_t *strides) {
    if (states <= 0) return 0;
    (void)buffers;
    (void)strides;
#if @ROWS@ <= 1024
    pack rows[@ROWS@];
#else
    pack *rows = aligned_alloc(sizeof(pack), @ROWS@ * sizeof(pack));
    if (rows == NULL) return -1;
#endif
    void *local[@BUFFERS@];
    {
@POINTERS@
@FIXED@
        for (int64_t state = 0; state < states; state += NATIVE_LANES) {
            const int count = states - state < NATIVE_LANES ? (int)(states - state) : NATIVE_LANES;
@LOAD@
            body(local);
@SAVE@
        }
    }
#if @ROWS@ > 1024
    free(rows);
#endif
    return 0;
}
#endif
