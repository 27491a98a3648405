"""Numbers as ECMAScript writes them, which is how RFC 8785 wants them."""

from __future__ import annotations


def ecmascript_number(value: float) -> str:
    """Return a finite float as ``JSON.stringify`` writes it: the shortest digits that read back the same.

    >>> [ecmascript_number(x) for x in (1.0, -0.0, 1e21, 1e-7, 0.000001, 123456789012345680000.0)]
    ['1', '0', '1e+21', '1e-7', '0.000001', '123456789012345680000']
    """
    text = float.__repr__(value)  # Python finds the same shortest digits; only their layout differs
    if "e" not in text:
        # Between 1e-4 and 1e16 both write plain digits with a point.
        text = text.removesuffix(".0")
        return "0" if text == "-0" else text
    sign = "-" if text[0] == "-" else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).rstrip("0") or "0"
    point = int(exponent) + 1  # where the point stands, counted from the first digit
    return sign + _lay_out(digits, point)


def _lay_out(digits: str, point: int) -> str:
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{rest}e{point - 1:+d}"
