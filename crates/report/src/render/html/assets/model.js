// An execution as the diagram needs it: visible steps, their columns and the locks held.

performance.mark("raddle-start");

const titleOf = (thread) => thread.name || thread.path;
const fileName = (path) => path.split(/[\\/]/).pop();
const placeText = (place) => place ? `${place.file}:${place.line}` : "";

/** True for the begin and end of threads, and for choices that were not taken. */
const isDull = (step) => !step.waits && ["begin", "end", "nothing unexpected"].includes(step.what);

/** Fewest foreign steps that are folded. */
const FOREIGN_STEPS = 3;

class Run {
  constructor(trace) {
    this.trace = trace;
    this.steps = trace.steps;
    const files = new Set(this.steps.filter((step) => step.place && !isDull(step)).map((step) => step.place.file));
    this.severalFiles = files.size > 1;
    this.receivers = new Map();
    this.steps.forEach((step, index) => {
      if (step.source === null || step.source === undefined) return;
      if (!this.receivers.has(step.source)) this.receivers.set(step.source, []);
      this.receivers.get(step.source).push(index);
    });
    let number = 0;
    this.numbers = this.steps.map((step) => isDull(step) ? null : ++number);
    this.spans = this.lanes(trace.spans || []);
    this.byThread = trace.threads.map(() => []);
    this.steps.forEach((step, index) => this.byThread[step.thread].push(index));
    this.rounds = (trace.folds || []).filter((fold) => fold.from + fold.length * fold.rounds <= this.steps.length)
      .map((fold) => ({ ...fold, id: `rounds-${fold.from}`, start: fold.from + fold.length, end: fold.from + fold.length * (fold.rounds - 1) }));
    const visible = this.steps.filter((step) => !isDull(step));
    this.hasForeign = visible.some((step) => step.is_foreign) && visible.some((step) => !step.is_foreign);
  }

  /** Assigns a lane to each lock, so that locks held at the same time are side by side. */
  lanes(spans) {
    const busy = this.trace.threads.map(() => []);
    return spans.map((span) => {
      const end = span.to === null || span.to === undefined ? Infinity : span.to;
      const lanes = busy[span.thread];
      let lane = lanes.findIndex((until) => until <= span.from);
      if (lane < 0) lane = lanes.length;
      lanes[lane] = end;
      return { ...span, end, lane: Math.min(lane, 4) };
    });
  }

  shown(every) {
    const all = this.steps.map((_, index) => index);
    return every ? all : all.filter((index) => this.numbers[index] !== null);
  }

  /** Returns the rows of the diagram: steps, and folds in place of equal rounds and of foreign steps.
      Folds that are open, or contain one of the steps to keep, are left out. */
  rows({ every, rounds, foreign, open }, keep) {
    const kept = [...keep];
    const isClosed = (fold) => !open.has(fold.id) && !kept.some((index) => fold.start <= index && index < fold.end);
    const closed = rounds ? this.rounds.filter(isClosed) : [];
    const rows = [];
    let next = 0;
    for (const index of this.shown(every)) {
      while (next < closed.length && closed[next].end <= index) next++;
      const fold = closed[next];
      if (!fold || index < fold.start) rows.push(index);
      else {
        const last = rows[rows.length - 1];
        if (last && last.id === fold.id) last.steps.push(index);
        else rows.push({ ...fold, steps: [index] });
      }
    }
    return foreign && this.hasForeign ? this.withoutForeign(rows, open, keep) : rows;
  }

  /** Replaces foreign steps that follow each other by folds. */
  withoutForeign(rows, open, keep) {
    const all = [];
    let together = [];
    const stepsOf = (row) => typeof row === "number" ? [row] : row.steps;
    const end = () => {
      const steps = together.flatMap(stepsOf);
      const fold = { id: `foreign-${steps[0]}`, steps };
      if (steps.length >= FOREIGN_STEPS && !open.has(fold.id)) all.push(fold);
      else all.push(...together);
      together = [];
    };
    for (const row of rows) {
      const isForeign = stepsOf(row).every((index) => this.steps[index].is_foreign && !this.steps[index].waits && !keep.has(index));
      if (isForeign) together.push(row);
      else {
        if (together.length) end();
        all.push(row);
      }
    }
    if (together.length) end();
    return all;
  }

  /** Describes a fold. */
  folded(fold) {
    if (!fold.rounds) {
      const files = new Set(fold.steps.map((index) => this.steps[index].place).filter(Boolean).map((place) => fileName(place.file)));
      return `… ${counted(fold.steps.length, "step")} in dependencies and libraries (${[...files].slice(0, 3).join(", ")}${files.size > 3 ? ", …" : ""})`;
    }
    const numbers = this.numbers.slice(fold.from, fold.start).filter((number) => number !== null);
    const [first, last] = [numbers[0], numbers[numbers.length - 1]];
    const which = first === last ? `step ${first}` : `steps ${first}–${last}`;
    return `… ×${counted(fold.rounds - 2, "more round")} of ${which}${fold.counts ? ", counting on" : ""}`;
  }

  /** Returns the words of a step with its ordering, for searches and tables. */
  words(index) {
    const step = this.steps[index];
    return `${step.waits ? "waits: " : ""}${step.what}${step.ordering ? ` (${step.ordering})` : ""}`;
  }

  /** Returns the shown steps that contain every word. */
  find(text, every) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    return this.shown(every).filter((index) => {
      const step = this.steps[index];
      const all = `${this.number(index)} ${this.title(step.thread)} ${this.words(index)} ${placeText(step.place)}`.toLowerCase();
      return words.every((word) => all.includes(word));
    });
  }

  /** Returns the latest value of each variable after a step, with the step that shows it. */
  values(index) {
    const values = new Map();
    for (let at = 0; at <= index; at++) {
      const { thing, value } = this.steps[at];
      if (value === undefined || value === null) continue;
      const before = values.get(thing);
      values.set(thing, { value, since: before && before.value === value ? before.since : at });
    }
    return values;
  }

  /** Returns the locks that some thread holds after a step. */
  owners(index) {
    return this.spans.filter((span) => span.from <= index && index < span.end);
  }

  threads(rows) {
    const acting = new Set(rows.flatMap((row) => typeof row === "number" ? row : row.steps).filter((index) => index >= 0).map((index) => this.steps[index].thread));
    return this.trace.threads.map((_, index) => index).filter((index) => acting.has(index));
  }

  title(thread) {
    return thread < this.trace.threads.length ? titleOf(this.trace.threads[thread]) : "?";
  }

  line(step) {
    if (!step.place) return "";
    return this.severalFiles ? `${fileName(step.place.file)}:${step.place.line}` : `:${step.place.line}`;
  }

  /** Returns the number of a step in the text. */
  number(index) {
    return this.numbers[index] === null ? "·" : String(this.numbers[index]);
  }

  /** Returns the representative of a step: itself if visible, or a neighbour in its thread. */
  standIn(index, isRow) {
    if (isRow(index)) return index;
    const step = this.steps[index];
    const own = this.byThread[step.thread];
    const way = step.what === "begin" ? 1 : -1;
    let at = own.indexOf(index) + way;
    while (at >= 0 && at < own.length && !isRow(own[at])) at += way;
    return own[at];
  }

  held(index) {
    const { thread } = this.steps[index];
    return this.spans.filter((span) => span.thread === thread && span.from <= index && index <= span.end);
  }

  thing(index) {
    const found = this.trace.things[index];
    return found ? { name: found[0], made: found[1] } : null;
  }
}
