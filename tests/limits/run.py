#!/usr/bin/env python3
"""Simple situations with known answers: blocks at rest, on slopes and dropped, columns, beams, snowfall, water, crossed with
materials, schemes and sizes of cells. Each is one run at default settings, judged by its history, probes and warnings.

  run.py FIRN [--default] [--table] [--keep FOLDER] [--jobs N] [REGEX...]

--default takes the cheap ones only, a REGEX those whose name it matches; --table prints Markdown. A quantity may leave its range
only if the run warned, and the case says that it will. The situations are in cases.py.
"""
import argparse, concurrent.futures, csv, json, os, re, shutil, subprocess, sys, tempfile, time

import cases


class Run:
    """What a run left: columns of history.csv and probes.csv as lists, and its log."""

    def __init__(self, folder, scene, log):
        self.scene, self.log = scene, log
        self.warned = [line for line in log.splitlines() if line.startswith("warning") and "the peak of an impact" not in line]
        self.history = self.read(os.path.join(folder, "history.csv"))
        self.probes = self.read(os.path.join(folder, "probes.csv"))

    @staticmethod
    def read(path):
        if not os.path.exists(path):
            return {}
        with open(path, newline="") as file:
            rows = list(csv.reader(file))
        return {name: [float(row[k]) for row in rows[1:]] for k, name in enumerate(rows[0])}

    def last(self, column):
        return self.history[column][-1]

    def total(self, column):
        return sum(self.history[column])

    def mean(self, column, since=0.5):
        """Over the time from that part of the run on."""
        begin = since * self.last("time")
        rows = [k for k, t in enumerate(self.history["time"]) if t >= begin]
        span = sum(self.history["dt"][k] for k in rows)
        return sum(self.history[column][k] * self.history["dt"][k] for k in rows) / span

    def energies(self):
        """Of the snow, without what bodies, sources and sinks gave or took."""
        h = self.history
        out = []
        for k in range(len(h["time"])):
            given = h["work_bodies"][k] + h["energy_in"][k] - h["energy_out"][k]
            out.append(h["kinetic"][k] + h["elastic"][k] + h["potential"][k] - given)
        return out

    def growth(self):
        """The most by which the energy was ever above an earlier value."""
        least, most = float("inf"), 0.0
        for energy in self.energies():
            least = min(least, energy)
            most = max(most, energy - least)
        return most


def run_case(firn, case, keep):
    folder = os.path.join(keep, case.name)
    os.makedirs(folder)
    for name, text in case.files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    path = os.path.join(folder, "scene.yml")
    with open(path, "w") as file:
        json.dump(case.scene, file, indent=1)
    environment = dict(os.environ, OMP_NUM_THREADS="1", FIRN_CACHE=os.path.join(folder, "cache"))
    begin = time.time()
    done = subprocess.run([firn, "run", path, "--output", os.path.join(folder, "out")], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    case.seconds = time.time() - begin
    return done.returncode, Run(os.path.join(folder, "out"), case.scene, done.stdout)


def judge(case, code, run):
    """Lines of the table, and whether all of them are good."""
    if code != case.code or (code == 0 and not run.history):
        return [(case.name, "exit code", code, str(case.code), False)], False
    rows, good = [], True
    for expect in case.expect:
        try:
            value = expect.measure(run)
        except (KeyError, ZeroDivisionError, IndexError) as error:
            value = float("nan")
            print(f"{case.name}: {expect.what}: {error!r}", file=sys.stderr)
        fine = expect.low <= value <= expect.high
        rows.append((case.name, expect.what, value, expect.text(), fine))
        good = good and fine
    if case.warns and not any(re.search(case.warns, line) for line in run.warned):
        rows.append((case.name, f"warning '{case.warns}'", len(run.warned), "1", False))
        good = False
    if not case.warns and run.warned:
        rows.append((case.name, run.warned[0][:80], len(run.warned), "no warning", False))
        good = False
    return rows, good


def number(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main():
    options = argparse.ArgumentParser(description="Runs situations with known answers.")
    options.add_argument("firn")
    options.add_argument("names", nargs="*")
    options.add_argument("--default", action="store_true")
    options.add_argument("--table", action="store_true")
    options.add_argument("--list", action="store_true")
    options.add_argument("--keep")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--part", help="K/N: every N-th of the cases, from the K-th on")
    given = options.parse_intermixed_args()
    chosen = [case for case in cases.CASES if case.default or not given.default]
    if given.names:
        chosen = [case for case in chosen if any(re.search(name, case.name) for name in given.names)]
    if given.part:
        k, n = map(int, given.part.split("/"))
        chosen = chosen[k::n]
    if given.list:
        return print("\n".join(case.name for case in chosen))
    if not chosen:
        sys.exit("FAIL: no case has such a name")
    keep = given.keep or tempfile.mkdtemp()
    bad = 0
    if given.table:
        print("| case | quantity | measured | expected | |\n|---|---|---|---|---|")
    try:
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            runs = pool.map(lambda case: (case, run_case(os.path.abspath(given.firn), case, keep)), chosen)
            for case, (code, run) in runs:
                rows, good = judge(case, code, run)
                bad += not good
                for name, what, value, expected, fine in rows:
                    word = "" if fine else "off" if given.table else "FAIL"
                    if given.table:
                        print(f"| {name} | {what} | {number(value)} | {expected} | {word} |", flush=True)
                    else:
                        print(f"{word:4} {name:32} {what:36} {number(value):>11}  {expected}", flush=True)
                if code != case.code:
                    print("\n".join(run.log.splitlines()[-12:]), file=sys.stderr)
    finally:
        if not given.keep:
            shutil.rmtree(keep)
    print(f"limits: {len(chosen)} cases, {bad} bad")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
