/* One decode step of a transformer on an x86-64 processor: every row is the newest token of its own sequence.
 *
 * Weights stay packed in 4 or 8 bits, rows of activations are rounded to 16 bits with a scale for every 32 of
 * them, attention reads keys and values in the slots of the pool where they lie. A row's result does not depend
 * on the other rows.
 * What the numbers mean, and whether this library may be used at all, is decided in Python.
 *
 * Packed weights: strips of 16 output rows, and in a strip run after run of 32 columns. A run holds 64-byte
 * words; byte 4 * r + i of a word belongs to row r, so that each 32-bit lane sums up one row.
 *   4 bits: 4 words (low halves: columns 8j + i, high halves: 8j + 4 + i), 16 scales, 16 minima
 *   8 bits: 8 words (columns 4j + i, signed), 16 scales
 * Scales and minima are float16; a weight is scale * q + minimum, or scale * q. */

#ifndef PROMPTCACHE_TEST_SHIM
#include <cpuid.h>
#include <immintrin.h>
#endif
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define AVX2 __attribute__((target("avx2,fma,f16c")))
#ifndef AVX512
#define AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512vnni")))
#endif
#define INLINE static inline __attribute__((always_inline))

/* A loop over at most four rows or heads; unrolled, their sums stay in registers. */
#define UNROLLED _Pragma("GCC unroll 4")
#define EACH(i, n) UNROLLED for (int i = 0; i < (n); i++)

enum { ISA_NONE, ISA_AVX2, ISA_AVX512_VNNI };
enum { FORMAT_4, FORMAT_8 };
enum { FROM_Q4_0, FROM_Q4_1, FROM_Q8_0, FROM_F32 };
enum { KV_F32, KV_BF16, KV_F16 };
enum { STRIP = 16, RUN = 32, BYTES_4 = 320, BYTES_8 = 544, KEY_TILE = 32 };

typedef struct {
    int32_t format, rows, columns, unused;
    const uint8_t *data;
    const float *bias; /* [rows] or null */
} Product;

typedef struct {
    Product qkv, output, gate_up, down;
    const float *attention_norm, *mlp_norm;
    const float *query_norm, *key_norm, *post_attention_norm, *post_mlp_norm; /* null: there is none */
    void *keys, *values; /* [slots, kv_heads * head_dim] */
    int32_t window;      /* 0: the whole context */
    int32_t group;       /* which of a step's slot tables it uses */
    int32_t angles;      /* which of a step's tables of angles it uses */
    int32_t unused;
} Layer;

typedef struct {
    int32_t layers, hidden, heads, kv_heads, head_dim, inner, vocabulary, kv_type, gelu, isa;
    float eps, scale, softcap; /* softcap 0: none */
    const Layer *layer;
    const float *final_norm;
    Product head;
} Model;

typedef struct {
    int32_t rows, threads;
    float *hidden;                      /* [rows, hidden]: embeddings; overwritten */
    const float *const *cosines;        /* a table each: [rows, head_dim / 2] */
    const float *const *sines;
    const int64_t *const *slots;        /* [group * rows + row]: a context's slots, the row's own the last */
    const int64_t *lengths;             /* [rows]: slots of a context */
    float *logits;                      /* [rows, vocabulary] */
} Step;

/* ---- what the processor can do ---- */

EXPORT int promptcache_isa(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return ISA_NONE;
    int f16c = (c >> 29) & 1;
    if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return ISA_NONE;
    int wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
    return wide ? ISA_AVX512_VNNI : ISA_AVX2;
}

/* ---- packing ---- */

AVX2 static float from_half(const uint8_t *bytes) {
    uint16_t half;
    memcpy(&half, bytes, 2);
    return _cvtsh_ss(half);
}

AVX2 static void put_half(uint8_t *target, float value) {
    uint16_t half = _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
    memcpy(target, &half, 2);
}

AVX2 static void pack_4(const uint8_t *run, int from, uint8_t *target, int row) {
    const uint8_t *nibbles = run + (from == FROM_Q4_0 ? 2 : 4);
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            int low = 8 * j + i, high = low + 4;
            uint8_t first = low < 16 ? nibbles[low] & 15 : nibbles[low - 16] >> 4;
            uint8_t second = high < 16 ? nibbles[high] & 15 : nibbles[high - 16] >> 4;
            target[64 * j + 4 * row + i] = (uint8_t)(first | second << 4);
        }
    memcpy(target + 256 + 2 * row, run, 2);
    if (from == FROM_Q4_1) memcpy(target + 288 + 2 * row, run + 2, 2);
    else put_half(target + 288 + 2 * row, -8.0f * from_half(run));
}

