// The chapters: each has a scene, what can be set, what is drawn, and a challenge that a certificate decides.

import { Unsolvable } from "./solver.mjs";
import { numbers, operations } from "./equations.mjs";
import { KINDS, Plane, element, hull, shown } from "./plane.mjs";
import { OPTIMAL, certified, margin, pairs, posed, sticks, sum, tube } from "./posed.mjs";
import { certificate, game, hulls, lift, space } from "./beside.mjs";

// ---------------------------------------------------------------------------------------------------------------------
// Scenes.

const APART = { X: [[1.4, 0.6], [2.1, 1.5], [1.7, -0.7], [2.6, 0.3], [1.1, 1.9], [-1.3, -0.4], [-1.8, 0.9],
  [-2.2, -1.1], [-0.9, -1.7], [-2.5, 0.1]], y: [1, 1, 1, 1, 1, -1, -1, -1, -1, -1] };
const OVERLAP = { X: [[1.2, 0.7], [2.1, 1.3], [0.6, -0.9], [1.8, -0.3], [0.3, 1.8], [-0.5, 0.4], [2.4, 0.4], [1.1, 2.1],
  [-1.2, -0.6], [-1.9, 0.8], [-0.4, -1.6], [-2.3, -0.9], [-0.8, 1.3], [0.7, 0.1], [-1.5, -1.9], [-2.5, 0.3]],
y: [1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1] };
const THREE = { X: [[1.2, 0.9], [0.7, -1.1], [-1.3, -0.2]], y: [1, 1, -1] };
const RINGS = { X: [[0.2, 0.3], [-0.5, 0.1], [0.4, -0.6], [-0.2, -0.5], [0.8, 0.4], [-0.3, 0.8], [2.2, 0.4], [1.5, 1.7],
  [-0.3, 2.2], [-1.9, 1.2], [-2.2, -0.7], [-0.9, -2.0], [0.8, -2.1], [1.9, -1.3]],
y: [1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1] };
const CURVE = { X: [-2.7, -2.2, -1.8, -1.3, -0.9, -0.4, 0, 0.5, 0.9, 1.4, 1.8, 2.3, 2.7].map((x, i) => [x,
  Number((1.4 * Math.sin(1.2 * x) + [0.2, -0.3, 0.1, 0.4, -0.2, 0.05, -0.4, 0.3, 0.1, -0.5, 0.2, -0.1, 0.3][i]).toFixed(2))]) };
CURVE.y = CURVE.X.map(() => 1);
const CLOUD = { X: [[0.1, 0.2], [0.6, -0.3], [-0.5, 0.5], [0.3, 0.9], [-0.8, -0.2], [0.9, 0.5], [-0.2, -0.8], [-1.1, 0.8],
  [1.3, -0.2], [0.5, 1.5], [-0.9, -1.1], [2.3, 2.0], [-2.2, -1.6], [1.0, -1.3]], y: Array(14).fill(1) };
const FLOWER = { X: [[1.5, 1.3], [2.1, 0.6], [1.0, 1.9], [2.2, 1.8], [-1.6, 1.2], [-2.1, 0.5], [-1.0, 2.0], [-2.3, 1.7],
  [0.1, -1.5], [0.8, -2.0], [-0.7, -1.9], [0.0, -0.7]], y: [1, 1, 1, 1, -1, -1, -1, -1, 2, 2, 2, 2] };

// ---------------------------------------------------------------------------------------------------------------------
// The chapters, by the names that the text has for them.

const slider = (name, label, low, high, log = false) => ({ name, label, low, high, log });

