/* Dual coordinate descent over rows, one α after the other: what solvers/linear/coordinate begins with.

       (DESCENT.1)  minimise ½‖w‖² + ½b²/e² + Σ(½δ_i a_i² + ε_i|a_i| − ℓ_i a_i)  over lo_i ≤ a_i ≤ hi_i,
                    w = Σ y_i a_i x_i,  b = c + e²s,  s = Σ y_i a_i
       (DESCENT.2)  G = y_i(⟨w, x_i⟩ + b) − ℓ_i + δ_i a_i,  H = ‖x_i‖² + e² + δ_i,
                    a_i ← clip(S(a_i − G/H, ε_i/H), lo_i, hi_i),  S(t, k) = t − clip(t, −k, k)

   c = 0 for a penalised intercept, e = 0 for none. A free one is the multiplier of s = 0, found by the method of
   multipliers: c ← c + e²s after every pass.
   Rows go in random order. A row whose α rests at a bound or at the kink, with a derivative beyond what any row of the
   pass before could gain, is set aside until the others are done (Hsieh et al. 2008, section 3.2). They are done when
   the rows' shares of the gap (LOSSES.5), each at its turn, add up to less than tol times the objective. */
#include "rows.h"
#include <math.h>
#include <string.h>

/* One number for all rows (step 0), or one a row (step 1). */
typedef struct {
    const double *at;
    int step;
} Each;

#define OF(each, i) ((each).at[(i) * (each).step])

/* Numbers between two looks at the clock, and those that a row's own work is worth. */
#define WORK 400000
#define ROW 16
/* Bytes of a row that are called for before its turn. */
#define AHEAD 512
#define LINE 64

/* Four sums side by side: an addition need not wait for the one before it. */
#define SPARSE_LOOPS(NAME, INDEX)                                                                                      \
    static double dot_##NAME(const double *v, const INDEX *j, int64_t k, const double *w) {                            \
        double a = 0, b = 0, c = 0, e = 0;                                                                             \
        for (; k >= 4; k -= 4, v += 4, j += 4) {                                                                       \
            a += v[0] * w[j[0]], b += v[1] * w[j[1]];                                                                  \
            c += v[2] * w[j[2]], e += v[3] * w[j[3]];                                                                  \
        }                                                                                                              \
        for (; k > 0; k--) a += *v++ * w[*j++];                                                                        \
        return (a + b) + (c + e);                                                                                      \
    }                                                                                                                  \
    static void add_##NAME(const double *v, const INDEX *j, int64_t k, double by, double *w) {                         \
        for (; k > 0; k--) w[*j++] += by * *v++;                                                                       \
    }
SPARSE_LOOPS(short, int32_t)
SPARSE_LOOPS(long, int64_t)

/* The same of dense rows, eight at a time where the processor has such registers. */
typedef double Eight __attribute__((vector_size(64), aligned(8), may_alias));
#define DENSE_LOOPS(NAME, TARGET)                                                                                      \
    TARGET static double dot_##NAME(const double *v, int64_t k, const double *w) {                                     \
        double sum = 0;                                                                                                \
        if (k >= 8) {                                                                                                  \
            Eight sums = {0};                                                                                          \
            for (; k >= 8; k -= 8, v += 8, w += 8) sums += *(const Eight *)v * *(const Eight *)w;                      \
            sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));           \
        }                                                                                                              \
        for (; k > 0; k--) sum += *v++ * *w++;                                                                         \
        return sum;                                                                                                    \
    }                                                                                                                  \
    TARGET static void add_##NAME(const double *v, int64_t k, double by, double *w) {                                  \
        for (int64_t j = 0; j < k; j++) w[j] += by * v[j];                                                             \
    }
DENSE_LOOPS(plain, )
#if X86
DENSE_LOOPS(avx2, __attribute__((target("avx2"))))
DENSE_LOOPS(avx512, __attribute__((target("avx512f"))))
#endif

