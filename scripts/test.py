#!/usr/bin/env python3
"""Builds and runs all tests, or those whose programs' names begin with a word: test.py [WORD...]

The test programs run side by side, because most of them wait most of the time. They belong to
lanes: those in virtual phones, of which one runs on each CPU; those of `unjank why`; those of all
other commands, which change and look at the whole machine; and those of the libraries and other
languages. Each lane but the first runs one program at a time. The phones begin as soon as their
programs are built. Prints a line for each program as it ends, with its CPU time, the output of
those that failed, and at the end the slowest. All tests run, and the script fails at the end if one
failed.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
CPUS = len(os.sched_getaffinity(0))
# Always of the whole workspace: the features of its libraries depend on what is built together.
WORKSPACE = ["--locked", "--workspace"]
# The programs that take longest, in the order in which they begin. The others follow.
LONGEST = [
    "needs_lab_tier", "needs_lab_ipc", "needs_lab_swap", "needs_lab_paper", "needs_lab_boost",
    "needs_root_watch", "needs_root_package", "needs_root_record", "swap_sweep", "kill",
]


class Job:
    """A test program, or a script."""

    def __init__(self, name, command, directory, variables=()):
        self.name = name
        self.command = [str(part) for part in command]
        self.directory = directory
        self.variables = dict(variables)
        self.took = 0.0
        self.cpu_time = 0.0
        self.passed = False
        self.tests = 0
        self.output = ""

    def run(self, running):
        """Runs it to its end. Its process is in the set `running` meanwhile."""
        began = time.monotonic()
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen(
                self.command, cwd=self.directory, env=os.environ | self.variables,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            running.add(process)
            # Unlike Popen.wait, it tells the CPU time of this process and its children.
            _, status, used = os.wait4(process.pid, 0)
            code = process.returncode = os.waitstatus_to_exitcode(status)
            running.discard(process)
            output.seek(0)
            self.output = output.read()
        self.passed = code == 0
        if code < 0:
            self.output += f"killed by {signal.Signals(-code).name}\n"
        self.took = time.monotonic() - began
        self.cpu_time = used.ru_utime + used.ru_stime
        for line in self.output.splitlines():
            if line.startswith("test result: "):
                self.tests += int(line.split(" passed")[0].rsplit(" ", 1)[1])


class Lane:
    """Jobs of which at most `most` run at once."""

    def __init__(self, most):
        self.most = most
        self.waiting = []
        self.running = 0

    def add(self, jobs):
        """Adds them, the longest first."""
        place = {name: place for place, name in enumerate(LONGEST)}
        self.waiting += jobs
        self.waiting.sort(key=lambda job: place.get(job.name, len(place)))


class Runner:
    """Threads that run the jobs of all lanes."""

    def __init__(self, lanes):
        self.lanes = lanes
        self.ended = []
        self.processes = set()
        self.complete = False
        self.stopped = False
        self.change = threading.Condition()
        # A job more than there are CPUs: most of them wait most of the time.
        self.threads = [threading.Thread(target=self.work) for _ in range(CPUS + 1)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def add(self, lane, jobs):
        """More work for a lane."""
        with self.change:
            lane.add(jobs)
            self.change.notify_all()

    def next(self):
        """A job of the lane that runs the fewest, with its lane; `None` after the last one."""
        with self.change:
            while not self.stopped:
                free = [lane for lane in self.lanes if lane.waiting and lane.running < lane.most]
                if free:
                    lane = min(free, key=lambda lane: lane.running)
                    lane.running += 1
                    return lane, lane.waiting.pop(0)
                if self.complete and not any(lane.waiting for lane in self.lanes):
                    return None
                self.change.wait()
            return None

    def work(self):
        while (found := self.next()) is not None:
            lane, job = found
            try:
                job.run(self.processes)
            except OSError as error:
                job.output = str(error)
            with self.change:
                lane.running -= 1
                self.ended.append(job)
                if not self.stopped:
                    show(job)
                self.change.notify_all()

    def finish(self):
        """Waits for all jobs."""
        with self.change:
            self.complete = True
            self.change.notify_all()
        for thread in self.threads:
            thread.join()

    def stop(self):
        """Ends what runs, and begins nothing else."""
        with self.change:
            self.stopped = True
            self.change.notify_all()
            for process in list(self.processes):
                os.killpg(process.pid, signal.SIGTERM)


def show(job):
    """A line for a job that has ended, and what a failed one has printed."""
    tests = f"{job.tests:4} passed" if job.tests else " " * 11
    times = f"{job.took:7.1f} s {job.cpu_time:7.1f} CPU s"
    print(f"{'ok  ' if job.passed else 'FAIL'} {job.name:34} {tests} {times}", flush=True)
    if not job.passed:
        print(without_passed(job.output), flush=True)


def without_passed(output):
    """What a test program has printed, without a line for each test that passed."""
    lines = output.splitlines()
    return "\n".join(line for line in lines
                     if not (line.startswith("test ") and line.endswith(" ... ok")))


def build(*options):
    subprocess.run([CARGO, "build", *WORKSPACE, *options], cwd=TOP, check=True)


def programs(*options):
    """Builds tests, and returns a job for each program."""
    command = [CARGO, "test", *WORKSPACE, "--no-run", "--message-format",
               "json-render-diagnostics", *options]
    built = subprocess.run(command, cwd=TOP, check=True, stdout=subprocess.PIPE, text=True)
    jobs = []
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            jobs.append(program(message))
    return jobs


def program(message):
    """The job of a program that cargo has built, with the variables that it would set."""
    directory = Path(message["manifest_path"]).parent
    target = message["target"]
    name = target["name"] if target["kind"] == ["test"] else f"{target['name']} (unit tests)"
    arguments = [message["executable"]]
    if name.startswith("needs_lab"):
        arguments += ["--test-threads", "1"]
    return Job(name, arguments, directory, {"CARGO": CARGO, "CARGO_MANIFEST_DIR": str(directory)})


def script(name, *command):
    return Job(name, command, TOP)


def main():
    words = tuple(sys.argv[1:])

    def wanted(jobs):
        return [job for job in jobs if not words or job.name.startswith(words)]

    os.environ["NATIVE"] = "debug"
    phones, commands, libraries, why = Lane(CPUS), Lane(1), Lane(1), Lane(1)
    runner = Runner([phones, commands, libraries, why])
    began = time.monotonic()
    try:
        build("--bins", "--examples")
        in_phones = wanted(programs("--test", "needs_lab*"))
        runner.start()
        runner.add(phones, in_phones)
        build("--lib", "--bins", "--examples", "--tests")
        others = programs("--lib", "--bins", "--examples", "--tests")
        subprocess.run(["./scripts/java.sh", "build"], cwd=TOP, check=True)
        # aarch64.sh runs those for another processor.
        elsewhere = ("needs_lab", "needs_aarch64")
        others = [job for job in wanted(others) if not job.name.startswith(elsewhere)]
        of_java = []
        for job in others:
            if job.name.startswith("needs_java"):
                of_java.append(job)
            elif job.directory != TOP / "crates/unjank":
                runner.add(libraries, [job])
            elif job.name.startswith("needs_root_why"):
                runner.add(why, [job])
            else:
                runner.add(commands, [job])
        # java.sh builds the jars anew, which the others need.
        runner.add(libraries, wanted([
            script("documentation", CARGO, "test", *WORKSPACE, "--doc"),
            script("bench/test_why_peers.py", "python3", "-B", "bench/test_why_peers.py"),
            script("backoff.sh", "./scripts/backoff.sh", "test"),
            script("python.sh", "./scripts/python.sh", "test"),
            script("java.sh", "./scripts/java.sh", "test"),
        ]) + of_java)
        runner.finish()
    except (KeyboardInterrupt, subprocess.CalledProcessError) as error:
        runner.stop()
        sys.exit(f"unjank: {error}" if str(error) else 130)
    summary(runner.ended, time.monotonic() - began)


def summary(jobs, took):
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_time = used.ru_utime + used.ru_stime
    builds = cpu_time - sum(job.cpu_time for job in jobs)
    print(f"{cpu_time:.0f} CPU s, {builds:.0f} of them for builds")
    slowest = sorted(jobs, key=lambda job: -job.took)[:12]
    print("the slowest: " + ", ".join(f"{job.name} {job.took:.0f} s" for job in slowest))
    failed = [job.name for job in jobs if not job.passed]
    tests = sum(job.tests for job in jobs)
    print(f"{len(jobs)} programs with {tests} tests in {took / 60:.1f} min, "
          f"failed: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed) or not jobs)


if __name__ == "__main__":
    main()