AVX2 static void pack_8(const void *run, int from, uint8_t *target, int row) {
    int8_t quants[RUN];
    if (from == FROM_Q8_0) {
        memcpy(target + 512 + 2 * row, run, 2);
        memcpy(quants, (const uint8_t *)run + 2, RUN);
    } else {
        const float *values = run;
        float most = 0;
        for (int i = 0; i < RUN; i++) most = fmaxf(most, fabsf(values[i]));
        put_half(target + 512 + 2 * row, most / 127.0f);
        float scale = from_half(target + 512 + 2 * row);
        for (int i = 0; i < RUN; i++) {
            float level = scale > 0 ? rintf(values[i] / scale) : 0;
            quants[i] = (int8_t)fminf(127.0f, fmaxf(-127.0f, level));
        }
    }
    for (int j = 0; j < 8; j++) memcpy(target + 64 * j + 4 * row, quants + 4 * j, 4);
}

/* Packs ``rows`` rows of a GGUF tensor, or of floats, into zeroed memory, from row ``first`` on. */
EXPORT void promptcache_pack(int from, const uint8_t *raw, int64_t rows, int64_t columns, int64_t first,
                             uint8_t *target) {
    static const int sizes[] = {18, 20, 34, RUN * sizeof(float)};
    int64_t runs = columns / RUN, size = sizes[from];
    int64_t packed = from == FROM_Q4_0 || from == FROM_Q4_1 ? BYTES_4 : BYTES_8;
    for (int64_t row = 0; row < rows; row++) {
        uint8_t *strip = target + (first + row) / STRIP * runs * packed;
        for (int64_t run = 0; run < runs; run++, raw += size) {
            int lane = (int)((first + row) % STRIP);
            if (packed == BYTES_4) pack_4(raw, from, strip + run * packed, lane);
            else pack_8(raw, from, strip + run * packed, lane);
        }
    }
}

/* ---- small vectors ---- */

AVX2 INLINE float sum8(__m256 v) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

AVX2 INLINE float max8(__m256 v) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}

/* exp(x) = 2^n * exp(r), |r| <= ln 2 / 2, by r's power series to the seventh power: below 1e-7 of the value. */
AVX2 INLINE __m256 exp8(__m256 x) {
    x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-87.0f)), _mm256_set1_ps(88.0f));
    __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x); /* ln 2 in two parts */
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.0f / 5040);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 720));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 120));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 24));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 6));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(p, _mm256_castsi256_ps(power));
}

/* cap * tanh(x / cap), by tanh(y) = 1 - 2 / (exp(2 y) + 1) */
AVX2 INLINE __m256 softcap8(__m256 x, float cap) {
    __m256 one = _mm256_set1_ps(1.0f);
    __m256 grown = _mm256_add_ps(exp8(_mm256_mul_ps(x, _mm256_set1_ps(2.0f / cap))), one);
    __m256 tanh = _mm256_sub_ps(one, _mm256_div_ps(_mm256_set1_ps(2.0f), grown));
    return _mm256_mul_ps(tanh, _mm256_set1_ps(cap));
}

AVX2 static void rms_norm(const float *x, const float *weight, int n, float eps, float *out) {
    __m256 squares = _mm256_setzero_ps();
    for (int i = 0; i < n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        squares = _mm256_fmadd_ps(v, v, squares);
    }
    __m256 factor = _mm256_set1_ps(1.0f / sqrtf(sum8(squares) / (float)n + eps));
    for (int i = 0; i < n; i += 8) {
        __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + i), factor);
        _mm256_storeu_ps(out + i, _mm256_mul_ps(v, _mm256_loadu_ps(weight + i)));
    }
}

AVX2 static void add_to(float *target, const float *update, int n) {
    for (int i = 0; i < n; i += 8)
        _mm256_storeu_ps(target + i, _mm256_add_ps(_mm256_loadu_ps(target + i), _mm256_loadu_ps(update + i)));
}

