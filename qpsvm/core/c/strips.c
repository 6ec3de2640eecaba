/* Kernel values fused with what is made of them: sums over rows that nothing is kept of, and matrices.

   (KBLOCK.1) for the RBF kernel, and whole powers of scale·aᵀc + shift. space/kernels/kernel_blocks has the equations and what
   rounding does to them. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

/* Tiles of rows in a strip, its columns, and its features, in bytes; features packed, and rows mirrored, at a time. */
#define STRIP_TILES 40
#define STRIP_COLUMNS 512
#define FEATURE_BYTES 2048
#define PACKED 32
#define MIRRORED 192
#define FEATURES (FEATURE_BYTES / (Py_ssize_t)sizeof(REAL))

typedef struct {
    const char *a, *half; /* (n, d) and −½‖a‖² (n,), doubles at any address; half may be NULL */
    Py_ssize_t n, d;
} Samples;

typedef struct {
    const Samples *samples;
    const char *index; /* the rows that are meant, 64-bit integers at any address */
    Py_ssize_t count;
} Side;

typedef struct {
    int power, first; /* 0: e^x; and the highest bit of the power but one */
    double scale, shift;
} Kernel;

typedef struct {
    const Kernel *kernel;
    Side left, right;
    const char *weights;                   /* of the left rows, for sums; or NULL, for values */
    char *out;                             /* doubles for sums, the precision's own for values */
    Py_ssize_t width, row, column;         /* of the matrix, and where in it */
    int mirrors;                           /* on the other side of its diagonal */
} Job;

/* A part of a job: rows × columns, over some features, the first of all where it begins, the last where it ends. */
typedef struct {
    Py_ssize_t row, column, rows, columns, features;
    int begins, ends;
} Strip;

static inline Py_ssize_t least(Py_ssize_t x, Py_ssize_t y) { return x < y ? x : y; }

static inline double number(const char *at, Py_ssize_t k) {
    double x;
    memcpy(&x, at + 8 * k, 8);
    return x;
}

static inline Py_ssize_t row_of(const Side *side, Py_ssize_t k) {
    int64_t row;
    memcpy(&row, side->index + 8 * k, 8);
    return (Py_ssize_t)row;
}

#define LEVEL 0
#define ROWS 4
#include "vectors.h"
#include "exp.h"
#include "strips_precisions.h"
#undef LEVEL
#undef ROWS
#if X86
#define LEVEL 1
#define ROWS 6
#include "vectors.h"
#include "exp.h"
#include "strips_precisions.h"
#undef LEVEL
#undef ROWS
#define LEVEL 2
#define ROWS 12
#include "vectors.h"
#include "exp.h"
#include "strips_precisions.h"
#undef LEVEL
#undef ROWS
#endif

typedef int Strips(const Job *job, Look *look);

static Strips *const STRIPS[][2] = {
    {strips_double_plain, strips_single_plain},
#if X86
    {strips_double_avx2, strips_single_avx2},
    {strips_double_avx512, strips_single_avx512},
#endif
};

