//! The forward pass of one row.
//!
//! Every strand of the curve gives its integrals relative to e^{its own anchor} and to a power of two near its duration; the
//! row's sums are taken relative to the strand that is largest in this sense, so nothing leaves the range of `f64` that
//! matters to o, lse or w, and the bias of a node is taken from its own strands, so it is good also where its weight is not.

use super::quadrature::{Moments, Share};
use super::scores::{Rows, Score, score};
use super::series::Bias;
use super::sight::{Curve, Sight, Strand};
use super::wide::Wide;
use contattn_core::{Problem, Rule};

/// What one strand gives, relative to e^{anchor} 2^{exponent}.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mass {
    /// the highest score on what is seen of the strand
    pub anchor: Wide,
    /// exponent of its duration: D = mantissa 2^exponent
    pub exponent: i32,
    /// mantissa of its duration, in [1/2, 1); 0 where it has none
    pub mantissa: Wide,
    /// its integrals for a duration of 1
    pub moments: Moments,
    /// mantissa e^{anchor} 2^{exponent}, in units of the row's e^{anchor} 2^{exponent}
    pub factor: Wide,
}

/// Exact results of one row, with all that went into them. Node indices run from 0, the sink, to n.
#[derive(Clone, Debug)]
pub struct Row {
    /// its place: batch, query head, row
    pub place: (usize, usize, usize),
    /// the rule
    pub rule: Rule,
    /// what it sees
    pub sight: Sight,
    /// the node that its sink copies
    pub copied: Option<usize>,
    /// scores of the visible nodes
    pub scores: Vec<Option<Score>>,
    /// one for each strand
    pub masses: Vec<Mass>,
    /// series of the Taylor rule
    pub series: Vec<Option<Bias>>,
    /// reference of the exponentials
    pub anchor: Wide,
    /// reference of the durations: everything is in units of e^{anchor} 2^{exponent}
    pub exponent: i32,
    /// Z in those units
    pub total: Wide,
    /// P in those units
    pub shares: Vec<Wide>,
    /// whether NaN or infinity in q or in a visible k makes all of the row NaN
    pub poisoned: bool,
    /// columns of o that are NaN through a visible v, or all of them
    pub poisoned_columns: Vec<bool>,
    /// o; meaningless in poisoned columns
    pub o: Vec<Wide>,
    /// log Z; -infinity without measure
    pub lse: Wide,
    /// w
    pub weights: Vec<Wide>,
    /// b; -infinity where nothing of a node is visible
    pub bias: Vec<Wide>,
}

const MINUS_INFINITY: Wide = Wide::from_f64(f64::NEG_INFINITY);

/// Differences of scores that were held at the largest `f64` may overflow; they are held as well.
fn held(x: Wide) -> Wide {
    if x.is_finite() { x } else { Wide::from_f64(f64::MAX.copysign(x.to_f64())) }
}

/// The score at the point (1 - u) left + u right.
pub(crate) fn at(left: Wide, right: Wide, after: Wide, u: Wide) -> Wide {
    if left == right { left } else { held(left * after) + held(right * u) }
}

impl Mass {
    /// The integrals of one strand, by the rule's definition.
    fn of(rule: Rule, strand: &Strand, scores: &[Option<Score>]) -> Mass {
        let a = |node: usize| scores[node].map_or(Wide::ZERO, |s| s.value);
        let (left, right, share) = (a(strand.left), a(strand.right), &strand.share);
        let (first, last) =
            (at(left, right, share.after_alpha, share.alpha), at(left, right, share.after_beta, share.beta));
        let (anchor, moments) = match rule {
            _ if strand.segment.is_none() => (right, Moments::at_right(Wide::ONE)),
            Rule::Step => (right, Moments::at_right(share.length)),
            Rule::Trapezoid => {
                let anchor = first.max(last);
                (anchor, trapezoid(share, first - anchor, last - anchor))
            }
            Rule::Linear | Rule::Taylor(_) => {
                (first.max(last), Moments::linear(share, held(held(right - left) * share.length)))
            }
        };
        let (mantissa, exponent) = strand.duration.mantissa_and_exponent();
        Mass { anchor, exponent, mantissa, moments, factor: Wide::ZERO }
    }

