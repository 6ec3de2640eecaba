// A solver for at most a few hundred rows: the dual (ONE.4) of machines whose blocks are boxes, solved to rounding.
//
//   maximise  l'a − ½ a'Qa − ½ Σ d_k a_k²   over  0 ≤ a ≤ U,  Σ E_gk a_k = e_g
//
// Pairs of rows move together (sequential minimal optimisation), then the free rows are brought to their exact point.
// What is certified is what is shown: P at the point (w(a), multipliers) that a gives, D at a, and P − D.

/** Relative violation of the optimality conditions that is rounding, and rounds before which it is reached. */
const ROUNDING = 1e-13, MAX_ROUNDS = 300;
/** What makes the system of the free rows regular, relative to its largest entry; refinement takes it away. */
const REGULAR = 1e-11;

/** Σ α_i K(x_i, x_i) a sample beyond which D has no largest value: a slab 1e-5 of the samples' size wide. */
const UNBOUNDED = 1e10;

export class Unsolvable extends Error {}

const sum = (v) => v.reduce((a, b) => a + b, 0);
const dot = (v, w) => v.reduce((total, x, i) => total + x * w[i], 0);

// ---------------------------------------------------------------------------------------------------------------------
// Kernels, and the record of a machine: its rows (sample, sign, level, bound, curvature) and groups (equalities).

const KERNELS = {
  linear: (x, z) => dot(x, z),
  rbf: (x, z, { gamma }) => Math.exp(-gamma * sum(x.map((v, j) => (v - z[j]) ** 2))),
  polynomial: (x, z, { gamma, degree, coef0 }) => (gamma * dot(x, z) + coef0) ** degree,
};

/** K(x_i, z_j) as rows. */
export function gram(kernel, X, Z) {
  const of = KERNELS[kernel.name];
  if (!of) throw new Unsolvable(`there is no kernel ${kernel.name} here`);
  return X.map((x) => Z.map((z) => of(x, z, kernel)));
}

/** The record of a machine over samples with targets y: labels −1/+1, or numbers. */
export function record(machine, y, diagonal, p) {
  const n = y.length, all = (v) => y.map(() => v), none = all(0);
  const rows = (sign, level, upper, curvature = none) =>
    y.map((_, i) => ({ i, s: sign[i], l: level[i], U: upper[i], d: curvature[i] }));
  const tube = (epsilon, above, below, curvature = 0) => [
    ...rows(all(1), y.map((v) => v - epsilon), all(above), all(curvature)),
    ...rows(all(-1), y.map((v) => -v - epsilon), all(below), all(curvature))];
  const free = { name: "b", part: (row) => row.s, total: 0 };
  const labels = (upper, curvature = 0) => ({ rows: rows(y, all(1), all(upper), all(curvature)), groups: [free] });
  switch (machine) {
    case "c": return labels(p.C);
    case "hard": return labels(Infinity);
    case "squared-hinge": return labels(Infinity, 1 / (2 * p.C));
    case "huber-hinge": return labels(p.C, p.width / p.C);
    case "hinge": return { ...labels(1 / (n * p.lam)), unit: p.lam };
    case "nu": {
      const most = 2 * Math.min(y.filter((v) => v > 0).length, y.filter((v) => v < 0).length) / n;
      if (p.nu > most + 1e-12) throw new Unsolvable(`ν = ${p.nu} is more than ${most}, which these labels allow`);
      return { rows: rows(y, none, all(1 / n)),
        groups: [free, { name: "rho", part: () => -1, total: -Math.min(p.nu, most) }] };
    }
    case "epsilon-svr": return { rows: p.loss === "squared"
      ? tube(p.epsilon ?? 0.1, Infinity, Infinity, 1 / (2 * p.C)) : tube(p.epsilon ?? 0.1, p.C, p.C), groups: [free] };
    case "nu-svr": return { rows: tube(0, p.C, p.C),
      groups: [free, { name: "epsilon", part: () => 1, total: p.nu * p.C * n }] };
    case "quantile-svr": return { rows: tube(0, p.quantile * p.C, (1 - p.quantile) * p.C), groups: [free] };
    case "one-class": return { rows: rows(all(1), none, all(1)), groups: [{ ...free, total: p.nu * n }] };
    case "svdd": return { rows: rows(all(1), diagonal.map((v) => v / 2), all(1 / (p.nu * n))),
      groups: [{ ...free, total: 1 }], unit: 2 };
    default: throw new Unsolvable(`there is no machine ${machine} here`);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Linear systems, by elimination with row exchanges.

function solved(matrix, right) {
  const n = right.length, A = matrix.map((row, i) => [...row, right[i]]);
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(A[i][k]) > Math.abs(A[pivot][k])) pivot = i;
    [A[k], A[pivot]] = [A[pivot], A[k]];
    if (A[k][k] === 0) return null;
    for (let i = k + 1; i < n; i++) {
      const factor = A[i][k] / A[k][k];
      if (factor !== 0) for (let j = k; j <= n; j++) A[i][j] -= factor * A[k][j];
    }
  }
  const x = Array(n);
  for (let i = n - 1; i >= 0; i--) {
    let value = A[i][n];
    for (let j = i + 1; j < n; j++) value -= A[i][j] * x[j];
    x[i] = value / A[i][i];
  }
  return x;
}

