//! What each node of a row gets, and its weight and bias.

use super::bounds::{Estimate, SLACK, UNIT_SQUARED};
use super::dd::Dd;
use super::exp::{exp, log};
use super::share::shares;
use contattn_core::Rule;

/// Larger ends below this, relative to the anchor, are left out.
const LEFT_OUT: f64 = -500.0;
/// Exponentials below this are 0 beside a larger end that is not left out.
const LOWEST: f64 = -650.0;

/// A part of a segment or a piece of held curve.
pub(super) struct Part {
    pub(super) left: usize,
    pub(super) right: usize,
    pub(super) length: Dd,
    pub(super) cut: Option<Cut>,
}

/// alpha, 1 - alpha, beta, 1 - beta, lambda
pub(super) struct Cut(pub(super) [Dd; 5]);

/// What each node gets, in units of e^anchor.
pub(super) struct Masses {
    pub(super) anchor: f64,
    pub(super) total: Dd,
    /// (node, P) in time order
    pub(super) nodes: Vec<(usize, Dd)>,
    /// a bound of what was left out
    pub(super) left_out: f64,
}

impl Masses {
    pub(super) fn new(rule: Rule, parts: &[Part], scores: &[Dd]) -> Option<Masses> {
        let tops = parts.iter().flat_map(|part| [scores[part.left].high, scores[part.right].high]);
        let anchor = tops.fold(f64::NEG_INFINITY, f64::max);
        if anchor.is_nan() || anchor.abs() >= 1e15 {
            return None;
        }
        let relative = |score: Dd| score - Dd::new(anchor);
        let power = |z: Dd| if z.high < LOWEST { Dd::ZERO } else { exp(z) };
        let mut nodes: Vec<(usize, Dd)> = Vec::with_capacity(parts.len() + 2);
        let mut give = |node: usize, mass: Dd| match nodes.last_mut() {
            Some(last) if last.0 == node => last.1 = last.1 + mass,
            _ => nodes.push((node, mass)),
        };
        let mut left_out = 0.0;
        // The exponential of the last node is that of the next segment's left one.
        let mut known: Option<(usize, Dd)> = None;
        for part in parts {
            let (z0, z1) = (relative(scores[part.left]), relative(scores[part.right]));
            let constant = part.left == part.right;
            let (from, to) = match &part.cut {
                Some(Cut([alpha, _, beta, ..])) if !constant => {
                    let rise = z1 - z0;
                    (z0 + rise * *alpha, z0 + rise * *beta)
                }
                _ => (z0, z1),
            };
            if from.high.max(to.high) < LEFT_OUT {
                left_out += part.length.high * 1e-217; // e^-500 < 1e-217
                known = None;
                continue;
            }
            let whole = part.cut.is_none();
            let e1 = power(to);
            if constant {
                give(part.right, e1 * part.length);
                known = whole.then_some((part.right, e1));
                continue;
            }
            let e0 = match known {
                Some((node, e)) if whole && node == part.left => e,
                _ => power(from),
            };
            known = whole.then_some((part.right, e1));
            let (l, r) = shares(rule, e0, e1, to - from);
            let (left, right) = match &part.cut {
                None => (l, r),
                Some(Cut([alpha, alpha_rest, beta, beta_rest, _])) => {
                    (l * *alpha_rest + r * *beta_rest, l * *alpha + r * *beta)
                }
            };
            give(part.left, left * part.length);
            give(part.right, right * part.length);
        }
        let total = nodes.iter().fold(Dd::ZERO, |sum, (_, mass)| sum + *mass);
        (total.high > 1e-150 && total.high < 1e150).then_some(Masses { anchor, total, nodes, left_out })
    }
}

impl Masses {
    /// w = P/Z by node, off by the errors of both and of the quotient.
    pub(super) fn weights(&self, eta: f64, nodes: usize) -> Vec<Option<Estimate>> {
        let mut weights = vec![None; nodes];
        for (node, mass) in self.by_node().filter(|(_, mass)| mass.high >= 1e-250) {
            let value = mass / self.total;
            let bound = SLACK * (2.0 * eta + 32.0 * UNIT_SQUARED) * value.high;
            weights[node] = Some(Estimate::Within { value, bound });
        }
        weights
    }

    /// b = log P + anchor - a by node: off by eta in log P and epsilon in a, 2^-90 in the logarithm (see `exp::log`) and a few
    /// u^2 of |a - anchor|.
    pub(super) fn biases(&self, scores: &[Dd], eta: f64) -> Vec<Option<Estimate>> {
        let mut biases = vec![None; scores.len()];
        for (node, mass) in self.by_node().filter(|(_, mass)| mass.high >= 1e-250) {
            let above = Dd::new(self.anchor) - scores[node];
            let value = log(mass) + above;
            let bound = SLACK * (2.0 * eta + 2f64.powi(-90) + 2f64.powi(-100) * above.high.abs());
            biases[node] = Some(Estimate::Within { value, bound });
        }
        biases
    }

    /// Each node once; those of parts that were left out are not known, and so not here.
    fn by_node(&self) -> impl Iterator<Item = (usize, Dd)> + '_ {
        let complete = self.left_out == 0.0;
        self.nodes.iter().copied().filter(move |_| complete)
    }
}
