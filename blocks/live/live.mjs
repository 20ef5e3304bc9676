// Controls that run a compiled JAX function and move the artists of a matplotlib SVG.
// One module for a notebook (as an anywidget) and for the static page (hydrate.mjs).

const CSS = `
.live-body { max-width: 100%; --live-line: color-mix(in srgb, currentColor 48%, transparent);
  --live-accent: var(--blocks-c0, #0068a8); }
.live-body figure.picture { margin: 1em 0 0.6em; }
.live-body .scroll { overflow: auto hidden; }
.live-panel { border: 1px solid var(--blocks-grid, #8884); border-radius: 6px;
  background: var(--blocks-panel, transparent); padding: 0.8em 1em; font-size: 0.9em; line-height: 1.4; }
.live-controls { display: grid; grid-template-columns: fit-content(14em) minmax(6em, 1fr) max-content;
  gap: 0.4em 1em; align-items: center; min-width: 0; border: 0; margin: 0; padding: 0; }
.live-controls label, .live-reading { overflow-wrap: anywhere; }
.live-reading { flex: 1; }
.live-controls input[type=range] { width: 100%; min-width: 0; height: 24px; margin: 0; accent-color: var(--live-accent); }
.live-panel select, .live-panel button, .live-panel input[type=number], .live-panel input[readonly] {
  font: inherit; color: inherit; background: var(--blocks-bg, transparent); box-sizing: border-box; min-height: 28px;
  border: 1px solid var(--live-line); border-radius: 4px; padding: 0 0.5em; margin: 0; }
.live-panel option { color: #1b1c1d; background: #fefefe; }
.live-panel select, .live-panel input[type=checkbox] { justify-self: start; }
.live-panel input[type=checkbox] { width: 24px; height: 24px; margin: 2px 0; accent-color: var(--live-accent); }
.live-panel button { cursor: pointer; }
.live-panel :is(button, select, input):hover { border-color: currentColor; }
.live-number { white-space: nowrap; }
.live-number input { width: 6.2em; text-align: right; font-variant-numeric: tabular-nums; appearance: textfield; }
.live-number input::-webkit-inner-spin-button { appearance: none; }
.live-number input[aria-invalid=true] { border: 2px solid var(--blocks-c1, #bb3f00); }
.live-fault { grid-column: 1 / -1; font-weight: 600; margin: 0; text-align: right; }
.live-fault:empty { display: none; }
.live-buttons, .live-reader { display: flex; gap: 0.5em; align-items: center; margin-top: 0.7em; }
.live-buttons { flex-wrap: wrap; }
.live-body :focus-visible { outline: 2px solid var(--live-accent); outline-offset: 2px; }
.live-summary { margin: 0.7em 0 0; }
.live-spoken { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
.live-body image { image-rendering: pixelated; }
.live-cursor { fill: none; stroke: #fff; stroke-width: 2; mix-blend-mode: difference; pointer-events: none; }
@media (max-width: 520px) {
  .live-panel { padding: 0.7em 0.75em; }
  .live-panel :is(select, input[type=number]) { font-size: 16px; } /* a phone zooms into what is smaller */
  .live-controls { grid-template-columns: minmax(6em, 1fr) max-content; column-gap: 0.8em; }
  .live-controls .live-slider { grid-column: 1 / -1; margin-bottom: -0.4em; }
  .live-controls .live-rest { display: none; }
  .live-panel select, .live-panel input[type=checkbox] { justify-self: end; }
}
.live-printed { display: none; }
@media print { .live-panel { display: none; } .live-printed { display: block; } }
`;

// Numbers ---------------------------------------------------------------------------

function show(value, spec) {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (typeof value === "string") return value;
  const digits = spec ? +spec[0] : 4, size = Math.abs(value);
  if (spec?.[1] === "f") return signed(value.toFixed(digits));
  if (!spec && Number.isInteger(value) && size < 1e9) return signed(String(value));
  return signed(String(+value.toPrecision(digits)));
}