    /// ln of its scale, to compare strands by.
    fn height(&self) -> Wide {
        self.anchor + Wide::LN_2 * f64::from(self.exponent)
    }

    /// mantissa e^{anchor} 2^{exponent} relative to another scale.
    fn relative_to(&self, anchor: Wide, exponent: i32) -> Wide {
        if self.mantissa == Wide::ZERO {
            // However high its score, which the others' scale may not hold.
            return Wide::ZERO;
        }
        let shift = held(self.anchor - anchor) + Wide::LN_2 * f64::from(self.exponent - exponent);
        self.mantissa * shift.exp()
    }
}

/// length (f(alpha) + f(beta))/2.
fn trapezoid(share: &Share, first: Wide, last: Wide) -> Moments {
    let mut moments = Moments::default();
    moments.add(share.length * 0.5 * held(first).exp(), share.after_alpha, share.alpha);
    moments.add(share.length * 0.5 * held(last).exp(), share.after_beta, share.beta);
    moments
}

impl Row {
    pub(crate) fn evaluate(
        problem: &Problem<'_>,
        place: (usize, usize, usize),
        sight: Sight,
        copied: Option<usize>,
        scale: Wide,
    ) -> Row {
        let (batch, head, row) = place;
        let n = problem.k().shape()[2];
        let (head_dim, width) = (problem.q().shape()[3], problem.v().shape()[3]);
        let mut result = Row {
            place,
            rule: problem.rule(),
            copied,
            scores: vec![None; n + 1],
            masses: Vec::new(),
            series: Vec::new(),
            anchor: Wide::ZERO,
            exponent: 0,
            total: Wide::ZERO,
            shares: vec![Wide::ZERO; n + 1],
            poisoned: false,
            poisoned_columns: vec![false; width],
            o: vec![Wide::ZERO; width],
            lse: MINUS_INFINITY,
            weights: vec![Wide::ZERO; n + 1],
            bias: vec![MINUS_INFINITY; n + 1],
            sight,
        };
        let rows = Rows::new(problem, batch, head);
        let visible = result.visible();
        if visible.is_empty() {
            return result;
        }
        let mut q = vec![0.0; head_dim];
        problem.q().read_row(batch, head, row, &mut q);
        result.poisoned = q.iter().any(|x| !x.is_finite());
        let mut values: Vec<(usize, Vec<f64>)> = Vec::with_capacity(visible.len());
        for &node in &visible {
            let (key, value) = (rows.key(node, copied), rows.value(node, copied));
            result.poisoned |= key.iter().any(|x| !x.is_finite());
            for (poisoned, x) in result.poisoned_columns.iter_mut().zip(&value) {
                *poisoned |= !x.is_finite();
            }
            result.scores[node] = Some(score(&q, &key, scale));
            values.push((node, value));
        }
        if result.poisoned {
            result.poisoned_columns.fill(true);
            return result;
        }
        result.weigh();
        for (node, value) in &values {
            for (c, &x) in value.iter().enumerate() {
                if x.is_finite() {
                    result.o[c] += result.weights[*node] * x;
                }
            }
        }
        result
    }

