#!/usr/bin/env python3
"""Runs `meson test` and counts test cases, not programs; the last line is `N passed, M failed`.

Usage: report.py BUILD_DIR PYTHON [meson test arguments]
PYTHON is the interpreter with the packages of tests/e2e/requirements.txt.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path


def cases(record):
    """(passed, failed) of one test program, from what its framework printed."""
    text = record.get("stdout", "") + record.get("stderr", "")
    passed = sum(map(int, re.findall(r"(\d+) test cases? out of \d+ passed", text)))
    failed = sum(map(int, re.findall(r"(\d+) test cases? out of \d+ failed", text)))
    failed += sum(map(int, re.findall(r"(\d+) test cases? out of \d+ aborted", text)))
    for ran, verdict in re.findall(r"Ran (\d+) tests? in .*?\n\s*\n(OK|FAILED[^\n]*)", text, re.S):
        wrong = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", verdict)))
        passed, failed = passed + int(ran) - wrong, failed + wrong
    good = record["result"] in ("OK", "EXPECTEDFAIL")
    if good and passed + failed == 0:
        return 1, 0
    if not good and failed == 0:
        return passed, 1
    return passed, failed


def main():
    build, python, *rest = sys.argv[1:]
    env = dict(os.environ, BOOST_TEST_REPORT_LEVEL="short", BOOST_TEST_COLOR_OUTPUT="no",
               BOOST_TEST_LOG_LEVEL="message",  # seeds
               GLIMMER_PYTHON=os.path.abspath(python))
    log = Path(build, "meson-logs", "testlog.json")
    log.unlink(missing_ok=True)
    code = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs",
                           "--timeout-multiplier", "3",
                           *rest], env=env).returncode
    passed = failed = 0
    for line in log.read_text().splitlines() if log.exists() else []:
        good, bad = cases(json.loads(line))
        passed, failed = passed + good, failed + bad
    if code != 0 and failed == 0:
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
