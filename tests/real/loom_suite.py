"""Runs the tests of one suite with loom and with raddle, and prints a row; see loom-suites.sh."""

import json
import os
import re
import resource
import subprocess
import sys

suite, only = sys.argv[1:]
limit = float(os.environ["SUITE_LIMIT"])
SAVED = {"RADDLE_DIR": os.path.abspath(f"{suite}/saved"), "RUST_BACKTRACE": "0"}


def run(checker, arguments, environment, seconds):
    """Returns the exit code, None if it did not end, with its output and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            arguments,
            cwd=f"{suite}/{checker}",
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
        )
        code, output = done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as expired:
        code, output = None, (expired.stdout or b"").decode(errors="replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, output, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def executables(checker):
    with open(f"{suite}/{checker}/executables") as file:
        return sorted(file.read().split())


def tests(checker):
    """Yields each test as its name and its executable."""
    for executable in executables(checker):
        _, listed, _ = run(checker, [executable, "--list"], {}, limit)
        _, ignored, _ = run(checker, [executable, "--list", "--ignored"], {}, limit)
        for line in listed.splitlines():
            name, _, kind = line.rpartition(": ")
            if kind == "test" and line not in ignored.splitlines() and (only == "-" or only in name):
                binary = re.sub("-[0-9a-f]{16}$", "", os.path.basename(executable))
                yield f"{binary}::{name}", name, executable


def loom_executions(name, executable):
    """Returns the executions of a test, as loom prints them; a check by `Builder::check` prints none."""
    environment = {"LOOM_LOG": "info", "NO_COLOR": "1"}
    _, output, _ = run("loom", [executable, "--exact", name, "--nocapture"], environment, 3 * limit)
    return sum(int(count) for count in re.findall(r"Completed in (\d+) iterations", output))


def raddle_executions(events):
    """Returns the executions of all checks of a test, and whether all ran what their bounds allow, or failed."""
    finished = []
    if os.path.exists(events):
        with open(events) as file:
            finished = [json.loads(line) for line in file]
        os.remove(events)
    finished = [event for event in finished if event["event"] == "finished"]
    is_whole = lambda event: event["exhausted"] or event["failures"] or "Bounded" in str(event["guarantee"])
    return sum(event["executions"] for event in finished), all(map(is_whole, finished))


def outcome(checker, name, executable):
    """Returns the word for the end of a test, its executions with raddle, its name and its executable."""
    events = os.path.abspath(f"{suite}/events")
    # A search of raddle ends by itself at its limit and says how far it got.
    limited = {"RADDLE_EVENTS": events, "RADDLE_MAX_TIME": f"{int(limit * 1000)}ms"}
    arguments = [executable, "--exact", name, "--test-threads=1"]
    patience = limit + 10 if checker == "raddle" else limit
    code, output, _ = run(checker, arguments, {**SAVED, **limited}, patience)
    word = "no end" if code is None else "passed" if code == 0 else "failed"
    executions, exhausted = raddle_executions(events) if checker == "raddle" else (0, True)
    if word == "passed" and not exhausted:
        word = "not exhausted"
    with open(f"{suite}/{checker}.log", "a") as log:
        log.write(f"== {name}: {word}\n{output}\n")
    return word, executions, name, executable


def processor_seconds(checker, tests):
    """Runs these tests as `cargo test` does, all of an executable in one process, without what one costs that runs none.

    Events and a time limit make a search of raddle estimate its size, so neither is set here.
    """
    total = 0
    for executable in executables(checker):
        names = [name for name, its in tests if its == executable]
        if not names:
            continue
        # The least of three: other work on the machine only adds to it.
        seconds = [
            min(run(checker, [executable, "--exact", *some, "--test-threads=1"], SAVED, limit * len(names))[2] for _ in range(3))
            for some in (names, ["no such test"])
        ]
        total += max(seconds[0] - seconds[1], 1e-4)
    return total


rows = {}
for checker in ("loom", "raddle"):
    if os.path.exists(f"{suite}/{checker}.log"):
        os.remove(f"{suite}/{checker}.log")
    for title, name, executable in tests(checker):
        rows.setdefault(title, {})[checker] = outcome(checker, name, executable)

both = [row for row in rows.values() if all(row.get(it, (0,))[0] == "passed" for it in ("loom", "raddle"))]
executions = {
    "loom": sum(loom_executions(*row["loom"][2:]) for row in both),
    "raddle": sum(row["raddle"][1] for row in both),
}
seconds = {checker: processor_seconds(checker, [row[checker][2:] for row in both]) for checker in executions}
parts = [f"suite {suite} tests={len(rows)}"]
for checker in executions:
    count = [row[checker][0] for row in rows.values() if checker in row].count
    parts.append(
        f"{checker}: passed={count('passed')} failed={count('failed')} no_end={count('no end') + count('not exhausted')} "
        f"executions={executions[checker]} cpu_s={seconds[checker]:.4f}"
    )
if both:
    parts.append(f"ratio={seconds['loom'] / seconds['raddle']:.1f}")
print(" | ".join(parts), flush=True)
for title, row in sorted(rows.items()):
    states = {checker: row.get(checker, ("absent",))[0] for checker in ("loom", "raddle")}
    if set(states.values()) != {"passed"}:
        runs = row["raddle"][1] if "raddle" in row else 0
        print(f"  {title}: loom {states['loom']}, raddle {states['raddle']} ({runs} executions)", flush=True)
