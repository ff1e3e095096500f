//! Laws without a number.

use crate::theorems::{
    Theorem, chain, differences, documents, expansion, functions, gradients, laws, refinement, segment, states, weights,
};

/// Functions and segments beyond the numbered equations, and what the weights are.
pub(super) fn special_cases() -> Vec<Theorem> {
    vec![
        Theorem {
            id: "functions",
            equation: None,
            statement: "phi1, phi2, phi3, the moment and psi, as evaluated here, are the integrals of e^{sx} and 1, 1-s, (1-s)^2/2, s, s(1-s).",
            latex: r"\varphi_k(x) = \int_0^1 e^{sx}\frac{(1-s)^{k-1}}{(k-1)!}\,ds,\quad \psi(x) = \int_0^1 e^{sx} s(1-s)\,ds",
            left: "the integrals by Taylor models",
            right: "power series and closed forms",
            proof: Some("psi_closed"),
            check: functions::evaluation,
        },
        Theorem {
            id: "recurrences",
            equation: None,
            statement: "e^x = x phi1(x) + 1, phi1(x) = x phi2(x) + 1, phi2(x) = x phi3(x) + 1/2, psi(x) = phi2(x) - 2 phi3(x).",
            latex: r"\varphi_k(x) = x\,\varphi_{k+1}(x) + \frac{1}{k!},\quad \psi(x) = \varphi_2(x) - 2\varphi_3(x)",
            left: "power series and closed forms",
            right: "the integrals by Taylor models",
            proof: Some("phi2_recurrence"),
            check: functions::recurrences,
        },
        Theorem {
            id: "cut-segment",
            equation: None,
            statement: "The part [alpha, beta] of a segment gives L = L'(1-alpha) + R'(1-beta) and R = L' alpha + R' beta to its nodes and \
                        couples them by h = alpha(1-alpha)L' + beta(1-beta)R' + lambda^2 h', with L', R', h' of the part by itself.",
            latex: r"L = L'(1-\alpha) + R'(1-\beta),\quad R = L'\alpha + R'\beta,\quad h = \alpha(1-\alpha)L' + \beta(1-\beta)R' + \lambda^2 h'",
            left: "the integrals with the hat functions by Taylor models",
            right: "the functions phi2, moment and psi",
            proof: Some("linear_cut_integral"),
            check: segment::cut,
        },
        Theorem {
            id: "step-is-softmax",
            equation: None,
            statement: "With unit durations the weights of Step are those of softmax over the nodes that a row sees, and 0 for the sink.",
            latex: r"w_i = \frac{1}{\sum_j e^{a_j - a_i}}",
            left: "the Step rule, segment by segment",
            right: "differences of scores",
            proof: Some("step_rule_is_duration_attention"),
            check: weights::step_is_softmax,
        },
        Theorem {
            id: "duration-weights",
            equation: None,
            statement: "The Euler discretisation of the integrals, the curve held on (tau_{i-1}, tau_i], is softmax with the bias log D_i.",
            latex: r"o = \frac{\sum_i D_i e^{a_i} v_i}{\sum_i D_i e^{a_i}} = \frac{\sum_i e^{a_i + \log D_i} v_i}{\sum_i e^{a_i + \log D_i}}",
            left: "the quotient of integrals by Gauss-Legendre quadrature",
            right: "softmax of a + log D",
            proof: Some("euler_is_duration_attention"),
            check: weights::duration_weights,
        },
        Theorem {
            id: "weights",
            equation: None,
            statement: "Weights are not negative and add up to 1; o lies between the smallest and the largest v that is seen.",
            latex: r"w_i \ge 0,\quad \sum_i w_i = 1,\quad \min_i v_i \le o \le \max_i v_i",
            left: "the sum of the weights, node by node; the distances of o, by quadrature, from both bounds",
            right: "1; convex combinations of distances that are not negative",
            proof: Some("attention_hull"),
            check: weights::convex,
        },
        Theorem {
            id: "equal-scores",
            equation: None,
            statement: "Between equal scores on the unit time line b = 0 inside and -log 2 at either end.",
            latex: r"a_{i-1} = a_i = a_{i+1} \implies b_i = 0,\quad b_0 = b_t = -\log 2",
            left: "the logarithm of the integral with the hat function by Gauss-Legendre quadrature",
            right: "the constants",
            proof: Some("bias_equal_scores"),
            check: weights::equal_scores,
        },
    ]
}