// ---------------------------------------------------------------------------------------------------------------------
// The dual: α in its box and on its equalities from the first step to the last.

export class Dual {
  constructor({ rows, groups, unit = 1 }, K) {
    Object.assign(this, { rows, groups, unit, K, m: rows.length });
    this.Q = rows.map((a) => rows.map((b) => a.s * b.s * K[a.i][b.i] + (a === b ? a.d : 0)));
    this.alpha = this.start();
    this.slope = rows.map((row, k) => row.l - dot(this.Q[k], this.alpha));  // of D, for each α_k
    this.size = Math.max(1e-300, ...rows.map((row, k) => Math.abs(row.l) + Math.abs(this.slope[k])));
    this.steps = 0;
  }

  /** A point that keeps box and equalities: where a total is asked for, rows are filled in their order. */
  start() {
    const alpha = this.rows.map(() => 0), [free, other] = this.groups;
    const fill = (rows, total) => {
      for (const k of rows) { alpha[k] = Math.min(this.rows[k].U, total); total -= alpha[k]; }
      if (total > 1e-9) throw new Unsolvable("the totals are beyond the bounds");
    };
    const of = (sign) => this.rows.flatMap((row, k) => (!sign || row.s === sign ? [k] : []));
    if (other) for (const sign of [1, -1]) fill(of(sign), Math.abs(other.total) / 2);
    else if (free.total) fill(of(0), free.total);
    return alpha;
  }

  /** Rows move in pairs within these: all, or where a second total is kept, those of one sign. */
  parts() {
    const every = this.rows.map((_, k) => k);
    return this.groups.length < 2 ? [every] : [1, -1].map((sign) => every.filter((k) => this.rows[k].s === sign));
  }

  canGrow(k, direction) {
    const { U } = this.rows[k], value = this.alpha[k];
    return direction > 0 ? value < U : value > 0;
  }

  /** The pair along which D grows most, as far as one pair can tell: {i, j, gain of the slope}; null at an optimum. */
  pair() {
    let best = null;
    for (const part of this.parts()) {
      let i = -1;
      for (const k of part) if (this.canGrow(k, this.rows[k].s)
        && (i < 0 || this.along(k) > this.along(i))) i = k;
      if (i < 0) continue;
      for (const j of part) {
        const violation = this.along(i) - this.along(j);
        if (!this.canGrow(j, -this.rows[j].s) || violation <= 0) continue;
        const gain = violation ** 2 / this.curvature(i, j);
        if (!best || gain > best.gain) best = { i, j, gain, violation };
      }
    }
    return best;
  }

  /** s_k ∂D/∂α_k: what a unit of the balance is worth at row k. */
  along(k) { return this.rows[k].s * this.slope[k]; }

  curvature(i, j) {
    const signs = this.rows[i].s * this.rows[j].s;
    return Math.max(this.Q[i][i] + this.Q[j][j] - 2 * signs * this.Q[i][j], 1e-14 * (this.Q[i][i] + this.Q[j][j]) || 1e-300);
  }

  /** Move α_i by s_i θ and α_j by −s_j θ: to the top along that line, or as far as the box allows; or by a given θ. */
  move(i, j, theta = null) {
    const a = this.rows[i], b = this.rows[j];
    const room = (k, direction) => (direction > 0 ? this.rows[k].U - this.alpha[k] : this.alpha[k]);
    const most = Math.min(room(i, a.s), room(j, -b.s)), least = -Math.min(room(i, -a.s), room(j, b.s));
    const asked = theta ?? (this.along(i) - this.along(j)) / this.curvature(i, j);
    const step = Math.max(least, Math.min(most, asked));
    this.put(i, step === room(i, a.s) ? (a.s > 0 ? a.U : 0) : this.alpha[i] + a.s * step);
    this.put(j, step === room(j, -b.s) ? (b.s < 0 ? b.U : 0) : this.alpha[j] - b.s * step);
    this.steps += 1;
    return step;
  }

  put(k, value) {
    const change = value - this.alpha[k];
    if (!change) return;
    this.alpha[k] = value;
    for (let j = 0; j < this.m; j++) this.slope[j] -= this.Q[j][k] * change;
  }

