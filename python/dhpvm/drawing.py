# SPDX-License-Identifier: Apache-2.0
"""Drawings for notebooks: explanations of loops, and traces."""

from __future__ import annotations

# Colours of events by the beginning of their names; others are calls of functions.
_COLOURS = {"parallel for": "#4878a8", "optimise": "#c08040", "emit": "#c08040", "link": "#c08040", "minor": "#80a060",
            "major": "#80a060", "upload": "#a06090", "download": "#a06090", "launch": "#605090"}
_WIDTH, _ROW, _MARGIN, _MAXIMUM = 900, 22, 130, 3000


class Explanation(str):
    """Explains how loops were run: text, which notebooks draw with a heading for each loop."""

    def _repr_html_(self):
        from html import escape

        loops = []
        for line in self.splitlines():
            if line.startswith("  ") and loops:
                loops[-1][1].append(line.strip())
            elif line.strip():
                loops.append((line, []))
        if not loops:
            return "<p>No parallel loop has run yet.</p>"
        return "".join(f"<details open><summary><b>{escape(head)}</b></summary><ul>" +
                       "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul></details>"
                       for head, lines in loops)


def timeline(events):
    """A picture of a trace, a row for each thread: an SVG, with the times as tooltips."""
    from html import escape

    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    if not spans:
        return "<p>Nothing has run.</p>"
    left_out = len(spans) - _MAXIMUM
    # Long events first, so that those inside them are drawn on top.
    spans = sorted(spans, key=lambda event: -event["dur"])[:_MAXIMUM]
    begin = min(event["ts"] for event in spans)
    scale = (_WIDTH - _MARGIN) / max(max(event["ts"] + event["dur"] for event in spans) - begin, 1e-3)
    rows = {thread: row for row, thread in enumerate(sorted({event["tid"] for event in spans}))}
    height = _ROW * len(rows) + 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
             'font-family="sans-serif" font-size="12">']
    for thread, row in rows.items():
        parts.append(f'<text x="0" y="{row * _ROW + 15}">{escape(names.get(thread, f"thread {thread}"))}</text>')
    for event in spans:
        x, width = _MARGIN + (event["ts"] - begin) * scale, max(event["dur"] * scale, 0.5)
        parts.append(f'<rect x="{x:.1f}" y="{rows[event["tid"]] * _ROW + 2}" width="{width:.1f}" height="{_ROW - 4}" '
                     f'fill="{_colour(event["name"])}"><title>{escape(event["name"])}: {_time(event["dur"])}</title>'
                     "</rect>")
    parts.append(f'<text x="{_MARGIN}" y="{height - 4}">0</text><text x="{_WIDTH}" y="{height - 4}" '
                 f'text-anchor="end">{_time((_WIDTH - _MARGIN) / scale)}</text></svg>')
    note = f"<p>The {left_out} shortest events are left out.</p>" if left_out > 0 else ""
    return "".join(parts) + note


def _colour(name):
    return next((colour for begin, colour in _COLOURS.items() if name.startswith(begin)), "#b0b0b0")


def _time(microseconds):
    return f"{microseconds / 1000:.3g} ms" if microseconds >= 1000 else f"{microseconds:.3g} us"
