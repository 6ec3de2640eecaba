/* Kernel rows that are evaluated as they are needed, and kept while there is room. */
#include "loop.h"
#include <string.h>

/* Slots of rows in a ring that goes from the newest to the oldest, with `ends` between these two. */
struct Kept {
    Samples samples;
    Py_ssize_t rows; /* those of the samples, and the last one of an extended matrix */
    double *added;   /* (n,), what is added to the diagonal; NULL: nothing */
    double corner;   /* the last entry of an extended matrix, whose last row is 0 otherwise */
    Py_ssize_t apart, slots, used, ends; /* floats from slot to slot; how many there are, and are filled; the ring's end */
    float *values, *own;                 /* own (d,): the sample whose row is made */
    Py_ssize_t *slot_of, *row_of, *newer, *older;
};

/* X (n, d) into panels; 0: no memory. */
static int packed(Samples *samples, const float *X) {
    Py_ssize_t n = samples->n, width = samples->width;
    samples->panels = (n + PANEL - 1) / PANEL;
    samples->packed = aligned_alloc(64, (size_t)(samples->panels * width * PANEL) * sizeof(float) + 64);
    if (!samples->packed) return 0;
    for (Py_ssize_t i = 0; i < samples->panels * PANEL; i++) {
        float *to = samples->packed + i / PANEL * width * PANEL + i % PANEL;
        for (Py_ssize_t k = 0; k < width; k++) to[k * PANEL] = i < n ? X[i * width + k] : 0.0f;
    }
    return 1;
}

Py_ssize_t kept_count(const Kept *kept) { return kept->rows; }

void kept_rows_end(Kept *kept) {
    if (!kept) return;
    free(kept->samples.packed), free(kept->added), free(kept->values), free(kept->own), free(kept->slot_of), free(kept->row_of), free(kept->newer), free(kept->older);
    free(kept);
}

Kept *kept_rows(Samples samples, const float *X, const double *added, double corner, int64_t bytes) {
    Kept *kept = calloc(1, sizeof *kept);
    if (!kept || !packed(&samples, X)) {
        free(kept);
        return NULL;
    }
    Py_ssize_t n = samples.n + (corner >= 0.0), apart = (n + PANEL - 1) / PANEL * PANEL;
    Py_ssize_t slots = apart ? (Py_ssize_t)(bytes / (4 * apart)) : 2;
    slots = slots < 2 ? 2 : slots > n ? (n < 2 ? 2 : n) : slots;
    kept->samples = samples, kept->rows = n, kept->apart = apart, kept->slots = slots, kept->ends = slots;
    kept->corner = corner;
    size_t count = (size_t)slots + 1;
    kept->values = aligned_alloc(64, (size_t)(slots * apart) * sizeof(float) + 64);
    kept->own = malloc((size_t)samples.width * sizeof(float) + 1);
    kept->slot_of = malloc((size_t)n * sizeof(Py_ssize_t) + 1);
    kept->row_of = malloc(count * sizeof(Py_ssize_t));
    kept->newer = malloc(count * sizeof(Py_ssize_t));
    kept->older = malloc(count * sizeof(Py_ssize_t));
    if (added) kept->added = malloc((size_t)samples.n * sizeof(double) + 1);
    if ((added && !kept->added) || !kept->values || !kept->own || !kept->slot_of || !kept->row_of || !kept->newer || !kept->older) {
        kept_rows_end(kept);
        return NULL;
    }
    if (added) memcpy(kept->added, added, (size_t)samples.n * sizeof(double));
    for (Py_ssize_t i = 0; i < n; i++) kept->slot_of[i] = -1;
    kept->newer[slots] = kept->older[slots] = slots;
    return kept;
}

static void leave_ring(Kept *kept, Py_ssize_t slot) {
    kept->older[kept->newer[slot]] = kept->older[slot];
    kept->newer[kept->older[slot]] = kept->newer[slot];
}

static void join_ring(Kept *kept, Py_ssize_t slot) {
    Py_ssize_t ends = kept->ends, last = kept->older[ends];
    kept->newer[slot] = ends, kept->older[slot] = last;
    kept->older[ends] = slot, kept->newer[last] = slot;
}

static const float *sample_of(Kept *kept, Py_ssize_t i) {
    const Samples *samples = &kept->samples;
    const float *first = samples->packed + i / PANEL * samples->width * PANEL + i % PANEL;
    for (Py_ssize_t k = 0; k < samples->width; k++) kept->own[k] = first[k * PANEL];
    return kept->own;
}

/* Row i of the matrix, into a slot. */
static void make_row(Kept *kept, Py_ssize_t i, float *values) {
    Py_ssize_t n = kept->samples.n;
    if (i < n) {
        loop_values[core_level](&kept->samples, sample_of(kept, i), values);
        if (kept->added) values[i] = (float)(values[i] + kept->added[i]);
        for (Py_ssize_t j = n; j < kept->apart; j++) values[j] = 0.0f;
    } else {
        memset(values, 0, (size_t)kept->apart * sizeof(float));
        values[n] = (float)kept->corner;
    }
}

const void *kept_row(Loop *loop, Py_ssize_t i) {
    Kept *kept = loop->rows;
    Py_ssize_t slot = kept->slot_of[i];
    if (slot >= 0)
        leave_ring(kept, slot);
    else {
        if (kept->used < kept->slots)
            slot = kept->used++;
        else {
            slot = kept->newer[kept->ends]; /* the oldest */
            leave_ring(kept, slot);
            kept->slot_of[kept->row_of[slot]] = -1;
        }
        kept->slot_of[i] = slot, kept->row_of[slot] = i;
        make_row(kept, i, kept->values + slot * kept->apart);
    }
    join_ring(kept, slot);
    return kept->values + slot * kept->apart;
}

double kept_diagonal(Loop *loop, Py_ssize_t i) {
    Kept *kept = loop->rows;
    const Samples *samples = &kept->samples;
    if (i == samples->n) return kept->corner;
    float sum = 0.0f, value = 1.0f;
    if (samples->degree) {
        const float *a = sample_of(kept, i);
        for (Py_ssize_t k = 0; k < samples->width; k++) sum += a[k] * a[k];
        for (int k = 0; k < samples->degree; k++) value *= sum + samples->offset;
    }
    return (double)value + (kept->added ? kept->added[i] : 0.0);
}
