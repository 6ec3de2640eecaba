// What single chapters draw beside the plane. Each returns what is called with every solution.

import { Dual } from "./solver.mjs";
import { numbers } from "./equations.mjs";
import { LEAST, Picture, contour, element, grid, hull, shown } from "./plane.mjs";
import { OPTIMAL, certified, dot, margin, posed, reduced, sum } from "./posed.mjs";

export function hulls(plane, s) {
  const most = 2 / (s.at.nu * s.X.length), half = s.at.nu / 2, ends = [];
  const parts = [1, -1].flatMap((label) => {
    const own = s.X.filter((_, i) => s.y[i] === label), small = reduced(own, most);
    ends.push([0, 1].map((j) => sum(s.X.map((x, i) => (s.y[i] === label ? s.at.alpha[i] * x[j] / half : 0)))));
    return [plane.path(hull(own), `hull class${label}`, true), plane.path(small, `hull small class${label}`, true)];
  });
  return [...parts, plane.path(ends, "stick"), ...ends.map((end) => plane.dot(end, "end")), ...margin(plane, s.f, [[0, "zero"]])];
}

/** The reader sets w and b by two handles, where f = 0 and where f = 1; the opponent answers with α. */
export function game(place, chapter) {
  const board = element("p", { class: "board" });
  const picture = new Picture([-0.5, 1.5, -0.5, 1.5],
    { size: 420, height: 300, label: "level lines of the Lagrangian: a saddle" });
  picture.root.classList.add("small");
  place.append(board, picture.root, element("p", { class: "told" }, "Level lines of L. To the right you go from your w and b to "
    + "the best; upwards the opponent goes from the answer to yours to the best α. On the blue line no α of the box gives more "
    + "than the yellow point has, on the red one no w and b less: a saddle, where P = D."));
  return (s, plane) => {
    const best = (s.best ??= { w: numbers(s.at.w), b: s.at.b, alpha: [...s.at.alpha] });  // before the reader's point takes its place
    const [[ax, ay], [bx, by]] = chapter.handles, dx = bx - ax, dy = by - ay, length = Math.max(dx * dx + dy * dy, 1e-3);
    const w = [dx / length, dy / length], b = -(w[0] * ax + w[1] * ay), C = s.at.C[0];
    const f = (points) => points.map((x) => dot(x, w) + b), values = f(s.X);
    const short = values.map((v, i) => Math.max(0, 1 - s.y[i] * v)), P = dot(w, w) / 2 + C * sum(short);
    s.mine = { P };
    const alpha = short.map((v) => (v > 0 ? C : 0));
    Object.assign(s.at, { w, b, f, alpha, xi: short, eta: alpha.map((v) => C - v) });  // the equations speak of this point
    s.kinds = short.map((v) => (v > 0 ? 2 : 0));
    saddle(picture, s, { w, b, alpha }, best);
    const sign = dot(alpha, s.y);
    board.replaceChildren(`Your P(w, b) = ${shown(P)}. The opponent answers α = C at ${short.filter((v) => v > 0).length
      } samples, where that costs you most: L = ${shown(P)}. ${Math.abs(sign) > 1e-9
      ? `With this α you would gain without end by moving b ${sign > 0 ? "up" : "down"}.`
      : "This α is balanced: b cannot gain."} The best D = ${shown(s.at.result.dual)} is the floor: you are ${
      shown(100 * (P / s.at.result.dual - 1), 3)} % above it.`);
    return margin(plane, f);
  };
}

/** L(w, b, α), least over the slack, between the reader's point with its answer (0, 0) and the optimum (1, 1). */
function saddle(picture, s, mine, best) {
  const between = (from, to, share) => from + share * (to - from);
  const L = ([t, u]) => {
    const w = mine.w.map((v, j) => between(v, best.w[j], t)), b = between(mine.b, best.b, t);
    return dot(w, w) / 2 + sum(s.X.map((x, i) => between(mine.alpha[i], best.alpha[i], u) * (1 - s.y[i] * (dot(x, w) + b))));
  };
  const values = grid(picture.box, (points) => points.map(L), 40), top = L([1, 1]);
  const reach = Math.max(1e-9, ...values.flat().map((v) => Math.abs(v - top)));
  const levels = [-0.6, -0.3, -0.1, -0.02, 0.02, 0.1, 0.3, 0.6].map((share) => picture.lines(contour(values,
    top + share * reach, picture.box), "level"));
  picture.draw(...levels, picture.path([[-0.5, 1], [1.5, 1]], "way"), picture.path([[1, -0.5], [1, 1.5]], "balance"),
    picture.dot([0, 0], "step", 6), picture.dot([1, 1], "end", 7), picture.text([0.04, -0.12], "you"),
    picture.text([0.28, 1.08], `saddle: L = ${shown(top)}`), picture.text([1.1, -0.42], "w, b →"), picture.text([-0.47, 1.36], "↑ α"));
}

