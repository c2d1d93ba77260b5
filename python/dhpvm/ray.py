# SPDX-License-Identifier: Apache-2.0
"""Loops on the machines of a Ray cluster: who outgrows one machine keeps the cluster that is there.

    ray.init()
    with dhpvm.ray.engine():
        simulate(plate, 1000)

An actor on each node starts a DHPVM worker, which dials this program; the loops of the block run on what these workers
lend. Tasks of Ray go on as before.
"""

from __future__ import annotations

import contextlib

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from . import cluster


class Node:
    """The actor of a node."""

    def __init__(self, address, key, options):
        self._dialled = cluster.DialledWorker(address, key, options)

    def close(self):
        self._dialled.close()


def engine(*, listen=None, key=None, worker=None, **more):
    """In the block, loops run on the nodes of the cluster that ray.init has connected to.

    `listen` is an address of this machine that they reach, by default its own with port 7471; `key` a file of
    dhpvm.make_key, by default a new key, which Ray carries to the nodes: use TLS where others can read that. `worker`
    has options of dhpvm.Worker, devices=["cuda:0"] for example. Others are options of dhpvm.Engine.
    """
    @contextlib.contextmanager
    def start(address, content, options):
        actor = ray.remote(num_cpus=0)(Node)
        places = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in ray.nodes() if node["Alive"]]
        nodes = [actor.options(scheduling_strategy=place).remote(address, content, options) for place in places]
        try:
            yield
        finally:
            ray.get([node.close.remote() for node in nodes])

    return cluster.engine(start, listen, key, worker, **more)