/// What leaves the results as they are.
pub(super) fn invariances() -> Vec<Theorem> {
    const ROUTES: [&str; 2] = ["the original, segment by segment", "what became of it, by Gauss-Legendre quadrature"];
    let [left, right] = ROUTES;
    let law = |id, statement, latex, proof, check| Theorem {
        id,
        equation: None,
        statement,
        latex,
        left,
        right,
        proof: Some(proof),
        check,
    };
    vec![
        law(
            "split-token",
            "Splitting a Step token in two that share its duration leaves o as it is.",
            r"D_j = D' + D'' \implies o(\ldots, D_j, \ldots) = o(\ldots, D', D'', \ldots)",
            "split_token",
            laws::split_token,
        ),
        law(
            "insert-node",
            "Inserting a node on a Linear segment, with the score and the value that the segment has there, leaves o as it is.",
            r"a_* = (1-u)a_{i-1} + u a_i,\ v_* = (1-u)v_{i-1} + u v_i \implies o_* = o",
            "insert_node",
            laws::insert_node,
        ),
        law(
            "time-shift",
            "Shifting the time line with its window leaves o as it is.",
            r"\tau_i \mapsto \tau_i + c,\ [l, u] \mapsto [l + c, u + c] \implies o \mapsto o",
            "time_shift",
            laws::time_shift,
        ),
        law(
            "time-scale",
            "Scaling the time line with its window leaves o as it is; lse gains the logarithm of the factor.",
            r"\tau_i \mapsto c\,\tau_i,\ [l, u] \mapsto [c\,l, c\,u] \implies o \mapsto o,\ \log Z \mapsto \log Z + \log c",
            "time_scale",
            laws::time_scale,
        ),
        law(
            "score-shift",
            "Adding a constant to all scores leaves o as it is; lse gains the constant.",
            r"a_i \mapsto a_i + c \implies o \mapsto o,\ \log Z \mapsto \log Z + c",
            "score_shift",
            laws::score_shift,
        ),
        law(
            "reversal",
            "Under Linear and Trapezoid, reading the curve from its end leaves o as it is.",
            r"(a_i, v_i, \tau_i) \mapsto (a_{n-i}, v_{n-i}, -\tau_{n-i}) \implies o \mapsto o",
            "reversal",
            laws::reversal,
        ),
        Theorem {
            id: "row-state",
            equation: None,
            statement: "Results of neighbouring runs of a row merge to the result of the whole: in any grouping; in any order where they \
                        have mass; a run that saw nothing is the identity, and the latest point stands for runs without mass.",
            latex: r"Z = Z_1 + Z_2,\quad o = \frac{Z_1 o_1 + Z_2 o_2}{Z_1 + Z_2}",
            left: "merged runs, each segment by segment; core's states on numbers that f64 adds exactly",
            right: "the whole, by Gauss-Legendre quadrature; the rational numbers",
            proof: Some("row_state_is_attention"),
            check: states::row_states,
        },
        Theorem {
            id: "short-convolution",
            equation: None,
            statement: "The bias cut after first order is a convolution of the scores with the taps [1/6, -1/3, 1/6] along the key axis, \
                        -log 2 + (a_1 - a_0)/3 at the ends; cut before it, attention is the Trapezoid rule.",
            latex: r"b_i \approx \tfrac16 a_{i-1} - \tfrac13 a_i + \tfrac16 a_{i+1}",
            left: "the rule Taylor(1) by its series; Taylor(0) by its series",
            right: "softmax of the scores and their convolution; the Trapezoid rule by Gauss-Legendre quadrature",
            proof: Some("bias_first_order"),
            check: expansion::convolution,
        },
        Theorem {
            id: "packed-documents",
            equation: None,
            statement: "A packed document, the same one behind padding, and the same one alone have the same o, lse and weights.",
            latex: r"o_{\mathrm{packed}} = o_{\mathrm{padded}} = o_{\mathrm{alone}}",
            left: "packed, node by node; padded, segment by segment",
            right: "alone, by Gauss-Legendre quadrature",
            proof: None,
            check: documents::packed,
        },
    ]
}

