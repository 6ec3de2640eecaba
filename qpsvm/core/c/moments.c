/* Second moments of sparse rows: what Newton systems of few columns are made of. */
#include "rows.h"

/* S += δ x xᵀ, s += δ x for row i, each pair of stored numbers once; 0 where the row is not within its arrays. */
static int added(const Table *X, int64_t i, int64_t entries, double by, double *S, double *s) {
    if (i < 0 || i >= X->n || !within(X, i, entries)) return 0;
    int64_t first = begin_of(X, i), end = begin_of(X, i + 1);
    for (int64_t k = first; k < end; k++) {
        int64_t p = integer(X, X->columns, k);
        double v = by * X->data[k];
        s[p] += v;
        for (int64_t l = first; l < k; l++) {
            int64_t q = integer(X, X->columns, l);
            S[p * X->d + q] += (p == q ? 2 : 1) * v * X->data[l];
        }
        S[p * X->d + p] += v * X->data[k];
    }
    return 1;
}

/* Both triangles, from pairs that are in one of them. */
static void mirrored(double *S, int64_t d) {
    for (int64_t p = 0; p < d; p++)
        for (int64_t q = 0; q < p; q++) S[p * d + q] = S[q * d + p] = S[p * d + q] + S[q * d + p];
}

enum { VALUES, COLUMNS, STARTS, ROWS, SCALE, SQUARE, SUMS, BUFFERS };

static const char *moments_of(Py_buffer *given, int bytes) {
    static const char *const OUTSIDE = "the rows are not within their arrays";
    if (bytes != 4 && bytes != 8) return "indices have 4 or 8 bytes";
    for (int k = 0; k < BUFFERS; k++)
        if (!is_aligned(&given[k], k == COLUMNS || k == STARTS ? bytes : 8)) return "a buffer is not one of aligned numbers";
    Table X = {given[VALUES].buf, given[COLUMNS].buf, given[STARTS].buf, bytes == 8, given[STARTS].len / bytes - 1,
               given[SUMS].len / 8};
    int64_t entries = given[VALUES].len / 8, j = given[ROWS].len / 8, d = X.d, ok = 1;
    if (X.n < 0 || given[COLUMNS].len / bytes != entries) return OUTSIDE;
    if (!X.columns) X.columns = X.starts;
    if (given[SCALE].len && given[SCALE].len / 8 != j) return "there is not one factor a row";
    if (d ? given[SQUARE].len / 8 % d || given[SQUARE].len / 8 / d != d : given[SQUARE].len) return "S is not square";
    const int64_t *rows = given[ROWS].buf;
    const double *scale = given[SCALE].len ? given[SCALE].buf : NULL;
    double *S = given[SQUARE].buf, *s = given[SUMS].buf;
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t k = 0; k < j && ok; k++) ok = added(&X, rows[k], entries, scale ? scale[k] : 1, S, s);
    mirrored(S, d);
    Py_END_ALLOW_THREADS;
    return ok ? NULL : OUTSIDE;
}

static PyObject *moments(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer given[BUFFERS];
    int bytes;
    if (!PyArg_ParseTuple(args, "y*y*y*iy*y*w*w*", &given[0], &given[1], &given[2], &bytes, &given[3], &given[4],
                          &given[5], &given[6]))
        return NULL;
    const char *wrong = moments_of(given, bytes);
    for (int k = 0; k < BUFFERS; k++) PyBuffer_Release(&given[k]);
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, wrong);
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef moments_methods[] = {
    {"moments", moments, METH_VARARGS,
     "moments(values, columns, starts, bytes, rows, scale, S, s): S = X_JᵀDX_J and s = X_JᵀD1, into zeros, for sparse "
     "rows J; scale empty for D = 1."},
    {NULL, NULL, 0, NULL},
};