// A minus as in print, and none before a zero.
const signed = text => text.replace(/^-/, /[1-9]/.test(text) ? "−" : "");

const fill = (template, values) =>
  template.replace(/\{(\w*)(?::\.(\d+)([fg]))?\}/g, (_, name, digits, form) => {
    const value = values(name);
    return show(typeof value === "object" ? value[0] : value, digits && [digits, form]);
  });

const place = ([a, b, log], number) => a * (log ? Math.log10(number) : number) + b;
const number = ([a, b, log], at) => (log ? 10 ** ((at - b) / a) : (at - b) / a);
const list = value => (ArrayBuffer.isView(value) ? value : [value]);

// Artists ---------------------------------------------------------------------------

function path(points) {
  let d = "", pen = "M";
  for (const [u, v] of points) {
    if (!Number.isFinite(u + v)) { pen = "M"; continue; }
    d += pen + Math.round(u * 100) / 100 + " " + Math.round(v * 100) / 100;
    pen = "L";
  }
  return d;
}

// Markers are <use> elements: as many as there are points.
function mark(node, points) {
  const marks = [...node.querySelectorAll("use")];
  if (!marks.length) return;
  while (marks.length < points.length) marks.push(marks[0].parentNode.appendChild(marks[0].cloneNode()));
  marks.forEach((use, k) => {
    const [u, v] = points[k] ?? [NaN, NaN], seen = Number.isFinite(u + v);
    use.style.display = seen ? "" : "none";
    if (seen) { use.setAttribute("x", u); use.setAttribute("y", v); }
  });
}

const pairs = ({ x, y }, data) =>
  Array.from({ length: data.length / 2 }, (_, k) => [place(x, data[2 * k]), place(y, data[2 * k + 1])]);

// A reference line keeps its ends along the other axis.
function reference(node, at, first) {
  const shaft = node.querySelector("path");
  const ends = shaft.getAttribute("d").match(/-?[\d.]+/g).map(Number);
  ends[first] = ends[first + 2] = at;
  shaft.setAttribute("d", `M${ends[0]} ${ends[1]}L${ends[2]} ${ends[3]}`);
}

const draw = {
  line([node], artist, data) {
    const points = artist.xs ? artist.xs.map((u, k) => [u, place(artist.y, data[k])]) : pairs(artist, data);
    node.querySelector(":scope > path")?.setAttribute("d", path(points)); // not that of a marker
    mark(node, points);
  },
  vline: ([node], { x }, [at]) => reference(node, place(x, at), 0),
  hline: ([node], { y }, [at]) => reference(node, place(y, at), 1),
  points: ([node], artist, data) => mark(node, pairs(artist, data)),
  band([node], { xs, y }, data) {
    const edge = side => xs.map((u, k) => [u, place(y, data[2 * k + side])]);
    const outline = path([...edge(0), ...edge(1).reverse()]) + "z";
    for (const part of node.querySelectorAll("path")) part.setAttribute("d", outline);
    for (const use of node.querySelectorAll("use")) { use.setAttribute("x", 0); use.setAttribute("y", 0); }
  },
  bars(nodes, { upright, base, x, y }, data) {
    nodes.forEach((node, k) => {
      const bar = node.querySelector("path"), end = place(upright ? y : x, data[k]);
      const box = (bar.dataset.box ??= bar.getAttribute("d").match(/-?[\d.]+/g).join(" ")).split(" ").map(Number);
      const across = box.filter((_, i) => i % 2 === (upright ? 0 : 1));
      const [low, high] = [Math.min(...across), Math.max(...across)];
      bar.setAttribute("d", upright
        ? `M${low} ${base}H${high}V${end}H${low}z` : `M${base} ${low}V${high}H${end}V${low}z`);
    });
  },
  arrow([node], { x, y }, [x0, y0, x1, y1]) {
    const [a, b, c, d] = [place(x, x0), place(y, y0), place(x, x1), place(y, y1)];
    const turn = Math.atan2(d - b, c - a), size = Math.min(8, Math.hypot(c - a, d - b));
    const wing = side => `${c - size * Math.cos(turn + side)} ${d - size * Math.sin(turn + side)}`;
    const [shaft, ...head] = node.querySelectorAll("path");
    head.forEach(part => part.remove());
    shaft.setAttribute("d", `M${a} ${b}L${c} ${d}M${wing(0.45)}L${c} ${d}L${wing(-0.45)}`);
  },
  image([node], { size: [w, h], limits: [low, high], colours }, data) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [w, h];
    const context = canvas.getContext("2d"), pixels = context.createImageData(w, h), table = atob(colours);
    for (let k = 0; k < w * h; k++) {
      const value = data[k];
      if (Number.isNaN(value)) continue; // stays transparent
      const colour = 4 * Math.min(255, Math.max(0, Math.floor((value - low) / (high - low) * 256)));
      for (let c = 0; c < 4; c++) pixels.data[4 * k + c] = table.charCodeAt(colour + c);
    }
    context.putImageData(pixels, 0, 0);
    const image = node.matches("image") ? node : node.querySelector("image");
    image.removeAttribute("xlink:href");
    image.removeAttributeNS("http://www.w3.org/1999/xlink", "href");
    image.setAttribute("href", canvas.toDataURL());
  },
  text([node], { template }, data) {
    node.querySelector("text").textContent = fill(template, () => data);
  },
};

