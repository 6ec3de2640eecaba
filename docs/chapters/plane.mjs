// The plane: samples that can be dragged, the boundary with its margin, hulls; and small pictures in the same style.

const SVG = "http://www.w3.org/2000/svg", SIZE = 600, REACH = 3, GRID = 56;
/** Marks around the origin, with areas alike: of the classes, of a third one, and of what is no sample (0). */
const MARKS = { 1: "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0 -2 0Z", [-1]: "M0 -1.3L1.2 0.8L-1.2 0.8Z",
  2: "M-0.9 -0.9L0.9 -0.9L0.9 0.9L-0.9 0.9Z", 0: "M0 -1.2L1.2 0L0 1.2L-1.2 0Z" };
const RADIUS = 9;

export function element(tag, attributes = {}, ...children) {
  const made = SHAPES.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value); else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}
const SHAPES = new Set(["svg", "g", "path", "circle", "line", "rect", "text", "polygon"]);

/** A number for people: four digits, a real minus sign. */
export function shown(value, digits = 4) {
  if (!Number.isFinite(value)) return value === Infinity ? "∞" : "–";
  const size = Math.abs(value);
  const text = size && (size < 1e-3 || size >= 1e5) ? value.toExponential(1) : String(Number(value.toPrecision(digits)));
  return text.replace("e-", "e−").replace(/^-/, "−");
}

/** The smallest gap that is told, relative to the objective: doubles cannot tell less from 0. */
export const LEAST = 1e-16;
export const shownGap = (gap) => (gap < LEAST ? "< 1e−16" : shown(gap, 2));

/** Lines on which values (rows of a grid over box) are level, each as the points along it. */
export function contour(values, level, box) {
  const n = values.length - 1, [x0, x1, y0, y1] = box, ends = new Map();
  const point = (edge) => {
    const [i, j, k, l] = edge.split(" ").map(Number), a = values[i][j] - level, b = values[k][l] - level, s = a / (a - b);
    return [x0 + (x1 - x0) * (j + s * (l - j)) / n, y0 + (y1 - y0) * (i + s * (k - i)) / n];
  };
  const join = (one, other) => ends.set(one, [...(ends.get(one) ?? []), other]);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
    const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]], crossed = [];
    corners.forEach(([a, b], k) => {
      const [c, d] = corners[(k + 1) % 4];
      if ((values[a][b] > level) === (values[c][d] > level)) return;
      crossed.push((a < c || b < d ? [a, b, c, d] : [c, d, a, b]).join(" "));  // an edge has one name in both its cells
    });
    for (let k = 0; k + 1 < crossed.length; k += 2) { join(crossed[k], crossed[k + 1]); join(crossed[k + 1], crossed[k]); }
  }
  const lines = [], follow = (edge) => {
    const line = [point(edge)];
    for (let next = ends.get(edge).pop(); next !== undefined; next = ends.get(edge).pop()) {
      ends.get(next).splice(ends.get(next).indexOf(edge), 1);
      edge = next;
      line.push(point(edge));
    }
    return line;
  };
  for (const odd of [true, false]) for (const [edge, to] of ends) {  // those that end at the border first, then rings
    while (to.length && (to.length === 1 || !odd)) lines.push(follow(edge));
  }
  return lines;
}