/** α-space: the box, the balance, level lines of D, and how three methods walk there. */
export function space(place, chapter) {
  let method = "pairs", two = false;
  const picture = new Picture([-0.1, 1.15, -0.1, 1.15], { size: 420, label: "the dual's variables" });
  picture.root.classList.add("small");
  const words = element("p", { class: "told" });
  let again = () => {};
  const choose = (name, options, value, take) => element("label", {}, `${name} `, element("select", {
    onchange: (event) => { take(event.target.value); again(); } }, ...Object.entries(options).map(([key, said]) =>
    element("option", { value: key, selected: key === value }, said))));
  place.append(choose("Show", { three: "three samples: α₃ = α₁ + α₂", two: "the first and the third: α₁ = α₃" }, "three",
    (value) => { two = value === "two"; }), choose("and the way of", { pairs: "pairs (SMO)", ascent: "projected ascent",
    interior: "an interior point" }, method, (value) => { method = value; }), picture.root, words);
  return (s) => {
    const { dual } = s, C = chapter.p.C, Q = dual.Q;
    picture.box = [-0.08 * C, 1.12 * C, -0.08 * C, 1.12 * C];
    const lifted = ([a, c]) => (two ? [a, 0, c] : [a, c, a + c]);
    const D = (point) => { const a = lifted(point); return sum(a) - dot(a, Q.map((row) => dot(row, a))) / 2; };
    const slope = (point) => {
      const a = lifted(point), g = Q.map((row) => 1 - dot(row, a));
      return two ? [g[0], g[2]] : [g[0] + g[2], g[1] + g[2]];
    };
    again = () => {
      const values = grid(picture.box, (points) => points.map(D), 40), top = two ? Math.max(...values.flat()) : s.at.result.dual;
      const levels = [0.98, 0.9, 0.75, 0.5, 0.2, -0.3].map((share) => picture.lines(contour(values,
        share * top, picture.box), "level"));
      const box = picture.path([[0, 0], [C, 0], [C, C], [0, C]], "box", true);
      const allowed = two ? picture.path([[0, 0], [C, C]], "balance") : picture.path([[0, 0], [C, 0], [0, C]], "allowed", true);
      const way = walk(method, { D, slope, C, two, s });
      picture.draw(allowed, box, ...levels, picture.path(way, "way"), ...way.map((point, k) => picture.dot(point,
        k === way.length - 1 ? "last" : "step", k === way.length - 1 ? 6 : 3)),
      picture.text([C * 0.9, -0.06 * C], "α₁"), picture.text([-0.06 * C, C * 0.95], two ? "α₃" : "α₂"));
      words.textContent = `${way.length - 1} steps to D = ${shown(D(way.at(-1)))}; the largest on what is allowed is ${
        two ? "where the line is highest" : shown(s.at.result.dual)}.`;
    };
    again();
    return [];
  };
}

function walk(method, { D, slope, C, two, s }) {
  const inside = ([a, c]) => {
    if (two) { const v = Math.max(0, Math.min(C, (a + c) / 2)); return [v, v]; }
    let p = [Math.max(0, a), Math.max(0, c)];
    if (p[0] + p[1] > C) {
      const off = (p[0] + p[1] - C) / 2;
      p = [p[0] - off, p[1] - off].map((v) => Math.max(0, Math.min(C, v)));
    }
    return p;
  };
  const way = [[0, 0]], curvature = Math.max(1e-9, ...s.dual.Q.map((row) => sum(row.map(Math.abs)))) * 3;
  if (method === "pairs" && !two) {
    const dual = new Dual({ rows: s.dual.rows, groups: s.dual.groups }, s.dual.K);
    for (let pair = dual.pair(); pair && pair.violation > 1e-6 && way.length < 60; pair = dual.pair()) {
      dual.move(pair.i, pair.j);
      way.push([dual.alpha[0], dual.alpha[1]]);
    }
    return way;
  }
  if (method === "interior") {
    let t = [C / 3, C / 3].map((v) => (two ? C / 2 : v));
    way[0] = t;
    for (let weight = C; weight > 1e-7 * C; weight /= 4) {
      const value = ([a, c]) => (two ? (a > 0 && a < C ? D([a, a]) + weight * Math.log(a * (C - a)) : -Infinity)
        : a > 0 && c > 0 && a + c < C ? D([a, c]) + weight * Math.log(a * c * (C - a - c)) : -Infinity);
      for (let k = 0, step = C / 4; k < 400 && step > 1e-6 * C; k++) {
        const tries = two ? [[step, step], [-step, -step]] : [[step, 0], [-step, 0], [0, step], [0, -step], [step, -step],
          [-step, step]];
        const best = tries.map((d) => [t[0] + d[0], t[1] + d[1]]).reduce((a, b) => (value(b) > value(a) ? b : a), t);
        if (best === t) step /= 2; else t = best;
      }
      way.push(t);
    }
    return way;
  }
  for (let k = 0; k < 200; k++) {
    const last = way.at(-1), g = slope(last), next = inside(last.map((v, j) => v + g[j] / curvature));
    if (Math.hypot(next[0] - last[0], next[1] - last[1]) < 1e-4 * C) break;
    way.push(next);
  }
  return way;
}

