/* The loop over many problems whose rows are parts of one matrix: two classes each, or all rows.

   The rows of a problem are slices of those of K, and so are the columns of each; a row of it is copied together when
   it is first asked for, unless the columns are one slice. At the end,

   (CLOOP.6)  u_i = Σ_j β_j K_ij over β_j ≠ 0, one sum of products without a common start: off by γ_m Σ_j |β_j K_ij| at
              most, in whatever order and with however many fused steps it is summed

   A loop over few rows gets its last digits from the solution of its split, as soon as that may be the right one:

   (CLOOP.7)  K_FF d + Eμ = g_F,  Eᵀd = 0:  β_F + τd,  τ ≤ 1 as far as the box goes, maximises the dual over the rows F
              that are strictly inside it;  E has a column for each sum */
#include "loop.h"
#include <string.h>

/* Problem after problem: its slices, and where its rows begin among those of all. Rows that were copied are in `made`. */
typedef struct {
    const char *first;
    Py_ssize_t apart, size;
    const int64_t *begins, *counts;
    Py_ssize_t slices;
    char *rows, *made;
    Py_ssize_t pitch;
} Part;

static Py_ssize_t place_of(const Part *part, Py_ssize_t i) {
    Py_ssize_t k = 0;
    while (i >= part->counts[k]) i -= part->counts[k++];
    return part->begins[k] + i;
}

static Py_ssize_t rounded_up(Py_ssize_t n) { return (n + SPARE - 1) / SPARE * SPARE; }

static const void *part_row(Loop *loop, Py_ssize_t i) {
    Part *part = loop->rows;
    const char *from = part->first + place_of(part, i) * part->apart;
    if (part->slices == 1) return from + part->begins[0] * part->size;
    char *row = part->rows + i * part->pitch, *to = row;
    if (part->made[i]) return row;
    for (Py_ssize_t k = 0; k < part->slices; k++) {
        size_t bytes = (size_t)(part->counts[k] * part->size);
        memcpy(to, from + part->begins[k] * part->size, bytes);
        to += bytes;
    }
    memset(to, 0, (size_t)(row + part->pitch - to));
    part->made[i] = 1;
    return row;
}

static double diagonal_of(const Part *part, Py_ssize_t t, int single) {
    Py_ssize_t place = place_of(part, t);
    const char *entry = part->first + place * (part->apart + part->size);
    return single ? (double)*(const float *)entry : *(const double *)entry;
}

/* g += weight·Kβ. */
static void add_product(Loop *loop, double weight) {
    for (Py_ssize_t t = 0; t < loop->n; t++)
        if (loop->beta[t] != 0.0)
            loop_passes[core_level][loop->single].add(loop, loop->row(loop, t), weight * loop->beta[t]);
}

/* Most rows of F, and the tolerances of the loop, in units of the last one, at which (CLOOP.7) is tried. */
#define MOST_FREE 48
#define TRIES 2
static const double try_at[TRIES] = {1e6, 1e3};

/* Solve k equations by elimination with row pivoting, the right side behind each row; whether no pivot is nearly 0. */
static int solved(double (*A)[MOST_FREE + 3], int k) {
    for (int c = 0; c < k; c++) {
        int top = c;
        for (int r = c + 1; r < k; r++)
            if (fabs(A[r][c]) > fabs(A[top][c])) top = r;
        if (!(fabs(A[top][c]) > SMALLEST)) return 0;
        for (int j = c; top != c && j <= k; j++) {
            double other = A[c][j];
            A[c][j] = A[top][j], A[top][j] = other;
        }
        for (int r = c + 1; r < k; r++) {
            double share = A[r][c] / A[c][c];
            for (int j = c + 1; share != 0.0 && j <= k; j++) A[r][j] -= share * A[c][j];
        }
    }
    for (int c = k - 1; c >= 0; c--) {
        for (int j = c + 1; j < k; j++) A[c][k] -= A[c][j] * A[j][k];
        A[c][k] /= A[c][c];
    }
    return 1;
}

