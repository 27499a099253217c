// The page of a check.

const REPORT = DATA.report;
const SUMMARY = DATA.summary;
const findings = (list, kinds, isWarning) => list.map((failure, index) => ({ failure, isWarning, kind: kinds[index] }));
const FINDINGS = [...findings(REPORT.failures, SUMMARY.failures, false), ...findings(REPORT.warnings, SUMMARY.warnings, true)];
const checkName = SUMMARY.number > 1 ? `${SUMMARY.test} #${SUMMARY.number}` : SUMMARY.test;
const section = (id, title, ...content) => el("section", { class: "card", id, "aria-labelledby": `${id}-title` },
  el("h2", { id: `${id}-title` }, title), ...content);

/** Shows the lines of a message; `help:` begins advice. */
function message(text) {
  return text.split("\n").map((line) => line.startsWith("help:")
    ? el("p", { class: "help" }, el("strong", {}, "help"), rich(line.slice(5))) : el("p", {}, rich(line)));
}

function hero() {
  const failed = REPORT.failures.length;
  const badge = failed ? el("span", { class: "badge fail" }, failed > 1 ? `${failed} failures` : "failed")
    : el("span", { class: REPORT.warnings.length ? "badge warn" : "badge pass" }, REPORT.warnings.length ? "passed, with warnings" : "passed");
  const chooser = FINDINGS.length > 1 && el("nav", { class: "row findings", "aria-label": "Findings" },
    FINDINGS.map(({ kind, isWarning }, index) => el("button", { type: "button", "data-finding": index, click: () => choose(index) },
      `${index + 1} ${kind}${isWarning ? " (warning)" : ""}`)));
  return el("div", { class: "hero" },
    el("div", { class: "row" }, el("h1", {}, checkName), badge),
    el("p", { class: "muted" }, rich(SUMMARY.headline)), chooser);
}

function story({ failure, isWarning, kind }, run) {
  const ring = cycleDrawing(run, failure.waits);
  const executions = counted(failure.execution, "execution");
  return el("section", { class: "card story", id: "story", "aria-labelledby": "story-title" },
    el("div", { class: ring ? "told with-ring" : "told" },
      el("div", {},
        el("h2", { id: "story-title", class: isWarning ? "kind warned" : "kind" }, isWarning ? `Warning: ${kind}` : kind,
          el("span", { class: "muted" }, ` after ${executions} (${failure.search})`)),
        el("div", { class: "message" }, message(failure.message)),
        failure.critical && el("p", { class: failure.critical.is_about ? "why" : "note" }, failure.critical.is_about && el("strong", {}, "why "), rich(failure.critical.why)),
        failure.notes.map((note) => el("p", { class: "note" }, el("strong", {}, "note "), rich(note)))),
      ring),
    failure.replay && el("div", { class: "replay" }, el("h3", {}, "See it again"), command(failure.replay, "the command that replays it")),
    failure.waits.length > 0 && el("details", { open: !ring }, el("summary", {}, "Who waits for whom, with both lines"), waitsTable(run, failure.waits)));
}

const asMap = (receives) => new Map(receives.map((one) => [one.step, one]));

/** Returns the executions of a failure, by the labels of their buttons. */
function runsOf(failure) {
  const told = {
    run: new Run(failure.trace), marked: new Set(failure.marks.map((mark) => goalPlace(mark.place))), critical: failure.critical && [failure.critical.first, failure.critical.second].filter((step) => step !== null),
    why: failure.critical && failure.critical.why, receives: asMap(failure.receives), schedule: failure.schedule,
  };
  const other = (it) => it && { run: new Run(it.trace), schedule: it.schedule, preemptions: it.preemptions };
  return { told, found: other(failure.found), passing: other(failure.passing) };
}

const button = (text, pressed, click, attributes) =>
  el("button", { type: "button", "aria-pressed": String(pressed), click, ...attributes }, text);

