# SPDX-License-Identifier: Apache-2.0
"""The report about experiments: a line for each that went wrong, and one for all."""

import json
import time
from collections import Counter

import outcomes


def is_bad(record):
    return bool(record["problems"]) or any(client["problem"] for client in record["clients"].values())


class Summary:
    """Counts outcomes, and prints everything that is wrong."""

    def __init__(self, options):
        self.options = options
        self.begun = time.monotonic()
        self.records = []
        self.counts = Counter()
        self.bad = 0

    def without_impossible(self, scenarios, alone):
        """Those that can be performed here. Says why others cannot."""
        found = []
        for scenario in scenarios:
            reason = self.obstacle(scenario, alone)
            if reason is None:
                found.append(scenario)
            elif not scenario.name.startswith("random-"):
                print(f"SKIP {scenario.name}: {reason}", flush=True)
            if reason is not None:
                self.counts["skipped"] += 1
        return found

    def obstacle(self, scenario, alone):
        names = {event.name for event in scenario.events}
        if "fill" in names and not alone:
            return "disks that can be filled need namespaces"
        if "skew" in names and self.options.faults is None:
            return "clocks are changed by libdhpvm_lab_faults.so, which is not installed"
        return None

    def take(self, record):
        self.records.append(record)
        for client in record["clients"].values():
            self.counts[client["outcome"]] += 1
        self.counts["leftovers"] += len(record["problems"])
        bad = is_bad(record)
        self.bad += bad
        if bad or self.options.verbose:
            self.print_record(record, bad)

    @staticmethod
    def print_record(record, bad):
        told = ", ".join(f"{name} {client['outcome']}" for name, client in record["clients"].items())
        print(f"{'FAILED ' if bad else ''}{record['scenario']}: {told}; {record['wall']:.2f} s", flush=True)
        if not bad:
            return
        for name, client in record["clients"].items():
            if client["problem"]:
                print(f"  {name}: {client['problem']}\n    " + "\n    ".join(client["errors"].splitlines()[:12]))
        for problem in record["problems"]:
            print("  " + problem.replace("\n", "\n    "))
        print("  --- scenario\n    " + record["text"].rstrip().replace("\n", "\n    "))
        print("  --- events\n    " + "\n    ".join(record["events"]), flush=True)

    def tell(self):
        """Prints the sums; the number of experiments that were not as they should be."""
        wall = time.monotonic() - self.begun
        told = ", ".join(f"{self.counts[outcome]} {outcome}" for outcome in outcomes.WORDS)
        skipped = f", {self.counts['skipped']} skipped" if self.counts["skipped"] else ""
        print(f"{len(self.records)} scenarios, {wall:.1f} s: {told}, {self.counts['leftovers']} leftovers{skipped}")
        if self.options.json:
            self.options.json.write_text(json.dumps(self.records, indent=1), encoding="utf-8")
        return self.bad