AVX2 static void gated(float *gate_up, int n, int gelu) {
    for (int i = 0; i < n; i += 8) {
        __m256 g = _mm256_loadu_ps(gate_up + i), inner = g;
        if (gelu) { /* g / (1 + exp(-2 sqrt(2 / pi) (g + 0.044715 g^3))) */
            __m256 cube = _mm256_mul_ps(_mm256_mul_ps(g, g), g);
            inner = _mm256_fmadd_ps(cube, _mm256_set1_ps(0.044715f), g);
            inner = _mm256_mul_ps(inner, _mm256_set1_ps(1.59576912f));
        }
        __m256 below = exp8(_mm256_sub_ps(_mm256_setzero_ps(), inner));
        __m256 active = _mm256_div_ps(g, _mm256_add_ps(below, _mm256_set1_ps(1.0f)));
        _mm256_storeu_ps(gate_up + i, _mm256_mul_ps(active, _mm256_loadu_ps(gate_up + n + i)));
    }
}

/* ---- rows of activations in 16 bits ---- */

typedef struct {
    int32_t rows, columns;
    int16_t *quants; /* [rows, columns]; of every four columns the first, third, second and fourth */
    float *scales;   /* [rows, columns / RUN] */
    float *sums;     /* [rows, columns / RUN]: of the rounded values */
} Rounded;

/* In order, then with the middle two of every four exchanged, as the halves of packed bytes come apart. */
AVX2 INLINE __m256i pack_16(__m256i first, __m256i second) {
    __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), _MM_SHUFFLE(3, 1, 2, 0));
    packed = _mm256_shufflelo_epi16(packed, _MM_SHUFFLE(3, 1, 2, 0));
    return _mm256_shufflehi_epi16(packed, _MM_SHUFFLE(3, 1, 2, 0));
}

AVX2 static void round_row(const float *x, const Rounded *to, int row) {
    int runs = to->columns / RUN;
    int16_t *quants = to->quants + (size_t)row * to->columns;
    const __m256 positive = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    for (int run = 0; run < runs; run++, x += RUN, quants += RUN) {
        __m256 v[4], most = _mm256_setzero_ps(), broken = most; /* 0, or NaN where a value is not finite */
        EACH(i, 4) {
            v[i] = _mm256_loadu_ps(x + 8 * i);
            most = _mm256_max_ps(most, _mm256_and_ps(v[i], positive));
            broken = _mm256_fmadd_ps(v[i], _mm256_setzero_ps(), broken);
        }
        float scale = max8(most) / 32767.0f + sum8(broken);
        __m256 inverse = _mm256_set1_ps(scale > 0 ? 1.0f / scale : 0);
        __m256i q[4], total = _mm256_setzero_si256();
        EACH(i, 4) {
            q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], inverse));
            total = _mm256_add_epi32(total, q[i]);
        }
        _mm256_storeu_si256((__m256i *)quants, pack_16(q[0], q[1]));
        _mm256_storeu_si256((__m256i *)(quants + 16), pack_16(q[2], q[3]));
        to->scales[row * runs + run] = scale;
        to->sums[row * runs + run] = scale * sum8(_mm256_cvtepi32_ps(total));
    }
}

INLINE const int16_t *row_run(const Rounded *in, int row, int run) {
    return in->quants + (size_t)row * in->columns + run * RUN;
}

INLINE int32_t pair(const int16_t *quants, int at) {
    int32_t two;
    memcpy(&two, quants + 2 * at, 4);
    return two;
}

/* ---- products: one strip of 16 output rows with at most 4 rows of activations ---- */

AVX2 INLINE __m256 halves8(const uint8_t *at) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)at)); }

/* Half a strip, 8 rows; a word comes apart into four vectors of 16-bit weights. */
AVX2 INLINE void avx2_half_4(const uint8_t *p, int half, int runs, const Rounded *in, int row, const int n,
                             __m256 *out) {
    const __m256i low = _mm256_set1_epi16(15);
    EACH(r, n) out[r] = _mm256_setzero_ps();
    for (int run = 0; run < runs; run++, p += BYTES_4) {
        __m256i sums[4];
        EACH(r, n) sums[r] = _mm256_setzero_si256();
        UNROLLED for (int j = 0; j < 4; j++) {
            _mm_prefetch((const char *)p + 4 * BYTES_4 + 64 * j, _MM_HINT_T0);
            __m256i word = _mm256_loadu_si256((const __m256i *)(p + 64 * j + 32 * half)), parts[4];
            parts[0] = _mm256_and_si256(word, low);
            parts[1] = _mm256_and_si256(_mm256_srli_epi16(word, 8), low);
            parts[2] = _mm256_and_si256(_mm256_srli_epi16(word, 4), low);
            parts[3] = _mm256_srli_epi16(word, 12);
            EACH(k, 4) EACH(r, n) {
                __m256i x = _mm256_set1_epi32(pair(row_run(in, row + r, run), 4 * j + k));
                sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(parts[k], x));
            }
        }
        __m256 scale = halves8(p + 256 + 16 * half), least = halves8(p + 288 + 16 * half);
        EACH(r, n) {
            size_t at = (size_t)(row + r) * runs + run;
            __m256 factor = _mm256_mul_ps(scale, _mm256_set1_ps(in->scales[at]));
            out[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r]), factor, out[r]);
            out[r] = _mm256_fmadd_ps(least, _mm256_set1_ps(in->sums[at]), out[r]);
        }
    }
}

