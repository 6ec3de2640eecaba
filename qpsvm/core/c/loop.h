/* The working-set loop: sequential minimal optimisation with second-order selection, directly in β of (KDUAL.1).

   (CLOOP.1)  g = ℓ − Kβ;  up_i = g_i + a_i,  down_i = g_i + d_i:  the rates at which the dual grows as β_i rises, and
              shrinks as it falls.  a_i is −ε_i from β_i ≥ 0 upwards, ε_i below, −∞ at the upper end;  d_i likewise
   (CLOOP.2)  violation = max up_i − min down_j;  i is the largest up_i, j has the largest (up_i − down_j)² / η_ij
   (CLOOP.3)  η_ij = K_ii + K_jj − 2K_ij, at least SMALLEST·(K_ii + K_jj): equal samples, and kernels that are not
              positive, still have a step, as far as the next end
   (CLOOP.4)  β_i + δ, β_j − δ:  δ = (up_i − down_j) / η_ij up to an end or to the kink at 0, and beyond it with a rate
              that is 2ε less;  g − δ(K_i − K_j)
   (CLOOP.5)  of (KDUAL.7) two sums are kept, those of β > 0 and of β < 0: a pair is of one of them, the one that
              violates more, and a step ends at 0 */
#ifndef QPSVM_LOOP_H
#define QPSVM_LOOP_H
#include "core.h"
#include <math.h>
#include <stdlib.h>

#define SMALLEST 1e-12
/* Arrays that vectors run over are longer than n by so many entries, which are never chosen. */
#define SPARE 16

/* A problem over n rows. beta, low, high, tube (n,); g, diagonal and what is added to g, of each sum: (n + SPARE,). */
typedef struct Loop {
    Py_ssize_t n;
    int sums;
    const double *low, *high, *tube;
    double *beta, *g, *diagonal, *rise[2], *fall[2];
    int single; /* whether rows are floats */
    const void *(*row)(struct Loop *loop, Py_ssize_t i);
    double (*diagonal_of)(struct Loop *loop, Py_ssize_t i);
    void *rows; /* what both read */
    double violation;
    int64_t iterations;
} Loop;

/* The extremes of (CLOOP.2) over one sum. */
typedef struct {
    double most, least;
    Py_ssize_t at;
} Extremes;

/* Passes over all rows, of a level and a precision. `choose`: extremes, after (CLOOP.4) where the rows Ki and Kj are
   given. `partner`: j of (CLOOP.2) for i, or −1. `add`: g += weight·row. */
typedef struct {
    Extremes (*choose)(Loop *loop, const void *Ki, const void *Kj, double delta, int sum);
    Py_ssize_t (*partner)(const Loop *loop, const void *Ki, Py_ssize_t i, double up, int sum);
    void (*add)(Loop *loop, const void *row, double weight);
} Passes;

extern const Passes loop_passes[3][2]; /* by level, and whether rows are floats */

/* The doubles of one array of a loop over n rows. */
static inline Py_ssize_t padded(Py_ssize_t n) { return (n + SPARE + 7) / 8 * 8; }

/* Arrays of a loop in memory for 2 + 2·sums of them: g from its values, and what is never chosen beyond n. */
void lay_out(Loop *loop, double *memory, const double *g);

/* Whether a buffer is a square matrix of floats or doubles whose rows are each in one piece. */
int is_matrix(const Py_buffer *view);

/* Whether β is in its box, a number, and no tube is negative. */
int in_box(const Loop *loop);

/* Samples (n, d) in panels of so many: (panels, d, PANEL), in single precision, with zeros beyond n. */
#define PANEL 64
typedef struct {
    Py_ssize_t n, width, panels;
    float *packed;
    int degree; /* 0: an RBF kernel (CLOOP.8); else the power p of (CLOOP.9) */
    float offset;
} Samples;

/* Kernel values of one sample a (d,) with all: out (panels·PANEL,). */
typedef void (*Values)(const Samples *samples, const float *a, float *out);
extern const Values loop_values[3]; /* by level */

/* Rows of kernel values that are kept, within some memory; where there is no more room, what was read longest ago goes. */
typedef struct Kept Kept;
/* Of samples X (n, d), where n and d are given, with `added` (n,) on the diagonal unless NULL, and a further row that is 0
   but for its `corner`, unless that is negative; NULL: no memory. */
Kept *kept_rows(Samples samples, const float *X, const double *added, double corner, int64_t bytes);
/* How many rows there are. */
Py_ssize_t kept_count(const Kept *kept);
void kept_rows_end(Kept *kept);
const void *kept_row(Loop *loop, Py_ssize_t i);
double kept_diagonal(Loop *loop, Py_ssize_t i);

/* Run until the violation is below tol, the iterations are used up, or the look says so; whether it is below. */
int loop_run(Loop *loop, double tol, int64_t most, Look *look);

#endif
