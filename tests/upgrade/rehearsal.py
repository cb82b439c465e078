# SPDX-License-Identifier: BSD-2-Clause
"""Runs programs with a library that they were not built with, and says what went wrong.

That the library they ran with was that one and no other is asked of the dynamic linker,
which writes down what each process loads.
"""

import os
import re
import subprocess
import time

import programs
from install import ROOT

LIMIT = 900  # seconds, for what hangs


def loaded(traces):
    """Real paths of every libfp.so that the processes of a run have initialised."""
    found = set()
    for trace in traces.iterdir():
        text = trace.read_text(errors="replace")
        found |= set(re.findall(r"calling init: (\S*/libfp\.so\S*)", text))
    return {os.path.realpath(path) for path in found}


def script_problems(script, library, scratch):
    """Runs one script with the library; a list of what was wrong with that."""
    traces = scratch / "traces"
    traces.mkdir(parents=True)
    env = {**os.environ, **script.env, "LD_LIBRARY_PATH": str(library.parent),
           "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(traces / "trace"),
           "LIBFP_SO": str(library), "LIBFP_TEST_SCALE": "test"}
    try:
        done = subprocess.run([str(word) for word in script.command], env=env,
                              cwd=script.cwd or scratch, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return [f"{script.name}: has not ended after {LIMIT} s"]
    problems = []
    if done.returncode:
        problems.append(f"{script.name}: exit status {done.returncode}:\n"
                        f"{done.stdout[-4000:]}")
    elif not re.search(script.says, done.stdout, re.M):
        problems.append(f"{script.name}: does not say {script.says!r}:\n"
                        f"{done.stdout[-4000:]}")
    ran_with = loaded(traces)
    if ran_with != {str(library)}:
        problems.append(f"{script.name}: ran with {sorted(ran_with) or 'no libfp.so'}, "
                        f"not with {library}")
    return problems


def short(path):
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def problems(language, work, library, scratch, full, untouched=None):
    """Runs a language's scripts. `untouched` is the digest that the programs must have
    before and after: they are not built again."""
    found = []

    def look(when):
        if untouched is not None and programs.digest(work.out) != untouched:
            found.append(f"{work.out}: {when}, not as it was built; remove it")

    library = library.resolve()
    look("before the run")
    for number, script in enumerate(programs.scripts(language, work, full)):
        start = time.monotonic()
        found += script_problems(script, library, scratch / str(number))
        print(f"\nupgrade: {language}: {script.name}: built with {short(work.prefix)}, run "
              f"with {short(library.parent)}: {time.monotonic() - start:.1f} s", flush=True)
    look("after the run")
    return found
