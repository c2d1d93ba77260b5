# SPDX-License-Identifier: Apache-2.0
"""The functions of heapq, which move the same items as Python's, so that equal items come in the same order.
All of them are compiled with the functions that call them."""


def rise(heap, first, at):
    """The item at a place moves towards `first`, past those that are larger."""
    item = heap[at]
    while at > first and item < heap[(at - 1) >> 1]:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = item


def sink(heap, first):
    """The item at a place moves to a leaf, and back to where it belongs."""
    item, at, child = heap[first], first, 2 * first + 1
    while child < len(heap):
        if child + 1 < len(heap) and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    rise(heap, first, at)


def heappush(heap, item):
    heap.append(item)
    rise(heap, 0, len(heap) - 1)


def heappop(heap):
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    if len(heap) == 0:
        return last
    least = heap[0]
    heap[0] = last
    sink(heap, 0)
    return least


def heapify(x):
    for at in range(len(x) // 2 - 1, -1, -1):
        sink(x, at)


def heapreplace(heap, item):
    if len(heap) == 0:
        raise IndexError("index out of range")
    least = heap[0]
    heap[0] = item
    sink(heap, 0)
    return least


def heappushpop(heap, item):
    if len(heap) == 0 or not heap[0] < item:
        return item
    least = heap[0]
    heap[0] = item
    sink(heap, 0)
    return least
