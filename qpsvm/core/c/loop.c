/* The working-set loop as Python calls it: what it minimises stands in solvers/kernel/loop. */
#include "loop.h"
#include <string.h>

/* A matrix that is stored: its first entry, and the bytes from row to row. */
typedef struct {
    const char *first;
    Py_ssize_t apart;
} Stored;

static const void *stored_row(Loop *loop, Py_ssize_t i) {
    const Stored *stored = loop->rows;
    return stored->first + i * stored->apart;
}

static int aligned(const void *first) { return !((uintptr_t)first & 7); }

/* n doubles in a row; or none, where they may be absent. */
static int are_doubles(const Py_buffer *view, Py_ssize_t n, int optional) {
    return view->buf ? view->len == n * (Py_ssize_t)sizeof(double) && aligned(view->buf) : optional;
}

/* A square matrix of floats or doubles whose rows are each in one piece. Leaves an error where it is none. */
static int is_matrix(const Py_buffer *view, Loop *loop) {
    Py_ssize_t size = view->itemsize;
    int kind = view->format && view->format[0] && !view->format[1] ? view->format[0] : 0;
    if (view->ndim != 2 || (kind != 'f' && kind != 'd') || view->shape[0] != view->shape[1] ||
        (view->shape[0] > 1 && (view->strides[1] != size || view->strides[0] % size || view->strides[0] < size)) ||
        ((uintptr_t)view->buf & (uintptr_t)(size - 1))) {
        PyErr_SetString(PyExc_ValueError, "K has to be a square matrix of floats or doubles, stored by rows");
        return 0;
    }
    loop->n = view->shape[0], loop->single = kind == 'f';
    return 1;
}

static int in_box(const Loop *loop) {
    for (Py_ssize_t t = 0; t < loop->n; t++)
        if (!(loop->beta[t] >= loop->low[t] && loop->beta[t] <= loop->high[t] && isfinite(loop->beta[t]))) return 0;
    for (Py_ssize_t t = 0; loop->tube && t < loop->n; t++)
        if (!(loop->tube[t] >= 0.0)) return 0;
    return 1;
}

/* The arrays of a loop, in one piece, with what is never chosen beyond n. */
static double *arrays_of(Loop *loop, const double *g) {
    Py_ssize_t n = loop->n, apart = (n + SPARE + 7) / 8 * 8, count = 2 + 2 * loop->sums;
    double *memory = aligned_alloc(64, (size_t)(apart * count) * sizeof(double));
    if (!memory) return NULL;
    loop->g = memory, loop->diagonal = memory + apart;
    for (int sum = 0; sum < loop->sums; sum++)
        loop->rise[sum] = memory + (2 + 2 * sum) * apart, loop->fall[sum] = memory + (3 + 2 * sum) * apart;
    memset(memory, 0, (size_t)(2 * apart) * sizeof(double));
    if (n) memcpy(loop->g, g, (size_t)n * sizeof(double));
    for (int sum = 0; sum < loop->sums; sum++)
        for (Py_ssize_t t = n; t < apart; t++) loop->rise[sum][t] = -INFINITY, loop->fall[sum][t] = INFINITY;
    return memory;
}

static double entry(Loop *loop, Py_ssize_t i, Py_ssize_t j) {
    const void *row = loop->row(loop, i);
    return loop->single ? (double)((const float *)row)[j] : ((const double *)row)[j];
}

/* g −= Kβ for what β is at the beginning. */
static void subtract_product(Loop *loop, Look *look) {
    for (Py_ssize_t t = 0; t < loop->n; t++)
        if (loop->beta[t] != 0.0) {
            loop_passes[core_level][loop->single].add(loop, loop->row(loop, t), -loop->beta[t]);
            if (looked(look)) return;
        }
}

static PyObject *over_matrix(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer K, beta, g, low, high, tube;
    PyObject *matrix, *function, *answer = NULL;
    Loop loop = {0};
    double tol;
    long long most;
    int known, finished = 0;
    if (!PyArg_ParseTuple(arguments, "Ow*w*y*y*z*ipdLO", &matrix, &beta, &g, &low, &high, &tube, &loop.sums, &known,
                          &tol, &most, &function))
        return NULL;
    if (PyObject_GetBuffer(matrix, &K, PyBUF_STRIDES | PyBUF_FORMAT)) goto buffers;
    if (!is_matrix(&K, &loop)) goto all;
    loop.beta = beta.buf, loop.low = low.buf, loop.high = high.buf, loop.tube = tube.buf;
    if ((loop.sums != 1 && loop.sums != 2) || !are_doubles(&beta, loop.n, 0) || !are_doubles(&g, loop.n, 0) ||
        !are_doubles(&low, loop.n, 0) || !are_doubles(&high, loop.n, 0) || !are_doubles(&tube, loop.n, 1)) {
        PyErr_SetString(PyExc_ValueError, "one or two sums, and vectors of doubles as long as K");
        goto all;
    }
    if (!in_box(&loop)) {
        PyErr_SetString(PyExc_ValueError, "the start has to be in its box, and no tube negative");
        goto all;
    }
    double *memory = arrays_of(&loop, g.buf);
    if (!memory) {
        PyErr_NoMemory();
        goto all;
    }
    Stored stored = {K.buf, loop.n > 1 ? K.strides[0] : 0};
    loop.row = stored_row, loop.rows = &stored;
    for (Py_ssize_t t = 0; t < loop.n; t++) loop.diagonal[t] = entry(&loop, t, t);
    Look look;
    look_begins(&look, function);
    Py_BEGIN_ALLOW_THREADS
    if (!known) subtract_product(&loop, &look);
    finished = loop_run(&loop, tol, most, &look);
    Py_END_ALLOW_THREADS
    if (loop.n) memcpy(g.buf, loop.g, (size_t)loop.n * sizeof(double));
    free(memory);
    if (!look.failed)
        answer = Py_BuildValue("Ldi", (long long)loop.iterations, loop.violation, finished);
all:
    PyBuffer_Release(&K);
buffers:
    PyBuffer_Release(&beta), PyBuffer_Release(&g), PyBuffer_Release(&low), PyBuffer_Release(&high);
    if (tube.obj) PyBuffer_Release(&tube);
    return answer;
}

PyMethodDef loop_methods[] = {
    {"loop_over_matrix", over_matrix, METH_VARARGS,
     "(K, beta, g, low, high, tube, sums, known, tol, most, look): β in its box is moved in place, and g becomes ℓ − Kβ,\n"
     "which it is already if `known`, else ℓ. Iterations, violation, and whether that is below tol."},
    {NULL, NULL, 0, NULL},
};
