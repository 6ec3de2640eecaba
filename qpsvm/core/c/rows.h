/* Rows of a table, dense or compressed, whose indices have 32 or 64 bits. */
#ifndef QPSVM_ROWS_H
#define QPSVM_ROWS_H

#include "core.h"

typedef struct {
    const double *data;
    const void *columns, *starts; /* of compressed rows; NULL: dense */
    int wide;                     /* whether these have 64 bits */
    int64_t n, d;
} Table;

static inline int64_t integer(const Table *X, const void *array, int64_t k) {
    return X->wide ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

static inline int64_t begin_of(const Table *X, int64_t i) {
    return X->columns ? integer(X, X->starts, i) : i * X->d;
}

/* Whether compressed row i lies within so many entries, and its columns within d. */
static inline int within(const Table *X, int64_t i, int64_t entries) {
    int64_t first = begin_of(X, i), end = begin_of(X, i + 1);
    if (first < 0 || end < first || end > entries) return 0;
    for (int64_t k = first; k < end; k++) {
        int64_t j = integer(X, X->columns, k);
        if (j < 0 || j >= X->d) return 0;
    }
    return 1;
}

#endif
