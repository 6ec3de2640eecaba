/* Rows of kernel values in single precision, in the level of the `vectors.h` and `exp.h` before it.

   (CLOOP.8)  K(x, z) = exp(−‖a − c‖²),  a, c = √γ(x − μ), √γ(z − μ):  by differences, of which none cancels
   (CLOOP.9)  K(x, z) = (aᵀc + c₀)^p,  a, c = √γ x, √γ z

   Four vectors of a panel at a time: they stay in registers while the features go by. */

#define AT_ONCE (4 * FLOATS)

INLINE FV IN(powered)(FV base, int degree) {
    FV value = base;
    for (int k = 1; k < degree; k++) value = value * base;
    return value;
}

/* The values of one sample a (d,) with all panels: out has room for whole panels. */
TARGET static void IN(values)(const Samples *samples, const float *a, float *out) {
    const FV zero = IN(all_float)(0.0f), offset = IN(all_float)(samples->offset);
    for (Py_ssize_t panel = 0; panel < samples->panels; panel++)
        for (int part = 0; part < PANEL; part += AT_ONCE) {
            const float *c = samples->packed + panel * samples->width * PANEL + part;
            float *to = out + panel * PANEL + part;
            FV sum[4] = {zero, zero, zero, zero};
            if (samples->degree) {
                for (Py_ssize_t k = 0; k < samples->width; k++, c += PANEL) {
                    FV own = IN(all_float)(a[k]);
#pragma GCC unroll 4
                    for (int v = 0; v < 4; v++) sum[v] = FMA_F(own, IN(floats_at)(c + v * FLOATS), sum[v]);
                }
                for (int v = 0; v < 4; v++)
                    IN(put_floats)(to + v * FLOATS, IN(powered)(sum[v] + offset, samples->degree));
            } else {
                for (Py_ssize_t k = 0; k < samples->width; k++, c += PANEL) {
                    FV own = IN(all_float)(a[k]);
#pragma GCC unroll 4
                    for (int v = 0; v < 4; v++) {
                        FV apart = IN(floats_at)(c + v * FLOATS) - own;
                        sum[v] = FMA_F(apart, apart, sum[v]);
                    }
                }
                for (int v = 0; v < 4; v++) IN(put_floats)(to + v * FLOATS, IN(exp_floats)(zero - sum[v]));
            }
        }
}

#undef AT_ONCE
