// Two executions side by side, with corresponding steps in the same row.

const MOST_COMPARED = 2000;

/** Key of a step: its thread, line and operation, without the value. */
const keyOf = (run, row) => {
  const index = typeof row === "number" ? row : row.steps[0];
  if (row !== index) return `${row.rounds ? row.length : "foreign"} ${keyOf(run, index)}`;
  const step = run.steps[index];
  const path = run.trace.threads[step.thread].path;
  const place = step.place ? `${step.place.file}:${step.place.line}:${step.place.column}` : step.what;
  return `${path} ${place} ${step.what.split(" ")[0]} ${step.waits}`;
};

/** Returns pairs of rows by longest common subsequence; -1 for a row without a counterpart. */
function aligned(left, right) {
  const a = left.rows.map((index) => keyOf(left.run, index));
  const b = right.rows.map((index) => keyOf(right.run, index));
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const pairs = [];
  for (let i = 0; i < start; i++) pairs.push([left.rows[i], right.rows[i]]);
  const rest = [a.length - start - end, b.length - start - end];
  pairs.push(...middle(left, right, a, b, start, rest));
  for (let i = end; i > 0; i--) pairs.push([left.rows[a.length - i], right.rows[b.length - i]]);
  return pairs;
}

function middle(left, right, a, b, start, [n, m]) {
  const pairs = [];
  const row = (rows, i) => rows[start + i];
  if (n > MOST_COMPARED || m > MOST_COMPARED) {
    for (let i = 0; i < Math.max(n, m); i++) {
      pairs.push([i < n ? row(left.rows, i) : -1, i < m ? row(right.rows, i) : -1]);
    }
    return pairs;
  }
  const width = m + 1;
  const best = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      best[i * width + j] = a[start + i] === b[start + j] ? best[(i + 1) * width + j + 1] + 1
        : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && a[start + i] === b[start + j]) pairs.push([row(left.rows, i++), row(right.rows, j++)]);
    else if (j >= m || (i < n && best[(i + 1) * width + j] >= best[i * width + j + 1])) pairs.push([row(left.rows, i++), -1]);
    else pairs.push([-1, row(right.rows, j++)]);
  }
  return pairs;
}

/** Returns the rows of both sides, and the steps that differ or have no counterpart. */
function compared(left, right) {
  const pairs = aligned(left, right);
  const differs = [new Set(), new Set()];
  for (const [one, other] of pairs) {
    const words = (run, row) => typeof row === "number" ? run.steps[row].what : run.folded(row);
    const same = one !== -1 && other !== -1 && words(left.run, one) === words(right.run, other);
    if (same) continue;
    if (one !== -1) differs[0].add(one);
    if (other !== -1) differs[1].add(other);
  }
  return { rows: [pairs.map(([one]) => one), pairs.map(([, other]) => other)], differs };
}
