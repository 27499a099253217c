// Details of one step: its source line, its source and the alternatives.

const AROUND = 4;

/** Shows the lines around a place, with the place highlighted. */
function excerpt(place) {
  const lines = (DATA.excerpts || {})[place.file];
  const shown = [];
  for (let number = Math.max(1, place.line - AROUND); number <= place.line + AROUND; number++) {
    if (!lines || lines[number] === undefined) continue;
    const here = number === place.line;
    shown.push(el("span", { class: here ? "line here" : "line" },
      el("span", { class: "line-number", "aria-hidden": "true" }, String(number)),
      here ? el("mark", {}, lines[number] || " ") : lines[number] || " "));
  }
  const name = el("figcaption", { class: "mono muted" }, `${place.file}:${place.line}`);
  if (!shown.length) return el("figure", { class: "excerpt" }, name);
  return el("figure", { class: "excerpt" }, name, el("pre", { tabindex: "0", "aria-label": `Source around ${placeText(place)}` }, shown));
}

/** Creates a button that selects another step. */
function stepLink(run, index, go) {
  const step = run.steps[index];
  return el("button", { type: "button", class: "link", click: () => go(index) },
    `${run.numbers[index] === null ? "" : `step ${run.number(index)}: `}${run.title(step.thread)} ${step.waits ? "waits: " : ""}${step.what}`);
}

function alternatives(run, received, go) {
  const item = (source) => el("li", { class: source.is_seen ? "source seen" : "source" },
    el("div", { class: "row" },
      el("span", {}, source.what), source.is_seen && el("span", { class: "badge" }, "what it saw"),
      source.step !== null && source.step !== undefined && source.step < run.steps.length
        && el("button", { type: "button", class: "link", click: () => go(source.step) }, `step ${run.number(source.step)}`)),
    source.command && command(source.command, `the command that runs it with ${source.what}`));
  return el("section", { class: "alternatives", "aria-label": "What it could have seen" },
    el("h3", {}, "What it could have seen"),
    el("ul", {}, received.sources.map(item)));
}

function fact(name, ...values) {
  return [el("dt", {}, name), el("dd", {}, ...values)];
}

const MOST_STATE = 40;

/** Shows the values of variables and the owners of locks after a step. */
function stateAfter(run, index, go) {
  const { thread } = run.steps[index];
  const link = (step) => el("button", { type: "button", class: "link", click: () => go(step) }, run.number(step));
  const row = (thing, is, since) => el("tr", {}, el("th", { scope: "row" }, run.thing(thing).name), el("td", {}, is), el("td", { class: "number" }, link(since)));
  const owners = run.owners(index).map((span) => row(span.thing,
    [chip(span.thing), ` held by ${run.title(span.thread)}${span.thread === thread ? " (this thread)" : ""}${span.shared ? ", shared" : ""}`], span.from));
  const values = [...run.values(index)].filter(([thing]) => run.thing(thing)).map(([thing, { value, since }]) => row(thing, value, since));
  const rows = [...owners, ...values];
  if (!rows.length) return null;
  return el("section", { class: "state", "aria-labelledby": "state-title" },
    el("h3", { id: "state-title" }, "Locks and variables after this step"),
    el("table", {},
      el("thead", {}, el("tr", {}, ["Name", "State"].map((name) => el("th", { scope: "col" }, name)), el("th", { scope: "col", class: "number" }, "Since"))),
      el("tbody", {}, rows.slice(0, MOST_STATE))),
    rows.length > MOST_STATE && el("p", { class: "muted" }, `and ${rows.length - MOST_STATE} more`),
    values.length > 0 && run.steps.some((step) => step.what.endsWith(", stale"))
      && el("p", { class: "muted" }, "Values are the latest in coherence order; a stale load takes an older one."));
}

/** Describes a fold, with a button that opens it. */
function foldDetail(run, fold, open) {
  return [
    el("h3", { id: "detail-title" }, fold.rounds ? "Equal rounds" : "Foreign steps"),
    el("p", { class: "said" }, run.folded(fold)),
    el("p", { class: "muted" }, fold.rounds
      ? `Threads, operations, lines and orderings are the same in all ${fold.rounds.toLocaleString("en")} rounds. ${fold.counts ? "Numbers change by the same amount in each." : "The values are the same, too."}`
      : "Their lines are in the standard library, in dependencies or in headers of the system."),
    el("button", { type: "button", id: "open-fold", click: open }, `Show ${counted(fold.steps.length, "step")}`),
  ];
}

function detail(view, index, go) {
  const { run, critical, why, receives } = view;
  const step = run.steps[index];
  const facts = [];
  const thing = step.thing === null || step.thing === undefined ? null : run.thing(step.thing);
  if (step.ordering) facts.push(...fact("ordering", el("code", {}, step.ordering)));
  if (thing) facts.push(...fact("what", thing.name, thing.made && el("span", { class: "muted" }, `, made at ${placeText(thing.made)}`)));
  if (step.source !== null && step.source !== undefined && run.steps[step.source]) {
    facts.push(...fact("after", stepLink(run, step.source, go)));
  }
  const later = run.receivers.get(index) || [];
  if (later.length) {
    facts.push(...fact("before", later.slice(0, 6).map((other) => stepLink(run, other, go)),
      later.length > 6 && el("span", { class: "muted" }, `and ${later.length - 6} more`)));
  }
  const held = run.held(index);
  if (held.length) {
    facts.push(...fact("holds", held.map((span) => el("div", {}, chip(span.thing), ` ${run.thing(span.thing).name}`,
      el("span", { class: "muted" }, ` since step ${run.number(span.from)}${span.shared ? ", shared" : ""}`)))));
  }
  const received = receives && receives.get(index);
  return [
    el("h3", { id: "detail-title" }, `Step ${run.number(index)} · ${run.title(step.thread)}`),
    el("p", { class: "said mono" }, step.waits ? "waits: " : "", step.what),
    critical && critical.includes(index) && el("p", { class: "why" }, rich(why)),
    el("dl", { class: "facts" }, facts),
    received && alternatives(run, received, go),
    stateAfter(run, index, go),
    step.place && excerpt(step.place),
  ];
}

/** Returns the colour of a lock. */
function chip(thing) {
  const made = el("span", { class: "chip", "aria-hidden": "true" });
  made.style.background = `var(--thing-${thing % 8})`;
  return made;
}
