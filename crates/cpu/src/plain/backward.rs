//! One row, backward.

use super::row::{Kind, Row, Seen, Sum, Term};

use contattn_core::{EngineError, MovingEdge, Place, Real, Rule, Shape};

/// The gradients that rows of one (batch, head) add to, in the engine's type. Index 0 of `dk` and `dv` is the sink.
pub(crate) struct Sums<T> {
    /// (n + 1) x head_dim
    pub(crate) dk: Vec<T>,
    /// (n + 1) x value width
    pub(crate) dv: Vec<T>,
    /// n, for D_1..D_n: sums over many rows and heads, kept in f64
    pub(crate) durations: Vec<f64>,
}

impl<T: Real> Sums<T> {
    pub(crate) fn new(shape: Shape) -> Result<Sums<T>, EngineError> {
        let Shape { keys, head_dim, value_dim, .. } = shape;
        Ok(Sums {
            dk: super::zeros("dk", super::count(&[keys + 1, head_dim]))?,
            dv: super::zeros("dv", super::count(&[keys + 1, value_dim]))?,
            durations: vec![0.0; keys],
        })
    }
}

/// Adds what one row gives for upstream gradients g and g_lse; returns dL/dq.
///
/// With c_j = g . (v_j - o) + g_lse, so that G_j = c_j / Z, and masses in units of Z,
///
/// ```text
/// dL/da_left += L c_0 + h (c_1 - c_0)      dL/da_right += R c_1 - h (c_1 - c_0)      dL/dv_j += w_j g
/// ```
///
/// Proofs: `linear_score_derivatives`, `step_score_derivatives`, `trapezoid_score_derivatives`,
/// `cut_trapezoid_score_derivatives`, `loss_derivative`, `mass_derivative`, `gradient_scores`, `gradient_one_score`,
/// `gradient_without_coupling`, `gradient_total`, `attention_gradient_scores`, `attention_gradient_query`,
/// `attention_gradient_key`, `attention_gradient_value`.
pub(crate) fn backward<T: Real>(
    rule: Rule,
    row: &Row<T>,
    seen: &Seen<'_, T>,
    q: &[T],
    g: &[T],
    g_lse: T,
    sums: &mut Sums<T>,
) -> Vec<T> {
    let mut dq = vec![T::ZERO; q.len()];
    for &j in &row.visible {
        for (sum, &g) in sums.dv[seen.source(j) * g.len()..][..g.len()].iter_mut().zip(g) {
            *sum += row.weights[j] * g;
        }
    }
    if matches!(row.kind, Kind::Empty | Kind::Point) {
        return dq;
    }
    let mut c = vec![T::ZERO; row.weights.len()];
    for &j in &row.visible {
        // g . (v_j - o) rather than g . v_j - g . o, which cancels where all values are nearly alike.
        let y: T = g.iter().zip(seen.value(j)).zip(&row.o).map(|((&g, &v), &o)| g * (v - o)).sum();
        c[j] = y + g_lse;
    }
    let mut da = vec![T::ZERO; row.weights.len()];
    match &row.kind {
        Kind::Empty | Kind::Point => {}
        Kind::Terms(sum) => {
            for term in &sum.terms {
                let (c0, c1) = (c[term.left], c[term.right]);
                let share = term.factor / sum.z;
                let flow = share * term.shares.diffusion * (c1 - c0);
                da[term.left] += share * term.shares.left * c0 + flow;
                da[term.right] += share * term.shares.right * c1 - flow;
            }
            durations(rule, row, sum, &c, &mut sums.durations);
        }
        Kind::Taylor(neighbours) => {
            for (&j, (bias, left, right)) in row.visible.iter().zip(neighbours) {
                let through = row.weights[j] * c[j];
                da[j] += through;
                // b_j depends on a_left - a_j and a_right - a_j; an end node's only neighbour counts as u.
                let (u, w) = match (left, right) {
                    (None, Some(right)) => (Some(*right), None),
                    other => (*other.0, *other.1),
                };
                for (neighbour, by) in [(u, bias.by_u), (w, bias.by_w)] {
                    if let Some(neighbour) = neighbour {
                        da[neighbour] += through * by;
                        da[j] -= through * by;
                    }
                }
            }
        }
    }
    for &j in &row.visible {
        let scaled = T::rounded(da[j].widen() * seen.operands.scale());
        let source = seen.source(j);
        for (d, &k) in dq.iter_mut().zip(seen.key(j)) {
            *d += scaled * k;
        }
        for (d, &q) in sums.dk[source * q.len()..][..q.len()].iter_mut().zip(q) {
            *d += scaled * q;
        }
    }
    dq
}

