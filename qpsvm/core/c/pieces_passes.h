/* The passes over the rows of `pieces.c`, in one level of instructions: loops that a compiler makes vectors of. */
#include "vectors.h"

#define LANES 8

INLINE double IN(summed_up)(const double *sum) {
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* What is missing of a point, row by row; `steep` and `term` are those of each. */
TARGET static void IN(missed)(const Sums *a, Py_ssize_t at, int counted) {
    const Py_ssize_t m = a->m, p = a->p;
    const double *restrict v = a->v + at * m, *restrict t = a->t + at * m, *restrict lo = a->lo + at * m;
    const double *restrict hi = a->hi + at * m, *restrict curvature = a->curvature, *restrict sizes = a->sizes;
    const double *f = a->f + at * a->n, *mu = a->mu + at * p, u = DBL_EPSILON / 2;
    const double kappa = counted ? a->kappa[at] : 0, small = counted ? 8 * u : 0;
    double *restrict room = a->room + at % a->kept * m, *restrict plus = a->plus + at % a->kept * m;
    double *restrict minus = a->minus + at % a->kept * m, *restrict steep = a->steep, *restrict term = a->term;
    double *restrict moved = a->moved, *restrict gathered = a->reached;
    for (Py_ssize_t i = 0; i < m; i++) moved[i] = 0;
    if (p == 1)
        for (Py_ssize_t i = 0; i < m; i++) moved[i] = a->E[i] * mu[0];
    else
        for (Py_ssize_t g = 0; g < p; g++)
            for (Py_ssize_t i = 0; i < m; i++) moved[i] += a->E[i * p + g] * mu[g];
    if (a->plain)
        memcpy(gathered, f, (size_t)m * sizeof *f);
    else
        for (Py_ssize_t i = 0; i < m; i++) gathered[i] = f[a->sample[i]];
    for (Py_ssize_t i = 0; i < m; i++) {
        const double x = v[i], level = t[i], low = lo[i], high = hi[i], reached = gathered[i], c = curvature[i];
        const double bent = c * x, alpha = fabs(x), gradient = level - reached - bent, z = gradient - moved[i];
        const double radius = sizes[i] * kappa + small * (fabs(reached) + fabs(moved[i]) + fabs(level) + fabs(bent));
        const double below = low < 0 ? -1.0 : 0.0, s = high > 0 ? 1.0 : below, share = fabs(s);
        const double other = low < 0 ? -low : 0.0, upper = high > 0 ? high : other;
        plus[i] = larger(s * z + radius, 0.0) * share, minus[i] = larger(radius - s * z, 0.0) * share;
        room[i] = larger(upper - alpha, 0.0) + 4 * u * upper;
        steep[i] = fabs(gradient) + radius, term[i] = fabs(level * x) + bent * x;
    }
    for (Py_ssize_t i = 0; i < m && a->endless; i++)
        if (hi[i] > DBL_MAX || (!(hi[i] > 0) && lo[i] < -DBL_MAX)) {
            const double bend = curvature[i] > 0 ? plus[i] / (2 * curvature[i]) : INFINITY;
            room[i] = plus[i] > 0 ? bend : 0;
        }
}

/* The sums of a point, after `missed`. */
TARGET static void IN(point)(const Sums *a, Py_ssize_t at, int counted) {
    const Py_ssize_t m = a->m;
    const double *v = a->v + at * m, *lo = a->lo + at * m, *hi = a->hi + at * m;
    double *own = a->points + at * POINT, *kinds = a->kinds + at * a->groups * GROUP;
    double steepest[LANES] = {0}, terms[LANES] = {0}, whole[LANES] = {0}, most = 0;
    Py_ssize_t i = 0;
    IN(missed)(a, at, counted);
    for (; i + LANES <= m; i += LANES)
        for (int k = 0; k < LANES; k++) {
            steepest[k] = larger(steepest[k], a->steep[i + k]);
            terms[k] += a->term[i + k], whole[k] += a->sizes[i + k] * fabs(v[i + k]);
        }
    for (; i < m; i++) {
        steepest[0] = larger(steepest[0], a->steep[i]);
        terms[0] += a->term[i], whole[0] += a->sizes[i] * fabs(v[i]);
    }
    for (int k = 0; k < LANES; k++) most = larger(steepest[k], most);
    own[WHOLE] = IN(summed_up)(whole), own[STEEPEST] = most;
    own[TERMS] = IN(summed_up)(terms) + own[WHOLE] * own[WHOLE];
    for (Py_ssize_t g = 0; g < a->groups; g++) {
        double *kind = kinds + g * GROUP, sum[LANES] = {0}, mass[LANES] = {0}, up[LANES], down[LANES];
        for (int k = 0; k < LANES; k++) up[k] = down[k] = -INFINITY;
        for (i = 0; i + LANES <= m && a->groups == 1; i += LANES)
            for (int k = 0; k < LANES; k++) {
                sum[k] += v[i + k], mass[k] += fabs(v[i + k]);
                up[k] = larger(up[k], hi[i + k] - v[i + k]), down[k] = larger(down[k], v[i + k] - lo[i + k]);
            }
        for (; i < m; i++)
            if (a->group[i] == g) {
                sum[0] += v[i], mass[0] += fabs(v[i]);
                up[0] = larger(up[0], hi[i] - v[i]), down[0] = larger(down[0], v[i] - lo[i]);
            }
        for (int k = 1; k < LANES; k++) up[0] = larger(up[0], up[k]), down[0] = larger(down[0], down[k]);
        kind[SUM] = IN(summed_up)(sum), kind[MASS] = IN(summed_up)(mass), kind[ANY] = kind[MASS] != 0;
        kind[UP] = up[0], kind[DOWN] = down[0];
    }
}

/* Σ room_a plus_b + α_a minus_b; no number where there is no bound and nothing bends. */
TARGET static double IN(together)(const Sums *a, Py_ssize_t first, Py_ssize_t second) {
    const Py_ssize_t m = a->m;
    const double *room = a->room + first % a->kept * m, *v = a->v + first * m;
    const double *plus = a->plus + second % a->kept * m, *minus = a->minus + second % a->kept * m;
    double sum[LANES] = {0};
    Py_ssize_t i = 0;
    for (; i + LANES <= m; i += LANES)
        for (int k = 0; k < LANES; k++) sum[k] += room[i + k] * plus[i + k] + fabs(v[i + k]) * minus[i + k];
    for (; i < m; i++) sum[0] += room[i] * plus[i] + fabs(v[i]) * minus[i];
    return IN(summed_up)(sum);
}

/* D of (BETWEEN.3) for two points, without what has a ridge. */
TARGET static double IN(dual)(const Sums *a, Py_ssize_t first, Py_ssize_t second) {
    const Py_ssize_t m = a->m;
    const double *v = a->v + first * m, *w = a->v + second * m, *t = a->t + first * m, *s = a->t + second * m;
    const double *f = a->f + second * a->n;
    double sum[LANES] = {0}, bent = 0;
    Py_ssize_t i = 0;
    for (; i + LANES <= m && a->plain; i += LANES)
        for (int k = 0; k < LANES; k++)
            sum[k] += t[i + k] * w[i + k] + s[i + k] * v[i + k] - v[i + k] * f[i + k];
    for (; i < m; i++) sum[0] += t[i] * w[i] + s[i] * v[i] - v[i] * f[a->sample[i]];
    for (i = 0; i < m && a->bent; i++) bent += a->curvature[i] * v[i] * w[i];
    return 0.5 * (IN(summed_up)(sum) - bent);
}

/* Within its bounds, and what the sums are off given to the row of each kind with most room, one of F, twice. */
TARGET static void IN(repaired)(const Ends *a, double *restrict v, const double *restrict lo,
                                const double *restrict hi, double s, Py_ssize_t piece) {
    const Py_ssize_t m = a->m;
    for (Py_ssize_t i = 0; i < m; i++) {
        const double x = v[i], low = lo[i], high = hi[i];
        v[i] = within(x, low, high);
    }
    for (int round = 0; round < 2; round++)
        for (Py_ssize_t g = 0; g < a->kinds; g++) {
            double sum[LANES] = {0}, most = 0;
            Py_ssize_t roomiest = -1, i = 0;
            for (; i + LANES <= m && a->kinds == 1; i += LANES)
                for (int k = 0; k < LANES; k++) sum[k] += v[i + k];
            for (; i < m; i++) sum[0] += a->group[i] == g ? v[i] : 0;
            const double off = a->total[g] + s * a->change[g] - IN(summed_up)(sum);
            if (!off) continue;
            for (int64_t j = a->offset[piece]; j < a->offset[piece + 1]; j++) {
                i = a->free[j];
                const double up = hi[i] - v[i], down = v[i] - lo[i], room = up < down ? up : down;
                if (room > most && a->group[i] == g) most = room, roomiest = i;
            }
            if (roomiest >= 0) v[roomiest] = within(v[roomiest] + off, lo[roomiest], hi[roomiest]);
        }
}

/* Piece `piece` at its `end`, as point `at`, which has the data of the point before where it is as far. */
TARGET static void IN(put)(const Ends *a, Py_ssize_t piece, int end, Py_ssize_t at) {
    const Py_ssize_t m = a->m, p = a->p;
    const double s = a->s[2 * piece + end], along = s - a->s[2 * piece];
    const int8_t *restrict kind = a->kind + piece * m;
    double *restrict v = a->v + at * m, *restrict lo = a->data[1] + at * m, *restrict hi = a->data[2] + at * m;
    if (at && a->point[at - 1] == s)
        for (int part = 0; part < 3; part++)
            memcpy(a->data[part] + at * m, a->data[part] + (at - 1) * m, (size_t)m * sizeof *v);
    else
        for (int part = 0; part < 3; part++) {
            const double *restrict start = a->start[part], *restrict slope = a->slope[part];
            double *restrict to = a->data[part] + at * m;
            for (Py_ssize_t i = 0; i < m; i++) to[i] = start[i] + s * slope[i];
        }
    for (Py_ssize_t i = 0; i < m; i++) {
        const double low = lo[i], high = hi[i], below = kind[i] < 0 ? low : 0;
        v[i] = kind[i] > 0 ? high : below;
    }
    for (int64_t j = a->offset[piece]; j < a->offset[piece + 1]; j++) v[a->free[j]] = a->value[j] + along * a->rate[j];
    for (Py_ssize_t g = 0; g < p; g++)
        a->multiplier[at * p + g] = a->mu[piece * p + g] + along * a->turn[piece * p + g];
    a->point[at] = s;
    IN(repaired)(a, v, lo, hi, s, piece);
}

/* Whether two vectors differ by a few roundings only; what is no number is not the same. */
TARGET static int IN(same)(const double *one, const double *other, Py_ssize_t n) {
    double size[LANES] = {0}, most[LANES] = {0}, all[LANES] = {0}, large = 0, apart = 0;
    Py_ssize_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            const double by = fabs(one[i + k] - other[i + k]), its = fabs(other[i + k]);
            size[k] = larger(size[k], its), most[k] = larger(most[k], by), all[k] += by;
        }
    for (; i < n; i++) {
        const double by = fabs(one[i] - other[i]), its = fabs(other[i]);
        size[0] = larger(size[0], its), most[0] = larger(most[0], by), all[0] += by;
    }
    for (int k = 0; k < LANES; k++) large = larger(size[k], large), apart = larger(most[k], apart);
    return apart <= 64 * DBL_EPSILON * large && IN(summed_up)(all) < INFINITY;
}

#undef LANES
