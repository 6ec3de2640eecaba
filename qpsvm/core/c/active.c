/* Events of a parametric active set, (ACTIVE.1) and (ACTIVE.2) of qpsvm/many/exact/active_set.py, until one is unusual:
   a tie, a row that adds nothing or may not go, a residual that has to be repaired. That is left to Python.

     (CACTIVE.1)  row i comes: all moves change by τ(−x, 1) for x = M⁻¹[E_i; K_Fi], τ = −ġ_i/κ;  row j goes to the rate
                  ρ of its bound: by τ c/c_j for its column c of M⁻¹, τ = ρ − v̇_j
     (CACTIVE.2)  either is a vector u over F and i, so ḟ changes by τ Kᵀu: one product with the rows of F an event,
                  which says the residual of u, and κ, too */
#include "core.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_OF "active_passes.h"
#include "levels.h"

typedef void Combine(double *, const double *, Py_ssize_t, const double *, Py_ssize_t, Py_ssize_t);
typedef void RankOne(double *, Py_ssize_t, const double *, double, Py_ssize_t);
#if X86
static Combine *const COMBINE[] = {combine_plain, combine_avx2, combine_avx512};
static RankOne *const RANK_ONE[] = {rank_one_plain, rank_one_avx2, rank_one_avx512};
#else
static Combine *const COMBINE[] = {combine_plain};
static RankOne *const RANK_ONE[] = {rank_one_plain};
#endif

/* Those of active_set.py and factor.py. */
static const double NOISE = 1e-13, STEP = 1e-14, REFINED = 1e-11, LEAST_SIZE = 1e-4, NO_EXIT = 1e-9;
/* A residual of u above this share of its terms is refined once; and a direction that was so much larger than it is
   now has left roundings in ḟ. */
static const double SHARP = 1e-13, FADED = 1e4;

/* Why it ends: at s = 1; enough steps; anew from here; a step that Python does; a row that Python lets in, or out. */
enum { END, FULL, AGAIN, UNUSUAL, ENTERS, LEAVES_UP, LEAVES_DOWN };

typedef struct {
    Py_ssize_t n, m, p, size, count, limit, width;
    const double *K, *E, *curvature, *ridge, *slope[4];
    const int64_t *sample;
    double top, no_pivot, s, *now[4], *v, *mu, *f, *rate, *q, *b, *W, *kernel;
    int8_t *kind;
    const uint8_t *pinned;
    int64_t *order;
    double *steps; /* (limit, 2 + 2p + 2 width): s, end, μ, μ̇, v_F, v̇_F */
    int64_t *rows; /* (limit, 1 + width): |F|, F */
    int8_t *kinds; /* (limit, m) */
    int moves[4];  /* whether a part of the slope is not 0 */
    double *Z, *df, *u, *y, *left, largest;
    Combine *combine;
    RankOne *rank_one;
} Set;

enum { LEVEL_T, LO, HI, TOTAL };

static double most(const double *x, Py_ssize_t n) {
    double found = 0;
    for (Py_ssize_t k = 0; k < n; k++) found = fabs(x[k]) > found ? fabs(x[k]) : found;
    return found;
}

static const double *kernel_row(const Set *a, Py_ssize_t i) { return a->K + a->sample[i] * a->n; }

static double dot_E(const Set *a, Py_ssize_t i, const double *mu) {
    double sum = 0;
    for (Py_ssize_t g = 0; g < a->p; g++) sum += a->E[i * a->p + g] * mu[g];
    return sum;
}

/* y = Σ_j x_j K_j over F for x behind p others. */
static void product(const Set *a, double *y, const double *x) {
    memset(y, 0, (size_t)a->n * sizeof *y);
    a->combine(y, a->kernel, a->n, x + a->p, a->count, a->n);
}

/* x += M⁻¹ c. */
static void solved(const Set *a, double *x, const double *c) {
    a->combine(x, a->W, a->size, c, a->p + a->count, a->p + a->count);
}

