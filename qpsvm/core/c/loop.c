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

/* n doubles in a row; or none, where they may be absent. */
static int are_doubles(const Py_buffer *view, Py_ssize_t n, int optional) {
    return view->buf ? view->len == n * (Py_ssize_t)sizeof(double) && is_aligned(view, 8) : optional;
}

int is_matrix(const Py_buffer *view) {
    Py_ssize_t size = view->itemsize;
    int kind = view->format && view->format[0] && !view->format[1] ? view->format[0] : 0;
    return view->ndim == 2 && (kind == 'f' || kind == 'd') && view->shape[0] == view->shape[1] &&
           (view->shape[0] < 2 || (view->strides[1] == size && !(view->strides[0] % size) && view->strides[0] >= size)) &&
           !((uintptr_t)view->buf & (uintptr_t)(size - 1));
}

int in_box(const Loop *loop) {
    for (Py_ssize_t t = 0; t < loop->n; t++)
        if (!(loop->beta[t] >= loop->low[t] && loop->beta[t] <= loop->high[t] && isfinite(loop->beta[t]))) return 0;
    for (Py_ssize_t t = 0; loop->tube && t < loop->n; t++)
        if (!(loop->tube[t] >= 0.0)) return 0;
    return 1;
}

void lay_out(Loop *loop, double *memory, const double *g) {
    Py_ssize_t n = loop->n, apart = padded(n);
    loop->g = memory, loop->diagonal = memory + apart;
    memset(memory, 0, (size_t)(2 * apart) * sizeof(double));
    if (n) memcpy(loop->g, g, (size_t)n * sizeof(double));
    for (int sum = 0; sum < loop->sums; sum++) {
        loop->rise[sum] = memory + (2 + 2 * sum) * apart, loop->fall[sum] = memory + (3 + 2 * sum) * apart;
        for (Py_ssize_t t = n; t < apart; t++) loop->rise[sum][t] = -INFINITY, loop->fall[sum][t] = INFINITY;
    }
}

static double stored_diagonal(Loop *loop, Py_ssize_t i) {
    const void *row = stored_row(loop, i);
    return loop->single ? (double)((const float *)row)[i] : ((const double *)row)[i];
}

/* g −= Kβ for what β is at the beginning. */
static void subtract_product(Loop *loop, Look *look) {
    for (Py_ssize_t t = 0; t < loop->n; t++)
        if (loop->beta[t] != 0.0) {
            loop_passes[core_level][loop->single].add(loop, loop->row(loop, t), -loop->beta[t]);
            if (looked(look)) return;
        }
}

/* What both loops are told beside their rows, as one tuple. */
typedef struct {
    Py_buffer beta, g, low, high, tube;
    PyObject *look;
    double tol;
    long long most;
    int known;
} Told;

static int are_told(PyObject *problem, Told *told, Loop *loop) {
    if (!PyArg_ParseTuple(problem, "w*w*y*y*z*ipdLO", &told->beta, &told->g, &told->low, &told->high, &told->tube,
                          &loop->sums, &told->known, &told->tol, &told->most, &told->look))
        return 0;
    loop->beta = told->beta.buf, loop->low = told->low.buf, loop->high = told->high.buf, loop->tube = told->tube.buf;
    return 1;
}

static void release(Told *told) {
    PyBuffer_Release(&told->beta), PyBuffer_Release(&told->g);
    PyBuffer_Release(&told->low), PyBuffer_Release(&told->high);
    if (told->tube.obj) PyBuffer_Release(&told->tube);
}

/* Whether all is as long as it has to be, and the start in its box. Leaves an error where not. */
static int is_fine(const Told *told, const Loop *loop) {
    Py_ssize_t n = loop->n;
    if ((loop->sums != 1 && loop->sums != 2) || !are_doubles(&told->beta, n, 0) || !are_doubles(&told->g, n, 0) ||
        !are_doubles(&told->low, n, 0) || !are_doubles(&told->high, n, 0) || !are_doubles(&told->tube, n, 1)) {
        PyErr_SetString(PyExc_ValueError, "one or two sums, and vectors of doubles as long as the rows are many");
        return 0;
    }
    if (!in_box(loop)) {
        PyErr_SetString(PyExc_ValueError, "the start has to be in its box, and no tube negative");
        return 0;
    }
    return 1;
}

/* Run over the rows that the loop has, and say how it ended. */
static PyObject *run(Loop *loop, const Told *told) {
    double *memory = aligned_alloc(64, (size_t)(padded(loop->n) * (2 + 2 * loop->sums)) * sizeof(double));
    if (!memory) return PyErr_NoMemory();
    lay_out(loop, memory, told->g.buf);
    int finished = 0;
    Look look;
    look_begins(&look, told->look);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t t = 0; t < loop->n; t++) loop->diagonal[t] = loop->diagonal_of(loop, t);
    if (!told->known) subtract_product(loop, &look);
    finished = loop_run(loop, told->tol, told->most, &look);
    Py_END_ALLOW_THREADS
    if (loop->n) memcpy(told->g.buf, loop->g, (size_t)loop->n * sizeof(double));
    free(memory);
    return look.failed ? NULL : Py_BuildValue("Ldi", (long long)loop->iterations, loop->violation, finished);
}

