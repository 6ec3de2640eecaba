/* The passes of (CLOOP) over rows of T, floats or doubles, in the level of the `vectors.h` before it.

   Two vectors at a time, each with its own best so far. What is left at the end of a row is copied before it is read; the
   arrays of a `Loop` are longer than n. PASS(name) is a name of this precision, ROW_AT a vector of doubles of a row. */

#define BOTH (2 * DOUBLES)

INLINE void PASS(rest_of)(T *rest, const void *row, Py_ssize_t from, Py_ssize_t n) {
    for (Py_ssize_t k = 0; k < BOTH; k++) rest[k] = from + k < n ? ((const T *)row)[from + k] : 0;
}

/* The best so far of every place of two vectors. */
typedef struct {
    DV most[2], at[2], least[2], places;
} PASS(Chosen);

INLINE void PASS(choose_step)(PASS(Chosen) *best, double *g, const T *Ki, const T *Kj, DV delta, const double *rise,
                              const double *fall, int moves) {
#pragma GCC unroll 2
    for (int c = 0; c < 2; c++) {
        DV value = IN(doubles_at)(g + c * DOUBLES);
        if (moves) {
            DV change = PASS(row_at)(Kj + c * DOUBLES) - PASS(row_at)(Ki + c * DOUBLES);
            value = FMA_D(delta, change, value);
            IN(put_doubles)(g + c * DOUBLES, value);
        }
        DV up = value + IN(doubles_at)(rise + c * DOUBLES), down = value + IN(doubles_at)(fall + c * DOUBLES);
        MASK more = ABOVE(up, best->most[c]);
        best->most[c] = CHOSEN(more, up, best->most[c]);
        best->at[c] = CHOSEN(more, best->places, best->at[c]);
        best->least[c] = SMALLER_D(down, best->least[c]);
    }
    best->places = best->places + (double)BOTH;
}

/* (CLOOP.2), and before it the second half of (CLOOP.4) where the rows are given. */
TARGET static Extremes PASS(choose)(Loop *loop, const void *Ki, const void *Kj, double delta, int sum) {
    PASS(Chosen) best;
    const T *ki = Ki, *kj = Kj;
    double *g = loop->g, most[BOTH], at[BOTH], least[BOTH];
    const double *rise = loop->rise[sum], *fall = loop->fall[sum];
    DV every = IN(all_double)(delta);
    for (int k = 0; k < DOUBLES; k++) best.places[k] = k;
    for (int c = 0; c < 2; c++) {
        best.most[c] = IN(all_double)(-INFINITY), best.at[c] = IN(all_double)(-1.0);
        best.least[c] = IN(all_double)(INFINITY);
    }
    Py_ssize_t t = 0, n = loop->n;
    if (ki) {
        for (; t + BOTH <= n; t += BOTH)
            PASS(choose_step)(&best, g + t, ki + t, kj + t, every, rise + t, fall + t, 1);
        if (t < n) {
            T rest_i[BOTH], rest_j[BOTH];
            PASS(rest_of)(rest_i, ki, t, n), PASS(rest_of)(rest_j, kj, t, n);
            PASS(choose_step)(&best, g + t, rest_i, rest_j, every, rise + t, fall + t, 1);
        }
    } else
        for (; t < n; t += BOTH) PASS(choose_step)(&best, g + t, NULL, NULL, every, rise + t, fall + t, 0);
    for (int c = 0; c < 2; c++) {
        IN(put_doubles)(most + c * DOUBLES, best.most[c]), IN(put_doubles)(at + c * DOUBLES, best.at[c]);
        IN(put_doubles)(least + c * DOUBLES, best.least[c]);
    }
    Extremes found = {-INFINITY, INFINITY, -1};
    for (int k = 0; k < BOTH; k++) {
        if (most[k] > found.most) found.most = most[k], found.at = (Py_ssize_t)at[k] + (k < DOUBLES ? 0 : DOUBLES);
        if (least[k] < found.least) found.least = least[k];
    }
    return found;
}

/* The best partner so far of every place of two vectors: its (up_i − down_j)² and its η. */
typedef struct {
    DV square[2], eta[2], at[2], places;
} PASS(Partners);

INLINE void PASS(partner_step)(PASS(Partners) *best, const double *g, const T *Ki, const double *fall,
                               const double *diagonal, DV up, DV own) {
#pragma GCC unroll 2
    for (int c = 0; c < 2; c++) {
        DV rate = up - (IN(doubles_at)(g + c * DOUBLES) + IN(doubles_at)(fall + c * DOUBLES));
        rate = LARGER_D(IN(all_double)(0.0), rate);
        DV both = own + IN(doubles_at)(diagonal + c * DOUBLES);
        DV eta = LARGER_D(SMALLEST * both, FMA_D(IN(all_double)(-2.0), PASS(row_at)(Ki + c * DOUBLES), both));
        DV square = rate * rate;
        MASK better = ABOVE(square * best->eta[c], best->square[c] * eta); /* as the quotients are, without dividing */
        best->square[c] = CHOSEN(better, square, best->square[c]);
        best->eta[c] = CHOSEN(better, eta, best->eta[c]);
        best->at[c] = CHOSEN(better, best->places, best->at[c]);
    }
    best->places = best->places + (double)BOTH;
}

TARGET static Py_ssize_t PASS(partner)(const Loop *loop, const void *Ki, Py_ssize_t i, double up, int sum) {
    PASS(Partners) best;
    const T *ki = Ki;
    const double *fall = loop->fall[sum];
    double square[BOTH], eta[BOTH], at[BOTH];
    DV rate = IN(all_double)(up), own = IN(all_double)(loop->diagonal[i]);
    for (int k = 0; k < DOUBLES; k++) best.places[k] = k;
    for (int c = 0; c < 2; c++)
        best.square[c] = IN(all_double)(0.0), best.eta[c] = IN(all_double)(1.0), best.at[c] = IN(all_double)(-1.0);
    Py_ssize_t t = 0, n = loop->n;
    for (; t + BOTH <= n; t += BOTH)
        PASS(partner_step)(&best, loop->g + t, ki + t, fall + t, loop->diagonal + t, rate, own);
    if (t < n) {
        T rest[BOTH];
        PASS(rest_of)(rest, ki, t, n);
        PASS(partner_step)(&best, loop->g + t, rest, fall + t, loop->diagonal + t, rate, own);
    }
    for (int c = 0; c < 2; c++) {
        IN(put_doubles)(square + c * DOUBLES, best.square[c]), IN(put_doubles)(eta + c * DOUBLES, best.eta[c]);
        IN(put_doubles)(at + c * DOUBLES, best.at[c]);
    }
    Py_ssize_t found = -1;
    double its_square = 0.0, its_eta = 1.0;
    for (int k = 0; k < BOTH; k++)
        if (at[k] >= 0.0 && square[k] * its_eta > its_square * eta[k])
            its_square = square[k], its_eta = eta[k], found = (Py_ssize_t)at[k] + (k < DOUBLES ? 0 : DOUBLES);
    return found;
}

TARGET static void PASS(add)(Loop *loop, const void *row, double weight) {
    const T *K = row;
    double *g = loop->g;
    for (Py_ssize_t t = 0; t < loop->n; t++) g[t] += weight * (double)K[t];
}

#undef BOTH
