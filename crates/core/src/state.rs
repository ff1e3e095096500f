//! Partial results that merge.

use crate::real::Real;

/// The result over a run of segments, for one row: what tiles, split keys, threads and machines exchange.
///
/// With anchor M (`max`, any number that keeps the exponentials in range, by custom the largest score of the run):
/// Z = mass e^M, o = output, lse = M + log mass. A run without mass keeps the value at its latest visible point instead, so
/// that the rule for zero measure survives merging; a run that saw nothing at all is the identity.
///
/// Laws, exact in real arithmetic and to rounding in floating point: merging is associative in time order,
/// [`RowState::empty`] is its identity on both sides, it commutes where both masses are positive, and merging the states of
/// the runs of any split gives the state of the whole.
///
/// Proofs: `one_pass_app`, `one_pass_result`, `plan_result`, `state_lse`, `one_pass_anchor`,
/// `row_state_is_attention`.
#[derive(Clone, Debug, PartialEq)]
pub struct RowState<T> {
    max: T,
    mass: T,
    output: Option<Vec<T>>,
}

impl<T: Real> RowState<T> {
    /// A run in which nothing is visible.
    pub fn empty() -> RowState<T> {
        RowState { max: T::NEG_INFINITY, mass: T::ZERO, output: None }
    }

    /// A run of visible nodes without duration: `value` is v at its latest visible point.
    pub fn point(value: Vec<T>) -> RowState<T> {
        RowState { max: T::NEG_INFINITY, mass: T::ZERO, output: Some(value) }
    }

    /// A run of mass Z = mass e^max and output o. Where `mass` is 0 this is [`RowState::point`] of `output`.
    pub fn new(max: T, mass: T, output: Vec<T>) -> RowState<T> {
        if mass == T::ZERO { RowState::point(output) } else { RowState { max, mass, output: Some(output) } }
    }

    /// M
    pub fn max(&self) -> T {
        self.max
    }

    /// Z e^{-M}
    pub fn mass(&self) -> T {
        self.mass
    }

    /// o; `None` where nothing was visible.
    pub fn output(&self) -> Option<&[T]> {
        self.output.as_deref()
    }

    /// log Z; -infinity without mass.
    pub fn lse(&self) -> T {
        if self.mass == T::ZERO { T::NEG_INFINITY } else { self.max + self.mass.ln() }
    }

    /// The state of this run followed in time by `later`.
    ///
    /// # Panics
    /// Where both have an output and their widths differ.
    ///
    /// Proofs: `merge_valid`, `merge_empty_left`, `merge_empty_right`, `merge_associative`, `merge_commutative`,
    /// `any_split`, `any_two_splits`.
    #[must_use]
    pub fn merge(self, later: RowState<T>) -> RowState<T> {
        let (Some(mut mine), Some(theirs)) = (self.output.clone(), later.output.as_ref()) else {
            return if later.output.is_some() { later } else { self };
        };
        match (self.mass == T::ZERO, later.mass == T::ZERO) {
            (_, true) if self.mass != T::ZERO => return self,
            (true, _) => return later,
            _ => {}
        }
        assert_eq!(mine.len(), theirs.len(), "states of different value widths");
        let max = self.max.max(later.max);
        let (a, b) = (self.mass * (self.max - max).exp(), later.mass * (later.max - max).exp());
        let mass = a + b;
        // A convex combination, so it stays within the hull and cannot overflow.
        let (share_a, share_b) = (a / mass, b / mass);
        for (x, &y) in mine.iter_mut().zip(theirs) {
            *x = *x * share_a + y * share_b;
        }
        RowState { max, mass, output: Some(mine) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{Arbitrary, Gen, TestResult, quickcheck};

    #[derive(Clone, Debug)]
    struct Any(RowState<f64>);

    impl Arbitrary for Any {
        fn arbitrary(g: &mut Gen) -> Any {
            let unit = |g: &mut Gen| f64::from(u32::arbitrary(g)) / f64::from(u32::MAX) - 0.5;
            let value = vec![unit(g), unit(g)];
            Any(match u8::arbitrary(g) % 5 {
                0 => RowState::empty(),
                1 => RowState::point(value),
                _ => RowState::new(2000.0 * unit(g), 0.1 + unit(g).abs(), value),
            })
        }
    }

    fn close(a: &RowState<f64>, b: &RowState<f64>) -> bool {
        let near = |x: f64, y: f64| x == y || (x - y).abs() <= 1e-12 * (1.0 + x.abs().max(y.abs()));
        near(a.lse(), b.lse())
            && match (a.output(), b.output()) {
                (None, None) => true,
                (Some(x), Some(y)) => x.iter().zip(y).all(|(&x, &y)| near(x, y)),
                _ => false,
            }
    }

    quickcheck! {
        fn merging_is_associative(a: Any, b: Any, c: Any) -> bool {
            let left = a.0.clone().merge(b.0.clone()).merge(c.0.clone());
            let right = a.0.merge(b.0.merge(c.0));
            close(&left, &right)
        }

        fn empty_is_the_identity(a: Any) -> bool {
            a.0.clone().merge(RowState::empty()) == a.0 && RowState::empty().merge(a.0.clone()) == a.0
        }

        fn it_commutes_where_masses_are_positive(a: Any, b: Any) -> TestResult {
            if a.0.mass() == 0.0 || b.0.mass() == 0.0 {
                return TestResult::discard();
            }
            TestResult::from_bool(close(&a.0.clone().merge(b.0.clone()), &b.0.merge(a.0)))
        }

        fn a_split_sum_is_the_whole_sum(scores: Vec<i8>, at: usize) -> TestResult {
            if scores.is_empty() {
                return TestResult::discard();
            }
            // Softmax of the scores with values i, summed directly, which uses no merge.
            let direct = |scores: &[i8], from: usize| {
                let max = scores.iter().copied().max().map_or(f64::NEG_INFINITY, f64::from);
                let weights: Vec<f64> = scores.iter().map(|&a| (f64::from(a) - max).exp()).collect();
                let mass: f64 = weights.iter().sum();
                let sum: f64 = weights.iter().enumerate().map(|(i, w)| w * (from + i) as f64).sum();
                if scores.is_empty() { RowState::empty() } else { RowState::new(max, mass, vec![sum / mass]) }
            };
            let at = at % scores.len();
            let merged = direct(&scores[..at], 0).merge(direct(&scores[at..], at));
            TestResult::from_bool(close(&merged, &direct(&scores, 0)))
        }
    }

    #[test]
    fn the_latest_point_wins_until_there_is_mass() {
        let point = |x| RowState::point(vec![x]);
        assert_eq!(point(1.0).merge(point(2.0)), point(2.0));
        assert_eq!(point(1.0).merge(RowState::empty()), point(1.0));
        let massive = RowState::new(-1e300, 1.0, vec![3.0]);
        assert_eq!(massive.clone().merge(point(2.0)), massive);
        assert_eq!(point(1.0).merge(massive.clone()), massive);
        let empty = RowState::<f64>::empty().merge(RowState::empty());
        assert_eq!((empty.lse(), empty.output()), (f64::NEG_INFINITY, None));
    }
}
