//! Three routes to every value: they share no formula, and say the same.

mod cases;
mod numbers;

use cases::{Mix, random};
use contattn_reference::exact::{Row, Sight};
use contattn_reference::nodes::Nodes;
use contattn_reference::quadrature::Quadrature;
use contattn_reference::route::{Derivatives, Sums, Want, gradient, values};
use contattn_reference::segments::Segments;
use contattn_reference::{Certified, Enclosure, ExactProblem, Route};
use numbers::Numbers;
use rug::Float;

const PRECISION: u32 = 110;

fn check(a: &[Certified], b: &[Certified], what: &str, context: &dyn Fn() -> String) {
    assert_eq!(a.len(), b.len(), "{what} {}", context());
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!(x.overlaps(y), "{what} {i}: {x:?} {y:?} {}", context());
        for number in [x.number(), y.number()].into_iter().flatten() {
            // Against 1 where the value itself may be 0.
            let beyond = |x: &Float| x.get_exp().is_some_and(|e| e > 1 << 28);
            if beyond(number.lower()) || beyond(number.upper()) {
                continue; // e^(10^9) and the like: past MPFR's own range
            }
            let width = number.relative_width().min(&number.radius());
            assert!(width < Float::with_val(64, 1) >> 90u32, "{what} {i} is wide: {number:?} {}", context());
        }
    }
}

fn compare(rounds: usize, mix: Mix, seed: u64) {
    let mut numbers = Numbers::new(seed);
    let quadrature = Quadrature::default();
    for _ in 0..rounds {
        let case = random(&mut numbers, mix);
        let problem = case.problem().unwrap();
        let exact = ExactProblem::new(&problem);
        let shape = problem.shape();
        let nodes = Nodes::new(problem.rule());
        let batch = numbers.below(shape.batch);
        let head = numbers.below(shape.heads);
        for index in 0..shape.queries {
            let row = exact.row(batch, head, index);
            let context = || format!("{:?} {:?} {:?}", case.sink, case.spec, row.sight());
            let g: Vec<f64> = (0..shape.value_dim).map(|_| numbers.between(-1.0, 1.0)).collect();
            let g_lse = numbers.between(-1.0, 1.0);
            let routes: [&dyn Route; 3] = [&nodes, &Segments, &quadrature];
            let [a, b, c] = routes.map(|route| values(route, &row, PRECISION));
            for other in [&b, &c] {
                check(&a.o, &other.o, "o", &context);
                check(std::slice::from_ref(&a.lse), std::slice::from_ref(&other.lse), "lse", &context);
                check(&a.weights, &other.weights, "weight", &context);
                check(&a.bias, &other.bias, "bias", &context);
            }
            let [a, b, c] = routes.map(|route| gradient(route, &row, &g, g_lse, PRECISION));
            for other in [&b, &c] {
                check(&a.scores, &other.scores, "dL/da", &context);
                check(&a.durations, &other.durations, "dL/dD", &context);
            }
        }
    }
}

#[test]
fn three_routes_agree_on_coarse_times() {
    compare(600, Mix::default(), 7);
}

#[test]
fn three_routes_agree_on_fine_times() {
    compare(300, Mix { coarse: false, ..Mix::default() }, 8);
}

#[test]
fn three_routes_agree_on_peaked_rows() {
    compare(150, Mix { score: 300.0, ..Mix::default() }, 9);
}

#[test]
fn three_routes_agree_on_nearly_equal_scores() {
    compare(150, Mix { score: 1e-9, ..Mix::default() }, 10);
}

/// Scores of 2^37: exponentials out of MPFR's range beside each other.
#[test]
fn three_routes_agree_on_scores_out_of_range() {
    compare(60, Mix { score: 2f64.powi(37), largest: 4, ..Mix::default() }, 14);
}

/// A mistake of 2^-85 in one function of one route is seen.
#[test]
fn a_planted_mistake_shows() {
    struct Planted(Nodes);
    impl Route for Planted {
        fn name(&self) -> &'static str {
            "planted"
        }
        fn integrals(&self, row: &Row<'_>, want: Want<'_>, precision: u32) -> Sums {
            let mut sums = self.0.integrals(row, want, precision);
            let wrong = Enclosure::one(200) + Enclosure::one(200).shifted(-85);
            if let Some(last) = sums.nodes.iter_mut().flatten().last() {
                let mass = &last.mass * &wrong;
                sums.total += &mass - &last.mass;
                last.mass = mass;
            }
            sums
        }
        fn derivatives(&self, row: &Row<'_>, field: &[Enclosure], precision: u32) -> Derivatives {
            self.0.derivatives(row, field, precision)
        }
    }
    let mut numbers = Numbers::new(21);
    let (mut seen, mut rows) = (0, 0);
    for _ in 0..100 {
        let case = random(&mut numbers, Mix::default());
        let problem = case.problem().unwrap();
        let exact = ExactProblem::new(&problem);
        let row = exact.row(0, 0, 0);
        let a = values(&Planted(Nodes::new(problem.rule())), &row, PRECISION);
        let b = values(&Segments, &row, PRECISION);
        // Where one node has all the weight there is nothing to see in w, and nothing anywhere in rows without measure.
        let weights = |v: &[Certified]| v.iter().filter(|w| w.number().is_some_and(|w| !w.is_zero())).count();
        if matches!(row.sight(), Sight::Measure(_)) && !row.is_nan() && weights(&b.weights) > 1 {
            rows += 1;
            seen += usize::from(a.weights.iter().zip(&b.weights).any(|(x, y)| !x.overlaps(y)));
        }
    }
    assert!(rows > 20 && seen == rows, "{seen} of {rows}");
}
