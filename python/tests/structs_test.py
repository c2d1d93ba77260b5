# SPDX-License-Identifier: Apache-2.0
"""Objects of namedtuple and dataclass: as arguments, and as variables whose fields change."""

import copy
import dataclasses
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import support
from support import np

import dhpvm

case = support.Cases()
Point = namedtuple("Point", "x y")


class Box(NamedTuple):
    low: float
    high: float = 2.0


@dataclass
class Body:
    x: float
    v: float
    m: float = 1.0


@dataclass(frozen=True)
class Parameters:
    k: float
    n: int
    weights: object
    mode: str = "fast"


@dataclass
class Computed:
    x: float

    def __post_init__(self):
        self.x *= 2


@case(3.0, 4.0)
def points(x, y):
    p = Point(x, y)
    q = Point(y=p.x, x=p.y)
    a, b = q
    r = p._replace(x=10)
    same = q
    return math.hypot(p.x - q.x, p.y - q.y), a, b, p[0], len(p), r.x + r.y, same.x, Box(1.0).high, p == q


@case(10)
def leap(n):
    b = Body(0.0, 1.0)
    for i in range(n):
        b.v -= 0.1 * b.x / b.m
        b.x += 0.1 * b.v
        if i == 5:
            b = Body(b.x, 0.5, m=2.0)
    b.m, c = 7.0, b.m
    return b.x, b.v, b.m, c


@case(1.0)
def exchanged(x):
    b, c = Body(x, x), Body(2.0, 3.0)
    b.x, c.x = c.x, b.x
    d = dataclasses.replace(b, v=9.0)
    d.x += 1
    return b.x, c.x, d.v, d.x


@case(5)
def chosen(n):
    best = Point(0, 0.0)
    for i in range(n):
        if i % 3 == 2:
            best = Point(i, i * 0.5)
    return best.x, best.y, sum(p[1] for p in [Point(i, i * i) for i in range(n)])


def energy(body, box):
    return 0.5 * body.m * body.v * body.v + box.high


def two_bodies(body, box):
    other = Body(body.x, body.v + 1)
    other.v *= 2
    return energy(body, box) + energy(other, Box(0.0, 1.0))


def weighted(p):
    s = 1.0 if p.mode == "fast" else 2.0
    for i in range(p.n):
        s += p.k * p.weights[i]
    p.weights[0] = s
    return s


def fields_of(p):
    return p.x, p[1]


def writes_to_an_argument(b):
    b.x = 3.0
    return b.x


def has_two_names(b):
    c = Body(b.x, b.v)
    d = c
    d.x = 5
    return c.x


def returns_one(b):
    return b


def in_another_order(b):
    made = []

    def put(x):
        made.append(x)
        return x
    return Point(y=put(1.0), x=put(2.0)).x


def computes(b):
    return Computed(b.x).x


def writes_to_a_fixed_one(b):
    p = Parameters(b.x, 1, 2.0)
    p.k = 5.0
    return p.k


def has_no_such_field(b):
    return b.speed


class Structs(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_arguments(self):
        for function, *arguments in ((two_bodies, Body(1.0, 2.0), Box(1.0)), (two_bodies, Body(1, 2), Box(1, 3)),
                                     (weighted, Parameters(2.0, 3, np.arange(4.0))), (fields_of, Point(1.5, 2)),
                                     (weighted, Parameters(2.0, 3, np.arange(4.0), "slow")),
                                     (fields_of, Point(1, np.float32(2.5)))):
            own, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
            compiled = self.compiled.setdefault(function, dhpvm.jit(function))
            with self.subTest(function.__name__, arguments=arguments):
                self.assertTrue(support.same_bits(compiled(*theirs), function(*own)))
                self.assertEqual(repr(theirs), repr(own))

    def test_other_classes_and_tuples(self):
        compiled = dhpvm.jit(fields_of)
        self.assertEqual(compiled(Point(1, 2)), (1, 2))
        with self.assertRaisesRegex(dhpvm.TranslationError, "there is no field 'x' here; there are low, high"):
            compiled(Box(1.0))
        with self.assertRaises(dhpvm.TranslationError):
            compiled((1, 2))
        with self.assertRaisesRegex(dhpvm.TranslationError, "'p.x' is a complex"):
            compiled(Point(1j, 2))

    def test_what_is_refused(self):
        for function, message in ((writes_to_an_argument, "return the new values of others"),
                                  (has_two_names, "a dataclass has one name here"),
                                  (returns_one, "that the caller has made cannot be returned"),
                                  (in_another_order, "write them in the order of the parameters"),
                                  (computes, "Computed computes its fields itself"),
                                  (writes_to_a_fixed_one, "fields of dataclasses can be assigned"),
                                  (has_no_such_field, "there is no field 'speed' here; there are x, v, m")):
            with self.subTest(function.__name__), self.assertRaisesRegex(dhpvm.TranslationError, message):
                dhpvm.jit(function)(Body(1.0, 2.0))


if __name__ == "__main__":
    support.main()
