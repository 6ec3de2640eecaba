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

/* Set the arrays of a table with n rows and d columns, from values, columns, starts and the bytes of an index, 0 for
   dense rows. What is wrong, or NULL. */
static inline const char *set_arrays(Table *X, const Py_buffer given[3], int bytes) {
    int64_t entries = given[0].len / 8;
    X->data = given[0].buf, X->wide = bytes == 8;
    if (bytes == 0) {
        if (X->d && X->n > entries / X->d) return "there are fewer values than rows times columns";
        return X->n * X->d == entries ? NULL : "there are more values than rows times columns";
    }
    if (bytes != 4 && bytes != 8) return "indices have 4 or 8 bytes";
    if (given[1].len / bytes != entries) return "values and columns differ in number";
    if (given[2].len / bytes != X->n + 1) return "there is not one start a row";
    X->columns = given[1].buf, X->starts = given[2].buf;
    if (!X->columns) X->columns = X->starts; /* no entries: not dense */
    for (int64_t i = 0; i < X->n; i++)
        if (!within(X, i, entries)) return "the compressed rows are not within their arrays";
    return NULL;
}

/* The next of a row of random numbers: xorshift (Marsaglia 2003). */
static inline uint64_t draw(uint64_t *random) {
    uint64_t x = *random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return *random = x;
}

/* Shuffle so many numbers. */
static inline void shuffle(int64_t *numbers, int64_t count, uint64_t *random) {
    for (int64_t k = count - 1; k > 0; k--) {
        int64_t j = (int64_t)((draw(random) >> 11) % (uint64_t)(k + 1)), number = numbers[k];
        numbers[k] = numbers[j], numbers[j] = number;
    }
}

#endif
