/* Kernel values of one level of instructions and one precision. Included again for each of them, after `vectors.h` and
   `exp.h`, with REAL, ROWS of a tile and NAME(function).

   A tile is ROWS × 2 vectors of accumulators, which stay in registers: its rows are read from a group, (d, ROWS), one
   number for a whole vector, its columns from a panel, (d, COLUMNS). Both are packed from the samples by `packed`. */
#define LANES ((Py_ssize_t)(sizeof(V) / sizeof(REAL)))
#define COLUMNS (2 * LANES)
/* A number in every lane: x − 0 is x, where 0 + x would be an addition. */
#define ALL(x) ((REAL)(x) - (V){0})

/* K of a tile from aᵀc, or of (KBLOCK.1) from the exponent: (scale·aᵀc + shift) to a whole power, or e^x. */
INLINE V NAME(value)(V x, const Kernel *kernel) {
    if (!kernel->power) return EXP(x);
    V base = FMA(x, ALL(kernel->scale), ALL(kernel->shift)), found = base;
    for (int bit = kernel->first; bit; bit >>= 1) {
        found *= found;
        if (kernel->power & bit) found *= base;
    }
    return found;
}

/* Some features of `count` rows from `first` on, `together` side by side: (groups, features, together); and their
   −½‖a‖². Rows beyond the last are 0. A few features at a time: what is written stays in the cache. */
static TARGET void NAME(packed)(const Side *side, Py_ssize_t first, Py_ssize_t count, int together, Py_ssize_t from,
                         Py_ssize_t d, REAL *out, REAL *half) {
    for (Py_ssize_t j0 = 0; j0 < count; j0 += together, out += d * together)
        for (Py_ssize_t k0 = 0; k0 < d; k0 += PACKED)
            for (int j = 0; j < together; j++) {
                const Py_ssize_t k1 = d - k0 < PACKED ? d : k0 + PACKED;
                if (j0 + j >= count) {
                    for (Py_ssize_t k = k0; k < k1; k++) out[k * together + j] = 0;
                    half[j0 + j] = 0;
                    continue;
                }
                const Py_ssize_t row = row_of(side, first + j0 + j);
                const char *x = side->samples->a + 8 * (row * side->samples->d + from);
                for (Py_ssize_t k = k0; k < k1; k++) out[k * together + j] = (REAL)number(x, k);
                half[j0 + j] = side->samples->half ? (REAL)number(side->samples->half, row) : 0;
            }
}

/* What is packed of a strip: features of its rows and columns, −½‖a‖² and weights; and accumulators that wait for
   further features. */
typedef struct {
    REAL *groups, *panels, *half_rows, *half_columns, *weights, *waits;
} NAME(Packed);

/* Where the accumulators of a tile wait. */
INLINE REAL *NAME(waiting)(const NAME(Packed) *p, Py_ssize_t r, Py_ssize_t c) {
    return p->waits + (c / COLUMNS * STRIP_TILES + r / ROWS) * ROWS * COLUMNS;
}

/* The accumulators of a tile: from −½‖a‖² − ½‖c‖², or from what waits, with the products of some features. */
INLINE void NAME(tile)(V sum[ROWS][2], const Strip *strip, const NAME(Packed) *p,
                                                             Py_ssize_t r, Py_ssize_t c) {
    const REAL *group = p->groups + r * strip->features, *panel = p->panels + c * strip->features;
    if (strip->begins) {
        V half[2];
        memcpy(half, p->half_columns + c, sizeof half);
#pragma GCC unroll 12
        for (int i = 0; i < ROWS; i++)
            sum[i][0] = half[0] + p->half_rows[r + i], sum[i][1] = half[1] + p->half_rows[r + i];
    } else {
        memcpy(sum, NAME(waiting)(p, r, c), sizeof(V[ROWS][2]));
    }
    for (Py_ssize_t k = 0; k < strip->features; k++, group += ROWS, panel += COLUMNS) {
        V c0, c1;
        memcpy(&c0, panel, sizeof c0);
        memcpy(&c1, panel + LANES, sizeof c1);
#pragma GCC unroll 12
        for (int i = 0; i < ROWS; i++) {
            const V b = ALL(group[i]);
            sum[i][0] = FMA(b, c0, sum[i][0]);
            sum[i][1] = FMA(b, c1, sum[i][1]);
        }
    }
}

/* What a finished tile adds to the sums over its rows, for every column: Σ_r w_r K_rc. */
INLINE void NAME(summed)(V sum[ROWS][2], const Kernel *kernel, const REAL *weights,
                                                               V total[2]) {
#pragma GCC unroll 12
    for (int r = 0; r < ROWS; r++) {
        const V w = ALL(weights[r]);
        total[0] = FMA(w, NAME(value)(sum[r][0], kernel), total[0]);
        total[1] = FMA(w, NAME(value)(sum[r][1], kernel), total[1]);
    }
}

/* The sums of a panel, added to what is there of them: in double precision. */
static TARGET void NAME(added)(const Job *job, Py_ssize_t column, Py_ssize_t columns, const V total[2]) {
    REAL values[COLUMNS];
    memcpy(values, total, sizeof values);
    for (Py_ssize_t c = 0; c < columns && c < COLUMNS; c++) {
        const double sum = number(job->out, column + c) + (double)values[c];
        memcpy(job->out + 8 * (column + c), &sum, 8);
    }
}

