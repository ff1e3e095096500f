#!/usr/bin/env python3
"""Our kernels and PyTorch's on the same inputs, in turn, in one run: `make bench`.

    run.py --command target/release/contattn [--cases short|record|grid] [--only REGEX] [--threads 1,2] [--isa avx512,avx2]
           [--peers torch-sdpa]
           [--seconds S] [--json FILE] [--append] [--resume] [--minutes M] [--no-torch] [--list]

Two programs stay alive, `contattn bench cpu --serve` and torch_worker.py, and take turns round by round. Results are judged
before anything is timed: ours against our plain engine in f64, PyTorch's against the same and against ours; a wrong one ends the
run. The instruction set is that of both: for AVX2 PyTorch and its libraries are capped. One thread is measured by the
processor's time, more by the time of day; ratios are medians of the ratios within rounds.

What other programs do meanwhile slows both, by caches and by cores that are two threads of one. Where they took more than a twentieth of
the machine the case is measured again, up to three times, and the least disturbed time is kept with that share.
"""

import argparse
import datetime
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cases
import load
import record
import tables

HERE = Path(__file__).resolve().parent
ISAS = ("avx512", "avx2")
# What keeps PyTorch and the libraries below it to an instruction set.
CAPS = {
    "avx512": {},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
}
# Set on some machines for old libraries' sake; they slow current ones down.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
# So many of the shortest calls take some tenths of a second: what other machines do to this one comes in bursts of a tenth.
ROUNDS = (5, 45)
# Of the machine, by programs that are not ours; more is measured again.
DISTURBED = 0.05
ATTEMPTS = 3
# An idle thread of a pool spins before it sleeps, that of PyTorch's for some ten milliseconds; the other program is not to share its core.
PAUSE = 0.03


class Refused(Exception):
    """A program answered that it cannot, or that a result is wrong."""


class Program:
    """A program that answers a JSON object a line."""

    def __init__(self, name, command, environment):
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, **question):
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Refused(f"{self.name} ended with code {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(f"{self.name}: {answer['error']}")
        return answer

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def processor_flags():
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set(), platform.processor() or platform.machine()
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    name = re.search(r"^model name\s*:(.*)$", text, re.MULTILINE)
    return set(flags.group(1).split() if flags else ()), name.group(1).strip() if name else platform.machine()


def isas_here():
    flags, _ = processor_flags()
    here = []
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
        here.append("avx512")
    if {"avx2", "fma"} <= flags:
        here.append("avx2")
    return here


def memory():
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE).stdout.strip()


def rounds(runners, threads, budget):
    """Everybody once, again and again until the budget is spent; the times of each. Of several threads a call comes first that is
    not counted: it wakes those that sleep, on processors that may have to be woken themselves."""
    times = [[] for _ in runners]
    began = time.monotonic()
    for turn in range(ROUNDS[1]):
        if turn >= ROUNDS[0] and time.monotonic() - began > budget:
            break
        order = list(range(len(runners)))
        # What comes first in one round comes last in the next.
        for at in order if turn % 2 == 0 else reversed(order):
            program, index, _, _ = runners[at]
            if threads > 1:
                time.sleep(PAUSE)
                program.ask(do="time", runner=index)
            times[at].append(program.ask(do="time", runner=index))
    return times


def measure(case, ours, torch, budget, most=ATTEMPTS):
    """Opens a case on both sides, judges, and times in turn; its records."""
    with tempfile.TemporaryDirectory(prefix="contattn-bench-") as folder:
        names = ("direction", "heads", "kv_heads", "queries", "keys", "head_dim", "causal", "threads", "isa")
        asked = {name: case[name] for name in names}
        opened = ours.ask(do="open", folder=folder, contenders=case.get("contenders"), **asked)
        if opened["isa"] != case["isa"]:
            raise Refused(f"asked for {case['isa']}, runs {opened['isa']}")
        runners = [(ours, index, told, told["max_error"]) for index, told in enumerate(opened["runners"])]
        beside = torch is not None and bool(case["peers"])
        if beside:
            theirs = torch.ask(do="open", folder=folder, peers=case["peers"], **asked)
            for index, told in enumerate(theirs["runners"]):
                judged = ours.ask(do="judge", whose=told["engine"], rule=told["rule"], **told["files"])
                # Ours and theirs alternate.
                runners.insert(2 * index + 1, (torch, index, told, judged["max_error"]))
            if theirs["capability"].lower() != case["isa"]:
                raise Refused(f"PyTorch was to run {case['isa']}, runs {theirs['capability']}")
        attempts = []
        while not attempts or (attempts[-1][0] > DISTURBED and len(attempts) < most):
            watch = load.Others([program.process.pid for program in (ours, torch) if program is not None])
            attempts.append((rounds(runners, case["threads"], budget), watch.share())[::-1])
        others, times = min(attempts, key=lambda attempt: attempt[0])
        ours.ask(do="close")
        if beside:
            torch.ask(do="close")
    return [record.record(told, case, t, error, others) for (_, _, told, error), t in zip(runners, times)]


