//! Enclosures contain what exact rational arithmetic gives.

mod numbers;

use contattn_reference::Enclosure;
use numbers::Numbers;
use rug::float::Special;
use rug::{Float, Rational};

const PRECISIONS: [u32; 6] = [2, 8, 24, 53, 128, 400];

/// An interval around rationals that lie in it: narrow ones, wide ones, single numbers, half lines and the whole line.
fn interval(numbers: &mut Numbers, precision: u32) -> (Enclosure, Rational) {
    let x = numbers.rational();
    let point = Enclosure::from_rational(precision, &x);
    let y = numbers.rational();
    let other = Enclosure::from_rational(precision, &y);
    let infinity = Float::with_val(precision, Special::Infinity);
    let enclosure = match numbers.below(7) {
        0..=2 => point,
        3 => point.hull(&other),
        4 => Enclosure::between(point.lower().clone(), infinity),
        5 => Enclosure::between(-infinity, point.upper().clone()),
        _ if numbers.below(4) == 0 => Enclosure::whole(precision),
        _ => {
            let zero = Enclosure::zero(precision);
            point.hull(&zero)
        }
    };
    assert!(enclosure.contains(&x));
    (enclosure, x)
}

fn check(result: &Enclosure, exact: &Rational, what: &str) {
    assert!(!result.lower().is_nan() && !result.upper().is_nan(), "{what}: {result:?}");
    assert!(result.lower() <= result.upper(), "{what}: {result:?}");
    assert!(!(result.lower().is_infinite() && result.lower().is_sign_positive()), "{what}: {result:?}");
    assert!(!(result.upper().is_infinite() && result.upper().is_sign_negative()), "{what}: {result:?}");
    assert!(result.contains(exact), "{what}: {result:?} does not contain {exact}");
}

#[test]
fn arithmetic_contains_the_exact_result() {
    let mut numbers = Numbers::new(1);
    for round in 0..20_000 {
        let precision = PRECISIONS[round % PRECISIONS.len()];
        let other = PRECISIONS[numbers.below(PRECISIONS.len())];
        let (a, x) = interval(&mut numbers, precision);
        let (b, y) = interval(&mut numbers, other);
        check(&(&a + &b), &Rational::from(&x + &y), "sum");
        check(&(&a - &b), &Rational::from(&x - &y), "difference");
        check(&(&a * &b), &Rational::from(&x * &y), "product");
        let factor = [0.0, 1.5, -1e-40, 1e300][numbers.below(4)];
        let mut sum = b.clone();
        sum.add_product(&a, factor);
        check(&sum, &(Rational::from_f64(factor).unwrap() * &x + &y), "sum with product");
        sum += &a;
        check(&-&a, &Rational::from(-&x), "negative");
        check(&a.square(), &Rational::from(x.square_ref()), "square");
        check(&a.abs(), &Rational::from(x.abs_ref()), "size");
        check(&a.hull(&b), &x, "hull");
        check(&a.hull(&b), &y, "hull");
        if y != 0 {
            check(&(&a / &b), &Rational::from(&x / &y), "quotient");
        }
        if let Some(both) = a.intersect(&b) {
            assert!(a.encloses(&both) && b.encloses(&both));
        } else {
            assert!(!a.overlaps(&b));
        }
        match a.certain_cmp(&b) {
            Some(order) => assert_eq!(order, x.cmp(&y)),
            None => assert!(a.overlaps(&b)),
        }
        let middle = a.midpoint();
        assert!(*a.lower() <= middle && middle <= *a.upper(), "{a:?} {middle}");
        assert!(!a.radius().is_nan() && !a.relative_width().is_nan());
    }
}

/// The result of exact operands is as tight as its precision allows: neighbours, or the number itself.
#[test]
fn exact_operands_give_neighbouring_bounds() {
    let mut numbers = Numbers::new(2);
    for _ in 0..5_000 {
        let (x, y) = (numbers.rational(), numbers.rational());
        let (a, b) = (Enclosure::from_rational(100, &x), Enclosure::from_rational(100, &y));
        if !a.is_exact() || !b.is_exact() {
            continue;
        }
        for result in [&a + &b, &a - &b, &a * &b] {
            assert!(
                result.is_exact() || {
                    let mut next = result.lower().clone();
                    next.next_up();
                    next == *result.upper()
                }
            );
        }
    }
}

/// e^x against partial sums and a remainder in exact rationals: for |x| <= 2, |rest after N terms| <= 2 |x|^N / N! once N > 4.
#[test]
fn exponential_contains_its_rational_series() {
    let mut numbers = Numbers::new(3);
    for round in 0..400 {
        let precision = PRECISIONS[round % 4];
        let x = numbers.small_rational();
        let (mut term, mut sum) = (Rational::from(1), Rational::from(0));
        for n in 1..60u32 {
            sum += &term;
            term *= &x;
            term /= n;
        }
        let rest = Rational::from(term.abs_ref()) * 2u32;
        let value = Enclosure::from_rational(precision, &x).exp();
        assert!(*value.lower() <= Rational::from(&sum + &rest) && *value.upper() >= Rational::from(&sum - &rest));
        let back = value.ln();
        check(&back, &x, "log of exp");
        let minus_one = Enclosure::from_rational(precision, &x).exp_m1();
        assert!(minus_one.overlaps(&(value - Enclosure::one(precision))));
        let square = Enclosure::from_rational(precision, &Rational::from(x.square_ref()));
        check(&square.sqrt(), &Rational::from(x.abs_ref()), "root of square");
    }
}

#[test]
fn no_information_is_the_whole_line_and_never_nan() {
    let p = 60;
    let whole = Enclosure::whole(p);
    let (zero, one) = (Enclosure::zero(p), Enclosure::one(p));
    let around = zero.hull(&one).hull(&-&one);
    for vague in [&one / &zero, &one / &around, &zero / &zero, (-&one).ln(), zero.ln(), (-&one).sqrt()] {
        assert!(!vague.is_bounded() && !vague.lower().is_nan() && !vague.upper().is_nan(), "{vague:?}");
    }
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(Enclosure::from_f64(p, x).encloses(&whole));
    }
    assert!((&whole * &zero).is_zero());
    assert!((&whole - &whole).encloses(&whole));
    assert!((&whole / &whole).encloses(&whole));
    assert!(whole.exp().contains_zero() && whole.exp().upper().is_infinite());
    assert!(whole.relative_width().is_infinite() && !whole.midpoint().is_nan());
    // Past MPFR's largest exponent: still bounded on one side.
    let huge = Enclosure::from_f64(p, 1e11);
    assert!(huge.exp().lower().is_finite() && huge.exp().upper().is_infinite());
    assert!((-&huge).exp().lower().is_zero() && *(-&huge).exp().upper() > 0);
    let positive = &one / zero.hull(&one);
    assert!(*positive.lower() == 1 && positive.upper().is_infinite());
}
