/* The working-set loop over the rows that a `Loop` is given. */
#include "loop.h"

/* Entries of rows that are read between two looks: some tenths of a millisecond. */
#define BETWEEN_LOOKS 300000

/* An entry so near an end, in shares of its box, is there: sums that leave no choice are met by ends alone. */
#define AT_END 1e-14

/* a and d of (CLOOP.1), or those of the two sums of (CLOOP.5). */
static void set_ends(Loop *loop, Py_ssize_t i) {
    double low = loop->low[i], high = loop->high[i], near = AT_END * (high - low), tube = loop->tube ? loop->tube[i] : 0.0;
    double beta = loop->beta[i] - low <= near ? low : high - loop->beta[i] <= near ? high : loop->beta[i];
    loop->beta[i] = beta;
    int rises = beta < high, falls = beta > low;
    if (loop->sums == 1) {
        loop->rise[0][i] = rises ? (beta < 0.0 ? tube : -tube) : -INFINITY;
        loop->fall[0][i] = falls ? (beta > 0.0 ? -tube : tube) : INFINITY;
        return;
    }
    loop->rise[0][i] = rises && beta >= 0.0 ? 0.0 : -INFINITY;
    loop->fall[0][i] = falls && beta > 0.0 ? 0.0 : INFINITY;
    loop->rise[1][i] = rises && beta < 0.0 ? 0.0 : -INFINITY;
    loop->fall[1][i] = falls && beta <= 0.0 ? 0.0 : INFINITY;
}

static int kinked(const Loop *loop, Py_ssize_t i) {
    return loop->sums == 2 || (loop->tube && loop->tube[i] > 0.0);
}

/* Where β_i ends as it rises: at the kink if that comes first. */
static double end_above(const Loop *loop, Py_ssize_t i) {
    return loop->beta[i] < 0.0 && loop->high[i] > 0.0 && kinked(loop, i) ? 0.0 : loop->high[i];
}

static double end_below(const Loop *loop, Py_ssize_t i) {
    return loop->beta[i] > 0.0 && loop->low[i] < 0.0 && kinked(loop, i) ? 0.0 : loop->low[i];
}

/* The first half of (CLOOP.4): move β_i and β_j, and return how far. */
static double move_pair(Loop *loop, Py_ssize_t i, Py_ssize_t j, double rate, double eta) {
    double *beta = loop->beta, moved = 0.0;
    while (rate > 0.0) {
        double above = end_above(loop, i), below = end_below(loop, j);
        double room_i = above - beta[i], room_j = beta[j] - below, step = eta > 0.0 ? rate / eta : INFINITY;
        int ends_i = room_i <= step && room_i <= room_j, ends_j = room_j <= step && room_j <= room_i;
        step = ends_i ? room_i : ends_j ? room_j : step;
        beta[i] = ends_i ? above : fmin(beta[i] + step, above);
        beta[j] = ends_j ? below : fmax(beta[j] - step, below);
        moved += step;
        int on_i = ends_i && above < loop->high[i], on_j = ends_j && below > loop->low[j]; /* at the kink */
        if (!(ends_i || ends_j) || ends_i != on_i || ends_j != on_j || loop->sums == 2) break;
        rate -= eta * step + 2.0 * (on_i ? loop->tube[i] : 0.0) + 2.0 * (on_j ? loop->tube[j] : 0.0);
    }
    set_ends(loop, i), set_ends(loop, j);
    return moved;
}

/* The extremes of the sum that violates more, which is returned in `sum`. */
static Extremes choose(Loop *loop, const Passes *passes, const void *Ki, const void *Kj, double delta, int *sum) {
    Extremes first = passes->choose(loop, Ki, Kj, delta, 0);
    *sum = 0;
    if (loop->sums == 1) return first;
    Extremes second = passes->choose(loop, NULL, NULL, 0.0, 1);
    if (!(second.most - second.least > first.most - first.least)) return first;
    *sum = 1;
    return second;
}

static int all_finite(const double *values, Py_ssize_t n) {
    double sum = 0.0;
    for (Py_ssize_t t = 0; t < n; t++) sum += 0.0 * values[t];
    return sum == 0.0;
}

int loop_run(Loop *loop, double tol, int64_t most, Look *look) {
    const Passes *passes = &loop_passes[core_level][loop->single];
    const void *Ki = NULL, *Kj = NULL;
    double delta = 0.0;
    int64_t read = 0;
    int sum, ended = 0;
    for (Py_ssize_t t = 0; t < loop->n; t++) set_ends(loop, t);
    for (;;) {
        Extremes found = choose(loop, passes, Ki, Kj, delta, &sum);
        loop->violation = found.most - found.least;
        ended = !(loop->violation >= tol);
        read += loop->n + 64;
        if (ended || loop->iterations >= most || (read > BETWEEN_LOOKS && (read = 0, looked(look)))) break;
        Py_ssize_t i = found.at;
        if (!(Ki = loop->row(loop, i))) break;
        Py_ssize_t j = passes->partner(loop, Ki, i, found.most, sum);
        if (j < 0 || !(Kj = loop->row(loop, j))) break;
        double both = loop->diagonal[i] + loop->diagonal[j];
        double between = loop->single ? (double)((const float *)Ki)[j] : ((const double *)Ki)[j];
        double eta = fmax(both - 2.0 * between, SMALLEST * both);
        double before_i = loop->beta[i], before_j = loop->beta[j];
        delta = move_pair(loop, i, j, found.most - (loop->g[j] + loop->fall[sum][j]), eta);
        loop->iterations++;
        if (loop->beta[i] == before_i && loop->beta[j] == before_j) break; /* less than a rounding */
    }
    if (!(loop->violation > 0.0)) loop->violation = 0.0; /* no row can rise, or none can fall */
    return ended && all_finite(loop->g, loop->n);
}
