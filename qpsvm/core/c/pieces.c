/* The sums of (BETWEEN.1) to (BETWEEN.5) of qpsvm/many/exact/piece_certifier.py, over the rows of a machine at many points. */
#include "pieces.h"
#include <stdlib.h>

#define LEVELS_OF "pieces_passes.h"
#include "levels.h"

/* The passes of a level. */
typedef struct {
    void (*point)(const Sums *, Py_ssize_t, int);
    double (*together)(const Sums *, Py_ssize_t, Py_ssize_t);
    double (*dual)(const Sums *, Py_ssize_t, Py_ssize_t);
    void (*put)(const Ends *, Py_ssize_t, int, Py_ssize_t);
    int (*same)(const double *, const double *, Py_ssize_t);
} Passes;

#define IN_LEVEL(level) {point_##level, together_##level, dual_##level, put_##level, same_##level}
static const Passes PASSES[] = {
    IN_LEVEL(plain),
#if X86
    IN_LEVEL(avx2),
    IN_LEVEL(avx512),
#endif
};

enum {
    OF_E, OF_CURVATURE, OF_SIZES, OF_SAMPLE, OF_GROUP,        /* the rows: E, δ, ρ, their sample, their kind of E */
    OF_V, OF_T, OF_LO, OF_HI, OF_MU, OF_F, OF_KAPPA,          /* the points, one after the other */
    OF_FIRST, OF_SECOND,                                      /* the pieces */
    OF_MISSING, OF_DUAL, OF_POINTS, OF_GROUPS, BUFFERS        /* what is found */
};

static void summed(const Sums *a, int counted) {
    const Py_ssize_t pieces = a->pieces;
    const Passes *pass = &PASSES[core_level];
    Py_ssize_t done = 0;
    for (Py_ssize_t k = 0; k < pieces; k++) {
        const Py_ssize_t i = a->first[k], j = a->second[k];
        while (done <= i || done <= j) pass->point(a, done++, counted);
        double *S = a->missing + k, *D = a->dual + k;
        const int follows = k && a->second[k - 1] == i;
        S[0] = follows ? a->missing[2 * pieces + k - 1] : pass->together(a, i, i);
        D[0] = follows ? a->dual[2 * pieces + k - 1] : pass->dual(a, i, i);
        S[pieces] = i == j ? S[0] : 0.5 * (pass->together(a, i, j) + pass->together(a, j, i));
        S[2 * pieces] = i == j ? S[0] : pass->together(a, j, j);
        D[pieces] = i == j ? D[0] : pass->dual(a, i, j), D[2 * pieces] = i == j ? D[0] : pass->dual(a, j, j);
    }
    while (done < a->k) pass->point(a, done++, counted);
}

static const int BYTES = 8;

static const char *gathered(const Py_buffer *given, Sums *a) {
    static const char *const WRONG = "the buffers do not belong together";
    Py_ssize_t count[BUFFERS];
    for (int b = 0; b < BUFFERS; b++) {
        if (!is_aligned(&given[b], BYTES)) return "a buffer is not one of aligned numbers";
        count[b] = given[b].len / BYTES;
    }
    a->m = count[OF_CURVATURE], a->k = count[OF_KAPPA], a->pieces = count[OF_FIRST];
    const Py_ssize_t m = a->m, k = a->k;
    if (!k) return a->pieces ? WRONG : NULL;
    a->n = count[OF_F] / k, a->p = count[OF_MU] / k, a->groups = count[OF_GROUPS] / (k * GROUP);
    const Py_ssize_t wanted[BUFFERS] = {m * a->p, m, m, m, m, k * m, k * m, k * m, k * m, k * a->p, k * a->n, k,
                                        a->pieces, a->pieces, 3 * a->pieces, 3 * a->pieces, k * POINT,
                                        k * a->groups * GROUP};
    for (int b = 0; b < BUFFERS; b++)
        if (count[b] != wanted[b]) return WRONG;
    a->E = given[OF_E].buf, a->curvature = given[OF_CURVATURE].buf, a->sizes = given[OF_SIZES].buf;
    a->sample = given[OF_SAMPLE].buf, a->group = given[OF_GROUP].buf;
    a->first = given[OF_FIRST].buf, a->second = given[OF_SECOND].buf;
    for (Py_ssize_t i = 0; i < m; i++) {
        if (a->sample[i] < 0 || a->sample[i] >= a->n) return WRONG;
        if (a->groups && (a->group[i] < 0 || a->group[i] >= a->groups)) return WRONG;
        a->bent |= a->curvature[i] != 0;
    }
    a->plain = m == a->n;
    for (Py_ssize_t i = 0; i < m && a->plain; i++) a->plain = a->sample[i] == i;
    for (Py_ssize_t j = 0; j < a->pieces; j++)
        if (a->first[j] < 0 || a->first[j] >= k || a->second[j] < 0 || a->second[j] >= k) return WRONG;
    a->v = given[OF_V].buf, a->t = given[OF_T].buf, a->lo = given[OF_LO].buf, a->hi = given[OF_HI].buf;
    a->mu = given[OF_MU].buf, a->f = given[OF_F].buf, a->kappa = given[OF_KAPPA].buf;
    for (Py_ssize_t i = 0; i < k * m && !a->endless; i++) a->endless = a->hi[i] > DBL_MAX || a->lo[i] < -DBL_MAX;
    a->missing = given[OF_MISSING].buf, a->dual = given[OF_DUAL].buf;
    a->points = given[OF_POINTS].buf, a->kinds = given[OF_GROUPS].buf;
    return NULL;
}

