/* Sums of rows and rank-one changes of one level of instructions; what `active.c` spends its time on. */
#include "vectors.h"

#define AT_ONCE 8

/* y (n) += Σ_j x_j times row j of `count` rows. */
TARGET static void IN(combine)(double *y, const double *rows, Py_ssize_t stride, const double *x, Py_ssize_t count,
                               Py_ssize_t n) {
    Py_ssize_t j = 0;
    for (; j + AT_ONCE <= count; j += AT_ONCE) {
        const double *at = rows + j * stride;
        DV by[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) by[k] = IN(all_double)(x[j + k]);
        Py_ssize_t i = 0;
        for (; i + DOUBLES <= n; i += DOUBLES) {
            DV sum = IN(doubles_at)(y + i);
#pragma GCC unroll 8
            for (int k = 0; k < AT_ONCE; k++) sum = FMA_D(by[k], IN(doubles_at)(at + k * stride + i), sum);
            IN(put_doubles)(y + i, sum);
        }
        for (; i < n; i++)
            for (int k = 0; k < AT_ONCE; k++) y[i] += x[j + k] * at[k * stride + i];
    }
    for (; j < count; j++) {
        const double *at = rows + j * stride;
        DV by = IN(all_double)(x[j]);
        Py_ssize_t i = 0;
        for (; i + DOUBLES <= n; i += DOUBLES)
            IN(put_doubles)(y + i, FMA_D(by, IN(doubles_at)(at + i), IN(doubles_at)(y + i)));
        for (; i < n; i++) y[i] += x[j] * at[i];
    }
}

/* A (n, n) += factor · x xᵀ. */
TARGET static void IN(rank_one)(double *A, Py_ssize_t stride, const double *x, double factor, Py_ssize_t n) {
    for (Py_ssize_t j = 0; j < n; j++) {
        double *at = A + j * stride, each = factor * x[j];
        DV by = IN(all_double)(each);
        Py_ssize_t i = 0;
        for (; i + DOUBLES <= n; i += DOUBLES)
            IN(put_doubles)(at + i, FMA_D(by, IN(doubles_at)(x + i), IN(doubles_at)(at + i)));
        for (; i < n; i++) at[i] += each * x[i];
    }
}

#undef AT_ONCE
