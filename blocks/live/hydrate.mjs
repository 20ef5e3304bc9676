// Wakes the live figures of a static page: each holds its drawing and, as JSON, the rest.
import widget from "./live.mjs";

// #name?setting=value&... reopens the page with a figure's settings.
function asked(name) {
  const [id, query] = decodeURIComponent(location.hash.slice(1)).split("?");
  return id === name ? [...new URLSearchParams(query)] : [];
}

function withAsked(state) {
  for (const [name, text] of asked(state.name)) {
    const control = state.controls.find(control => control.name === name);
    const value = { slider: () => Number(text), switch: () => text === "true", choice: () => text }[control?.kind]?.();
    const fits = control?.kind === "slider"
      ? value >= control.low && value <= control.high && (!control.whole || Number.isInteger(value))
      : control?.kind === "switch" || control?.options?.includes(value);
    if (fits) state.values[name] = value;
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
  const { values } = state;
  state.svg = el.querySelector("svg").outerHTML;
  state.caption = el.querySelector("figcaption")?.textContent ?? "";
  state.link = settings => `${location.origin}${location.pathname}#${state.name}?${new URLSearchParams(settings)}`;
  withAsked(state);
  const kept = [...el.children];
  const page = model(state);
  try {
    await widget.render({ model: page, el });
    kept.forEach(node => node.remove());
    el.dataset.live = "true";
  } catch (error) {
    el.append(Object.assign(document.createElement("p"), { textContent: "This figure cannot move in your browser." }));
    console.error(state.name, error);
  }
  addEventListener("hashchange", () => {
    if (!asked(state.name).length) return;
    state.values = { ...values };
    withAsked(state);
    page.changed();
  });
}
if (location.hash.includes("?")) document.getElementById(decodeURIComponent(location.hash.slice(1)).split("?")[0])?.scrollIntoView();
