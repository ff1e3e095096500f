//! The numbers of single nodes with proof: b and w to as many digits as asked, beside what f32 and f64 arithmetic make of them.

use crate::logic::inputs::Inputs;
use crate::logic::source::Source;
use crate::logic::state::State;
use crate::logic::worker::{Failure, Task};
use contattn_core::{Dtype, Engine, Request, Rule};
use contattn_cpu::Plain;
use contattn_reference::exact::Sight;
use contattn_reference::nodes::Nodes;
use contattn_reference::rounding::round_enclosure;
use contattn_reference::{Certified, Enclosure, ExactProblem, decimal, phi, route};
use std::ops::Range;

/// A number that is proven to these digits.
#[derive(Clone, Debug, PartialEq)]
pub struct Proven {
    /// its digits, rounded to nearest: both bounds give the same ones
    pub text: String,
    /// half the width of the enclosure they come from, as text; `0` where the number is exact
    pub radius: String,
    /// the nearest f64
    pub double: f64,
    /// the nearest f32
    pub single: f32,
}

/// A neighbour's part in b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// the neighbour
    pub node: usize,
    /// D of the segment between
    pub duration: f64,
    /// the neighbour's score minus the node's own
    pub difference: f64,
    /// phi2 of it
    pub phi2: f64,
    /// whether all of the segment lies in the window
    pub whole: bool,
}

/// All about one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeProof {
    /// its index
    pub node: usize,
    /// b; `None` where the node gets nothing
    pub bias: Option<Proven>,
    /// w
    pub weight: Proven,
    /// b in f32, as the plain engine computes it
    pub bias_f32: f64,
    /// b in f64, as the plain engine computes it
    pub bias_f64: f64,
    /// b in f32 from the closed form log((e^x - 1 - x)/x^2 + ...), as one would first write it
    pub bias_naive: f32,
    /// what its neighbours contribute, left and right, under Linear
    pub left: Option<Part>,
    /// the right one
    pub right: Option<Part>,
    /// mass of the segment that ends at the node, over Z
    pub mass_before: Option<f64>,
    /// mass of the segment that begins at it, over Z
    pub mass_after: Option<f64>,
    /// w (v - o): what softmax's gradient would be, for the shown channel of o
    pub softmax_gradient: f64,
    /// do/da: the sum of it and the diffusion between neighbours
    pub gradient: f64,
}

/// The proofs of some nodes of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// digits that were asked for
    pub digits: u32,
    /// bits that they took
    pub bits: u32,
    /// the nodes, in order
    pub nodes: Vec<NodeProof>,
}

impl Proof {
    /// The proof of a node, if it is among them.
    pub fn of(&self, node: usize) -> Option<&NodeProof> {
        self.nodes.iter().find(|proof| proof.node == node)
    }
}

/// log2(10) < 3.33, and some bits to see on which side of a middle a number lies.
const fn first_bits(digits: u32) -> u32 {
    digits * 10 / 3 + 64
}

/// The most bits that are tried: a number that is a tie in decimals, such as 1/2, is exact and needs none of them.
const MOST_BITS: u32 = 8192;

/// From so many bits on a number that does not tell is taken for a tie, which more digits do tell.
const TIE_BITS: u32 = 1024;
const DIGITS_OF_TIES: u32 = 60;

/// Decimal digits of an enclosed number, where both bounds round to the same.
fn proven(x: &Enclosure, digits: u32, bits: u32) -> Option<Proven> {
    // The enclosure is what it is: more bits are the caller's to ask for.
    let nearest = |digits| decimal::certified(digits, |_| x.clone());
    let is_late = bits >= TIE_BITS;
    let of_tie = || {
        let text = nearest(digits + DIGITS_OF_TIES)?;
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        Some(format!("{}e{exponent}", mantissa.trim_end_matches('0')))
    };
    let text = nearest(digits).or_else(|| if is_late { of_tie() } else { None })?;
    let middle = || is_late.then(|| x.midpoint().to_f64());
    let double = round_enclosure(Dtype::F64, x).or_else(middle)?;
    let single = round_enclosure(Dtype::F32, x).or_else(middle)?;
    let radius = if x.is_exact() { "0".to_owned() } else { format!("{:.1e}", x.radius().to_f64()) };
    Some(Proven { text: readable(&text), radius, double, single: single as f32 })
}

/// `-5.131e-1` as `-0.5131`, where that is not long.
pub fn readable(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let Ok(exponent) = exponent.parse::<i32>() else { return text.to_owned() };
    if !(-6..=20).contains(&exponent) {
        return text.to_owned();
    }
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if exponent < 0 {
        format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1))
    } else {
        let whole = exponent as usize + 1;
        if digits.len() > whole {
            format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
        } else {
            format!("{sign}{digits}{}", "0".repeat(whole - digits.len()))
        }
    }
}

/// How many characters of `text`, a number in decimals, agree with `exact` before the first that does not: what is behind
/// them is wrong. Both must be written in the same way.
pub fn right_characters(text: &str, exact: &str) -> usize {
    text.chars().zip(exact.chars()).take_while(|(a, b)| a == b).count()
}