// Controls --------------------------------------------------------------------------

const make = (tag, properties = {}, ...children) => {
  const { data = {}, ...rest } = properties, node = Object.assign(document.createElement(tag), rest);
  Object.assign(node.dataset, data);
  node.append(...children);
  return node;
};
// JupyterLab leaves its shortcuts alone where this stands: the arrow keys stay ours.
const quiet = { lmSuppressShortcuts: "true" };

// How many it takes to write a number.
const decimals = number => [...Array(16).keys()].find(digits => +number.toFixed(digits) === number) ?? 16;

// The handle moves by tidy numbers, and reaches both ends exactly.
function fromHandle(control, at) {
  const { low, high, log, whole, step } = control, [first, last] = log ? [Math.log10(low), Math.log10(high)] : [low, high];
  if (at <= first + 1e-9 * Math.abs(last - first)) return low;
  if (at >= last - 1e-9 * Math.abs(last - first)) return high;
  const value = log ? 10 ** at : at;
  if (whole) return Math.round(value);
  const tidy = log ? +value.toPrecision(Math.max(3, 1 + Math.ceil(-Math.log10(step)))) : +value.toFixed(decimals(step));
  return Math.min(high, Math.max(low, tidy));
}

const title = control => control.label || control.name;
const label = (control, id, className) => make("label", { htmlFor: id, textContent: title(control), className });

const typing = value => (value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value));

function slider(control, id, set) {
  const { low, high, log, step, unit, whole } = control, scaled = v => (log ? Math.log10(v) : v);
  const range = make("input", { type: "range", id, min: scaled(low), max: scaled(high), step, name: control.name, data: quiet });
  if (!whole) range.step = "any", range.dataset.step = step;
  const typed = make("input", { type: "number", min: low, max: high, step: whole ? 1 : "any", data: quiet });
  typed.setAttribute("aria-label", `${title(control)}, as a number`);
  const fault = make("p", { className: "live-fault", id: `${id}-fault` });
  fault.setAttribute("role", "alert");
  typed.setAttribute("aria-describedby", fault.id);
  range.addEventListener("input", () => set(fromHandle(control, +range.value)));
  range.addEventListener("keydown", event => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (!steps) return;
    event.preventDefault();
    const at = Math.min(+range.max, Math.max(+range.min, scaled(control.now()) + steps * step));
    set(fromHandle(control, at));
  });
  typed.addEventListener("input", () => {
    const value = typed.valueAsNumber, fits = value >= low && value <= high && (!whole || Number.isInteger(value));
    fault.textContent = fits ? "" : `${whole ? "A whole number" : "A number"} from ${show(low)} to ${show(high)}.`;
    typed.setAttribute("aria-invalid", String(!fits));
    if (fits) set(value, typed);
  });
  const parts = [label(control, id, "live-slider"), range,
    make("span", { className: "live-number" }, typed, unit ? ` ${unit}` : ""), fault];
  return [parts, (value, from) => {
    range.value = scaled(value);
    range.setAttribute("aria-valuetext", show(value) + (unit ? ` ${unit}` : ""));
    if (from === typed) return;
    typed.value = typing(+value.toPrecision(6));
    typed.setAttribute("aria-invalid", "false");
    fault.textContent = "";
  }];
}