/* left −= M x, for y = Kᵀx. */
static void without(const Set *a, double *left, const double *x, const double *y) {
    const Py_ssize_t p = a->p;
    for (Py_ssize_t g = 0; g < p; g++) left[g] += a->ridge[g] * x[g];
    for (Py_ssize_t j = 0; j < a->count; j++) {
        const Py_ssize_t i = a->order[j];
        left[p + j] -= y[a->sample[i]] + dot_E(a, i, x) + a->curvature[i] * x[p + j];
        for (Py_ssize_t g = 0; g < p; g++) left[g] -= a->E[i * p + g] * x[p + j];
    }
}

/* The right side of the direction, and its residual in `left`; how large it is, and what it is to be compared with. */
static double unsolved(const Set *a, double *scale, int moving) {
    const Py_ssize_t p = a->p, q = p + a->count;
    double *c = a->left;
    for (Py_ssize_t g = 0; g < p; g++) c[g] = a->slope[TOTAL][g] - a->b[g];
    for (Py_ssize_t j = 0; j < a->count; j++) c[p + j] = a->slope[LEVEL_T][a->order[j]] - a->q[a->sample[a->order[j]]];
    *scale = most(c, q) + 1e-4 * a->top * most(a->Z + p, a->count);
    if (moving) {
        for (Py_ssize_t k = 0; k < a->n; k++) a->y[k] = a->df[k] - a->q[k];
        without(a, c, a->Z, a->y);
    }
    return most(c, q);
}

static void with_q(const Set *a) {
    product(a, a->df, a->Z);
    for (Py_ssize_t k = 0; k < a->n; k++) a->df[k] += a->q[k];
}

/* The direction from M⁻¹; whether it solves its system. */
static int fresh(Set *a) {
    double scale;
    memset(a->Z, 0, (size_t)(a->p + a->count) * sizeof *a->Z);
    unsolved(a, &scale, 0);
    for (int attempt = 0; attempt < 2; attempt++) {
        solved(a, a->Z, a->left);
        with_q(a);
        double bad = unsolved(a, &scale, 1);
        a->largest = most(a->Z + a->p, a->count);
        if (bad <= REFINED * scale) return 1;
        if (!(bad <= 1e-6 * scale)) return 0;
    }
    return 0;
}

/* Whether v_F and μ are where g = 0, to rounding. */
static int placed(const Set *a) {
    double mass = 0;
    for (Py_ssize_t i = 0; i < a->m; i++) mass += fabs(a->v[i]);
    const double level = 4 * DBL_EPSILON * (mass * a->top + most(a->now[LEVEL_T], a->m));
    for (Py_ssize_t j = 0; j < a->count; j++) {
        const Py_ssize_t i = a->order[j];
        double g = a->f[a->sample[i]] + dot_E(a, i, a->mu) + a->curvature[i] * a->v[i] - a->now[LEVEL_T][i];
        if (!(fabs(g) <= level)) return 0;
    }
    for (Py_ssize_t g = 0; g < a->p; g++) {
        double off = a->now[TOTAL][g] + a->ridge[g] * a->mu[g];
        for (Py_ssize_t i = 0; i < a->m; i++) off -= a->E[i * a->p + g] * a->v[i];
        if (!(fabs(off) <= 4 * DBL_EPSILON * mass)) return 0;
    }
    return 1;
}