/// The closed form as one would first write it, in f32.
fn naive(left: Option<(f64, f32)>, right: Option<(f64, f32)>) -> f32 {
    let phi2 = |x: f32| (x.exp() - 1.0 - x) / (x * x);
    let part = |side: Option<(f64, f32)>| side.map_or(0.0, |(duration, x)| duration as f32 * phi2(x));
    (part(left) + part(right)).ln()
}

/// Proves the numbers of nodes `range` of a state's row.
///
/// # Errors
/// [`Failure`] where the rule does not fit the row, or when cancelled.
pub fn prove(state: &State, source: &Source, range: Range<usize>, task: &Task) -> Result<Proof, Failure> {
    let inputs = Inputs::of_row(state, source)?;
    let problem = inputs.problem()?;
    let exact = ExactProblem::new(&problem);
    let row = exact.row(0, 0, 0);
    let route = Nodes::new(problem.rule());
    let engine = |engine: &dyn Engine| {
        let request = Request { weights: false, bias: true, dtype: Some(Dtype::F64) };
        let output = engine.forward(&problem, &request, task)?;
        Ok::<Vec<f64>, Failure>(output.bias.map(|bias| bias.to_f64()).unwrap_or_default())
    };
    let (bias_f32, bias_f64) = (engine(&Plain::<f32>::new())?, engine(&Plain::<f64>::new())?);
    let mut g = vec![0.0; row.value_dim()];
    g[0] = 1.0;
    let gradient = route::gradient(&route, &row, &g, 0.0, 96);
    let middle = |x: &Certified| match x {
        Certified::Number(x) => x.midpoint().to_f64(),
        Certified::NegInfinity => f64::NEG_INFINITY,
        Certified::Nan => f64::NAN,
    };
    let masses = masses(&row);
    let digits = state.digits;
    let mut bits = first_bits(digits);
    loop {
        task.check()?;
        let values = route::values(&route, &row, bits);
        let o = values.o.first().map_or(0.0, &middle);
        let mut nodes = Vec::new();
        for node in range.clone() {
            let bias = match &values.bias[node] {
                Certified::Number(x) => proven(x, digits, bits).map(Some),
                Certified::NegInfinity | Certified::Nan => Some(None),
            };
            let weight = match &values.weights[node] {
                Certified::Number(x) => proven(x, digits, bits),
                Certified::NegInfinity | Certified::Nan => Some(Proven {
                    text: "not a number".to_owned(),
                    radius: String::new(),
                    double: f64::NAN,
                    single: f32::NAN,
                }),
            };
            let (Some(bias), Some(weight)) = (bias, weight) else { break };
            let (left, right) = neighbours(&row, node);
            let side = |part: &Option<Part>| part.map(|part| (part.duration, part.difference as f32));
            nodes.push(NodeProof {
                node,
                softmax_gradient: weight.double * (row.value_f64(node, 0) - o),
                gradient: gradient.scores.get(node).map_or(0.0, &middle),
                bias_naive: naive(side(&left), side(&right)),
                bias_f32: bias_f32.get(node).copied().unwrap_or(f64::NAN),
                bias_f64: bias_f64.get(node).copied().unwrap_or(f64::NAN),
                mass_before: masses.iter().find(|(_, right, _)| *right == node).map(|(_, _, mass)| *mass),
                mass_after: masses.iter().find(|(left, _, _)| *left == node).map(|(_, _, mass)| *mass),
                bias,
                weight,
                left,
                right,
            });
        }
        if nodes.len() == range.len() {
            return Ok(Proof { digits, bits, nodes });
        }
        if bits >= MOST_BITS {
            return Err(Failure::new(
                format!("{digits} digits were not reached with {bits} bits"),
                "ask for fewer digits",
            ));
        }
        bits *= 2;
    }
}

/// (left node, right node, mass over Z) of every segment, under the rule Linear.
fn masses(row: &contattn_reference::exact::Row<'_>) -> Vec<(usize, usize, f64)> {
    const BITS: u32 = 128;
    let is_linear = row.exact().problem().rule() == Rule::Linear;
    if !is_linear || !matches!(row.sight(), Sight::Measure(_)) || row.is_nan() {
        return Vec::new();
    }
    let terms = row.terms();
    let anchor = contattn_reference::exact::Row::anchor(&terms);
    let root = row.radicand().root(BITS);
    let mut list = Vec::new();
    let mut total = Enclosure::zero(BITS);
    for term in &terms {
        let above = |x: &_| Enclosure::from_rational(BITS, x) - Enclosure::from_rational(BITS, &anchor);
        let (from, to) = (above(&term.from) * &root, above(&term.to) * &root);
        let mass = from.exp() * phi::phi1(&(to - &from)) * Enclosure::from_rational(BITS, &term.length);
        total += &mass;
        list.push((term.piece.left, term.piece.right, mass));
    }
    list.into_iter().map(|(left, right, mass)| (left, right, (mass / &total).midpoint().to_f64())).collect()
}

