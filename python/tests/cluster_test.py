#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers that dial in: in this process, and from Dask and Ray where they are installed."""

import contextlib
import importlib.util
import os
import unittest

import support  # noqa: F401: skips where there is no NumPy
import numpy as np

import dhpvm
from dhpvm import cluster

PORTS = iter(range(20000 + os.getpid() % 10000, 65536))


@dhpvm.jit
def saxpy(a, x, y):
    for i in dhpvm.prange(len(x)):
        y[i] += a * x[i]


@contextlib.contextmanager
def in_this_process(address, key, options):
    """Two on one machine, of which the first alone lends its devices."""
    dialled = [cluster.DialledWorker(address, key, options) for _ in range(2)]
    yield
    for each in dialled:
        each.close()


class Clusters(unittest.TestCase):
    def use(self, engine):
        x = np.arange(30_000.0)
        here, there = x / 7, x / 7
        saxpy(0.1, x, here)
        with engine as used:
            saxpy(0.1, x, there)
            self.assertEqual([worker.state for worker in used.workers()], ["ready"])
            self.assertGreater(used.workers()[0].jobs, 0)
        self.assertTrue((here == there).all())
        saxpy(0.1, x, there)

    def where(self):
        return {"listen": f"127.0.0.1:{next(PORTS)}", "worker": {"devices": ["host"]}}

    def test_in_this_process(self):
        self.use(cluster.engine(in_this_process, **self.where()))

    def test_workers(self):
        self.assertRaisesRegex(TypeError, "there is no option 'device'; there .*devices", dhpvm.Worker, device="host")
        with dhpvm.Worker(listen="127.0.0.1:0", devices=["host"]) as worker:
            with dhpvm.workers(*worker.addresses(), always=True):
                x = np.ones(10)
                saxpy(2.0, x, x.copy())
            self.assertTrue(worker.is_needed())
            worker.drain(5)

    @unittest.skipUnless(importlib.util.find_spec("distributed"), "distributed, of Dask, is not installed")
    def test_dask(self):
        from distributed import Client
        import dhpvm.dask

        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
            self.use(dhpvm.dask.engine(client, **self.where()))
            self.assertEqual(client.submit(abs, -1).result(), 1)

    @unittest.skipUnless(importlib.util.find_spec("ray"), "Ray is not installed")
    def test_ray(self):
        import ray
        import dhpvm.ray

        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
        self.use(dhpvm.ray.engine(**self.where()))
        ray.shutdown()


if __name__ == "__main__":
    support.main()