AVX2 INLINE void avx2_half_8(const uint8_t *p, int half, int runs, const Rounded *in, int row, const int n,
                             __m256 *out) {
    EACH(r, n) out[r] = _mm256_setzero_ps();
    for (int run = 0; run < runs; run++, p += BYTES_8) {
        __m256i sums[4];
        EACH(r, n) sums[r] = _mm256_setzero_si256();
        UNROLLED for (int j = 0; j < 8; j++) {
            _mm_prefetch((const char *)p + 2 * BYTES_8 + 64 * j, _MM_HINT_T0);
            __m256i word = _mm256_loadu_si256((const __m256i *)(p + 64 * j + 32 * half)), parts[2];
            parts[0] = _mm256_srai_epi16(_mm256_slli_epi16(word, 8), 8);
            parts[1] = _mm256_srai_epi16(word, 8);
            EACH(k, 2) EACH(r, n) {
                __m256i x = _mm256_set1_epi32(pair(row_run(in, row + r, run), 2 * j + k));
                sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(parts[k], x));
            }
        }
        __m256 scale = halves8(p + 512 + 16 * half);
        EACH(r, n) {
            __m256 factor = _mm256_mul_ps(scale, _mm256_set1_ps(in->scales[(size_t)(row + r) * runs + run]));
            out[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r]), factor, out[r]);
        }
    }
}

AVX512 INLINE void avx512_strip_4(const uint8_t *p, int runs, const Rounded *in, int row, const int n, __m512 *out) {
    const __m512i low = _mm512_set1_epi16(15);
    EACH(r, n) out[r] = _mm512_setzero_ps();
    for (int run = 0; run < runs; run++, p += BYTES_4) {
        __m512i sums[4];
        EACH(r, n) sums[r] = _mm512_setzero_si512();
        UNROLLED for (int j = 0; j < 4; j++) {
            _mm_prefetch((const char *)p + 4 * BYTES_4 + 64 * j, _MM_HINT_T0);
            __m512i word = _mm512_loadu_si512(p + 64 * j), parts[4];
            parts[0] = _mm512_and_si512(word, low);
            parts[1] = _mm512_and_si512(_mm512_srli_epi16(word, 8), low);
            parts[2] = _mm512_and_si512(_mm512_srli_epi16(word, 4), low);
            parts[3] = _mm512_srli_epi16(word, 12);
            EACH(k, 4) EACH(r, n) {
                __m512i x = _mm512_set1_epi32(pair(row_run(in, row + r, run), 4 * j + k));
                sums[r] = _mm512_dpwssd_epi32(sums[r], parts[k], x);
            }
        }
        __m512 scale = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p + 256)));
        __m512 least = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p + 288)));
        EACH(r, n) {
            size_t at = (size_t)(row + r) * runs + run;
            __m512 factor = _mm512_mul_ps(scale, _mm512_set1_ps(in->scales[at]));
            out[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r]), factor, out[r]);
            out[r] = _mm512_fmadd_ps(least, _mm512_set1_ps(in->sums[at]), out[r]);
        }
    }
}

AVX512 INLINE void avx512_strip_8(const uint8_t *p, int runs, const Rounded *in, int row, const int n, __m512 *out) {
    EACH(r, n) out[r] = _mm512_setzero_ps();
    for (int run = 0; run < runs; run++, p += BYTES_8) {
        __m512i sums[4];
        EACH(r, n) sums[r] = _mm512_setzero_si512();
        UNROLLED for (int j = 0; j < 8; j++) {
            _mm_prefetch((const char *)p + 2 * BYTES_8 + 64 * j, _MM_HINT_T0);
            __m512i word = _mm512_loadu_si512(p + 64 * j), parts[2];
            parts[0] = _mm512_srai_epi16(_mm512_slli_epi16(word, 8), 8);
            parts[1] = _mm512_srai_epi16(word, 8);
            EACH(k, 2) EACH(r, n) {
                __m512i x = _mm512_set1_epi32(pair(row_run(in, row + r, run), 2 * j + k));
                sums[r] = _mm512_dpwssd_epi32(sums[r], parts[k], x);
            }
        }
        __m512 scale = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p + 512)));
        EACH(r, n) {
            __m512 factor = _mm512_mul_ps(scale, _mm512_set1_ps(in->scales[(size_t)(row + r) * runs + run]));
            out[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r]), factor, out[r]);
        }
    }
}

