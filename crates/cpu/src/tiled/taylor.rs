//! The Taylor rule of orders 0 and 1: weights e^{a + b} of nodes, from scores smoothed along the keys.
//!
//! Order 1 cuts b after its second differences. With x_i = a_i - a_{i-1} for a segment that is seen and 0 for one that is not,
//!
//! ```text
//! neighbours   e^{a + b} = f e^t    t                                          f
//! both                              a_j + (x_{j+1} - x_j)/6                    1
//!                                   = (a_{j-1} + 4 a_j + a_{j+1})/6
//! one                               a_j + (x_{j+1} - x_j)/3                    1/2
//!                                   = (2 a_j + a_of the neighbour)/3
//! none                              a_j                                        1
//! ```
//!
//! and order 0 has t = a_j, the same f, and slopes of 0 instead of 1/6 and 1/3. All these t are means of scores with positive weights, so t never exceeds the row's
//! largest score. It may lie far below it (a single peak of height H gives at most 2H/3), so rows are anchored at their largest
//! t, not at their largest score: then z is at least 1/2. f is a factor and not part of t, since beside a score of 10^11 log 2
//! would be rounded away.
//!
//! A change of t_j by the scores: t_j depends on x_j and x_{j+1} with slopes -k_j and k_j (1/6, 1/3), so with q_j = w_j c_j
//!
//! ```text
//! dL/da_j = q_j + flow_j - flow_{j+1}      flow_i = k_{i-1} q_{i-1} - k_i q_i where segment i is seen, else 0
//! ```
//!
//! t itself is not formed but to find the largest one: it may be large where its distance from the anchor is small, and would lose
//! digits to that. Weights are of (a - m) + b.
//!
//! Higher orders are not smoothings: their t is a polynomial of the differences, and they are refused by name.

use super::segment::Mistake;
use super::simd::Simd;
use contattn_core::Rule;

/// Taylor of order 0 or 1: one kernel, since order 0 is order 1 with slopes of 0.
#[derive(Clone, Copy)]
pub(crate) struct Taylor;

/// k of a node with two neighbours, and of one with one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slopes {
    pub(crate) inside: f32,
    pub(crate) at_end: f32,
}

/// b = t - a, f and k of nodes, one for each lane.
#[derive(Clone, Copy)]
pub(crate) struct Exponent<V> {
    pub(crate) bias: V,
    pub(crate) factor: V,
    pub(crate) slope: V,
}

/// Whether kernels of this rule make a mistake: never, but in a test.
#[inline(always)]
pub(crate) fn makes(_mistake: Mistake) -> bool {
    #[cfg(test)]
    return super::mistakes::makes(_mistake);
    #[cfg(not(test))]
    false
}

impl Slopes {
    /// Those of a rule that is Taylor of order 0 or 1.
    pub(crate) fn of(rule: Rule) -> Slopes {
        #[cfg(test)]
        if super::mistakes::spoils_slopes() {
            return Slopes { inside: 0.16, at_end: 1.0 / 3.0 };
        }
        match rule {
            Rule::Taylor(0) => Slopes { inside: 0.0, at_end: 0.0 },
            _ => Slopes { inside: 1.0 / 6.0, at_end: 1.0 / 3.0 },
        }
    }

    /// b of nodes with two neighbours, from x_j and x_{j+1}.
    #[inline(always)]
    pub(crate) fn inside<S: Simd>(self, s: S, before: S::V, after: S::V) -> S::V {
        s.mul(s.splat(self.inside), s.sub(after, before))
    }

    /// The same of nodes with any number of neighbours: `left` and `right` are 1 where there is one, else 0, and so are x_j and
    /// x_{j+1} there.
    #[inline(always)]
    pub(crate) fn anywhere<S: Simd>(
        self,
        s: S,
        (left, before): (S::V, S::V),
        (right, after): (S::V, S::V),
    ) -> Exponent<S::V> {
        let count = s.add(left, right);
        let is_end = s.and(s.lt(s.splat(0.5), count), s.lt(count, s.splat(1.5)));
        let factor = s.select(is_end, s.splat(0.5), s.splat(1.0));
        let slope = s.select(is_end, s.splat(self.at_end), s.splat(self.inside));
        Exponent { bias: s.mul(slope, s.sub(after, before)), factor, slope }
    }

    /// b of a sink, which ends the one segment that joins it to node f.
    #[inline(always)]
    pub(crate) fn sink<S: Simd>(self, s: S, a_sink: S::V, a_first: S::V) -> S::V {
        s.mul(s.splat(self.at_end), s.sub(a_first, a_sink))
    }
}

/// t - m of a node.
#[inline(always)]
pub(crate) fn exponent<S: Simd>(s: S, a: S::V, bias: S::V, m: S::V) -> S::V {
    s.add(s.sub(a, m), bias)
}

#[cfg(test)]
mod tests {
    use super::super::simd::{Backend, Isa, Kernel, Simd};
    use super::*;
    use crate::plain::taylor;

    /// t, f and k against the plain engine's series, for every number of neighbours.
    struct Nodes;

    impl Kernel for Nodes {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            for order in [0, 1] {
                let slopes = Slopes::of(Rule::Taylor(order));
                for (a, u, w) in [(0.3, 0.7, -0.4), (-2.0, 30.0, 11.0), (5.0, 0.0, 0.0), (100.0, -300.0, -250.0)] {
                    for (left, right) in [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)] {
                        let expected = match (left > 0.0, right > 0.0) {
                            (true, true) => taylor::interior(u, w, order),
                            (true, false) => taylor::end(u, order),
                            (false, true) => taylor::end(w, order),
                            (false, false) => taylor::Bias { value: 0.0, by_u: 0.0, by_w: 0.0 },
                        };
                        let (before, after) = ((-u * left) as f32, (w * right) as f32);
                        let found = slopes.anywhere(
                            s,
                            (s.splat(left as f32), s.splat(before)),
                            (s.splat(right as f32), s.splat(after)),
                        );
                        let inside = slopes.inside(s, s.splat(before), s.splat(after));
                        let sink = slopes.sink(s, s.splat(a as f32), s.splat((a + w) as f32));
                        let numbers = [found.bias, found.factor, found.slope, inside, sink];
                        let numbers: [f64; 5] = std::array::from_fn(|i| f64::from(s.floats(&numbers)[i * S::LANES]));
                        let b = numbers[0] + numbers[1].ln();
                        assert!((b - expected.value).abs() < 1e-4, "{left} {right}: {b} {expected:?}");
                        if left + right > 0.0 {
                            assert!((numbers[2] - expected.by_u).abs() < 1e-7, "{left} {right}: {numbers:?}");
                        }
                        if left + right == 2.0 {
                            assert_eq!(numbers[0], numbers[3]);
                        }
                        if (left, right) == (0.0, 1.0) {
                            assert!((numbers[0] - numbers[4]).abs() < 1e-4, "a sink is an end: {numbers:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn nodes_have_the_exponents_of_the_series() {
        for isa in Isa::ALL {
            if let Ok(backend) = Backend::new(isa) {
                backend.run(Nodes);
            }
        }
    }
}
