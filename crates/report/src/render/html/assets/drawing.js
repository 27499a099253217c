// The drawing under the rows of a diagram: lifelines of threads, locks held, arrows from sources.

/** Returns the arrows from sources to their receives; hidden steps have representatives, and folded
    ones no arrows. */
function arrowsOf(run, rowOf, foldOf) {
  const arrows = [];
  const isRow = (index) => rowOf.has(index);
  run.steps.forEach((step, index) => {
    if (step.source === null || step.source === undefined) return;
    if (foldOf.has(index) || foldOf.has(step.source)) return;
    const to = run.standIn(index, isRow);
    const from = run.standIn(step.source, isRow);
    if (to === undefined || from === undefined || to === from) return;
    const crosses = run.steps[from].thread !== run.steps[to].thread;
    arrows.push({ from, to, fromRow: rowOf.get(from), toRow: rowOf.get(to), crosses });
  });
  return arrows;
}

function heads(name) {
  const head = (kind) => svg("marker", {
    id: `${name}-${kind}`, viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "7", markerHeight: "7",
    orient: "auto-start-reverse", markerUnits: "userSpaceOnUse",
  }, svg("path", { d: "M0 0.6 L8 4 L0 7.4 Z", class: `head-${kind}` }));
  return svg("defs", {}, ["faint", "strong", "critical"].map(head));
}

function draw(diagram) {
  const { view, columns, first, last, width, selected, height: ROW } = diagram;
  const { run, rows, critical } = view;
  const y = (row) => (row - first + 0.5) * ROW;
  const at = (index) => {
    const column = columns.get(run.steps[index].thread);
    return [column.x + column.line, y(diagram.rowOf.get(index))];
  };
  const shapes = [heads(diagram.name)];
  const bottom = y(rows.length - 0.5);
  const ground = (row, kind) => row >= first && row < last
    && shapes.push(svg("rect", { class: kind, x: 0, y: y(row) - ROW / 2, width, height: ROW }));
  for (const index of view.differs || []) ground(diagram.rowOf.get(index), "ground differs-ground");
  if (selected !== null) ground(diagram.rowOf.get(selected), "ground selected-ground");
  for (const { x, line, born, gone } of columns.values()) {
    shapes.push(svg("line", { class: "life", x1: x + line, x2: x + line, y1: Math.max(-ROW, y(born)), y2: Math.min((last - first + 1) * ROW, y(gone)) }));
  }
  for (const span of run.spans) {
    const column = columns.get(span.thread);
    const from = diagram.rowAt(span.from);
    const to = Number.isFinite(span.end) ? diagram.rowAt(span.end) : rows.length;
    if (!column || from === undefined || to === undefined || to < first || from > last) continue;
    const top = Math.max(-ROW, y(from) - 6);
    const end = Math.min((last - first + 1) * ROW, Number.isFinite(span.end) ? y(to) + 6 : bottom);
    shapes.push(svg("rect", {
      class: span.shared ? "held shared" : "held", x: column.x + 10 + span.lane * 7, width: 5, rx: 2.5,
      y: top, height: Math.max(8, end - top), fill: `var(--thing-${span.thing % 8})`,
    }));
  }
  const inSight = (row) => row >= first && row < last;
  const chosen = [];
  for (const arrow of diagram.arrows) {
    const isChosen = arrow.from === selected || arrow.to === selected;
    if (isChosen) chosen.push(arrow);
    else if (arrow.crosses && (inSight(arrow.fromRow) || inSight(arrow.toRow))) shapes.push(arrowShape(diagram, at, arrow, "faint"));
  }
  for (const arrow of chosen.slice(0, 200)) shapes.push(arrowShape(diagram, at, arrow, "strong"));
  if (critical && critical.length === 2 && critical.every((index) => diagram.rowOf.has(index))) {
    shapes.push(arrowShape(diagram, at, { from: critical[0], to: critical[1] }, "critical"));
  }
  diagram.drawing.setAttribute("width", width);
  diagram.drawing.setAttribute("height", Math.max(0, last - first) * ROW);
  diagram.drawing.style.top = `${first * ROW}px`;
  diagram.drawing.replaceChildren(...shapes);
}

/** Draws an arrow: down from its start, along the gap between two rows, down beside the column of its
    end, and in from the left, so that it covers no text. */
function arrowShape(diagram, at, { from, to }, kind) {
  const [x1, y1] = at(from);
  const [x2, y2] = at(to);
  const beside = diagram.columns.get(diagram.view.run.steps[to].thread).x + 3;
  const way = Math.sign(y2 - y1) || 1;
  const turn = 5;
  let path;
  if (x1 === x2) {
    path = `M${x1 - 6} ${y1} L${beside + turn} ${y1} Q${beside} ${y1} ${beside} ${y1 + way * turn}`;
  } else {
    const gap = y1 + way * diagram.height / 2;
    const side = Math.sign(beside - x1);
    path = `M${x1} ${y1 + way * 6} L${x1} ${gap - way * turn} Q${x1} ${gap} ${x1 + side * turn} ${gap} `
      + `L${beside - side * turn} ${gap} Q${beside} ${gap} ${beside} ${gap + way * turn}`;
  }
  path += ` L${beside} ${y2 - way * turn} Q${beside} ${y2} ${beside + turn} ${y2} L${x2 - 7} ${y2}`;
  return svg("path", { class: `arrow ${kind}`, d: path, "marker-end": `url(#${diagram.name}-${kind})` });
}