/// The two segments that a node ends, as far as they are seen.
fn neighbours(row: &contattn_reference::exact::Row<'_>, node: usize) -> (Option<Part>, Option<Part>) {
    let problem = row.exact().problem();
    if row.is_nan() || !matches!(problem.rule(), Rule::Linear | Rule::Trapezoid | Rule::Taylor(_)) {
        return (None, None);
    }
    let part = |other: usize, piece: &contattn_reference::exact::Piece| {
        let root = row.radicand().root(96);
        let difference = Enclosure::from_rational(96, row.score_over_root(other)) * &root
            - Enclosure::from_rational(96, row.score_over_root(node)) * &root;
        Part {
            node: other,
            duration: piece.duration.to_f64(),
            difference: difference.midpoint().to_f64(),
            phi2: phi::phi2(&difference).midpoint().to_f64(),
            whole: piece.is_whole(),
        }
    };
    let pieces = row.pieces();
    let left =
        pieces.iter().find(|piece| piece.right == node && piece.left != node).map(|piece| part(piece.left, piece));
    let right =
        pieces.iter().find(|piece| piece.left == node && piece.right != node).map(|piece| part(piece.right, piece));
    (left, right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::preset::Preset;
    use crate::logic::worker::{Lane, Worker};
    use std::sync::Arc;
    use std::time::Duration;

    /// Runs a job as the explorer does, and waits for it.
    fn run<T: Clone + Send + Sync + 'static>(job: impl FnOnce(&Task) -> Result<T, Failure> + Send + 'static) -> T {
        let mut worker = Worker::new(Arc::new(|| {}));
        worker.ask("test", Lane::Long, 1, crate::logic::worker::Job::new(job));
        assert!(worker.settle(Duration::from_secs(60)));
        let shown = worker.shown::<T>("test");
        assert_eq!(shown.failure, None);
        shown.value.unwrap().clone()
    }

    fn proof(preset: Preset, digits: u32, change: impl FnOnce(&mut State)) -> Proof {
        let mut state = State { row: preset.row(), digits, ..State::default() };
        change(&mut state);
        let n = state.row.len();
        run(move |task| prove(&state, &Source::carried(), 0..n, task))
    }

    /// b of a spike of height h beside zeros: log(2 phi2(-h)); phi2(-4) = (e^-4 + 3)/16 to 20 digits, by hand in bc.
    #[test]
    fn digits_are_those_of_the_closed_form() {
        let proof = proof(Preset::Spike, 20, |_| {});
        let spike = proof.of(4).unwrap();
        let bias = spike.bias.as_ref().unwrap();
        let exact = (2.0 * ((-4.0f64).exp() + 3.0) / 16.0).ln();
        assert!((bias.double - exact).abs() < 1e-15);
        assert!(bias.text.starts_with("-0.97474260135264554557"), "{}", bias.text);
        assert_eq!(bias.text.trim_start_matches(['-', '0', '.']).len(), 20);
        assert!(spike.left.is_some_and(|part| part.difference == -4.0 && part.whole));
        // Masses of all segments are all of Z.
        let masses: f64 = proof.nodes.iter().filter_map(|node| node.mass_before).sum();
        assert!((masses - 1.0).abs() < 1e-14, "{masses}");
        // Gradients of a softmax-like row add up to 0.
        let sum: f64 = proof.nodes.iter().map(|node| node.gradient).sum();
        assert!(sum.abs() < 1e-14, "{sum}");
    }

    /// Equal scores: inside b = 0, at the ends -log 2, which the naive closed form makes NaN of.
    #[test]
    fn equal_scores_are_exact_where_naive_is_nan() {
        let proof = proof(Preset::Equal, 30, |_| {});
        let inner = proof.of(3).unwrap();
        assert_eq!(inner.bias.as_ref().map(|b| b.double), Some(0.0));
        assert!(inner.bias_naive.is_nan());
        let end = proof.of(0).unwrap().bias.clone().unwrap();
        assert_eq!(end.text, "-0.693147180559945309417232121458");
        // A weight of 1/8 is a tie at two digits, and is known exactly.
        let few = super::tests::proof(Preset::Equal, 2, |_| {});
        assert_eq!(few.of(3).unwrap().weight.text, "0.12");
    }

    #[test]
    fn every_preset_is_proven_under_every_rule() {
        for preset in Preset::ALL {
            for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)] {
                if preset == Preset::Irregular && matches!(rule, Rule::Taylor(_)) {
                    continue;
                }
                let proof = proof(preset, 12, |state| state.rule = rule);
                let sum: f64 = proof.nodes.iter().map(|node| node.weight.double).sum();
                assert!((sum - 1.0).abs() < 1e-12, "{preset:?} {rule}: {sum}");
            }
        }
    }

    #[test]
    fn decimals_are_readable() {
        for (text, expected) in [
            ("-5.131e-1", "-0.5131"),
            ("2.500", "2.500"),
            ("1.2345e2", "123.45"),
            ("1.2e3", "1200"),
            ("-1.5e-7", "-1.5e-7"),
            ("1e400", "1e400"),
        ] {
            assert_eq!(readable(text), expected);
        }
        assert_eq!(right_characters("-0.51317471", "-0.5131747367"), 10);
    }
}
