// The cycle of a deadlock as a ring: threads, the locks they wait for and the holders.

const MOST_DRAWN = 8;

/** Returns the threads of the cycle in order; empty if there is no cycle. */
function ringOf(waits) {
  const next = new Map(waits.filter((wait) => wait.on !== null && wait.on !== undefined).map((wait) => [wait.thread, wait]));
  for (const start of next.keys()) {
    const ring = [];
    let thread = start;
    while (next.has(thread) && !ring.includes(next.get(thread))) {
      ring.push(next.get(thread));
      thread = next.get(thread).on;
    }
    if (ring.length && thread === start) return ring;
  }
  return [];
}

const cut = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

function cycleDrawing(run, waits) {
  const ring = ringOf(waits);
  if (!ring.length || ring.length > MOST_DRAWN) return null;
  const count = ring.length * 2;
  const radius = ring.length === 1 ? [120, 60] : ring.length === 2 ? [170, 78] : [210, 60 + 30 * ring.length];
  const size = [radius[0] * 2 + 220, radius[1] * 2 + 92];
  const spot = (position) => {
    const angle = Math.PI + position * 2 * Math.PI / count;
    return [size[0] / 2 + radius[0] * Math.cos(angle), size[1] / 2 + radius[1] * Math.sin(angle)];
  };
  const shapes = [];
  // Labels may be wider than the ring, and the drawing must have them whole.
  let [left, right] = [0, size[0]];
  const arrow = (from, to, label, kind) => {
    const [x1, y1] = spot(from);
    const [x2, y2] = spot(to);
    const edge = (x, y, dx, dy) => {
      const t = Math.min(dx === 0 ? Infinity : 68 / Math.abs(dx), dy === 0 ? Infinity : 21 / Math.abs(dy));
      return [x + dx * t, y + dy * t];
    };
    const [sx, sy] = edge(x1, y1, x2 - x1, y2 - y1);
    const [ex, ey] = edge(x2, y2, x1 - x2, y1 - y2);
    shapes.push(svg("path", { class: `ring-arrow ${kind}`, d: `M${sx} ${sy} L${ex} ${ey}`, "marker-end": "url(#ring-head)" }));
    const middle = [(sx + ex) / 2, (sy + ey) / 2];
    const outward = middle[1] < size[1] / 2 ? -6 : 16;
    const anchor = middle[0] < size[0] / 2 ? "end" : "start";
    const x = middle[0] + (anchor === "end" ? -12 : 12);
    const width = cut(label, 26).length * 8;
    left = Math.min(left, anchor === "end" ? x - width : x);
    right = Math.max(right, anchor === "end" ? x : x + width);
    shapes.push(svg("text", { class: "ring-label", x, y: middle[1] + outward, "text-anchor": anchor }, cut(label, 26)));
  };
  const box = (position, text, kind) => {
    const [x, y] = spot(position);
    shapes.push(svg("rect", { class: `ring-${kind}`, x: x - 66, y: y - 17, width: 132, height: 34, rx: kind === "thread" ? 8 : 17 }));
    shapes.push(svg("text", { class: `ring-text ${kind}`, x, y: y + 5, "text-anchor": "middle" }, cut(text, 17)));
  };
  const line = (place) => place ? `${fileName(place.file)}:${place.line}` : "";
  ring.forEach((wait, index) => {
    const thread = index * 2;
    arrow(thread, thread + 1, `waits ${line(wait.place)}`, "waiting");
    arrow(thread + 1, (thread + 2) % count, wait.taken ? `has it ${line(wait.taken)}` : "", "having");
  });
  ring.forEach((wait, index) => {
    box(index * 2, run.title(wait.thread), "thread");
    box(index * 2 + 1, wait.what.replaceAll("`", ""), "thing");
  });
  const head = svg("defs", {}, svg("marker", {
    id: "ring-head", viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "9", markerHeight: "9", orient: "auto", markerUnits: "userSpaceOnUse",
  }, svg("path", { d: "M0 0.6 L8 4 L0 7.4 Z", class: "ring-head" })));
  const sentence = ring.map((wait) => `${run.title(wait.thread)} waits for ${wait.what.replaceAll("`", "")}, which ${run.title(wait.on)} has`).join("; ");
  return el("figure", { class: "ring" },
    svg("svg", { viewBox: `${left} 0 ${right - left} ${size[1]}`, role: "img", "aria-label": sentence }, head, shapes));
}

/** Returns the same as a list, with both source lines of every edge. */
function waitsTable(run, waits) {
  if (!waits.length) return null;
  const place = (it) => el("td", { class: "mono" }, it ? placeText(it) : "");
  const line = (wait) => el("tr", {}, el("th", { scope: "row" }, run.title(wait.thread)),
    el("td", {}, rich(wait.what)), place(wait.place),
    el("td", {}, wait.on === null || wait.on === undefined ? "no thread" : run.title(wait.on)), place(wait.taken));
  const heads = ["Thread", "waits for", "at", "which is up to", "taken at"];
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who waits for whom" }, el("table", { class: "waits" },
    el("thead", {}, el("tr", {}, heads.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, waits.map(line))));
}
