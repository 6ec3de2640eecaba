// Problems, solved: the dual, the letters of its equations, f, and the certificate in words; and the lines of the plane.

import { Dual, gram, record } from "./solver.mjs";
import { letters, numbers } from "./equations.mjs";
import { grid, hull, kindOf, shown, shownGap } from "./plane.mjs";

/** A relative gap below which a point is called optimal here. */
export const OPTIMAL = 1e-9;
const LINEAR = { name: "linear" };
export const dot = (a, b) => a.reduce((total, v, k) => total + v * b[k], 0);
export const sum = (v) => v.reduce((a, b) => a + b, 0);

export function posed({ X, y, machine, p, kernel = LINEAR, features = null, targets = null, alpha = null }) {
  const Z = features ? X.map(features) : X, of = targets ?? y, K = gram(kernel, Z, Z);
  const dual = new Dual(record(machine, of, K.map((row, i) => row[i]), p), K);
  if (alpha) alpha.forEach((value, k) => dual.put(k, value)); else dual.solve();
  const at = letters({ machine, X: Z, y: of, p, kernel }, dual, gram);
  const f = (points) => at.f(features ? points.map(features) : points);
  const kinds = X.map((_, i) => Math.max(...dual.rows.flatMap((row, k) => (row.i === i
    ? [kindOf(dual.alpha[k], row.U)] : []))));
  const gap = Math.abs(at.result.gap) / Math.max(Math.abs(at.result.primal), Math.abs(at.result.dual), 1e-12);
  return { dual, at, f, kinds, gap, X, y };
}

/** The verdict in words: gaps are relative to the larger of |P| and |D|. */
export function certified({ gap, at, every }) {
  if (gap > OPTIMAL) return `P − D = ${shown(at.result.gap)}, a gap of ${shown(100 * gap, 3)} %`;
  return every ? `${every.length} machines, each optimal: the largest relative gap is ${shownGap(gap)}`
    : `optimal: P = ${shown(at.result.primal)}, and the relative gap, ${shownGap(gap)}, is rounding`;
}

/** Boundary and margin. */
export const margin = (plane, f, levels = [[0, "zero"], [1, "one"], [-1, "one"]]) => plane.levels(grid(plane.box, f), levels);

/** A stick from each sample that is inside the margin or misclassified to the margin of its class. */
export function sticks(plane, { at, X, y }) {
  const w = numbers(at.w), square = dot(w, w);
  return X.flatMap((x, i) => (at.xi[i] > 1e-9 && square > 0
    ? [plane.path([x, x.map((v, j) => v + y[i] * at.xi[i] * w[j] / square)], "stick")] : []));
}

export function reduced(points, most, directions = 120) {
  const corners = [];
  for (let k = 0; k < directions; k++) {
    const u = [Math.cos(2 * Math.PI * k / directions), Math.sin(2 * Math.PI * k / directions)];
    let left = 1;
    const corner = [0, 0];
    for (const x of [...points].sort((a, b) => dot(b, u) - dot(a, u))) {
      const share = Math.min(most, left);
      corner[0] += share * x[0]; corner[1] += share * x[1]; left -= share;
    }
    if (left < 1e-9) corners.push(corner);
  }
  return corners.length ? hull(corners) : [];
}

/** The curve f with its tube, over the first feature. */
export function tube(plane, s) {
  const xs = Array.from({ length: 121 }, (_, k) => plane.box[0] + (plane.box[1] - plane.box[0]) * k / 120);
  const f = s.f(xs.map((x) => [x])), at = (off) => xs.map((x, k) => [x, f[k] + off]);
  return [plane.path(at(0), "zero"), plane.path(at(s.at.epsilon), "one"), plane.path(at(-s.at.epsilon), "one")];
}

/** One machine for each pair of classes. */
export function pairs(chapter) {
  const classes = [...new Set(chapter.y)], every = classes.flatMap((one, k) => classes.slice(k + 1).map((other) => {
    const rows = chapter.y.flatMap((label, i) => (label === one || label === other ? [i] : []));
    return { ...posed({ ...chapter, X: rows.map((i) => chapter.X[i]), y: rows.map((i) => (chapter.y[i] === one ? 1 : -1)) }), rows };
  }));
  const kinds = chapter.X.map((_, i) => Math.max(...every.map(({ rows, kinds: own }) => own[rows.indexOf(i)] ?? 0)));
  return { every, kinds, gap: Math.max(...every.map(({ gap }) => gap)), X: chapter.X, at: null,
    drawn: (plane) => every.flatMap(({ f }) => margin(plane, f)) };
}
