#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random dates, times, durations and texts of them: the module `datetime` computes and reads the same as Python's, and
takes damaged texts calmly.

usage: datetime_against_python.py --bin BIN_DIR [--runs N] [--seed N] [--options OPTION...]

--runs counts cases. --options are for dhpvm-run. A case with another result is printed. Damaged texts have to give an
error, or the value that Python reads from them, if it reads any.
"""

import argparse
import datetime
import random
import subprocess
import sys
import tempfile
from pathlib import Path

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MICRO = datetime.timedelta(microseconds=1)
PATTERNS = [
    "%Y-%m-%d %H:%M:%S.%f %z",
    "%d/%b/%Y:%H:%M:%S %z",
    "%a, %d %B %Y %I:%M:%S %p %z",
    "%Y%j %H%M%z",
    "%m/%d/%Y %H:%M%z %%",
]
DAMAGE = ["-", ":", "T", "W", "Z", ".", "+", " ", "9", "00", "\u00e9", "P", "1e", "+25", "60", "x" * 30, "9" * 30]

# A line for each case: a letter and its arguments. A result in one line for each.
PROGRAM = """
import datetime;
import io;
import str;

fn result(c: [str]) -> str! {
    return match c[0] {
        "day" => {
            let d = Date(str.parse_int(c[1])!);
            let (year, week) = d.iso_week();
            let later = d.plus_months(str.parse_int(c[2])!);
            f"{d} {d.weekday() as i64} {d.day_of_year()} {year} {week} {later} {later - d} {datetime.date(d.year(), d.month(), d.day()).days}"
        }
        "moment" => {
            let t = datetime.parse(c[1])!;
            let shown = t.at_offset(str.parse_int(c[2])!);
            let clock = f"{shown.hour()} {shown.minute()} {shown.second()} {shown.micro()}";
            f"{t.micros} {shown} {clock} {t == shown} {shown.format(c[3])}"
        }
        "parse" => str((try datetime.parse(c[1])).micros),
        "read" => str((try datetime.parse_as(c[1], c[2])).micros),
        "span" => {
            let d = try datetime.parse_duration(c[1]);
            f"{d.micros} {datetime.parse_duration(str(d))!.micros} {d.seconds():.3f}"
        }
        else => trap(c[0]),
    };
}