/* (CLOOP.7), where few rows are inside and their system is regular. */
static void step_to_split(Loop *loop) {
    double A[MOST_FREE + 2][MOST_FREE + 3], length = 1.0;
    Py_ssize_t at[MOST_FREE];
    int f = 0, sums = 0;
    for (Py_ssize_t t = 0; t < loop->n; t++)
        if (loop->beta[t] > loop->low[t] && loop->beta[t] < loop->high[t]) {
            if (f == MOST_FREE) return;
            at[f++] = t;
        }
    for (int sum = 0; sum < loop->sums; sum++) {
        int column = f + sums, some = 0;
        for (int a = 0; a < f; a++) {
            int own = loop->sums == 1 || (loop->beta[at[a]] > 0.0) == (sum == 0);
            A[a][column] = A[column][a] = own, some |= own;
        }
        sums += some;
    }
    int k = f + sums;
    for (int a = 0; a < k; a++) {
        const void *row = a < f ? loop->row(loop, at[a]) : NULL;
        for (int b = 0; row && b < f; b++)
            A[a][b] = loop->single ? (double)((const float *)row)[at[b]] : ((const double *)row)[at[b]];
        for (int b = f; a >= f && b < k; b++) A[a][b] = 0.0;
        A[a][k] = a < f ? loop->g[at[a]] : 0.0;
    }
    if (!f || !solved(A, k)) return;
    for (int a = 0; a < f; a++) {
        double d = A[a][k], room = d > 0.0 ? loop->high[at[a]] - loop->beta[at[a]] : loop->low[at[a]] - loop->beta[at[a]];
        if (!isfinite(d)) return;
        if (fabs(d) > fabs(room)) length = fmin(length, room / d);
    }
    for (int a = 0; a < f; a++) {
        Py_ssize_t t = at[a];
        double before = loop->beta[t], after = before + length * A[a][k];
        loop->beta[t] = fmin(fmax(after, loop->low[t]), loop->high[t]);
        loop_passes[core_level][loop->single].add(loop, loop->row(loop, t), before - loop->beta[t]);
    }
}

/* Problem p, whose vectors start at row `start` of all: as `loop_over_matrix`, and at the end u in place of ℓ.

   Rows, and vectors, are longer than n by zeros where rows are copied, so that vectors of any length fit: an empty
   interval is never chosen. */
static int run_part(Loop *loop, const Loop *all, double *memory, double *g, Py_ssize_t start, double tol, int64_t most,
                    Look *look) {
    const Part *part = loop->rows;
    Py_ssize_t m = loop->n, n = part->slices == 1 ? m : rounded_up(m);
    double *own[4] = {memory, memory + n, memory + 2 * n, memory + 3 * n};
    const double *from[4] = {all->beta + start, all->low + start, all->high + start, g + start};
    for (int k = 0; k < 4; k++) {
        memcpy(own[k], from[k], (size_t)m * sizeof(double));
        memset(own[k] + m, 0, (size_t)(n - m) * sizeof(double));
    }
    loop->n = n, loop->beta = own[0], loop->low = own[1], loop->high = own[2];
    lay_out(loop, memory + 4 * n, own[3]);
    for (Py_ssize_t t = 0; t < m; t++) loop->diagonal[t] = diagonal_of(part, t, loop->single);
    add_product(loop, -1.0);
    for (int k = 0; k < TRIES; k++)
        if (loop_run(loop, try_at[k] * tol, most, look) && !(loop->violation < tol)) step_to_split(loop);
    int finished = loop_run(loop, tol, most, look);
    memset(loop->g, 0, (size_t)n * sizeof(double));
    add_product(loop, 1.0); /* (CLOOP.6) */
    memcpy(g + start, loop->g, (size_t)m * sizeof(double));
    memcpy(all->beta + start, loop->beta, (size_t)m * sizeof(double));
    return finished;
}

/* Whether all slices lie in a matrix of n rows, and the rows of all problems are `rows`; the most of one in `largest`. */
static int slices_fit(const int64_t *begins, const int64_t *counts, Py_ssize_t problems, Py_ssize_t slices,
                      Py_ssize_t n, Py_ssize_t rows, Py_ssize_t *largest) {
    Py_ssize_t left = rows;
    *largest = 0;
    for (Py_ssize_t p = 0; p < problems; p++) {
        Py_ssize_t own = 0;
        for (Py_ssize_t k = p * slices; k < (p + 1) * slices; k++) {
            if (counts[k] < 0 || counts[k] > n || begins[k] < 0 || begins[k] > n - counts[k]) return 0;
            if ((own += (Py_ssize_t)counts[k]) > left) return 0;
        }
        left -= own;
        if (own > *largest) *largest = own;
    }
    return left == 0;
}