/* The next event: its step and place, or UNUSUAL where a row would stop a step of length 0. */
static int next(const Set *a, double *step, Py_ssize_t *place) {
    const Py_ssize_t p = a->p;
    const double *t = a->now[LEVEL_T], *dt = a->slope[LEVEL_T], *dmu = a->Z, *dv = a->Z + p;
    double square = 0, large_hi = 0, large_v = most(a->v, a->m), large_t = most(t, a->m);
    for (Py_ssize_t i = 0; i < a->m; i++) {
        square += a->v[i] * a->v[i];
        double hi = fabs(a->now[HI][i]);
        large_hi = hi > large_hi && hi <= DBL_MAX ? hi : large_hi;
    }
    const double small = DBL_EPSILON * (2 * sqrt(square) * a->top + large_t + most(a->mu, p));
    const double noise = NOISE * (most(a->df, a->n) + most(dmu, p) + (a->moves[LEVEL_T] ? most(dt, a->m) : 0));
    int which = END;
    *step = INFINITY;
    for (Py_ssize_t i = 0; i < a->m; i++) {
        const double kind = a->kind[i];
        if (kind == 0 || a->pinned[i]) continue;
        const Py_ssize_t k = a->sample[i];
        const double rising = kind * (a->df[k] - dt[i] + dot_E(a, i, dmu) + a->curvature[i] * a->rate[i]);
        if (!(rising > noise)) continue;
        const double gap = -kind * (a->f[k] - t[i] + dot_E(a, i, a->mu) + a->curvature[i] * a->v[i]);
        if (gap < small) return UNUSUAL;
        if (gap / rising < *step) *step = gap / rising, *place = i, which = ENTERS;
    }
    const double large = most(dv, a->count), still = NOISE * (large > DBL_MIN ? large : DBL_MIN);
    const double tiny = large_v + large_hi, near = STEP * (tiny > DBL_MIN ? tiny : DBL_MIN);
    for (int side = 0; side < 2; side++)
        for (Py_ssize_t j = 0; j < a->count; j++) {
            const Py_ssize_t i = a->order[j];
            const double rate = side ? a->slope[LO][i] - dv[j] : dv[j] - a->slope[HI][i];
            if (!(rate > still)) continue;
            const double room = side ? a->v[i] - a->now[LO][i] : a->now[HI][i] - a->v[i];
            if (room < near) return UNUSUAL;
            if (room / rate < *step) *step = room / rate, *place = j, which = side ? LEAVES_DOWN : LEAVES_UP;
        }
    return which;
}

static void recorded(const Set *a, Py_ssize_t at, double end) {
    if (!a->width) return;
    const Py_ssize_t p = a->p, f = a->count;
    double *to = a->steps + at * (2 + 2 * p + 2 * a->width);
    int64_t *rows = a->rows + at * (1 + a->width);
    to[0] = a->s, to[1] = end;
    memcpy(to + 2, a->mu, (size_t)p * sizeof *to), memcpy(to + 2 + p, a->Z, (size_t)p * sizeof *to);
    memcpy(to + 2 + 2 * p + a->width, a->Z + p, (size_t)f * sizeof *to);
    for (Py_ssize_t j = 0; j < f; j++) to[2 + 2 * p + j] = a->v[a->order[j]];
    rows[0] = f;
    memcpy(rows + 1, a->order, (size_t)f * sizeof *rows);
    memcpy(a->kinds + at * a->m, a->kind, (size_t)a->m);
}

static void move(Set *a, double step) {
    const Py_ssize_t parts[] = {a->m, a->m, a->m, a->p};
    for (Py_ssize_t j = 0; j < a->count; j++) a->v[a->order[j]] += step * a->Z[a->p + j];
    for (Py_ssize_t g = 0; g < a->p; g++) a->mu[g] += step * a->Z[g];
    for (Py_ssize_t k = 0; k < a->n; k++) a->f[k] += step * a->df[k];
    for (int part = 0; part < 4; part++)
        if (a->moves[part])
            for (Py_ssize_t i = 0; i < parts[part]; i++) a->now[part][i] += step * a->slope[part][i];
    for (Py_ssize_t i = 0; i < a->m; i++)
        if (a->kind[i]) a->v[i] = a->kind[i] > 0 ? a->now[HI][i] : a->now[LO][i];
    a->s += step;
}

static void set_rate(Set *a, Py_ssize_t i, double rate) {
    const double change = rate - a->rate[i];
    if (!change) return;
    a->rate[i] = rate;
    a->combine(a->q, kernel_row(a, i), 0, &change, 1, a->n);
    for (Py_ssize_t g = 0; g < a->p; g++) a->b[g] += change * a->E[i * a->p + g];
}

/* (CACTIVE.1) and (CACTIVE.2): τ u, with y = Kᵀu. */
static void turned(Set *a, double by) {
    for (Py_ssize_t k = 0; k < a->p + a->count; k++) a->Z[k] += by * a->u[k];
    for (Py_ssize_t k = 0; k < a->n; k++) a->df[k] += by * a->y[k];
    const double now = most(a->Z + a->p, a->count);
    a->largest = now > a->largest ? now : a->largest;
}

