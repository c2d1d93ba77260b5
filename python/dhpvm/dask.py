# SPDX-License-Identifier: Apache-2.0
"""Loops on the machines of a Dask cluster: who outgrows one machine keeps the cluster that is there.

    with dhpvm.dask.engine(client):
        simulate(plate, 1000)

A plugin starts a DHPVM worker on each machine of the cluster, in the process of one Dask worker, which dials this
program; the loops of the block run on what these workers lend. Tasks of Dask go on as before.
"""

from __future__ import annotations

import contextlib

from distributed.diagnostics.plugin import WorkerPlugin

from . import cluster


class Plugin(WorkerPlugin):
    """Has a worker of the cluster dial `address`: of dhpvm.dask.engine, or client.register_plugin(Plugin(..))."""

    def __init__(self, address, key, options=None):
        self.name = f"dhpvm-{address}"
        self._given = address, key, options or {}

    def setup(self, worker):
        self._dialled = cluster.DialledWorker(*self._given)

    def teardown(self, worker):
        self._dialled.close()


def engine(client, *, listen=None, key=None, worker=None, **more):
    """In the block, loops run on the machines of the cluster of `client`.

    `listen` is an address of this machine that they reach, by default its own with port 7471; `key` a file of
    dhpvm.make_key, by default a new key, which Dask carries to the workers: use TLS where others can read that.
    `worker` has options of dhpvm.Worker, devices=["cuda:0"] for example. Others are options of dhpvm.Engine.
    """
    @contextlib.contextmanager
    def start(address, content, options):
        plugin = Plugin(address, content, options)
        client.register_plugin(plugin)
        try:
            yield
        finally:
            client.unregister_worker_plugin(plugin.name)

    return cluster.engine(start, listen, key, worker, **more)