/* All problems, one after the other; whether memory sufficed. */
static int run_parts(Loop *all, Part *part, Py_ssize_t problems, Py_ssize_t largest, double *g, int64_t *iterations,
                     const double *tol, int64_t most, Look *look) {
    double *memory = aligned_alloc(64, (size_t)(padded(5 * rounded_up(largest)) * (2 + 2 * all->sums)) * sizeof(double));
    part->pitch = rounded_up(largest) * part->size;
    part->rows = malloc((size_t)(part->slices == 1 ? 1 : largest * part->pitch));
    part->made = malloc((size_t)largest + 1);
    int enough = memory && part->rows && part->made;
    Py_ssize_t start = 0;
    for (Py_ssize_t p = 0; enough && p < problems && !looked(look); p++) {
        Loop loop = *all;
        Py_ssize_t m = 0;
        for (Py_ssize_t k = 0; k < part->slices; k++) m += (Py_ssize_t)part->counts[k];
        memset(part->made, 0, (size_t)m);
        loop.n = m;
        loop.rows = part;
        iterations[p] = run_part(&loop, all, memory, g, start, tol[p], most, look) ? loop.iterations : -1 - loop.iterations;
        part->begins += part->slices, part->counts += part->slices, start += m;
    }
    free(memory), free(part->rows), free(part->made);
    return enough;
}

/* Vectors over all rows, numbers of each problem and of its slices, all of eight bytes. */
typedef struct {
    Py_buffer beta, g, low, high, begins, counts, tol, iterations;
    Py_ssize_t rows, problems, slices, largest;
} Given;

static int is_fine(Given *given, const Py_buffer *K, Loop *all) {
    const int size = 8;
    Py_buffer *each = &given->beta;
    for (int k = 0; k < 8; k++)
        if (!is_aligned(&each[k], size)) return 0;
    given->rows = given->beta.len / size, given->problems = given->iterations.len / size;
    given->slices = given->problems ? given->begins.len / size / given->problems : 1;
    if ((all->sums != 1 && all->sums != 2) || given->slices < 1 || given->tol.len != given->iterations.len ||
        given->begins.len != given->slices * given->problems * size || given->counts.len != given->begins.len ||
        given->g.len != given->beta.len || given->low.len != given->beta.len || given->high.len != given->beta.len)
        return 0;
    all->n = given->rows;
    return in_box(all) && slices_fit(given->begins.buf, given->counts.buf, given->problems, given->slices, K->shape[0],
                                     given->rows, &given->largest);
}

static PyObject *over_parts(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer K;
    Given given;
    PyObject *matrix, *function, *answer = NULL;
    Loop all = {0};
    long long most;
    if (!PyArg_ParseTuple(arguments, "Oy*y*w*w*y*y*y*w*iLO", &matrix, &given.begins, &given.counts, &given.beta, &given.g,
                          &given.low, &given.high, &given.tol, &given.iterations, &all.sums, &most, &function))
        return NULL;
    all.beta = given.beta.buf, all.low = given.low.buf, all.high = given.high.buf, all.row = part_row;
    if (!PyObject_GetBuffer(matrix, &K, PyBUF_STRIDES | PyBUF_FORMAT)) {
        if (!is_matrix(&K) || !is_fine(&given, &K, &all))
            PyErr_SetString(PyExc_ValueError, "K has to be a square matrix of floats or doubles, stored by rows, with "
                                              "slices in it, and vectors of doubles over their rows, β in its box");
        else {
            Part part = {.first = K.buf, .apart = K.shape[0] > 1 ? K.strides[0] : 0, .size = K.itemsize,
                         .begins = given.begins.buf, .counts = given.counts.buf, .slices = given.slices};
            Look look;
            int enough;
            all.single = K.itemsize == 4;
            look_begins(&look, function);
            Py_BEGIN_ALLOW_THREADS
            enough = run_parts(&all, &part, given.problems, given.largest, given.g.buf, given.iterations.buf,
                               given.tol.buf, most, &look);
            Py_END_ALLOW_THREADS
            answer = !enough ? PyErr_NoMemory() : look.failed ? NULL : Py_NewRef(Py_None);
        }
        PyBuffer_Release(&K);
    }
    for (int k = 0; k < 8; k++) PyBuffer_Release(&given.beta + k);
    return answer;
}

PyMethodDef loop_parts_methods[] = {
    {"loop_over_parts", over_parts, METH_VARARGS,
     "(K, begins, counts, beta, g, low, high, tol, iterations, sums, most, look): the loop over P problems, whose rows\n"
     "are (P, c) slices of those of K: β in its box is moved in place, and g, which is ℓ, becomes Kβ. Iterations, (P,),\n"
     "are −1 − their number where tol is not met."},
    {NULL, NULL, 0, NULL},
};
