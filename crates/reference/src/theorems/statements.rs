//! The list: what each theorem says, and how its sides are computed.

mod laws;

use super::{Theorem, derivation, expansion, functions, segment};

/// Every theorem, the numbered equations first.
pub fn all() -> Vec<Theorem> {
    let mut all = equations();
    all.extend(laws::special_cases());
    all.extend(laws::invariances());
    all.extend(laws::derivatives());
    all.extend(laws::limits());
    all
}

/// Equations (4) to (13).
fn equations() -> Vec<Theorem> {
    vec![
        Theorem {
            id: "eq4",
            equation: Some("(4)"),
            statement: "Over a segment, int e^a v = e^{a_{i-1}} (phi1(x) v_i + phi2(x) (v_{i-1} - v_i)), x = a_i - a_{i-1}.",
            latex: r"\int_{i-1}^{i} e^{a(s)} v(s)\,ds = e^{a_{i-1}}\bigl(\varphi_1(x) v_i + \varphi_2(x)(v_{i-1} - v_i)\bigr)",
            left: "the integral by Taylor models",
            right: "the functions phi1 and phi2",
            proof: Some("eq4"),
            check: segment::eq4,
        },
        Theorem {
            id: "eq5",
            equation: Some("(5)"),
            statement: "Over a segment, int e^a = e^{a_{i-1}} phi1(x).",
            latex: r"\int_{i-1}^{i} e^{a(s)}\,ds = e^{a_{i-1}}\varphi_1(x)",
            left: "the integral by Taylor models",
            right: "the function phi1",
            proof: Some("eq5"),
            check: segment::eq5,
        },
        Theorem {
            id: "eq6",
            equation: Some("(6)"),
            statement: "phi1(x) = int_0^1 e^{sx} ds = (e^x - 1)/x and phi2(x) = int_0^1 e^{sx} (1-s) ds = (e^x - 1 - x)/x^2, \
                        with the values 1 and 1/2 at 0.",
            latex: r"\int_0^1 e^{sx}\,ds = \frac{e^x - 1}{x},\quad \int_0^1 e^{sx}(1-s)\,ds = \frac{e^x - 1 - x}{x^2}",
            left: "the integrals by Taylor models",
            right: "the closed forms as they stand, with as many more bits as they cancel",
            proof: Some("phi2_closed"),
            check: functions::eq6,
        },
        Theorem {
            id: "eq7",
            equation: Some("(7)"),
            statement: "phi1(x) - phi2(x) = e^x phi2(-x).",
            latex: r"\varphi_1(x) - \varphi_2(x) = e^x \varphi_2(-x)",
            left: "the integral of e^{sx} s by Taylor models",
            right: "the function phi2",
            proof: Some("eq7"),
            check: functions::eq7,
        },
        Theorem {
            id: "eq8",
            equation: Some("(8)"),
            statement: "o is the quotient of the sums over segments of (4) and of (5).",
            latex: r"o = \frac{\sum_i e^{a_{i-1}}\bigl(\varphi_1(x_i) v_i + \varphi_2(x_i)(v_{i-1} - v_i)\bigr)}{\sum_i e^{a_{i-1}}\varphi_1(x_i)}",
            left: "the quotient of integrals by Gauss-Legendre quadrature",
            right: "the functions phi1 and phi2",
            proof: Some("eq8"),
            check: derivation::eq8,
        },
        Theorem {
            id: "eq9",
            equation: Some("(9)"),
            statement: "The numerator of (8), a sum over segments, is a sum over nodes: of e^{a_i} (phi2(-x_i) + phi2(x_{i+1})) v_i \
                        inside, with one of the two terms at either end.",
            latex: r"\sum_i e^{a_{i-1}}\bigl(\varphi_1(x_i) v_i + \varphi_2(x_i)(v_{i-1} - v_i)\bigr) = \sum_i e^{a_i}\bigl(\varphi_2(-x_i) + \varphi_2(x_{i+1})\bigr) v_i",
            left: "segment by segment, from integrals by Taylor models",
            right: "node by node, by the function phi2",
            proof: Some("eq9"),
            check: derivation::eq9,
        },
        Theorem {
            id: "eq10",
            equation: Some("(10)"),
            statement: "e^{b_0} = phi2(a_1 - a_0), e^{b_i} = phi2(a_{i-1} - a_i) + phi2(a_{i+1} - a_i), e^{b_t} = phi2(a_{t-1} - a_t).",
            latex: r"e^{b_0} = \varphi_2(a_1 - a_0),\quad e^{b_i} = \varphi_2(a_{i-1} - a_i) + \varphi_2(a_{i+1} - a_i),\quad e^{b_t} = \varphi_2(a_{t-1} - a_t)",
            left: "the integral of e^{a - a_i} and the hat function of node i by Gauss-Legendre quadrature",
            right: "the function phi2",
            proof: Some("eq10_inside"),
            check: derivation::eq10,
        },
        Theorem {
            id: "eq11",
            equation: Some("(11)"),
            statement: "o = sum e^{a_i + b_i} v_i / sum e^{a_i + b_i}.",
            latex: r"o = \frac{\sum_i e^{a_i + b_i} v_i}{\sum_i e^{a_i + b_i}}",
            left: "segment by segment, by closed forms",
            right: "a softmax of a + b, with b the logarithm of (10)",
            proof: Some("eq11"),
            check: derivation::eq11,
        },
        Theorem {
            id: "eq12",
            equation: Some("(12)"),
            statement: "Softmax attention over nodes 1..t is the same quotient of integrals for the curve that holds node i on (i-1, i].",
            latex: r"\frac{\sum_{i=1}^t e^{a_i} v_i}{\sum_{i=1}^t e^{a_i}} = \frac{\int_0^t e^{a_{\lceil s\rceil}} v_{\lceil s\rceil}\,ds}{\int_0^t e^{a_{\lceil s\rceil}}\,ds}",
            left: "the quotient of integrals by Gauss-Legendre quadrature",
            right: "softmax",
            proof: Some("eq12_unit_durations"),
            check: derivation::eq12,
        },
        Theorem {
            id: "eq13",
            equation: Some("(13)"),
            statement: "b = (u + w)/6 + ..., u = a_{i-1} - a_i, w = a_{i+1} - a_i: a second difference over 6 and what follows in the \
                        expansion of log(phi2(u) + phi2(w)); at an end -log 2 + u/3 + ...",
            latex: r"b_i = \log\bigl(\varphi_2(u) + \varphi_2(w)\bigr) = \frac{a_{i-1} - 2a_i + a_{i+1}}{6} + \cdots",
            left: "the logarithm; over the rationals the exponential series of the expansion",
            right: "the expansion to order 29 with its proven remainder; over the rationals the series of phi2",
            proof: Some("eq13"),
            check: expansion::eq13,
        },
    ]
}
