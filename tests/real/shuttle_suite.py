"""Runs shuttle's tests with shuttle and with raddle, and prints the result; see shuttle-suite.sh."""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

only = sys.argv[1]
limit = float(os.environ["SUITE_LIMIT"])
checkers = os.environ["SUITE_CHECKERS"].split()


def listed(executable, *arguments):
    output = subprocess.run([executable, "--list", *arguments], capture_output=True, text=True).stdout
    return {line.removesuffix(": test") for line in output.splitlines() if line.endswith(": test")}


def run(checker, executable, name):
    """Returns the verdict on a test, its output and its seconds."""
    arguments = [executable, "--exact", name, "--nocapture"]
    begin = time.monotonic()
    try:
        done = subprocess.run(
            arguments,
            cwd=checker,
            env={**os.environ, "NO_COLOR": "1", "RADDLE_PAGE": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return "no end", "", limit
    verdict = "passed" if done.returncode == 0 else "failed"
    return verdict, done.stdout.decode(errors="replace"), time.monotonic() - begin


def first_line(output):
    """Returns the line that says why a test failed."""
    lines = output.splitlines()
    for index, line in enumerate(lines):
        if re.match(r"thread '.*panicked at", line) and index + 1 < len(lines):
            return lines[index + 1]
    for line in lines:
        if "did not panic as expected" in line or "panic message" in line:
            return line.strip()
    return lines[-1] if lines else ""


results = {}
for checker in checkers:
    with open(f"{checker}/executables") as file:
        executables = sorted(set(file.read().split()))
    tests = [
        (executable, name)
        for executable in executables
        for name in sorted(listed(executable) - listed(executable, "--ignored"))
        if only in name
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ran = pool.map(lambda test: run(checker, *test), tests)
        results[checker] = {name: result for (_, name), result in zip(tests, ran)}
    # A run of some of the tests leaves the list of the last whole run as it is.
    if not only:
        with open(f"{checker}.tsv", "w") as file:
            for name, (verdict, output, seconds) in sorted(results[checker].items()):
                reason = "" if verdict == "passed" else first_line(output)[:200]
                print(verdict, f"{seconds:.1f}", name, reason, sep="\t", file=file)
    verdicts = [verdict for verdict, _, _ in results[checker].values()]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("passed", "failed", "no end"))
    print(f"{checker}: {len(tests)} tests, {counts}", flush=True)

for name, (verdict, output, _) in sorted(results.get("raddle", {}).items()):
    if verdict != "passed":
        print(f"{name}: {verdict}: {first_line(output)[:150]}")
for name, (verdict, _, _) in sorted(results.get("shuttle", {}).items()):
    if verdict != "passed" and results.get("raddle", {}).get(name, ("",))[0] == "passed":
        print(f"{name}: {verdict} with shuttle, passed with raddle")