/** Creates the diagram with its controls. */
function stepsSection(failure, runs) {
  const state = { which: "told", beside: false, every: false, rounds: true, foreign: true, open: new Set(), text: "" };
  const panel = el("aside", { class: "detail", "aria-label": "The selected step", id: "detail" });
  const side = el("div", { class: "panes" });
  const tools = el("div", { class: "row tools" });
  const legend = el("div", { class: "row legend muted" });
  const table = el("details", { class: "as-table" });
  const found = el("span", { class: "muted", role: "status", id: "found-steps" });
  const open = (diagram, fold) => {
    state.open.add(fold.id);
    show(true);
    diagram.choose(fold.steps[0]);
  };
  const select = (diagram, index) => {
    const go = (other) => diagram.choose(other);
    if (typeof index !== "number") {
      panel.replaceChildren(...foldDetail(diagram.view.run, index, () => {
        open(diagram, index);
        diagram.grid.focus();
      }));
      say(diagram.view.run.folded(index));
      return;
    }
    panel.replaceChildren(...detail(diagram.view, index, go).flat().filter(Boolean));
    const step = diagram.view.run.steps[index];
    say(`Step ${diagram.view.run.number(index)}, ${diagram.view.run.title(step.thread)}: ${step.what}`);
  };
  const main = new Diagram("main-run", "Steps of the failing execution", select, (fold) => open(main, fold));
  const other = new Diagram("passing-run", "Steps of the execution in which all goes well", select, (fold) => open(other, fold));
  main.partner = other;
  other.partner = main;
  const pane = (title, diagram) => el("div", { class: "pane" }, el("h3", {}, title), diagram.grid);
  const rowsOf = ({ run, critical }) => run.rows(state, new Set([...(critical || []), run.steps.length - 1]));
  const show = (isSame) => {
    const shown = runs[state.which];
    const rows = rowsOf(shown);
    const matches = new Set(shown.run.find(state.text, state.every));
    const beside = state.beside && runs.passing;
    side.className = beside ? "panes two" : "panes";
    around.classList.toggle("beside", Boolean(beside));
    const name = runs.found && state.which === "found" ? "As it was found" : "What happened";
    if (beside) {
      const both = compared({ run: shown.run, rows }, { run: runs.passing.run, rows: rowsOf(runs.passing) });
      side.replaceChildren(pane(name, main), pane("All goes well", other));
      main.show({ ...shown, matches, rows: both.rows[0], differs: both.differs[0] });
      other.show({ ...runs.passing, matches: new Set(runs.passing.run.find(state.text, state.every)), rows: both.rows[1], differs: both.differs[1] });
    } else {
      side.replaceChildren(pane(name, main));
      main.show({ ...shown, matches, rows });
    }
    legend.replaceChildren(...legendOf(shown.run, beside));
    asTable(table, shown.run, shown.run.shown(state.every));
    buttons();
    if (isSame) return;
    const start = shown.critical ? shown.critical[shown.critical.length - 1] : rows[rows.length - 1];
    if (start === undefined) panel.replaceChildren(el("p", { class: "muted" }, "Nothing happened before that."));
    else {
      main.choose(start, true);
      select(main, start);
    }
  };
  const set = (changes) => { Object.assign(state, changes); show(); };
  const buttons = () => {
    const focused = document.activeElement && document.activeElement.id;
    tools.replaceChildren(...[
      runs.found && el("div", { class: "choice", role: "group", "aria-label": "Which execution" },
        button("Shortest", state.which === "told", () => set({ which: "told" }), { id: "show-told" }),
        button("As found", state.which === "found", () => set({ which: "found" }), { id: "show-found" })),
      runs.passing && button("Beside one that passes", state.beside, () => set({ beside: !state.beside }), { id: "show-passing" }),
      button("Beginnings and ends too", state.every, () => set({ every: !state.every }), { id: "show-every" }),
      runs[state.which].run.rounds.length > 0 && button("Fold equal rounds", state.rounds, () => set({ rounds: !state.rounds, open: new Set() }), { id: "fold-rounds" }),
      runs[state.which].run.hasForeign && button("Fold foreign steps", state.foreign, () => set({ foreign: !state.foreign, open: new Set() }), { id: "fold-foreign" }),
      el("span", { class: "muted hint" }, "Arrow keys go through the steps."),
    ].filter(Boolean));
    if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
  };
  const count = () => {
    const all = [...main.view.matches];
    const at = all.indexOf(main.selected);
    found.textContent = !state.text.trim() ? "" : !all.length ? "No step has that."
      : at < 0 ? `${counted(all.length, "step")}. Enter goes to the next.` : `${at + 1} of ${counted(all.length, "step")}.`;
  };
  /** Selects the next or the previous step that was searched for. */
  const goTo = (way) => {
    const all = [...main.view.matches];
    if (!all.length) return;
    const at = typeof main.selected === "number" ? main.selected : main.selected ? main.selected.steps[0] : -1;
    const later = all.filter((index) => way > 0 ? index > at : index < at);
    main.choose(later.length ? later[way > 0 ? 0 : later.length - 1] : all[way > 0 ? 0 : all.length - 1]);
    count();
  };
  const search = el("div", { class: "row search" },
    el("input", {
      type: "search", id: "search-steps", placeholder: "Search the steps", "aria-label": "Search the steps", autocomplete: "off",
      input: (event) => {
        const { selected } = main;
        state.text = event.target.value;
        show(true);
        if (selected !== null) main.choose(selected, true);
        count();
      },
      keydown: (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        goTo(event.shiftKey ? -1 : 1);
      },
    }),
    el("button", { type: "button", id: "search-back", "aria-label": "Previous step found", click: () => goTo(-1) }, "↑"),
    el("button", { type: "button", id: "search-on", "aria-label": "Next step found", click: () => goTo(1) }, "↓"),
    found);
  const around = el("div", { class: "stage" }, side, panel);
  const made = section("steps", "Steps", tools, search, around, legend, table);
  return { made, show };
}