static double dot(const Table *X, int64_t i, const double *w) {
    int64_t first = begin_of(X, i), k = begin_of(X, i + 1) - first;
    const double *v = X->data + first;
    if (X->columns) {
        if (X->wide) return dot_long(v, (const int64_t *)X->columns + first, k, w);
        return dot_short(v, (const int32_t *)X->columns + first, k, w);
    }
#if X86
    if (core_level == AVX512) return dot_avx512(v, k, w);
    if (core_level == AVX2) return dot_avx2(v, k, w);
#endif
    return dot_plain(v, k, w);
}

static void add(const Table *X, int64_t i, double by, double *w) {
    int64_t first = begin_of(X, i), k = begin_of(X, i + 1) - first;
    const double *v = X->data + first;
    if (X->columns) {
        if (X->wide) add_long(v, (const int64_t *)X->columns + first, k, by, w);
        else add_short(v, (const int32_t *)X->columns + first, k, by, w);
        return;
    }
#if X86
    if (core_level == AVX512) { add_avx512(v, k, by, w); return; }
    if (core_level == AVX2) { add_avx2(v, k, by, w); return; }
#endif
    add_plain(v, k, by, w);
}

/* Call a row to the cache. */
static void ahead(const Table *X, int64_t i) {
    int64_t first = begin_of(X, i), bytes = 8 * (begin_of(X, i + 1) - first);
    bytes = bytes < AHEAD ? bytes : AHEAD;
    const char *values = (const char *)(X->data + first);
    for (int64_t k = 0; k < bytes; k += LINE) __builtin_prefetch(values + k);
    if (!X->columns) return;
    const char *columns = (const char *)X->columns + (X->wide ? 8 : 4) * first;
    for (int64_t k = 0; k < (X->wide ? bytes : bytes / 2); k += LINE) __builtin_prefetch(columns + k);
}

typedef struct {
    Table X;
    Each y, level, low, high, tube, curvature;
    double *alpha, *w, *squares; /* squares (n,): ‖x_i‖² */
    int64_t *order;              /* (n,): rows at work first */
    double unit, centre, sum;    /* e², c, s */
    double dual, gap;
    int64_t active, passes, work;
    uint64_t random;
    int free;
    Look look;
} Descent;

static double b_of(const Descent *D) { return D->centre + D->unit * D->sum; }

static uint64_t drawn(Descent *D) { /* xorshift (Marsaglia 2003) */
    uint64_t x = D->random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return D->random = x;
}

static double clipped(double t, double low, double high) { return t < low ? low : t > high ? high : t; }

static double soft(double t, double k) { return t - clipped(t, -k, k); }

/* The share of row i in the gap at residual r, (LOSSES.5). */
static double share(double a, double r, double low, double high, double tube, double bend) {
    double inner = clipped(r, -tube, tube), v = r - inner;
    double best = v == 0 ? 0 : bend > 0 ? clipped(v / bend, low, high) : v > 0 ? high : low;
    double left = best - a;
    return 0.5 * bend * left * left + left * (v - bend * best) + tube * fabs(a) - inner * a;
}

/* w, s and D of the α at the beginning, ‖x_i‖². */
static void begun(Descent *D) {
    double worth = 0, length = 0;
    for (int64_t i = 0; i < D->X.n; i++) {
        double a = D->alpha[i], squares = 0;
        int64_t end = begin_of(&D->X, i + 1);
        for (int64_t k = begin_of(&D->X, i); k < end; k++) squares += D->X.data[k] * D->X.data[k];
        D->squares[i] = squares, D->order[i] = i;
        if (a == 0) continue;
        worth += OF(D->level, i) * a - OF(D->tube, i) * fabs(a) - 0.5 * OF(D->curvature, i) * a * a;
        D->sum += OF(D->y, i) * a;
        add(&D->X, i, OF(D->y, i) * a, D->w);
    }
    for (int64_t j = 0; j < D->X.d; j++) length += D->w[j] * D->w[j];
    D->dual = worth - 0.5 * length - D->sum * (D->centre + 0.5 * D->unit * D->sum);
}