/* Rows that are kept from call to call: a capsule with this name, whose context is set while a loop reads it. */
#define ROWS "qpsvm.loop_rows"

static void rows_end(PyObject *capsule) { kept_rows_end(PyCapsule_GetPointer(capsule, ROWS)); }

static PyObject *rows(PyObject *self, PyObject *arguments) {
    (void)self;
    Samples samples = {0};
    Py_buffer X, added = {0};
    Py_ssize_t size = sizeof(float);
    long long bytes;
    double corner = -1.0;
    PyObject *answer = NULL;
    if (!PyArg_ParseTuple(arguments, "y*nnifL|y*d", &X, &samples.n, &samples.width, &samples.degree, &samples.offset, &bytes, &added, &corner))
        return NULL;
    if (samples.n < 0 || samples.width < 0 || samples.degree < 0 || samples.n > PY_SSIZE_T_MAX / 64 / (samples.width + PANEL) ||
        X.len != samples.n * samples.width * size || ((uintptr_t)X.buf & 3))
        PyErr_SetString(PyExc_ValueError, "samples have to be floats, n rows of d");
    else if (added.len && (added.len != samples.n * (Py_ssize_t)sizeof(double) || ((uintptr_t)added.buf & 7)))
        PyErr_SetString(PyExc_ValueError, "what is added to the diagonal has to be n doubles");
    else {
        Kept *kept = kept_rows(samples, X.buf, added.len ? added.buf : NULL, corner, bytes);
        answer = kept ? PyCapsule_New(kept, ROWS, rows_end) : PyErr_NoMemory();
        if (kept && !answer) kept_rows_end(kept);
    }
    PyBuffer_Release(&X);
    PyBuffer_Release(&added);
    return answer;
}

static PyObject *over_matrix(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *matrix, *problem, *answer = NULL;
    Py_buffer K;
    Told told;
    Loop loop = {0};
    if (!PyArg_ParseTuple(arguments, "OO!", &matrix, &PyTuple_Type, &problem) || !are_told(problem, &told, &loop))
        return NULL;
    if (!PyObject_GetBuffer(matrix, &K, PyBUF_STRIDES | PyBUF_FORMAT)) {
        int stands = is_matrix(&K);
        if (stands) loop.n = K.shape[0], loop.single = K.itemsize == sizeof(float);
        if (!stands)
            PyErr_SetString(PyExc_ValueError, "K has to be a square matrix of floats or doubles, stored by rows");
        else if (is_fine(&told, &loop)) {
            Stored stored = {K.buf, loop.n > 1 ? K.strides[0] : 0};
            loop.row = stored_row, loop.rows = &stored, loop.diagonal_of = stored_diagonal;
            answer = run(&loop, &told);
        }
        PyBuffer_Release(&K);
    }
    release(&told);
    return answer;
}

static PyObject *over_rows(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *capsule, *problem, *answer = NULL;
    Told told;
    Loop loop = {0};
    if (!PyArg_ParseTuple(arguments, "OO!", &capsule, &PyTuple_Type, &problem)) return NULL;
    Kept *kept = PyCapsule_GetPointer(capsule, ROWS);
    if (!kept || !are_told(problem, &told, &loop)) return NULL;
    loop.n = kept_count(kept), loop.single = 1;
    loop.row = kept_row, loop.rows = kept, loop.diagonal_of = kept_diagonal;
    if (PyCapsule_GetContext(capsule))
        PyErr_SetString(PyExc_ValueError, "another loop reads these rows");
    else if (is_fine(&told, &loop) && !PyCapsule_SetContext(capsule, kept)) {
        answer = run(&loop, &told);
        PyCapsule_SetContext(capsule, NULL);
    }
    release(&told);
    return answer;
}

PyMethodDef loop_methods[] = {
    {"loop_over_matrix", over_matrix, METH_VARARGS,
     "(K, (beta, g, low, high, tube, sums, known, tol, most, look)): β in its box is moved in place, and g becomes\n"
     "ℓ − Kβ, which it is already if `known`, else ℓ. Iterations, violation, and whether that is below tol."},
    {"loop_rows", rows, METH_VARARGS,
     "(A, n, d, degree, offset, bytes, added=b'', corner=-1): rows of the kernel of (CLOOP.8) or, of a degree, (CLOOP.9),\n"
     "kept within so much. `added` is added to the diagonal; a further row is 0 but for its corner, if that is not negative."},
    {"loop_over_rows", over_rows, METH_VARARGS, "(rows, (…)): the same over rows that are kept."},
    {NULL, NULL, 0, NULL},
};