function choice(control, id, set) {
  const select = make("select", { id, name: control.name, data: quiet },
    ...control.options.map(text => make("option", { textContent: text })));
  select.addEventListener("change", () => set(select.value));
  return [[label(control, id, ""), select, make("span", { className: "live-rest" })],
    value => { select.value = value; }];
}

function toggle(control, id, set) {
  const box = make("input", { type: "checkbox", id, name: control.name, data: quiet });
  box.addEventListener("change", () => set(box.checked));
  return [[label(control, id, ""), box, make("span", { className: "live-rest" })],
    value => { box.checked = value; }];
}

const BUILD = { slider, choice, switch: toggle };

async function copy(text, button) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  } catch {
    const line = make("input", { value: text, readOnly: true });
    line.setAttribute("aria-label", words);
    button.after(line);
    line.select();
    line.addEventListener("blur", () => line.remove());
  }
}

const python = value => (typeof value === "boolean" ? (value ? "True" : "False") : typeof value === "string" ? JSON.stringify(value) : String(value));

// Reading values --------------------------------------------------------------------

// A pointer, a finger or the arrow keys choose a cell of a heat map or one of the points.
function reader(svg, artist, node, data, speak) {
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  cursor.setAttribute("class", "live-cursor");
  const heat = artist.kind === "image", [w, h] = heat ? artist.size : [0, 0];
  const of = artist.title ? ` of “${artist.title}”` : "";
  const button = make("button", { type: "button", data: quiet, textContent: `Read a ${heat ? "cell" : "point"}${of}` });
  const hint = "Point at it, or use the arrow keys.";
  const reading = make("span", { className: "live-reading", textContent: hint });
  let at = null;
  const along = ([from, to], share) => from + (to - from) * share;
  const [across, down] = heat ? [artist.box.slice(0, 2), artist.box.slice(2)] : [];
  const corner = (column, row) => [place(artist.x, along(across, column / w)), place(artist.y, along(down, row / h))];
  const say = () => {
    if (!at) return "";
    const values = data();
    let words, box;
    if (heat) {
      const [row, column] = at, [rows, columns] = artist.labels, [rowName, columnName] = artist.names;
      // Without labels a cell is called by where it stands on the axes.
      const name = (kind, label, axis, share) => `${kind || "cell"} ${label === undefined ? show(along(axis, share)) : `“${label}”`}`;
      const [ofRow, ofColumn] = [name(rowName, rows[row], down, (row + 0.5) / h), name(columnName, columns[column], across, (column + 0.5) / w)];
      words = `${ofRow}, ${ofColumn}: ${show(values[row * w + column])}`;
      const [[a, b], [c, d]] = [corner(column, row), corner(column + 1, row + 1)];
      box = [Math.min(a, c), Math.min(b, d), Math.abs(c - a), Math.abs(d - b)];
    } else {
      const [k] = at, x = values[2 * k], y = values[2 * k + 1], [yName, xName] = artist.names;
      words = `point ${k + 1}: ${xName || "x"} ${show(x)}, ${yName || "y"} ${show(y)}`;
      box = [place(artist.x, x) - 6, place(artist.y, y) - 6, 12, 12];
    }
    ["x", "y", "width", "height"].forEach((key, i) => cursor.setAttribute(key, box[i]));
    node.parentNode.append(cursor);
    reading.textContent = words;
    return words;
  };
  const count = heat ? 0 : artist.points;
  const move = (rows, columns) => {
    at = at ?? [0, 0];
    at = heat ? [Math.min(h - 1, Math.max(0, at[0] + rows)), Math.min(w - 1, Math.max(0, at[1] + columns))]
      : [(at[0] + rows + columns + count) % count];
    speak(say(), 100);
  };
  button.addEventListener("click", () => move(0, 0));
  button.addEventListener("keydown", event => {
    if (event.key === "Escape") at = null, cursor.remove(), reading.textContent = hint;
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    move(artist.upside ? -step[0] : step[0], step[1]);
  });
  const point = event => {
    const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (heat) {
      const [left, right, top, bottom] = artist.box;
      const column = Math.floor((number(artist.x, spot.x) - left) / (right - left) * w);
      const row = Math.floor((number(artist.y, spot.y) - top) / (bottom - top) * h);
      if (column < 0 || column >= w || row < 0 || row >= h) return;
      at = [row, column];
    } else {
      const values = data();
      const far = k => Math.hypot(place(artist.x, values[2 * k]) - spot.x, place(artist.y, values[2 * k + 1]) - spot.y);
      const nearest = [...Array(count).keys()].reduce((a, b) => (far(a) <= far(b) ? a : b));
      if (!(far(nearest) <= 20)) return; // also where it is nowhere
      at = [nearest];
    }
    speak(say(), 500);
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  return [make("div", { className: "live-reader" }, button, reading), say];
}

// The figure ------------------------------------------------------------------------

function play(control, button, set) {
  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = `Play: ${title(control)}`; };
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  button.addEventListener("click", () => {
    if (timer) return stop();
    const { low, high, log, whole, step } = control, scaled = v => (log ? Math.log10(v) : v);
    const span = scaled(high) - scaled(low), least = calm ? span / 10 : whole ? span / 100 : step;
    const stride = whole ? Math.max(1, Math.round(least)) : least;
    if (control.now() >= high) set(low);
    timer = setInterval(() => {
      if (!button.isConnected) return stop();
      set(fromHandle(control, scaled(control.now()) + stride));
      if (control.now() >= high) stop();
    }, calm ? 700 : Math.min(400, Math.max(50, 8000 * stride / span)));
    button.textContent = `Pause: ${title(control)}`;
  });
  stop();
  return stop;
}