/* Stores the first ``left`` of 16 values, plus their bias. */
AVX2 INLINE void store_strip(float *target, const float *values, const float *bias, int left) {
    for (int i = 0; i < STRIP && i < left; i++) target[i] = values[i] + (bias ? bias[i] : 0.0f);
}

AVX2 INLINE void avx2_rows(const Product *product, const uint8_t *p, int strip, const Rounded *in, int row,
                           const int n, float *out) {
    float values[4][STRIP];
    int runs = product->columns / RUN, first = strip * STRIP;
    for (int half = 0; half < 2; half++) {
        __m256 sums[4];
        if (product->format == FORMAT_4) avx2_half_4(p, half, runs, in, row, n, sums);
        else avx2_half_8(p, half, runs, in, row, n, sums);
        EACH(r, n) _mm256_storeu_ps(values[r] + 8 * half, sums[r]);
    }
    const float *bias = product->bias ? product->bias + first : NULL;
    EACH(r, n)
        store_strip(out + (size_t)(row + r) * product->rows + first, values[r], bias, product->rows - first);
}

AVX512 INLINE void avx512_rows(const Product *product, const uint8_t *p, int strip, const Rounded *in, int row,
                               const int n, float *out) {
    float values[STRIP];
    __m512 sums[4];
    int runs = product->columns / RUN, first = strip * STRIP;
    if (product->format == FORMAT_4) avx512_strip_4(p, runs, in, row, n, sums);
    else avx512_strip_8(p, runs, in, row, n, sums);
    const float *bias = product->bias ? product->bias + first : NULL;
    EACH(r, n) {
        _mm512_storeu_ps(values, sums[r]);
        store_strip(out + (size_t)(row + r) * product->rows + first, values, bias, product->rows - first);
    }
}

AVX2 static void avx2_strip(const Product *product, const uint8_t *p, int strip, const Rounded *in, float *out) {
    int row = 0;
    for (; row + 4 <= in->rows; row += 4) avx2_rows(product, p, strip, in, row, 4, out);
    for (; row + 2 <= in->rows; row += 2) avx2_rows(product, p, strip, in, row, 2, out);
    for (; row < in->rows; row++) avx2_rows(product, p, strip, in, row, 1, out);
}

AVX512 static void avx512_strip(const Product *product, const uint8_t *p, int strip, const Rounded *in, float *out) {
    int row = 0;
    for (; row + 4 <= in->rows; row += 4) avx512_rows(product, p, strip, in, row, 4, out);
    for (; row < in->rows; row++) avx512_rows(product, p, strip, in, row, 1, out);
}

/* Called by all threads together; out is [rows of activations, rows of the product]. */
static void multiply(const Product *product, const Rounded *in, int isa, float *out) {
    size_t size = (size_t)(product->columns / RUN) * (product->format == FORMAT_4 ? BYTES_4 : BYTES_8);
    int strips = (product->rows + STRIP - 1) / STRIP;
#pragma omp for schedule(static)
    for (int strip = 0; strip < strips; strip++) {
        const uint8_t *p = product->data + strip * size;
        if (isa == ISA_AVX512_VNNI) avx512_strip(product, p, strip, in, out);
        else avx2_strip(product, p, strip, in, out);
    }
}

/* ---- attention ---- */

