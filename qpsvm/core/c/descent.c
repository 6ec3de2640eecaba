/* Dual coordinate descent over rows, one α after the other: what solvers/linear/coordinate begins with.

       (DESCENT.1)  minimise ½‖w‖² + ½b²/e² + Σ(½δ_i a_i² + ε_i|a_i| − ℓ_i a_i)  over lo_i ≤ a_i ≤ hi_i,
                    w = Σ y_i a_i x_i,  b = c + e²s,  s = Σ y_i a_i
       (DESCENT.2)  G = y_i(⟨w, x_i⟩ + b) − ℓ_i + δ_i a_i,  H = ‖x_i‖² + e² + δ_i,
                    a_i ← clip(S(a_i − G/H, ε_i/H), lo_i, hi_i),  S(t, k) = t − clip(t, −k, k)

   c = 0 for a penalised intercept, e = 0 for none. A free one is the multiplier of s = 0, found by the method of
   multipliers: c ← c + e²s after every pass.
   Rows go in random order. A row whose α rests at a bound or at the kink, with a derivative beyond what any row of the
   pass before could gain, is set aside until the others are done (Hsieh et al. 2008, section 3.2). They are done when
   the rows' shares of the gap (LOSSES.5), each at its turn, add up to less than tol times the objective.

   One α after the other finds soon which rows are free, and then their α slowly, as often as the condition number of
   their Hessian says. Conjugate gradients over all of them take its root, and a turn of them costs what a pass over
   these rows does: they follow on passes that leave most rows free that were free, or at a bound.

       (DESCENT.3)  maximise D over a_F, F = {lo < a < hi, a ≠ 0}, as if unbounded, from r = −G − ε sign(a), scaled by
                    H;  then a_F ← clip(a_F + t·moved), t = 1 or the first of its powers for which D is larger */
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
/* Of (DESCENT.3): turns at first, and passes between; of the rows, one in so many may have changed in a pass, and in
   the end leave the box; what t is made smaller by, and the least. */
#define TURNS 5
#define SHARE 50
#define OUTSIDE 20
#define SHORTER 0.3
#define SHORTEST 0.005
/* What the free rows' share of the gap is brought to, of what is asked for. */
#define FINE 0.3

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
    int64_t active, passes, work, turned, looks; /* turned: rows that became free, or no longer are, in a pass */
    int64_t *inner;                              /* (n,): F, and over it */
    double *r, *p, *moved, *product;             /* (n,) each */
    double *q, *kept;                            /* (d,): Σ y_i p_i x_i, and the w before */
    uint64_t random;
    int free, ended;
    Look look;
} Descent;

static double b_of(const Descent *D) { return D->centre + D->unit * D->sum; }

/* Count the work of row i, or half of it; whether the clock or the key ends it all. */
static int over(Descent *D, int64_t i, int half) {
    D->work += (ROW + begin_of(&D->X, i + 1) - begin_of(&D->X, i)) >> half;
    if (D->work <= D->looks) return 0;
    D->looks = D->work + WORK;
    return D->ended = looked(&D->look);
}

static double clipped(double t, double low, double high) { return t < low ? low : t > high ? high : t; }

static double soft(double t, double k) { return t - clipped(t, -k, k); }

static int is_inner(double a, double low, double high) { return a > low && a < high && a != 0; }

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
    D->turned += is_inner(a, low, high) != is_inner(next, low, high);
    D->dual -= moved * (G + 0.5 * H * moved) + tube * (fabs(next) - fabs(a));
    D->sum += y * moved;
    add(&D->X, i, y * moved, D->w);
    return 1;
}

/* One pass over the rows at work; 0 where it is to end. `most` (2,): the largest derivatives that still moved a row, of
   the pass before and then of this one. */