/** Corners of the convex hull of points, counter-clockwise. */
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list) => {
    const kept = [];
    for (const p of list) {
      while (kept.length > 1 && turn(kept.at(-2), kept.at(-1), p) <= 0) kept.pop();
      kept.push(p);
    }
    return kept.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

/** A picture with axes of its own: `at` maps to it, `from` back. */
export class Picture {
  constructor(box, { size = SIZE, height = size, label = "" } = {}) {
    Object.assign(this, { box, size, height });
    this.root = element("svg", { viewBox: `0 0 ${size} ${height}`, role: "img", "aria-label": label });
  }

  at([x, y]) {
    const [x0, x1, y0, y1] = this.box;
    return [(x - x0) / (x1 - x0) * this.size, (y1 - y) / (y1 - y0) * this.height];
  }

  from(event) {
    const frame = this.root.getBoundingClientRect(), [x0, x1, y0, y1] = this.box;
    return [x0 + (event.clientX - frame.left) / frame.width * (x1 - x0),
      y1 - (event.clientY - frame.top) / frame.height * (y1 - y0)];
  }

  path(points, kind, closed = false) {
    const d = points.map((point, k) => (k ? "L" : "M") + this.at(point).map((v) => v.toFixed(1)).join(" ")).join("");
    return element("path", { d: d + (closed ? "Z" : ""), class: kind });
  }

  lines(found, kind) {
    const d = found.map((line) => line.map((point, k) => (k ? "L" : "M") + this.at(point).map((v) => v.toFixed(1))));
    return element("path", { d: d.flat().join(""), class: kind });
  }

  dot(point, kind, radius = 5) {
    const [x, y] = this.at(point);
    return element("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: radius, class: kind });
  }

  text(point, words, kind = "") {
    const [x, y] = this.at(point), made = element("text", { x: x.toFixed(1), y: y.toFixed(1), class: kind });
    made.textContent = words;
    return made;
  }

  draw(...parts) { this.root.replaceChildren(...parts.flat().filter(Boolean)); }
}

/** Values of a function over the box, as rows of a grid from below. */
export function grid(box, f, n = GRID) {
  const [x0, x1, y0, y1] = box, points = [];
  for (let i = 0; i <= n; i++) for (let j = 0; j <= n; j++) {
    points.push([x0 + (x1 - x0) * j / n, y0 + (y1 - y0) * i / n]);
  }
  const values = f(points);
  return Array.from({ length: n + 1 }, (_, i) => values.slice(i * (n + 1), (i + 1) * (n + 1)));
}

/** What a sample is: 0 off the margin, 1 on it, 2 at the bound. */
export const kindOf = (alpha, upper) => (alpha <= 0 ? 0 : alpha < upper ? 1 : 2);
export const KINDS = ["α = 0", "0 < α < C", "α = C"];

/** The plane of samples: what moves there is told to `moved(i, point)`, what is chosen to `chosen(i)`. */
export class Plane extends Picture {
  constructor({ moved, chosen, settled }) {
    super([-REACH, REACH, -REACH, REACH], { label: "the samples and the boundary" });
    this.root.setAttribute("role", "group");  // what is in it is operated
    Object.assign(this, { moved, chosen, settled, held: null });
    this.back = element("g"); this.front = element("g");
    this.root.append(this.back, this.front);
    this.root.classList.add("plane");
    this.root.addEventListener("pointermove", (event) => {
      if (this.held === null) return;
      const bound = (v) => Math.max(-REACH + 0.05, Math.min(REACH - 0.05, v));
      this.moved(this.held, this.from(event).map(bound).map((v) => Number(v.toFixed(2))));
    });
    for (const over of ["pointerup", "pointercancel"]) this.root.addEventListener(over, () => {
      if (this.held !== null) this.settled();
      this.held = null;
    });
  }

  /** Draw samples with what is behind them. `weights`: how much each is lit, from 0 to 1, or null. */
  show({ X, labels, kinds, chosen, weights, handles = [], behind = [], words }) {
    this.back.replaceChildren(...behind.flat().filter(Boolean));
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.sample : null;
    this.front.replaceChildren(...[...X, ...handles].map((x, i) => {
      const [left, top] = this.at(x), lit = weights && i < X.length ? ` lit${weights[i] > 0 ? "" : " dim"}` : "";
      const size = RADIUS * (weights && i < X.length ? 0.75 + 0.75 * weights[i] : 1), handle = i >= X.length;
      const mark = element("path", { d: MARKS[handle ? 0 : labels[i]], class: "mark", transform: `scale(${size})` });
      const bound = kinds[i] === 2 ? element("circle", { r: RADIUS + 2.5, class: "bound" }) : null;
      const ring = i === chosen ? element("circle", { r: RADIUS + 6, class: "ring" }) : null;
      return element("g", { class: handle ? "sample handle" : `sample class${labels[i]} kind${kinds[i]}${lit}`, tabindex: 0, role: "button",
        "aria-label": words(i), "data-sample": i, transform: `translate(${left.toFixed(1)} ${top.toFixed(1)})`,
        onpointerdown: (event) => {
          event.preventDefault();
          this.held = i;
          this.root.setPointerCapture(event.pointerId);
          this.chosen(i);
        },
        onfocus: () => { if (this.held === null && this.focused !== i) { this.focused = i; this.chosen(i); } },
        onkeydown: (event) => {
          const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
          if (!step) return;
          event.preventDefault();
          this.moved(i, x.map((v, j) => Number((v + step[j] * (event.shiftKey ? 0.25 : 0.05)).toFixed(2))));
          this.settled();
        } }, ring, mark, bound);
    }));
    if (focused !== null) this.front.querySelector(`[data-sample="${focused}"]`)?.focus({ preventScroll: true });
  }

  /** The lines f = level, straight or not, as paths; `values` over the grid of the box. */
  levels(values, levels) {
    return levels.map(([level, kind]) => this.lines(contour(values, level, this.box), kind));
  }
}
