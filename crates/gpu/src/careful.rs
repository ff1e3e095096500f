//! Rows that f32 sums cannot hold, by the host in f64: scores near the end of the range, masses of very different durations, points
//! without duration, inputs that are not finite. Right, and slow; the device takes all other rows.
//!
//! The formulas are those of `docs/operator.md`, one row at a time.

use contattn_core::engine::reserve;
use contattn_core::{
    Domain, EngineError, Interval, MovingEdge, Part, Piece, Place, Point, Problem, Rule, Sink, TensorView, Upstream,
};

/// The numbers of one query head, and sums of the gradients that its rows give.
pub(crate) struct CarefulHead<'p> {
    problem: &'p Problem<'p>,
    batch: usize,
    head: usize,
    /// (n + 1) x head_dim and (n + 1) x value width; row 0 is a given sink, or zeros
    keys: Vec<f64>,
    values: Vec<f64>,
}

/// Gradients of keys and values by node (0 is a sink of its own), and of durations.
pub(crate) struct CarefulSums {
    pub(crate) dk: Vec<f64>,
    pub(crate) dv: Vec<f64>,
    pub(crate) durations: Vec<f64>,
}

/// L, R and h of a segment of unit length, in units of e^{its larger end score}.
#[derive(Clone, Copy)]
struct Shares {
    left: f64,
    right: f64,
    diffusion: f64,
}

/// A summand of the integral.
struct Term {
    /// 0 for held curve
    segment: usize,
    left: usize,
    right: usize,
    part: Part,
    duration: f64,
    a_from: f64,
    a_to: f64,
    shares: Shares,
    /// (length) e^{larger end score}, in units of the anchor
    factor: f64,
}

/// e^max 2^exponent: what exponentials of a row are measured in. The largest of (length) e^{score}, so that Z neither overflows nor
/// vanishes.
#[derive(Clone, Copy)]
struct Anchor {
    max: f64,
    exponent: i32,
}

impl Anchor {
    fn log(self) -> f64 {
        f64::from(self.exponent) * std::f64::consts::LN_2
    }

    fn factor(self, a: f64, length: f64) -> f64 {
        let (mantissa, exponent) = libm::frexp(length);
        2.0 * mantissa * libm::exp((a - self.max) + f64::from(exponent - 1 - self.exponent) * std::f64::consts::LN_2)
    }

    fn density(self, a: f64) -> f64 {
        libm::exp(a - self.max - self.log()).min(f64::MAX)
    }
}

/// phi2(-y), e^{-y} phi2(y) and psi(-y) for y >= 0: the series below 1, closed forms from there on.
fn phi(y: f64) -> (f64, f64, f64) {
    if y < 1.0 {
        let (mut larger, mut psi) = (0.0, 0.0);
        for k in (0..18).rev() {
            let k = f64::from(k);
            larger = (1.0 - y * larger) / (k + 2.0);
            psi = (k + 1.0 - y * psi) / (k + 3.0);
        }
        (larger, 1.0 - y * larger - larger, psi / 2.0)
    } else {
        let e = libm::exp(-y);
        let mass = (1.0 - e) / y;
        let (larger, smaller) = ((1.0 - mass) / y, (mass - e) / y);
        (larger, smaller, (larger - smaller) / y)
    }
}

fn shares(rule: Rule, a_left: f64, a_right: f64) -> Shares {
    let y = (a_right - a_left).abs().min(f64::MAX);
    let (larger, smaller, diffusion) = match rule {
        Rule::Step => return Shares { left: 0.0, right: 1.0, diffusion: 0.0 },
        Rule::Trapezoid => (0.5, 0.5 * libm::exp(-y), 0.0),
        Rule::Linear | Rule::Taylor(_) => phi(y),
    };
    let (left, right) = if a_right >= a_left { (smaller, larger) } else { (larger, smaller) };
    Shares { left, right, diffusion }
}

fn interpolate(a_left: f64, a_right: f64, u: f64, not_u: f64) -> f64 {
    let x = (a_right - a_left).clamp(-f64::MAX, f64::MAX);
    let a = if u < 0.5 { a_left + x * u } else { a_right - x * not_u };
    a.max(a_left.min(a_right)).min(a_left.max(a_right))
}