const CHAPTERS = {
  slab: {
    ...APART, machine: "hard", p: {},
    draw: (plane, s) => margin(plane, s.f),
    told: (s) => `The slab is ${shown(2 / Math.sqrt(s.at.result.primal * 2))} wide, held by ${
      s.kinds.filter((kind) => kind === 1).length} samples.`,
    challenge: { ask: "Drag samples until the slab is at least 3 wide and is held by four of them or more.",
      done: (s) => 2 / Math.sqrt(s.at.result.primal * 2) >= 3 && s.kinds.filter((kind) => kind).length >= 4 },
  },
  slack: {
    ...OVERLAP, machine: "c", p: { C: 1 }, sliders: [slider("C", "C, the penalty of slack", 0.01, 100, true)],
    draw: (plane, s) => [...margin(plane, s.f), ...sticks(plane, s)],
    told: (s) => `Half of ‖w‖² costs ${shown(s.at.result.primal - s.at.C[0] * sum(s.at.xi))}, slack costs ${
      shown(s.at.C[0] * sum(s.at.xi))}.`,
    challenge: { ask: "Find a C at which exactly four samples hold the margin and at least four have slack.",
      done: (s) => s.kinds.filter((kind) => kind === 1).length === 4 && s.at.xi.filter((v) => v > 1e-9).length >= 4 },
  },
  game: {
    ...OVERLAP, machine: "c", p: { C: 1 }, handles: [[0.2, -1.2], [1.4, 0.2]], extra: game,
    verdict: (s) => `your P = ${shown(s.mine.P)}; no P is below D = ${shown(s.at.result.dual)}`,
    near: (s) => s.mine.P / s.at.result.dual <= 1.02,
    challenge: { ask: "Bring your P within 2 % of the best D.", done: (s) => s.mine && s.mine.P / s.at.result.dual <= 1.02 },
  },
  alpha: { ...THREE, machine: "c", p: { C: 1 }, sliders: [slider("C", "C, the side of the box", 0.05, 2, true)],
    draw: (plane, s) => margin(plane, s.f), extra: space,
    told: (s) => `α = (${s.at.alpha.map((v) => shown(v, 3)).join(", ")}), D = ${shown(s.at.result.dual)}.`,
    challenge: { ask: "Drag the samples until two multipliers are at C and the third is as well as their sum allows.",
      done: (s) => s.at.alpha.filter((v) => v >= s.at.C[0] * (1 - 1e-9)).length >= 2 } },
  hulls: {
    ...OVERLAP, machine: "nu", p: { nu: 0.6 }, sliders: [slider("nu", "ν", 0.15, 0.98)],
    draw: hulls,
    told: (s) => `No sample may have more than ${shown(2 / (s.at.nu * s.X.length), 3)} of its hull; the hulls are ${
      shown(2 * Math.sqrt(-2 * s.at.result.dual) / s.at.nu)} apart.`,
    challenge: { ask: "With ν as small as you can: separate the samples so well that the whole hulls (ν = 0.15) are 1 apart.",
      done: (s) => s.at.nu <= 0.151 && 2 * Math.sqrt(-2 * s.at.result.dual) / s.at.nu >= 1 },
  },
  lift: {
    ...RINGS, machine: "c", p: { C: 10 }, features: ([x, y]) => [x, y, 0.5 * (x * x + y * y) - 1.5],
    sliders: [slider("C", "C", 0.1, 100, true)],
    draw: (plane, s) => margin(plane, s.f), extra: lift,
    told: (s) => `In three dimensions w = (${numbers(s.at.w).map((v) => shown(v, 3)).join(", ")}).`,
    challenge: { ask: "Move one triangle into the middle of the circles, and then C until it is the only one with slack.",
      done: (s) => s.at.xi.filter((v) => v > 1e-6).length === 1 && s.X.some((x, i) => s.y[i] < 0 && Math.hypot(...x) < 0.8) },
  },
  certificate: {
    ...OVERLAP, machine: "c", p: { C: 1 }, extra: certificate, own: true,
    draw: (plane, s) => margin(plane, s.f),
    challenge: { ask: "Ten moves: bring the gap below 1 % of D.", done: (s) => s.gap <= 0.01 && s.moves > 0 && s.moves <= 10 },
  },
  tube: {
    ...CURVE, machine: "epsilon-svr", p: { C: 5, epsilon: 0.3 }, kernel: { name: "rbf", gamma: 0.7 }, curve: true,
    sliders: [slider("epsilon", "ε, half the tube", 0.01, 1), slider("C", "C", 0.1, 100, true)],
    told: (s) => `${s.kinds.filter((kind) => kind === 0).length} samples lie inside and could be left out.`,
    challenge: { ask: "A tube that four samples or fewer hold or leave, with ε below 0.7.",
      done: (s) => s.kinds.filter(Boolean).length <= 4 && s.at.epsilon < 0.7 },
  },
  novelty: {
    ...CLOUD, machine: "one-class", p: { nu: 0.3 }, kernel: { name: "rbf", gamma: 0.5 },
    sliders: [slider("nu", "ν, the share that may be outside", 0.08, 0.95)],
    draw: (plane, s) => margin(plane, s.f, [[0, "zero"]]),
    told: (s) => `${s.at.values.filter((v) => v + s.at.b < -1e-9).length} of ${s.X.length} samples are outside.`,
    challenge: { ask: "Leave exactly two samples outside.",
      done: (s) => s.at.values.filter((v) => v + s.at.b < -1e-9).length === 2 },
  },
  many: {
    ...FLOWER, machine: "c", p: { C: 5 }, sliders: [slider("C", "C", 0.05, 100, true)], pairs: true,
    challenge: { ask: "Drag samples until each of the three machines is held by two samples only.",
      done: (s) => s.every.every((each) => each.kinds.filter(Boolean).length === 2) },
  },
};

