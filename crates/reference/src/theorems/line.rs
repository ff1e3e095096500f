//! A row over rational times, evaluated by the definition: what differences need, whose steps are no f64.

use crate::enclosure::Enclosure;
use crate::phi::{moment, phi2};
use contattn_core::Rule;
use rug::Rational;

/// An edge of the window: so much after a node's time, or a fixed time.
#[derive(Clone, Debug)]
pub(super) enum Border {
    Fixed(Rational),
    After(usize, Rational),
}

/// Nodes 0..=m, all visible, and the window.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) rule: Rule,
    /// of segments 1..=m; node 0 stands at time 0
    pub(super) durations: Vec<Rational>,
    /// of nodes 0..=m
    pub(super) scores: Vec<Rational>,
    pub(super) values: Vec<Rational>,
    borders: [Border; 2],
    /// whether the window holds all of a segment: small changes of durations do not change that, since an edge on a node
    /// moves with it, but may make a duration of 0 negative
    is_whole: Vec<bool>,
}

impl Line {
    /// Of durations, (score, value) of the nodes, and the window.
    pub(super) fn new(
        rule: Rule,
        durations: Vec<Rational>,
        nodes: Vec<(Rational, Rational)>,
        borders: [Border; 2],
    ) -> Line {
        let (scores, values) = nodes.into_iter().unzip();
        let mut line = Line { rule, durations, scores, values, borders, is_whole: Vec::new() };
        let times = line.times();
        let [lower, upper] = line.window(&times);
        let within = |t: &Rational| lower <= *t && *t <= upper;
        line.is_whole = times.windows(2).map(|pair| within(&pair[0]) && within(&pair[1])).collect();
        line
    }

    fn times(&self) -> Vec<Rational> {
        let mut all = vec![Rational::new()];
        for (i, d) in self.durations.iter().enumerate() {
            let next = Rational::from(&all[i] + d);
            all.push(next);
        }
        all
    }

    fn window(&self, times: &[Rational]) -> [Rational; 2] {
        self.borders.each_ref().map(|border| match border {
            Border::Fixed(t) => t.clone(),
            Border::After(node, offset) => Rational::from(&times[*node] + offset),
        })
    }

    /// The largest score.
    pub(super) fn top(&self) -> Rational {
        self.scores.iter().max().cloned().unwrap_or_default()
    }

    /// int e^{a - anchor} v and int e^{a - anchor} over the window. `half` is the trapezoid's weight of a segment's left end.
    pub(super) fn integrals(&self, anchor: &Rational, half: &Rational, p: u32) -> [Enclosure; 2] {
        let number = |x: &Rational| Enclosure::from_rational(p, x);
        let exp = |a: &Rational| number(&Rational::from(a - anchor)).exp();
        let times = self.times();
        let [lower, upper] = self.window(&times);
        let mut sums = [Enclosure::zero(p), Enclosure::zero(p)];
        let mut add = |above: Enclosure, below: Enclosure| {
            sums[0] += above;
            sums[1] += below;
        };
        let last = times.len() - 1;
        let first = if self.rule == Rule::Step { 1 } else { 0 };
        let mut hold = |node: usize, length: Rational| {
            let mass = exp(&self.scores[node]) * number(&length);
            add(&mass * number(&self.values[node]), mass);
        };
        if lower < times[0] {
            hold(first, Rational::from(&times[0] - &lower));
        }
        if upper > times[last] {
            hold(last, Rational::from(&upper - &times[last]));
        }
        for i in 1..=last {
            let duration = &self.durations[i - 1];
            let [alpha, beta] = if self.is_whole[i - 1] {
                [Rational::new(), Rational::from(1)]
            } else {
                let from = Ord::max(&times[i - 1], &lower);
                let to = Ord::min(&times[i], &upper);
                if from >= to {
                    continue;
                }
                [from, to].map(|t| Rational::from(t - &times[i - 1]) / duration)
            };
            let length = number(&(Rational::from(&beta - &alpha) * duration));
            if self.rule == Rule::Step {
                let mass = exp(&self.scores[i]) * length;
                add(&mass * number(&self.values[i]), mass);
                continue;
            }
            let along = |x: &[Rational], u: &Rational| Rational::from(&x[i] - &x[i - 1]) * u + &x[i - 1];
            let (a, b) = (along(&self.scores, &alpha), along(&self.scores, &beta));
            let (v, w) = (number(&along(&self.values, &alpha)), number(&along(&self.values, &beta)));
            let (left, right) = if self.rule == Rule::Trapezoid {
                (exp(&a) * number(half), exp(&b).shifted(-1))
            } else {
                let y = number(&Rational::from(&b - &a));
                (exp(&a) * phi2(&y), exp(&a) * moment(&y))
            };
            add(&length * (&left * &v + &right * &w), length * (left + right));
        }
        sums
    }

    /// g o + g_lse lse.
    pub(super) fn loss(&self, g: &Enclosure, g_lse: &Enclosure, anchor: &Rational, p: u32) -> Enclosure {
        let [above, below] = self.integrals(anchor, &Rational::from((1, 2)), p);
        g * (above / &below) + g_lse * (below.ln() + Enclosure::from_rational(p, anchor))
    }

    /// The same curve with every segment divided in `parts` equal ones.
    pub(super) fn refined(&self, parts: u32) -> Line {
        let steps = |x: &[Rational]| {
            let mut all = vec![x[0].clone()];
            for pair in x.windows(2) {
                let step = Rational::from(&pair[1] - &pair[0]) / parts;
                all.extend((1..=parts).map(|k| Rational::from(&step * k) + &pair[0]));
            }
            all
        };
        let durations = self.durations.iter().flat_map(|d| vec![Rational::from(d / parts); parts as usize]).collect();
        let borders = self.borders.clone().map(|border| match border {
            Border::After(node, offset) => Border::After(node * parts as usize, offset),
            Border::Fixed(_) => border,
        });
        let nodes = steps(&self.scores).into_iter().zip(steps(&self.values)).collect();
        Line::new(self.rule, durations, nodes, borders)
    }
}