function legendOf(run, beside) {
  const things = [...new Set(run.spans.map((span) => span.thing))];
  const locks = things.slice(0, 8).map((thing) => el("span", {}, chip(thing), ` ${run.thing(thing).name}`));
  return [
    locks.length > 0 && el("span", {}, "Bars are locks held:"), ...locks,
    things.length > 8 && el("span", {}, `and ${things.length - 8} more`),
    el("span", {}, "Arrows go from where a step has its value or its turn."),
    beside && el("span", { class: "differs-key" }, "Tinted steps differ."),
  ].filter(Boolean);
}

const TABLE_ROWS = 500;

/** Creates a table of the steps, filled when it is first opened. */
function asTable(details, run, rows) {
  details.open = false;
  details.replaceChildren(el("summary", {}, `The same ${counted(rows.length, "step")} as a table`));
  details.ontoggle = () => {
    if (!details.open || details.children.length > 1) return;
    const body = el("tbody");
    let shown = 0;
    const more = el("button", { type: "button", click: () => add() }, "More steps");
    const add = () => {
      for (const index of rows.slice(shown, shown + TABLE_ROWS)) {
        const step = run.steps[index];
        body.append(el("tr", {}, el("td", { class: "number" }, run.number(index)), el("td", {}, run.title(step.thread)),
          el("td", {}, run.words(index)), el("td", { class: "mono" }, placeText(step.place))));
      }
      shown = Math.min(rows.length, shown + TABLE_ROWS);
      if (shown >= rows.length) more.remove();
    };
    add();
    details.append(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Steps as a table" }, el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "number" }, "Step"), ["Thread", "What", "Where"].map((name) => el("th", { scope: "col" }, name)))), body)),
    ...(shown < rows.length ? [more] : []));
  };
}

function scheduleSection(failure, index) {
  // A schedule without steps was too long for the page.
  const hasSteps = failure.schedule.includes(": begin");
  return section("schedule", "Schedule and text",
    hasSteps && el("details", {}, el("summary", {}, "The schedule, to keep as a test or to edit"), el("pre", { tabindex: "0", "aria-label": "Schedule" }, failure.schedule), command(failure.schedule, "the schedule")),
    (DATA.stories || [])[index] && el("details", {}, el("summary", {}, "The story as text"), el("pre", { tabindex: "0", "aria-label": "Story as text" }, DATA.stories[index])));
}

/** Returns the guarantee in a few words. The extent of a finished search does not mean that all is well. */
function guarantee(given) {
  const [name, bound] = typeof given === "string" ? [given] : Object.entries(given)[0];
  const fails = REPORT.failures.length && ["Exhaustive", "Reduced", "Paths", "Bounded", "Delayed"].includes(name) ? ", and at least one fails" : "";
  return fails ? extent(name, bound) + fails : extent(name, bound);
}

function extent(name, bound) {
  return {
    Exhaustive: () => "every behaviour was run", Reduced: () => "every behaviour was run that the reductions leave",
    Paths: () => "every combination of paths was run, without values that decide nothing",
    Bounded: () => `every behaviour up to ${counted(bound.preemptions, "preemption")} was run`,
    Delayed: () => `every schedule up to ${counted(bound.delays, "delay")} was run`,
    Sampled: () => "some behaviours were run", Replayed: () => "one schedule was run",
    Directed: () => "only what the alternative says was run",
  }[name]?.() ?? name;
}

