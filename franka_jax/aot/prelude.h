/* What every generated kernel starts with.
 *
 * The kernel's text is compiled twice: with LANES = 1 for one state, and with LANES = NATIVE_LANES (the width of the
 * machine's vectors) for batches, where every variable holds that many states. `real` is a double or a vector of them,
 * `word` the integers, `mask` the truth values (0 or 1; 0 or -1 in vectors).
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef NATIVE_LANES
#if defined(__AVX512F__)
#define NATIVE_LANES 8
#elif defined(__AVX__)
#define NATIVE_LANES 4
#else
#define NATIVE_LANES 2
#endif
#endif
#ifndef LANES
#define LANES 1
#endif

#define UNUSED __attribute__((unused))
#define INLINE static inline __attribute__((always_inline, unused))
#define EXPORT __attribute__((visibility("default")))

typedef double pack __attribute__((vector_size(8 * NATIVE_LANES)));
typedef int64_t packw __attribute__((vector_size(8 * NATIVE_LANES)));

/* ---- sine and cosine of one argument together, in vectors; below 1 ulp for |x| <= 1e5 --------------------------------
 *
 * x = k pi/2 + r + e with |r| <= pi/4 (Cody and Waite): pi/2 = P1 + P2 + P3 + P4, the first three with 33 bits, so that
 * k P1, k P2, k P3 are exact for |k| < 2^20, and the differences are summed without error (Knuth's two-sum) before the
 * last part enters; r + e carries 107 bits even where r cancels. sin(r)/r and cos(r) are polynomials in z = r^2 that
 * interpolate at Chebyshev nodes of [0, (pi/4)^2]; their own errors are 0.08 and 0.004 ulp.
 */
#define SINCOS_LIMIT 1e5

static __attribute__((noinline, cold, unused)) void sincos_library(const pack *x, pack *s, pack *c) {
    for (int l = 0; l < NATIVE_LANES; l++) {
        const double a = (*x)[l];
        (*s)[l] = sin(a);
        (*c)[l] = cos(a);
    }
}

INLINE void sincos_pack(const pack x, pack *s, pack *c) {
    const packw large = ~((x <= SINCOS_LIMIT) & (x >= -SINCOS_LIMIT)); /* true for nan */
    int64_t any = 0;
    for (int l = 0; l < NATIVE_LANES; l++) any |= large[l];
    if (__builtin_expect(any != 0, 0)) {
        sincos_library(&x, s, c);
        return;
    }
    const double magic = 0x1.8p52; /* adding it rounds to an integer, which the low bits then hold */
    const pack t = x * 0x1.45f306dc9c883p-1 + magic;
    const pack k = t - magic;
    const packw n = (packw)t;
    const pack r0 = x - k * 0x1.921fb544p0;
    const pack w1 = k * 0x1.0b4611a6p-34;
    const pack r1 = r0 - w1;
    const pack b1 = r1 - r0;
    const pack e1 = (r0 - (r1 - b1)) - (w1 + b1);
    const pack w2 = k * 0x1.3198a2ep-69;
    const pack r2 = r1 - w2;
    const pack b2 = r2 - r1;
    const pack e2 = (r1 - (r2 - b2)) - (w2 + b2);
    const pack low = (e1 + e2) - k * 0x1.b839a252049c1p-104;
    const pack r = r2 + low;
    const pack e = (r2 - r) + low;
    const pack z = r * r;
    const pack p = -0x1.5555555555555p-3 + z * (0x1.1111111110bb1p-7 + z * (-0x1.a01a019e8357dp-13 + z * (0x1.71de37961e4c6p-19 + z * (-0x1.ae600a926c89ap-26 + z * 0x1.5e0af186af739p-33))));
    const pack q = 0x1.5555555555555p-5 + z * (-0x1.6c16c16c16966p-10 + z * (0x1.a01a019f4e867p-16 + z * (-0x1.27e4fa17a41b4p-22 + z * (0x1.1eeb68b109173p-29 + z * -0x1.907d7aebd5e3dp-37))));
    const pack h = z * 0.5;
    const pack w = 1.0 - h;
    const pack sine = r + (r * z * p + e * w);
    const pack cosine = w + (((1.0 - w) - h) + (z * z * q - r * e));
    const packw odd = -(n & 1);
    const packw bits_s = ((packw)cosine & odd) | ((packw)sine & ~odd);
    const packw bits_c = ((packw)sine & odd) | ((packw)cosine & ~odd);
    *s = (pack)(bits_s ^ ((n & 2) << 62));
    *c = (pack)(bits_c ^ (((n + 1) & 2) << 62));
}