/// Gradients.
pub(super) fn derivatives() -> Vec<Theorem> {
    vec![
        Theorem {
            id: "gradient-definition",
            equation: None,
            statement: "Gradients by shares and couplings of segments are (g dN - g o dZ + g_lse dZ)/Z, for every rule and window.",
            latex: r"\frac{\partial L}{\partial x} = \frac{1}{Z}\Bigl(g\,\frac{\partial N}{\partial x} + (g_{\mathrm{lse}} - g\,o)\frac{\partial Z}{\partial x}\Bigr)",
            left: "the reference's gradient, node by node",
            right: "the quotient rule, with derivatives of the integrals by Gauss-Legendre quadrature",
            proof: Some("loss_derivative"),
            check: gradients::definition,
        },
        Theorem {
            id: "gradient-diffusion",
            equation: None,
            statement: "dL/da_i = P_i G_i + h_{i+1} (G_{i+1} - G_i) - h_i (G_i - G_{i-1}) and dL/dD_i = (L_i G_{i-1} + R_i G_i)/D_i, \
                        G_i = (g v_i - g o + g_lse)/Z.",
            latex: r"\frac{\partial L}{\partial a_i} = P_i G_i + h_{i+1}(G_{i+1} - G_i) - h_i(G_i - G_{i-1}),\quad \frac{\partial L}{\partial D_i} = \frac{L_i G_{i-1} + R_i G_i}{D_i}",
            left: "the formula, by the functions phi2 and psi",
            right: "the quotient rule, with derivatives of the integrals by Gauss-Legendre quadrature",
            proof: Some("gradient_scores"),
            check: gradients::diffusion,
        },
        Theorem {
            id: "gradient-differences",
            equation: None,
            statement: "Gradients by scores, values and durations are limits of differences, also where windows cut segments and edges \
                        move with nodes.",
            latex: r"\frac{\partial L}{\partial x} = \lim_{h \to 0} \frac{L(x + h) - L(x - h)}{2h}",
            left: "the reference's gradient, segment by segment",
            right: "central differences over rational time lines, widened by their distance to those with twice the step",
            proof: Some("gradient_moving_edges"),
            check: differences::differences,
        },
        Theorem {
            id: "gradient-inputs",
            equation: None,
            statement: "Gradients by q, k and v, those of the sink among them, are limits of differences; a sink that copies node 1 adds its \
                        own to those of node 1.",
            latex: r"\frac{\partial L}{\partial q} = \sigma\sum_i \frac{\partial L}{\partial a_i} k_i,\quad \frac{\partial L}{\partial k_i} = \sigma\frac{\partial L}{\partial a_i} q,\quad \frac{\partial L}{\partial v_i} = w_i g",
            left: "the reference's gradient, segment by segment",
            right: "central differences over rational time lines, widened by their distance to those with twice the step",
            proof: Some("attention_gradient_query"),
            check: chain::chain,
        },
    ]
}

/// Orders.
pub(super) fn limits() -> Vec<Theorem> {
    vec![
        Theorem {
            id: "step-order",
            equation: None,
            statement: "As a curve is sampled more finely, Step tends to Linear with an error proportional to the sampling step.",
            latex: r"o_{\mathrm{Step}} - o_{\mathrm{Linear}} = O(h)",
            left: "Step on 128 and 256 parts of each segment",
            right: "Linear",
            proof: Some("step_first_order"),
            check: refinement::step,
        },
        Theorem {
            id: "trapezoid-order",
            equation: None,
            statement: "As a curve is sampled more finely, Trapezoid tends to Linear with an error proportional to the square of the \
                        sampling step.",
            latex: r"o_{\mathrm{Trapezoid}} - o_{\mathrm{Linear}} = O(h^2)",
            left: "Trapezoid on 128 and 256 parts of each segment",
            right: "Linear",
            proof: Some("trapezoid_second_order"),
            check: refinement::trapezoid,
        },
    ]
}
