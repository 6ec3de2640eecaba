/* Sequential dual descent for machines that learn several classes in one program: the inner loops of solvers/sequential.

   Sample i of class y has α_ic ≥ 0 for each rival class c, β_ic = −α_ic, β_iy = Σ_c α_ic, and ν_c = Σ_i β_ic. With
   f_c = Σ_j β_jc K_ij + b_c + ρν_c, t_c = ℓ − (f_y − f_c), H = K_ii + ρ and z_c = t_c/H + α_c + Σα, the α of one sample
   that maximise (SEQ.1) for fixed others are

       (SAMPLE.1)  α_c = (z_c − θ)⁺,  θ = Σα while that is at most C, else such that Σα = C     (one slack for all)
       (SAMPLE.2)  α_c = clip(z_c − S, 0, C),  S = Σα                                            (a slack for each) */
#include "rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers between two looks at the clock, and those that a sample's own work is worth. */
#define WORK 400000
#define SAMPLE 64

typedef struct {
    int64_t n, k;
    const int64_t *label;
    const double *C, *diagonal; /* K_ii, without ρ */
    double *alpha, *f;          /* (n, k); (k,) of one sample, or (n, k) of a set */
    double rho, level;
    int shared;
    double *z, *ordered, *change; /* room for 2k numbers each */
    int64_t steps, work, looks;
    int ended;
    Look look;
} Classes;

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* θ of (SAMPLE.1) for z of the rivals (m,). */
static double shared_level(Classes *D, int64_t m, double C) {
    double sum = 0, theta = 0, full = 0;
    int any = 0;
    memcpy(D->ordered, D->z, 8 * (size_t)m);
    qsort(D->ordered, (size_t)m, 8, ascending);
    for (int64_t j = 1; j <= m; j++) { /* the largest first */
        double largest = D->ordered[m - j];
        sum += largest;
        double level = sum / (double)(j + 1);
        if (!(largest > level)) break;
        theta = level, any = 1;
    }
    if (!any) return INFINITY;
    if (theta <= C) return theta;
    sum = 0;
    for (int64_t j = 1; j <= m; j++) {
        double largest = D->ordered[m - j];
        sum += largest;
        double level = (sum - C) / (double)j;
        if (!(largest > level)) break;
        full = level;
    }
    return full;
}

/* Σ clip(z − S, 0, C) − S, which falls in S. */
static double excess(const double *z, int64_t m, double C, double S) {
    double sum = 0;
    for (int64_t j = 0; j < m; j++) {
        double a = z[j] - S;
        sum += a < 0 ? 0 : a > C ? C : a;
    }
    return sum - S;
}

/* S of (SAMPLE.2): between the last breakpoint where the excess is positive and the next it falls in a straight line. */
static double separate_sum(Classes *D, int64_t m, double C) {
    double *points = D->ordered;
    for (int64_t j = 0; j < m; j++) points[j] = D->z[j], points[m + j] = D->z[j] - C;
    qsort(points, (size_t)(2 * m), 8, ascending);
    double low = 0;
    int64_t first = 0, end = 2 * m;
    while (first < end && points[first] < 0) first++;
    if (first == end) return INFINITY; /* no z is positive */
    while (first < end) {              /* bisection: the excess is positive before `first`, and not from `end` on */
        int64_t middle = first + (end - first) / 2;
        if (excess(D->z, m, C, points[middle]) > 0) low = points[middle], first = middle + 1;
        else end = middle;
    }
    double above = excess(D->z, m, C, low), slope = 1;
    for (int64_t j = 0; j < m; j++) slope += D->z[j] > low && D->z[j] - C <= low;
    return low + above / slope;
}

/* How much sample i violates its optimality conditions at f (k,), NaN if f is not finite; `*most` is its largest t. */
static double violation(const Classes *D, int64_t i, const double *f, double *most) {
    int64_t y = D->label[i];
    const double *a = D->alpha + i * D->k;
    double C = D->C[i], up = -INFINITY, largest = -INFINITY, least = INFINITY, sum = 0;
    for (int64_t c = 0; c < D->k; c++) {
        if (c == y) continue;
        double t = D->level - (f[y] - f[c]);
        if (!isfinite(t)) return NAN;
        if (t > largest) largest = t;
        if (a[c] > 0 && t < least) least = t;
        if (a[c] < C && t > up) up = t;
        sum += a[c];
    }
    *most = largest;
    if (D->shared) {
        double worst = largest > 0 ? largest : 0; /* T of (JOINT.6) */
        double floor = sum < C * (1 - 1e-12) ? (least < 0 ? least : 0) : (least < worst ? least : worst);
        return worst - floor;
    }
    double worst = up > 0 ? up : 0;
    return least < 0 && -least > worst ? -least : worst;
}