/* ---- one state, or NATIVE_LANES of them ------------------------------------------------------------------------------ */
#if LANES == 1
typedef double real;
typedef int64_t word;
typedef uint64_t uword;
typedef int mask;
#define K(c) (c)
#define SELECT(m, a, b) ((m) ? (a) : (b))
#define SELECT_WORD(m, a, b) ((m) ? (a) : (b))
#define NOT(m) (!(m))
#define FROM_MASK(m) ((word)(m))
#define TRUE_MASK 1
#define FALSE_MASK 0
#define WORD(c) ((word)(c))
#define MASK_STEP 2 /* a mask takes half a scratch variable */
#define EACH_LANE(result, expression) (result) = (expression)
#define LANE(x) (x)
#define TO_REAL(i) ((real)(i))

static __attribute__((noinline, unused)) void sincos_all(int n, const real *x, real *s, real *c) {
    for (int i = 0; i < n; i += NATIVE_LANES) {
        const int count = n - i < NATIVE_LANES ? n - i : NATIVE_LANES;
        double a[NATIVE_LANES] __attribute__((aligned(8 * NATIVE_LANES))) = {0.0};
        double b[2][NATIVE_LANES] __attribute__((aligned(8 * NATIVE_LANES)));
        for (int l = 0; l < count; l++) a[l] = x[i + l];
        sincos_pack(*(const pack *)a, (pack *)b[0], (pack *)b[1]);
        for (int l = 0; l < count; l++) s[i + l] = b[0][l];
        for (int l = 0; l < count; l++) c[i + l] = b[1][l];
    }
}
#else
typedef pack real;
typedef packw word;
typedef uint64_t uword __attribute__((vector_size(8 * NATIVE_LANES)));
typedef packw mask;
#define K(c) ((c) - (real){0.0})
#define SELECT(m, a, b) ((real)(((word)(a) & (m)) | ((word)(b) & ~(m))))
#define SELECT_WORD(m, a, b) (((a) & (m)) | ((b) & ~(m)))
#define NOT(m) (~(m))
#define FROM_MASK(m) ((word)(m) & 1)
#define TRUE_MASK (~(mask){0})
#define FALSE_MASK ((mask){0})
#define WORD(c) ((word){0} + (int64_t)(c))
#define MASK_STEP 1
#define EACH_LANE(result, expression) \
    for (int l = 0; l < NATIVE_LANES; l++) (result)[l] = (expression)
#define LANE(x) (x)[l]
#define TO_REAL(i) __builtin_convertvector(i, real)

static __attribute__((noinline, unused)) void sincos_all(int n, const real *x, real *s, real *c) {
    for (int i = 0; i < n; i++) sincos_pack(x[i], s + i, c + i);
}
#endif

/* Functions of the C library, lane by lane in vectors: not inlined there, the loops would only slow the compiler down. */
#if LANES == 1
#define PER_LANE static inline UNUSED
#else
#define PER_LANE static __attribute__((noinline, unused))
#endif
#define UNARY(name, c_name) \
    PER_LANE real name(const real x) { real r; EACH_LANE(r, c_name(LANE(x))); return r; }
#define BINARY(name, c_name) \
    PER_LANE real name(const real x, const real y) { real r; EACH_LANE(r, c_name(LANE(x), LANE(y))); return r; }
#define INTEGER(name, c_name) \
    PER_LANE word name(const word x, const word y) { word r; EACH_LANE(r, c_name(LANE(x), LANE(y))); return r; }

UNARY(f_tan, tan) UNARY(f_asin, asin) UNARY(f_acos, acos) UNARY(f_atan, atan)
UNARY(f_sinh, sinh) UNARY(f_cosh, cosh) UNARY(f_tanh, tanh)
UNARY(f_asinh, asinh) UNARY(f_acosh, acosh) UNARY(f_atanh, atanh)
UNARY(f_exp, exp) UNARY(f_exp2, exp2) UNARY(f_expm1, expm1) UNARY(f_log, log) UNARY(f_log1p, log1p)
UNARY(f_cbrt, cbrt) UNARY(f_erf, erf) UNARY(f_erfc, erfc) UNARY(f_lgamma, lgamma)
BINARY(f_atan2, atan2) BINARY(f_pow, pow) BINARY(f_fmod, fmod) BINARY(f_nextafter, nextafter)

