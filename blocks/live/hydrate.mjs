// Wakes the live figures of a static page: each holds its drawing and, as JSON, the rest.
import widget from "./live.mjs";

// #name?setting=value&... reopens the page with a figure's settings.
function asked(name) {
  const [id, query] = location.hash.slice(1).split(/\?(.*)/s);
  return id === name ? [...new URLSearchParams(query)] : [];
}

const READ = {
  slider: ({ low, high, whole }, text) => {
    const value = text.trim() === "" ? NaN : Number(text);
    return value >= low && value <= high && (!whole || Number.isInteger(value)) ? value : undefined;
  },
  switch: (_, text) => (text === "true" || (text === "false" ? false : undefined)),
  choice: ({ options }, text) => (options.includes(text) ? text : undefined),
};

// What the figure does not have, or cannot be set to, is passed over.
function withAsked(state) {
  for (const [name, text] of asked(state.name)) {
    const control = state.controls.find(control => control.name === name);
    const value = control && READ[control.kind](control, text);
    if (value !== undefined) state.values[name] = value;
  }
}

function model(state) {
  const heard = [];
  return {
    get: key => state[key],
    set: (key, value) => { state[key] = value; },
    save_changes() {},
    on: (_, listener) => heard.push(listener),
    changed: () => heard.forEach(listener => listener()),
  };
}

for (const el of document.querySelectorAll(".live-figure")) {
  const state = JSON.parse(el.querySelector("script").textContent);
  const values = { ...state.values };
  state.svg = el.querySelector("svg").outerHTML;
  state.caption = el.querySelector("figcaption")?.textContent ?? "";
  state.link = settings => `${location.href.split("#")[0]}#${state.name}?${new URLSearchParams(settings)}`;
  withAsked(state);
  const kept = [...el.children];
  const page = model(state);
  try {
    await widget.render({ model: page, el });
    kept.forEach(node => node.remove());
    el.dataset.live = "true";
  } catch (error) {
    el.replaceChildren(...kept, "This figure cannot move in your browser.");
    console.error(state.name, error);
  }
  addEventListener("hashchange", () => {
    if (!asked(state.name).length) return;
    state.values = { ...values };
    withAsked(state);
    page.changed();
    el.scrollIntoView({ block: "nearest" });
  });
  if (asked(state.name).length) el.scrollIntoView();
}
