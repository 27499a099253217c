// The space-time diagram: threads are columns, time goes down. Only visible rows are elements, so that
// ten thousand steps scroll as smoothly as ten; `aria-rowcount` has the number of all rows.

const ROW = 30;
// On narrow screens the words of a step take up to three lines.
const TALL_ROW = 84;
const isNarrow = matchMedia("(max-width: 640px)");
const GUTTER = 54;
const NARROWEST = 160;
const NARROWEST_TALL = 128;
// Narrower columns have no room for two marks beside the words of a step.
const CLOSE = 240;
const SPARE = 10;
// Steps that end their thread.
const ENDS = ["panic", "failed assertion", "crash", "bad access", "second free", "uninitialised read", "end of the program", "loss of control"];

class Diagram {
  /** Calls `select` for a selected step or fold, and `open` with the fold of a step to be shown. */
  constructor(name, label, select, open) {
    this.name = name;
    this.select = select;
    this.open = open;
    this.selected = null;
    this.elements = new Map();
    this.heads = el("div", { class: "heads", role: "row", "aria-rowindex": "1" });
    this.drawing = svg("svg", { class: "drawing", "aria-hidden": "true" });
    this.body = el("div", { class: "rows", role: "rowgroup", click: (event) => this.click(event) });
    this.canvas = el("div", { class: "canvas", role: "presentation" }, this.drawing, this.body);
    this.grid = el("div", {
      class: "diagram", role: "grid", tabindex: "0", "aria-label": label, "aria-readonly": "true",
      keydown: (event) => this.key(event), scroll: () => this.scrolled(),
    }, el("div", { role: "rowgroup", class: "head" }, this.heads), this.canvas);
    new ResizeObserver(() => this.layout()).observe(this.grid);
  }

  /** Shows the rows `view.rows` of `view.run`: the index of a step, a fold, or -1 for a gap. */
  show(view) {
    this.view = view;
    this.rowOf = new Map();
    this.foldOf = new Map();
    view.rows.forEach((index, row) => {
      if (index === -1) return;
      this.rowOf.set(index, row);
      if (typeof index !== "number") index.steps.forEach((step) => this.foldOf.set(step, index));
    });
    this.arrows = arrowsOf(view.run, this.rowOf, this.foldOf);
    this.threads = view.run.threads(view.rows);
    this.selected = null;
    this.grid.setAttribute("aria-rowcount", view.rows.length + 1);
    this.grid.setAttribute("aria-colcount", this.threads.length + 1);
    this.grid.removeAttribute("aria-activedescendant");
    this.grid.scrollTop = 0;
    this.layout();
  }

  layout() {
    if (!this.view) return;
    const { run, rows } = this.view;
    this.height = isNarrow.matches ? TALL_ROW : ROW;
    this.grid.classList.toggle("tall", isNarrow.matches);
    const room = this.grid.clientWidth - GUTTER;
    const width = Math.max(isNarrow.matches ? NARROWEST_TALL : NARROWEST, Math.floor(room / Math.max(1, this.threads.length)));
    this.grid.classList.toggle("close", !isNarrow.matches && width < CLOSE);
    this.columns = new Map(this.threads.map((thread, column) => {
      const lanes = Math.max(0, ...run.spans.filter((span) => span.thread === thread).map((span) => span.lane + 1));
      const own = run.byThread[thread].map((index) => this.rowAt(index)).filter((row) => row !== undefined);
      return [thread, { column, x: GUTTER + column * width, width, line: 10 + lanes * 7 + 6, born: own[0], gone: own[own.length - 1] }];
    }));
    this.width = GUTTER + width * this.threads.length;
    this.canvas.style.height = `${rows.length * this.height}px`;
    this.canvas.style.width = this.heads.style.width = `${this.width}px`;
    const head = (text, x, wide, column, title) => {
      const made = el("div", { role: "columnheader", "aria-colindex": column, class: "column", title }, text);
      made.style.left = `${x}px`;
      made.style.width = `${wide}px`;
      return made;
    };
    this.heads.replaceChildren(head("step", 0, GUTTER, 1), ...this.threads.map((thread) => {
      const { x, width: wide, column, line } = this.columns.get(thread);
      const { spawned } = run.trace.threads[thread];
      const made = head(run.title(thread), x, wide, column + 2, spawned ? `created at ${placeText(spawned)}` : null);
      made.style.paddingLeft = `${line - 5}px`;
      return made;
    }));
    this.elements.clear();
    this.body.replaceChildren();
    if (this.selected !== null) this.reveal(this.selected);
    this.render();
  }