/* (DESCENT.2) of row i; sets the ends of its derivative, from below and from above. 0 where numbers are not finite. */
static int step(Descent *D, int64_t i, double *below, double *above) {
    double y = OF(D->y, i), low = OF(D->low, i), high = OF(D->high, i), tube = OF(D->tube, i);
    double bend = OF(D->curvature, i), a = D->alpha[i];
    double r = OF(D->level, i) - y * (dot(&D->X, i, D->w) + b_of(D));
    double G = bend * a - r, H = D->squares[i] + D->unit + bend;
    *below = a <= low ? -INFINITY : G + (a > 0 ? tube : -tube);
    *above = a >= high ? INFINITY : G + (a >= 0 ? tube : -tube);
    D->gap += share(a, r, low, high, tube, bend);
    if (*below <= 0 && *above >= 0) return 1;
    double target = H > 0 ? soft(a - G / H, tube / H) : *above < 0 ? (a < 0 ? 0 : high) : (a > 0 ? 0 : low);
    double next = clipped(target, low, high), moved = next - a;
    if (!isfinite(moved) || !isfinite(G)) return 0;
    if (moved == 0) return 1;
    D->alpha[i] = next;
    D->dual -= moved * (G + 0.5 * H * moved) + tube * (fabs(next) - fabs(a));
    D->sum += y * moved;
    add(&D->X, i, y * moved, D->w);
    return 1;
}

/* One pass over the rows at work; 0 where it is to end. `most` (2,): the largest derivatives that still moved a row, of
   the pass before and then of this one. */
static int pass(Descent *D, double most[2]) {
    double up = 0, down = 0;
    int64_t looks = D->work + WORK;
    D->gap = 0;
    for (int64_t k = D->active - 1; k > 0; k--) {
        int64_t j = (int64_t)((drawn(D) >> 11) % (uint64_t)(k + 1)), i = D->order[k];
        D->order[k] = D->order[j], D->order[j] = i;
    }
    for (int64_t k = 0; k < D->active; k++) {
        int64_t i = D->order[k];
        double below, above;
        if (k + 2 < D->active) ahead(&D->X, D->order[k + 2]);
        if (!step(D, i, &below, &above)) return 0;
        if (below < -most[1] && above > most[0]) { /* its place takes the last one at work */
            D->active--;
            D->order[k] = D->order[D->active], D->order[D->active] = i;
            k--;
        }
        if (below > down) down = below;
        if (above < -up) up = -above;
        D->work += ROW + begin_of(&D->X, i + 1) - begin_of(&D->X, i);
        if (D->work > looks) {
            looks = D->work + WORK;
            if (looked(&D->look)) return 0;
        }
    }
    most[0] = down > 0 ? down : INFINITY, most[1] = up > 0 ? up : INFINITY;
    if (D->free) {
        double imbalance = D->unit * D->sum * D->sum;
        D->gap += imbalance;
        D->dual -= D->sum * (D->unit * D->sum);
        D->centre += D->unit * D->sum;
    }
    return isfinite(D->gap) && !looked(&D->look);
}

/* Passes until the gap is small over all rows, or so much work is done; whether it is. */
static int descended(Descent *D, int64_t most_passes, int64_t most_work, double tol) {
    double most[2] = {INFINITY, INFINITY};
    D->active = D->X.n;
    while (D->passes < most_passes && D->work < most_work) {
        int all = D->active == D->X.n;
        D->passes++;
        if (!pass(D, most)) return 0;
        if (!(D->gap <= tol * fmax(fabs(D->dual + D->gap), fabs(D->dual)))) continue;
        if (all) return 1;
        D->active = D->X.n;
        most[0] = most[1] = INFINITY;
    }
    return 0;
}

/* The buffers: values, columns, starts; y, ℓ, lo, hi, ε, δ; α, w. */
enum { VALUES, COLUMNS, STARTS, SIGN, LEVEL, LOW, HIGH, TUBE, BEND, ALPHA, WEIGHTS, BUFFERS };