AVX2 INLINE __m256 load_kv(const void *pool, size_t at, const int type) {
    if (type == KV_F32) return _mm256_loadu_ps((const float *)pool + at);
    __m128i halves = _mm_loadu_si128((const __m128i *)((const uint16_t *)pool + at));
    if (type == KV_F16) return _mm256_cvtph_ps(halves);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

AVX2 static void store_kv(void *pool, size_t at, int type, const float *values, int n) {
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, values + i, 4);
        if (type == KV_F32) ((float *)pool)[at + i] = values[i];
        else if (type == KV_F16) ((uint16_t *)pool)[at + i] = _cvtss_sh(values[i], _MM_FROUND_TO_NEAREST_INT);
        else ((uint16_t *)pool)[at + i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

typedef struct {
    const Layer *layer;
    const int64_t *slots;
    const float *query; /* [heads of a group, head_dim], scaled */
    float *scores;      /* [heads of a group, room] */
    float *out;         /* [heads of a group, head_dim] */
    size_t width, offset; /* of a slot, and of this head in it */
    int length, room, dim;
    float softcap;
} Head;

/* ``n`` query heads that share one key/value head, over one context. */
AVX2 INLINE void attend(const Head *h, const int n, const int type) {
    size_t item = type == KV_F32 ? 4 : 2;
    for (int t = 0; t < h->length; t++) {
        size_t at = (size_t)h->slots[t] * h->width + h->offset;
        if (t + 8 < h->length) {
            const char *next = (const char *)h->layer->keys + (h->slots[t + 8] * h->width + h->offset) * item;
            for (size_t line = 0; line < h->dim * item; line += 64) _mm_prefetch(next + line, _MM_HINT_T0);
        }
        __m256 sums[4];
        EACH(g, n) sums[g] = _mm256_setzero_ps();
        for (int d = 0; d < h->dim; d += 8) {
            __m256 key = load_kv(h->layer->keys, at + d, type);
            EACH(g, n)
                sums[g] = _mm256_fmadd_ps(_mm256_loadu_ps(h->query + g * h->dim + d), key, sums[g]);
        }
        EACH(g, n) h->scores[g * h->room + t] = sum8(sums[g]);
    }
    EACH(g, n) {
        float *scores = h->scores + g * h->room;
        for (int t = h->length; t < h->room; t++) scores[t] = -INFINITY;
        __m256 most = _mm256_set1_ps(-INFINITY), sum = _mm256_setzero_ps();
        for (int t = 0; t < h->room; t += 8) {
            __m256 score = _mm256_loadu_ps(scores + t);
            if (h->softcap > 0 && t < h->length) _mm256_storeu_ps(scores + t, score = softcap8(score, h->softcap));
            if (h->softcap > 0 && t + 8 > h->length)
                for (int i = h->length; i < t + 8; i++) scores[i] = -INFINITY;
            most = _mm256_max_ps(most, _mm256_loadu_ps(scores + t));
        }
        most = _mm256_set1_ps(max8(most));
        for (int t = 0; t < h->room; t += 8) {
            __m256 part = exp8(_mm256_sub_ps(_mm256_loadu_ps(scores + t), most));
            _mm256_storeu_ps(scores + t, part);
            sum = _mm256_add_ps(sum, part);
        }
        __m256 inverse = _mm256_set1_ps(1.0f / sum8(sum));
        for (int t = 0; t < h->room; t += 8)
            _mm256_storeu_ps(scores + t, _mm256_mul_ps(_mm256_loadu_ps(scores + t), inverse));
        memset(h->out + g * h->dim, 0, h->dim * sizeof(float));
    }
    for (int begin = 0; begin < h->length; begin += KEY_TILE) { /* a tile of values stays in the L1 cache */
        int end = begin + KEY_TILE < h->length ? begin + KEY_TILE : h->length;
        for (int d = 0; d < h->dim; d += 16) {
            __m256 sums[4][2];
            EACH(g, n)
                for (int i = 0; i < 2; i++) sums[g][i] = _mm256_loadu_ps(h->out + g * h->dim + d + 8 * i);
            for (int t = begin; t < end; t++) {
                size_t at = (size_t)h->slots[t] * h->width + h->offset + d;
                __m256 first = load_kv(h->layer->values, at, type);
                __m256 second = load_kv(h->layer->values, at + 8, type);
                EACH(g, n) {
                    __m256 weight = _mm256_set1_ps(h->scores[g * h->room + t]);
                    sums[g][0] = _mm256_fmadd_ps(weight, first, sums[g][0]);
                    sums[g][1] = _mm256_fmadd_ps(weight, second, sums[g][1]);
                }
            }
            EACH(g, n)
                for (int i = 0; i < 2; i++) _mm256_storeu_ps(h->out + g * h->dim + d + 8 * i, sums[g][i]);
        }
    }
}

#define ATTEND(n)                                          \
    case n:                                                \
        if (type == KV_F32) attend(h, n, KV_F32);          \
        else if (type == KV_BF16) attend(h, n, KV_BF16);   \
        else attend(h, n, KV_F16);                         \
        break

AVX2 static void attend_heads(const Head *h, int n, int type) {
    switch (n) {
        ATTEND(1);
        ATTEND(2);
        ATTEND(3);
        ATTEND(4);
    }
}

/* One row's query heads of one key/value head, at most four at a time. */
static void attend_group(const Model *model, const Layer *layer, const Step *step, int row, int kv_head,
                         const float *query, float *scores, float *mixed) {
    int group = model->heads / model->kv_heads, dim = model->head_dim;
    int64_t length = step->lengths[row], first = 0;
    if (layer->window && length > layer->window) first = length - layer->window;
    Head h = {.layer = layer, .slots = step->slots[layer->group * step->rows + row] + first, .scores = scores,
              .width = (size_t)model->kv_heads * dim, .offset = (size_t)kv_head * dim, .dim = dim,
              .length = (int)(length - first), .softcap = model->softcap};
    h.room = (h.length + 7) / 8 * 8;
    for (int g = 0; g < group; g += 4) {
        h.query = query + (size_t)(kv_head * group + g) * dim;
        h.out = mixed + (size_t)(kv_head * group + g) * dim;
        attend_heads(&h, group - g < 4 ? group - g : 4, model->kv_type);
    }
}

AVX2 static void turn(float *head, const float *cosine, const float *sine, int dim) {
    int half = dim / 2;
    for (int i = 0; i < half; i += 8) {
        __m256 first = _mm256_loadu_ps(head + i), second = _mm256_loadu_ps(head + half + i);
        __m256 c = _mm256_loadu_ps(cosine + i), s = _mm256_loadu_ps(sine + i);
        _mm256_storeu_ps(head + i, _mm256_fmsub_ps(first, c, _mm256_mul_ps(second, s)));
        _mm256_storeu_ps(head + half + i, _mm256_fmadd_ps(second, c, _mm256_mul_ps(first, s)));
    }
}

/* Norms, angles and the scale; then the row's key and value go to the pool. */
static void finish_projection(const Model *model, const Layer *layer, const Step *step, int row, float *qkv) {
    int dim = model->head_dim, half = dim / 2, rotated = model->heads + model->kv_heads;
    const float *cosine = step->cosines[layer->angles] + (size_t)row * half;
    const float *sine = step->sines[layer->angles] + (size_t)row * half;
    for (int head = 0; head < rotated; head++) {
        const float *norm = head < model->heads ? layer->query_norm : layer->key_norm;
        if (norm) rms_norm(qkv + head * dim, norm, dim, model->eps, qkv + head * dim);
        turn(qkv + head * dim, cosine, sine, dim);
    }
    int queries = model->heads * dim, width = model->kv_heads * dim;
    for (int i = 0; i < queries; i++) qkv[i] *= model->scale;
    int64_t slot = step->slots[layer->group * step->rows + row][step->lengths[row] - 1];
    store_kv(layer->keys, (size_t)slot * width, model->kv_type, qkv + queries, width);
    store_kv(layer->values, (size_t)slot * width, model->kv_type, qkv + queries + width, width);
}

/* ---- the step ---- */

typedef struct {
    float *normed, *qkv, *mixed, *update, *gate_up, *scores;
    size_t scores_each;
    Rounded hidden, attention, inner;
} Scratch;

static void residual(float *hidden, float *update, const float *norm, int n, float eps) {
    if (norm) rms_norm(update, norm, n, eps, update);
    add_to(hidden, update, n);
}

static void run(const Model *m, const Step *s, const Scratch *b) {
    int hidden = m->hidden, queries = m->heads * m->head_dim, inner = m->inner;
    size_t wide = (size_t)queries + 2 * m->kv_heads * m->head_dim;
    for (int index = 0; index < m->layers; index++) {
        const Layer *layer = m->layer + index;
#pragma omp for
        for (int row = 0; row < s->rows; row++) {
            float *normed = b->normed + (size_t)row * hidden;
            rms_norm(s->hidden + (size_t)row * hidden, layer->attention_norm, hidden, m->eps, normed);
            round_row(normed, &b->hidden, row);
        }
        multiply(&layer->qkv, &b->hidden, m->isa, b->qkv);
#pragma omp for
        for (int row = 0; row < s->rows; row++) finish_projection(m, layer, s, row, b->qkv + row * wide);
#pragma omp for schedule(dynamic, 1)
        for (int task = 0; task < s->rows * m->kv_heads; task++) {
            int row = task / m->kv_heads, head = task % m->kv_heads;
            attend_group(m, layer, s, row, head, b->qkv + row * wide, b->scores + task * b->scores_each,
                         b->mixed + (size_t)row * queries);
        }
#pragma omp for
        for (int row = 0; row < s->rows; row++) round_row(b->mixed + (size_t)row * queries, &b->attention, row);
        multiply(&layer->output, &b->attention, m->isa, b->update);
#pragma omp for
        for (int row = 0; row < s->rows; row++) {
            float *own = s->hidden + (size_t)row * hidden, *normed = b->normed + (size_t)row * hidden;
            residual(own, b->update + (size_t)row * hidden, layer->post_attention_norm, hidden, m->eps);
            rms_norm(own, layer->mlp_norm, hidden, m->eps, normed);
            round_row(normed, &b->hidden, row);
        }
        multiply(&layer->gate_up, &b->hidden, m->isa, b->gate_up);
#pragma omp for
        for (int row = 0; row < s->rows; row++) {
            gated(b->gate_up + (size_t)row * 2 * inner, inner, m->gelu);
            round_row(b->gate_up + (size_t)row * 2 * inner, &b->inner, row);
        }
        multiply(&layer->down, &b->inner, m->isa, b->update);
#pragma omp for
        for (int row = 0; row < s->rows; row++)
            residual(s->hidden + (size_t)row * hidden, b->update + (size_t)row * hidden, layer->post_mlp_norm,
                     hidden, m->eps);
    }
#pragma omp for
    for (int row = 0; row < s->rows; row++) {
        rms_norm(s->hidden + (size_t)row * hidden, m->final_norm, hidden, m->eps, b->normed + (size_t)row * hidden);
        round_row(b->normed + (size_t)row * hidden, &b->hidden, row);
    }
    multiply(&m->head, &b->hidden, m->isa, s->logits);
}

/* Takes ``size`` bytes of one piece of memory, in whole cache lines; with no memory it only counts. */
static void *take(uint8_t *memory, size_t *used, size_t size) {
    void *place = memory ? memory + *used : NULL;
    *used += (size + 63) / 64 * 64;
    return place;
}

static Rounded take_rounded(uint8_t *memory, size_t *used, int rows, int columns) {
    size_t runs = (size_t)rows * (columns / RUN);
    Rounded rounded = {rows, columns, take(memory, used, (size_t)rows * columns * sizeof(int16_t)), NULL, NULL};
    rounded.scales = take(memory, used, runs * sizeof(float));
    rounded.sums = take(memory, used, runs * sizeof(float));
    return rounded;
}

static size_t lay_out(const Model *m, const Step *s, uint8_t *memory, Scratch *b) {
    size_t used = 0, floats = s->rows * sizeof(float), queries = (size_t)m->heads * m->head_dim;
    size_t group = m->heads / m->kv_heads, longest = 0;
    for (int row = 0; row < s->rows; row++)
        if ((size_t)s->lengths[row] > longest) longest = s->lengths[row];
    b->scores_each = (group < 4 ? group : 4) * ((longest + 7) / 8 * 8);
    b->normed = take(memory, &used, floats * m->hidden);
    b->qkv = take(memory, &used, floats * (queries + 2 * (size_t)m->kv_heads * m->head_dim));
    b->mixed = take(memory, &used, floats * queries);
    b->update = take(memory, &used, floats * m->hidden);
    b->gate_up = take(memory, &used, floats * 2 * m->inner);
    b->scores = take(memory, &used, floats * m->kv_heads * b->scores_each);
    b->hidden = take_rounded(memory, &used, s->rows, m->hidden);
    b->attention = take_rounded(memory, &used, s->rows, (int)queries);
    b->inner = take_rounded(memory, &used, s->rows, m->inner);
    return used;
}

/* Returns 0, or 1 where there was no memory. */
EXPORT int promptcache_decode(const Model *model, const Step *step) {
    Scratch scratch;
    size_t size = lay_out(model, step, NULL, &scratch);
    uint8_t *memory = aligned_alloc(64, size);
    if (!memory) return 1;
    lay_out(model, step, memory, &scratch);
#pragma omp parallel num_threads(step->threads)
    run(model, step, &scratch);
    free(memory);
    return 0;
}

/* For tests: ``rows`` rows of floats times one product. */
EXPORT int promptcache_multiply(const Product *product, int isa, const float *x, int rows, float *out) {
    size_t used = 0;
    take_rounded(NULL, &used, rows, product->columns);
    uint8_t *memory = aligned_alloc(64, used);
    if (!memory) return 1;
    used = 0;
    Rounded in = take_rounded(memory, &used, rows, product->columns);
    for (int row = 0; row < rows; row++) round_row(x + (size_t)row * product->columns, &in, row);
    multiply(product, &in, isa, out);
    free(memory);
    return 0;
}