/// Scores at the ends of a part, and what it gives to the two nodes of its segment.
fn part_shares(rule: Rule, a_left: f64, a_right: f64, part: &Part) -> (f64, f64, Shares) {
    if part.is_whole() || rule == Rule::Step {
        return (a_left, a_right, shares(rule, a_left, a_right));
    }
    let Part { alpha, one_minus_alpha, beta, one_minus_beta, lambda } = *part;
    let from = interpolate(a_left, a_right, alpha, one_minus_alpha);
    let to = interpolate(a_left, a_right, beta, one_minus_beta);
    let own = shares(rule, from, to);
    let whole = Shares {
        left: own.left * one_minus_alpha + own.right * one_minus_beta,
        right: own.left * alpha + own.right * beta,
        diffusion: alpha * one_minus_alpha * own.left
            + beta * one_minus_beta * own.right
            + lambda * lambda * own.diffusion,
    };
    (from, to, whole)
}

/// A row with all that its gradient needs.
struct Row {
    q: Vec<f64>,
    copied: Option<usize>,
    visible: Vec<usize>,
    /// by node
    scores: Vec<f64>,
    weights: Vec<f64>,
    o: Vec<f64>,
    lse: f64,
    sum: Option<(Interval, Vec<Term>, Anchor, f64)>,
}