/* Their sizes against each other; what is wrong, or NULL. */
static const char *laid_out(Descent *D, Py_buffer *given, int bytes) {
    Each *each[] = {&D->y, &D->level, &D->low, &D->high, &D->tube, &D->curvature};
    Table *X = &D->X;
    for (int k = 0; k < BUFFERS; k++) {
        int size = k == COLUMNS || k == STARTS ? (bytes ? bytes : 1) : 8;
        if (!is_aligned(&given[k], size)) return "a buffer is not one of aligned numbers";
    }
    X->n = given[ALPHA].len / 8, X->d = given[WEIGHTS].len / 8;
    X->data = given[VALUES].buf, X->wide = bytes == 8;
    D->alpha = given[ALPHA].buf, D->w = given[WEIGHTS].buf;
    for (int k = 0; k < 6; k++) {
        int64_t length = given[SIGN + k].len / 8;
        if (length != 1 && length != X->n) return "what belongs to the rows has neither one number nor one a row";
        each[k]->at = given[SIGN + k].buf, each[k]->step = length == X->n && X->n != 1;
    }
    int64_t entries = given[VALUES].len / 8;
    if (bytes == 0) {
        if (X->d && X->n > entries / X->d) return "there are fewer values than rows times columns";
        return X->n * X->d == entries ? NULL : "there are more values than rows times columns";
    }
    if (bytes != 4 && bytes != 8) return "indices have 4 or 8 bytes";
    if (given[COLUMNS].len / bytes != entries) return "values and columns differ in number";
    if (given[STARTS].len / bytes != X->n + 1) return "there is not one start a row";
    X->columns = given[COLUMNS].buf, X->starts = given[STARTS].buf;
    if (!X->columns) X->columns = X->starts; /* no entries: not dense */
    for (int64_t i = 0; i < X->n; i++)
        if (!within(X, i, entries)) return "the compressed rows are not within their arrays";
    return NULL;
}

static PyObject *run(Descent *D, Py_ssize_t most, Py_ssize_t work, double tol, PyObject *look) {
    D->squares = PyMem_Malloc(8 * (size_t)(D->X.n + 1));
    D->order = PyMem_Malloc(8 * (size_t)(D->X.n + 1));
    PyObject *answer = NULL;
    if (!D->squares || !D->order) PyErr_NoMemory();
    else {
        int finished;
        D->random = 88172645463325252u;
        memset(D->w, 0, 8 * (size_t)D->X.d);
        look_begins(&D->look, look);
        Py_BEGIN_ALLOW_THREADS;
        begun(D);
        finished = descended(D, most, work, tol);
        Py_END_ALLOW_THREADS;
        if (!D->look.failed)
            answer = Py_BuildValue("dLLOdd", D->free ? D->centre : b_of(D), (long long)D->passes, (long long)D->work,
                                   finished ? Py_True : Py_False, D->gap, D->dual);
    }
    PyMem_Free(D->squares), PyMem_Free(D->order);
    return answer;
}

static PyObject *descend(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer given[BUFFERS];
    Descent D = {0};
    int bytes;
    Py_ssize_t most, work;
    double tol;
    PyObject *look, *answer = NULL;
    if (!PyArg_ParseTuple(args, "y*y*y*iy*y*y*y*y*y*w*w*dpdnndO", &given[0], &given[1], &given[2], &bytes, &given[3],
                          &given[4], &given[5], &given[6], &given[7], &given[8], &given[9], &given[10], &D.unit,
                          &D.free, &D.centre, &most, &work, &tol, &look))
        return NULL;
    const char *wrong = laid_out(&D, given, bytes);
    if (wrong) PyErr_SetString(PyExc_ValueError, wrong);
    else answer = run(&D, most, work, tol, look);
    for (int k = 0; k < BUFFERS; k++) PyBuffer_Release(&given[k]);
    return answer;
}

PyMethodDef descent_methods[] = {
    {"descend", descend, METH_VARARGS,
     "descend(values, columns, starts, bytes, y, level, low, high, tube, curvature, alpha, w, e2, free, c, passes, work, "
     "tol, look) -> b, passes, work, whether it is done, P − D and D: (DESCENT.1) from alpha on, in place; of indices "
     "with so many bytes, 0 for dense rows; at most so many passes, and so many numbers."},
    {NULL, NULL, 0, NULL},
};
