// The playground: samples are dragged here, and every number is computed by the library that answers.
//
// One module, two transports. `mount(element, transport)` puts the playground into a page (the server's page mounts
// itself over a WebSocket, at the end of this file); the default export is what anywidget calls in a notebook. This
// file draws and asks. It never trains, certifies or rounds anything that it shows as a result.

const SVG = "http://www.w3.org/2000/svg", MATHML = "http://www.w3.org/1998/Math/MathML";
/** What a residual stays below at a polished optimum, as on the page of a derivation. */
const HOLDS = 1e-8;
/** The smallest gap that is told, relative to the objective. */
const LEAST = 1e-16;
/** Points a side of the grid that the boundary is drawn from: while something moves, and at rest. */
const GRID = { moving: 48, still: 80 };
/** The longest address, in characters, that mail and chat programs leave whole. */
const LONGEST_ADDRESS = 12000;
/** Milliseconds: until an address is written (browsers refuse many in a row), until a slow answer is called slow, and
 * until samples that were moved are taken to rest, so that solvers run again. */
const WRITE_AFTER = 300, SLOW = 400, RUN_AFTER = 900;
/** What of its styles a saved picture has written into it, and pixels of it for one on the page. */
const WRITTEN = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin",
  "stroke-linecap", "vector-effect", "font-family", "font-size", "font-style", "font-weight", "paint-order", "transform-box",
  "transform-origin", "opacity"];
const SHARP = 3;
/** So many samples at most run without being asked to: a run is some forty solves. */
const RUN_BY_ITSELF = 120;
/** The hues of the classes as the shading has them, light on a page of any colour. */
const HUES = { 1: [0, 114, 178], [-1]: [213, 94, 0] };
/** Colours (Okabe and Ito) and dashes of the solvers' curves, in the order in which solvers are chosen. */
const CURVES = [["#0072B2", ""], ["#D55E00", "7 3"], ["#009E73", "2 3"], ["#CC79A7", "9 3 2 3"], ["#1c2128", ""],
  ["#56B4E9", "5 2"], ["#E69F00", ""], ["#57606a", "3 3"]];
/** Marks of the two classes around the origin, with areas alike: a circle, a triangle, as in the library's pictures. */
const STAR = "M0 -11L2.8 -3.9L10.5 -3.4L4.6 1.5L6.5 8.9L0 4.8L-6.5 8.9L-4.6 1.5L-10.5 -3.4L-2.8 -3.9Z";
const CIRCLE = "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0 -2 0Z", TRIANGLE = "M0 -1.3L1.2 0.8L-1.2 0.8Z";

/** What the keyboard does in the plane. */
const KEYS = {
  labels: "With a sample selected, the arrow keys move it (Shift: further), F flips its label, Delete removes it, + adds another.",
  others: "With a sample selected, the arrow keys move it (Shift: further), Delete removes it, + adds another." };
const keysOf = (app) => KEYS[machineOf(app).learnt] ?? KEYS.others;

// ---------------------------------------------------------------------------------------------------------------------
// Elements and numbers: the few words that everything below is written in.

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const html = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => build(document.createElementNS(SVG, tag), attributes, children);

/** Set attributes that changed. */
function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    const text = String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
  return element;
}

/** A number with so many significant digits, with a real minus sign; a dash where there is none. */
function shown(value, digits = 5) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e7) ? value.toExponential(Math.min(digits, 3) - 1)
    : String(Number(value.toPrecision(digits)));
  return text.replaceAll("-", "−");
}

/** A relative gap: what is below `LEAST` of the objective, doubles cannot tell from 0. */
const shownGap = (gap, digits = 2) => (gap !== null && gap < LEAST ? "< 1e−16" : shown(gap, digits));

/** A number that is a part of the gap: 0 where it is less than what is told of one, of so large an objective. */
const shownPart = (value, size) => shown(value !== null && Math.abs(value) < LEAST * size ? 0 : value);

