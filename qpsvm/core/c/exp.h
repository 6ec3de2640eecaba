/* exp of a vector, in the level of the `vectors.h` before it.

   (CEXP.1)  exp(x) = 2ⁿ exp(r),  n = round(x log₂e),  r = x − n ln 2 in two parts, |r| ≤ ½ ln 2 and a rounding
   (CEXP.2)  exp(r) = 1 + (r + r² q(r)),  q of degree 5 in single precision, 9 in double: the minimax polynomials of
             exp's relative error over |r| ≤ ½ ln 2 (Remez's exchange), 5.2e-11 and 3.6e-18

   x below −40 is raised to that, as `LOWEST_EXPONENT` says why; x ≤ 88. What is no number stays none. Measured over
   [−40, 0.1], a float in 37 and 4·10⁶ doubles: at most .98 ulp off in single precision, and 1.04 in double. */

/* n of (CEXP.1) in the low bits of x log₂e + 1.5·2²³ (or 2⁵²), whose shift into the exponent's place makes 2ⁿ. */
INLINE FV IN(exp_floats)(FV x) {
    const FV big = IN(all_float)(12582912.0f);
    x = LARGER_F(IN(all_float)(-40.0f), x);
    FV shifted = FMA_F(x, IN(all_float)(1.44269504088896341f), big), n = shifted - big;
    FV r = FMA_F(n, IN(all_float)(-0.693115234375f), x);
    r = FMA_F(n, IN(all_float)(-3.194618330e-5f), r);
    FV q = IN(all_float)(1.979035151e-4f);
    q = FMA_F(q, r, IN(all_float)(1.394464867e-3f));
    q = FMA_F(q, r, IN(all_float)(8.333496749e-3f));
    q = FMA_F(q, r, IN(all_float)(4.166629538e-2f));
    q = FMA_F(q, r, IN(all_float)(1.666666567e-1f));
    q = FMA_F(q, r, IN(all_float)(5.000000000e-1f));
    q = FMA_F(q, r * r, r) + 1.0f;
    return q * (FV)(((IV)shifted + 127) << 23);
}

INLINE DV IN(exp_doubles)(DV x) {
    static const double coefficients[10] = {
        2.5000072213603394e-8, 2.7630234059192756e-7, 2.7557586267376240e-6, 2.4801493135821930e-5,
        1.9841269506777785e-4, 1.3888888943598022e-3, 8.3333333334943350e-3, 4.1666666666530267e-2,
        1.6666666666666413e-1, 5.0000000000000110e-1,
    };
    const DV big = IN(all_double)(6755399441055744.0);
    x = LARGER_D(IN(all_double)(-40.0), x);
    DV shifted = FMA_D(x, IN(all_double)(1.4426950408889634074), big), n = shifted - big;
    DV r = FMA_D(n, IN(all_double)(-0.6931471805598903), x);
    r = FMA_D(n, IN(all_double)(-5.497923018708371e-14), r);
    DV q = IN(all_double)(coefficients[0]);
#pragma GCC unroll 9
    for (int k = 1; k < 10; k++) q = FMA_D(q, r, IN(all_double)(coefficients[k]));
    q = FMA_D(q, r * r, r) + 1.0;
    return q * (DV)(((LV)shifted + 1023) << 52);
}
