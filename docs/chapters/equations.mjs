// What the equations are made of: operations on numbers, vectors, matrices and points of the feature space, and the
// letters of a machine at a point. The equations themselves are written by the library (qpsvm/derivation/written/javascript.py).

/** A combination Σ c_i φ(x_i) of the features of the samples: all that is asked of it goes through K. */
class Feature {
  constructor(coef, K, X = null) { Object.assign(this, { coef, K, X }); }

  /** The vector itself, where φ(x) = x. */
  vector() { return this.X[0].map((_, j) => inner(this.coef, this.X.map((x) => x[j]))); }

  products() { return this.K.map((row) => inner(row, this.coef)); }

  norm() { return Math.sqrt(Math.max(0, inner(this.coef, this.products()))); }
}

/** φ(x_i) for every sample, each less one feature: the rows of φ(X) − c. */
class Features {
  constructor(K, X = null, less = null) { Object.assign(this, { K, X, less }); }

  norms() {
    const { K, less } = this, products = less?.products(), square = less ? less.norm() ** 2 : 0;
    return K.map((row, i) => Math.sqrt(Math.max(0, row[i] - (less ? 2 * products[i] : 0) + square)));
  }
}

/** What is rounding of two sides that are compared, relative to the level of f and its targets. */
const ROUNDING = 1e-9;

const inner = (v, w) => v.reduce((total, x, i) => total + x * w[i], 0);
const isVector = (v) => Array.isArray(v) && !Array.isArray(v[0]);

function each(a, b, f) {
  if (a instanceof Features) return new Features(a.K, a.X, b);
  if (b instanceof Feature && Array.isArray(a[0])) return each(a, b.vector(), f);
  if (a instanceof Feature || b instanceof Feature) {
    return new Feature(each(a.coef ?? a, b.coef ?? b, f), a.K ?? b.K, a.X ?? b.X);
  }
  if (Array.isArray(a)) return a.map((x, i) => each(x, Array.isArray(b) && !(isVector(b) && !isVector(a)) ? b[i] : b, f));
  return Array.isArray(b) ? b.map((x) => each(a, x, f)) : f(a, b);
}

const all = (v, f) => (v instanceof Feature ? new Feature(all(v.coef, f), v.K, v.X)
  : Array.isArray(v) ? v.map((x) => all(x, f)) : f(v));
const COMPARED = {
  less: (difference) => difference < 0,
  atMost: (difference) => difference <= 0,
  more: (difference) => difference > 0,
  atLeast: (difference) => difference >= 0,
  equal: (difference) => difference === 0,
};

/** The operations at a point: where numbers are compared, what is rounding of its level is no difference. */
export const operations = ({ level }) => ({
  ...OPERATIONS, ...Object.fromEntries(Object.entries(COMPARED).map(([name, holds]) => [name,
    (a, b) => each(a, b, (x, z) => Number(holds(Math.abs(x - z) <= ROUNDING * level ? 0 : x - z)))])),
});

const OPERATIONS = {
  add: (a, b) => each(a, b, (x, z) => x + z),
  sub: (a, b) => each(a, b, (x, z) => x - z),
  mul: (a, b) => each(a, b, (x, z) => x * z),
  div: (a, b) => each(a, b, (x, z) => x / z),
  pow: (a, b) => each(a, b, (x, z) => x ** z),
  neg: (a) => all(a, (x) => -x),
  abs: (a) => all(a, Math.abs),
  sqrt: (a) => all(a, Math.sqrt),
  maximum: (...parts) => parts.reduce((a, b) => each(a, b, Math.max)),
  minimum: (...parts) => parts.reduce((a, b) => each(a, b, Math.min)),
  sum: (v) => v.reduce((a, b) => a + b, 0),
  mean: (v) => v.reduce((a, b) => a + b, 0) / v.length,
  max: (v) => Math.max(...v),
  min: (v) => Math.min(...v),
  tile: (v, times) => Array.from({ length: times }, () => v).flat(),
  diagonal: (matrix) => matrix.map((row, i) => row[i]),
  taken: (v, mask) => v.filter((_, i) => mask[i]),
  transposed: (m) => (m instanceof Features ? { features: m } : m[0].map((_, j) => m.map((row) => row[j]))),
  norm: (v, axis = null) => (v instanceof Feature ? v.norm() : v instanceof Features ? v.norms()
    : axis === null ? Math.hypot(...v) : v.map((row) => Math.hypot(...row))),
  matmul(a, b) {
    if (a.features) return new Feature(b, a.features.K, a.features.X);
    if (a instanceof Features || b instanceof Feature) return b.products();
    if (isVector(a)) return isVector(b) ? inner(a, b) : b[0].map((_, j) => inner(a, b.map((row) => row[j])));
    return a.map((row) => inner(row, b));
  },
};