  /** All free rows to the point where D is stationary in them, or to the first bound on the way. Whether they arrived. */
  exact() {
    const free = this.rows.flatMap((row, k) => (this.alpha[k] > 0 && this.alpha[k] < row.U ? [k] : []));
    if (!free.length) return true;
    const { groups } = this, size = Math.max(...free.map((k) => this.Q[k][k])), f = free.length;
    const full = [...free.map((k, p) => [...free.map((j, q) => this.Q[k][j] + (p === q ? REGULAR * size : 0)),
      ...groups.map((group) => group.part(this.rows[k]))]),
    ...groups.map((group, g) => [...free.map((k) => group.part(this.rows[k])),
      ...groups.map((_, h) => (g === h ? -1e-300 : 0))])];
    this.slope = this.rows.map((row, k) => row.l - dot(this.Q[k], this.alpha));
    for (let turn = 0; turn < 4; turn++) {
      const lack = groups.map((group) => group.total - sum(this.rows.map((row, k) => group.part(row) * this.alpha[k])));
      const found = solved(full, [...free.map((k) => this.slope[k]), ...lack]);
      if (!found || !found.every(Number.isFinite)) return true;
      let share = 1, first = -1;
      free.forEach((k, p) => {
        const bound = found[p] > 0 ? this.rows[k].U : 0, part = (bound - this.alpha[k]) / found[p];
        if (found[p] && part < share) { share = part; first = k; }
      });
      free.forEach((k, p) => this.put(k, k === first ? (found[p] > 0 ? this.rows[k].U : 0)
        : Math.max(0, Math.min(this.rows[k].U, this.alpha[k] + share * found[p]))));
      if (first >= 0) return false;
      if (Math.max(...found.slice(0, f).map(Math.abs)) <= 1e-16 * Math.max(...this.alpha)) break;
    }
    return true;
  }

  /** To the optimum, as near as rounding allows. */
  solve() {
    let last = Infinity;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      let pair = this.pair();
      const aim = Math.max(ROUNDING * this.size, (pair?.violation ?? 0) * 1e-3);
      const end = this.steps + 20 * this.m;
      while (pair && pair.violation > aim && this.steps < end) { this.move(pair.i, pair.j); pair = this.pair(); }
      for (let k = 0; k < this.m && !this.exact(); k++);
      const left = this.pair()?.violation ?? 0;
      const hard = this.rows.some((row) => row.U === Infinity && !row.d), size = Math.max(...this.K.map((row, i) => row[i]));
      if (hard && sum(this.alpha) * size > UNBOUNDED * this.m) {
        throw new Unsolvable("no margin separates the classes: the hulls meet");
      }
      if (left <= ROUNDING * this.size || (left >= last && round > 100)) break;
      last = Math.min(last, left);
    }
    return this;
  }

  // -------------------------------------------------------------------------------------------------------------------
  // What α gives: coefficients, multipliers, P and D.

  /** β_i = Σ s_k α_k over the rows of sample i. */
  coefficients() {
    const beta = this.K.map(() => 0);
    this.rows.forEach((row, k) => { beta[row.i] += row.s * this.alpha[k]; });
    return beta;
  }

  /** What s b + … is to be at the free rows of each sign: their average, or the middle of where it may be. */
  level(part) {
    const at = (k) => this.rows[k].s * this.slope[k];
    const free = part.filter((k) => this.alpha[k] > 0 && this.alpha[k] < this.rows[k].U);
    if (free.length) return sum(free.map(at)) / free.length;
    const low = Math.max(...part.filter((k) => this.canGrow(k, this.rows[k].s)).map(at));
    const high = Math.min(...part.filter((k) => this.canGrow(k, -this.rows[k].s)).map(at));
    return Number.isFinite(low) ? (Number.isFinite(high) ? (low + high) / 2 : low) : high;
  }

  /** b, and ρ or ε where there is one. */
  multipliers() {
    if (this.groups.length < 2) return { b: this.level(this.parts()[0]) };
    const [above, below] = this.parts().map((part) => this.level(part)), other = this.groups[1];
    return { b: (above + below) / 2, [other.name]: other.part() * (above - below) / 2 };
  }

  /** t_k = l_k − s_k f(x_i) − …, what each row falls short by. */
  short(values, mu) {
    return this.rows.map((row) => row.l - row.s * values[row.i]
      - sum(this.groups.map((group) => group.part(row) * mu[group.name])));
  }

  /** The certificate of α: primal and dual value, their gap, and what they are made of. */
  point() {
    const beta = this.coefficients(), mu = this.multipliers();
    const values = this.K.map((row) => dot(row, beta)), square = dot(beta, values);
    const t = this.short(values, mu);
    const losses = this.rows.map((row, k) => {
      if (t[k] <= 0) return 0;
      if (!row.d) return row.U === Infinity ? 0 : row.U * t[k];
      const a = Math.min(t[k] / row.d, row.U);
      return a * t[k] - row.d * a * a / 2;
    });
    const hard = Math.max(0, ...t.filter((_, k) => this.rows[k].U === Infinity && !this.rows[k].d));
    const scale = 1 / (1 - hard) ** 2;  // a plane that keeps the hard rows
    const primal = this.unit * (square / 2 * scale + sum(losses)
      + sum(this.groups.map((group) => group.total * mu[group.name])));
    const dual = this.unit * (dot(this.rows.map((row) => row.l), this.alpha) - square / 2
      - sum(this.rows.map((row, k) => row.d * this.alpha[k] ** 2)) / 2);
    return { alpha: this.alpha, beta, ...mu, values, square, t, primal, dual, gap: primal - dual };
  }
}