/* These are single instructions: a loop over an array becomes one vector instruction at -O3. */
#if LANES == 1
#define SIMPLE(name, c_name) INLINE real name(const real x) { return c_name(x); }
#else
#if defined(__clang__)
#define VECTORIZE static __attribute__((noinline, unused))
#else
#define VECTORIZE static __attribute__((noinline, unused, optimize("O3")))
#endif
#define SIMPLE(name, c_name) \
    VECTORIZE real name(const real x) { \
        double a[NATIVE_LANES]; \
        real r; \
        memcpy(a, &x, sizeof a); \
        for (int l = 0; l < NATIVE_LANES; l++) a[l] = c_name(a[l]); \
        memcpy(&r, a, sizeof a); \
        return r; \
    }
#endif
SIMPLE(f_sqrt, sqrt) SIMPLE(f_floor, floor) SIMPLE(f_ceil, ceil) SIMPLE(f_rint, rint) SIMPLE(f_round, round)
SIMPLE(f_to_float32, (double)(float))
#if LANES == 1
INLINE real f_fabs(const real x) { return fabs(x); }
#else
INLINE real f_fabs(const real x) { return (real)((word)x & INT64_MAX); }
#endif

/* A nan wins; the second forms are for a first operand that is a number known while compiling. */
INLINE real f_max(const real a, const real b) { return SELECT((a > b) | (a != a), a, b); }
INLINE real f_min(const real a, const real b) { return SELECT((a < b) | (a != a), a, b); }
INLINE real f_max_constant(const real a, const real b) { return SELECT(a > b, a, b); }
INLINE real f_min_constant(const real a, const real b) { return SELECT(a < b, a, b); }

/* Integers wrap around (-fwrapv); division is towards zero, x / 0 = -1 and x % 0 = x as in XLA. */
static inline UNUSED int64_t divide(int64_t a, int64_t b) { return b == 0 ? -1 : b == -1 ? -a : a / b; }
static inline UNUSED int64_t remainder_of(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
static inline UNUSED int64_t truncated(double x) {
    return x != x ? 0 : x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}
INTEGER(i_div, divide) INTEGER(i_rem, remainder_of)
PER_LANE word to_word(const real x) { word r; EACH_LANE(r, truncated(LANE(x))); return r; }
INLINE word i_wrap(const word x, const int bits, const int is_signed) {
    return is_signed ? (word)((uword)x << (64 - bits)) >> (64 - bits) : (word)((uword)x << (64 - bits) >> (64 - bits));
}
INLINE word i_max(const word a, const word b) { return SELECT_WORD(a > b, a, b); }
INLINE word i_min(const word a, const word b) { return SELECT_WORD(a < b, a, b); }

/* ---- batches: rows of arrays to vectors and back ---------------------------------------------------------------------- */
#if LANES > 1
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef SHUFFLE
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (packw){__VA_ARGS__})
#endif
/* Exchange the off-diagonal blocks of size `distance` of rows i and i + distance. */
#define EXCHANGE(i, distance, low, high) \
    do { \
        const pack a = m[i], b = m[(i) + (distance)]; \
        m[i] = SHUFFLE(a, b, low); \
        m[(i) + (distance)] = SHUFFLE(a, b, high); \
    } while (0)
#define UNROLL _Pragma("GCC unroll 8")
#define LIST(...) __VA_ARGS__

/* Transpose NATIVE_LANES vectors of NATIVE_LANES numbers. */
INLINE void transpose(pack *m) {
#if NATIVE_LANES == 8
    UNROLL
    for (int i = 0; i < 8; i += 2) EXCHANGE(i, 1, LIST(0, 8, 2, 10, 4, 12, 6, 14), LIST(1, 9, 3, 11, 5, 13, 7, 15));
    UNROLL
    for (int i = 0; i < 8; i += 4)
        UNROLL
        for (int j = i; j < i + 2; j++) EXCHANGE(j, 2, LIST(0, 1, 8, 9, 4, 5, 12, 13), LIST(2, 3, 10, 11, 6, 7, 14, 15));
    UNROLL
    for (int i = 0; i < 4; i++) EXCHANGE(i, 4, LIST(0, 1, 2, 3, 8, 9, 10, 11), LIST(4, 5, 6, 7, 12, 13, 14, 15));
#elif NATIVE_LANES == 4
    UNROLL
    for (int i = 0; i < 4; i += 2) EXCHANGE(i, 1, LIST(0, 4, 2, 6), LIST(1, 5, 3, 7));
    UNROLL
    for (int i = 0; i < 2; i++) EXCHANGE(i, 2, LIST(0, 1, 4, 5), LIST(2, 3, 6, 7));
#else
    EXCHANGE(0, 1, LIST(0, 2), LIST(1, 3));
#endif
}