static int pass(Descent *D, double most[2]) {
    double up = 0, down = 0;
    D->gap = 0, D->turned = 0;
    shuffle(D->order, D->active, &D->random);
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
        if (over(D, i, 0)) return 0;
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

static double scale_of(const Descent *D, int64_t i) { return D->squares[i] + D->unit + OF(D->curvature, i); }

/* F and r at the beginning of (DESCENT.3); how many there are. */
static int64_t gathered(Descent *D) {
    int64_t count = 0;
    for (int64_t k = 0; k < D->active; k++) {
        int64_t i = D->order[k];
        double a = D->alpha[i], slope = copysign(OF(D->tube, i), a) + OF(D->curvature, i) * a;
        if (!is_inner(a, OF(D->low, i), OF(D->high, i))) continue;
        if (over(D, i, 1)) return 0;
        D->inner[count] = i;
        D->r[count] = OF(D->level, i) - slope - OF(D->y, i) * (dot(&D->X, i, D->w) + b_of(D));
        D->p[count] = D->moved[count] = 0;
        count++;
    }
    return count;
}

/* One turn over the F of so many rows: p, r, `moved`, w and s. `worth` is rᵀH⁻¹r of the turn before, then of this one;
   `gap` what the rows' shares are then. Returns how many are outside of the box, −1 where it ends before. */
static int64_t turn(Descent *D, int64_t count, double *worth, double *gap) {
    double now = 0, curved = 0, total = 0;
    int64_t outside = 0;
    for (int64_t k = 0; k < count; k++) now += D->r[k] * D->r[k] / scale_of(D, D->inner[k]);
    if (!(now > 0)) return -1;
    memset(D->q, 0, 8 * (size_t)D->X.d);
    for (int64_t k = 0; k < count; k++) {
        int64_t i = D->inner[k];
        D->p[k] = D->r[k] / scale_of(D, i) + (*worth > 0 ? now / *worth : 0) * D->p[k];
        total += OF(D->y, i) * D->p[k];
        add(&D->X, i, OF(D->y, i) * D->p[k], D->q);
        if (over(D, i, 1)) return -1;
    }
    for (int64_t k = 0; k < count; k++) {
        int64_t i = D->inner[k];
        D->product[k] = OF(D->y, i) * (dot(&D->X, i, D->q) + D->unit * total) + OF(D->curvature, i) * D->p[k];
        curved += D->p[k] * D->product[k];
        if (over(D, i, 1)) return -1;
    }
    double by = now / curved;
    if (!isfinite(by) || !(by > 0)) return -1;
    *worth = now, *gap = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = D->inner[k];
        D->moved[k] += by * D->p[k], D->r[k] -= by * D->product[k];
        double low = OF(D->low, i), high = OF(D->high, i), tube = OF(D->tube, i), bend = OF(D->curvature, i);
        double next = D->alpha[i] + D->moved[k], inside = clipped(next, low, high);
        outside += inside != next;
        *gap += share(inside, D->r[k] + copysign(tube, inside) + bend * inside, low, high, tube, bend);
    }
    for (int64_t j = 0; j < D->X.d; j++) D->w[j] += by * D->q[j];
    D->sum += by * total;
    return outside;
}

/* a_F, w, s and D at t = by, w being `kept` + by·q and s `sum` where nothing is clipped; whether D is larger by that.
   Where F has more rows than columns, `moved` may be so large that w, less what is clipped, would be rounding only: then
   w and s are summed from the changes themselves. */
static int taken(Descent *D, int64_t count, double by, double before) {
    double worth = 0, length = 0;
    int64_t outside = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = D->inner[k];
        double a = D->alpha[i], next = a + by * D->moved[k], tube = OF(D->tube, i);
        double inside = tube > 0 && next * a < 0 ? 0 : clipped(next, OF(D->low, i), OF(D->high, i));
        outside += inside != next;
        worth += (inside - a) * (OF(D->level, i) - 0.5 * OF(D->curvature, i) * (inside + a));
        worth -= tube * (fabs(inside) - fabs(a));
        D->product[k] = inside;
    }
    if (outside) {
        memcpy(D->w, D->kept, 8 * (size_t)D->X.d);
        D->sum = before;
        for (int64_t k = 0; k < count; k++) {
            int64_t i = D->inner[k];
            double change = OF(D->y, i) * (D->product[k] - D->alpha[i]);
            add(&D->X, i, change, D->w), D->sum += change;
        }
    }
    for (int64_t j = 0; j < D->X.d; j++) length += (D->w[j] - D->kept[j]) * (D->w[j] + D->kept[j]);
    double gained = worth - 0.5 * length - (D->sum - before) * (D->centre + 0.5 * D->unit * (D->sum + before));
    if (!(gained > 0)) return 0;
    for (int64_t k = 0; k < count; k++) D->alpha[D->inner[k]] = D->product[k];
    D->dual += gained;
    return 1;
}