    /// The nodes whose numbers matter to the row, each once, in order.
    pub fn visible(&self) -> Vec<usize> {
        let mut nodes = match &self.sight {
            Sight::Nothing => Vec::new(),
            Sight::Point { left, right, .. } => vec![*left, *right],
            Sight::Curve(curve) => {
                let ends = curve.strands.iter().flat_map(|s| [s.left, s.right]);
                ends.chain(curve.nodes.iter().copied().filter(|_| matches!(self.rule, Rule::Taylor(_)))).collect()
            }
        };
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// A score that is known to be visible.
    pub fn score(&self, node: usize) -> Wide {
        self.scores[node].map_or(Wide::ZERO, |s| s.value)
    }

    fn weigh(&mut self) {
        match self.sight.clone() {
            Sight::Nothing => {}
            Sight::Point { left, right, fraction } => {
                self.weights[left] += Wide::ONE - fraction;
                self.weights[right] += fraction;
            }
            Sight::Curve(curve) => {
                match self.rule {
                    Rule::Taylor(order) => self.weigh_series(&curve, order),
                    _ => self.weigh_strands(&curve),
                }
                self.total = self.shares.iter().copied().sum();
                self.lse = self.anchor + Wide::LN_2 * f64::from(self.exponent) + self.total.ln();
                for (w, &p) in self.weights.iter_mut().zip(&self.shares) {
                    *w = p / self.total;
                }
            }
        }
    }

    fn weigh_strands(&mut self, curve: &Curve) {
        self.masses = curve.strands.iter().map(|strand| Mass::of(self.rule, strand, &self.scores)).collect();
        let massive = |mass: &&Mass| mass.mantissa != Wide::ZERO;
        let Some(highest) =
            self.masses.iter().filter(massive).reduce(|a, b| if b.height() > a.height() { b } else { a })
        else {
            return;
        };
        (self.anchor, self.exponent) = (highest.anchor, highest.exponent);
        let (anchor, exponent) = (self.anchor, self.exponent);
        for (mass, strand) in self.masses.iter_mut().zip(&curve.strands) {
            mass.factor = mass.relative_to(anchor, exponent);
            self.shares[strand.left] += mass.factor * mass.moments.left;
            self.shares[strand.right] += mass.factor * mass.moments.right;
        }
        self.weigh_bias(curve);
    }

    /// b = log P - a from the strands of each node alone: log of a sum of terms c e^x, taken at the largest x.
    fn weigh_bias(&mut self, curve: &Curve) {
        let mut terms: Vec<Vec<(Wide, Wide)>> = vec![Vec::new(); self.scores.len()];
        for (mass, strand) in self.masses.iter().zip(&curve.strands) {
            if mass.mantissa == Wide::ZERO {
                continue;
            }
            let unit = Wide::LN_2 * f64::from(mass.exponent);
            let mut give = |node: usize, exponent: Wide, coefficient: Wide| {
                if coefficient != Wide::ZERO {
                    terms[node].push((held(exponent - self.score(node)) + unit, mass.mantissa * coefficient));
                }
            };
            if self.rule == Rule::Trapezoid && strand.segment.is_some() {
                // Each of the two points by itself: one may outweigh the other beyond all bounds and give this node nothing.
                let (left, right, share) = (self.score(strand.left), self.score(strand.right), &strand.share);
                for (after, u) in [(share.after_alpha, share.alpha), (share.after_beta, share.beta)] {
                    let score = at(left, right, after, u);
                    give(strand.left, score, share.length * after * 0.5);
                    give(strand.right, score, share.length * u * 0.5);
                }
            } else {
                give(strand.left, mass.anchor, mass.moments.left);
                give(strand.right, mass.anchor, mass.moments.right);
            }
        }
        for (bias, terms) in self.bias.iter_mut().zip(terms) {
            if let Some(highest) = terms.iter().map(|t| t.0).reduce(Wide::max) {
                let sum: Wide = terms.iter().map(|&(x, c)| c * (x - highest).exp()).sum();
                *bias = highest + sum.ln();
            }
        }
    }

    /// The visible neighbours of a node along the strands: left and right.
    pub(crate) fn neighbours(curve: &Curve, node: usize) -> (Option<usize>, Option<usize>) {
        let left = curve.strands.iter().find(|s| s.right == node).map(|s| s.left);
        let right = curve.strands.iter().find(|s| s.left == node).map(|s| s.right);
        (left, right)
    }

    fn weigh_series(&mut self, curve: &Curve, order: u32) {
        self.series = vec![None; self.scores.len()];
        for &node in &curve.nodes {
            let step = |other: usize| held(self.score(other) - self.score(node));
            let bias = match Row::neighbours(curve, node) {
                (Some(left), Some(right)) => Bias::interior(order, step(left), step(right)),
                (Some(one), None) | (None, Some(one)) => Bias::end(order, step(one)),
                (None, None) => Bias::default(),
            };
            self.series[node] = Some(bias);
            self.bias[node] = bias.value;
        }
        let exponents = |row: &Row| -> Vec<(usize, Wide)> {
            curve.nodes.iter().map(|&node| (node, row.score(node) + row.bias[node])).collect()
        };
        let exponents = exponents(self);
        self.anchor = exponents.iter().map(|e| e.1).fold(MINUS_INFINITY, Wide::max);
        for (node, exponent) in exponents {
            self.shares[node] += (exponent - self.anchor).exp();
        }
    }
}