/* A finished tile of `rows` × `columns` to where it stands in the matrix. */
INLINE void NAME(stored)(V sum[ROWS][2], const Job *job, Py_ssize_t row,
                                                               Py_ssize_t column, Py_ssize_t rows, Py_ssize_t columns) {
    const size_t size = sizeof(REAL) * (size_t)(columns < COLUMNS ? columns : COLUMNS);
    char *out = job->out + ((job->row + row) * job->width + job->column + column) * (Py_ssize_t)sizeof(REAL);
#pragma GCC unroll 12
    for (int r = 0; r < ROWS; r++) {
        const V both[2] = {NAME(value)(sum[r][0], job->kernel), NAME(value)(sum[r][1], job->kernel)};
        if (r < rows) memcpy(out + r * job->width * (Py_ssize_t)sizeof(REAL), both, size);
    }
}

/* What a block has left of the diagonal, once more on its other side: eight columns at a time. */
static TARGET void NAME(mirrored)(const Job *job, Py_ssize_t row, Py_ssize_t column, Py_ssize_t rows, Py_ssize_t columns) {
    const Py_ssize_t size = sizeof(REAL), width = job->width * size;
    const Py_ssize_t top = job->row + row, left = job->column + column;
    const char *from = job->out + top * width + left * size;
    char *to = job->out + left * width + top * size;
    for (Py_ssize_t c0 = 0; c0 < columns; c0 += 8)
        for (Py_ssize_t r = left + c0 < top ? 0 : left + c0 - top + 1; r < rows; r++)
            for (Py_ssize_t c = c0; c < columns && c < c0 + 8 && left + c < top + r; c++)
                memcpy(to + c * width + r * size, from + r * width + c * size, sizeof(REAL));
}

/* Sums of one strip, down its columns; or, where features are left (`ends` is 0), accumulators that wait. */
static TARGET void NAME(sums)(const Job *job, const Strip *strip, const NAME(Packed) *p) {
    for (Py_ssize_t c = 0; c < strip->columns; c += COLUMNS) {
        V total[2] = {{0}, {0}};
        for (Py_ssize_t r = 0; r < strip->rows; r += ROWS) {
            V sum[ROWS][2];
            NAME(tile)(sum, strip, p, r, c);
            if (strip->ends)
                NAME(summed)(sum, job->kernel, p->weights + r, total);
            else
                memcpy(NAME(waiting)(p, r, c), sum, sizeof sum);
        }
        if (strip->ends) NAME(added)(job, strip->column + c, strip->columns - c, total);
    }
}

/* Values of one strip, along its rows; of a symmetric matrix as far as the diagonal, and mirrored. */
static TARGET void NAME(values)(const Job *job, const Strip *strip, const NAME(Packed) *p) {
    Py_ssize_t done = 0;
    for (Py_ssize_t r = 0; r < strip->rows; r += ROWS) {
        const Py_ssize_t row = strip->row + r, end = r + ROWS < strip->rows ? r + ROWS : strip->rows;
        Py_ssize_t columns = strip->columns, diagonal = job->row - job->column + row + ROWS - strip->column;
        if (job->mirrors && columns > diagonal) columns = diagonal;
        for (Py_ssize_t c = 0; c < columns; c += COLUMNS) {
            V sum[ROWS][2];
            NAME(tile)(sum, strip, p, r, c);
            NAME(stored)(sum, job, row, strip->column + c, strip->rows - r, strip->columns - c);
        }
        if (job->mirrors && (end - done >= MIRRORED || end == strip->rows)) {
            NAME(mirrored)(job, strip->row + done, strip->column, end - done, strip->columns);
            done = end;
        }
    }
}

/* All of a job, in strips of rows × columns that stay in the second-level cache with what is packed of their samples;
   and of so many features that panels stay in the first. Returns 0, or −1 without memory, or where it was ended. */
static TARGET int NAME(strips)(const Job *job, Look *look) {
    const Py_ssize_t d = job->left.samples->d, block = d < FEATURES ? d : FEATURES;
    const Py_ssize_t height = STRIP_TILES * ROWS, width = STRIP_COLUMNS;
    const Py_ssize_t waits = d > block ? height * width : 0;
    REAL *memory = malloc(sizeof(REAL) * (size_t)((height + width) * block + 2 * height + width + waits));
    if (!memory) return -1;
    NAME(Packed) p = {.groups = memory, .panels = memory + height * block};
    p.half_rows = p.panels + width * block, p.half_columns = p.half_rows + height;
    p.weights = p.half_columns + width, p.waits = p.weights + height;
    Strip strip;
    for (strip.column = 0; strip.column < job->right.count; strip.column += width) {
        strip.columns = least(job->right.count - strip.column, width);
        for (strip.row = 0; strip.row < job->left.count; strip.row += height) {
            strip.rows = least(job->left.count - strip.row, height);
            if (looked(look)) {
                free(memory);
                return -1;
            }
            if (job->weights)
                for (Py_ssize_t r = 0; r < height; r++)
                    p.weights[r] = r < strip.rows ? (REAL)number(job->weights, strip.row + r) : 0;
            for (Py_ssize_t from = 0; from < d; from += block) {
                strip.features = least(d - from, block);
                strip.begins = !from, strip.ends = from + block >= d;
                NAME(packed)(&job->left, strip.row, strip.rows, ROWS, from, strip.features, p.groups, p.half_rows);
                if (!strip.row || d > block)
                    NAME(packed)(&job->right, strip.column, strip.columns, COLUMNS, from, strip.features, p.panels,
                                 p.half_columns);
                (job->weights || !strip.ends ? NAME(sums) : NAME(values))(job, &strip, &p);
            }
        }
    }
    free(memory);
    return 0;
}

#undef ALL
#undef LANES
#undef COLUMNS
