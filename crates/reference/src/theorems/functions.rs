//! The functions of a segment: equations (6) and (7), and their recurrences.

use super::integral::{integral, magnitude, unit};
use super::plant::Side;
use super::symbolic::Laurent;
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::phi::{moment, phi1, phi2, phi3, psi};
use rug::Rational;

/// Score differences: 0, the smallest and largest sizes, borders of f64's exponential, neighbours of +-1, where the
/// evaluation changes its method, a number that is no f64, and random ones of every size.
pub(super) fn differences(trial: &Trial<'_>) -> Vec<Rational> {
    let tiny = f64::from_bits(1);
    let mut all = vec![0.0, tiny, -tiny, 1e-300, -1e-16, 2f64.powi(-60), 1.0, -1.0];
    all.extend([1.0 - 2f64.powi(-53), -1.0 - 2f64.powi(-52), 2.5, -7.75, 40.0, -40.0, 709.78, -716.36]);
    all.extend([2f64.powi(28), -(2f64.powi(28))]);
    for at in 0..trial.rounds() {
        let (low, high) = if at % 2 == 0 { (-996.0, 0.0) } else { (-8.0, 10.0) };
        let x = trial.numbers().spread(low, high);
        all.push(x);
    }
    let mut all: Vec<Rational> = all.into_iter().filter_map(Rational::from_f64).collect();
    all.extend([Rational::from((1, 3)), Rational::from((-22, 7))]);
    all
}

/// More bits for a closed form that divides `times` times by a small x after a cancellation, or loses bits to a large one.
pub(super) fn closed_form_bits(x: &Rational, times: u32) -> u32 {
    64 + times * 2 * u32::try_from(magnitude(x).abs() + 2).unwrap_or(0)
}

/// (6): the integrals are the closed forms, with the limits at 0.
pub(super) fn eq6(trial: &Trial<'_>) {
    let p = trial.precision();
    for x in differences(trial) {
        if !trial.begin(format_args!("x = {}", x.to_f64())) {
            return;
        }
        let unit = unit(&x, p);
        let left = trial.left();
        let first = integral(&x, &[left.number("1 in phi1", 1)], p) * &unit;
        let second = integral(&x, &[left.number("1 in 1 - s", 1), -left.number("s in 1 - s", 1)], p) * unit;
        let right = trial.right();
        let (one, two) = if x.is_zero() {
            (right.number("phi1(0) = 1", 1), right.number("phi2(0) = 1/2", (1, 2)))
        } else {
            let p = p + closed_form_bits(&x, 2);
            let y = Enclosure::from_rational(p, &x);
            let e = y.exp();
            (
                (&e - right.at(p, "1 in phi1", 1)) / &y,
                (&e - right.at(p, "1 in phi2", 1) - right.at(p, "x in phi2", 1) * &y) / y.square(),
            )
        };
        trial.equal("phi1", &first, &one);
        trial.equal("phi2", &second, &two);
    }
}

/// phi1, phi2, phi3, the moment and psi as they are evaluated here are the integrals that they stand for.
pub(super) fn evaluation(trial: &Trial<'_>) {
    let p = trial.precision();
    let zero = Enclosure::zero(p);
    for x in differences(trial) {
        if !trial.begin(format_args!("x = {}", x.to_f64())) {
            return;
        }
        let left = trial.left();
        let n = |name, n: i32| left.number(name, n);
        let half = |name| left.number(name, (1, 2));
        let weights = [
            vec![n("1 in phi1", 1)],
            vec![n("1 in phi2", 1), -n("s in phi2", 1)],
            vec![half("1/2 in phi3"), -n("s in phi3", 1), half("s^2/2 in phi3")],
            vec![zero.clone(), n("s in the moment", 1)],
            vec![zero.clone(), n("s in psi", 1), -n("s^2 in psi", 1)],
        ];
        let argument = trial.right().at(p, "x in all functions", 1) * Enclosure::from_rational(p, &x);
        let functions = [phi1(&argument), phi2(&argument), phi3(&argument), moment(&argument), psi(&argument)];
        let unit = unit(&x, p);
        let names = ["phi1", "phi2", "phi3", "moment", "psi"];
        for ((name, weight), function) in names.iter().zip(weights).zip(functions) {
            trial.equal(name, &(integral(&x, &weight, p) * &unit), &function);
        }
    }
}

/// x and e = e^x, as indeterminates, and the closed forms over them.
struct Symbols<'t> {
    side: Side<'t>,
}