/* Solve for the α of sample i at f (k,), and write the change of its β to `change`; whether there is any. */
static int solve(Classes *D, int64_t i, const double *f) {
    int64_t y = D->label[i], m = 0;
    double *a = D->alpha + i * D->k, H = D->diagonal[i] + D->rho, C = D->C[i], sum = 0, gained = 0;
    int moved = 0;
    for (int64_t c = 0; c < D->k; c++) sum += a[c];
    for (int64_t c = 0; c < D->k; c++)
        if (c != y) D->z[m++] = (D->level - (f[y] - f[c])) / H + a[c] + sum;
    double theta = D->shared ? shared_level(D, m, C) : separate_sum(D, m, C);
    m = 0;
    for (int64_t c = 0; c < D->k; c++) {
        D->change[c] = 0;
        if (c == y) continue;
        double next = theta == INFINITY ? 0 : D->z[m] - theta;
        m++;
        next = next < 0 ? 0 : !D->shared && next > C ? C : next;
        if (!isfinite(next)) return 0;
        double difference = next - a[c];
        moved |= difference != 0;
        D->change[c] = -difference;
        gained += difference;
        a[c] = next;
    }
    D->change[y] = gained;
    D->steps++;
    return moved;
}

/* Count work; whether the clock or the key ends it all. */
static int over(Classes *D, int64_t work) {
    D->work += work;
    if (D->work <= D->looks) return 0;
    D->looks = D->work + WORK;
    return D->ended = looked(&D->look);
}

/* --- a linear machine: passes over the samples in random order, with w kept --------------------------------------- */

typedef struct {
    Classes of;
    Table X;
    double *W, *b, *nu; /* (d, k), (k,), (k,) */
    int free;
    int64_t *order;
} Linear;

/* f (k,) of sample i. */
static void evaluate(const Linear *L, int64_t i, double *f) {
    int64_t k = L->of.k, end = begin_of(&L->X, i + 1), first = begin_of(&L->X, i);
    for (int64_t c = 0; c < k; c++) f[c] = L->b[c] + L->of.rho * L->nu[c];
    for (int64_t e = first; e < end; e++) {
        const double x = L->X.data[e], *w = L->W + k * (L->X.columns ? integer(&L->X, L->X.columns, e) : e - first);
        if (x == 0) continue;
        for (int64_t c = 0; c < k; c++) f[c] += x * w[c];
    }
}

/* Add a change of β_i (k,) to w and ν. */
static void add_change(Linear *L, int64_t i, const double *change) {
    int64_t k = L->of.k, end = begin_of(&L->X, i + 1), first = begin_of(&L->X, i);
    for (int64_t c = 0; c < k; c++) L->nu[c] += change[c];
    for (int64_t e = first; e < end; e++) {
        const double x = L->X.data[e];
        double *w = L->W + k * (L->X.columns ? integer(&L->X, L->X.columns, e) : e - first);
        if (x == 0) continue;
        for (int64_t c = 0; c < k; c++) w[c] += x * change[c];
    }
}

/* The largest shift of f by the imbalance, (SEQ.2). */
static double imbalance(const Linear *L) {
    double largest = 0;
    for (int64_t c = 0; L->free && c < L->of.k; c++) largest = fmax(largest, fabs(L->nu[c]));
    return L->of.rho * largest;
}

/* Passes until no violation is above tol, or so many steps are made. A sample with α = 0 whose rivals are all farther
   from their margin than any sample of the pass before was beyond it is set aside until the others are done. Returns
   the largest violation of the last pass. */