  /** Returns the row of a step, or of the fold that hides it. */
  rowAt(index) {
    const row = this.rowOf.get(index);
    return row === undefined ? this.rowOf.get(this.foldOf.get(index)) : row;
  }

  /** Scrolls to the column of a step. */
  reveal(index) {
    if (typeof index !== "number") return;
    const { x, width } = this.columns.get(this.view.run.steps[index].thread);
    const { scrollLeft: left, clientWidth: sight } = this.grid;
    if (x < left || x + Math.min(width, sight) > left + sight) this.grid.scrollLeft = x - GUTTER;
  }

  scrolled() {
    if (this.partner && this.partner.grid.isConnected && this.partner.grid.scrollTop !== this.grid.scrollTop) {
      this.partner.grid.scrollTop = this.grid.scrollTop;
    }
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.render();
    });
  }

  render() {
    const { rows } = this.view;
    this.first = Math.max(0, Math.floor(this.grid.scrollTop / this.height) - SPARE);
    this.last = Math.min(rows.length, Math.ceil((this.grid.scrollTop + this.grid.clientHeight) / this.height) + SPARE);
    for (const [row, element] of this.elements) {
      if (row < this.first || row >= this.last) {
        element.remove();
        this.elements.delete(row);
      }
    }
    for (let row = this.first; row < this.last; row++) {
      if (this.elements.has(row) || rows[row] === -1) continue;
      const element = typeof rows[row] === "number" ? this.row(row, rows[row]) : this.foldRow(row, rows[row]);
      this.elements.set(row, element);
      this.body.append(element);
    }
    draw(this);
  }

  foldRow(row, fold) {
    const { run, differs } = this.view;
    const text = run.folded(fold);
    const cell = el("div", { role: "gridcell", "aria-colindex": 2, "aria-colspan": this.threads.length, class: "folded", title: `${text}. Click to show them.` },
      el("span", { class: "words" }, text), el("span", { class: "fork" }, "show"));
    const made = el("div", {
      role: "row", id: `${this.name}-${fold.id}`, "aria-rowindex": row + 2, class: differs && differs.has(fold) ? "step fold differs" : "step fold",
      "aria-selected": String(fold === this.selected), "data-fold": row,
    }, el("div", { role: "rowheader", "aria-colindex": "1", class: "number" }, el("span", { "aria-hidden": "true" }, "⋮"), el("span", { class: "quiet" }, "folded")), cell);
    made.style.top = `${row * this.height}px`;
    return made;
  }

  row(row, index) {
    const { run, differs, critical, receives, marked, matches } = this.view;
    const step = run.steps[index];
    const { x, width, line, column } = this.columns.get(step.thread);
    const received = receives && receives.get(index);
    const others = received ? received.sources.filter((source) => !source.is_seen).length : 0;
    const place = critical ? critical.indexOf(index) : -1;
    const classes = ["step"];
    if (step.waits) classes.push("waits");
    if (ENDS.includes(step.what)) classes.push("ends");
    if (differs && differs.has(index)) classes.push("differs");
    if (place >= 0) classes.push("critical");
    if (matches && matches.has(index)) classes.push("matches");
    if (marked && step.place && marked.has(goalPlace(step.place))) classes.push("marked");
    const words = `${step.waits ? "waits: " : ""}${step.what}`;
    const cell = el("div", { role: "gridcell", "aria-colindex": column + 2, class: "cell", title: `${run.words(index)}  ${placeText(step.place)}` },
      el("span", { class: "dot", "aria-hidden": "true" }),
      el("span", { class: "words" }, el("span", { class: "quiet" }, `${run.title(step.thread)}: `), words,
        step.ordering && el("span", { class: "ordering" }, ` (${step.ordering})`),
        step.place && el("span", { class: "where" }, ` ${run.line(step)}`)),
      others > 0 && el("span", { class: "fork" }, el("span", { "aria-hidden": "true" }, counted(others, "other")), el("span", { class: "quiet" }, `, could have seen ${counted(others, "other")}`)),
      place >= 0 && el("span", { class: "mark" }, place === 0 ? "first" : "second"),
      differs && differs.has(index) && el("span", { class: "quiet" }, ", differs"));
    cell.style.left = `${x}px`;
    cell.style.width = `${width}px`;
    cell.style.setProperty("--line-at", `${line}px`);
    const made = el("div", {
      role: "row", id: `${this.name}-${index}`, "aria-rowindex": row + 2, class: classes.join(" "),
      "aria-selected": String(index === this.selected), "data-step": index,
    }, el("div", { role: "rowheader", "aria-colindex": "1", class: "number" }, run.number(index)), cell);
    made.style.top = `${row * this.height}px`;
    return made;
  }

  click(event) {
    const row = event.target.closest(".step");
    if (!row) return;
    if (row.dataset.fold === undefined) this.choose(Number(row.dataset.step));
    else this.open(this.view.rows[Number(row.dataset.fold)]);
  }

  /** Selects a step, or its representative, and scrolls to it. */
  choose(wanted, quietly) {
    const isFold = typeof wanted !== "number";
    if (!isFold && this.foldOf.has(wanted)) this.open(this.foldOf.get(wanted));
    const index = isFold ? this.view.rows.find((row) => row.id === wanted.id) : this.view.run.standIn(wanted, (step) => this.rowOf.has(step));
    if (index === undefined) return;
    const row = this.rowOf.get(index);
    const old = this.elements.get(this.rowOf.get(this.selected));
    if (old) old.setAttribute("aria-selected", "false");
    this.selected = index;
    const head = this.heads.offsetHeight;
    const sight = this.grid.clientHeight - head;
    const top = row * this.height;
    if (top < this.grid.scrollTop) this.grid.scrollTop = Math.max(0, top - this.height);
    else if (top + this.height > this.grid.scrollTop + sight) this.grid.scrollTop = top - sight + 2 * this.height;
    this.reveal(index);
    this.render();
    const element = this.elements.get(row);
    if (element) {
      element.setAttribute("aria-selected", "true");
      this.grid.setAttribute("aria-activedescendant", element.id);
    }
    if (!quietly) this.select(this, index);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = this.view.rows.filter((index) => index !== -1);
    if (!steps.length) return;
    if (event.key === "Enter" && this.selected !== null && typeof this.selected !== "number") {
      event.preventDefault();
      this.open(this.selected);
      return;
    }
    const at = this.selected === null ? -1 : steps.indexOf(this.selected);
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.height) - 2);
    const go = {
      ArrowDown: () => steps[Math.min(steps.length - 1, at + 1)],
      ArrowUp: () => steps[Math.max(0, at - 1)],
      PageDown: () => steps[Math.min(steps.length - 1, at + page)],
      PageUp: () => steps[Math.max(0, at - page)],
      Home: () => steps[0],
      End: () => steps[steps.length - 1],
      ArrowLeft: () => this.beside(-1),
      ArrowRight: () => this.beside(1),
    }[event.key];
    if (!go) return;
    event.preventDefault();
    const index = at < 0 && event.key !== "End" ? steps[0] : go();
    if (index !== undefined) this.choose(index);
  }

  /** Returns the step nearest in time of the thread to the left or right. */
  beside(side) {
    const { run } = this.view;
    if (typeof this.selected !== "number") return undefined;
    const column = this.columns.get(run.steps[this.selected].thread).column + side;
    if (column < 0 || column >= this.threads.length) return undefined;
    const own = run.byThread[this.threads[column]].filter((index) => this.rowOf.has(index));
    const near = (a, b) => Math.abs(a - this.selected) <= Math.abs(b - this.selected) ? a : b;
    return own.length ? own.reduce(near) : undefined;
  }
}
