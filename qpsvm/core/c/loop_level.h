/* What one level has of the loop: kernel values, and passes in both precisions. */
#include "vectors.h"

#include "exp.h"
#include "loop_values.h"

#define T double
#define PASS(name) IN(name##_of_doubles)
INLINE DV PASS(row_at)(const double *p) { return IN(doubles_at)(p); }
#include "loop_passes.h"
#undef T
#undef PASS

#define T float
#define PASS(name) IN(name##_of_floats)
INLINE DV PASS(row_at)(const float *p) { return IN(widened_at)(p); }
#include "loop_passes.h"
#undef T
#undef PASS
