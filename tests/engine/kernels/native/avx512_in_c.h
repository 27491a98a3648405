/* The AVX-512 instructions that decode.c uses, in plain C: tests compile it with these in place of the
 * processor's, so that its AVX-512 path computes on any processor. Only its speed and the compiler's encoding
 * are not tried so. */
#include <cpuid.h>
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define AVX512 __attribute__((target("avx2,fma,f16c")))
#define IN_C AVX512 static inline __attribute__((always_inline))

typedef struct { float of[16]; } Floats;
typedef union { int32_t word[16]; int16_t pair[32]; } Words;

#define __m512 Floats
#define __m512i Words
#define BY_LANE(type, n, expression) { type r; for (int i = 0; i < (n); i++) { expression; } return r; }

IN_C Floats in_c_setzero_ps(void) BY_LANE(Floats, 16, r.of[i] = 0)
IN_C Floats in_c_set1_ps(float x) BY_LANE(Floats, 16, r.of[i] = x)
IN_C Floats in_c_fmadd_ps(Floats a, Floats b, Floats c) BY_LANE(Floats, 16, r.of[i] = fmaf(a.of[i], b.of[i], c.of[i]))
IN_C Floats in_c_cvtepi32_ps(Words a) BY_LANE(Floats, 16, r.of[i] = (float)a.word[i])
IN_C Words in_c_setzero_si512(void) BY_LANE(Words, 16, r.word[i] = 0)
IN_C Words in_c_set1_epi32(int32_t x) BY_LANE(Words, 16, r.word[i] = x)
IN_C Words in_c_and_si512(Words a, Words b) BY_LANE(Words, 16, r.word[i] = a.word[i] & b.word[i])
IN_C Words in_c_set1_epi16(int16_t x) BY_LANE(Words, 32, r.pair[i] = x)
IN_C Words in_c_srli_epi16(Words a, int n) BY_LANE(Words, 32, r.pair[i] = (int16_t)((uint16_t)a.pair[i] >> n))
IN_C Words in_c_slli_epi16(Words a, int n) BY_LANE(Words, 32, r.pair[i] = (int16_t)((uint16_t)a.pair[i] << n))
IN_C Words in_c_srai_epi16(Words a, int n) BY_LANE(Words, 32, r.pair[i] = (int16_t)(a.pair[i] >> n))
IN_C Floats in_c_mul_ps(Floats a, Floats b) BY_LANE(Floats, 16, r.of[i] = a.of[i] * b.of[i])
IN_C Words in_c_loadu_si512(const void *p) { Words r; memcpy(&r, p, 64); return r; }
IN_C void in_c_storeu_ps(float *p, Floats a) { memcpy(p, a.of, 64); }

/* Two products of signed 16-bit values, added to each lane without saturation. */
IN_C Words in_c_dpwssd_epi32(Words sum, Words a, Words b) {
    for (int i = 0; i < 32; i++) sum.word[i / 2] += a.pair[i] * b.pair[i];
    return sum;
}

IN_C Floats in_c_cvtph_ps(__m256i halves) {
    Floats r;
    _mm256_storeu_ps(r.of, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
    _mm256_storeu_ps(r.of + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
    return r;
}

#define _mm512_setzero_ps in_c_setzero_ps
#define _mm512_set1_ps in_c_set1_ps
#define _mm512_fmadd_ps in_c_fmadd_ps
#define _mm512_cvtepi32_ps in_c_cvtepi32_ps
#define _mm512_setzero_si512 in_c_setzero_si512
#define _mm512_set1_epi32 in_c_set1_epi32
#define _mm512_and_si512 in_c_and_si512
#define _mm512_srli_epi16 in_c_srli_epi16
#define _mm512_loadu_si512 in_c_loadu_si512
#define _mm512_storeu_ps in_c_storeu_ps
#define _mm512_dpwssd_epi32 in_c_dpwssd_epi32
#define _mm512_set1_epi16 in_c_set1_epi16
#define _mm512_slli_epi16 in_c_slli_epi16
#define _mm512_srai_epi16 in_c_srai_epi16
#define _mm512_mul_ps in_c_mul_ps
#define _mm512_cvtph_ps in_c_cvtph_ps