/** Text with its indices and exponents: y_i as y and a small i below, z^p as z and a small p above. */
function scripted(text) {
  const parts = (text ?? "").split(/([_^][a-zA-Z0-9]{1,2}(?![a-zA-Z0-9]))/);
  return parts.map((part, k) => (k % 2 ? html(part[0] === "_" ? "sub" : "sup", null, part.slice(1)) : part));
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const copy = (value) => JSON.parse(JSON.stringify(value));
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const numeral = (i) => [...String(i)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("");
const calm = () => globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? false;

/** Round ticks within an interval, about so many. */
function ticks(low, high, count = 5) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? power;
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9;
    k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

/** The library's MathML as elements: nothing but MathML gets through, and no attribute that acts or styles. */
function mathematics(text) {
  const parsed = new DOMParser().parseFromString(text ?? "", "text/html").querySelector("math");
  if (!parsed) return html("span");
  for (const element of parsed.querySelectorAll("*")) if (element.namespaceURI !== MATHML) element.remove();
  for (const element of [parsed, ...parsed.querySelectorAll("*")]) {
    const acting = [...element.attributes].filter(({ name }) => /^(on|style$|href$|xlink|src)/i.test(name));
    for (const { name } of acting) element.removeAttribute(name);
  }
  return document.importNode(parsed, true);
}

// ---------------------------------------------------------------------------------------------------------------------
// Transports: `ask(request)` promises the reply; `listen(report)` is told when the library comes ("up") and goes.

/** The library went away before it answered. */
class Gone extends Error {}

class Waiting {
  #next = 1;
  #open = new Map();

  add(send) {
    const id = this.#next++;
    return new Promise((resolve, reject) => { this.#open.set(id, { resolve, reject }); send(id); });
  }

  /** A reply without a number refuses a message that could not be read: the oldest that waits. */
  settle(reply) {
    const id = reply.id ?? this.#open.keys().next().value;
    this.#open.get(id)?.resolve(reply);
    this.#open.delete(id);
  }

  drop() {
    for (const { reject } of this.#open.values()) reject(new Gone("the connection was lost"));
    this.#open.clear();
  }
}

/** One WebSocket. Where somebody listens it comes back by itself, asking again after 0.25, 0.5, … at most 4 seconds. */
function lane(address, report = null) {
  const waiting = new Waiting();
  let socket = null, attempts = 0, closed = false, timer = 0, ready = null;
  function connect() {
    socket = new WebSocket(address);
    ready = new Promise((resolve, reject) => {
      socket.addEventListener("open", () => { attempts = 0; resolve(); report?.("up"); });
      socket.addEventListener("close", () => reject(new Gone("there is no connection")));
    });
    ready.catch(() => {});  // nobody may be waiting for it
    socket.addEventListener("message", ({ data }) => waiting.settle(JSON.parse(data)));
    socket.addEventListener("close", () => {
      waiting.drop();
      closed ||= report === null;
      if (closed) return;
      report("down");
      timer = setTimeout(connect, Math.min(4000, 250 * 2 ** attempts++));
    });
  }
  connect();
  return {
    get closed() { return closed; },
    ask: (request) => ready.then(() => {
      if (socket.readyState !== WebSocket.OPEN) throw new Gone("the connection is being closed");
      return waiting.add((id) => socket.send(JSON.stringify({ id, ...request })));
    }),
    close() { closed = true; clearTimeout(timer); waiting.drop(); socket.close(); },
  };
}

/** What takes seconds. */
const SLOWLY = ["run", "path"];

/** The server: what takes seconds goes over a connection of its own, so that no drag waits for it. */
export function overSocket(address) {
  let quick = null, slow = null;
  return {
    parallel: true,
    listen(report) { quick = lane(address, report); },
    ask(request) {
      const waits = SLOWLY.includes(request.ask);
      if (waits && (slow?.closed ?? true)) slow = lane(address);
      return (waits ? slow : quick).ask(request);
    },
    close() { quick?.close(); slow?.close(); },
  };
}

/** Messages of an anywidget model; the trait `state` holds the state, so that Python reads and sets it. */
export function overWidget(model) {
  const waiting = new Waiting();
  const answered = (message) => waiting.settle(message);
  let changed = null;
  return {
    listen(report) { model.on("msg:custom", answered); report("up"); },
    ask: (request) => waiting.add((id) => model.send({ id, ...request })),
    load: () => model.get("state"),
    save(state) { if (!same(state, model.get("state"))) { model.set("state", copy(state)); model.save_changes(); } },
    follow(listener) { changed = () => listener(model.get("state")); model.on("change:state", changed); },
    close() { model.off("msg:custom", answered); if (changed) model.off("change:state", changed); waiting.drop(); },
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// The address: the state as text that a person can read, or the name of a scene where nothing of it was changed.

function toAddress(state, { scenes, machines }, view = "") {
  const machine = machines.find(({ name }) => name === state.machine);
  const scene = scenes.find((each) => same(each.state, state));
  if (scene) return `#scene=${encodeURIComponent(scene.name)}${view}`;
  const { name, ...options } = state.kernel;
  const parts = [["machine", state.machine], ...Object.entries(state.parameters), ["kernel", name],
    ...Object.entries(options).map(([key, value]) => [`kernel.${key}`, value]), ["axes", state.axes.join(",")]];
  const bare = machine?.learnt !== "labels" && state.labels.every((label) => label === 1);
  const points = state.points.map((point, i) => point.join(",") + (bare ? "" : `@${state.labels[i]}`)).join(";");
  const text = `#${parts.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}&points=${points}${view}`;
  return text.length > LONGEST_ADDRESS ? "" : text;
}

/** The parts of an address: of the state, and with "view." in front of how it is looked at. */
function partsOf(address) {
  return new Map(address.replace(/^#/, "").split("&").filter(Boolean).map((part) => {
    const at = part.indexOf("=");
    return [part.slice(0, at), decodeURIComponent(part.slice(at + 1))];
  }));
}

/** The state of an address, the start where it has none. Throws a sentence where it cannot be read. */
function fromAddress(address, catalogue) {
  const given = partsOf(address);
  if (given.has("scene")) {
    const scene = catalogue.scenes.find((each) => each.name === given.get("scene"));
    if (!scene) throw new Error(`there is no scene ${given.get("scene")}`);
    return { state: copy(scene.state), scene: scene.name };
  }
  if (!given.has("points")) return { state: copy(catalogue.start), scene: sceneOf(catalogue, catalogue.start) };
  const value = (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : text);
  const rows = given.get("points").split(";").filter(Boolean).map((row) => row.split("@"));
  const state = { points: rows.map(([x]) => x.split(",").map(Number)),
    labels: rows.map(([, label]) => Number(label ?? 1)),
    axes: (given.get("axes") ?? "0,1").split(",").map(Number), machine: given.get("machine") ?? catalogue.start.machine,
    parameters: {}, kernel: { name: given.get("kernel") ?? "linear" } };
  const d = state.points[0]?.length ?? 2, isAxis = (axis) => Number.isInteger(axis) && axis >= 0 && axis < d;
  if (![...state.points.flat(), ...state.labels].every(Number.isFinite)) throw new Error("a coordinate is no number");
  if (state.points.some((point) => point.length !== d)) throw new Error("its points differ in length");
  if (!(state.axes.length === 2 && state.axes.every(isAxis))) throw new Error(`its axes are not two of ${d} features`);
  for (const [key, text] of given) {
    if (["points", "axes", "machine", "kernel"].includes(key) || key.startsWith("view.")) continue;
    if (key.startsWith("kernel.")) state.kernel[key.slice(7)] = value(text); else state.parameters[key] = value(text);
  }
  return { state, scene: null };
}

const sceneOf = (catalogue, state) => catalogue.scenes.find((each) => same(each.state, state))?.name ?? null;

// ---------------------------------------------------------------------------------------------------------------------
// The playground itself: what is on the page (state, selection, what α is held), and one question in flight at a time.

class Playground {
  state = null; catalogue = null; scene = null; answer = null; asked = null; box = [-1, 1, -1, 1];
  removed = null; selected = 0; hovered = null; equation = null; dragging = false; tool = "move";
    layers = { shading: true, hulls: true, residuals: true, contours: true };
  /** α that is certified in place of a solution's, and whose it is: null, "yours" or the words for an iterate. */
  alpha = null; whose = null;
  /** Who moves with the α that is moved ("best", "none", or a sample), the move that is made, and how many were. */
  partner = "best"; moving = null; moves = 0;
  past = []; future = []; views = []; notice = ""; unreadable = false;
  #wanted = false; #flying = false; #trips = []; #timers = {}; #stepsOf = "";

  constructor(root, transport, { address = false } = {}) {
    Object.assign(this, { root, transport, address });
    this.stop = new AbortController();
  }

  async start() {
    try { this.catalogue = await this.transport.ask({ ask: "catalogue" });
      } catch (error) { if (error instanceof Gone) return; throw error; }
    const { state, scene } = this.#first();
    this.state = state;
    this.scene = scene;
    this.fit();
    layOut(this);
    this.#listen();
    if (this.address) this.look(partsOf(this.unreadable ? "" : location.hash));
    if (this.address && new URLSearchParams(location.search).has("present")) present(this, true);
    this.changed();
  }

  /** How the state is looked at, as an address has it: "" where all is as at the start. */
  get view() {
    const { box } = this, open = [...this.root.querySelectorAll("details.panel[open]")].map((each) => each.dataset.panel);
    this.fit();
    const fitted = this.box, hidden = Object.keys(this.layers).filter((name) => !this.layers[name]);
    this.box = box;
    return [["sample", this.selected || ""], ["open", open.join(",")], ["hide", hidden.join(",")],
      ["box", same(box, fitted) ? "" : box.join(",")], ["alpha", this.whose === "yours" ? this.alpha.join(",") : ""]]
      .map(([name, text]) => (text === "" ? "" : `&view.${name}=${text}`)).join("");
  }

  /** Look at the state as an address says; what it says wrongly is left as it is. */
  look(given) {
    const words = (name) => given.get(`view.${name}`)?.split(",") ?? [], values = (name) => words(name).map(Number);
    const box = values("box"), alpha = values("alpha"), n = this.state.points.length;
    if (box.length === 4 && box.every(Number.isFinite) && box[0] < box[1] && box[2] < box[3]) this.box = box;
    this.selected = clamp(Math.trunc(values("sample")[0]) || 0, 0, Math.max(0, n - 1));
    for (const name of words("hide")) if (name in this.layers) this.layers[name] = false;
    for (const each of this.root.querySelectorAll("details.panel")) each.open = words("open").includes(each.dataset.panel);
    for (const each of this.root.querySelectorAll("[data-layer]")) each.checked = this.layers[each.dataset.layer];
    if (n && alpha.length === alphasOf(this) && alpha.every(Number.isFinite)) this.hold(alpha, "yours");
  }

  #first() {
    const held = this.transport.load?.();
    if (held?.points) return { state: copy(held), scene: sceneOf(this.catalogue, held) };
    try {
      return fromAddress(this.address ? location.hash : "", this.catalogue);
    } catch (error) {
      this.notice = `The address cannot be read (${error.message}); the page shows its initial state.`;
      this.unreadable = true;
      return fromAddress("", this.catalogue);
    }
  }

  #listen() {
    const { signal } = this.stop;
    this.root.addEventListener("keydown", (event) => {
      event.stopPropagation();  // a notebook around the playground has keys of its own
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z"
        || event.target.matches("input[type=number]")) return;
      event.preventDefault();
      if (event.shiftKey) this.redo(); else this.undo();
    }, { signal });
    this.transport.follow?.((state) => {
      if (state?.points && !this.dragging && !same(state, this.state)) this.replace(copy(state),
        sceneOf(this.catalogue, state));
    });
    if (!this.address) return;
    globalThis.addEventListener("popstate", () => {
      try {
        const { state, scene } = fromAddress(location.hash, this.catalogue);
        if (!same(state, this.state)) this.replace(state, scene, { history: "keep" });
      } catch (error) {
        this.notice = `The address cannot be read (${error.message}); nothing was changed.`;
        this.changed();
      }
    }, { signal });
  }

  /** The library is there, or it is not. */
  connection(is) {
    this.root.dataset.connection = is;
    if (is === "up" && !this.catalogue) this.start();
    else if (is === "up") { this.#stepsOf = ""; this.refresh(); }
    this.root.querySelector(".lost")?.toggleAttribute("hidden", is === "up");
  }

  // --- changes -------------------------------------------------------------------------------------------------------

  /** Change the state; `remember` keeps what was before for undo (a drag remembers once, when it begins). */
  edit(change, { remember = true } = {}) {
    if (remember) this.remember();
    this.notice = "";
    change(this.state);
    this.changed();
  }

  remember() {
    this.past.push({ state: copy(this.state), scene: this.scene });
    if (this.past.length > 200) this.past.shift();
    this.future = [];
  }

  undo() { this.#travel(this.past, this.future); }

  redo() { this.#travel(this.future, this.past); }

  #travel(from, to) {
    const there = from.pop();
    if (!there) return;
    to.push({ state: copy(this.state), scene: this.scene });
    this.#take(there.state, there.scene);
  }

  /** Show another state as a whole: a scene, an address, Python's. */
  replace(state, scene, { history = "push" } = {}) {
    this.remember();
    this.#take(state, scene, history === "push");
  }

  #take(state, scene, push = false) {
    const moved = !same(state.points, this.state.points) || !same(state.axes, this.state.axes);
    this.release();
    Object.assign(this, { state, scene, notice: "" });
    this.selected = clamp(this.selected, 0, Math.max(0, state.points.length - 1));
    if (moved) this.fit();
    if (push) this.write(true);
    this.changed();
  }

  changed() {
    if (this.alpha && this.whose !== "yours") this.release();
    for (const view of this.views) view.change?.();
    if (!this.dragging) this.mark();
    this.refresh();
    this.writeLater();
  }

  writeLater() {
    clearTimeout(this.#timers.write);
    this.#timers.write = setTimeout(() => this.write(), WRITE_AFTER);
  }

  write(push = false) {
    this.transport.save?.(this.state);
    if (!this.address) return;
    const text = toAddress(this.state, this.catalogue, this.view);
    const target = text || `${location.pathname}${location.search}`;
    if (text === location.hash) return;
    history[push ? "pushState" : "replaceState"](null, "", target);
  }

  /** The square of the plane that holds every sample; each axis by itself where one range dwarfs the other. */
  fit() {
    const [p, q] = this.state.axes;
    const span = (axis) => {
      const values = this.state.points.map((point) => point[axis]);
      const low = Math.min(...values), high = Math.max(...values);
      return values.length ? [(low + high) / 2, (high - low) / 2] : [0, 1];
    };
    let [[cx, rx], [cy, ry]] = [span(p), span(q)];
    const larger = Math.max(rx, ry) || 1;
    const alike = machineOf(this).learnt !== "numbers" || Math.min(rx, ry) === 0;  // a target is no length beside x
    if (alike && (Math.min(rx, ry) * 8 >= larger || Math.min(rx, ry) === 0)) [rx, ry] = [larger, larger];
    this.box = [cx - 1.25 * rx, cx + 1.25 * rx, cy - 1.25 * ry, cy + 1.25 * ry].map((v) => Number(v.toPrecision(6)));
  }

  zoom(factor) {
    const [x0, x1, y0, y1] = this.box, cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
    this.box = [cx + (x0 - cx) * factor, cx + (x1 - cx) * factor, cy + (y0 - cy) * factor, cy + (y1 - cy) * factor];
    for (const view of this.views) view.change?.();
    this.refresh();
    this.writeLater();
  }

  /** As many digits as the plane can show, so that addresses and programs stay short. */
  rounded(value, axis) {
    const range = axis === 0 ? this.box[1] - this.box[0] : this.box[3] - this.box[2];
    const places = clamp(3 - Math.floor(Math.log10(range)), 0, 15);
    return Number(value.toFixed(places));
  }

  // --- samples -------------------------------------------------------------------------------------------------------

  move(i, x, y) {
    const [p, q] = this.state.axes;
    this.edit((state) => { state.points[i][p] = this.rounded(x, 0); state.points[i][q] = this.rounded(y, 1); },
      { remember: false });
  }

  add(x, y, label) {
    const [p, q] = this.state.axes, d = Math.max(2, this.state.points[0]?.length ?? 2);
    const middle = (axis) => {
      const values = this.state.points.map((point) => point[axis]).sort((a, b) => a - b), half = values.length >> 1;
      return values.length ? (values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2) : 0;
    };
    const point = Array.from({ length: d }, (_,
      axis) => (axis === p ? this.rounded(x, 0) : axis === q ? this.rounded(y, 1) : middle(axis)));
    this.selected = this.state.points.length;
    this.#reserve((side, n) => this.alpha.splice(side * (n + 1) + n, 0, 0));
    this.edit((state) => { state.points.push(point); state.labels.push(label); });
    this.say(`sample ${this.selected} added`);
  }

  /** Change the α that is held with its samples: once for each side of a regression. */
  #reserve(change) {
    const n = this.state.points.length, { sides } = machineOf(this);
    if (this.alpha) for (let side = 0; side < sides; side++) change(side, n);
  }

  flip(i) {
    if (machineOf(this).learnt !== "labels") return;
    this.edit((state) => { state.labels[i] = -state.labels[i]; });
    this.say(`sample ${i} is now of class ${this.className(this.state.labels[i])}`);
  }

  remove(i) {
    this.#reserve((side, n) => this.alpha.splice(side * (n - 1) + i, 1));
    this.hovered = null;
    this.selected = clamp(this.selected > i ? this.selected - 1 : this.selected, 0,
      Math.max(0, this.state.points.length - 2));
    this.edit((state) => { state.points.splice(i, 1); state.labels.splice(i, 1); });
    this.say(`sample ${i} deleted`);
  }

  /** The scene that is shown, as long as its machine is: its title and what to try speak of no other. */
  get titled() {
    return this.catalogue.scenes.find(({ name, state }) => name === this.scene && state.machine === this.state.machine);
  }

  /** The names that a file or a problem came with; a scene has none. */
  get names() { return this.scene === null ? this.catalogue : {}; }

  /** The name of a class; a label that is a number is written as one, with its sign where it is ±1. */
  className(label) {
    const name = this.names.classes?.[label > 0 ? 1 : 0] ?? String(label), value = Number(name);
    return name === "" || !Number.isFinite(value) ? name : `${value === 1 ? "+" : ""}${shown(value)}`;
  }

  drag(on) {
    if (on && !this.dragging) this.remember();
    this.dragging = on;
    if (!on) this.changed();
  }

  // --- selection: every element that is about sample i carries data-sample, data-of, data-row or data-column ---------

  select(i) {
    this.selected = i;
    for (const view of this.views) view.select?.(i);
    this.mark();
    this.writeLater();
  }

  hover(i) {
    if (i === this.hovered) return;
    this.hovered = i;
    for (const view of this.views) view.hover?.(i);
    this.mark();
  }

  mark() {
    this.#flag("hot", this.hovered);
    this.#flag("chosen", this.state.points.length ? this.selected : null);
  }

  #flag(name, i) {
    for (const element of this.root.querySelectorAll(`.${name}`)) element.classList.remove(name);
    if (i === null) return;
    const about = ["sample", "of", "row", "column"].map((key) => `[data-${key}="${i}"]`).join();
    for (const element of this.root.querySelectorAll(about)) element.classList.add(name);
  }

  /** Highlight everything that is about one equation. */
  point(tag) {
    this.equation = tag;
    for (const element of this.root.querySelectorAll(".cited")) element.classList.remove("cited");
    if (!tag) return;
    const about = `[data-equation="${tag}"],[data-tag="${tag}"]`;
    for (const element of this.root.querySelectorAll(about)) element.classList.add("cited");
  }

  go(tag) {
    const step = this.root.querySelector(`[data-tag="${tag}"]`);
    if (!step) return;
    step.closest("details.panel").open = true;
    step.scrollIntoView({ behavior: calm() ? "auto" : "smooth", block: "center" });
    step.focus({ preventScroll: true });
    this.point(tag);
  }

  // --- α that is held ------------------------------------------------------------------------------------------------

  /** Certify this α rather than solve. */
  hold(alpha, whose) {
    Object.assign(this, { alpha, whose, moves: 0, moving: null });
    this.root.dataset.alpha = whose === "yours" ? "yours" : "iterate";
    for (const view of this.views) view.held?.();
    this.refresh();
  }

  release() {
    if (!this.alpha) return;
    Object.assign(this, { alpha: null, whose: null });
    delete this.root.dataset.alpha;
    for (const view of this.views) view.held?.();
  }

  /** The α of a sample that is held; of a regression β, α above less α below. */
  multiplierOf(i) {
    const below = machineOf(this).sides === 2 ? this.alpha[this.state.points.length + i] ?? 0 : 0;
    return (this.alpha[i] ?? 0) - below;
  }

  /** Set one α, within its box, and that of its partner; of a regression β, of which one of both sides holds all. */
  setMultiplier(i, value) {
    const { upper, lower } = this.answer?.samples ?? {}, sided = machineOf(this).sides === 2;
    const least = sided ? lower?.[i] ?? -Infinity : 0;
    let multiplier = Number(clamp(value, least, upper?.[i] ?? Infinity).toPrecision(6));
    const j = this.gesture(i, Math.sign(multiplier - this.alpha[i]));
    if (j !== null) {
      const signs = signOf(this, i) * signOf(this, j), before = this.alpha[j], most = upper?.[j] ?? Infinity;
      this.alpha[j] = clamp(before - signs * (multiplier - this.alpha[i]), 0, most);
      multiplier = clamp(this.alpha[i] - signs * (this.alpha[j] - before), 0, upper?.[i] ?? Infinity);
    }
    this.alpha[i] = Math.max(multiplier, 0);
    if (sided) this.alpha[this.state.points.length + i] = Math.max(-multiplier, 0);
    for (const view of this.views) { view.multiplierChanged?.(i); if (j !== null) view.multiplierChanged?.(j); }
    this.refresh();
  }

  /** The partner of sample i until the move ends; at its beginning it is chosen, and the move is counted. */
  gesture(i, direction) {
    if (this.moving?.i === i && this.dragging) return this.moving.mate;
    if (!direction) return null;
    const wanted = this.partner, fixed = Number(wanted), paired = isBalanced(this) && wanted !== "none";
    const mate = !paired ? null : wanted === "best" ? partnerOf(this, i, direction) : fixed === i ? null : fixed;
    this.moving = { i, mate, best: this.answer?.move };
    this.moves += 1;
    return mate;
  }

  /** Make the move that the library advises, from the α that it judged: the one that is held, made feasible. */
  advance() {
    const { move, alpha } = this.answer, n = this.state.points.length, [i, mate = null] = move.rows.map((row) => row % n);
    this.alpha = [...alpha];
    move.rows.forEach((row, k) => { this.alpha[row] += move.change[k]; });
    this.moving = { i, mate, best: move };
    this.moves += 1;
    for (const view of this.views) for (let k = 0; k < n; k++) view.multiplierChanged?.(k);
    this.refresh();
  }

  // --- questions -----------------------------------------------------------------------------------------------------

  /** Ask for the present state: now, or as soon as the question in flight is answered. The newest wins. */
  async refresh() {
    this.#wanted = true;
    if (this.#flying) return;
    this.#flying = true;
    this.root.dataset.asking = "true";
    try {
      while (this.#wanted && !this.stop.signal.aborted) {
        this.#wanted = false;
        await this.#round();
      }
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
    } finally {
      this.#flying = false;
      clearTimeout(this.#timers.slow);
      delete this.root.dataset.busy;
      delete this.root.dataset.asking;
    }
    this.#askSteps();
  }

  async #round() {
    const parts = this.views.filter((view) => view.part
      && (this.dragging ? view.visible() : view.open())).map((view) => view.part);
    const question = { ask: "solve", state: this.state, box: this.box, grid: this.dragging ? GRID.moving : GRID.still,
      show: parts };
    if (this.alpha) question.alpha = this.alpha;
    const asked = { n: this.state.points.length, dragging: this.dragging, whose: this.whose,
      machine: this.state.machine };
    const began = performance.now();
    clearTimeout(this.#timers.slow);
    this.#timers.slow = setTimeout(() => { this.root.dataset.busy = "true"; }, SLOW);
    const answer = await this.transport.ask(question);
    if (asked.n !== this.state.points.length) return;  // a sample came or went meanwhile: the next answer fits
    const came = performance.now();
    this.show(answer, asked);
    this.#measure(performance.now() - began, performance.now() - came);
  }

  show(answer, asked) {
    Object.assign(this, { answer, asked });
    for (const view of this.views) view.draw?.(answer, asked);
    if (!asked.dragging || answer.qp) this.mark();  // while samples move, only the numbers of the program are made anew
    set(this.root, { "data-status": answer.error ? "error" : answer.status, "data-gap": answer.gap ?? "",
      "data-error": answer.error?.kind ?? "" });
    if (!asked.dragging) this.say(spoken(this, answer));
  }

  #measure(trip, drawing) {
    this.#trips.push(trip);
    if (this.#trips.length > 60) this.#trips.shift();
    const middle = [...this.#trips].sort((a, b) => a - b)[this.#trips.length >> 1];
    const count = Number(this.root.dataset.count ?? 0) + 1;
    set(this.root, { "data-round-trip": trip.toFixed(1), "data-drawing": drawing.toFixed(1),
      "data-round-trip-median": middle.toFixed(1), "data-count": count, "data-answers": count });
  }

  /** The equations change with the machine and the kernel's name, not with numbers: ask for them only then. */
  async #askSteps() {
    const { machine, parameters, kernel } = this.state;
    const words = Object.entries(parameters).filter(([, value]) => typeof value === "string");
    const key = JSON.stringify([machine, words, kernel.name]);
    const view = this.views.find((each) => each.equations);
    if (key === this.#stepsOf || !view?.open() || this.answer?.error) return;
    this.#stepsOf = key;
    try {
      const reply = await this.transport.ask({ ask: "steps", state: this.state });
      view.equations(reply.steps ?? []);  // a machine may have none yet
      view.draw(this.answer, this.asked);
      this.mark();
    } catch (error) { if (error instanceof Gone) this.#stepsOf = ""; else throw error; }
  }

  say(sentence) {
    const place = this.root.querySelector(".spoken");
    if (place && place.textContent !== sentence) place.textContent = sentence;
  }

  close() {
    this.stop.abort();
    this.transport.close?.();
    clearTimeout(this.#timers.write);
    this.root.replaceChildren();
  }
}

/** The certificate in one sentence, for those who listen to the page. */
function spoken(app, answer) {
  if (answer.error) return answer.error.sentence;
  const [, margin, bound] = answer.counts, [, second, third] = machineOf(app).kinds;
  return `${answer.status}, gap ${shownGap(answer.gap)}, ${margin} ${second}, ${bound} ${third}`;
}

// ---------------------------------------------------------------------------------------------------------------------
// The page around the views: what stands where, and one listener each for hover, selection and links to equations.

/** A part of the page that folds. `part` is what it needs of an answer, if it needs a part of its own. */
function panel(app, name, title, about, body, { part = null, onsight = null } = {}) {
  const element = html("details", { class: "panel", "data-panel": name,
    ontoggle: () => { if (element.open && app.answer) app.refresh(); app.writeLater(); } },
    html("summary", null, html("h2", null, title), about && html("span", { class: "about" }, about)),
      html("div", { class: "body" }, ...body));
  let seen = true;
  if (globalThis.IntersectionObserver) {
    const watch = new IntersectionObserver(([entry]) => { seen = entry.isIntersecting; if (seen) onsight?.(); },
      { rootMargin: "100px" });
    watch.observe(element);
    app.stop.signal.addEventListener("abort", () => watch.disconnect());
  }
  return { element, part, open: () => element.open, visible: () => element.open && seen };
}

function layOut(app) {
  const certificate = certificateView(app), controls = controlsView(app), plane = planeView(app);
  const lecture = lectureView(app), pair = complementarityView(app), sample = sampleView(app);
  const multipliers = multipliersView(app);
  const path = pathView(app), runs = runsView(app), program = qpView(app), derivation = derivationView(app);
  app.views = [certificate, controls, lecture, plane, pair, sample, multipliers, path, runs, program, derivation];
  app.root.replaceChildren(
    headerOf(app),
    html("p", { class: "lost", role: "alert", hidden: true },
      "The library does not answer. The page keeps its state, and continues when the library is back."),
    html("div", { class: "columns" },
      html("div", { class: "left" }, plane.element),
      html("div", { class: "right" }, certificate.element, controls.element, controls.lines,
        ...[sample, pair, multipliers, path, runs, program, derivation].map(({ element }) => element))),
    lecture.element,
    html("p", { class: "spoken", "aria-live": "polite" }));
  link(app);
}

/** The sample that an element is about, or null; and the equation. */
function indexOf(target) {
  const about = target.closest?.("[data-sample],[data-of],[data-row],[data-column]")?.dataset;
  return about ? Number(about.sample ?? about.of ?? about.row ?? about.column) : null;
}

function tagOf(target) {
  const about = target.closest?.("[data-equation],[data-tag]")?.dataset;
  return about?.equation ?? about?.tag ?? null;
}

function link(app) {
  const on = { signal: app.stop.signal };
  app.root.addEventListener("pointerover", ({ target }) => {
    if (app.dragging || target.matches?.("canvas.heat")) return;
    app.hover(indexOf(target));
    if (tagOf(target) !== app.equation) app.point(tagOf(target));
  }, on);
  app.root.addEventListener("pointerleave", () => { app.hover(null); app.point(null); }, on);
  app.root.addEventListener("focusin", ({ target }) => {
    const i = indexOf(target);
    if (i !== null) app.select(i);
  }, on);
  app.root.addEventListener("click", ({ target }) => {
    const cites = target.closest("a[data-equation]"), i = indexOf(target);
    if (cites) app.go(cites.dataset.equation);
    else if (i !== null && !target.closest("[data-sample]")) app.select(i);
  }, on);
}

/** A link to the equation with this tag. */
const cite = (tag) => (tag ? html("a", { class: "cite", role: "button", tabindex: 0, "data-equation": tag,
  onkeydown: (event) => { if (event.key === "Enter") event.target.click(); } }, `(${tag})`) : null);

function headerOf(app) {
  const button = (name, label, action, keys) => html("button", { type: "button", "data-action": name,
    title: keys ? `${label} (${keys})` : label, onclick: action }, label);
  const reset = () => app.replace(copy(app.catalogue.start), sceneOf(app.catalogue, app.catalogue.start));
  const more = [button("python", "Copy as Python", () => copyProgram(app)),
    app.address && button("address", "Copy address", () => copyAddress(app)),
    button("svg", "Save as SVG", () => savePicture(app, "svg")), button("png", "Save as PNG", () => savePicture(app, "png")),
    app.address && button("present", "Present", () => present(app, true))];
  const menu = html("details", { class: "menu" }, html("summary", null, "Share"), html("div", null, ...more));
  menu.addEventListener("click", ({ target }) => { if (target.closest("button")) menu.open = false; });
  return html("header", null,
    html("p", { class: "brand" }, html("b", null, "qpsvm"), html("span", null, "the dual, live")),
    html("nav", { "aria-label": "history and copies" },
      button("undo", "Undo", () => app.undo(), "Ctrl Z"),
      button("redo", "Redo", () => app.redo(), "Ctrl Shift Z"),
      button("reset", "Reset", reset), menu));
}

async function toClipboard(text) {
  try { await navigator.clipboard.writeText(text); return true; } catch { return false; }  // refused, or no secure page
}

async function copyProgram(app) {
  const reply = await app.transport.ask({ ask: "program", state: app.state }).catch(() => null);
  if (!reply) return;
  const copied = !reply.error && await toClipboard(reply.python);
  openDialog(app, "The same result in Python", reply.error ? reply.error.sentence : reply.python, copied);
}

async function copyAddress(app) {
  app.write();
  const refused = "There are too many samples for an address. “Copy as Python” includes them all.";
  if (!toAddress(app.state, app.catalogue)) return openDialog(app, "The address", refused, false);
  const copied = await toClipboard(location.href);
  openDialog(app, "This page, as an address", location.href, copied);
}

/** The plane as a picture of its own: styles are written into it, and the shading is an image in it. */
function pictureOf(app) {
  const drawing = app.root.querySelector("svg.plane"), made = drawing.cloneNode(true), size = drawing.viewBox.baseVal.width;
  const from = [...drawing.querySelectorAll("*")], to = [...made.querySelectorAll("*")];
  from.forEach((each, k) => {
    const style = getComputedStyle(each);
    for (const name of WRITTEN) to[k].setAttribute(name, style.getPropertyValue(name));
    if (each.matches(".hit")) to[k].classList.add("gone");
    for (const name of ["tabindex", "role", "aria-keyshortcuts"]) to[k].removeAttribute(name);
  });
  for (const each of made.querySelectorAll(".gone")) each.remove();
  const canvas = app.root.querySelector("canvas.shade"), paper = getComputedStyle(drawing.parentElement).backgroundColor;
  const shade = canvas.hidden ? [] : [svg("image", { href: canvas.toDataURL(), width: size, height: size })];
  made.prepend(svg("rect", { width: size, height: size, fill: paper }), ...shade);
  for (const name of ["class", "tabindex", "role", "aria-description"]) made.removeAttribute(name);
  return set(made, { width: size, height: size });
}

async function savePicture(app, kind) {
  const picture = pictureOf(app), size = Number(picture.getAttribute("width"));
  let address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(picture))}`;
  if (kind === "png") {
    const image = new Image(), canvas = html("canvas", { width: SHARP * size, height: SHARP * size });
    image.src = address;
    await image.decode();
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    address = canvas.toDataURL("image/png");
  }
  html("a", { href: address, download: `${app.titled?.name ?? "qpsvm"}.${kind}` }).click();
}

// ---------------------------------------------------------------------------------------------------------------------
// Before an audience: large type, the plane and the certificate alone, and keys that go from one thing to try to the next.

function present(app, on) {
  app.root.toggleAttribute("data-present", on);
  for (const view of app.views) view.presented?.(on);
  if (!app.address) return;
  const { pathname, hash } = location;
  history.replaceState(null, "", `${pathname}${on ? "?present" : ""}${hash}`);
}

function lectureView(app) {
  const stops = app.catalogue.scenes.flatMap((scene) => ["", ...scene.try].map((words) => ({ scene, words })));
  const title = html("b"), words = html("span"), count = html("span", { class: "quiet" });
  const go = (by) => {
    const next = stops[clamp(at + by, 0, stops.length - 1)];
    at = stops.indexOf(next);
    if (next.scene.name !== app.scene) chooseScene(app, next.scene.name);
    write();
  };
  const button = (name, said, label, action) => html("button",
    { type: "button", "data-action": name, "aria-label": label, onclick: action }, said);
  const element = html("section", { class: "lecture", "aria-label": "what to try, one after the other", hidden: true },
    button("before", "←", "one back", () => go(-1)), html("p", null, title, words), count,
    button("after", "→", "one on", () => go(1)), button("leave", "Leave", "leave the presentation", () => present(app, false)));
  let at = 0;

  function write() {
    const { scene, words: said } = stops[at];
    title.textContent = scene.title;
    words.textContent = said;
    count.textContent = `${at + 1} / ${stops.length}`;
  }

  function presented(on) {
    element.hidden = !on;
    at = Math.max(0, stops.findIndex(({ scene }) => scene.name === app.scene));
    write();
  }

  app.root.ownerDocument.addEventListener("keydown", (event) => {
    if (!app.root.hasAttribute("data-present") || event.target.matches?.("input, select, [data-sample], [data-of]")) return;
    const by = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (event.key === "Escape") present(app, false);
    else if (by && !(event.key === " " && event.target.matches?.("button, summary"))) { event.preventDefault(); go(by); }
  }, { signal: app.stop.signal, capture: true });  // before the page around keeps keys to itself
  return { element, presented };
}

function openDialog(app, title, text, copied) {
  const dialog = html("dialog", { class: "dialog", "aria-label": title, onclose: () => dialog.remove() },
    html("h2", null, title),
    html("p", { class: "quiet", role: "status" }, copied ? "It is in the clipboard." : "Select it and copy."),
    html("pre", { tabindex: 0, "data-python": true }, text),
    html("form", { method: "dialog" }, html("button", { "data-action": "close" }, "Close")));
  app.root.append(dialog);
  dialog.showModal();
}

// ---------------------------------------------------------------------------------------------------------------------
// Certificate: the headline. Two values with the optimum between them, and how far apart they are.

function certificateView(app) {
  const badge = html("strong", { class: "badge", "data-figure": "status" }, "…"),
    sentence = html("p", { class: "sentence" }), note = html("p", { class: "note" });
  const fill = html("span", { class: "fill" }),
    bar = html("span", { class: "gapbar", role: "img", "aria-label": "relative gap, from 1e-16 to 1" }, fill);
  const names = [["primal", "primal value"], ["dual", "dual value"], ["gap", "relative gap"], ["width", "width"],
    ["counts", "kinds of samples"], ["accuracy", "correct"]];
  const figures = Object.fromEntries(names.map(([name]) => [name, html("dd", { "data-figure": name }, "–")]));
  const list = html("dl", { class: "figures" },
    ...names.map(([name, words]) => html("div", null, html("dt", { "data-name": name }, words), figures[name],
      name === "gap" && html("dd", { class: "beneath" }, bar))));
  const title = html("p", { class: "title" }), time = html("p", { class: "quiet time", "data-figure": "ms" });
  const element = html("section", { class: "certificate", "aria-label": "certificate" },
    html("div", { class: "verdict" }, badge, title, time), list, sentence, note);

  function failed({ error, hint }, { dragging }) {
    badge.textContent = { RequestError: "not possible", InfeasibleNuError: "ν too large" }[error.kind]
      ?? error.kind.replace(/Error$/, "").replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
    title.textContent = time.textContent = "";
    for (const figure of Object.values(figures)) figure.textContent = "–";
    bar.hidden = true;
    const elsewhere = !dragging && app.root.querySelector(`.complaint[data-field="${fieldOf(error)}"]`);
    const where = fieldOf(error) === DATA ? "The reason is shown below the plane." : "The reason is shown at the control.";
    sentence.replaceChildren(elsewhere ? where : error.sentence,
      ...(elsewhere ? [] : hints(app, hint)));
  }

  function draw(answer, asked) {
    badge.dataset.status = answer.error ? "error" : answer.status;
    if (answer.error) return failed(answer, asked);
    badge.textContent = answer.status.replaceAll("_", " ");
    title.textContent = asked.whose === "yours" ? "α as you hold it" : asked.whose ? asked.whose : answer.title;
    const values = { primal: shown(answer.primal, 6), dual: shown(answer.dual, 6), gap: shownGap(answer.gap),
      width: shown(answer.width, 5),
      accuracy: answer.accuracy === null ? "–" : `${shown(100 * answer.accuracy, 3)} %` };
    time.textContent = `${shown(answer.ms, 3)} ms`;
    for (const [name, text] of Object.entries(values)) figures[name].textContent = text;
    figures.counts.replaceChildren(...answer.counts.map((count, kind) => html("span",
      { class: "count", "data-kind": kind, title: machineOf(app).kinds[kind] }, String(count))));
    bar.hidden = false;
    const full = answer.gap > 0 ? clamp(1 + Math.log10(Math.min(answer.gap, 1)) / 16, 0.004, 1) : answer.gap === null
      ? 1 : 0.004;
    fill.style.width = `${100 * full}%`;
    fill.classList.toggle("wide", !(answer.gap <= answer.tol));
    sentence.textContent = [answer.sentence, answer.message].filter(Boolean).join(" ");
  }

  function change() {
    note.textContent = app.notice;
    for (const [name, words] of [["width", "width"], ["accuracy", "correct"]]) {
      list.querySelector(`[data-name=${name}]`).textContent = machineOf(app)[words];
    }
  }

  return { element, draw, change };
}

/** What is written where an address names a machine that nobody knows. */
const UNKNOWN = { parameters: [], bound: "C", share: "α / C", against: "α / C", level: "1", eta: "η", learnt: "labels",
  sides: 1, tube: false, kinds: ["non-support vector", "on the margin", "at the bound"], value: "y f", path: "", letters: [],
  width: "width 2/‖w‖", correct: "correct", balance: "yᵀα" };

/** The machine that is chosen, as the catalogue has it: what it learns, and how its letters are written. */
function machineOf({ catalogue, state }) {
  const machine = catalogue.machines.find(({ name }) => name === state.machine) ?? UNKNOWN;
  return (state.parameters.loss === "squared" && machine.squared) || machine;
}

/** The field of what machine and samples are together responsible for: said below the plane, where it moves nothing. */
const DATA = "machine";

const fieldOf = (error) => (error.field ?? "").split(".").pop();

/** A button for what would work. */
function hints(app, hint) {
  return Object.entries(hint ?? {}).map(([name, value]) => html("button",
    { type: "button", class: "hint", "data-hint": name,
    onclick: () => app.edit((state) => applyHint(state, name, value)) },
    `Use ${wordsOf(app, name, value)}`));
}

function wordsOf({ catalogue }, name, value) {
  const choices = { machine: catalogue.machines, kernel: catalogue.kernels }[name];
  if (choices) return choices.find((each) => each.name === value)?.title ?? value;
  const parameters = [...catalogue.machines, ...catalogue.kernels].flatMap((each) => each.parameters);
  const symbol = parameters.find((each) => each.name === name)?.symbol ?? name;
  return `${symbol} = ${typeof value === "number" ? shown(value, 4) : value}`;
}

function applyHint(state, name, value) {
  if (name === "machine") Object.assign(state, { machine: value, parameters: {} });
  else if (name === "kernel") state.kernel = { name: value };
  else if (name in state.parameters) state.parameters[name] = value;
  else state.kernel[name] = value;
}

// ---------------------------------------------------------------------------------------------------------------------
// Controls, as the catalogue lists them: scene, machine, kernel, and the parameters of both.

function controlsView(app) {
  const { catalogue } = app, options = (list) => list.map(({ name, title }) => html("option", { value: name }, title));
  const scene = html("select", { "data-control": "scene", onchange: () => chooseScene(app, scene.value) },
    html("option", { value: "" }, "your own"), ...options(catalogue.scenes));
  const machine = html("select", { "data-control": "machine",
    onchange: () => takeMachine(app, machine.value) }, ...options(catalogue.machines));
  const kernel = html("select", { "data-control": "kernel",
    onchange: () => app.edit((state) => chooseKernel(app, state, kernel.value)) }, ...options(catalogue.kernels));
  const formula = html("p", { class: "formula" }), parameters = html("div", { class: "parameters" }),
    lines = html("ul", { class: "try", "aria-label": "what to try" });
  const axes = html("div", { class: "axes" }),
    complaint = html("p", { class: "complaint", role: "alert", "data-field": "kernel" });
  const field = (words, control) => html("label", { class: "field" }, html("span", null, words), control);
  const element = html("section", { class: "controls card", "aria-label": "machine and data" },
    html("div", { class: "choices" }, field("Scene", scene), field("Machine", machine), field("Kernel", kernel)),
      complaint, axes, parameters, formula);
  let made = "", rows = [];

  function change() {
    const { state } = app;
    scene.value = app.titled?.name ?? "";
    machine.value = state.machine;
    kernel.value = state.kernel.name;
    const ofMachine = machineOf(app).parameters,
      chosen = catalogue.kernels.find(({ name }) => name === state.kernel.name);
    formula.replaceChildren(...(chosen?.parameters.length ? scripted(`K(x, z) = ${chosen.formula}`) : []));
    const d = state.points[0]?.length ?? 2, key = `${state.machine} ${state.kernel.name} ${d} ${app.scene === null}`;
    if (key !== made) {
      made = key;
      rows = [...ofMachine.map((each) => parameterRow(app, each, "parameters")),
        ...(chosen?.parameters ?? []).map((each) => parameterRow(app, each, "kernel"))];
      parameters.replaceChildren(...rows.map((row) => row.element));
      axes.replaceChildren(...axesChoice(app));
    }
    for (const row of rows) row.change();
    axes.querySelectorAll("select").forEach((select, k) => { select.selectedIndex = state.axes[k]; });
    lines.replaceChildren(...(app.titled?.try ?? []).map((line) => html("li", null, line)));
    const tall = rows.length + (d > 2 ? 2 : 0) + (app.titled ? 2.5 : 0);  // in rows, for which the plane leaves room
    app.root.style.setProperty("--rows", tall);
  }

  function draw(answer, { dragging }) {
    if (dragging) return;  // nothing moves under the pointer: meanwhile the plane says it
    for (const place of element.querySelectorAll(".complaint")) {
      const mine = answer.error && place.dataset.field === fieldOf(answer.error);
      place.replaceChildren(...(mine ? [answer.error.sentence, ...hints(app, answer.hint)] : []));
    }
  }

  return { element, lines, change, draw };
}

function chooseScene(app, name) {
  const scene = app.catalogue.scenes.find((each) => each.name === name);
  if (scene) app.replace(copy(scene.state), scene.name);
}

/** A value for every parameter: what is held, else the default. */
function defaults(parameters, held) {
  return Object.fromEntries(parameters.map(({ name, default: value }) => [name, held[name] ?? value]));
}

/** Take another machine; where it learns something else, the plane is fitted anew. */
function takeMachine(app, name) {
  const chosen = app.catalogue.machines.find((each) => each.name === name);
  const other = chosen.learnt !== machineOf(app).learnt;
  if (other) app.release();  // its α are not as many
  app.edit((state) => chooseMachine(app, state, name));
  if (!other) return;
  app.fit();
  app.changed();
}

function chooseMachine(app, state, name) {
  const { parameters, learnt } = app.catalogue.machines.find((each) => each.name === name);
  Object.assign(state, { machine: name, parameters: defaults(parameters, state.parameters) });
  const last = (state.points[0]?.length ?? 2) - 1;  // the target of a regression, which stands upwards
  if (learnt === "numbers" && state.axes[1] !== last) state.axes = [state.axes[0] === last ? 0 : state.axes[0], last];
}

function chooseKernel(app, state, name) {
  state.kernel = { name, ...defaults(app.catalogue.kernels.find((each) => each.name === name).parameters, {}) };
}

/** Which two of more features the plane shows. */
function axesChoice(app) {
  const d = app.state.points[0]?.length ?? 2;
  const target = machineOf(app).learnt === "numbers";
  if (d <= 2) return [];
  const choose = (k, feature) => {
    app.edit((state) => turn(state, k, feature));
    app.fit();
    app.changed();
  };
  return (target ? ["Across"] : ["Across", "Upwards"]).map((words, k) => {
    const options = Array.from({ length: target ? d - 1 : d }, (_, i) =>
      html("option", { value: i }, featureName(app, i)));
    const select = html("select", { "data-control": `axis-${k}`, onchange: () => choose(k, select.selectedIndex) },
      ...options);
    return html("label", { class: "field" }, html("span", null, words), select);
  });
}

/** The plane's axis k shows another feature; if the other axis shows that, they change places. */
function turn(state, k, feature) {
  if (state.axes[1 - k] === feature) state.axes[1 - k] = state.axes[k];
  state.axes[k] = feature;
}

function featureName(app, i) {
  const named = app.names.features?.[i], d = app.state.points[0]?.length ?? 2;
  if (named || machineOf(app).learnt !== "numbers") return named ?? `x${numeral(i + 1)}`;
  return i === d - 1 ? "t" : d === 2 ? "x" : `x${numeral(i + 1)}`;
}

/** One parameter: a slider and a number, or a choice. `where` is the part of the state that holds it. */
function parameterRow(app, { name, symbol, scale, low, high, step, choices, default: start }, where) {
  const held = () => app.state[where][name] ?? start, words = `${symbol}${symbol === name ? "" : `, ${name}`}`;
  const complaint = html("p", { class: "complaint", role: "alert", "data-field": name });
  if (scale === "choice") {
    const select = html("select", { "data-parameter": name, "aria-label": words,
      onchange: () => app.edit((state) => { state[where][name] = choices[select.selectedIndex]; }) },
      ...choices.map((each) => html("option", null, String(each))));
    return { element: html("div", { class: "parameter choice" },
      html("label", { class: "field" }, html("span", null, words), select), complaint),
      change: () => { select.selectedIndex = choices.indexOf(held()); } };
  }
  const into = scale === "log" ? Math.log10 : Number,
    out = scale === "log" ? (v) => Number((10 ** v).toPrecision(3)) : (v) => Number(v.toPrecision(4));
  const put = (value, remember) => app.edit((state) => { state[where][name] = value; }, { remember });
  const slider = html("input", { type: "range", "data-slider": name, "aria-label": words, min: into(low),
    max: into(high), step: step ?? (scale === "log" ? 0.01 : (high - low) / 200) });
  const number = html("input", { type: "number", "data-parameter": name, "aria-label": words, step: "any",
    inputmode: "decimal" });
  slider.addEventListener("input", () => { if (!app.dragging) app.drag(true); put(out(Number(slider.value)), false); });
  slider.addEventListener("change", () => app.drag(false));
  number.addEventListener("change", () => {
    if (Number.isFinite(number.valueAsNumber)) put(number.valueAsNumber, true);
    else complaint.textContent = `${symbol} is a number, such as ${start}.`;
  });
  const change = () => {
    slider.value = into(held());
    slider.setAttribute("aria-valuetext", String(held()));
    if (number.valueAsNumber !== held()) number.value = Number(Number(held()).toPrecision(6));
  };
  const element = html("div", { class: "parameter" }, html("span", { class: "symbol" }, symbol), slider, number,
    complaint);
  return { element, change };
}

// ---------------------------------------------------------------------------------------------------------------------
// Contours: marching squares over the grid of f that the library sends.

/** The level set of a grid (n × n, row by row from the bottom) as one path in a square of `size` pixels. */
export function contour(values, n, level, size) {
  const step = size / (n - 1), links = new Map(), places = new Map();
  const join = (p, q) => { for (const [a, b] of [[p, q], [q, p]]) links.set(a, [...(links.get(a) ?? []), b]); };
  for (let j = 0; j < n - 1; j++) {
    for (let i = 0; i < n - 1; i++) {
      const ends = crossings(values, n, level, i, j);
      for (const [edge, x, y] of ends) places.set(edge, `${(x * step).toFixed(1)} ${(size - y * step).toFixed(1)}`);
      for (let k = 0; k + 1 < ends.length; k += 2) join(ends[k][0], ends[k + 1][0]);
    }
  }
  return strokes(links).map((edges) => `M${edges.map((edge) => places.get(edge)).join("L")}`).join("");
}

/** Where a level crosses the four edges of a cell: the edge's number in the whole grid, and the place. */
function crossings(values, n, level, i, j) {
  const at = j * n + i, found = [];
  const corners = [at, at + 1, at + n + 1, at + n].map((k) => values[k] - level);
  for (let edge = 0; edge < 4; edge++) {
    const a = corners[edge], b = corners[(edge + 1) % 4];
    if (a < 0 === b < 0) continue;
    const t = a / (a - b);
    const ways = [[2 * at, i + t, j], [2 * at + 3, i + 1, j + t], [2 * (at + n), i + 1 - t, j + 1],
      [2 * at + 1, i, j + 1 - t]];
    found.push(ways[edge]);
  }
  return found;
}

/** Links between edges as strokes from end to end, so that dashes run on: open ones first, then what is closed. */
function strokes(links) {
  const found = [];
  for (const open of [true, false]) {
    for (const [start, near] of links) {
      if (!near.length || (open && near.length !== 1)) continue;
      const stroke = [start];
      for (let here = start, next; (next = links.get(here).pop()) !== undefined; here = next) {
        const back = links.get(next);
        back.splice(back.indexOf(here), 1);
        stroke.push(next);
      }
      found.push(stroke);
    }
  }
  return found;
}

/** Colour the sides of the boundary, deeper outside the margin, on a canvas of one pixel a point of the grid. */
function shade(canvas, values, n, rho) {
  set(canvas, { width: n, height: n });
  const context = canvas.getContext("2d"), image = context.createImageData(n, n),
    level = rho || Math.max(...values.map(Math.abs)) || 1;
  for (let j = 0; j < n; j++) {
    for (let i = 0; i < n; i++) {
      const f = values[j * n + i], at = 4 * ((n - 1 - j) * n + i);
      const [r, g, b] = f > 0 ? HUES[1] : HUES[-1];
      image.data.set([r, g, b, f && 10 + 34 * Math.min(1, Math.abs(f) / level)], at);
    }
  }
  context.putImageData(image, 0, 0);
}

// ---------------------------------------------------------------------------------------------------------------------
// The plane: samples that are dragged, and what the machine makes of them.

function planeView(app) {
  const canvas = html("canvas", { class: "shade", "aria-hidden": "true" });
  const names = ["axes", "hulls", "band", "lines", "contours", "closest", "samples", "proof"];
  const groups = Object.fromEntries(names.map((name) => [name, svg("g", { class: name })]));
  const lines = ["minus", "zero", "plus"].map((name) => svg("path", { class: `line ${name}`, "data-level": name }));
  const gone = svg("path", { class: "line gone", "data-level": "gone" });
  groups.lines.append(...lines, gone);
  const drawing = svg("svg", { class: "plane", role: "group", "aria-label": "the plane: samples and decision boundary",
    tabindex: 0 }, ...Object.values(groups));
  const chip = html("div", { class: "chip", hidden: true });
  const trouble = html("p", { class: "complaint", role: "alert", "data-field": DATA });
  const first = html("p", { class: "first", "aria-hidden": "true" }, "Drag a point");
  const frame = html("div", { class: "frame" }, canvas, drawing, first, chip), why = html("p", { class: "quiet why" });
  const legend = html("p", { class: "legend" }), tools = planeTools(app);
  const past = () => app.root.querySelector(".panel > summary").focus();
  const skip = html("button", { type: "button", class: "skip", "data-action": "skip", onclick: past },
    "Skip the samples");
  const element = html("section", { class: "planecard card", "aria-label": "plane" }, tools.element, skip, frame,
    trouble, legend, why);
  const view = { element, part: "plane", size: 0, plane: null, open: () => true, visible: () => seen, place, draw,
    change, held, removed: redraw };
  let seen = true, written = "";

  /** Words and tools that change with the machine. */
  function rewrite() {
    const drawn = drawnIn(app, view.plane), key = JSON.stringify([app.state.machine, app.state.parameters.loss, drawn]);
    if (key === written) return;
    written = key;
    legend.replaceChildren(...legendOf(app, drawn, () => { view.change(); app.writeLater(); }));
    writeNames(app, element);
    tools.change();
    set(drawing, { "aria-description": keysOf(app), "aria-label": PLANES[machineOf(app).learnt] });
  }

  /** From the plane's coordinates to pixels of the drawing, and from a pointer back. */
  function place([x, y]) {
    const [x0, x1, y0, y1] = app.box;
    return [((x - x0) / (x1 - x0)) * view.size, ((y1 - y) / (y1 - y0)) * view.size];
  }

  function back(event) {
    const [x0, x1, y0, y1] = app.box, r = drawing.getBoundingClientRect();
    const across = (event.clientX - r.left) / view.size, down = (event.clientY - r.top) / view.size;
    return [x0 + across * (x1 - x0), y1 - down * (y1 - y0)];
  }

  function change() {
    while (groups.samples.childElementCount > app.state.points.length) groups.samples.lastChild.remove();
    const n = app.state.points.length;
    for (let i = groups.samples.childElementCount; i < n; i++) groups.samples.append(newSample(i));
    rewrite();
    writeNames(app, element);
    const [p, q] = app.state.axes;
    const { children } = groups.samples, { points } = app.state;
    points.forEach((point, i) => placeSample(children[i], place([point[p], point[q]]), app.state.labels[i],
      markOf(app, i)));
    groups.samples.toggleAttribute("data-alike", machineOf(app).learnt !== "labels");
    invite();
    if (app.dragging && view.plane) return;  // the boundary follows with the answer
    drawAxes(groups.axes, app, view);
    redraw();
  }

  function draw(answer, asked) {
    if (answer.plane || answer.error) view.plane = answer.plane ?? null;
    view.samples = answer.samples;
    const mine = answer.error && (asked.dragging || fieldOf(answer.error) === DATA);
    const buttons = mine && !asked.dragging ? hints(app, answer.hint) : [];
    trouble.replaceChildren(mine ? answer.error.sentence : "", ...buttons);
    sizeSamples(app, groups.samples.children, view, answer, asked);
    redraw();
    rewrite();
    invite();
  }

  /** Draw what came for one box in the box of now: they differ only for the moment of a zoom. */
  function redraw() {
    const { plane } = view;
    const current = plane && same(plane.box, app.box);
    const f = current && plane.f?.[0] !== null ? plane.f : null;
    const traced = (level) => (f && level !== null ? contour(f, plane.n, level, view.size) : "");
    const curves = current && plane.curve ? [-plane.epsilon, 0, plane.epsilon].map((by) => curve(app, plane, place, by))
      : lines.map((_, k) => traced(plane?.levels[k] ?? null));
    lines.forEach((line, k) => set(line, { d: curves[k] }));
    set(gone, { d: removedLine() });
    drawBand(app, groups.band, current ? plane : null, place);
    groups.contours.replaceChildren(...(app.layers.contours && f ? plane.contours ?? [] : []).map((level) => svg("path",
      { class: "line contour", d: traced(level) })));
    canvas.hidden = !(f && app.layers.shading);
    if (!canvas.hidden) shade(canvas, f, plane.n, plane.levels[2] ?? plane.contours?.at(-1));
    drawHulls(app, groups, plane, place);
    groups.closest.append(...residuals(app, view.samples, current ? plane : null, place), ...ballOf(plane, place));
    why.textContent = (app.layers.hulls && plane?.missing) || "";
  }

  /** The boundary, or f, of the machine without a sample. */
  function removedLine() {
    const other = app.removed?.plane;
    if (!other || !same(other.box, app.box)) return "";
    if (other.curve) return curve(app, other, place, 0);
    return other.f[0] === null ? "" : contour(other.f, other.n, 0, view.size);
  }

  /** One thing to do first: the hint stands beside a sample that holds the margin, until something was moved. */
  function invite() {
    first.hidden = app.past.length > 0 || Boolean(app.alpha) || !view.samples?.kind?.length;
    if (first.hidden) return;
    const room = 150, places = app.state.points.map((_, i) => place(placeOf(app, i)));
    const outwards = (x) => (x < view.size / 2 ? x > room : view.size - x > room);
    const held = places.filter((_, i) => view.samples.kind[i] === 1);
    const [x, y] = held.find(([x]) => outwards(x)) ?? held[0] ?? places[0];
    first.classList.toggle("before", (x < view.size / 2) === outwards(x));
    first.style.left = `${x.toFixed(0)}px`;
    first.style.top = `${y.toFixed(0)}px`;
  }

  function held() {
    chip.hidden = !app.alpha;
    chip.replaceChildren(html("span", null, app.whose === "yours" ? "your α" : app.whose ?? ""),
      html("button", { type: "button", "data-action": "back", onclick: () => { app.release(); app.refresh(); } },
        "back to the solution"));
  }

  sized(app, frame, (size) => {
    view.size = size;
    set(drawing, { viewBox: `0 0 ${size} ${size}` });
    change();
  }, (is) => { seen = is; });
  pointers(app, drawing, back);
  keys(app, drawing);
  return view;
}

/** f + by of a regression over the horizontal axis, as one path; points beyond sight are left where they are. */
function curve(app, { curve: f, box: [x0, x1] }, place, by) {
  if (f.some((value) => value === null)) return "";
  const step = (x1 - x0) / (f.length - 1);
  const at = (k) => place([x0 + step * k, f[k] + by]).map((v) => clamp(v, -1e6, 1e6).toFixed(1));
  return `M${f.map((_, k) => at(k).join(" ")).join("L")}`;
}

/** The tube of a regression as an area. */
function drawBand(app, group, plane, place) {
  const shown = app.layers.shading && plane?.curve && plane.epsilon > 0;
  const [low, high] = shown ? [-plane.epsilon, plane.epsilon].map((by) => curve(app, plane, place, by)) : ["", ""];
  const back = high.slice(1).split("L").reverse().join("L");
  group.replaceChildren(...(low ? [svg("path", { class: "band", d: `${low}L${back}Z` })] : []));
}

/** What each sample is paid for: from the sample to the nearer edge of the tube. */
function residuals(app, samples, plane, place) {
  if (!app.layers.residuals || !plane?.curve || !samples?.f) return [];
  const [p, q] = app.state.axes;
  return app.state.points.map((point, i) => {
    const apart = point[q] - samples.f[i], edge = samples.f[i] + Math.sign(apart) * plane.epsilon;
    const paid = Math.abs(apart) > plane.epsilon;
    const [x, y] = place([point[p], point[q]]), [, to] = place([point[p], edge]);
    return svg("path", { class: "paid", "data-paid": i, d: paid ? `M${x} ${y}V${clamp(to, -1e6, 1e6)}` : "" });
  });
}

/** The ball of an SVDD: its circle, its centre, and its radius. */
function ballOf(plane, place) {
  if (!plane?.ball?.radius) return [];
  const { centre: [cx, cy], radius } = plane.ball;
  const [x, y] = place([cx, cy]), [right] = place([cx + radius, cy]), [, top] = place([cx, cy + radius]);
  return [svg("ellipse", { class: "ball", cx: x, cy: y, rx: right - x, ry: y - top }),
    svg("path", { class: "radius", d: `M${x} ${y}H${right}` }),
    svg("path", { class: "end", "data-centre": true, d: `M${x - 4} ${y}h8M${x} ${y - 4}v8` })];
}

/** Tell the width of a frame whenever it changes, and whether the frame is in sight. */
function sized(app, frame, resized, sighted) {
  let width = 0;
  const watch = new ResizeObserver(() => {
    const now = Math.round(frame.clientWidth);
    if (now && now !== width) resized(width = now);
  });
  const sight = new IntersectionObserver(([entry]) => sighted(entry.isIntersecting));
  watch.observe(frame);
  sight.observe(frame);
  app.stop.signal.addEventListener("abort", () => { watch.disconnect(); sight.disconnect(); });
}

/** Where the name of a class stands: `writeNames` writes it, as it changes with the scene. */
const nameOf = (label) => html("span", { "data-class": label });

function writeNames(app, place) {
  for (const span of place.querySelectorAll("[data-class]")) {
    span.textContent = app.className(Number(span.dataset.class));
  }
}

function planeTools(app) {
  const tools = [["move", ["Move"], "Drag samples; a double-click adds one."],
    ["plus", ["Add ● ", nameOf(1)], "a click adds a sample of this class"],
    ["minus", ["Add ▲ ", nameOf(-1)], "a click adds a sample of this class"],
    ["flip", ["Flip"], "a click on a sample changes its class (F)"],
    ["delete", ["Delete"], "a click on a sample deletes it (Delete)"]];
  const choose = (name) => {
    app.tool = name;
    app.root.dataset.tool = name;
    for (const button of buttons) button.setAttribute("aria-pressed", button.dataset.tool === name);
  };
  const buttons = tools.map(([name, words, title]) => html("button", { type: "button", "data-tool": name, title,
    "aria-pressed": String(name === app.tool), onclick: () => choose(name) }, ...words));
  const zoom = (name, words, label, action) => html("button",
    { type: "button", "data-action": name, title: label, "aria-label": label, onclick: action }, words);
  /** Without classes there is one mark to add, and nothing to flip. */
  function change() {
    const classes = machineOf(app).learnt === "labels";
    for (const button of buttons) {
      button.hidden = !classes && ["minus", "flip"].includes(button.dataset.tool);
      if (button.dataset.tool === "move") button.title = `Drag samples; a double-click adds one. ${keysOf(app)}`;
      if (button.dataset.tool === "plus") button.lastChild.hidden = !classes;
      if (button.hidden && app.tool === button.dataset.tool) choose("move");
    }
  }

  const element = html("div", { class: "tools", role: "toolbar", "aria-label": "what a click does" },
    html("span", { class: "segment" }, ...buttons), html("span", { class: "spring" }),
    html("span", { class: "segment" }, zoom("zoom-out", "−", "show more", () => app.zoom(1.25)),
      zoom("zoom-in", "+", "show less", () => app.zoom(0.8)),
      zoom("fit", "fit", "show every sample", () => { app.fit(); app.zoom(1); })));
  return { element, change };
}

/** What the plane is called to those who listen, and what its lines are, by what the machine learns. */
const PLANES = { labels: "the plane: samples and decision boundary", numbers: "the plane: samples and the curve f",
  none: "the plane: samples and the boundary of what is usual" };
const LINES = { labels: (level) => [["zero", "f = 0"], ["plus", `f = ±${level}`]],
  numbers: (_, tube) => [["zero", "f"], ...(tube ? [["plus", "f ± ε"]] : [])],
  none: () => [["zero", "f = 0"], ["contour", "f at other levels"]] };
const LAYERS = { labels: [["shading", "shading"], ["hulls", "hulls"]],
  numbers: [["shading", "tube"], ["residuals", "slack"]], none: [["shading", "shading"], ["contours", "levels"]] };

/** What is drawn beside samples and lines, by the names of the legend. */
function drawnIn(app, plane) {
  const hulls = (app.layers.hulls && plane?.hulls) || [], has = (name) => hulls.some((each) => each[name]?.length);
  return { full: has("full"), reduced: has("reduced"), closest: Boolean(app.layers.hulls && plane?.closest),
    meeting: Boolean(plane?.meeting), ball: Boolean(plane?.ball?.radius), paid: Boolean(app.layers.residuals && plane?.curve) };
}

function legendOf(app, drawn, redraw) {
  const layer = (name, words) => html("label", { class: "layer" },
    html("input", { type: "checkbox", "data-layer": name, checked: app.layers[name],
    onchange: (event) => { app.layers[name] = event.target.checked; redraw(); } }), words);
  const key = (wide, ...parts) => svg("svg", { class: wide ? "key wide" : "key", "aria-hidden": "true",
    viewBox: wide ? "0 0 26 16" : "-8 -8 16 16" }, ...parts);
  const mark = (d, kind, label = null) => key(false, svg("g", { "data-kind": kind, "data-label": label },
    svg("circle", { class: "bound", r: 7 }), svg("path", { class: "mark", d, transform: "scale(4.5)" })));
  const stroke = (name, d = "M1 8H25") => key(true, svg("path", { class: name, d }));
  const area = (name, label) => key(true, svg("path", { class: `hull ${name}`, "data-label": label, d: "M2 3H24V13H2Z" }));
  const entry = (sign, ...words) => html("span", null, sign, ...words);
  const { learnt, kinds, level, share, tube } = machineOf(app), { full, reduced, closest, meeting, ball, paid } = drawn;
  const classes = learnt === "labels" ? [[CIRCLE, 1], [TRIANGLE, -1]] : [];
  return [...classes.map(([d, label]) => entry(mark(d, 1, label), "class ", nameOf(label))),
    ...kinds.map((kind, k) => entry(mark(CIRCLE, k), kind)), html("span", { class: "quiet" }, `size: ${share}`),
    ...LINES[learnt](level, tube).map(([name, words]) => entry(stroke(`line ${name}`), words)),
    full && entry(area(reduced ? "full" : "full alone", 1), "hull of a class"),
    reduced && entry(area("reduced", 1), "reduced hull: shares are capped"),
    closest && entry(stroke("segment", "M4 4L22 12"), "nearest points"), meeting && entry(key(false,
      svg("path", { class: "meeting", d: STAR, transform: "scale(0.6)" })), "a point of both hulls"),
    ball && entry(stroke("ball"), "ball, centre and radius"), paid && entry(stroke("paid"), "slack"),
    html("span", { class: "spring" }),
    ...LAYERS[learnt].filter(([name]) => name !== "shading" || learnt !== "numbers" || tube)
      .map(([name, words]) => layer(name, words))].filter(Boolean);
}

/** The class whose hue a sample has; without classes all have one. */
const hueOf = (app, i) => (machineOf(app).learnt === "labels" ? app.state.labels[i] : 1);

/** The mark of a sample: of its class, where it has one. */
const markOf = (app, i) => (machineOf(app).learnt !== "labels" || app.state.labels[i] > 0 ? CIRCLE : TRIANGLE);

function newSample(i) {
  return svg("g", { class: "sample", "data-sample": i, tabindex: 0, role: "button", "aria-keyshortcuts": "F Delete +" },
    svg("circle", { class: "hit", r: 14 }), svg("circle", { class: "bound" }), svg("path", { class: "mark" }));
}

function placeSample(element, [x, y], label, d) {
  set(element, { transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})`, "data-label": label });
  set(element.lastChild, { d });
}

/** Size and colour from the answer, and the words for those who listen (at rest only: they are many). */
function sizeSamples(app, elements, view, { samples }, { dragging }) {
  for (let i = 0; i < elements.length; i++) {
    const share = samples?.share?.[i] ?? 0, kind = samples?.kind?.[i] ?? 0;
    set(elements[i], { "data-kind": kind, "data-alpha": samples?.alpha?.[i] ?? "" });
    const size = app.root.hasAttribute("data-present") ? 1.5 : view.size > 500 ? 1.25 : 1;
    const scale = size * (4.6 + 3.4 * Math.sqrt(clamp(share, 0, 1)));
    set(elements[i].lastChild, { transform: `scale(${scale.toFixed(2)})` });
    set(elements[i].children[1], { r: (scale + 3.5).toFixed(2) });
    if (!dragging) set(elements[i], { "aria-label": describe(app, i, samples) });
  }
}

function describe(app, i, samples) {
  const [p, q] = app.state.axes, point = app.state.points[i];
  const at = `${shown(point[p], 4)}, ${shown(point[q], 4)}`, machine = machineOf(app);
  const where = `${nameOfSample(app, i)}, at ${at}`;
  if (!samples?.alpha) return where;
  const kind = machine.kinds[samples.kind[i]], value = (samples.value ?? samples.yf)[i];
  const alpha = `${letterOf(machine)} = ${shown(samples.alpha[i], 4)}`;
  return `${where}; ${kind}, ${alpha}, ${machine.value} = ${shown(value, 4)}`;
}

/** What a sample's multiplier is called: of a regression it has a sign. */
const letterOf = ({ sides }) => (sides === 2 ? "β" : "α");

/** A sample in words, with its class where it has one. */
function nameOfSample(app, i) {
  return `sample ${i}${machineOf(app).learnt === "labels" ? `, class ${app.className(app.state.labels[i])}` : ""}`;
}

function drawAxes(group, app, { size, place }) {
  const [x0, x1, y0, y1] = app.box, [p, q] = app.state.axes;
  const across = ticks(x0, x1, 5).map((x) => svg("text",
    { x: clamp(place([x, y0])[0], 10, size - 10), y: size - 6, "text-anchor": "middle" }, shown(x, 4)));
  const upwards = ticks(y0, y1, 5).map((y) => [y, place([x0, y])[1]]).filter(([, at]) => at > 34 && at < size - 22);
  group.replaceChildren(...across, ...upwards.map(([y, at]) => svg("text", { x: 6, y: at + 4 }, shown(y, 4))),
    svg("text", { class: "axis", x: size - 8, y: size - 20, "text-anchor": "end" }, `${featureName(app, p)} →`),
    svg("text", { class: "axis", x: 6, y: 16 }, `↑ ${featureName(app, q)}`));
}

/** Convex hulls, what is left of them where no weight may exceed the cap, and the two points that are closest. */
function drawHulls(app, { hulls, closest, proof }, plane, place) {
  const outline = (points) => `M${points.map((point) => place(point).map((v) => v.toFixed(1)).join(" ")).join("L")}Z`;
  const hull = (name, label, points) => svg("path", { class: `hull ${name}`, "data-label": label, d: outline(points) });
  const shapes = (app.layers.hulls && plane?.hulls) || [];
  hulls.replaceChildren(...shapes.flatMap(({ label, full, reduced }) => [
    ...(full?.length ? [hull(reduced?.length ? "full" : "full alone", label, full)] : []),
    ...(reduced?.length ? [hull("reduced", label, reduced)] : [])]));
  const made = [];
  if (app.layers.hulls && plane?.closest) {
    const ends = plane.closest.map(place);
    made.push(svg("path", { class: "segment", d: `M${ends[0].join(" ")}L${ends[1].join(" ")}` }),
      ...ends.map(([x, y]) => svg("path", { class: "end", d: `M${x - 4} ${y}h8M${x} ${y - 4}v8` })));
  }
  const [x, y] = plane?.meeting ? place(plane.meeting) : [];
  proof.replaceChildren(...(plane?.meeting
    ? [svg("path", { class: "meeting", "data-meeting": true, d: STAR, transform: `translate(${x} ${y})` }),
      svg("text", { class: "meetingtext", x: x + 14, y: y - 10 }, "in both hulls")] : []));
  closest.replaceChildren(...made);
}

/** Mouse, pen and touch: what is pressed is held until it is let go. */
function pointers(app, drawing, at) {
  let held = null, moved = false;
  drawing.addEventListener("pointerdown", (event) => {
    const i = nearest(drawing, event);
    if (event.button !== 0 || i === null || app.tool !== "move") return;
    held = i;
    moved = false;
    app.select(i);
    drawing.setPointerCapture(event.pointerId);
  });
  drawing.addEventListener("pointermove", (event) => {
    if (held === null) return;
    if (!moved) { moved = true; app.drag(true); app.hover(held); app.root.dataset.dragging = "true"; }
    const [x, y] = at(event), [x0, x1, y0, y1] = app.box;
    app.move(held, clamp(x, x0, x1), clamp(y, y0, y1));
  });
  keepStill(drawing, (target) => app.tool === "move" && indexOf(target) !== null);
  const release = () => {
    if (held !== null && moved) { delete app.root.dataset.dragging; app.drag(false); }
    held = null;
  };
  drawing.addEventListener("pointerup", release);
  drawing.addEventListener("pointercancel", release);
  drawing.addEventListener("click", (event) => {
    const i = nearest(drawing, event);
    if (i !== null && app.tool === "flip") app.flip(i);
    else if (i !== null && app.tool === "delete") app.remove(i);
    else if (i === null && app.tool === "plus") app.add(...at(event), 1);
    else if (i === null && app.tool === "minus") app.add(...at(event), -1);
  });
  drawing.addEventListener("dblclick", (event) => {
    if (indexOf(event.target) === null && app.tool === "move") app.add(...at(event), lastLabel(app));
  });
}

/** The sample whose middle is nearest, of those whose areas for a finger lie over each other here. */
function nearest(drawing, { clientX, clientY }) {
  const far = (g) => {
    const { left, top, width, height } = g.firstChild.getBoundingClientRect();
    return Math.hypot(left + width / 2 - clientX, top + height / 2 - clientY);
  };
  const under = drawing.getRootNode().elementsFromPoint(clientX, clientY).map((each) => each.closest("[data-sample]"));
  const here = under.filter((g) => g && drawing.contains(g));
  return here.length ? Number(here.reduce((a, b) => (far(b) < far(a) ? b : a)).dataset.sample) : null;
}

/** A finger on what is dragged does not scroll the page: browsers differ in how touch-action reaches into an SVG. */
function keepStill(drawing, dragged) {
  drawing.addEventListener("touchstart", (event) => {
    if (event.touches.length === 1 && dragged(event.target)) event.preventDefault();
  }, { passive: false });
}

/** The class of the sample that was touched last. */
const lastLabel = (app) => app.state.labels[app.selected] ?? 1;

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Keys at a sample: arrows move it (with shift further), F flips it, Delete deletes it, + adds one beside it. */
function keys(app, drawing) {
  let still = 0;

  function nudge(i, [right, up], far) {
    const [x0, x1, y0, y1] = app.box, [x, y] = placeOf(app, i), step = far ? 0.05 : 0.005;
    if (!app.dragging) app.drag(true);
    clearTimeout(still);
    still = setTimeout(() => app.drag(false), 250);
    app.move(i, clamp(x + right * step * (x1 - x0), x0, x1), clamp(y + up * step * (y1 - y0), y0, y1));
  }

  function act(i, { key, shiftKey }) {
    if (key in ARROWS) nudge(i, ARROWS[key], shiftKey);
    else if (key.toLowerCase() === "f") app.flip(i);
    else if (key === "Delete" || key === "Backspace") {
      app.remove(i);
      drawing.querySelector(`[data-sample="${app.selected}"]`)?.focus();
    } else return key === "Enter" || key === " ";
    return true;
  }

  drawing.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const i = indexOf(event.target), [x0, x1] = app.box, [x, y] = placeOf(app, i);
    if (event.key === "+") app.add(i === null ? x : x + (x1 - x0) / 25, y, app.state.labels[i] ?? lastLabel(app));
    else if (i === null || !act(i, event)) return;
    event.preventDefault();
  });
}

/** Where a sample is in the plane; the middle of what is shown for none. */
function placeOf({ state, box: [x0, x1, y0, y1] }, i) {
  return i === null ? [(x0 + x1) / 2, (y0 + y1) / 2] : state.axes.map((axis) => state.points[i][axis]);
}

// ---------------------------------------------------------------------------------------------------------------------
// Complementarity: at the optimum every sample stands on one path of three straight pieces.

const pathInWords = ({ path }) => `At an optimum every sample is on the blue path: ${path}.`;

function complementarityView(app) {
  const stairs = svg("path", { class: "stairs" }), zero = svg("path", { class: "zero" }),
    words = svg("g", { class: "words" }), dots = svg("g", { class: "dots" });
  const drawing = svg("svg", { class: "pair", role: "img",
    "aria-label": "complementarity: every sample, and the path on which the optimum lies" },
    zero, stairs, words, dots);
  const path = html("p", { class: "quiet" });
  const base = panel(app, "complementarity", "Complementarity", null, [drawing, path]);
  const frame = { width: 320, height: 270, left: 40, right: 14, top: 12, bottom: 34 };
  let scale = null, drawn = "";
  set(drawing, { viewBox: `0 0 ${frame.width} ${frame.height}` });

  function draw({ samples, pair, error }) {
    const { machine, parameters } = app.state, shape = `${machine} ${parameters.loss}`;
    drawing.classList.toggle("stale", Boolean(error));
    if (error) {
      if (shape !== drawn) { set(stairs, { d: "" }); set(zero, { d: "" }); words.replaceChildren(); }  // another's path
      return dots.replaceChildren();
    }
    drawn = shape;
    const values = samples.value ?? samples.yf, shares = samples.signed ?? samples.share;
    scale = scaleOf(values, pair, frame);
    const { x, y } = scale, ends = { top: frame.top, bottom: frame.height - frame.bottom };
    set(stairs, { d: `M${pair.path.map(([share, at]) => `${x(share)} ${ends[at] ?? y(at)}`).join("L")}` });
    set(zero, { d: scale.low < 0 ? `M${x(pair.low)} ${y(0)}H${x(1)}` : "" });
    words.replaceChildren(...pairWords(scale, frame, machineOf(app)));
    while (dots.childElementCount > samples.share.length) dots.lastChild.remove();
    for (let i = dots.childElementCount; i < samples.share.length; i++) {
      dots.append(svg("g", { class: "dot", "data-of": i }, svg("circle", { class: "hit", r: 12 }),
        svg("circle", { class: "bound", r: 7.5 }), svg("path", { class: "mark" })));
    }
    shares.forEach((share, i) => {
      set(dots.children[i], { transform: `translate(${x(share).toFixed(1)} ${y(values[i]).toFixed(1)})`,
        "data-kind": samples.kind[i], "data-label": hueOf(app, i) });
      set(dots.children[i].lastChild, { d: markOf(app, i), transform: "scale(5)" });
    });
  }

  pull(app, drawing, (event, { left, width }) => {
    const across = ((event.clientX - left) / width) * frame.width - frame.left;
    return scale.least + (across / (frame.width - frame.left - frame.right)) * (1 - scale.least);
  }, (i) => Math.max(maxMultiplier(app, i), maxMultiplier(app, i, -1)));
  return { ...base, draw, change: () => { path.textContent = pathInWords(machineOf(app)); } };
}

/** Ticks and names of the two axes. */
function pairWords({ x, y, low, high, least }, { left, height }, { against, value }) {
  const middle = { "text-anchor": "middle" };
  return [...ticks(low, high, 5).filter((v) => y(v) > 24).map((v) => svg("text",
    { x: left - 12, y: y(v) + 4, "text-anchor": "end" }, shown(v, 3))),
  ...[least, (least + 1) / 2, 1].map((v) => svg("text", { x: x(v), y: height - 18, ...middle }, shown(v))),
  svg("text", { class: "axis", x: x((least + 1) / 2), y: height - 3, ...middle }, against),
  svg("text", { class: "axis", x: 3, y: 14 }, value)];
}

/** Scales of the picture: all values, and the path; shares from 0 to 1, or from −1 of a regression. */
function scaleOf(values, { path, low: from }, { width, height, left, right, top, bottom }) {
  const levels = path.map(([, at]) => at).filter((at) => typeof at === "number");
  const least = Math.min(...values, ...levels, 0), most = Math.max(...values, ...levels);
  const room = 0.08 * (most - least) || 1;
  const low = least - room, high = most + room;
  const across = (width - left - right) / (1 - from);
  return { low, high, least: from, x: (share) => left + (clamp(share, from, 1) - from) * across,
    y: (v) => height - bottom - ((v - low) / (high - low)) * (height - top - bottom) };
}

// Two samples move together, as in sequential minimal optimisation: so the balance is kept. What a unit of the balance is
// worth at a sample is the slope of D there.

/** The sign with which a sample is part of the balance. */
const signOf = (app, i) => (machineOf(app).learnt === "labels" ? app.state.labels[i] : 1);

/** Whether α is bound by a balance that pairs can keep. */
const isBalanced = (app) => machineOf(app).sides === 1 && (app.state.parameters.intercept ?? "free") === "free";

/** Samples with what a unit of the balance is worth there, and whether their α can move by so many. */
function worths(app) {
  const { samples } = app.answer ?? {}, { points, machine } = app.state;
  return points.map((_, k) => {
    const sign = signOf(app, k), most = samples?.upper?.[k] ?? Infinity;
    const can = (by) => (sign * by > 0 ? app.alpha[k] < most : app.alpha[k] > 0);
    return { k, group: machine === "nu" ? sign : 0, worth: sign * (samples?.slope?.[k] ?? 0), grows: can(1), falls: can(-1) };
  });
}

/** The partner with which D grows most as α of sample i moves in a direction. */
function partnerOf(app, i, direction) {
  const every = worths(app), up = direction * signOf(app, i) > 0, own = every[i].group;
  const able = every.filter((each) => each.k !== i && each.group === own && (up ? each.falls : each.grows));
  if (!able.length) return null;
  return able.reduce((a, b) => ((up ? b.worth < a.worth : b.worth > a.worth) ? b : a)).k;
}

/** Moves and challenge in words, with what a solver would have chosen, once the move is made. */
function movesInWords(app, { gap }) {
  const { moves, moving } = app, least = Math.min(gap ?? 1, 1);
  const told = least < LEAST ? shownGap(least) : `${shown(100 * least, 3)} %`;
  if (!moves) return "Challenge: from α = 0, bring the gap below 1 % in ten moves.";
  const done = least < 0.01 ? (moves <= 10 ? " Challenge met, certified." : " Below 1 %, but not in ten moves.") : "";
  const { mate, best, i } = moving ?? {}, pair = best?.rows.map((row) => row % app.state.points.length) ?? [];
  const with_ = mate === null || mate === undefined ? "alone" : `with sample ${mate}`;
  const made = [i, mate].filter((each) => each !== null), other = pair.some((each) => !made.includes(each));
  const chosen = !best ? "" : other || pair.length !== made.length
    ? ` A solver would have taken sample${pair.length === 1 ? ` ${pair[0]}` : `s ${pair.join(" and ")}`}.`
    : " A solver would have taken the same.";
  return `Move ${moves}, sample ${i} ${with_}: the gap is ${told}.${done}${app.dragging ? "" : chosen}`;
}

/** Drag α where the user is the solver: `share` reads the share of C off a pointer, `whole` is what all of it is. */
function pull(app, drawing, share, whole = null) {
  let held = null, full = [1, 1], where = null;
  drawing.addEventListener("pointerdown", (event) => {
    const of = event.target.closest("[data-of]");
    if (!of) return;
    where = drawing.getBoundingClientRect();  // now: sentences above may grow by a line while α is dragged
    app.select(Number(of.dataset.of));
    if (app.whose !== "yours" || event.button !== 0) return;
    held = Number(of.dataset.of);
    full = [1, -1].map((side) => (whole ? whole(held) : maxMultiplier(app, held, side)));
    app.dragging = true;
    drawing.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  keepStill(drawing, (target) => app.whose === "yours" && target.closest("[data-of]"));
  drawing.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const part = clamp(share(event, where), machineOf(app).sides === 2 ? -1 : 0, 1);
    app.setMultiplier(held, part * full[part < 0 ? 1 : 0]);
  });
  const release = () => { if (held !== null) { held = null; app.dragging = false; app.refresh(); } };
  drawing.addEventListener("pointerup", release);
  drawing.addEventListener("pointercancel", release);
}

/** What a full bar is worth: C, or where there is none, a quarter more than the largest α; also below 0. */
function maxMultiplier(app, i, side = 1) {
  const { upper, lower } = app.answer?.samples ?? {};
  const bound = side > 0 || machineOf(app).sides === 1 ? upper?.[i] : lower && lower[i] !== null ? -lower[i] : null;
  return bound ?? (1.25 * Math.max(0, ...(app.alpha ?? app.answer?.alpha ?? [])) || 1);
}

/** How many α the machine has: one a sample, or two. */
const alphasOf = (app) => machineOf(app).sides * app.state.points.length;

// ---------------------------------------------------------------------------------------------------------------------
// The selected sample: its letters, its two products, and what the certificate says about them.

function sampleView(app) {
  const name = html("p", { class: "who" }), verdict = html("p", { class: "sentence", "data-figure": "verdict" });
  const body = html("tbody"), table = html("table", { class: "letters" }, body);
  let cells = {}, written = "";
  const slider = html("input", { type: "range", min: 0, max: 1, step: "any", "aria-label": "α of the selected sample",
    "data-slider": "alpha" });
  const letter = html("span", null, "α"), row = html("label", { class: "field mine", hidden: true }, letter, slider);
  const gone = withoutIt(app);
  const base = panel(app, "sample", "Selected sample", null, [name, table, row, verdict, gone.element]);
  slider.addEventListener("input", () => {
    app.dragging = true;
    app.setMultiplier(app.selected, Number(slider.value));
  });
  slider.addEventListener("change", () => { app.dragging = false; app.refresh(); });

  function change() {
    const { letters } = machineOf(app), key = JSON.stringify(letters);
    if (key !== written) {
      written = key;
      cells = Object.fromEntries(letters.map(([name]) => [name, html("td", { "data-letter": name }, "–")]));
      body.replaceChildren(...letters.map(([name, symbol, words]) => html("tr", null,
        html("th", { scope: "row" }, symbol), cells[name], html("td", { class: "quiet" }, words))));
      letter.textContent = letterOf(machineOf(app));
    }
    draw();
  }

  function draw() {
    const i = app.selected, samples = app.answer?.samples, known = samples?.alpha && i < samples.alpha.length;
    base.element.dataset.selected = i;
    const kind = known ? `, ${machineOf(app).kinds[samples.kind[i]]}` : "";
    name.textContent = app.state.points.length ? `${nameOfSample(app, i).replace("s", "S")}${kind}`
      : "There is no sample yet.";
    const size = known ? Math.max(Math.abs(app.answer.primal), Math.abs(app.answer.dual)) : 0;
    const sizes = { gap: 1, margin_product: size, slack_product: size };
    for (const [key, cell] of Object.entries(cells)) cell.textContent = known ? shownPart(samples[key]?.[i], sizes[key] ?? 0) : "–";
    if (known) base.element.dataset.kind = samples.kind[i];
    const held = known && cells.alpha && app.whose === "yours" ? app.multiplierOf(i) : null;
    const repaired = held !== null && Math.abs(held - samples.alpha[i]) > 1e-6 * Math.abs(held);
    if (repaired) cells.alpha.textContent = `${shown(held, 3)} → ${shown(samples.alpha[i], 3)}`;
    if (cells.alpha) cells.alpha.title = repaired ? "as you hold it, and as it was made feasible" : "";
    verdict.textContent = samples?.verdict?.[i] ?? "";
    gone.draw();
    for (const key of ["margin_product", "slack_product"]) {
      cells[key]?.classList.toggle("violated", Boolean(known && violates(app.answer, samples[key][i])));
    }
    multiplierChanged();
  }

  function multiplierChanged() {
    row.hidden = app.whose !== "yours";
    if (row.hidden || app.dragging) return;
    slider.min = machineOf(app).sides === 2 ? -maxMultiplier(app, app.selected, -1) : 0;
    slider.max = maxMultiplier(app, app.selected);
    slider.value = app.multiplierOf(app.selected);
  }

  return { ...base, draw, select: draw, change, held: multiplierChanged, multiplierChanged };
}

/** The machine that has never seen the selected sample: asked for while the box is ticked and everything rests. */
function withoutIt(app) {
  const box = html("input", { type: "checkbox", role: "switch", "data-control": "without",
    onchange: () => draw() });
  const said = html("p", { class: "quiet", role: "status", "data-figure": "without" });
  const element = html("div", { class: "without" }, html("label", { class: "switch" }, box,
    html("span", null, "Show the machine without it")), said);
  let shownOf = "", asking = false;

  function take(removed, words) {
    app.removed = removed;
    said.textContent = words;
    for (const view of app.views) view.removed?.();
  }

  async function draw() {
    const wanted = JSON.stringify([app.state, app.box, app.selected]);
    const off = !box.checked || app.answer?.error || !app.state.points.length;
    if (off && shownOf) { shownOf = ""; take(null, ""); }
    if (off || asking || app.dragging || wanted === shownOf) return;
    asking = true;
    const question = { ask: "without", state: app.state, sample: app.selected, box: app.box, grid: GRID.still };
    const reply = await app.transport.ask(copy(question)).catch(() => null);
    asking = false;
    if (!reply || app.stop.signal.aborted) return;
    if (!box.checked || wanted !== JSON.stringify([app.state, app.box, app.selected])) return draw();
    shownOf = wanted;
    take(reply.error ? null : reply, reply.error ? reply.error.sentence : withoutInWords(app, reply));
  }

  return { element, draw };
}

function withoutInWords(app, { before, after, most, idle, status, gap }) {
  const certified = `${status}, gap ${shownGap(gap)}`;
  if (idle && most <= 1e-6 * (1 + Math.abs(before))) return `Without it nothing changes: its α is 0 (${certified}).`;
  return `Without it f is ${shown(after, 4)} here, and not ${shown(before, 4)}; at the sample where it changes most, `
    + `by ${shown(most, 3)} (${certified}). Dashed: its f${machineOf(app).learnt === "numbers" ? "" : " = 0"}.`;
}

/** Whether a product that is 0 at an optimum has a part in a gap that is open. */
function violates({ gap, tol, primal }, product) {
  return gap > tol && Math.abs(product) > tol * Math.max(1, Math.abs(primal));
}

// ---------------------------------------------------------------------------------------------------------------------
// The multipliers, a bar for each sample: α upwards within its box, its share of the gap downwards. Here the user can
// be the solver and set them.

function multipliersView(app) {
  const about = "α of every sample, and its share of the gap";
  const bars = svg("svg", { class: "bars", role: "group", "aria-label": about });
  const scroll = html("div", { class: "scroll", tabindex: 0 }, bars);
  const toggle = html("input", { type: "checkbox", role: "switch", "data-control": "mine",
    onchange: () => begin(toggle.checked) });
  const zero = html("button", { type: "button", "data-action": "zero", hidden: true,
    onclick: () => app.hold(Array(alphasOf(app)).fill(0), "yours") }, "Start from α = 0");
  const finish = html("button", { type: "button", "data-action": "finish", hidden: true, onclick: () => begin(false) },
    "Let the solver finish");
  const advice = html("button", { type: "button", "data-action": "move", hidden: true, onclick: () => app.advance() },
    "Make the next move");
  const said = html("p", { class: "sentence", "data-figure": "repair" });
  const counted = html("p", { class: "sentence", "data-figure": "moves", hidden: true });
  const partner = html("select", { "data-control": "partner", onchange: () => { app.partner = partner.value; } });
  const mate = html("label", { class: "field inline", hidden: true }, html("span", null, "moves together with"), partner);
  const base = panel(app, "multipliers", "Multipliers", " ",
    [html("div", { class: "mode" }, html("label", { class: "switch" }, toggle, html("span", null, "Be the solver")),
    zero, finish, advice, mate), scroll, counted, said]);
  const height = 132, floor = 92;
  let wide = 10, first = null, room = 600;
  const watch = new ResizeObserver(() => { room = scroll.clientWidth || room; redraw(); });
  watch.observe(scroll);
  app.stop.signal.addEventListener("abort", () => watch.disconnect());

  function begin(on) {
    if (on) app.hold([...(app.answer?.alpha ?? Array(alphasOf(app)).fill(0))], "yours");
    else { app.release(); app.refresh(); }
  }

  function held() {
    const mine = app.whose === "yours";
    toggle.checked = mine;
    zero.hidden = finish.hidden = counted.hidden = !mine;
    mate.hidden = !mine || !isBalanced(app);
    const n = app.state.points.length;
    if (partner.childElementCount !== n + 2) {
      partner.replaceChildren(html("option", { value: "best" }, "its best partner"), html("option", { value: "none" },
        "no other"), ...app.state.points.map((_, i) => html("option", { value: i }, `sample ${i}`)));
      app.partner = partner.value = "best";
    }
    first = null;
    redraw();
  }

  /** Draw the last answer again, unless samples came or went since: then the next one fits. */
  function redraw() {
    if (app.answer && app.asked.n === app.state.points.length) draw(app.answer);
  }

  function layout(n) {
    const mine = app.whose === "yours";
    wide = clamp(room / Math.max(n, 1), mine ? 24 : 5, 44);
    set(bars, { width: Math.ceil(wide * n), height, viewBox: `0 0 ${Math.ceil(wide * n)} ${height}` });
    const { sides } = machineOf(app), key = `${n} ${wide} ${mine} ${sides}`;
    if (key === first) return;
    first = key;
    bars.replaceChildren(...Array.from({ length: n }, (_, i) => newBar(i, wide, floor, height, mine, sides)));
  }

  function draw({ samples, error, gap, tol }) {
    layout(app.state.points.length);
    said.textContent = "";
    advice.hidden = true;
    const proof = (i) => ({ share: samples?.share?.[i] ?? 0, kind: 0, gap: 0 });
    if (error) return [...bars.children].forEach((bar, i) => fillBar(bar, proof(i)));
    const largest = gap > tol ? Math.max(...samples.gap.map((g) => Math.abs(g ?? 0))) : 0;
    const mine = app.whose === "yours" && app.alpha.length === app.answer.alpha.length;
    samples.alpha.forEach((alpha, i) => fillBar(set(bars.children[i], { "data-label": hueOf(app, i) }), {
      alpha: mine ? app.multiplierOf(i) : alpha, kind: samples.kind[i],
      share: mine ? shareOf(i) : alpha < 0 ? -samples.share[i] : samples.share[i],
      gap: largest ? Math.abs(samples.gap[i] ?? 0) / largest : 0 }));
    base.element.querySelector(".about").textContent = aboutBars(machineOf(app));
    said.textContent = app.alpha ? heldInWords(app.answer, machineOf(app)) : "";
    if (mine) counted.textContent = movesInWords(app, app.answer);
    advice.hidden = !mine || !app.answer.move;
  }

  /** The α that is held as a share of its bound. */
  function shareOf(i) {
    const multiplier = app.multiplierOf(i);
    return multiplier / maxMultiplier(app, i, multiplier < 0 ? -1 : 1);
  }

  function multiplierChanged(i) {
    const bar = bars.children[i];
    if (bar) fillBar(bar, { share: shareOf(i), alpha: app.multiplierOf(i) });
  }

  pull(app, bars, (event, { top }) => {
    const { from, reach } = barOf(floor, machineOf(app).sides);
    return (from - (event.clientY - top)) / reach;
  });
  multiplierKeys(app, bars);
  return { ...base, draw, held, multiplierChanged };
}

const aboutBars = ({ sides }) => `${sides === 2 ? "β above and below 0" : "α up"}, share of the gap down`;

/** What became of the α that is held: whether it is feasible, and how much is missing. */
function heldInWords(answer, { bound, balance }) {
  const unit = bound || "the largest α";
  const changed = answer.repaired > 1e-6, stretched = bound ? "" : ", and stretched as far as helps";
  const repaired = changed
    ? `It was made feasible for comparison${stretched}: α changed by at most ${shown(answer.repaired, 2)} of ${unit}.`
    : "It is feasible as it is.";
  const missing = answer.gap <= answer.tol ? `The gap is closed: ${changed ? "the feasible α" : "this"} is an optimum.`
    : `Remaining gap: ${shown(answer.primal - answer.dual, 4)} of ${shown(answer.primal, 4)}.`;
  return `${balance} = ${shown(answer.sum, 4)}. ${repaired} ${missing}`;
}

/** Keys at a bar: arrows change its α (with Shift further), Home and End take it to the ends of its box. */
function multiplierKeys(app, bars) {
  bars.addEventListener("keydown", (event) => {
    const of = event.target.closest("[data-of]");
    if (!of || app.whose !== "yours") return;
    const i = Number(of.dataset.of), full = maxMultiplier(app, i), step = full * (event.shiftKey ? 0.1 : 0.01);
    const multiplier = app.multiplierOf(i), least = machineOf(app).sides === 2 ? -maxMultiplier(app, i, -1) : 0;
    const to = { ArrowUp: multiplier + step, ArrowRight: multiplier + step, ArrowDown: multiplier - step,
      ArrowLeft: multiplier - step, Home: least, End: full }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    app.setMultiplier(i, to);
  });
}

/** Where bars begin, and how far they reach: from the floor upwards, or of a regression from the middle both ways. */
const barOf = (floor, sides) => (sides === 2 ? { from: (floor + 8) / 2, reach: (floor - 8) / 2 }
  : { from: floor, reach: floor - 8 });

function newBar(i, wide, floor, height, mine, sides) {
  const { from, reach } = barOf(floor, sides);
  const inner = Math.max(2, Math.min(wide - 2, 16)), x = (i + 0.5) * wide - inner / 2, box = { x, width: inner };
  return svg("g", { class: "bar", "data-of": i, tabindex: mine ? 0 : null, role: mine ? "slider" : "img",
    "aria-label": `α of sample ${i}`, "aria-valuemin": mine ? 1 - sides : null, "aria-valuemax": mine ? 1 : null },
    svg("rect", { class: "hit", x: i * wide, y: 0, width: wide, height }),
    svg("rect", { class: "slot", ...box, y: 8, height: floor - 8, rx: 2 }),
      svg("rect", { class: "level", ...box, rx: 2, "data-floor": from, "data-reach": reach }),
      svg("rect", { class: "owed", ...box, y: floor + 5, rx: 2, "data-room": height - floor - 8 }));
}

function fillBar(bar, { share, alpha, kind, gap }) {
  const [, , level, owed] = bar.children, { floor, reach } = level.dataset, signed = clamp(share ?? 0, -1, 1);
  const tall = Math.abs(signed) * reach;
  set(level, { y: (floor - (signed > 0 ? tall : 0)).toFixed(2), height: tall.toFixed(2) });
  if (bar.getAttribute("role") === "slider") set(bar,
    { "aria-valuenow": signed.toFixed(3), "aria-valuetext": `α = ${shown(alpha, 4)}` });
  if (kind !== undefined) set(bar, { "data-kind": kind });
  if (gap !== undefined) set(owed, { height: (gap * Number(owed.dataset.room)).toFixed(2) });
}

// ---------------------------------------------------------------------------------------------------------------------
// The exact path: every α at every value of a parameter, where it bends, and how folds judge each value.

function pathView(app) {
  const drawing = svg("svg", { class: "path", role: "img", "aria-label": "every multiplier along the exact path" });
  const slider = html("input", { type: "range", min: 0, max: 1, step: 0.001, "data-slider": "path",
    "aria-label": "the value along its exact path" });
  const follow = html("button", { type: "button", "data-action": "follow", onclick: () => ask() }, "Follow the path");
  const best = html("button", { type: "button", "data-action": "best", hidden: true, onclick: () => put(middle()) });
  const read = html("p", { class: "sentence", "data-figure": "path" }), about = html("p", { class: "quiet" });
  const base = panel(app, "path", "Every value of a parameter", null,
    [html("div", { class: "mode" }, follow, best), drawing, slider, read, about], { onsight: () => later() });
  let came = null, key = "", asking = false, timer = 0;

  /** What a path is of: everything but the value that it goes through. */
  const keyOf = ({ points, labels, machine, parameters, kernel }, name) => JSON.stringify([points, labels, machine,
    { ...parameters, [name]: null }, kernel]);
  const held = () => app.state.parameters[came.parameter];
  const log = () => came.low > 0 && scaleOfParameter(app, came.parameter) === "log";
  const share = (value) => (log() ? Math.log(value / came.low) / Math.log(came.high / came.low)
    : (value - came.low) / (came.high - came.low));
  const value = (part) => (log() ? came.low * (came.high / came.low) ** part
    : came.low + part * (came.high - came.low));
  const widest = () => came.validation.intervals.reduce((a, b) => (share(b[1]) - share(b[0]) > share(a[1]) - share(a[0])
    ? b : a));
  const middle = () => { const [low, high] = widest(); return value((share(low) + share(high)) / 2); };

  function put(to, remember = true) {
    app.edit((state) => { state.parameters[came.parameter] = Number(to.toPrecision(4)); }, { remember });
  }

  slider.addEventListener("input", () => {
    if (!app.dragging) app.drag(true);
    put(value(Number(slider.value)), false);
  });
  slider.addEventListener("change", () => app.drag(false));

  async function ask() {
    if (asking) return;
    const wanted = copy(app.state);
    asking = true;
    read.textContent = "Following the optimum…";
    const reply = await app.transport.ask({ ask: "path", state: wanted }).catch(() => null);
    asking = false;
    if (!reply || app.stop.signal.aborted) return;
    came = reply.error ? null : reply;
    key = came ? keyOf(wanted, came.parameter) : keyOf(wanted, "");
    read.textContent = reply.error?.sentence ?? "";
    picture();
    change();
  }

  /** By itself, as soon as everything rests, where that keeps nothing else waiting. */
  function later() {
    clearTimeout(timer);
    if (!app.transport.parallel || app.state.points.length > RUN_BY_ITSELF) return;
    timer = setTimeout(() => { if (!app.dragging && base.visible() && stale()) ask(); }, RUN_AFTER);
  }

  const stale = () => key !== keyOf(app.state, came?.parameter ?? "");

  function change() {
    const old = stale();
    drawing.classList.toggle("stale", old);
    follow.hidden = !old;
    best.hidden = old || !came?.validation;
    slider.disabled = old || !came;
    if (old) return later();
    if (came) cursor();
  }

  /** Where the page is on the path: the line, the slider, and the piece in words. */
  function cursor() {
    const now = held(), on = now >= came.low && now <= came.high, name = symbolOf(app, came.parameter);
    const at = drawing.querySelector(".cursor");
    const { left, wide } = drawing.dataset, x = Number(left) + clamp(share(now), 0, 1) * wide;
    if (at) set(at, { transform: `translate(${x} 0)`, visibility: on ? "visible" : "hidden" });
    slider.value = clamp(share(now), 0, 1);
    set(slider, { "aria-label": `${name} along its exact path`, "aria-valuetext": `${name} = ${shown(now, 4)}` });
    const { breakpoints, pieces, validation } = came;
    const k = clamp(breakpoints.filter((edge) => edge <= now).length, 1, pieces);
    const error = validation ? errorAt(validation, now) : null;
    read.textContent = [`${pieces} certified pieces, gap at most ${shownGap(came.gap)}.`,
      on && `${name} = ${shown(now, 4)} is on piece ${k}, ${shown(breakpoints[k - 1], 4)} to ${shown(breakpoints[k], 4)}.`,
      error !== null && `Wrong in ${validation.folds} folds: ${shown(100 * error, 3)} %.`].filter(Boolean).join(" ");
  }

  function picture() {
    if (!came) return drawing.replaceChildren();
    base.element.querySelector("h2").textContent = `Every value of ${symbolOf(app, came.parameter)}`;
    drawPath(app, drawing, came, share);
    const { validation, why, message } = came;
    about.textContent = ["A line is the α of a sample, a tick a breakpoint: between two of them the optimum is exact.",
      validation ? `Below, the share of wrong labels in ${validation.folds} folds; shaded where it is least.`
        : why && `No validation: ${why}.`, message && `${message}.`].filter(Boolean).join(" ");
    if (came.validation) best.textContent = `Use the best, ${symbolOf(app, came.parameter)} = ${shown(middle(), 3)}`;
    app.mark();
  }

  drawing.addEventListener("click", (event) => {
    if (!came || stale()) return;
    const r = drawing.getBoundingClientRect();
    put(value(clamp((event.clientX - r.left - drawing.dataset.left) / drawing.dataset.wide, 0, 1)));
  });
  const watch = new ResizeObserver(() => { picture(); change(); });
  watch.observe(slider);
  app.stop.signal.addEventListener("abort", () => { clearTimeout(timer); watch.disconnect(); });
  return { ...base, change };
}

const parameterOf = (app, name) => machineOf(app).parameters.find((each) => each.name === name);
const scaleOfParameter = (app, name) => parameterOf(app, name)?.scale;
const symbolOf = (app, name) => parameterOf(app, name)?.symbol ?? name;

/** The error of a step function; null beyond its end. */
function errorAt({ edges, values }, x) {
  const k = edges.findLastIndex((edge) => edge <= x);
  return k < 0 || x > edges.at(-1) ? null : values[Math.min(k, values.length - 1)];
}

/** The multipliers above, the breakpoints on their axis, and the error of the folds below. */
function drawPath(app, drawing, came, share) {
  const width = Math.max(300, drawing.parentElement.clientWidth || 640);
  const left = 46, right = 12, wide = width - left - right, { share: words } = machineOf(app);
  const signed = came.shares.some((line) => line.some((v) => v < -1e-4));
  const top = 18, floor = 170, lowest = came.validation ? 268 : floor, height = lowest + 34;
  set(drawing, { viewBox: `0 0 ${width} ${height}`, "data-left": left, "data-wide": wide, height });
  const x = (v) => left + clamp(share(v), 0, 1) * wide;
  const y = (v) => floor - ((v + (signed ? 1 : 0)) / (signed ? 2 : 1)) * (floor - top);
  const line = (values) => `M${values.map((v, k) => `${x(came.values[k]).toFixed(1)} ${y(v).toFixed(1)}`).join("L")}`;
  const alphas = came.shares.map((values, i) => svg("path", { class: "multiplier", "data-of": i,
    "data-label": app.state.labels[i], d: line(values) }));
  const bends = came.breakpoints.map((v) => `M${x(v).toFixed(1)} ${floor}v7`).join("");
  const [low, high] = [came.low, came.high], decades = [];
  if (scaleOfParameter(app, came.parameter) === "log") {
    for (let p = Math.ceil(Math.log10(low)); p <= Math.log10(high) + 1e-9; p++) decades.push(10 ** p);
  } else decades.push(...ticks(low, high, 5));
  const error = came.validation ? errorStrip(came.validation, x, floor + 26, lowest, left, width - right) : [];
  drawing.replaceChildren(...level(y(0), "0", left, width - right), ...level(y(1), "1", left, width - right),
    svg("text", { class: "axis", x: 8, y: 11 }, words), ...alphas, svg("path", { class: "bends", d: bends }), ...error,
    svg("path", { class: "cursor", d: `M0 ${top}V${lowest}` }),
    ...decades.map((v) => svg("text", { x: clamp(x(v), left, width - 20), y: lowest + 18, "text-anchor": "middle" },
      shown(v))),
    svg("text", { class: "axis", x: width - right, y: height - 3, "text-anchor": "end" },
      symbolOf(app, came.parameter)));
}

/** The error of the folds as steps, and where it is least. */
function errorStrip({ edges, values, intervals }, x, top, floor, left, right) {
  const most = Math.max(...values, 0.01), y = (v) => floor - (v / most) * (floor - top - 12);
  const steps = values.map((v, k) => `${k ? "L" : "M"}${x(edges[k]).toFixed(1)} ${y(v).toFixed(1)}`
    + `H${x(edges[k + 1]).toFixed(1)}`).join("");
  return [...intervals.map(([a, b]) => svg("rect", { class: "least", x: x(a), y: top, width: Math.max(2, x(b) - x(a)),
    height: floor - top })), ...level(floor, "0 %", left, right),
  ...level(y(most), `${shown(100 * most, 2)} %`, left, right), svg("path", { class: "curve error", d: steps })];
}

// ---------------------------------------------------------------------------------------------------------------------
// Runs: primal value from above, dual value from below, as a solver goes on; each iterate can be seen in the plane.

/** The runs of the present data: which are asked for, which came, and the iterate that is looked at. */
class Runs {
  came = new Map(); failed = new Map(); chosen = ["dual_ascent", "interior_point"]; asking = null;
  active = null; at = 0; playing = 0; #again = 0; #machine = null;

  constructor(app, picture, insight) { Object.assign(this, { app, picture, insight }); }

  get run() { return this.came.get(this.active); }

  get point() { return this.run?.points[this.at]; }

  get available() {
    return this.app.catalogue.solvers.filter(({ machines }) => machines.includes(this.app.state.machine));
  }

  /** Ask for the runs that are chosen and missing, one after the other; samples that move meanwhile put it off. */
  async ask() {
    if (this.asking) return;
    const missing = () => this.chosen.find((name) => !this.came.has(name) && !this.failed.has(name));
    if (!this.chosen.length) this.choose(this.available[0].name, true);
    for (let name = missing(); name; name = missing()) {
      const wanted = copy(this.app.state);
      this.asking = name;
      this.picture();
      const reply = await this.app.transport.ask({ ask: "run", state: wanted, solver: name }).catch(() => null);
      this.asking = null;
      if (!reply || !same(wanted, this.app.state)) { this.picture(); return this.later(); }
      if (reply.error) this.failed.set(name, reply.error.sentence);
      else { this.came.set(name, reply); this.active = name; this.at = reply.points.length - 1; }
    }
    this.picture();
  }

  /** Ask by itself as soon as the samples rest, where that keeps nothing else waiting. */
  later() {
    const { app } = this;
    clearTimeout(this.#again);
    if (!app.transport.parallel || app.state.points.length > RUN_BY_ITSELF) return;
    const rests = () => !app.dragging && !app.alpha && app.answer?.samples?.alpha && this.insight();
    this.#again = setTimeout(() => { if (rests()) this.ask(); }, RUN_AFTER);
  }

  choose(name, on) {
    this.chosen = on ? [...this.chosen, name] : this.chosen.filter((each) => each !== name);
    if (!on && this.active === name) this.active = this.chosen.find((each) => this.came.has(each)) ?? null;
    else if (on && this.came.has(name)) this.active = name;
    this.failed.delete(name);
    this.at = Math.max(0, (this.run?.points.length ?? 1) - 1);
  }

  /** Look at an iterate: its α is certified in the plane and everywhere else. */
  to(k) {
    if (!this.run) return this.ask();
    this.at = clamp(k, 0, this.run.points.length - 1);
    this.app.hold(this.point.alpha, `iteration ${this.point.iteration} of ${this.run.title}`);
    this.picture();
  }

  play() {
    if (!this.run) return this.ask();
    const last = this.run.points.length - 1;
    if (this.at >= last) this.at = -1;
    const advance = () => { this.to(this.at + 1); if (this.at >= last) this.halt(); };
    this.playing = setInterval(advance, calm() ? 900 : 320);
    advance();
  }

  halt() { clearInterval(this.playing); this.playing = 0; this.picture(); }

  /** Other data: what came is of those before. */
  forget() {
    this.later();
    const { machine } = this.app.state;
    if (!this.came.size && !this.failed.size && machine === this.#machine) return;
    Object.assign(this, { active: null, at: 0 });
    this.#machine = machine;
    this.came.clear();
    this.failed.clear();
    this.chosen = this.chosen.filter((name) => this.available.some((each) => each.name === name));
    this.halt();
  }

  close() { clearInterval(this.playing); clearTimeout(this.#again); }
}

function runsView(app) {
  const runs = new Runs(app, () => picture(), () => base.visible());
  const name = "primal and dual values over the iterations";
  const drawing = svg("svg", { class: "runs", role: "img", "aria-label": name }), bar = stepper(runs);
  const solvers = html("div", { class: "solvers" }), about = html("p", { class: "quiet" });
  const read = html("p", { class: "sentence", "data-figure": "iterate" });
  const axis = html("select", { "data-control": "axis", "aria-label": "what is drawn", onchange: () => picture() },
    html("option", { value: "values" }, "the values themselves"),
    html("option", { value: "distance" }, "distance to the optimum, log"));
  const show = html("label", { class: "field inline" }, html("span", null, "Show"), axis);
  const base = panel(app, "runs", "Primal and dual, iteration by iteration", null,
    [html("div", { class: "mode" }, solvers, show), drawing, bar.element, read, about],
    { onsight: () => runs.later() });
  let listed = null;

  function picture() {
    if (listed !== app.state.machine) solvers.replaceChildren(...solverBoxes(app, runs));
    listed = app.state.machine;
    bar.draw();
    drawRuns(app, drawing, runs, axis.value);
    const { run } = runs;
    read.textContent = iterateInWords(runs);
    about.textContent = run ? ["Thick: primal value. Thin: dual value.", run.about && `${run.title}: ${run.about}.`,
      run.note].filter(Boolean).join(" ") : "";
    base.element.dataset.runs = [...runs.came.keys()].join(" ");
  }

  const watch = new ResizeObserver(() => picture());
  watch.observe(solvers);
  app.stop.signal.addEventListener("abort", () => { runs.close(); watch.disconnect(); });
  return { ...base, change: () => runs.forget(), held: () => { if (!app.alpha && runs.playing) runs.halt(); } };
}

/** A box to tick for every solver that takes this machine, with its line as the key to the picture. */
function solverBoxes(app, runs) {
  return runs.available.map(({ name, title }) => {
    const choose = () => {
      runs.choose(name, box.checked);
      if (box.checked) runs.ask();
      runs.picture();
    };
    const box = html("input", { type: "checkbox", "data-solver": name, checked: runs.chosen.includes(name),
      onchange: choose });
    const [stroke, dash] = curveOf(app, name);
    const key = svg("svg", { class: "key", viewBox: "0 0 16 16", "aria-hidden": "true" },
      svg("path", { class: "curve", d: "M0 8H16", stroke, "stroke-dasharray": dash }));
    return html("label", { class: "layer" }, box, key, title);
  });
}

/** Run, play, step, and the slider over the iterates of one run. */
function stepper(runs) {
  const button = (name, words, action) => html("button",
    { type: "button", "data-action": name, onclick: action }, words);
  const play = button("play", "Play", () => (runs.playing ? runs.halt() : runs.play()));
  const slider = html("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "data-slider": "iteration",
    "aria-label": "iteration", oninput: () => { const k = Number(slider.value); runs.halt(); runs.to(k); } });
  const which = html("select", { "data-control": "run", "aria-label": "the solver to step through", onchange: () => {
    runs.active = which.value;
    runs.to(runs.run.points.length - 1);
  } });
  const element = html("div", { class: "stepper" }, button("run", "Run", () => runs.ask()), play,
    button("step", "Step", () => runs.to(runs.at + 1)), which, slider);

  function draw() {
    const { run, point } = runs;
    play.textContent = runs.playing ? "Pause" : "Play";
    set(slider, { max: Math.max(0, (run?.points.length ?? 1) - 1),
      "aria-valuetext": point ? `iteration ${point.iteration}` : "not run" });
    slider.value = runs.at;
    slider.disabled = !run;
    which.replaceChildren(...[...runs.came.values()].map(({ solver, title }) => html("option",
      { value: solver, selected: solver === runs.active }, title)));
    which.hidden = runs.came.size < 2;
  }

  return { element, draw };
}

function iterateInWords({ app, asking, failed, run, point, chosen }) {
  if (asking) return `Running ${app.catalogue.solvers.find(({ name }) => name === asking).title}…`;
  const [failure] = failed.values();
  if (failure) return failure;
  if (!point && chosen.length) return "Not run on this data yet.";
  if (!point) return "Choose a solver, or several, to see how they differ.";
  const values = `primal ${shown(point.primal, 6)}, dual ${shown(point.dual, 6)}, gap ${shownGap(point.gap)}`;
  return `${run.title}, iteration ${point.iteration}: ${values}`;
}

const curveOf = (app, name) => CURVES[app.catalogue.solvers.findIndex((each) => each.name === name) % CURVES.length];

/** Both values of every run on one picture; the iterate that is looked at as two dots. */
function drawRuns(app, drawing, { came, point, active }, axis) {
  const width = Math.max(300, drawing.clientWidth || 640), height = 230, all = [...came.values()];
  const frame = { left: 58, right: 12, top: 22, bottom: 30 };
  set(drawing, { viewBox: `0 0 ${width} ${height}`, "data-empty": all.length === 0 });
  if (!all.length) return drawing.replaceChildren(svg("text",
    { class: "empty", x: width / 2, y: height / 2, "text-anchor": "middle" },
    "Run a solver to see its way to the optimum"));
  const best = all.map(({ optimum }) => optimum).reduce((a, b) => ((a.gap ?? 1) <= (b.gap ?? 1) ? a : b));
  const scale = runScale(all, best, axis, width, height, frame);
  const curves = all.flatMap((run) => ["primal", "dual"].map((which) => {
    const [stroke, dash] = curveOf(app, run.solver);
    const path = run.points.filter((point) => point[which] !== null).map((point, k) => {
      const x = scale.x(point.iteration).toFixed(1), y = scale.y(point[which]).toFixed(1);
      return `${k ? "L" : "M"}${x} ${y}`;
    }).join("");
    return svg("path", { class: `curve ${which}`, d: path, stroke, "stroke-dasharray": dash,
      "data-curve": `${run.solver} ${which}` });
  }));
  const dots = ["primal", "dual"].filter((which) => (point?.[which] ?? null) !== null).map((which) => svg("circle",
    { class: `now ${which}`, cx: scale.x(point.iteration), cy: scale.y(point[which]), r: 5,
      stroke: curveOf(app, active)[0] }));
  const line = point ? [svg("path", { class: "cursor",
    d: `M${scale.x(point.iteration)} ${frame.top}V${height - frame.bottom}` })] : [];
  drawing.replaceChildren(...scale.marks, ...line, ...curves, ...dots);
}

/** Iterations logarithmically; upwards the values, or how far each is from the optimum. */
function runScale(all, best, axis, width, height, { left, right, top, bottom }) {
  const last = Math.max(2, ...all.flatMap(({ points }) => points.map(({ iteration }) => iteration)));
  const x = (k) => left + (Math.log1p(k) / Math.log1p(last)) * (width - left - right), end = width - right;
  const optimum = best.primal ?? 0, up = axis === "distance" ? distances(optimum) : values(all, optimum);
  const y = (value) => height - bottom - up.share(value) * (height - bottom - top);
  const decades = [0, 1, 2, 3, 4, 5, 6].map((p) => 10 ** p).filter((v) => v <= last);
  const marks = [...decades.map((v) => svg("text",
    { x: Math.min(x(v), width - 16), y: height - 12, "text-anchor": "middle" }, shown(v))),
  svg("text", { class: "axis", x: end, y: height - 1, "text-anchor": "end" }, "iterations"),
  ...up.ticks.flatMap(([value, words]) => level(y(value), words, left, end)),
  svg("path", { class: "optimum", d: `M${left} ${y(optimum)}H${end}` }),
  svg("text", { class: "axis", x: 8, y: 10 }, up.title)];
  return { x, y, marks };
}

/** The distance to the optimum in its own units, from 100 down to 1e-12, logarithmically. */
function distances(optimum) {
  const [least, most] = [-12, 2], unit = Math.abs(optimum) || 1;
  const power = (value) => clamp(Math.log10(Math.abs(value - optimum) / unit || 1e-99), least, most);
  const share = (value) => (power(value) - least) / (most - least);
  const words = { 2: "100", 0: "1", "-4": "1e−4", "-8": "1e−8", "-12": "1e−12" };
  return { share, title: "|value − optimum| / optimum",
    ticks: Object.entries(words).map(([p, text]) => [optimum + unit * 10 ** Number(p), text]) };
}

/** The values, as far as they are near the optimum: those of the first iterations may be anywhere. */
function values(all, optimum) {
  const found = all.flatMap(({ points }) => points.flatMap(({ primal, dual }) => [primal, dual]));
  const known = [...found.filter((v) => v !== null), optimum], reach = 1.5 * (Math.abs(optimum) || 1);
  const from = Math.max(Math.min(...known), optimum - reach), to = Math.min(Math.max(...known), optimum + reach);
  const room = 0.06 * (to - from) || 1, low = from - room, high = to + room;
  return { share: (value) => (clamp(value, low, high) - low) / (high - low), title: "value",
    ticks: ticks(from, to, 4).map((v) => [v, shown(v, 4)]) };
}

const level = (y, words, from, to) => [svg("path", { class: "grid", d: `M${from} ${y}H${to}` }),
  svg("text", { x: from - 8, y: y + 4, "text-anchor": "end" }, words)];

// ---------------------------------------------------------------------------------------------------------------------
// The quadratic program as numbers: every matrix, every row, each with a link to the equation that it is.

function qpView(app) {
  const place = html("div", { class: "program" }),
    base = panel(app, "qp", "The quadratic program, as numbers", null, [place], { part: "qp" });
  let drawn = null;

  function draw({ qp, alpha }, asked) {
    place.classList.toggle("stale", !qp);
    if (!qp || qp === drawn) return;
    drawn = qp;
    const rows = html("table", { class: "rows" },
      html("tbody", null, ...qp.rows.map((row) => rowLine(row)), boxLine(qp)));
    place.replaceChildren(html("p", { class: "objective" }, html("span", null, "minimise ", ...scripted(qp.objective)),
      cite(qp.objective_tag)),
      qp.P ? html("div", { class: "scroll", tabindex: 0 }, matrix(qp, alpha, app.state.points.length)) : "",
      qp.heat ? heat(app, qp) : "",
        html("div", { class: "scroll", tabindex: 0 }, rows),
      html("details", { class: "printed" }, html("summary", null, "as the library prints it"),
        html("pre", { tabindex: 0 }, qp.text)),
      qp.primal && html("details", { class: "written" }, html("summary", null, "its primal, as the library prints it"),
        html("pre", { tabindex: 0 }, qp.primal)));
    hover(app.hovered);
    if (!asked.dragging) app.point(app.equation);
  }

  const hover = (i) => { if (drawn) strips(place, i ?? app.selected, drawn.n); };
  return { ...base, draw, hover, select: () => hover(null) };
}

const rowLine = ({ name, text, tag, sense, right, left }) => html("tr", { "data-equation": tag },
  html("th", { scope: "row" }, name), html("td", { class: "letter" }, ...scripted(text)),
  html("td", { class: "quiet" }, `here ${shown(left, 4)} ${sense} ${shown(right, 4)}`), html("td", null, cite(tag)));

function boxLine({ box }) {
  return html("tr", { "data-equation": box.tag }, html("th", { scope: "row" }, "box"),
    html("td", { class: "letter" }, ...scripted(box.text)), html("td"), html("td", null, cite(box.tag)));
}

/** P with q, α, the rows of A and the box around it: one column a variable. */
function matrix(qp, alpha, n) {
  const largest = Math.max(...qp.P.flat().map(Math.abs)) || 1;
  const cell = (value, j, extra) => html("td", { "data-column": j % n, ...extra }, shown(value, 3));
  const head = html("tr", null, html("th", { class: "corner" }, "P"),
    ...qp.variables.map((name, j) => html("th", { scope: "col", "data-column": j % n }, variable(name))));
  const body = qp.P.map((row, i) => html("tr", null,
    html("th", { scope: "row", "data-row": i % n }, variable(qp.variables[i])),
    ...row.map((value, j) => tinted(cell(value, j, { "data-row": i % n }), value / largest))));
  const line = (title, values, tag) => values && html("tr", { class: "line", "data-equation": tag },
    html("th", { scope: "row" }, title),
    ...values.map((value, j) => (value === null ? html("td", { "data-column": j % n }, "∞") : cell(value, j))));
  const lines = [line("q", qp.q, qp.objective_tag), ...qp.rows.map((row) => line(row.name, row.coefficients, row.tag)),
    line("upper", qp.box.upper, qp.box.tag), line("α", alpha, null)];
  return html("table", { class: "matrix" }, html("thead", null, head), html("tbody", null, ...body),
    html("tbody", { class: "lines" }, ...lines));
}

const variable = (name) => name.replace(/\d+$/, (digits) => numeral(digits));

/** Blue above zero and vermilion below, on a cell of a table or of a heat map. */
function tint(share) {
  return `rgba(${share < 0 ? "213, 94, 0" : "0, 114, 178"}, ${(0.62 * Math.min(1, Math.abs(share))).toFixed(3)})`;
}

function tinted(cell, share) { cell.style.backgroundColor = tint(share); return cell; }

/** P as a picture: a pixel for each block of it, and the row and column of the sample that is pointed at. */
function heat(app, { heat: { n: k, values }, n }) {
  const canvas = html("canvas", { class: "heat", width: k, height: k, role: "img",
    "aria-label": `P, ${n} by ${n}, as a heat map` });
  const context = canvas.getContext("2d"), largest = Math.max(...values.map(Math.abs)) || 1;
  values.forEach((value, at) => {
    context.fillStyle = tint(value / largest);
    context.fillRect(at % k, Math.floor(at / k), 1, 1);
  });
  const blocks = k < n ? `, drawn as ${k} × ${k} means of blocks` : "";
  const said = html("p", { class: "quiet" },
    `P is ${n} × ${n}${blocks}. Point at it to see which samples an entry is about.`);
  const near = k < n ? " and the entries beside it, on average" : "";
  const sampleAt = (share) => Math.min(n - 1, Math.floor(share * n));
  canvas.addEventListener("pointermove", (event) => {
    const r = canvas.getBoundingClientRect();
    const i = sampleAt((event.clientY - r.top) / r.height), j = sampleAt((event.clientX - r.left) / r.width);
    const block = Math.floor((i * k) / n) * k + Math.floor((j * k) / n);
    app.hover(i % app.state.points.length);
    said.textContent = `P${numeral(i)},${numeral(j)}${near}: ${shown(values[block], 4)}`;
  });
  return html("div", { class: "heatbox" }, html("div", { class: "heatframe" }, canvas,
    html("span", { class: "strip across", hidden: true }), html("span", { class: "strip down", hidden: true })), said);
}

/** Lay two strips over the heat map: the row and the column of a sample. */
function strips(place, i, n) {
  for (const strip of place.querySelectorAll(".strip")) {
    strip.hidden = i === null;
    const from = `${(100 * i) / n}%`, wide = `${100 / n}%`, across = strip.classList.contains("across");
    if (i !== null) Object.assign(strip.style, across ? { top: from, height: wide } : { left: from, width: wide });
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The derivation: every equation with the value of both its sides at what is shown now.

function derivationView(app) {
  const place = html("div", { class: "steps" }), headline = html("p", { class: "sentence", "data-figure": "headline" });
  const base = panel(app, "derivation", "The derivation", "every equation at your data", [headline, place],
    { part: "derivation" });
  let cells = new Map();

  function equations(steps) {
    cells = new Map();
    place.replaceChildren(...steps.map((step) => {
      const values = html("p", { class: "values" }), residual = html("span", { class: "residual" });
      const element = html("article", { class: "step", "data-tag": step.tag, tabindex: -1,
        "data-state": step.absent ? "absent" : "none" },
        html("h3", null, html("span", { class: "tag" }, `(${step.tag})`), step.title, residual),
        step.absent ? html("p", { class: "quiet" }, `Not here: ${step.absent}`)
          : html("div", { class: "equation scroll", tabindex: 0 }, mathematics(step.mathml)), values,
        step.text && html("p", { class: "meaning" }, ...scripted(step.text)), step.code && codeOf(step));
      cells.set(step.tag, { element, values, residual, absent: step.absent });
      return element;
    }));
  }

  function draw(answer) {
    const derivation = answer?.derivation;
    place.classList.toggle("stale", !derivation);
    if (!derivation) return;
    headline.replaceChildren(...scripted(derivation.headline));
    for (const [tag, cell] of cells) if (!cell.absent) valueOf(cell, derivation.steps[tag]);
  }

  return { ...base, draw, equations };
}

/** Both sides of an equation, what they are, and how far apart: with a mark, so that colour is not needed. */
function valueOf({ element, values, residual }, step) {
  if (!step) return values.replaceChildren();
  const holds = step.residual === null ? "none" : Math.abs(step.residual) <= HOLDS ? "holds" : "fails";
  set(element, { "data-state": holds, "data-residual": step.residual ?? "" });
  set(residual, { class: `residual ${holds}`, title: "how far the two sides are apart, relative" });
  residual.textContent = step.residual === null ? "" : `residual ${shown(step.residual, 2)}`;
  const side = (value) => html("span", { class: "side" }, shown(value, 6));
  const between = html("span", { class: "quiet relation" }, step.relation === "=" ? "and" : step.relation);
  const sides = step.left !== null && step.right !== null ? [side(step.left), between, side(step.right)] : [];
  values.replaceChildren(...sides);
  if (sides.length && step.description) values.append(html("span", { class: "quiet of" }, ...scripted(step.description)));
  if (step.residual === null) values.append(html("span", { class: "quiet" }, step.reason || "nothing to measure"));
}

function codeOf({ where, code, lines }) {
  const marked = new Set(lines ?? []);
  const body = code.split("\n").map((line, k) => html("span", { class: marked.has(k) ? "line marked" : "line" },
    `${line}\n`));
  return html("details", { class: "code" }, html("summary", null, "the code that says it",
    html("span", { class: "where" }, where)), html("pre", { tabindex: 0 }, html("code", null, ...body)));
}

// ---------------------------------------------------------------------------------------------------------------------
// Entrances: a page, and a notebook.

/** Put the playground into an element. The function that comes back takes it out again. */
export function mount(element, transport, options = {}) {
  const root = html("div", { class: "qpsvm-play", "data-connection": "waiting", "data-count": 0, "data-answers": 0,
    "data-tool": "move", "data-lm-suppress-shortcuts": "true" },
    html("p", { class: "loading" }, "Asking the library…"));
  element.replaceChildren(root);
  const app = new Playground(root, transport, options);
  transport.listen((is) => app.connection(is));
  return () => app.close();
}

export default { render: ({ model, el }) => mount(el, overWidget(model)) };

const own = globalThis.document?.querySelector("[data-qpsvm-play]");
if (own) mount(own, overSocket(new URL("ws", location.href).href.replace(/^http/, "ws")), { address: true });