/* Row i becomes free; 0 where it adds too little. */
static int enter(Set *a, Py_ssize_t i) {
    const Py_ssize_t p = a->p, q = p + a->count;
    const double *Ki = kernel_row(a, i), own = Ki[a->sample[i]] + a->curvature[i];
    double *u = a->u, *c = a->left, size = own, sum = own;
    memset(u, 0, (size_t)q * sizeof *u);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!attempt) {
            for (Py_ssize_t g = 0; g < p; g++) c[g] = -a->E[i * p + g];
            for (Py_ssize_t j = 0; j < a->count; j++) c[p + j] = -Ki[a->sample[a->order[j]]];
        }
        solved(a, u, c);
        product(a, a->y, u);
        for (Py_ssize_t g = 0; g < p; g++) c[g] = -a->E[i * p + g];
        for (Py_ssize_t j = 0; j < a->count; j++) c[p + j] = -Ki[a->sample[a->order[j]]];
        without(a, c, u, a->y);
        sum = 0;
        for (Py_ssize_t j = 0; j < a->count; j++) sum += fabs(u[p + j]);
        if (most(c, q) <= SHARP * a->top * (1 + sum)) break;
    }
    for (Py_ssize_t k = 0; k < a->n; k++) a->y[k] += Ki[k];
    const double pivot = a->y[a->sample[i]] + a->curvature[i] + dot_E(a, i, u);
    for (Py_ssize_t j = 0; j < a->count; j++) {
        const Py_ssize_t k = a->order[j];
        size += u[p + j] * u[p + j] * (a->K[a->sample[k] * (a->n + 1)] + a->curvature[k]);
    }
    const double least = LEAST_SIZE * a->top;
    if (!(pivot / (size > least ? size : least) > a->no_pivot)) return 0;
    const double dg = a->df[a->sample[i]] - a->slope[LEVEL_T][i] + dot_E(a, i, a->Z) + a->curvature[i] * a->rate[i];
    const double by = -dg / pivot;
    turned(a, by);
    a->Z[q] = a->rate[i] + by;
    set_rate(a, i, 0.0);
    u[q] = 1.0;
    double *last = a->W + q * a->size;
    memset(last, 0, (size_t)(q + 1) * sizeof *last);
    for (Py_ssize_t k = 0; k <= q; k++) a->W[k * a->size + q] = 0;
    a->rank_one(a->W, a->size, u, 1.0 / pivot, q + 1);
    memcpy(a->kernel + a->count * a->n, Ki, (size_t)a->n * sizeof *Ki);
    a->order[a->count++] = i;
    a->kind[i] = 0;
    return 1;
}

/* Position j of F goes to a bound; 0 where M would be singular. */
static int leave(Set *a, Py_ssize_t j, int kind) {
    const Py_ssize_t p = a->p, q = p + a->count, at = p + j, i = a->order[j];
    double *u = a->u, *c = a->left, *W = a->W;
    if (!(W[at * a->size + at] * a->top > NO_EXIT)) return 0;
    memcpy(u, W + at * a->size, (size_t)q * sizeof *u);
    for (int attempt = 0; attempt < 2; attempt++) {
        product(a, a->y, u);
        memset(c, 0, (size_t)q * sizeof *c);
        c[at] = 1;
        without(a, c, u, a->y);
        double sum = 0;
        for (Py_ssize_t k = 0; k < a->count; k++) sum += fabs(u[p + k]);
        if (attempt || most(c, q) <= SHARP * (a->top * sum + 1)) break;
        solved(a, u, c);
    }
    const double rate = a->slope[kind > 0 ? HI : LO][i];
    turned(a, (rate - a->Z[at]) / u[at]);
    const Py_ssize_t last = q - 1, size = a->size;
    if (at != last) {
        for (Py_ssize_t k = 0; k < q; k++) {
            double other = W[at * size + k];
            W[at * size + k] = W[last * size + k], W[last * size + k] = other;
        }
        for (Py_ssize_t k = 0; k < q; k++) {
            double other = W[k * size + at];
            W[k * size + at] = W[k * size + last], W[k * size + last] = other;
        }
        a->order[j] = a->order[a->count - 1], a->Z[at] = a->Z[last];
        memcpy(a->kernel + j * a->n, a->kernel + (a->count - 1) * a->n, (size_t)a->n * sizeof *a->kernel);
    }
    a->count--;
    memcpy(u, W + last * size, (size_t)q * sizeof *u);
    a->rank_one(W, size, u, -1.0 / u[last], last);
    const double bound = a->now[kind > 0 ? HI : LO][i], off = bound - a->v[i];
    a->kind[i] = (int8_t)kind;
    set_rate(a, i, rate);
    if (off) a->combine(a->f, kernel_row(a, i), 0, &off, 1, a->n), a->v[i] = bound;
    return 1;
}