/** A side as numbers: a combination of features as a vector, or by its products with those of the samples. */
export const numbers = (value) => (value instanceof Feature ? (value.X ? value.vector() : value.products())
  : value instanceof Features ? value.norms() : value);

// ---------------------------------------------------------------------------------------------------------------------
// The letters of a machine at what its dual gives (`Dual.point`).

/** The task that is solved: a ball of a linear kernel is sought around the mean of the samples, where numbers are small. */
export function centred(task) {
  if (task.machine !== "svdd" || task.kernel.name !== "linear") return task;
  const mean = task.X[0].map((_, j) => task.X.reduce((total, x) => total + x[j], 0) / task.X.length);
  return { ...task, X: task.X.map((x) => x.map((v, j) => v - mean[j])) };
}

export function letters(task, dual, gram) {
  const { machine, X, y, p, kernel } = task, point = dual.point(), { K, rows, unit } = dual, n = X.length;
  const half = rows.length / n, part = (v, k) => v.slice(k * n, (k + 1) * n), { b } = point;
  const upper = rows.map((row) => row.U), slack = point.t.map((t) => Math.max(0, t)), { alpha, beta, values } = point;
  const own = kernel.name === "linear" ? X : null, w = new Feature(beta, K, own), x = X.map((v, i) => v.map((z, j) => (z + X[(i + 1) % n][j]) / 2));
  const found = {
    alpha, beta, b, w, K, X, x, y: rows.map((row) => row.s), Q: dual.Q.map((row, k) => row.map((v,
      j) => (k === j ? v - rows[k].d : v))), C: upper, a: upper, s: upper, xi: slack, u: values, values,
    level: Math.max(...values.map(Math.abs), ...rows.map((row) => Math.abs(row.l)), Math.abs(b)), w_of_alpha: w,
    eta: upper.map((U, k) => U - alpha[k]), M: alpha.map((v, k) => v > 0 && v < upper[k]),
    nu: p.nu, lam: p.lam, tau: p.quantile, kappa: p.width, tol: 1e-8, rho: point.rho, epsilon: point.epsilon ?? p.epsilon ?? 0.1, t: y,
    result: { primal: point.primal, dual: point.dual, gap: point.gap },
    phi: () => new Features(K, own), gram: (Z, V) => gram(kernel, Z, V),
    f: (Z) => gram(kernel, Z, X).map((row) => inner(row, beta) + b),
  };
  if (half === 2) {
    const price = machine === "quantile-svr" || (p.loss === "squared") ? p.C : upper[0];
    Object.assign(found, { alpha_above: part(alpha, 0), alpha_below: part(alpha, 1), xi: part(slack, 0),
      xi_star: part(slack, 1), eta: part(found.eta, 0), eta_star: part(found.eta, 1), C: X.map(() => price),
      M: X.map((_, i) => found.M[i] || found.M[i + n]) });
  }
  if (machine === "squared-hinge") found.C = X.map(() => p.C);
  if (machine === "huber-hinge") {
    Object.assign(found, { xi: slack.map((v) => Math.min(v, p.width)), zeta: slack.map((v) => Math.max(v - p.width, 0)) });
  }
  if (machine === "hinge") found.p = X.map(() => 1 / n);
  if (machine === "hard") {
    const above = Math.min(...values.filter((_, i) => y[i] > 0)), below = Math.max(...values.filter((_, i) => y[i] < 0));
    found.half_gap = (above - below) / 2;
  }
  if (machine === "nu") Object.assign(found, { s_of_class: point.rho - b, t_of_class: point.rho + b });
  if (machine === "one-class") found.rho = -b;
  if (machine === "svdd") {
    const R2 = point.square + 2 * b;
    Object.assign(found, { c: w, c_of_alpha: w, mu: b, R: Math.sqrt(R2), xi: slack.map((v) => unit * v), kappa: K[0][0],
      f: (Z) => gram(kernel, Z, X).map((row, i) => 2 * inner(row, beta) + 2 * b - gram(kernel, [Z[i]], [Z[i]])[0][0]) });
  }
  return found;
}