let figures = 0;

export default {
  async render({ model, el }) {
    const address = URL.createObjectURL(new Blob([model.get("program")], { type: "text/javascript" }));
    const { run } = await import(/* webpackIgnore: true */ address);
    URL.revokeObjectURL(address);
    const controls = model.get("controls").map(control => ({ ...control, now: () => model.get("values")[control.name] }));
    const defaults = Object.fromEntries(controls.map(control => [control.name, control.value]));
    const root = make("div", { className: "live-body", innerHTML: `<style>${CSS}</style>` });
    const figure = make("figure", { className: "picture",
      innerHTML: `<div class="scroll" tabindex="0" role="group" aria-label="Figure">${model.get("svg")}</div>` });
    if (model.get("caption")) figure.append(make("figcaption", { textContent: model.get("caption") }));
    const svg = figure.querySelector("svg"), find = id => svg.querySelector(`[id="${id}"]`);
    const parts = model.get("artists").map(artist => [artist,
      artist.kind === "bars" ? Array.from({ length: artist.count }, (_, k) => find(`${artist.id}[${k}]`)) : [find(artist.id)]]);
    const fields = make("fieldset", { className: "live-controls" }), buttons = make("div", { className: "live-buttons" });
    fields.setAttribute("aria-label", "Settings of the figure");
    const panel = make("div", { className: "live-panel" }, fields, buttons);
    const printed = make("p", { className: "live-printed" });
    const summary = make("p", { className: "live-summary" }), spoken = make("p", { className: "live-spoken" });
    spoken.setAttribute("aria-live", "polite");

    let out = {}, frame = 0, waiting = false, own = false, speaking = 0, saving = 0;
    const say = [], stops = [];
    const speak = (words, after) => {
      clearTimeout(speaking);
      speaking = setTimeout(() => { spoken.textContent = words; }, after);
    };
    const update = () => {
      const values = { ...model.get("values") };
      for (const control of controls) if (control.kind === "choice") values[control.name] = control.options.indexOf(values[control.name]);
      out = run(values);
      for (const [artist, nodes] of parts) draw[artist.kind](nodes, artist, list(out[artist.result]));
      summary.textContent = fill(model.get("summary"), name => out[name] ?? model.get("values")[name]);
      printed.textContent = `At ${controls.map(control => `${title(control)}: ${show(control.now())}`).join(", ")}.`;
      speak(summary.textContent, 500);
      for (const read of say) read();
      root.dispatchEvent(new CustomEvent("drawn", { bubbles: true, detail: { out } }));
    };
    // At once, but no more than once in a frame; what comes meanwhile is drawn in the next.
    const redraw = () => {
      if (frame) { waiting = true; return; }
      frame = requestAnimationFrame(() => {
        frame = 0;
        if (waiting) { waiting = false; redraw(); }
      });
      update();
    };
    const showing = {};
    const save = () => { saving ||= setTimeout(() => { saving = 0; model.save_changes(); }, 100); };
    let mine; // the settings as the reader has left them
    const set = () => {
      own = true; // a notebook's model tells of its own changes too
      model.set("values", mine);
      own = false;
    };
    const change = (values, from) => {
      mine = { ...model.get("values"), ...values };
      set();
      for (const name in values) showing[name](values[name], from);
      redraw();
      save();
    };
    const setting = name => (value, from) => change({ [name]: value }, from);
    const prefix = `live-${++figures}-${Math.random().toString(36).slice(2, 7)}`;
    for (const control of controls) {
      const [nodes, present] = BUILD[control.kind](control, `${prefix}-${control.name}`, setting(control.name));
      showing[control.name] = present;
      present(control.now());
      fields.append(...nodes);
      if (control.play) {
        const button = make("button", { type: "button", data: quiet });
        buttons.append(button);
        stops.push(play(control, button, setting(control.name)));
      }
    }
    const button = (text, action) => {
      const node = make("button", { type: "button", textContent: text, data: quiet });
      node.addEventListener("click", () => action(node));
      buttons.append(node);
    };
    button("Reset", () => {
      for (const stop of stops) stop();
      change(defaults);
    });
    button("Copy as Python", node => {
      const settings = controls.map(control => {
        const value = control.now(), at = control.options?.indexOf(value);
        return `${control.name}=${at === undefined ? python(value) : at}`;
      });
      const meant = controls.filter(control => control.options).map(control => `${control.name}: ${control.now()}`);
      const comment = meant.length ? `  # ${meant.join(", ")}` : "";
      copy(`${model.get("call")}(${settings.join(", ")})${comment}`, node);
    });
    const link = model.get("link");
    if (link) button("Copy link", node => copy(link(model.get("values")), node));
    for (const [artist, [node]] of parts) {
      // The sentence below says where a single point is.
      if (artist.kind !== "image" && !(artist.points > 1)) continue;
      const [row, read] = reader(svg, artist, node, () => list(out[artist.result]), speak);
      panel.append(row);
      say.push(read);
    }
    model.on("change:values", () => {
      if (own) return;
      if (saving) return set(); // an echo of what the reader has changed since
      for (const control of controls) showing[control.name](control.now());
      redraw();
    });
    root.append(figure, panel, printed, summary, spoken);
    el.append(root);
    update();
  },
};