/* Steps until one is unusual, or they are enough: why, and how many; the event that is left to Python has its place. */
static int run(Set *a, Py_ssize_t *steps, Py_ssize_t *place) {
    *steps = 0, *place = 0;
    if (!placed(a) || !fresh(a)) return UNUSUAL;
    for (;;) {
        double step, scale;
        int which = next(a, &step, place);
        if (which == UNUSUAL) return UNUSUAL;
        const int last = !(step < 1 - a->s);
        step = last ? 1 - a->s : step;
        recorded(a, *steps, last ? 1 : a->s + step);
        ++*steps;
        move(a, step);
        if (last) return END;
        if (which == ENTERS ? !enter(a, *place) : !leave(a, *place, which == LEAVES_UP ? 1 : -1)) return which;
        if (*steps == a->limit) return FULL;
        if (!(unsolved(a, &scale, 1) <= REFINED * scale)) return AGAIN;
        if (a->largest > FADED * most(a->Z + a->p, a->count) || !placed(a)) return AGAIN;
    }
}

/* --- the module -------------------------------------------------------------------------------------------------- */

enum {
    OF_K, OF_E, OF_CURVATURE, OF_RIDGE, OF_SAMPLE,              /* the rows */
    OF_SLOPE, OF_NOW = OF_SLOPE + 4, OF_PINNED = OF_NOW + 4,    /* t, lo, hi, e */
    OF_V, OF_MU, OF_F, OF_RATE, OF_Q, OF_B, OF_KIND,            /* where it is */
    OF_W, OF_KERNEL, OF_ORDER,                                  /* F */
    OF_STEPS, OF_ROWS, OF_KINDS, BUFFERS                        /* what it went through */
};

static const int BYTES[BUFFERS] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 1, 8, 8, 8, 8, 8, 8, 1, 8, 8, 8, 8, 8, 1};

static Py_ssize_t count_of(const Py_buffer *given, int which) { return given[which].len / BYTES[which]; }

