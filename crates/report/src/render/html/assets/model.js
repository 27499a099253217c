// An execution as the diagram needs it: visible steps, their columns and the locks held.

performance.mark("raddle-start");

const titleOf = (thread) => thread.name || thread.path;
const fileName = (path) => path.split(/[\\/]/).pop();
const placeText = (place) => place ? `${place.file}:${place.line}` : "";

/** True for the begin and end of threads, and for choices that were not taken. */
const isDull = (step) => !step.waits && ["begin", "end", "nothing unexpected"].includes(step.what);

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

  threads(rows) {
    const acting = new Set(rows.filter((index) => index >= 0).map((index) => this.steps[index].thread));
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
