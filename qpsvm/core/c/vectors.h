/* Vectors of one level of instructions. Included anew for each: LEVEL is 0 (plain: 16 bytes), 1 (AVX2) or 2 (AVX-512),
   and levels 1 and 2 are for X86 alone.

   FV has FLOATS floats, HV half as many, DV as many doubles as HV has floats. +, −, * and < are those of GCC's vector
   types. Here is what those lack: FMA(a, b, c) = ab + c, rounded once where the processor can; LARGER(a, b) and SMALLER(a, b), which are b
   where either is no number; a mask of the entries with a > b, and a choice by it. `IN(name)` is a name in this level,
   TARGET marks its functions, INLINE its small ones, which are always inlined. */
#include "core.h"
#include <string.h>
#if X86
#include <immintrin.h>
#endif

#undef IN
#undef TARGET
#undef FLOATS
#undef FMA_F
#undef FMA_D
#undef LARGER_F
#undef LARGER_D
#undef SMALLER_D
#undef ABOVE
#undef CHOSEN
#undef MASK

#if LEVEL == 2
#define IN(name) name##_avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#define FLOATS 16
#define FMA_F(a, b, c) ((FV)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define FMA_D(a, b, c) ((DV)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define LARGER_F(a, b) ((FV)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define LARGER_D(a, b) ((DV)_mm512_max_pd((__m512d)(a), (__m512d)(b)))
#define SMALLER_D(a, b) ((DV)_mm512_min_pd((__m512d)(a), (__m512d)(b)))
#define MASK __mmask8
#define ABOVE(a, b) _mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_GT_OQ)
#define CHOSEN(mask, a, b) ((DV)_mm512_mask_blend_pd(mask, (__m512d)(b), (__m512d)(a)))
#elif LEVEL == 1
#define IN(name) name##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define FLOATS 8
#define FMA_F(a, b, c) ((FV)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define FMA_D(a, b, c) ((DV)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define LARGER_F(a, b) ((FV)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define LARGER_D(a, b) ((DV)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define SMALLER_D(a, b) ((DV)_mm256_min_pd((__m256d)(a), (__m256d)(b)))
#define MASK __m256d
#define ABOVE(a, b) _mm256_cmp_pd((__m256d)(a), (__m256d)(b), _CMP_GT_OQ)
#define CHOSEN(mask, a, b) ((DV)_mm256_blendv_pd((__m256d)(b), (__m256d)(a), mask))
#else
#define IN(name) name##_plain
#define TARGET
#define FLOATS 4
#define FMA_F(a, b, c) ((a) * (b) + (c))
#define FMA_D(a, b, c) ((a) * (b) + (c))
#define LARGER_F(a, b) ((FV)(((IV)(a) & ((a) > (b))) | ((IV)(b) & ~((a) > (b)))))
#define LARGER_D(a, b) CHOSEN(ABOVE(a, b), a, b)
#define SMALLER_D(a, b) CHOSEN(ABOVE(b, a), a, b)
#define MASK LV
#define ABOVE(a, b) ((LV)((a) > (b)))
#define CHOSEN(mask, a, b) ((DV)(((LV)(a) & (mask)) | ((LV)(b) & ~(mask))))
#endif

#undef DOUBLES
#undef INLINE
#define DOUBLES (FLOATS / 2)
#define INLINE static inline __attribute__((always_inline, unused)) TARGET

#undef FV
#undef HV
#undef DV
#undef IV
#undef LV
#define FV IN(fv)
#define HV IN(hv)
#define DV IN(dv)
#define IV IN(iv)
#define LV IN(lv)
typedef float FV __attribute__((vector_size(4 * FLOATS)));
typedef float HV __attribute__((vector_size(4 * DOUBLES)));
typedef double DV __attribute__((vector_size(8 * DOUBLES)));
typedef int32_t IV __attribute__((vector_size(4 * FLOATS)));
typedef int64_t LV __attribute__((vector_size(8 * DOUBLES)));

/* Loads from any address, and stores to it. */
INLINE FV IN(floats_at)(const float *p) {
    FV v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE DV IN(doubles_at)(const double *p) {
    DV v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE DV IN(widened_at)(const float *p) {
    HV v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, DV);
}
INLINE void IN(put_floats)(float *p, FV v) { memcpy(p, &v, sizeof v); }
INLINE void IN(put_doubles)(double *p, DV v) { memcpy(p, &v, sizeof v); }

/* One number in every place: x − 0 is x, where 0 + x would be an addition. */
INLINE FV IN(all_float)(float x) { return x - (FV){0}; }
INLINE DV IN(all_double)(double x) { return x - (DV){0}; }