/** The samples in three dimensions, turned by hand. */
export function lift(place) {
  const picture = new Picture([-4, 4, -3.4, 3.4], { size: 480, height: 408, label: "the samples, lifted" });
  picture.root.classList.add("small", "turns");
  place.append(picture.root, element("p", { class: "told" }, "Drag the picture to turn it."));
  let angle = 0.6, tilt = 0.35, last = null, now = null;
  const seen = ([x, y, z]) => {
    const u = x * Math.cos(angle) - y * Math.sin(angle), v = x * Math.sin(angle) + y * Math.cos(angle);
    return [u, z * Math.cos(tilt) + v * Math.sin(tilt) - 0.4];
  };
  const draw = () => {
    const w = numbers(now.at.w), { b } = now.at, lines = [];
    const height = (x, y) => (Math.abs(w[2]) > 1e-9 ? -(w[0] * x + w[1] * y + b) / w[2] : NaN);
    const cut = (z) => Math.max(-2.5, Math.min(3.5, z)), ends = [-2.5, -1.25, 0, 1.25, 2.5];
    for (const v of ends) for (const turned of [false, true]) {
      const corner = (u) => (turned ? [u, v] : [v, u]), at = [-2.5, 2.5].map(corner);
      if (at.every(([x, y]) => Number.isFinite(height(x, y)))) {
        lines.push(picture.path(at.map(([x, y]) => seen([x, y, cut(height(x, y))])), "mesh"));
      }
    }
    const points = now.X.map((x, i) => ({ i, z: [x[0], x[1], 0.5 * (x[0] ** 2 + x[1] ** 2) - 1.5] }));
    picture.draw(...lines, ...points.map(({ z }) => picture.path([seen(z), seen([z[0], z[1], -1.5])], "drop")),
      ...points.map(({ i, z }) => picture.dot(seen(z), `point class${now.y[i]} kind${now.kinds[i]}`, 7)));
  };
  picture.root.addEventListener("pointerdown", (event) => { last = [event.clientX, event.clientY];
    picture.root.setPointerCapture(event.pointerId); });
  picture.root.addEventListener("pointermove", (event) => {
    if (!last) return;
    angle += (event.clientX - last[0]) / 120;
    tilt = Math.max(-0.2, Math.min(1.2, tilt + (event.clientY - last[1]) / 160));
    last = [event.clientX, event.clientY];
    draw();
  });
  picture.root.addEventListener("pointerup", () => { last = null; });
  return (s) => { now = s; draw(); return []; };
}

