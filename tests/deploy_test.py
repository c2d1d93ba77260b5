#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the recipes of deploy/ honest where there are neither other machines nor Slurm, systemd or Kubernetes: their
scripts run with stand-ins for ssh and srun, and the worker with the command lines of the service and of the manifest.

usage: deploy_test.py --bin BIN_DIR [unittest arguments]
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BIN = None
DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
PATIENCE = 60  # seconds; only a hang takes that long

PROGRAM = """
fn main() {
    let x = [i64](40_000);
    for round in 0..8 {
        parallel for i in 0..x.len {
            var v = x[i] + i;
            for k in 0..200 { v = (v * 31 + k) % 1000003; }
            x[i] = v;
        }
    }
    var sum = 0;
    parallel for i in 0..x.len reduce(+: sum) { sum += x[i]; }
    print(sum);
}
"""

# Runs the command here, as ssh would there: options and the host are dropped, and with them the port that is forwarded.
SSH = """#!/usr/bin/env python3
import os, sys
words, forward = sys.argv[1:], None
while words[0].startswith("-"):
    if words[0] == "-R":
        forward = words[1].split(":")
    words = words[2:]
command = " ".join(words[1:]).replace(f"127.0.0.1:{forward[1]}", f"127.0.0.1:{forward[3]}")
os.execvp("sh", ["sh", "-c", "exec " + command])
"""

# Runs the command once for each node, all here.
SRUN = """#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
workers=
trap 'kill $workers' TERM
for node in 1 2; do "$@" & workers="$workers $!"; done
wait
wait
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Recipes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="dhpvm-deploy-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.program = self.folder / "program.dhp"
        self.program.write_text(PROGRAM, encoding="utf-8")
        self.expected = self.run_here("--device=host", self.program).stdout

    def run_here(self, *words):
        return subprocess.run([BIN / "dhpvm-run", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                              check=True)

    def stand_in(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run_script(self, script, *words, **environment):
        # The resolver of a test machine need not know its own name.
        self.stand_in("hostname", "#!/bin/sh\necho 127.0.0.1\n")
        environment = {**os.environ, **environment, "PATH": f"{self.folder}:{BIN}:{os.environ['PATH']}"}
        return subprocess.run([DEPLOY / script, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                              env=environment, check=False)

    def assert_ran_remotely(self, done):
        self.assertEqual((done.returncode, done.stdout), (0, self.expected), done.stderr)
        self.assertRegex(done.stderr, r"ran on remote/")

    def test_ssh(self):
        self.stand_in("ssh", SSH)
        options = ["gpubox otherbox", "--policy=remote:1000", "--explain-offload"]
        port = str(free_port())
        self.assert_ran_remotely(self.run_script("ssh-workers.sh", *options, self.program, DHPVM_PORT=port))
        failed = self.run_script("ssh-workers.sh", *options, self.folder / "missing.bc", DHPVM_PORT=port)
        self.assertEqual(failed.returncode, 2, failed.stderr)

    def test_slurm(self):
        self.stand_in("srun", SRUN)
        # The port follows from the job's number.
        job = next(number for number in range(os.getpid() % 12_000, 1 << 20) if self.is_free(20_000 + number % 12_000))
        done = self.run_script("slurm-job.sh", "--policy=remote:1000", "--explain-offload", self.program,
                               SLURM_JOB_ID=str(job), DHPVM_SHARED=str(self.folder))
        self.assert_ran_remotely(done)
        self.assertEqual(list(self.folder.glob("*.key")), [], "the job's key is still there")

    @staticmethod
    def is_free(port):
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", port))
            except OSError:
                return False
            return True

    def key(self):
        path = self.folder / "key"
        self.run_here(f"--make-key={path}")
        return path

    def assert_works(self, command, key):
        """That the worker's command serves programs, and ends in peace when it is told to."""
        log = self.folder / "log"
        command = [
            BIN / "dhpvm-run",
            *(word.replace("0.0.0.0:7471", "127.0.0.1:0") for word in command[1:]),
            "--device=host",
        ]
        with open(log, "w", encoding="utf-8") as out:
            worker = subprocess.Popen(command, stdout=out, stderr=out)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        deadline = time.monotonic() + PATIENCE
        while not (listening := re.search(r"listening at (\S+)", log.read_text(encoding="utf-8"))):
            self.assertIsNone(worker.poll(), log.read_text(encoding="utf-8"))
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        done = self.run_here(f"--connect={listening.group(1)}", f"--key-file={key}", "--policy=remote:1000",
                             "--explain-offload", self.program)
        self.assert_ran_remotely(done)
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(timeout=PATIENCE), 0, log.read_text(encoding="utf-8"))

    def test_systemd(self):
        unit = DEPLOY / "dhpvm-worker.service"
        lines = [line for line in unit.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
        settings = dict(line.split("=", 1) for line in lines if not line.startswith("["))
        for folder in ("credentials", "run", "cache"):
            (self.folder / folder).mkdir(mode=0o700)
        (self.folder / "credentials" / "key").write_bytes(self.key().read_bytes())
        places = {"CREDENTIALS_DIRECTORY": "credentials", "RUNTIME_DIRECTORY": "run", "CACHE_DIRECTORY": "cache"}

        def words(setting):
            for name, folder in places.items():
                setting = setting.replace("${" + name + "}", str(self.folder / folder))
            self.assertNotIn("$", setting)
            return shlex.split(setting)

        subprocess.run(words(settings["ExecStartPre"]), check=True)
        self.assert_works(words(settings["ExecStart"]), self.folder / "key")
        self.assertGreater(int(settings["TimeoutStopSec"]), 30, "draining takes up to 30 s")

    def test_systemd_accepts_the_unit(self):
        try:
            text = (DEPLOY / "dhpvm-worker.service").read_text(encoding="utf-8")
            unit = self.folder / "dhpvm-worker.service"
            unit.write_text(text.replace("/usr/local/bin/dhpvm-run", str(BIN / "dhpvm-run")), encoding="utf-8")
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
        except FileNotFoundError:
            self.skipTest("SKIP: systemd is not installed")
        self.assertEqual(re.findall(r".*dhpvm-worker.*", done.stderr), [])

    def test_kubernetes(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("SKIP: python3-yaml is not installed")
        text = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
        objects = {entry["kind"]: entry for entry in yaml.safe_load_all(text)}
        service, workers, job = (objects[kind] for kind in ("Service", "StatefulSet", "Job"))
        template = workers["spec"]["template"]
        for selector in (service["spec"]["selector"], workers["spec"]["selector"]["matchLabels"]):
            self.assertEqual(selector, template["metadata"]["labels"])
        self.assertEqual(workers["spec"]["serviceName"], service["metadata"]["name"])
        for pod in (template["spec"], job["spec"]["template"]["spec"]):
            volumes = {volume["name"] for volume in pod["volumes"]}
            for container in pod["containers"] + pod["initContainers"]:
                self.assertLessEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)
        # The program knows all of the workers by their names.
        program = job["spec"]["template"]["spec"]["containers"][0]["command"]
        name = service["metadata"]["name"]
        names = [f"{name}-{number}.{name}" for number in range(workers["spec"]["replicas"])]
        self.assertIn("--connect=" + ",".join(names), program)
        key = self.key()
        command = [
            word.replace("/run/dhpvm", str(self.folder)) for word in template["spec"]["containers"][0]["command"]
        ]
        self.assert_works(command, key)


if __name__ == "__main__":
    at = sys.argv.index("--bin")
    BIN = Path(sys.argv[at + 1]).resolve()
    del sys.argv[at:at + 2]
    unittest.main()
