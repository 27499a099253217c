// The page of a run: all checks, failed ones first.

const CHECKS = DATA.map(([address, check]) => ({ address, ...check }));
const stateOf = (check) => check.failures.length ? "failed" : check.warnings.length ? "warned" : "passed";
const ORDER = ["failed", "warned", "passed"];
CHECKS.sort((a, b) => ORDER.indexOf(stateOf(a)) - ORDER.indexOf(stateOf(b))
  || a.program.localeCompare(b.program) || a.test.localeCompare(b.test) || a.number - b.number);

const unique = (list) => [...new Set(list)];

function badges(check) {
  const all = [
    ...unique(check.failures).map((kind) => el("span", { class: "badge fail" }, kind)),
    ...unique(check.warnings).map((kind) => el("span", { class: "badge warn" }, kind)),
  ];
  return all.length ? all : [el("span", { class: "badge pass" }, "passed")];
}

function line(check) {
  const name = check.number > 1 ? `${check.test} #${check.number}` : check.test;
  return el("tr", {},
    el("td", {}, badges(check)),
    el("th", { scope: "row" }, el("a", { href: check.address }, name), el("div", { class: "headline" }, check.headline)),
    el("td", {}, check.program),
    el("td", { class: "guarantee" }, check.guarantee.toLowerCase()),
    el("td", { class: "number" }, check.classes.toLocaleString("en")),
    el("td", { class: "number" }, check.executions.toLocaleString("en")),
    el("td", { class: "number" }, duration(check.milliseconds)));
}

const body = el("tbody");
const shownCount = el("p", { class: "muted", role: "status", id: "shown" });
let text = "";
let state = "all";

function list() {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (check) => (state === "all" || stateOf(check) === state)
    && words.every((word) => `${check.program} ${check.test} ${check.failures} ${check.warnings} ${check.guarantee}`.toLowerCase().includes(word));
  const shown = CHECKS.filter(fits);
  body.replaceChildren(...shown.map(line));
  shownCount.textContent = shown.length === CHECKS.length ? `All ${counted(CHECKS.length, "check")}.`
    : `${shown.length} of ${counted(CHECKS.length, "check")}.`;
}

const states = ["all", ...ORDER].map((name) => {
  const count = name === "all" ? CHECKS.length : CHECKS.filter((check) => stateOf(check) === name).length;
  const button = el("button", { type: "button", "aria-pressed": String(name === state), click: () => {
    state = name;
    states.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    list();
  } }, `${name} ${count}`);
  return button;
});

const sum = (key) => CHECKS.reduce((all, check) => all + check[key], 0);
const failed = CHECKS.filter((check) => check.failures.length).length;
const last = Math.max(0, ...CHECKS.map((check) => check.ended));

document.title = failed ? `${failed} of ${counted(CHECKS.length, "check")} failed` : `${counted(CHECKS.length, "check")} passed`;
document.getElementById("top").append(el("span", { class: "wordmark" }, "raddle"), el("span", { class: "grow" }), themeSwitch());
document.getElementById("main").append(
  el("section", { class: "card", "aria-labelledby": "title" },
    el("div", { class: "row" },
      el("h1", { id: "title" }, failed ? `${failed} of ${counted(CHECKS.length, "check")} failed` : `${counted(CHECKS.length, "check")}, none failed`),
      el("span", { class: failed ? "badge fail" : "badge pass" }, failed ? "failed" : "passed")),
    el("div", { class: "figures" },
      el("span", {}, counted(sum("classes"), "class", "classes")),
      el("span", {}, counted(sum("executions"), "execution")),
      el("span", {}, `${duration(sum("milliseconds"))} in all`),
      last > 0 && el("span", {}, "last written ", el("time", {}, new Date(last * 1000).toLocaleString())))),
  el("section", { class: "card", "aria-labelledby": "checks" },
    el("h2", { id: "checks" }, "Checks"),
    el("div", { class: "row tools" },
      el("input", { type: "search", placeholder: "Filter by name or kind", "aria-label": "Filter checks", input: (event) => { text = event.target.value; list(); } }),
      el("div", { class: "choice", role: "group", "aria-label": "Which checks" }, states),
      shownCount),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Checks of this run" },
      el("table", { class: "checks" },
        el("thead", {}, el("tr", {}, ["Result", "Check", "Program"].map((name) => el("th", { scope: "col" }, name)),
          el("th", { scope: "col", class: "guarantee" }, "Guarantee"),
          ["Classes", "Executions", "Time"].map((name) => el("th", { scope: "col", class: "number" }, name)))),
        body))));
list();
document.documentElement.dataset.ready = "yes";
