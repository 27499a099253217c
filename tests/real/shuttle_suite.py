"""Runs shuttle's tests with shuttle and with raddle, and prints the result; see shuttle-suite.sh."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

only = sys.argv[1]
limit = float(os.environ["SUITE_LIMIT"])


def listed(executable, *arguments):
    output = subprocess.run([executable, "--list", *arguments], capture_output=True, text=True).stdout
    return {line.removesuffix(": test") for line in output.splitlines() if line.endswith(": test")}


def run(checker, executable, name):
    """Returns the verdict on a test and its output."""
    arguments = [executable, "--exact", name, "--nocapture"]
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
        return "no end", ""
    verdict = "passed" if done.returncode == 0 else "failed"
    return verdict, done.stdout.decode(errors="replace")


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
for checker in ("shuttle", "raddle"):
    with open(f"{checker}/executable") as file:
        executable = file.read().split()[-1]
    names = sorted(name for name in listed(executable) - listed(executable, "--ignored") if only in name)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ran = pool.map(lambda name: run(checker, executable, name), names)
        results[checker] = dict(zip(names, ran))
    verdicts = [verdict for verdict, _ in results[checker].values()]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("passed", "failed", "no end"))
    print(f"{checker}: {len(names)} tests, {counts}", flush=True)

for name, (verdict, output) in results["raddle"].items():
    if verdict != "passed":
        print(f"{name}: {verdict}: {first_line(output)[:150]}")
for name, (verdict, _) in results["shuttle"].items():
    if verdict != "passed" and results["raddle"].get(name, ("passed",))[0] == "passed":
        print(f"{name}: {verdict} with shuttle, passed with raddle")
