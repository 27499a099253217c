// Shared by both kinds of pages: elements, copying, the theme.

const DATA = JSON.parse(document.getElementById("data").textContent);
const NAMESPACE = "http://www.w3.org/2000/svg";

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Creates an HTML element; attributes that are functions become event listeners. */
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** Creates an SVG element. */
const svg = (tag, attributes, ...children) => fill(document.createElementNS(NAMESPACE, tag), attributes, children);

/** Returns the parts of a text, with those in backticks as code. */
const rich = (text) => text.split(/`([^`\n]+)`/).map((part, index) => index % 2 ? el("code", {}, part) : part);

const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many || one + "s"}`;

const duration = (milliseconds) =>
  milliseconds < 1 ? "under 1 ms" : milliseconds < 1000 ? `${Math.round(milliseconds)} ms`
    : milliseconds < 120000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${Math.round(milliseconds / 60000)} min`;

/** Announces a text to screen readers. */
function say(text) {
  document.getElementById("status").textContent = text;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { "aria-hidden": "true", class: "quiet" }, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** Creates a command line with a button that copies it. */
function command(text, what) {
  const button = el("button", {
    type: "button", class: "copy", "aria-label": `Copy ${what}`,
    click: async () => {
      await copy(text);
      button.textContent = "Copied";
      say(`Copied ${what}`);
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    },
  }, "Copy");
  return el("div", { class: "command" }, el("code", { tabindex: "0", role: "group", "aria-label": what }, text), button);
}

const THEMES = ["auto", "light", "dark"];
const isDark = matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  try { return localStorage.getItem("raddle-theme") || "auto"; } catch { return "auto"; }
}

function dress(theme) {
  const dark = theme === "dark" || (theme === "auto" && isDark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

/** Cycles the theme through system, light and dark, and stores it. */
function themeSwitch() {
  let theme = remembered();
  const button = el("button", { type: "button", id: "theme", click: () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try { localStorage.setItem("raddle-theme", theme); } catch { /* without storage the theme lasts as long as the page */ }
    show();
  } });
  const show = () => {
    dress(theme);
    button.textContent = `Theme: ${theme}`;
  };
  isDark.addEventListener("change", () => dress(theme));
  show();
  return button;
}
dress(remembered());