/* (DESCENT.3) in so many turns at most, until the rows' shares are `enough`, or many are outside. Returns t; 0 where D
   would not be larger, and all stays as it was. */
static double together(Descent *D, int64_t most, double enough) {
    int64_t d = D->X.d, count = gathered(D);
    double before = D->sum, worth = 0, gap = 0;
    memcpy(D->kept, D->w, 8 * (size_t)d);
    for (int64_t k = 0; k < most && count > 0; k++) {
        int64_t outside = turn(D, count, &worth, &gap);
        if (outside < 0 || outside > count / OUTSIDE || gap <= enough) break;
    }
    double aimed = D->sum - before;
    for (int64_t j = 0; j < d; j++) D->q[j] = D->w[j] - D->kept[j];
    for (double by = 1; by > SHORTEST && worth > 0; by *= SHORTER) {
        for (int64_t j = 0; j < d; j++) D->w[j] = D->kept[j] + by * D->q[j];
        D->sum = before + by * aimed;
        if (taken(D, count, by, before)) return by;
    }
    memcpy(D->w, D->kept, 8 * (size_t)d);
    D->sum = before;
    return 0;
}

/* Passes until the gap is small over all rows, or so much work is done; whether it is. */
static int descended(Descent *D, int64_t most_passes, int64_t most_work, double tol) {
    double most[2] = {INFINITY, INFINITY};
    int64_t alone = 0, wait = TURNS, turns = TURNS; /* passes since (DESCENT.3), passes to come before it, its turns */
    D->active = D->X.n;
    while (D->passes < most_passes && D->work < most_work) {
        int all = D->active == D->X.n;
        D->passes++, alone++;
        if (!pass(D, most)) return 0;
        double enough = tol * fmax(fabs(D->dual + D->gap), fabs(D->dual));
        if (D->gap <= enough) {
            if (all) return 1;
            D->active = D->X.n;
            most[0] = most[1] = INFINITY;
        } else if (alone >= wait && D->turned * SHARE <= D->active) {
            double by = together(D, turns, FINE * enough);
            if (D->ended) return 0;
            wait = by > 0 ? TURNS : 2 * wait, turns = by == 1 ? 2 * turns : TURNS, alone = 0;
        }
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
    D->alpha = given[ALPHA].buf, D->w = given[WEIGHTS].buf;
    for (int k = 0; k < 6; k++) {
        int64_t length = given[SIGN + k].len / 8;
        if (length != 1 && length != X->n) return "what belongs to the rows has neither one number nor one a row";
        each[k]->at = given[SIGN + k].buf, each[k]->step = length == X->n && X->n != 1;
    }
    return set_arrays(X, &given[VALUES], bytes);
}

static PyObject *run(Descent *D, Py_ssize_t most, Py_ssize_t work, double tol, PyObject *look) {
    size_t n = (size_t)D->X.n + 1, d = (size_t)D->X.d + 1;
    double *room = PyMem_Malloc(8 * (5 * n + 2 * d));
    int64_t *places = PyMem_Malloc(8 * 2 * n);
    PyObject *answer = NULL;
    if (!room || !places) PyErr_NoMemory();
    else {
        int finished;
        D->squares = room, D->r = room + n, D->p = room + 2 * n, D->moved = room + 3 * n, D->product = room + 4 * n;
        D->q = room + 5 * n, D->kept = D->q + d, D->order = places, D->inner = places + n;
        D->random = 88172645463325252u, D->looks = WORK;
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
    PyMem_Free(room), PyMem_Free(places);
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