static PyObject *piece_sums(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer g[BUFFERS];
    Sums a = {0};
    PyObject *arrays;
    const char *wrong = NULL;
    int counted, held = 0;
    if (!PyArg_ParseTuple(args, "O!p", &PyTuple_Type, &arrays, &counted)) return NULL;
    if (PyTuple_Size(arrays) != BUFFERS) wrong = "there are other arrays";
    for (; !wrong && held < BUFFERS; held++)
        if (PyObject_GetBuffer(PyTuple_GetItem(arrays, held), &g[held], held < OF_MISSING ? PyBUF_SIMPLE : PyBUF_WRITABLE))
            break;
    if (!wrong && held == BUFFERS) wrong = gathered(g, &a);
    if (!wrong && held == BUFFERS) {
        a.kept = 3;
        for (Py_ssize_t j = 0; j < a.pieces; j++) {
            const int64_t before = j ? a.second[j - 1] : 0, first = a.first[j], second = a.second[j];
            if (first < before || second < first || second > first + 1) a.kept = a.k; /* in any order */
        }
        const size_t size = (size_t)(a.kept * a.m), m = (size_t)a.m;
        double *work = malloc((3 * size + 4 * m + 1) * sizeof *work);
        a.room = work, a.plus = work + size, a.minus = work + 2 * size;
        a.reached = work + 3 * size, a.moved = a.reached + m, a.steep = a.moved + m, a.term = a.steep + m;
        Py_BEGIN_ALLOW_THREADS;
        if (work) summed(&a, counted);
        Py_END_ALLOW_THREADS;
        if (!work) wrong = "no memory for the points";
        free(work);
    }
    for (int b = 0; b < held; b++) PyBuffer_Release(&g[b]);
    if (wrong) PyErr_SetString(PyExc_ValueError, wrong);
    if (wrong || held < BUFFERS) return NULL;
    Py_RETURN_NONE;
}

/* --- the ends of pieces ------------------------------------------------------------------------------------------ */

enum {
    AT_GROUP, AT_START, AT_SLOPE = AT_START + 3,              /* kinds of E; t, lo, hi (m,) at s = 0, and their slopes */
    AT_TOTAL = AT_SLOPE + 3, AT_CHANGE,                       /* Σv of each kind of E, and its slope */
    AT_FREE, AT_VALUE, AT_RATE, AT_OFFSET, AT_KIND, AT_S,     /* F, v_F, its slope, where those of a piece begin; kinds; ends */
    AT_MU, AT_TURN,                                           /* μ and its slope, a piece after the other */
    AT_V, AT_DATA, AT_MULTIPLIER = AT_DATA + 3, AT_POINT,     /* out: v, t, lo, hi, μ and s of points, */
    AT_FIRST, AT_SECOND, PLACES                               /* and which of them are the ends of a piece */
};

static Py_ssize_t placed(const Ends *a) {
    const Passes *pass = &PASSES[core_level];
    Py_ssize_t count = 0;
    for (Py_ssize_t k = 0; k < a->k; k++) {
        pass->put(a, k, 0, count);
        const int known = count && pass->same(a->v + (count - 1) * a->m, a->v + count * a->m, a->m) &&
                          pass->same(a->multiplier + (count - 1) * a->p, a->multiplier + count * a->p, a->p);
        a->first[k] = known ? count - 1 : count;
        count += !known;
        pass->put(a, k, 1, count);
        a->second[k] = count++;
    }
    return count;
}