/** The reader is the solver: two samples are chosen, and α moves between them so that the balance is kept. */
export function certificate(place, chapter, app) {
  const first = element("select", { "aria-label": "first sample" }), second = element("select", { "aria-label": "second sample" });
  const amount = element("input", { type: "range", min: 0, max: 1, step: 0.01, value: 0, "aria-label": "how far" });
  const bars = element("div", { class: "bars" }), words = element("p", { class: "told" }), after = element("p", { class: "told" });
  const picture = new Picture([0, 10, 0, 1], { size: 420, height: 180, label: "P and D over your moves, the gap between them" });
  picture.root.classList.add("small");
  let history = [], would = "";
  const button = (said, action) => element("button", { type: "button", onclick: action }, said);
  let now = null, best = null, held = null;
  chapter.alpha ??= chapter.X.map(() => 0);
  chapter.moves ??= 0;
  const pair = () => [Number(first.value), Number(second.value)];
  const take = (count) => {
    const { i, j, gain } = held ? bestOf(held) ?? {} : best ?? {}, [a, b] = pair();
    would = i === undefined || gain / 2 < OPTIMAL * now.at.result.primal ? "" : i === a && j === b
      ? "That was the best pair." : `The best pair was ${j} → ${i}: along it D grows by up to ${shown(gain / 2)}.`;
    chapter.alpha = [...now.dual.alpha]; chapter.moves += count; held = null; app.solve(); };
  const bestOf = (alpha) => {  // before the slider moved
    const dual = new Dual({ rows: now.dual.rows, groups: now.dual.groups }, now.dual.K);
    alpha.forEach((value, k) => dual.put(k, value));
    return dual.pair();
  };
  const range = () => {  // of the step that the box leaves the pair
    const [i, j] = pair(), { rows, alpha } = now.dual;
    const room = (k, direction) => (direction > 0 ? rows[k].U - alpha[k] : alpha[k]);
    return [-Math.min(room(i, -rows[i].s), room(j, rows[j].s)), Math.min(room(i, rows[i].s), room(j, -rows[j].s))];
  };
  amount.addEventListener("input", () => {
    if (first.value === second.value) return;
    held ??= [...now.dual.alpha];
    held.forEach((value, k) => now.dual.put(k, value));
    const [low, high] = range(), [i, j] = pair();
    now.dual.move(i, j, low + (high - low) * Number(amount.value));
    chapter.alpha = [...now.dual.alpha];
    app.solve();
  });
  amount.addEventListener("change", () => { if (held) take(1); });
  for (const each of [first, second]) each.addEventListener("change", () => { held = null; app.solve(); });
  place.append(element("p", { class: "controls" }, "Move α from ", second, " to ", first, amount,
    button("the best step", () => { const [i, j] = pair(); if (i !== j) { now.dual.move(i, j); take(1); } }),
    button("the best pair", () => { if (best) { first.value = best.i; second.value = best.j; now.dual.move(best.i, best.j);
      take(1); } }), button("begin again", () => { chapter.alpha = chapter.X.map(() => 0); chapter.moves = 0; app.solve(); })),
  bars, words, after, picture.root);
  return (s) => {
    now = s;
    s.moves = chapter.moves;
    best = s.dual.pair();
    for (const each of [first, second]) if (each.children.length !== s.X.length) {
      each.replaceChildren(...s.X.map((_, i) => element("option", { value: i }, `${i} (${s.y[i] > 0 ? "+" : "−"})`)));
      if (each === second) second.value = s.y.findIndex((v) => v < 0);
    }
    history = [...history.slice(0, chapter.moves), { P: s.at.result.primal, D: s.at.result.dual }];
    if (!chapter.moves) would = "";
    after.textContent = would;
    drawMoves(picture, history);
    const C = s.at.C[0];
    bars.replaceChildren(...s.at.alpha.map((v, i) => element("span", { class: `bar class${s.y[i]}`, title: `α${i} = ${shown(v)}`,
      style: `height: ${(100 * v / C).toFixed(1)}%` })));
    const optimum = posed({ ...chapter, alpha: null }), least = LEAST * s.at.result.primal;
    const radius = Math.sqrt(2 * Math.max(least, s.at.result.gap));
    const w = numbers(s.at.w), best_w = numbers(optimum.at.w);
    words.textContent = `Move ${chapter.moves}: D = ${shown(s.at.result.dual)}, P = ${shown(s.at.result.primal)}, ${certified(s)
    }. So ‖w − w*‖ ≤ √(2(P − D)) = ${shown(radius)} for every exact optimum; it is ${
      shown(Math.hypot(...w.map((v, j) => v - best_w[j])))}.`;
    return [];
  };
}

/** P from above, D from below, over the moves, with the gap between them as an area. */
function drawMoves(picture, history) {
  const across = Math.max(10, history.length - 1), top = Math.max(...history.map(({ P }) => P)) * 1.05 || 1;
  picture.box = [-0.04 * across, 1.02 * across, -0.06 * top, top];
  const line = (name) => history.map((each, k) => [k, each[name]]);
  const above = line("P"), below = line("D");
  picture.draw(picture.path([...above, ...[...below].reverse()], "allowed", true), picture.path(above, "way"),
    picture.path(below, "balance"), ...above.map((point) => picture.dot(point, "step", 3)),
    picture.text([0.55 * across, 0.9 * top], `P − D after ${history.length - 1} moves`));
}
