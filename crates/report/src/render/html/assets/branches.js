// The branches that interleaving decides, as nested lists.

function branchStep(step) {
  return [el("code", {}, step.what), step.place && ` at ${step.place.file}:${step.place.line}`];
}

const branchNumber = (occurrence) => occurrence === null ? "" : `, number ${occurrence + 1}`;

function branchSource(source) {
  if (source.is_absent) return "nothing, as it is not performed";
  const from = source.send ? [branchStep(source.send), ` by ${source.thread}`] : "what was there first";
  return [from, branchNumber(source.occurrence), source.outcome > 0 && `, with outcome ${source.outcome}`];
}

function branchGraph(graph) {
  if (graph.outcome) return branchStep(graph.outcome);
  const { receive, thread, occurrence, sources } = graph.choice;
  return [branchStep(receive), ` by ${thread}${branchNumber(occurrence)} takes`,
    el("ul", {}, sources.map(([source, rest]) => el("li", {}, branchSource(source), rest.outcome ? " → " : ", and ", branchGraph(rest))))];
}

function branchItem(branch) {
  return el("li", {}, el("p", {}, "after ", branchStep(branch.after), branch.result && `, which ${branch.result}`, ` (${branch.threads.join(", ")})`),
    branch.graphs.length > 0 ? branch.graphs.map((graph) => el("div", {}, branchGraph(graph)))
      : [el("p", {}, "no sources of receives were found that decide it"), el("ul", {}, branch.outcomes.map(({ step }) => el("li", {}, branchStep(step))))]);
}

function guidelines(given) {
  const parts = [[given.followed, "of these by directed executions"], [given.impossible, "impossible"], [given.not_followed, "not reached"]];
  const known = parts.filter(([number]) => number > 0).map(([number, what]) => `, ${number} ${what}`);
  return `sources of receives: ${given.seen} seen${known.join("")}${given.is_open ? ", others not tried" : ""}`;
}

function branchSection(report) {
  const all = report.branches;
  if (!all || !all.classes) return null;
  const extent = all.is_complete ? "every class was run" : `${counted(all.classes, "class", "classes")} recorded; there may be others`;
  return el("section", { class: "card", id: "branches", "aria-labelledby": "branches-title" },
    el("h2", { id: "branches-title" }, `Branches decided by interleaving: ${all.branches.length}`),
    el("p", { class: "muted" }, extent),
    el("ol", {}, all.branches.slice(0, 200).map(branchItem)),
    all.branches.length > 200 && el("p", { class: "muted" }, `and ${all.branches.length - 200} more`),
    all.one_sided.length > 0 && el("details", {}, el("summary", {}, `${counted(all.one_sided.length, "operation")} with one result only`),
      el("ul", {}, all.one_sided.slice(0, 200).map((one) => el("li", {}, branchStep(one.operation), `: always ${one.result}, never ${one.never}`)))),
    el("p", { class: "muted" }, guidelines(all.guidelines)));
}