/* Whether the buffers belong together; NULL, or what is wrong. */
static const char *gathered(const Py_buffer *given, Set *a) {
    static const char *const WRONG = "the buffers do not belong together";
    for (int k = 0; k < BUFFERS; k++)
        if (!is_aligned(&given[k], BYTES[k])) return "a buffer is not one of aligned numbers";
    a->n = count_of(given, OF_F), a->m = count_of(given, OF_V), a->p = count_of(given, OF_MU);
    const Py_ssize_t m = a->m, p = a->p, n = a->n, size = count_of(given, OF_ORDER);
    a->size = size;
    const Py_ssize_t wanted[BUFFERS] = {n * n, m * p, m, p, m, m, m, m, p, m, m, m, p, m, m, p, n, m, n, p, m,
                                        size * size, -1, size, -1, -1, -1};
    for (int k = 0; k < BUFFERS; k++)
        if (wanted[k] >= 0 && count_of(given, k) != wanted[k]) return WRONG;
    if (a->count < 0 || a->limit < 1 || p + a->count + a->limit + 1 > size) return "there is no room";
    if (count_of(given, OF_KERNEL) < (a->count + a->limit + 1) * n) return "there is no room";
    if (a->width < 0 || a->width > PY_SSIZE_T_MAX / 64 / a->limit ||
        (a->width && (a->width < a->count + a->limit || count_of(given, OF_ROWS) < a->limit * (1 + a->width) ||
                      count_of(given, OF_STEPS) < a->limit * (2 + 2 * p + 2 * a->width) ||
                      count_of(given, OF_KINDS) < a->limit * m)))
        return "there is no room";
    a->sample = given[OF_SAMPLE].buf, a->order = given[OF_ORDER].buf;
    for (Py_ssize_t i = 0; i < m; i++)
        if (a->sample[i] < 0 || a->sample[i] >= n) return WRONG;
    for (Py_ssize_t j = 0; j < a->count; j++)
        if (a->order[j] < 0 || a->order[j] >= m) return WRONG;
    a->K = given[OF_K].buf, a->E = given[OF_E].buf, a->curvature = given[OF_CURVATURE].buf;
    a->ridge = given[OF_RIDGE].buf, a->pinned = given[OF_PINNED].buf, a->kind = given[OF_KIND].buf;
    for (int part = 0; part < 4; part++) {
        a->slope[part] = given[OF_SLOPE + part].buf, a->now[part] = given[OF_NOW + part].buf;
        a->moves[part] = most(a->slope[part], count_of(given, OF_SLOPE + part)) > 0;
    }
    a->v = given[OF_V].buf, a->mu = given[OF_MU].buf, a->f = given[OF_F].buf, a->rate = given[OF_RATE].buf;
    a->q = given[OF_Q].buf, a->b = given[OF_B].buf, a->W = given[OF_W].buf, a->kernel = given[OF_KERNEL].buf;
    a->steps = given[OF_STEPS].buf, a->rows = given[OF_ROWS].buf, a->kinds = given[OF_KINDS].buf;
    return NULL;
}

static int is_written(int which) { return which >= OF_NOW && which != OF_PINNED; }

static PyObject *active_run(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer g[BUFFERS];
    Set a = {.combine = COMBINE[core_level], .rank_one = RANK_ONE[core_level]};
    Py_ssize_t steps = 0, place = 0;
    PyObject *arrays;
    const char *wrong = NULL;
    int why = END, held = 0;
    if (!PyArg_ParseTuple(args, "O!dddnnn", &PyTuple_Type, &arrays, &a.top, &a.no_pivot, &a.s, &a.count, &a.limit,
                          &a.width))
        return NULL;
    if (PyTuple_Size(arrays) != BUFFERS) wrong = "there are other arrays";
    for (; !wrong && held < BUFFERS; held++)
        if (PyObject_GetBuffer(PyTuple_GetItem(arrays, held), &g[held], is_written(held) ? PyBUF_WRITABLE : PyBUF_SIMPLE))
            break;
    if (!wrong && held == BUFFERS) wrong = gathered(g, &a);
    if (!wrong && held == BUFFERS) {
        double *work = malloc((size_t)(3 * a.size + 2 * a.n + 1) * sizeof *work);
        a.Z = work, a.u = work + a.size, a.left = work + 2 * a.size;
        a.df = work + 3 * a.size, a.y = work + 3 * a.size + a.n;
        Py_BEGIN_ALLOW_THREADS;
        if (work) why = run(&a, &steps, &place);
        Py_END_ALLOW_THREADS;
        if (!work) wrong = "no memory for one more vector";
        free(work);
    }
    for (int k = 0; k < held; k++) PyBuffer_Release(&g[k]);
    if (wrong) PyErr_SetString(PyExc_ValueError, wrong);
    if (wrong || held < BUFFERS) return NULL;
    return Py_BuildValue("innnd", why, place, steps, a.count, a.s);
}

PyMethodDef active_methods[] = {
    {"active_run", active_run, METH_VARARGS,
     "active_run(arrays, top, no_pivot, s, count, limit, width): (why, place, steps, count, s); the arrays as in events.py."},
    {NULL, NULL, 0, NULL},
};
