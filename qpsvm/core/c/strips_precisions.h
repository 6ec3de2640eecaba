/* `strips.h` of one level, in both precisions. */
#define REAL float
#define V FV
#define FMA FMA_F
#define EXP IN(exp_floats)
#define NAME(function) IN(function##_single)
#include "strips.h"
#undef REAL
#undef V
#undef FMA
#undef EXP
#undef NAME
#define REAL double
#define V DV
#define FMA FMA_D
#define EXP IN(exp_doubles)
#define NAME(function) IN(function##_double)
#include "strips.h"
#undef REAL
#undef V
#undef FMA
#undef EXP
#undef NAME
