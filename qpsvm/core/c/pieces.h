/* What a point and the pieces are judged by, and their ends. */
#ifndef QPSVM_PIECES_H
#define QPSVM_PIECES_H

#include "core.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Of a point: the steepest |∇D| + radius, the terms of D, Σρ|v|. */
enum { STEEPEST, TERMS, WHOLE, POINT };
/* Of a kind of E at a point: Σv, Σ|v|, the most room to grow and to shrink, and whether any v is not 0. */
enum { SUM, MASS, UP, DOWN, ANY, GROUP };

typedef struct {
    Py_ssize_t m, n, p, k, pieces, groups;
    const double *E, *curvature, *sizes, *v, *t, *lo, *hi, *mu, *f, *kappa;
    const int64_t *sample, *group, *first, *second;
    double *missing, *dual, *points, *kinds, *room, *plus, *minus; /* of the last points */
    double *reached, *moved, *steep, *term;                 /* of the rows of a point */
    Py_ssize_t kept;
    int bent, endless, plain;
} Sums;

typedef struct {
    Py_ssize_t m, p, k, kinds;
    const int64_t *group, *free, *offset;
    const double *start[3], *slope[3], *total, *change, *value, *rate, *s, *mu, *turn;
    const int8_t *kind;
    double *v, *data[3], *multiplier, *point;
    int64_t *first, *second;
} Ends;

/* What is no number stays that, where it is the first. */
static inline double larger(double a, double b) { return a <= b ? b : a; }
static inline double within(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }

#endif
