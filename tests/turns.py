# SPDX-License-Identifier: Apache-2.0
"""Which of many cases a run takes whose whole would be too long: another part of them in each turn."""

import os


def of_turn(cases, every):
    """Every Nth of the cases. DHPVM_TURN is the number of the turn, which `./dev test` counts by commits, or `all`."""
    turn = os.environ.get("DHPVM_TURN", "all" if every == 1 else "0")
    if turn == "all":
        return cases
    return cases[int(turn) % every :: every]