/* `count` states of a leaf of `size` words, `stride` words apart, into `size` vectors; a missing state repeats the last. */
INLINE void load_leaf(pack *rows, const int size, const double *source, const int64_t stride, const int count) {
    const int width = size < NATIVE_LANES ? size : NATIVE_LANES;
    for (int first = 0; first < size; first += NATIVE_LANES) {
        const int start = first + width > size ? size - width : first;
        pack m[NATIVE_LANES];
        UNROLL
        for (int l = 0; l < NATIVE_LANES; l++) {
            const int state = l < count ? l : count - 1;
            m[l] = (pack){0.0};
            memcpy(&m[l], source + state * stride + start, 8 * width);
        }
        transpose(m);
        UNROLL
        for (int i = 0; i < width; i++) rows[start + i] = m[i];
    }
}

INLINE void store_leaf(const pack *rows, const int size, double *target, const int64_t stride, const int count) {
    const int width = size < NATIVE_LANES ? size : NATIVE_LANES;
    for (int first = 0; first < size; first += NATIVE_LANES) {
        const int start = first + width > size ? size - width : first;
        pack m[NATIVE_LANES];
        UNROLL
        for (int i = 0; i < NATIVE_LANES; i++) m[i] = rows[start + (i < width ? i : width - 1)];
        transpose(m);
        UNROLL
        for (int l = 0; l < count; l++) memcpy(target + l * stride + start, &m[l], 8 * width);
    }
}

/* One function for all leaves of a size; a full block has a count that the compiler knows. */
#define LOAD_OF(size) \
    static __attribute__((noinline)) void load_##size(pack *rows, const double *source, int64_t stride, int count) { \
        if (count == NATIVE_LANES) load_leaf(rows, size, source, stride, NATIVE_LANES); \
        else load_leaf(rows, size, source, stride, count); \
    }
#define STORE_OF(size) \
    static __attribute__((noinline)) void store_##size(const pack *rows, double *target, int64_t stride, int count) { \
        if (count == NATIVE_LANES) store_leaf(rows, size, target, stride, NATIVE_LANES); \
        else store_leaf(rows, size, target, stride, count); \
    }

/* Results that no cache can hold are written past the caches: a store that waits for its line to be fetched first costs
 * twice the memory traffic. Such stores take whole aligned vectors, so `phase` words, by which a leaf is off alignment,
 * wait in front of `flat` for the next block. `lines` is what `size` rows become, at the aligned address before
 * `target`; memory before `target` itself is not touched. */
#define STREAM_BYTES (1 << 21)
#if (defined(__x86_64__) || defined(__i386__)) && defined(__SSE2__)
#define CAN_STREAM 1
#if defined(__clang__)
#define PAST_CACHES(address, value) __builtin_nontemporal_store(value, address)
#elif NATIVE_LANES == 8
#define PAST_CACHES(address, value) __builtin_ia32_movntpd512((double *)(address), value)
#elif NATIVE_LANES == 4
#define PAST_CACHES(address, value) __builtin_ia32_movntpd256((double *)(address), value)
#else
#define PAST_CACHES(address, value) __builtin_ia32_movntpd((double *)(address), value)
#endif
#define STREAM_END() __builtin_ia32_sfence()
#else
#define CAN_STREAM 0
#define PAST_CACHES(address, value) (*(address) = (value))
#define STREAM_END() (void)0
#endif
static __attribute__((noinline, unused)) void stream(const pack *lines, const int64_t size, double *target, const int phase,
                                                     const int first) {
    if (size == 0) return;
    pack *aligned = (pack *)(target - phase);
    if (first && phase)
        for (int l = phase; l < NATIVE_LANES; l++) target[l - phase] = lines[0][l];
    else
        PAST_CACHES(aligned, lines[0]);
    for (int64_t i = 1; i < size; i++) PAST_CACHES(aligned + i, lines[i]);
}
INLINE int phase_of(const void *address) { return (int)((uintptr_t)address / 8 % NATIVE_LANES); }

/* One state for all. */
INLINE void broadcast_leaf(pack *rows, const int size, const double *source) {
    for (int i = 0; i < size; i++)
        UNROLL
        for (int l = 0; l < NATIVE_LANES; l++) rows[i][l] = source[i];
}
#endif