fn main(args: [str]) {
    for line in io.read_text(args[0])!.split("\\n") {
        io.write((result(line.split("\\x1f")) catch { "error" }) + "\\n");
    }
}
"""


def random_moment(rng):
    # Offsets must not lead out of the years 1 to 9999, which are Python's.
    micros = (
        rng.randrange((datetime.datetime.max - datetime.datetime.min) // MICRO - 4 * 86_400_000_000)
        + 2 * 86_400_000_000
    )
    naive = datetime.datetime.min + (micros if rng.random() < 0.5 else micros // 1_000_000 * 1_000_000) * MICRO
    return naive.replace(tzinfo=random_zone(rng))


def random_zone(rng):
    minutes = rng.choice([0, 60, -300, 330, rng.randrange(-1439, 1440)])
    return datetime.timezone(datetime.timedelta(minutes=minutes))


def shown(moment):
    return moment.isoformat().replace("+00:00", "Z")


def iso_text(rng, moment):
    """The moment as one of the forms of ISO 8601."""
    if rng.random() < 0.2:
        year, week, day = moment.isocalendar()
        date = f"{year:04}-W{week:02}-{day}" if rng.random() < 0.5 else f"{year:04}W{week:02}{day}"
    else:
        date = f"{moment.year:04}-{moment.month:02}-{moment.day:02}"
        date = date if rng.random() < 0.7 else date.replace("-", "")
    if rng.random() < 0.1:
        return date
    time = moment.timetz().isoformat(rng.choice(["auto", "hours", "minutes", "seconds", "milliseconds"]))
    if rng.random() < 0.3:
        time = time.replace(":", "")
    return date + rng.choice("T ") + (time.replace("+0000", "Z").replace("+00:00", "Z") if rng.random() < 0.5 else time)


def damaged(rng, text):
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(DAMAGE) + text[at + rng.randrange(3) :]


def in_micros(moment):
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)) - EPOCH


def months_later(day, months):
    total = day.year * 12 + day.month - 1 + months
    year, month = divmod(total, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return datetime.date(year, month + 1, min(day.day, last))
        except ValueError:
            continue
    return None


def random_day(rng):
    """Any day, or one at an edge of a month or year, where leap years count."""
    if rng.random() < 0.5:
        return datetime.date.fromordinal(rng.randrange(1, datetime.date.max.toordinal() + 1))
    year = rng.choice([1, 4, 100, 400, 1600, 1900, 1969, 1970, 1972, 2000, 2100, 9998])
    first = datetime.date(year, rng.choice([1, 3]), 1)
    return first + datetime.timedelta(days=max(rng.randrange(-3, 3), datetime.date.min.toordinal() - first.toordinal()))


def day_case(rng):
    day = random_day(rng)
    since = day.toordinal() - EPOCH.toordinal()
    room = range(12 - day.year * 12, (9998 - day.year) * 12)
    months = rng.choice([1, -1, 12, rng.randrange(-600, 600)])
    later = months_later(day, months if months in room else 0)
    iso = day.isocalendar()
    wanted = f"{day} {day.weekday()} {day.timetuple().tm_yday} {iso[0]} {iso[1]} {later} {(later - day).days} {since}"
    return ["day", since, months if months in room else 0], wanted


def moment_case(rng):
    moment, zone = random_moment(rng), random_zone(rng)
    other = moment.astimezone(zone)
    pattern = rng.choice(PATTERNS)
    # The C library does not fill up the year with zeros, which strptime demands.
    pattern = pattern if other.year >= 1000 else "%m %d %H:%M:%S.%f %z %a %b %p %j"
    text = other.strftime(pattern)
    minutes = zone.utcoffset(None) // datetime.timedelta(minutes=1)
    clock = f"{other.hour} {other.minute} {other.second} {other.microsecond}"
    return [
        "moment",
        shown(moment),
        minutes,
        pattern,
    ], f"{in_micros(moment) // MICRO} {shown(other)} {clock} true {text}"


def parse_case(rng):
    text = iso_text(rng, random_moment(rng))
    whole = rng.random() < 0.6
    text = text if whole else damaged(rng, text)
    try:
        wanted = str(in_micros(datetime.datetime.fromisoformat(text)) // MICRO)
    except (ValueError, OverflowError):
        wanted = None
    return ["parse", text], (wanted,) if whole else (wanted, "error")


def read_case(rng):
    pattern = rng.choice(PATTERNS)
    while (moment := random_moment(rng)).year < 1000:
        pass
    text = moment.strftime(pattern)
    whole = rng.random() < 0.7
    text = text if whole else damaged(rng, text)
    try:
        wanted = str(in_micros(datetime.datetime.strptime(text, pattern)) // MICRO)
    except (ValueError, OverflowError):
        wanted = None
    return ["read", text, pattern], (wanted,) if whole else (wanted, "error")


def span_case(rng):
    days, hours, minutes, seconds = (rng.choice([0, rng.randrange(limit)]) for limit in (10**6, 100, 1000, 10**5))
    micros = rng.choice([0, rng.randrange(10**6)])
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    sign = rng.choice([1, -1])
    text = ("-" if sign < 0 else "") + f"P{days}DT{hours}H{minutes}M{seconds}.{micros:06}S"
    span = sign * (datetime.timedelta(seconds=total) + micros * MICRO)
    return ["span", text], f"{span // MICRO} {span // MICRO} {span / datetime.timedelta(seconds=1):.3f}"


def damaged_span_case(rng):
    return ["span", damaged(rng, span_case(rng)[0][1])], None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--runs", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", nargs="*", default=[])
    args = parser.parse_args()
    rng = random.Random(args.seed)
    kinds = [day_case, moment_case, parse_case, read_case, span_case, damaged_span_case]
    cases = [kinds[i % len(kinds)](rng) for i in range(args.runs)]
    with tempfile.TemporaryDirectory() as folder:
        program, file = Path(folder, "dates.dhp"), Path(folder, "cases")
        program.write_text(PROGRAM)
        file.write_text("\n".join("\x1f".join(map(str, case)) for case, _ in cases))
        command = [args.bin / "dhpvm-run", *args.options, program, file]
        run = subprocess.run(command, capture_output=True, timeout=500, check=False)
    if run.returncode != 0:
        sys.exit(f"exit code {run.returncode}\n{run.stderr.decode(errors='replace')}")
    printed = run.stdout.decode().split("\n")[:-1]
    if len(printed) != len(cases):
        sys.exit(f"{len(printed)} results of {len(cases)} cases")
    wrong = 0
    for (case, wanted), found in zip(cases, printed):
        allowed = wanted if isinstance(wanted, tuple) else (wanted,)
        # The module may read more than Python: other forms of ISO 8601, such as one digit where Python wants two.
        if found not in allowed and None not in allowed:
            wrong += 1
            print(f"{case}: {found}, and Python says {allowed[0]}")
    compared = sum(None not in (wanted if isinstance(wanted, tuple) else (wanted,)) for _, wanted in cases)
    failed = sum(found == "error" for found in printed)
    print(f"{len(cases)} cases, of which {compared} are compared and {failed} are errors: {wrong} differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
