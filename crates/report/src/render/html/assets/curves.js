// Tables and growth curves of coverage.

/** Draws a curve over executions, with a logarithmic x axis. */
function curve(label, points, unit) {
  if (points.length < 2) return null;
  const [width, height, left, right, top, bottom] = [440, 170, 52, 14, 12, 30];
  const most = Math.max(1, ...points.map(([, value]) => value));
  const end = Math.log2(Math.max(2, points[points.length - 1][0]));
  const x = (runs) => left + (width - left - right) * Math.log2(Math.max(1, runs)) / end;
  const y = (value) => height - bottom - (height - top - bottom) * value / most;
  const short = (value) => value >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : value >= 1e4 ? `${Math.round(value / 1e3)}k` : String(value);
  const path = points.map(([runs, value], index) => `${index ? "L" : "M"}${x(runs).toFixed(1)} ${y(value).toFixed(1)}`).join(" ");
  const shapes = [0, most / 2, most].filter((value) => Number.isInteger(value)).map((value) => [
    svg("line", { class: "grid-line", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
    svg("text", { class: "axis", x: left - 8, y: y(value) + 4, "text-anchor": "end" }, short(value)),
  ]);
  const [last, reached] = points[points.length - 1];
  shapes.push(svg("text", { class: "axis", x: left, y: height - 10, "text-anchor": "start" }, "1"),
    svg("text", { class: "axis", x: width - right, y: height - 10, "text-anchor": "end" }, `${short(last)} executions`),
    svg("path", { class: "curve", d: path }),
    ...points.map(([runs, value]) => svg("circle", { class: "point", cx: x(runs), cy: y(value), r: 2.6 })));
  const words = `${label}: ${reached.toLocaleString("en")} ${unit} after ${last.toLocaleString("en")} executions`;
  return el("figure", { class: "growth" }, el("figcaption", {}, el("h3", {}, label), el("span", { class: "muted" }, `${reached.toLocaleString("en")} ${unit}`)),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, shapes));
}

function growthCurves(report) {
  const covered = (report.coverage && report.coverage.growth) || [];
  return [
    curve("Classes", (report.growth || []).map((point) => [point.runs, point.classes]), "classes"),
    curve("Requirements", covered.map((point) => [point.executions, point.requirements]), "requirements"),
    curve("Pairs in one execution", covered.map((point) => [point.executions, point.combinations]), "pairs"),
  ].filter(Boolean);
}

const goalPlace = (place) => `${place.file}:${place.line}:${place.column}`;
const STANDING = { Yes: "covered", NotTried: "not tried", OrderedByLock: "ordered by a lock", NeverConcurrent: "never concurrent", Impossible: "impossible, as every behaviour was run" };

function counts(goals, keysOf) {
  const table = new Map();
  for (const [goal, covered] of goals) {
    for (const key of keysOf(goal)) {
      if (!table.has(key)) table.set(key, { covered: 0, known: 0, infeasible: 0 });
      const row = table.get(key);
      row.known++;
      if (covered === "Yes") row.covered++;
      else if (covered !== "NotTried") row.infeasible++;
    }
  }
  return table;
}

function countsTable(caption, first, table) {
  const line = ([name, { covered, known, infeasible }]) => {
    const bar = el("span", { class: "bar", "aria-hidden": "true" }, el("span"));
    bar.firstChild.style.width = `${known - infeasible > 0 ? 100 * covered / (known - infeasible) : 100}%`;
    return el("tr", {}, el("th", { scope: "row", class: "mono" }, name), el("td", { class: "bar-cell" }, bar),
      [covered, known, infeasible].map((value) => el("td", { class: "number" }, value.toLocaleString("en"))));
  };
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", { class: "counts" },
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, first), el("td"), ["Covered", "Known", "Infeasible"].map((name) => el("th", { scope: "col", class: "number" }, name)))),
    el("tbody", {}, [...table].map(line))));
}

function openGoals(goals) {
  const open = goals.filter(([, covered]) => covered !== "Yes");
  if (!open.length) return null;
  const line = ([goal, covered]) => el("tr", {}, el("td", {}, goal.metric),
    el("td", { class: "mono" }, goalPlace(goal.first), goal.second && ` → ${goalPlace(goal.second)}`), el("td", {}, STANDING[covered] || covered));
  return el("details", {}, el("summary", {}, `${counted(open.length, "requirement")} not covered`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Not covered" }, el("table", {},
      el("thead", {}, el("tr", {}, ["Metric", "Where", "Why"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, open.slice(0, 500).map(line)))),
    open.length > 500 && el("p", { class: "muted" }, `and ${open.length - 500} more`));
}

function coverageSection(report) {
  const goals = (report.coverage && report.coverage.goals) || [];
  const curves = growthCurves(report);
  if (!goals.length && !curves.length) return null;
  const places = (goal) => goal.second ? [...new Set([goalPlace(goal.first), goalPlace(goal.second)])] : [goalPlace(goal.first)];
  return el("section", { class: "card", id: "coverage", "aria-labelledby": "coverage-title" },
    el("h2", { id: "coverage-title" }, goals.length ? "Coverage" : "Growth"),
    el("div", { class: "curves" }, curves),
    goals.length > 0 && el("div", { class: "tables" },
      countsTable("By metric", "Metric", counts(goals, (goal) => [goal.metric])),
      countsTable("By place", "Place", counts(goals, places))),
    goals.length > 0 && openGoals(goals));
}