impl<'p> CarefulHead<'p> {
    pub(crate) fn new(problem: &'p Problem<'p>, batch: usize, head: usize) -> Result<CarefulHead<'p>, EngineError> {
        let kv_head = problem.shape().kv_head(head);
        let (key, value) = match problem.sink() {
            Sink::Given { key, value } => (Some(key), Some(value)),
            Sink::Absent | Sink::Zeros | Sink::Copy => (None, None),
        };
        let rows = |what, nodes: &TensorView<'_>, sink: Option<&TensorView<'_>>| {
            let [_, _, n, width] = nodes.shape();
            let mut out: Vec<f64> = reserve(what, (n as u128 + 1) * width as u128)?;
            out.resize((n + 1) * width, 0.0);
            if let Some(sink) = sink {
                sink.read_row(batch, kv_head, 0, &mut out[..width]);
            }
            for row in 0..n {
                nodes.read_row(batch, kv_head, row, &mut out[(row + 1) * width..][..width]);
            }
            Ok::<_, EngineError>(out)
        };
        let keys = rows("keys", problem.k(), key)?;
        Ok(CarefulHead { problem, batch, head, keys, values: rows("values", problem.v(), value)? })
    }

    /// Room for gradients.
    pub(crate) fn sums(&self) -> CarefulSums {
        let n = self.problem.shape().keys;
        CarefulSums { dk: vec![0.0; self.keys.len()], dv: vec![0.0; self.values.len()], durations: vec![0.0; n] }
    }

    fn key(&self, row: &Row, node: usize) -> &[f64] {
        let width = self.problem.shape().head_dim;
        &self.keys[source(row, node) * width..][..width]
    }

    fn value(&self, row: &Row, node: usize) -> &[f64] {
        let width = self.problem.shape().value_dim;
        &self.values[source(row, node) * width..][..width]
    }

    /// o and lse of a row.
    pub(crate) fn forward(&self, row: usize) -> (Vec<f64>, f64) {
        let row = self.row(row);
        (row.o, row.lse)
    }

    fn row(&self, at: usize) -> Row {
        let problem = self.problem;
        let shape = problem.shape();
        let n = shape.keys;
        let mut row = Row {
            q: vec![0.0; shape.head_dim],
            copied: match problem.sink() {
                Sink::Copy => problem.copied_node(self.batch, at),
                _ => None,
            },
            visible: Vec::new(),
            scores: vec![f64::NAN; n + 1],
            weights: vec![0.0; n + 1],
            o: vec![0.0; shape.value_dim],
            lse: f64::NEG_INFINITY,
            sum: None,
        };
        problem.q().read_row(self.batch, self.head, at, &mut row.q);
        match problem.domain(self.batch, at) {
            Domain::Empty => return row,
            Domain::Point(Point { left, right, fraction }) => {
                row.visible.push(left);
                row.weights[left] = 1.0 - fraction;
                if right != left {
                    row.visible.push(right);
                    row.weights[right] = fraction;
                }
            }
            Domain::Interval(interval) => self.add_up(&mut row, interval),
        }
        let finite = |x: &[f64]| x.iter().all(|x| x.is_finite());
        if !finite(&row.q) || !row.visible.iter().all(|&j| finite(self.key(&row, j))) {
            row.o.fill(f64::NAN);
            row.lse = f64::NAN;
            return row;
        }
        for c in 0..shape.value_dim {
            let values = || row.visible.iter().map(|&j| (row.weights[j], self.value(&row, j)[c]));
            let (mut sum, mut low, mut high) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
            for (w, v) in values() {
                sum += w * v;
                (low, high) = (low.min(v), high.max(v));
            }
            // o lies in the hull of the visible values.
            row.o[c] = if values().all(|(_, v)| v.is_finite()) { sum.max(low).min(high) } else { f64::NAN };
        }
        row
    }

    fn add_up(&self, row: &mut Row, interval: Interval) {
        let nodes = self.problem.nodes(self.batch);
        let scale = self.problem.scale();
        let pieces: Vec<Piece> = interval.pieces(nodes).collect();
        for piece in &pieces {
            let ends = match *piece {
                Piece::Segment { left, right, .. } => [left, right],
                Piece::Hold(hold) => [hold.node, hold.node],
            };
            for node in ends {
                if row.visible.last() != Some(&node) {
                    row.visible.push(node);
                    let dot: f64 = row.q.iter().zip(self.key(row, node)).map(|(q, k)| q * k).sum();
                    let score = dot * scale;
                    // Inputs that are not finite are dealt with in the end; scores that overflow are held.
                    row.scores[node] = if score.is_nan() { 0.0 } else { score.clamp(-f64::MAX, f64::MAX) };
                }
            }
        }
        let mut terms: Vec<Term> = pieces.iter().map(|piece| self.term(row, piece)).collect();
        let Some(anchor) = anchor(&terms) else { return };
        let mut masses = vec![0.0; row.weights.len()];
        for term in &mut terms {
            let length = term.part.lambda * term.duration;
            if length > 0.0 {
                term.factor = anchor.factor(term.a_from.max(term.a_to), length);
            }
            masses[term.left] += term.factor * term.shares.left;
            masses[term.right] += term.factor * term.shares.right;
        }
        let z: f64 = row.visible.iter().map(|&j| masses[j]).sum();
        for &j in &row.visible {
            row.weights[j] = masses[j] / z;
        }
        row.lse = (anchor.max + (anchor.log() + libm::log(z))).clamp(-f64::MAX, f64::MAX);
        row.sum = Some((interval, terms, anchor, z));
    }

    fn term(&self, row: &Row, piece: &Piece) -> Term {
        match *piece {
            Piece::Segment { segment, left, right, duration, part } => {
                let (a_from, a_to, shares) =
                    part_shares(self.problem.rule(), row.scores[left], row.scores[right], &part);
                Term { segment, left, right, part, duration, a_from, a_to, shares, factor: 0.0 }
            }
            Piece::Hold(hold) => {
                let a = row.scores[hold.node];
                let shares = Shares { left: 0.0, right: 1.0, diffusion: 0.0 };
                let (left, right, duration) = (hold.node, hold.node, hold.length);
                Term { segment: 0, left, right, part: Part::WHOLE, duration, a_from: a, a_to: a, shares, factor: 0.0 }
            }
        }
    }

    /// Adds what a row gives; returns dL/dq.
    pub(crate) fn backward(&self, at: usize, upstream: &Upstream<'_>, sums: &mut CarefulSums) -> Vec<f64> {
        let row = self.row(at);
        let (head_dim, width) = (row.q.len(), row.o.len());
        let mut g = vec![0.0; width];
        upstream.o().read_row(self.batch, self.head, at, &mut g);
        let g_lse = upstream.lse().map_or(0.0, |lse| lse.get(self.batch, self.head, at, 0));
        let mut dq = vec![0.0; head_dim];
        let poisoned = row.lse.is_nan();
        for &j in &row.visible {
            let w = if poisoned { f64::NAN } else { row.weights[j] };
            let to = source(&row, j) * width;
            for (sum, &g) in sums.dv[to..to + width].iter_mut().zip(&g) {
                *sum += w * g;
            }
        }
        let Some((interval, terms, anchor, z)) = &row.sum else { return dq };
        let mut c = vec![0.0; row.weights.len()];
        for &j in &row.visible {
            let y: f64 = g.iter().zip(self.value(&row, j)).zip(&row.o).map(|((g, v), o)| g * (v - o)).sum();
            c[j] = y + g_lse;
        }
        let mut da = vec![0.0; row.weights.len()];
        for term in terms {
            let (c0, c1) = (c[term.left], c[term.right]);
            let share = term.factor / z;
            let flow = share * term.shares.diffusion * (c1 - c0);
            da[term.left] += share * term.shares.left * c0 + flow;
            da[term.right] += share * term.shares.right * c1 - flow;
            if term.segment > 0 {
                let density = anchor.density(term.a_from.max(term.a_to)) / z * term.part.lambda;
                sums.durations[term.segment - 1] += density * (term.shares.left * c0 + term.shares.right * c1);
            }
        }
        for (edge, is_upper) in [(&interval.lower, false), (&interval.upper, true)] {
            if let Some(term) = cut_term(edge, interval, terms) {
                let fraction = if is_upper { term.part.beta } else { term.part.alpha };
                let gain = self.edge_gain(&row, term, *anchor, is_upper, &c) / z;
                for i in edge.moved_by() {
                    sums.durations[i - 1] += gain * edge.velocity(i, fraction);
                }
            }
        }
        let scale = self.problem.scale();
        for &j in &row.visible {
            let scaled = da[j] * scale;
            for (d, k) in dq.iter_mut().zip(self.key(&row, j)) {
                *d += scaled * k;
            }
            let to = source(&row, j) * head_dim;
            for (d, q) in sums.dk[to..to + head_dim].iter_mut().zip(&row.q) {
                *d += scaled * q;
            }
        }
        dq
    }

    /// What L gains when an edge moves later by a unit of time, times Z: the integrand there; under the trapezoid, the derivative of
    /// (lambda/2)(f(alpha) + f(beta)), f = e^a c, f' = e^a (x c + c_1 - c_0).
    fn edge_gain(&self, row: &Row, term: &Term, anchor: Anchor, is_upper: bool, c: &[f64]) -> f64 {
        let (c0, c1, part) = (c[term.left], c[term.right], &term.part);
        let sign = if is_upper { 1.0 } else { -1.0 };
        let rule = self.problem.rule();
        if term.segment == 0 || rule == Rule::Step {
            return sign * anchor.density(row.scores[term.right]) * c1;
        }
        let alpha = (anchor.density(term.a_from), part.one_minus_alpha * c0 + part.alpha * c1);
        let beta = (anchor.density(term.a_to), part.one_minus_beta * c0 + part.beta * c1);
        let (density, c_edge) = if is_upper { beta } else { alpha };
        if rule == Rule::Trapezoid {
            let x = row.scores[term.right] - row.scores[term.left];
            let mean = 0.5 * (alpha.0 * alpha.1 + beta.0 * beta.1);
            sign * mean + 0.5 * part.lambda * density * (x * c_edge + c1 - c0)
        } else {
            sign * density * c_edge
        }
    }
}

/// The node whose key and value a node has.
fn source(row: &Row, node: usize) -> usize {
    if node == 0 { row.copied.unwrap_or(0) } else { node }
}

fn anchor(terms: &[Term]) -> Option<Anchor> {
    let mut best: Option<Anchor> = None;
    for term in terms {
        let length = term.part.lambda * term.duration;
        if length > 0.0 {
            let candidate = Anchor { max: term.a_from.max(term.a_to), exponent: libm::frexp(length).1 - 1 };
            // Differences of like terms: beside a huge score the logarithm of a length would be rounded away.
            let larger = |best: Anchor| (candidate.max - best.max) + (candidate.log() - best.log()) > 0.0;
            if best.is_none_or(larger) {
                best = Some(candidate);
            }
        }
    }
    best
}

fn cut_term<'t>(edge: &MovingEdge, interval: &Interval, terms: &'t [Term]) -> Option<&'t Term> {
    match edge.place {
        Place::Node => None,
        Place::Segment(i) => terms.iter().find(|term| term.segment == i),
        Place::Before(_) => interval.hold_before.and(terms.first()),
        Place::After(_) => interval.hold_after.and(terms.last()),
    }
}