def choose(arguments):
    here = isas_here()
    isas = arguments.isa or here
    lacking = [isa for isa in isas if isa not in here]
    if lacking:
        sys.exit(f"bench: this machine lacks {', '.join(lacking)}; it has {', '.join(here) or 'neither AVX-512 nor AVX2'}")
    if not isas:
        sys.exit("bench: neither AVX-512 nor AVX2 is here; `contattn bench cpu --isa portable` needs none")
    wanted = cases.LISTS[arguments.cases](arguments.threads, isas)
    chosen = [case for case in wanted if re.search(arguments.only, cases.label(case))]
    if arguments.peers:
        for case in chosen:
            case["peers"] = [peer for peer in case["peers"] if peer in arguments.peers]
    return chosen


def environment(isa):
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    cache = HERE.parent.parent / "target" / "bench-inductor"
    target = os.environ.get("CARGO_TARGET_DIR")
    if target:
        cache = Path(target) / "bench-inductor"
    return kept | CAPS[isa] | {"TORCHINDUCTOR_CACHE_DIR": str(cache.resolve())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commas = lambda kind: lambda text: [kind(part) for part in text.split(",")]
    parser.add_argument("--command", default="target/release/contattn")
    parser.add_argument("--cases", choices=cases.LISTS, default="short", help="record: half an hour; grid: hours")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose label has it; see --list")
    parser.add_argument("--threads", type=commas(int), default=[1, 2][: os.cpu_count()], metavar="1,2")
    parser.add_argument("--isa", type=commas(str), help="avx512,avx2: by default those of this machine")
    parser.add_argument("--peers", type=commas(str), help="only these of PyTorch's, as torch-sdpa: compiling others takes a minute a case")
    parser.add_argument("--seconds", type=float, default=1.5, help="of rounds for each case, at least 5 rounds")
    parser.add_argument("--json", metavar="FILE", help="where records go")
    parser.add_argument("--append", action="store_true", help="keep the file's records of other cases")
    parser.add_argument("--resume", action="store_true", help="with --append: leave out cases that the file has")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no case after so many")
    parser.add_argument("--attempts", type=int, default=ATTEMPTS, help="at a case that other programs disturb")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    arguments = parser.parse_args()
    chosen = choose(arguments)
    if arguments.list:
        print("\n".join(cases.label(case) for case in chosen))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    _, processor = processor_flags()
    document = {
        "format": 1,
        "date": datetime.date.today().isoformat(),
        "machine": {"processor": processor, "cores": os.cpu_count(), "memory_gib": memory(), "isas": isas_here()},
        "versions": {"contattn": output_of(os.path.abspath(arguments.command), "--version").split()[-1]},
        "inputs": {"family": "peaked", "seed": 1},
        "records": [],
    }
    document["versions"]["rustc"] = output_of("rustc", "--version").split()[1]
    if arguments.append and arguments.json and os.path.exists(arguments.json):
        old = record.load(arguments.json)
        if old["machine"] != document["machine"]:
            sys.exit(f"bench: {arguments.json} is of another machine: {old['machine']}")
        document["records"] = old["records"]
        document["versions"] = old["versions"] | document["versions"]
        if arguments.resume:
            there = {record.case_of(entry) for entry in old["records"]}
            chosen = [case for case in chosen if record.case_of(case) not in there]
    programs = {}
    print(tables.live_heading())
    began = time.monotonic()
    try:
        for case in sorted(chosen, key=lambda case: (case["isa"], case["threads"])):
            if time.monotonic() - began > 60 * arguments.minutes:
                break
            side = (case["isa"], case["threads"])
            if side not in programs:
                for pair in programs.values():
                    [program.close() for program in pair if program is not None]
                programs.clear()
                ours = Program("contattn", [arguments.command, "bench", "cpu", "--serve"], environment(case["isa"]))
                torch = None
                if not arguments.no_torch:
                    worker = [sys.executable, str(HERE / "torch_worker.py"), "--threads", str(case["threads"])]
                    torch = Program("torch_worker", worker, environment(case["isa"]))
                    document["versions"]["torch"] = torch.ask(do="version")["version"]
                programs[side] = (ours, torch)
            records = measure(case, *programs[side], arguments.seconds, arguments.attempts)
            document["records"] = record.merge(document["records"], records)
            print(tables.live_line(case, records), flush=True)
            if arguments.json:
                record.save(arguments.json, document)
    except (Refused, KeyboardInterrupt, SystemExit) as stopped:
        for pair in programs.values():
            [program.process.kill() for program in pair if program is not None]
        if isinstance(stopped, Refused):
            print(f"bench: {stopped}", file=sys.stderr)
            return 1
        return 130
    for pair in programs.values():
        [program.close() for program in pair if program is not None]
    return 0


if __name__ == "__main__":
    sys.exit(main())
