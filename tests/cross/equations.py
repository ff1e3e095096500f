"""Equations (6) and (9) to (13) of continuous softmax attention, in NumPy float64, as they stand in the text.

Su, "Continuous Softmax Attention" (2026), the first node at s = 0, query t over nodes 0..t of the unit time line:

    phi1(x) = (e^x - 1)/x,   phi2(x) = (e^x - 1 - x)/x^2                                                        (6)
    a_i = q . k_i
    e^{b_0} = phi2(a_1 - a_0)
    e^{b_i} = phi2(a_{i-1} - a_i) + phi2(a_{i+1} - a_i),   1 <= i <= t-1                                       (10)
    e^{b_t} = phi2(a_{t-1} - a_t)
    o_t = sum e^{a_i + b_i} v_i / sum e^{a_i + b_i}                                                            (11)
    o_t = sum e^{a_i} v_i / sum e^{a_i}, the sums over 1..t: the softmax that it is compared with              (12)
    b_i = (a_{i-1} + a_{i+1} - 2 a_i)/6 + ...                                                                  (13)

Nothing here is shared with the Rust crates, and nothing is taken from them.
"""

from fractions import Fraction
from math import factorial

import mpmath
import numpy as np
from scipy.special import logsumexp, softmax

# Below this |x| the closed form of phi2 has lost 2^-52 / x^2 to cancellation, while twenty terms of the series are good to
# 1^20/22! = 1e-21.
SERIES = 1.0


def phi2(x):
    """(6), elementwise. Its largest arguments overflow to inf, as e^x does: `weights` avoids them."""
    x = np.asarray(x, dtype=np.float64)
    small = np.abs(x) < SERIES
    inside = np.where(small, x, 0.0)
    series = sum(inside**k / factorial(k + 2) for k in reversed(range(20)))
    outside = np.where(small, 1.0, x)
    with np.errstate(over="ignore"):
        closed = (np.expm1(outside) - outside) / outside**2
    return np.where(small, series, closed)


def bias(a):
    """(10): b_0..b_t for the scores a_0..a_t, t >= 1, on the last axis."""
    from_left = phi2(a[..., :-1] - a[..., 1:])  # phi2(a_{i-1} - a_i), i = 1..t
    from_right = phi2(a[..., 1:] - a[..., :-1])  # phi2(a_{i+1} - a_i), i = 0..t-1
    e = np.zeros_like(a)
    e[..., 1:] += from_left
    e[..., :-1] += from_right
    return np.log(e)


def continuous(q, k, v, scale):
    """(11) for one query over nodes 0..t: (o, lse, weights, b)."""
    a = scale * (k @ q)
    b = bias(a)
    w = softmax(a + b)
    return w @ v, logsumexp(a + b), w, b


def discrete(q, k, v, scale):
    """(12) for one query over nodes 1..t: (o, lse, weights)."""
    a = scale * (k @ q)
    w = softmax(a)
    return w @ v, logsumexp(a), w


def continuous_to_many_digits(q, k, v, scale, digits=60):
    """(11) with the closed forms of (6) in many digits, where neither overflow nor cancellation can be felt.

    Scores are exact: q, k and scale are taken as the rationals that they are, so score differences of 1e11 keep all that
    float64 inputs say about them.
    """
    exact = [
        Fraction(float(scale)) * sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(q, key)) for key in k
    ]
    with mpmath.workdps(digits):
        a = [mpmath.mpf(x.numerator) / x.denominator for x in exact]

        def phi(x):
            if x == 0:
                return mpmath.mpf(1) / 2
            # The numerator is x^2/2 of terms of size 1: as many digits more as it takes to see it.
            with mpmath.workdps(2 * digits + max(0, int(-0.61 * mpmath.mag(x)))):
                return (mpmath.exp(x) - 1 - x) / x**2

        t = len(a) - 1
        e = [mpmath.mpf(0)] * (t + 1)
        for i in range(1, t + 1):
            e[i] += phi(a[i - 1] - a[i])
            e[i - 1] += phi(a[i] - a[i - 1])
        b = [mpmath.log(x) for x in e]
        top = max(a[i] + b[i] for i in range(t + 1))
        p = [mpmath.exp(a[i] + b[i] - top) for i in range(t + 1)]
        z = mpmath.fsum(p)
        w = [x / z for x in p]
        o = [mpmath.fsum(w[i] * mpmath.mpf(float(v[i][c])) for i in range(t + 1)) for c in range(len(v[0]))]
        lse = top + mpmath.log(z)
        return (
            np.array([float(x) for x in o]),
            float(lse),
            np.array([float(x) for x in w]),
            np.array([float(x) for x in b]),
        )


def taylor(order):
    """(13) to any order: the series of log(phi2(u) + phi2(w)) inside and of log phi2(u) at an end.

    Returns two dictionaries of exact rational coefficients by exponents, (i, j) -> of u^i w^j and i -> of u^i, up to total
    degree `order`; the constant of the second, -log 2, is left out.
    """

    def multiply(p, r):
        product = {}
        for (i, j), x in p.items():
            for (m, n), y in r.items():
                if i + j + m + n <= order:
                    at = (i + m, j + n)
                    product[at] = product.get(at, Fraction(0)) + x * y
        return product

    def logarithm(y):
        """log(1 + y) = y - y^2/2 + y^3/3 - ..., where y has no constant term."""
        total, power = {}, {(0, 0): Fraction(1)}
        for j in range(1, order + 1):
            power = multiply(power, y)
            for at, x in power.items():
                total[at] = total.get(at, Fraction(0)) + Fraction((-1) ** (j + 1), j) * x
        return {at: x for at, x in total.items() if x != 0}

    # phi2(u) + phi2(w) = 1 + sum over k of (u^k + w^k)/(k+2)!, and 2 phi2(u) = 1 + sum over k of 2 u^k/(k+2)!
    interior, end = {}, {}
    for k in range(1, order + 1):
        interior[(k, 0)] = interior[(0, k)] = Fraction(1, factorial(k + 2))
        end[(k, 0)] = Fraction(2, factorial(k + 2))
    return logarithm(interior), {i: x for (i, _), x in logarithm(end).items()}