impl Symbols<'_> {
    fn x(n: i32) -> Laurent {
        Laurent::power("x", 0, n)
    }

    fn e(n: i32) -> Laurent {
        Laurent::power("e", 0, n)
    }

    fn number(&self, name: &'static str, n: i32, d: i32) -> Laurent {
        Laurent::constant(self.side.rational(name, (n, d)))
    }

    /// (e - 1)/x
    fn phi1(&self) -> Laurent {
        Symbols::e(1).minus(&self.number("1 in phi1", 1, 1)) * Symbols::x(-1)
    }

    /// (e - 1 - x)/x^2
    fn phi2(&self) -> Laurent {
        Symbols::e(1).minus(&(self.number("1 in phi2", 1, 1) + Symbols::x(1))) * Symbols::x(-2)
    }

    /// (e - 1 - x - x^2/2)/x^3
    fn phi3(&self) -> Laurent {
        let sum = Laurent::constant(1) + Symbols::x(1) + self.number("1/2 in phi3", 1, 2) * Symbols::x(2);
        Symbols::e(1).minus(&sum) * Symbols::x(-3)
    }
}

/// e^x = x phi1 + 1, phi1 = x phi2 + 1, phi2 = x phi3 + 1/2, psi = phi2 - 2 phi3.
pub(super) fn recurrences(trial: &Trial<'_>) {
    let p = trial.precision();
    for x in differences(trial) {
        if !trial.begin(format_args!("x = {}", x.to_f64())) {
            return;
        }
        let y = Enclosure::from_rational(p, &x);
        let argument = trial.left().number("x in all functions", 1) * &y;
        let lefts = [argument.exp(), phi1(&argument), phi2(&argument), psi(&argument)];
        let right = trial.right();
        let n = |n: i32| Enclosure::from_rational(p, &Rational::from(n));
        let half = n(1).shifted(-1);
        let unit = unit(&x, p);
        let by_integral = |weight: &[Enclosure]| integral(&x, weight, p) * &unit;
        let [one, two] = [by_integral(&[n(1)]), by_integral(&[n(1), n(-1)])];
        let three = by_integral(&[half.clone(), n(-1), half]);
        let constants = [right.number("1/0!", 1), right.number("1/1!", 1), right.number("1/2!", (1, 2))];
        let rights = [
            &y * one + &constants[0],
            &y * &two + &constants[1],
            &y * &three + &constants[2],
            two - right.number("2 in psi", 2) * three,
        ];
        for (at, (left, right)) in lefts.iter().zip(&rights).enumerate() {
            // For x towards -inf the right side is a difference of nearly equal numbers.
            let size = constants.get(at).cloned().unwrap_or_else(|| left.clone());
            let size = super::integral::largest(&[&size, left]);
            trial.equal_beside(["e^x", "phi1", "phi2", "psi"][at], left, right, &size);
        }
    }
    if !trial.begin("over the rationals") {
        return;
    }
    let (left, right) = (Symbols { side: trial.left() }, Symbols { side: trial.right() });
    let (x, e) = (Symbols::x(1), Symbols::e(1));
    trial.identity("e^x", &e, &(&x * &right.phi1() + right.number("1/0!", 1, 1)));
    trial.identity("phi1", &left.phi1(), &(&x * &right.phi2() + right.number("1/1!", 1, 1)));
    trial.identity("phi2", &left.phi2(), &(&x * &right.phi3() + right.number("1/2!", 1, 2)));
    // psi = (e (x - 2) + x + 2)/x^3
    let two = left.number("2 in psi's closed form", 2, 1);
    let psi = (&e * &x.minus(&two) + &x + two) * Symbols::x(-3);
    trial.identity("psi", &psi, &right.phi2().minus(&(right.number("2 in psi", 2, 1) * right.phi3())));
}

/// (7): phi1(x) - phi2(x) = e^x phi2(-x).
pub(super) fn eq7(trial: &Trial<'_>) {
    let p = trial.precision();
    for x in differences(trial) {
        if !trial.begin(format_args!("x = {}", x.to_f64())) {
            return;
        }
        let left = trial.left();
        // 1 - (1 - s)
        let weight = [left.number("1 in phi1", 1) - left.number("1 in phi2", 1), left.number("s in phi2", 1)];
        let difference = integral(&x, &weight, p) * unit(&x, p);
        // As differences of two terms they lose log2 |x| bits; so much is 1 beside the result.
        let y = trial.right().number("x on the right", 1) * Enclosure::from_rational(p, &x);
        let product = trial.right().number("1 before e^x", 1) * (y.exp() * phi2(&-y));
        trial.equal("phi1 - phi2", &difference, &product);
    }
    if !trial.begin("over the rationals") {
        return;
    }
    let (left, right) = (Symbols { side: trial.left() }, Symbols { side: trial.right() });
    // phi2(-x) = (1/e - 1 + x)/x^2
    let mirrored = (Symbols::e(-1) + Symbols::x(1)).minus(&right.number("1 in phi2(-x)", 1, 1)) * Symbols::x(-2);
    trial.identity("phi1 - phi2", &left.phi1().minus(&left.phi2()), &(Symbols::e(1) * mirrored));
}