static const char *ends_of(const Py_buffer *given, Ends *a) {
    static const char *const WRONG = "the buffers do not belong together";
    Py_ssize_t count[PLACES];
    for (int b = 0; b < PLACES; b++) {
        const int bytes = b == AT_KIND ? 1 : BYTES;
        if (!is_aligned(&given[b], bytes)) return "a buffer is not one of aligned numbers";
        count[b] = given[b].len / bytes;
    }
    a->m = count[AT_GROUP], a->k = count[AT_FIRST], a->kinds = count[AT_TOTAL];
    const Py_ssize_t m = a->m, k = a->k;
    if (!k) return WRONG;
    a->p = count[AT_MU] / k;
    const Py_ssize_t f = count[AT_FREE], wanted[PLACES] = {
        m, m, m, m, m, m, m, a->kinds, a->kinds, f, f, f, k + 1, k * m, 2 * k, k * a->p, k * a->p,
        2 * k * m, 2 * k * m, 2 * k * m, 2 * k * m, 2 * k * a->p, 2 * k, k, k};
    for (int b = 0; b < PLACES; b++)
        if (count[b] != wanted[b]) return WRONG;
    a->group = given[AT_GROUP].buf, a->free = given[AT_FREE].buf, a->offset = given[AT_OFFSET].buf;
    for (Py_ssize_t i = 0; i < m && a->kinds; i++)
        if (a->group[i] < 0 || a->group[i] >= a->kinds) return WRONG;
    for (Py_ssize_t j = 0; j < f; j++)
        if (a->free[j] < 0 || a->free[j] >= m) return WRONG;
    for (Py_ssize_t j = 0; j < k; j++)
        if (a->offset[j] < 0 || a->offset[j] > a->offset[j + 1] || a->offset[j + 1] > f) return WRONG;
    for (int part = 0; part < 3; part++) {
        a->start[part] = given[AT_START + part].buf, a->slope[part] = given[AT_SLOPE + part].buf;
        a->data[part] = given[AT_DATA + part].buf;
    }
    a->total = given[AT_TOTAL].buf, a->change = given[AT_CHANGE].buf, a->value = given[AT_VALUE].buf;
    a->rate = given[AT_RATE].buf, a->kind = given[AT_KIND].buf, a->s = given[AT_S].buf, a->mu = given[AT_MU].buf;
    a->turn = given[AT_TURN].buf, a->v = given[AT_V].buf, a->multiplier = given[AT_MULTIPLIER].buf;
    a->point = given[AT_POINT].buf, a->first = given[AT_FIRST].buf, a->second = given[AT_SECOND].buf;
    return NULL;
}

static PyObject *piece_ends(PyObject *self, PyObject *arrays) {
    (void)self;
    Py_buffer g[PLACES];
    Ends a = {0};
    const char *wrong = PyTuple_Check(arrays) && PyTuple_Size(arrays) == PLACES ? NULL : "there are other arrays";
    Py_ssize_t count = 0;
    int held = 0;
    for (; !wrong && held < PLACES; held++)
        if (PyObject_GetBuffer(PyTuple_GetItem(arrays, held), &g[held], held < AT_V ? PyBUF_SIMPLE : PyBUF_WRITABLE))
            break;
    if (!wrong && held == PLACES) wrong = ends_of(g, &a);
    if (!wrong && held == PLACES) {
        Py_BEGIN_ALLOW_THREADS;
        count = placed(&a);
        Py_END_ALLOW_THREADS;
    }
    for (int b = 0; b < held; b++) PyBuffer_Release(&g[b]);
    if (wrong) PyErr_SetString(PyExc_ValueError, wrong);
    return wrong || held < PLACES ? NULL : PyLong_FromSsize_t(count);
}

PyMethodDef pieces_methods[] = {
    {"piece_ends", piece_ends, METH_O, "piece_ends(arrays): points that are the ends of pieces, and how many; as in judge.py."},
    {"piece_sums", piece_sums, METH_VARARGS,
     "piece_sums(arrays, counted): the sums that pieces of a path are judged by; the arrays as in judge.py."},
    {NULL, NULL, 0, NULL},
};
