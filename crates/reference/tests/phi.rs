//! phi1, phi2, phi3, psi and the first moment against exact rational series, against each other and at their hard points.

mod numbers;

use contattn_reference::Enclosure;
use contattn_reference::phi::{moment, phi1, phi2, phi3, psi};
use numbers::Numbers;
use rug::{Float, Integer, Rational};

type Function = fn(&Enclosure) -> Enclosure;

/// Coefficient of x^n, worked from the integrals: int s^n/n! (1-s)^k/k! ds and its like.
fn coefficient(which: usize, n: u32) -> Rational {
    let over = |k: u32| Rational::from((Integer::from(1), Integer::from(Integer::factorial(n + k))));
    match which {
        0 => over(1),
        1 => over(2),
        2 => over(3),
        3 => over(2) * (n + 1),
        _ => over(3) * (n + 1),
    }
}

const FUNCTIONS: [Function; 5] = [phi1, phi2, phi3, moment, psi];

/// A hair around x that any rounding of x stays in.
fn point(precision: u32, x: &Rational) -> Enclosure {
    Enclosure::from_rational(precision, x)
}

#[test]
fn each_contains_its_rational_series() {
    let mut numbers = Numbers::new(4);
    for round in 0..300 {
        let precision = [10, 53, 128, 300][round % 4];
        let x = match round % 3 {
            0 => numbers.small_rational(),
            // Both sides of the place where the evaluation changes.
            1 => (Rational::from(1) + Rational::from((numbers.below(9) as i32 - 4, 1u64 << 40))) >> 64u32,
            _ => {
                (Rational::from(-1) + Rational::from((numbers.below(9) as i32 - 4, 1u64 << 40)))
                    >> (65 * (round as u32 & 1))
            }
        };
        for (which, function) in FUNCTIONS.into_iter().enumerate() {
            let (mut power, mut sum) = (Rational::from(1), Rational::from(0));
            for n in 0..90 {
                sum += coefficient(which, n) * &power;
                power *= &x;
            }
            // |x| <= 2: the rest is at most twice its first term.
            let rest = Rational::from(power.abs_ref()) * coefficient(which, 90) * 2u32;
            let value = function(&point(precision, &x));
            assert!(*value.lower() <= Rational::from(&sum + &rest), "{which} at {x}");
            assert!(*value.upper() >= Rational::from(&sum - &rest), "{which} at {x}");
            let width = value.relative_width();
            assert!(width < Float::with_val(precision, 16) >> precision, "{which} at {}: width {width}", x.to_f64());
        }
    }
}

/// Identities between them, at sizes from 2^-1100 to 2^30.
#[test]
fn they_agree_with_each_other_everywhere() {
    let mut numbers = Numbers::new(5);
    let p = 160;
    let same = |a: &Enclosure, b: &Enclosure, what: &str, x: &Enclosure| {
        assert!(a.overlaps(b), "{what} at {x:?}: {a:?} {b:?}");
    };
    for round in 0..3000 {
        let x = if round % 2 == 0 { numbers.spread(-1074.0, 30.0) } else { numbers.spread(-3.0, 12.0) };
        let x = Enclosure::from_f64(p, x);
        let [one, two, three, first, second] = FUNCTIONS.map(|f| f(&x));
        for value in [&one, &two, &three, &first, &second] {
            assert!(*value.lower() > 0, "positive at {x:?}");
            assert!(
                value.upper().is_infinite() || value.relative_width() < Float::with_val(p, 64) >> p,
                "{x:?} {value:?}"
            );
        }
        let half = Enclosure::one(p).shifted(-1);
        same(&one, &(&x * &two + Enclosure::one(p)), "phi1 = 1 + x phi2", &x);
        same(&two, &(&x * &three + &half), "phi2 = 1/2 + x phi3", &x);
        same(&first, &(&one - &two), "moment = phi1 - phi2", &x);
        same(&first, &(x.exp() * phi2(&-&x)), "moment = e^x phi2(-x)", &x);
        same(&second, &(&two - three.shifted(1)), "psi = phi2 - 2 phi3", &x);
        same(&second, &(x.exp() * psi(&-&x)), "psi(x) = e^x psi(-x)", &x);
    }
}

/// An interval's image holds the images of what is in it, and is not much wider.
#[test]
fn intervals_are_mapped_whole() {
    let mut numbers = Numbers::new(16);
    let p = 120;
    for _ in 0..500 {
        let x = numbers.spread(-20.0, 8.0);
        let width = numbers.spread(-40.0, 1.0).abs();
        let (low, high) = (Enclosure::from_f64(p, x), Enclosure::from_f64(p, x + width));
        let both = low.hull(&high);
        for function in FUNCTIONS {
            let image = function(&both);
            assert!(image.lower() <= function(&low).upper() && image.upper() >= function(&high).lower());
            let ratio = Float::with_val(p, image.upper() / image.lower()).ln();
            assert!(ratio <= 5.0 * width + 1e-30, "{x} {width} {ratio}");
        }
    }
}

/// Places where other evaluations fail.
#[test]
fn hard_points() {
    let p = 100;
    let at = |f: Function, x: f64| f(&Enclosure::from_f64(p, x));
    // (e^x - 1)/x stays finite where e^x overflows an f64.
    for x in [709.78, 710.0, 716.35] {
        let value = at(phi1, x);
        assert!(value.is_bounded() && value.upper().to_f64().is_finite());
    }
    // expm1(x) - x is 0 in f64 arithmetic.
    let tiny = at(phi2, 1e-16).midpoint().to_f64();
    assert_eq!(tiny, 0.5 + 1e-16 / 6.0);
    // Removable points, exactly.
    let zero = Enclosure::zero(p);
    let values = [1, 2, 6, 2, 6];
    for (function, n) in FUNCTIONS.into_iter().zip(values) {
        let value = function(&zero);
        assert!(value.contains(&Rational::from((1, n))), "{value:?}");
        assert!(value.relative_width() < Float::with_val(p, 8) >> p);
    }
    // Far out: phi2(-M) is about 1/M, the moment about 1/M^2.
    let m = 1e9;
    assert!((at(phi2, -m).midpoint().to_f64() * m - 1.0).abs() < 2e-9);
    assert!((at(moment, -m).midpoint().to_f64() * m * m - 1.0).abs() < 2e-9);
    assert!((at(psi, -m).midpoint().to_f64() * m * m - 1.0).abs() < 4e-9);
    // Nothing known about the argument: positive, no more.
    let vague = phi2(&Enclosure::whole(p));
    assert!(vague.lower().is_zero() && vague.upper().is_infinite());
}