/* Run a job without the interpreter's lock: None, or an error. */
static PyObject *run(const Job *job, int single) {
    Look look;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    look_begins(&look, NULL);
    failed = STRIPS[core_level][single](job, &look);
    Py_END_ALLOW_THREADS
    if (!failed) Py_RETURN_NONE;
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* What both functions are called with first: the buffers of samples and of both sides, and the kernel. */
typedef struct {
    Py_buffer a, half, left, right, weights, out;
    Samples samples;
    Kernel kernel;
} Given;

static void release(Given *given) {
    Py_buffer *all[] = {&given->a, &given->half, &given->left, &given->right, &given->weights, &given->out};
    for (int k = 0; k < 6; k++)
        if (all[k]->obj) PyBuffer_Release(all[k]);
}

/* Whether every row of a side is one of n. */
static int inside(const Side *side) {
    for (Py_ssize_t k = 0; k < side->count; k++) {
        const Py_ssize_t row = row_of(side, k);
        if (row < 0 || row >= side->samples->n) return 0;
    }
    return 1;
}

/* Sizes of buffers against each other, and rows within: a job but for its output, or a ValueError and 0. */
static int begun(Given *given, Job *job) {
    const Py_ssize_t d = given->samples.d;
    const char *wrong = NULL;
    Py_ssize_t n = 0;
    if (d < 1 || d > PY_SSIZE_T_MAX / 8 || given->a.len % (8 * d))
        wrong = "samples are doubles, d of them a row";
    else if (n = given->a.len / (8 * d), given->half.len && given->half.len != 8 * n)
        wrong = "one half a row";
    else if (given->left.len % 8 || given->right.len % 8)
        wrong = "rows are 64-bit integers";
    else if (given->kernel.power < 0 || (!given->kernel.power && !given->half.len && n))
        wrong = "an exponent has halves, a power is positive";
    if (!wrong) {
        given->samples = (Samples){given->a.buf, given->half.len ? given->half.buf : NULL, n, d};
        given->kernel.first = 0;
        for (int bit = 1; bit <= given->kernel.power / 2; bit *= 2) given->kernel.first = bit;
        *job = (Job){.kernel = &given->kernel,
                     .left = {&given->samples, given->left.buf, given->left.len / 8},
                     .right = {&given->samples, given->right.buf, given->right.len / 8},
                     .out = given->out.buf};
        if (!inside(&job->left) || !inside(&job->right)) wrong = "a row that is not there";
    }
    if (wrong) PyErr_SetString(PyExc_ValueError, wrong);
    return !wrong;
}

static PyObject *strip_sums(PyObject *self, PyObject *args) {
    (void)self;
    Given given = {0};
    Job job;
    int single;
    PyObject *said = NULL;
    if (!PyArg_ParseTuple(args, "(y*y*nidd)y*y*py*w*", &given.a, &given.half, &given.samples.d, &given.kernel.power,
                          &given.kernel.scale, &given.kernel.shift, &given.left, &given.right, &single, &given.weights,
                          &given.out))
        return NULL;
    if (begun(&given, &job)) {
        job.weights = given.weights.buf;
        if (given.weights.len != given.left.len || given.out.len != given.right.len)
            PyErr_SetString(PyExc_ValueError, "a weight for each left row, and a sum for each right one");
        else
            said = run(&job, single);
    }
    release(&given);
    return said;
}

/* Whether rows × columns of a job lie in its matrix, with what is mirrored. */
static int fits(const Job *job, Py_ssize_t size, Py_ssize_t bytes) {
    const Py_ssize_t width = job->width, rows = job->left.count, columns = job->right.count;
    if (width < 1 || bytes % size || (bytes / size) % width) return 0;
    const Py_ssize_t height = bytes / size / width;
    if (job->row < 0 || job->column < 0 || job->row > height - rows || job->column > width - columns) return 0;
    return !job->mirrors || (job->column <= height - columns && job->row <= width - rows);
}

static PyObject *strip_values(PyObject *self, PyObject *args) {
    (void)self;
    Given given = {0};
    Job job;
    int single, mirrors;
    Py_ssize_t width, row, column;
    PyObject *said = NULL;
    if (!PyArg_ParseTuple(args, "(y*y*nidd)y*y*pw*nnnp", &given.a, &given.half, &given.samples.d, &given.kernel.power,
                          &given.kernel.scale, &given.kernel.shift, &given.left, &given.right, &single, &given.out,
                          &width, &row, &column, &mirrors))
        return NULL;
    if (begun(&given, &job)) {
        job.width = width, job.row = row, job.column = column, job.mirrors = mirrors;
        if (!fits(&job, single ? 4 : 8, given.out.len))
            PyErr_SetString(PyExc_ValueError, "the block lies outside of the matrix");
        else
            said = run(&job, single);
    }
    release(&given);
    return said;
}

PyMethodDef strips_methods[] = {
    {"strip_sums", strip_sums, METH_VARARGS, "Add the sums over rows of weights times K, for every right row, to out."},
    {"strip_values", strip_values, METH_VARARGS, "Put K of left × right rows where they stand in a matrix."},
    {NULL, NULL, 0, NULL},
};