/// dL/dD: (L c_0 + R c_1)/D of each segment, from L/D and R/D so that D = 0 is fine, and the moving edges.
///
/// Proofs: `cut_linear_duration`, `fixed_edge_fraction`, `cut_linear_duration_linear`,
/// `cut_trapezoid_duration_linear`, `step_duration_linear`, `gradient_durations`, `attention_gradient_durations`.
fn durations<T: Real>(rule: Rule, row: &Row<T>, sum: &Sum<T>, c: &[T], gradient: &mut [f64]) {
    let z = sum.z.widen();
    for term in sum.terms.iter().filter(|term| term.segment > 0) {
        let per_time = sum.anchor.density(term.a_from.max(term.a_to)) / z * term.part.lambda;
        let change =
            term.shares.left.widen() * c[term.left].widen() + term.shares.right.widen() * c[term.right].widen();
        gradient[term.segment - 1] += per_time * change;
    }
    for (edge, is_upper) in [(&sum.interval.lower, false), (&sum.interval.upper, true)] {
        let Some(term) = cut_term(edge, sum) else { continue };
        let fraction = if is_upper { term.part.beta } else { term.part.alpha };
        let gain = edge_gain(rule, row, sum, term, is_upper, c) / z;
        for i in edge.moved_by() {
            gradient[i - 1] += gain * edge.velocity(i, fraction);
        }
    }
}

/// The term that an edge cuts, if any: none under a segment or node that masks removed.
fn cut_term<'s, T>(edge: &MovingEdge, sum: &'s Sum<T>) -> Option<&'s Term<T>> {
    match edge.place {
        Place::Node => None,
        Place::Segment(i) => sum.terms.iter().find(|term| term.segment == i),
        // Held curve stands first and last among the terms, if there is any.
        Place::Before(_) => sum.interval.hold_before.and(sum.terms.first()),
        Place::After(_) => sum.interval.hold_after.and(sum.terms.last()),
    }
}

/// What L gains when an edge moves later by one unit of time, times Z in units of the anchor.
///
/// The integrand at the edge for Linear, Step and held curve. Under the trapezoid a part [alpha, beta] has
/// F = (lambda/2)(f(alpha) + f(beta)) with f = e^a c, so
///
/// ```text
/// dF/dbeta = (f(alpha) + f(beta))/2 + (lambda/2) f'(beta)      dF/dalpha = -(f(alpha) + f(beta))/2 + (lambda/2) f'(alpha)
/// f'(u) = e^{a(u)} (x c(u) + c_1 - c_0)
/// ```
///
/// Proofs: `moving_edges`, `linear_moving_edges`, `trapezoid_moving_edges`, `gradient_moving_edges`,
/// `gradient_held_edges`, `upper_edge_gradient`, `lower_edge_gradient`.
fn edge_gain<T: Real>(rule: Rule, row: &Row<T>, sum: &Sum<T>, term: &Term<T>, is_upper: bool, c: &[T]) -> f64 {
    let (c0, c1) = (c[term.left].widen(), c[term.right].widen());
    let (part, anchor) = (&term.part, sum.anchor);
    let alpha = (anchor.density(term.a_from), part.one_minus_alpha * c0 + part.alpha * c1);
    let beta = (anchor.density(term.a_to), part.one_minus_beta * c0 + part.beta * c1);
    let (density, c_edge) = if is_upper { beta } else { alpha };
    let sign = if is_upper { 1.0 } else { -1.0 };
    if term.segment == 0 || rule == Rule::Step {
        return sign * anchor.density(row.scores[term.right]) * c1;
    }
    match rule {
        Rule::Trapezoid => {
            let x = row.scores[term.right].widen() - row.scores[term.left].widen();
            let mean = 0.5 * (alpha.0 * alpha.1 + beta.0 * beta.1);
            sign * mean + 0.5 * part.lambda * density * (x * c_edge + c1 - c0)
        }
        Rule::Linear | Rule::Step | Rule::Taylor(_) => sign * density * c_edge,
    }
}
