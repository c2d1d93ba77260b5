# SPDX-License-Identifier: Apache-2.0
"""Functions of the language for what Python and NumPy define differently. T stands for the type of their numbers."""

import re

HELPERS = {
    # Towards minus infinity, as Python has it; the language cuts off.
    "floor_divide": {
        "integer": """fn NAME(a: T, b: T) -> T {
    let q = a / b;
    if (q * b != a) && ((a < ZERO) != (b < ZERO)) { return q - ONE; }
    return q;
}""",
        "float": """fn NAME(a: T, b: T) -> T {
    if b == ZERO { return a / b; }
    var r = a % b;
    var q = (a - r) / b;
    if r != ZERO && (b < ZERO) != (r < ZERO) { q -= ONE; }
    if q == ZERO { return ZERO * (a / b); }
    let f = math.floor(q);
    if q - f > HALF { return f + ONE; }
    return f;
}""",
    },
    # With the sign of the divisor.
    "modulo": {
        "integer": """fn NAME(a: T, b: T) -> T {
    let r = a % b;
    if (r != ZERO) && ((r < ZERO) != (b < ZERO)) { return r + b; }
    return r;
}""",
        "float": """fn NAME(a: T, b: T) -> T {
    let r = a % b;
    if r == ZERO { return if b < ZERO { -ZERO } else { ZERO }; }
    if (b < ZERO) != (r < ZERO) { return r + b; }
    return r;
}""",
    },
    # By as many bits as the type has, and more: nothing is left but the sign.
    "shift_left": {"integer": "fn NAME(a: T, b: T) -> T => if (b as u64) < BITS { a << b } else { ZERO };"},
    "shift_right": {"integer": "fn NAME(a: T, b: T) -> T => "
                               "if (b as u64) < BITS { a >> b } else if a < ZERO { ZERO - ONE } else { ZERO };"},
    # Shifts of Python's own numbers by a negative number of bits.
    "python_shift_left": {"integer": """fn NAME(a: T, b: T) -> T {
    assert(b >= ZERO, "ValueError: negative shift count");
    return if (b as u64) < BITS { a << b } else { ZERO };
}"""},
    "python_shift_right": {"integer": """fn NAME(a: T, b: T) -> T {
    assert(b >= ZERO, "ValueError: negative shift count");
    return if (b as u64) < BITS { a >> b } else if a < ZERO { ZERO - ONE } else { ZERO };
}"""},
    "remainder": {"any": "fn NAME(a: T, b: T) -> T => a % b;"},
    # To the nearest integer, halves to the even one.
    "rint": {"float": """fn NAME(x: T) -> T {
    if math.abs(x - math.trunc(x)) == HALF { return TWO * math.round(x / TWO); }
    return math.round(x);
}"""},
    # A negative exponent divides by zero, as 0 ** -1 does: the trap that parallel loops can have.
    "power": {"any": """fn NAME(a: T, b: T) -> T {
    if b < ZERO { return ONE / (b - b); }
    var result = ONE;
    var base = a;
    var left = b;
    while left > ZERO {
        if left % TWO == ONE { result *= base; }
        base *= base;
        left = left / TWO;
    }
    return result;
}"""},
    # NaN if one of both is.
    "minimum": {"any": "fn NAME(a: T, b: T) -> T => if a != a || a < b { a } else { b };"},
    "maximum": {"any": "fn NAME(a: T, b: T) -> T => if a != a || a > b { a } else { b };"},
    "copysign": {"float": """fn NAME(a: T, b: T) -> T {
    let negative = b < ZERO || (b == ZERO && ONE / b < ZERO);
    let size = math.abs(a);
    return if negative { -size } else { size };
}"""},
    "from_end": {"integer": "fn NAME(place: T, size: T) -> T => if place < ZERO { place + size } else { place };"},
    # An unsigned number compared with a signed one: below, equal to or above 0.
    "order": {"integer": """fn NAME(a: T, b: i64) -> i64 {
    if b < 0 || a > (b as T) { return 1; }
    return if a == (b as T) { 0 } else { -1 };
}"""},
    # The number of a smaller type that lies nearest.
    "nearest": {"integer": "fn NAME(x: i64) -> T => math.min(math.max(x, T.min as i64), T.max as i64) as T;"},
    "divisor": {"any": """fn NAME(x: T) -> T {
    assert(x != ZERO, "ZeroDivisionError: division by zero");
    return x;
}"""},
    # What becomes an integer of Python's own.
    "observed_to_integer": {"float": """fn NAME(x: T) -> T {
    assert(x == x, "ValueError: cannot convert float NaN to integer");
    assert(x - x == ZERO, "OverflowError: cannot convert float infinity to integer");
    return x;
}"""},
    "observed_power": {"float": """fn NAME(a: T, b: T) -> T {
    assert(a != ZERO || b >= ZERO || b != b, "ZeroDivisionError: 0.0 cannot be raised to a negative power");
    let r = if b == TWO { a * a } else { math.pow(a, b) };
    assert(r - r == ZERO || r != r || a - a != ZERO || b - b != ZERO,
        "OverflowError: (34, 'Numerical result out of range')");
    return r;
}"""},
    # A bound of a slice: from the end if it is negative, and within the array.
    "slice_bound": {"integer": """fn NAME(bound: T, size: T, step: T) -> T {
    let place = if bound < ZERO { bound + size } else { bound };
    if step > ZERO { return math.min(math.max(place, ZERO), size); }
    return math.min(math.max(place, ZERO - ONE), size - ONE);
}"""},
    "range_len": {"integer": """fn NAME(begin: T, end: T, step: T) -> T {
    let size = if step > ZERO { (end - begin + step - ONE) / step } else { (begin - end - step - ONE) / -step };
    return math.max(size, ZERO);
}"""},
    "isnan": {"float": "fn NAME(x: T) -> bool => x != x;"},
    "isinf": {"float": "fn NAME(x: T) -> bool => x == T.infinity || x == -T.infinity;"},
    "isfinite": {"float": "fn NAME(x: T) -> bool => x - x == ZERO;"},
}


def text(name, kind, own_name):
    """The function for one type, and whether it needs the module math."""
    is_float = kind.startswith("f")
    if name.startswith("power_"):
        body = _power(int(name[6:]))
    else:
        forms = HELPERS[name]
        body = forms.get("any") or forms["float" if is_float else "integer"]
    for word, value in (("ZERO", "0"), ("ONE", "1"), ("TWO", "2"), ("HALF", "0.5")):
        number = value if "." in value or not is_float else f"{value}.0"
        body = body.replace(word, f"({number} as {kind})")
    body = body.replace("BITS", f"{kind[1:]}u64")
    body = body.replace("NAME", own_name).replace(": T", f": {kind}").replace("-> T", f"-> {kind}").replace(
        " as T", f" as {kind}")
    return re.sub(r"\bT\.(infinity|min|max)", f"{kind}.\\1", body)


def _power(exponent):
    """By squaring, with the products that NumPy forms for integers; all of them wrap."""
    if exponent == 0:
        return "fn NAME(x: T) -> T => ONE;"
    lines, result, base, left = [], None, "x", exponent
    while left:
        if left & 1:
            result = base if result is None else f"{result} * {base}"
        left >>= 1
        if left:
            lines.append(f"    let {base}x = {base} * {base};")
            base += "x"
    return "fn NAME(x: T) -> T {\n" + "\n".join(lines) + f"\n    return {result};\n}}"