static double descend(Linear *L, int64_t most_steps, double tol, int *finished) {
    Classes *D = &L->of;
    int64_t active = D->n, k = D->k;
    double worst = INFINITY, last = INFINITY;
    uint64_t random = 88172645463325252u;
    for (int64_t i = 0; i < D->n; i++) L->order[i] = i;
    *finished = 0;
    while (D->steps < most_steps) {
        int64_t before = D->steps;
        worst = 0;
        shuffle(L->order, active, &random);
        for (int64_t j = 0; j < active && D->steps < most_steps; j++) {
            int64_t i = L->order[j];
            double most, off;
            evaluate(L, i, D->f);
            off = violation(D, i, D->f, &most);
            if (!isfinite(off)) return INFINITY;
            if (off > worst) worst = off;
            if (off == 0 && most < -last) { /* its place takes the last one at work */
                active--;
                L->order[j] = L->order[active], L->order[active] = i;
                j--;
            } else if (off > 0.1 * tol && solve(D, i, D->f)) {
                add_change(L, i, D->change);
            }
            if (over(D, SAMPLE + 2 * k * (begin_of(&L->X, i + 1) - begin_of(&L->X, i)))) return worst;
        }
        if (D->steps == before) D->steps++; /* only b moves: that ends too */
        double unbalanced = imbalance(L);
        for (int64_t c = 0; L->free && c < k; c++) L->b[c] += D->rho * L->nu[c]; /* (SEQ.2) */
        if (worst <= tol && unbalanced <= tol) {
            if (active == D->n) {
                *finished = 1;
                return fmax(worst, unbalanced);
            }
            active = D->n, last = INFINITY;
        } else {
            last = fmax(worst, tol);
        }
    }
    return fmax(worst, imbalance(L));
}

/* The buffers: values, columns, starts; label, C, K_ii, α, W, b, ν. */
enum { VALUES, COLUMNS, STARTS, LABEL, UPPER, DIAGONAL, ALPHA, WEIGHTS, INTERCEPTS, SUMS, BUFFERS };

/* Sizes of the arrays that all have; what is wrong, or NULL. */
static const char *check_samples(Classes *D, const Py_buffer *label, const Py_buffer *upper, const Py_buffer *diagonal,
                                 const Py_buffer *alpha) {
    const Py_buffer *given[] = {label, upper, diagonal, alpha};
    for (int j = 0; j < 4; j++)
        if (!is_aligned(given[j], 8)) return "a buffer is not one of aligned numbers";
    D->n = label->len / 8;
    if (!D->n || upper->len != label->len || diagonal->len != label->len) return "not one number for each sample";
    D->k = alpha->len / 8 / D->n;
    if (D->k < 2 || D->k * D->n * 8 != alpha->len) return "α does not have one row for each sample";
    D->label = label->buf, D->C = upper->buf, D->diagonal = diagonal->buf, D->alpha = alpha->buf;
    for (int64_t i = 0; i < D->n; i++)
        if (D->label[i] < 0 || D->label[i] >= D->k) return "a label is not the index of a class";
    return NULL;
}

/* The table of a linear machine; what is wrong, or NULL. */
static const char *check_linear(Linear *L, Py_buffer *given, int bytes) {
    Table *X = &L->X;
    const char *wrong = check_samples(&L->of, &given[LABEL], &given[UPPER], &given[DIAGONAL], &given[ALPHA]);
    if (wrong) return wrong;
    for (int j = 0; j < BUFFERS; j++)
        if (!is_aligned(&given[j], j == COLUMNS || j == STARTS ? (bytes ? bytes : 1) : 8))
            return "a buffer is not one of aligned numbers";
    int64_t k = L->of.k;
    X->n = L->of.n, X->d = given[WEIGHTS].len / 8 / k;
    if (X->d * k * 8 != given[WEIGHTS].len) return "W does not have one column for each class";
    if (given[INTERCEPTS].len / 8 != k || given[SUMS].len / 8 != k) return "not one number for each class";
    L->W = given[WEIGHTS].buf, L->b = given[INTERCEPTS].buf, L->nu = given[SUMS].buf;
    return set_arrays(X, &given[VALUES], bytes);
}

/* Room for the vectors of a sample, and where they are in it; NULL without memory. */
static double *make_room(Classes *D) {
    double *room = PyMem_Malloc(8 * 8 * (size_t)D->k);
    if (!room) return (double *)PyErr_NoMemory();
    D->z = room, D->ordered = room + 2 * D->k, D->change = room + 4 * D->k, D->f = room + 6 * D->k;
    D->looks = WORK;
    return room;
}