// ---------------------------------------------------------------------------------------------------------------------
// The stage: one plane for all chapters, and the chapter that is read has it.

class Stage {
  constructor(root) {
    this.root = root;
    this.plane = new Plane({ moved: (i, x) => this.move(i, x), chosen: (i) => { this.chosen = i; this.show(); },
      settled: () => this.hint.remove() });
    this.hint = element("p", { class: "hint" }, "Drag a sample.");
    this.legend = element("p", { class: "legend" });
    this.verdict = element("p", { class: "verdict", role: "status" });
    root.replaceChildren(this.hint, this.plane.root, this.verdict, this.legend);
    this.places = [...document.querySelectorAll("[data-chapter]")].map((place) => this.furnish(place));
    const ratio = new Map(), watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting, intersectionRatio } of entries) ratio.set(target, isIntersecting ? intersectionRatio : 0);
      const middle = innerHeight * 0.4, best = this.places.filter(({ section }) => ratio.get(section)).map((each) => ({ each,
        off: Math.abs(Math.max(each.section.getBoundingClientRect().top - middle,
          Math.min(0, each.section.getBoundingClientRect().bottom - middle))) })).sort((a, b) => a.off - b.off)[0];
      if (best) this.open(best.each);
    }, { threshold: [0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1] });
    for (const { section } of this.places) watcher.observe(section);
    for (const line of document.querySelectorAll(".live-line")) this.listen(line);
    this.open(this.places.find(({ section }) => location.hash === `#${section.id}`) ?? this.places[0]);
  }

  /** Sliders, the chapter's own pictures and its challenge, in the text. */
  furnish(place) {
    const name = place.dataset.chapter, chapter = CHAPTERS[name], section = place.closest("section") ?? document.body;
    const first = JSON.stringify({ X: chapter.X, p: chapter.p, handles: chapter.handles });
    const told = element("p", { class: "told" }), won = element("span", { class: "won" });
    for (const { name: key, label, low, high, log } of chapter.sliders ?? []) {
      const to = (v) => (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
      const from = (v) => Number((log ? low * (high / low) ** v : low + v * (high - low)).toPrecision(3));
      const said = element("output", {}, shown(chapter.p[key], 3));
      const input = element("input", { type: "range", min: 0, max: 1, step: 0.002, value: to(chapter.p[key]),
        oninput: () => { chapter.p[key] = from(Number(input.value)); said.textContent = shown(chapter.p[key], 3);
          this.open(own); this.solve(); } });
      place.append(element("label", { class: "slider" }, `${label} `, input, said));
    }
    place.append(told);
    const own = { name, chapter, section, told, won };
    own.update = chapter.extra?.(place, chapter, this);
    place.append(element("p", { class: "challenge" }, element("b", {}, "Challenge. "), chapter.challenge.ask, " ", won, " ",
      element("button", { type: "button", onclick: () => { Object.assign(chapter, JSON.parse(first));
        if (chapter.alpha) Object.assign(chapter, { alpha: chapter.X.map(() => 0), moves: 0 });
        this.open(own); this.solve(); } }, "reset")));
    place.addEventListener("pointerdown", () => this.open(own));
    place.addEventListener("focusin", () => this.open(own));
    return own;
  }

  open(own) {
    if (this.now === own) return;
    Object.assign(this, { now: own, chosen: 0, lit: null });
    for (const { section } of this.places) section.classList.toggle("read", section === own.section);
    this.root.dataset.open = own.name;
    this.solve();
  }

  move(i, x) {
    const { chapter } = this.now, n = chapter.X.length;
    if (i < n) chapter.X[i] = x; else chapter.handles[i - n] = x;
    this.solve();
  }

  /** Solve what is on the stage; where that cannot be, say why. */
  solve() {
    const { chapter } = this.now;
    try {
      if (chapter.pairs) this.solution = pairs(chapter);
      else if (chapter.curve) {
        this.solution = posed({ ...chapter, X: chapter.X.map(([x]) => [x]), targets: chapter.X.map(([, t]) => t) });
        this.solution.X = chapter.X;
      } else this.solution = posed(chapter);
      this.verdict.textContent = certified(this.solution);
      this.verdict.className = `verdict ${this.solution.gap <= OPTIMAL ? "good" : "open"}`;
    } catch (error) {
      if (!(error instanceof Unsolvable)) throw error;
      this.solution = null;
      this.verdict.textContent = error.message;
      this.verdict.className = "verdict bad";
    }
    this.show();
  }

  show() {
    const { chapter, told, won, update } = this.now, s = this.solution, { plane } = this;
    let behind = [];
    if (s) {
      const own = update?.(s, plane) ?? [];
      behind = [...(chapter.draw?.(plane, s) ?? (chapter.curve ? tube(plane, s) : [])), ...own, ...(s.drawn?.(plane) ?? [])];
      if (chapter.verdict) this.verdict.textContent = chapter.verdict(s);
      if (chapter.near) this.verdict.className = `verdict ${chapter.near(s) ? "good" : "open"}`;
      told.textContent = chapter.told?.(s) ?? "";
      won.textContent = chapter.challenge.done(s) ? "✓ done, certified" : "";
    } else {
      behind = [1, -1].map((label) => plane.path(hull(chapter.X.filter((_, i) => chapter.y[i] === label)), `hull class${label}`, true));
      told.textContent = won.textContent = "";
    }
    const kinds = s?.kinds ?? chapter.X.map(() => 0);
    plane.show({ X: chapter.X, labels: chapter.y, kinds, chosen: this.chosen, weights: this.lit, handles: chapter.handles,
      behind, words: (i) => (i < chapter.X.length ? `sample ${i}, ${s ? KINDS[kinds[i]] : "no solution"}`
        : "a handle of your boundary") });
    this.legend.textContent = s ? this.says(s) : "";
    for (const line of document.querySelectorAll(".live-line")) this.number(line);
  }

  /** The chosen sample in words. */
  says(s) {
    const i = this.chosen, count = [0, 1, 2].map((kind) => s.kinds.filter((each) => each === kind).length);
    const sample = i < s.X.length && s.at ? `Sample ${i}: ${s.dual.rows.flatMap((row, k) => (row.i === i
      ? [`α = ${shown(s.dual.alpha[k])}`] : [])).join(", ")}, f = ${shown(s.at.values[i] + s.at.b)}. ` : "";
    return `${sample}Pale: α = 0 (${count[0]}). Outlined: 0 < α < C (${count[1]}). Ringed: α = C (${count[2]}).`;
  }

  /** Put the value of each term beside it; of what every sample has, that of the chosen one. */
  number(line) {
    const { machine, tag } = line.dataset, { chapter } = this.now, s = this.solution;
    const live = s?.at && machine === chapter.machine && line.closest("section") === this.now.section;
    const stated = EQUATIONS[machine][tag][line.dataset.line];
    for (const place of line.querySelectorAll(".term")) {
      const row = place.dataset.premise === undefined ? stated : stated.premise;
      const term = row.sides[place.dataset.premise ?? place.dataset.side][place.dataset.term];
      const value = live ? numbers(term.value(s.at, operations(s.at))) : null;
      const one = Array.isArray(value) ? value[Math.min(this.chosen, value.length - 1)] : value;
      place.querySelector("output").textContent = value === null ? "" : shown(term.sign * one);
    }
  }

  /** A term lights the samples that it is made of. */
  listen(line) {
    const { machine, tag } = line.dataset;
    for (const place of line.querySelectorAll(".term")) {
      const light = () => {
        const s = this.solution, stated = EQUATIONS[machine][tag][line.dataset.line];
        const row = place.dataset.premise === undefined ? stated : stated.premise;
        const term = row.sides[place.dataset.premise ?? place.dataset.side][place.dataset.term];
        if (!s?.at || machine !== this.now.chapter.machine) return;
        const value = numbers((term.each ?? term.value)(s.at, operations(s.at)));
        if (!Array.isArray(value) || value.length % s.X.length) return;
        const size = s.X.map((_, i) => Math.max(...value.filter((_, k) => k % s.X.length === i).map(Math.abs)));
        const most = Math.max(...size);
        this.lit = most > 0 ? size.map((v) => (v > 1e-9 * most ? 0.2 + 0.8 * v / most : 0)) : null;
        this.show();
      };
      const dark = () => { if (this.lit) { this.lit = null; this.show(); } };
      for (const [on, action] of [["pointerenter", light], ["focus", light], ["pointerleave", dark], ["blur", dark]]) {
        place.addEventListener(on, action);
      }
    }
  }
}

const start = () => { for (const root of document.querySelectorAll("[data-stage]")) new Stage(root); };
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