/** Lists the marked lines, primary ones first. */
function linesSection(failure) {
  const marks = [...failure.marks].sort((a, b) => Number(b.is_primary) - Number(a.is_primary));
  if (!marks.length) return null;
  return section("lines", "Lines to look at", el("div", { class: "marks" },
    marks.map((mark) => el("div", {}, el("p", { class: mark.is_primary ? "mark-what primary" : "mark-what" }, rich(mark.what)), excerpt(mark.place)))));
}

// As `Estimate::of_all`: nothing if more classes were run than estimated.
function estimateOfAll(all, run) {
  if (!all || all.classes < run) return "";
  if (all.high > 1e12) return " of more than can be estimated";
  const [classes, low, high] = [all.classes, Math.max(all.low, run), Math.max(all.high, run)].map((it) => it.toLocaleString("en"));
  return low === high ? ` of ${classes}` : ` of about ${classes} (${low} to ${high})`;
}

function foundSection(failure) {
  const facts = [fact("strategy", REPORT.search.strategy), fact("seed", String(REPORT.search.seed))];
  if (failure) facts.push(fact("found", `in execution ${failure.execution.toLocaleString("en")} (${failure.search})`));
  facts.push(fact("executions", REPORT.executions.toLocaleString("en"), REPORT.discarded ? `, and ${REPORT.discarded.toLocaleString("en")} discarded` : ""),
    fact("classes", REPORT.classes.toLocaleString("en"), estimateOfAll(REPORT.estimate, REPORT.classes)),
    fact("guarantee", guarantee(REPORT.guarantee)), fact("time", duration(SUMMARY.milliseconds)));
  if (REPORT.modelled.length) facts.push(fact("models", `in place of ${REPORT.modelled.join(", ")}`));
  if (REPORT.too_long) facts.push(fact("cut", `${counted(REPORT.too_long, "execution")} at the limit of events`));
  if (REPORT.left_polling) facts.push(fact("left", "threads that outlive the program poll without end"));
  const short = failure && failure.minimised;
  if (short) {
    facts.push(fact("shortened", `from ${counted(short.events_before, "event")} to ${short.events_after}, from ${counted(short.preemptions_before, "preemption")} to ${short.preemptions_after}, in ${counted(short.runs, "run")}`,
      !short.is_minimal ? "" : short.preemptions_after > short.preemptions_before ? "; fewer preemptions fail only with a stale value" : "; fewer preemptions do not fail"));
  }
  if (REPORT.earlier) facts.push(fact("earlier", `${counted(REPORT.earlier.runs, "run")}, ${counted(REPORT.earlier.executions, "execution")}, ${counted(REPORT.earlier.classes, "class", "classes")}`));
  if (REPORT.resume) facts.push(fact("go on", command(REPORT.resume, "the command that goes on with the search")));
  if (SUMMARY.ended) facts.push(fact("when", el("time", {}, new Date(SUMMARY.ended * 1000).toLocaleString())));
  return section("found", failure ? "How it was found" : "How it was run", el("dl", { class: "facts wide" }, facts.map((pair) => el("div", {}, pair))));
}

const stage = el("div", { class: "finding" });

function choose(index) {
  document.querySelectorAll("[data-finding]").forEach((other) => other.setAttribute("aria-current", String(Number(other.dataset.finding) === index)));
  const finding = FINDINGS[index];
  const runs = runsOf(finding.failure);
  const steps = stepsSection(finding.failure, runs);
  stage.replaceChildren(...[story(finding, runs.told.run), steps.made, linesSection(finding.failure), foundSection(finding.failure), scheduleSection(finding.failure, index)].filter(Boolean));
  steps.show();
}

document.title = `${checkName} · ${REPORT.failures.length ? SUMMARY.failures[0] : "passed"}`;
document.getElementById("top").append(
  SUMMARY.index ? el("a", { class: "wordmark", href: SUMMARY.index }, "← all checks") : el("span", { class: "wordmark" }, "raddle"),
  el("span", {}, SUMMARY.program), el("span", { class: "grow" }), themeSwitch());
const [coverage, branches] = [coverageSection(REPORT), branchSection(REPORT)];
document.getElementById("main").append(hero(), FINDINGS.length ? stage : foundSection(null), ...[branches, coverage].filter(Boolean));
if (FINDINGS.length) choose(Math.max(0, Math.min(FINDINGS.length, Number((location.hash.match(/^#failure-(\d+)$/) || [])[1] || 1)) - 1));
requestAnimationFrame(() => {
  performance.mark("raddle-ready");
  document.documentElement.dataset.ready = "yes";
});