static PyObject *descend_classes(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer given[BUFFERS];
    Linear L = {0};
    int bytes, finished = 0;
    Py_ssize_t steps;
    double tol, worst = 0, *room = NULL;
    PyObject *look, *answer = NULL;
    if (!PyArg_ParseTuple(args, "y*y*y*iy*y*y*w*w*w*w*ddppndO", &given[0], &given[1], &given[2], &bytes, &given[3],
                          &given[4], &given[5], &given[6], &given[7], &given[8], &given[9], &L.of.rho, &L.of.level,
                          &L.of.shared, &L.free, &steps, &tol, &look))
        return NULL;
    const char *wrong = check_linear(&L, given, bytes);
    if (wrong) PyErr_SetString(PyExc_ValueError, wrong);
    else if ((room = make_room(&L.of))) {
        L.order = PyMem_Malloc(8 * (size_t)L.of.n);
        if (!L.order) PyErr_NoMemory();
        else {
            look_begins(&L.of.look, look);
            Py_BEGIN_ALLOW_THREADS;
            worst = descend(&L, steps, tol, &finished);
            Py_END_ALLOW_THREADS;
            if (!L.of.look.failed)
                answer = Py_BuildValue("LOd", (long long)L.of.steps, finished ? Py_True : Py_False, worst);
        }
        PyMem_Free(L.order);
    }
    PyMem_Free(room);
    for (int j = 0; j < BUFFERS; j++) PyBuffer_Release(&given[j]);
    return answer;
}

/* --- any kernel: sweeps over a working set ----------------------------------------------------------------------- */

/* Sweeps over a set with the matrix K + ρ (n, n) and f (n, k), until no violation is above tol. */
static void sweep(Classes *D, const double *K, double *f, int64_t most_sweeps, double tol) {
    int64_t n = D->n, k = D->k;
    for (int64_t sweep = 0; sweep < most_sweeps; sweep++) {
        int any = 0;
        for (int64_t i = 0; i < n; i++) {
            double most;
            if (!(violation(D, i, f + i * k, &most) > tol)) continue;
            any = 1;
            if (!solve(D, i, f + i * k)) continue;
            for (int64_t j = 0; j < n; j++) {
                double by = K[i * n + j], *row = f + j * k;
                for (int64_t c = 0; c < k; c++) row[c] += by * D->change[c];
            }
            if (over(D, SAMPLE + n * k)) return;
        }
        if (!any) return;
    }
}

static PyObject *sweep_classes(PyObject *self, PyObject *args) {
    (void)self;
    enum { MATRIX, VALUE, FIRST };
    Py_buffer given[6];
    Classes D = {0};
    Py_ssize_t sweeps;
    double tol, *room = NULL;
    PyObject *look, *answer = NULL;
    if (!PyArg_ParseTuple(args, "y*w*y*y*y*w*ddpndO", &given[0], &given[1], &given[2], &given[3], &given[4], &given[5],
                          &D.rho, &D.level, &D.shared, &sweeps, &tol, &look))
        return NULL;
    const char *wrong = check_samples(&D, &given[FIRST], &given[FIRST + 1], &given[FIRST + 2], &given[FIRST + 3]);
    if (!wrong && (!is_aligned(&given[MATRIX], 8) || given[MATRIX].len / 8 != D.n * D.n || !is_aligned(&given[VALUE], 8) ||
                   given[VALUE].len != given[FIRST + 3].len))
        wrong = "K or f is not over the samples of the set";
    if (wrong) PyErr_SetString(PyExc_ValueError, wrong);
    else if ((room = make_room(&D))) {
        look_begins(&D.look, look);
        Py_BEGIN_ALLOW_THREADS;
        sweep(&D, given[MATRIX].buf, given[VALUE].buf, sweeps, tol);
        Py_END_ALLOW_THREADS;
        if (!D.look.failed) answer = PyLong_FromLongLong(D.steps);
    }
    PyMem_Free(room);
    for (int j = 0; j < 6; j++) PyBuffer_Release(&given[j]);
    return answer;
}

PyMethodDef classes_methods[] = {
    {"descend_classes", descend_classes, METH_VARARGS,
     "descend_classes(values, columns, starts, bytes, label, C, diagonal, alpha, W, b, nu, rho, level, shared, free, "
     "steps, tol, look) -> steps, whether it is done, largest violation: passes over a linear machine from α, W (d, k), "
     "b and ν (k,) on, in place; of indices with so many bytes, 0 for dense rows."},
    {"sweep_classes", sweep_classes, METH_VARARGS,
     "sweep_classes(K, f, label, C, diagonal, alpha, rho, level, shared, sweeps, tol, look) -> steps: sweeps over a "
     "working set with the matrix K + ρ, changing α and f (n, k) in place."},
    {NULL, NULL, 0, NULL},
};
