//! Places on axes, and numbers as text.

use contattn_reference::Enclosure;

/// `count` places from `low` to `high`, both included, at equal distances.
///
/// ```
/// assert_eq!(contattn_notebook::grid(0.0, 1.0, 5), [0.0, 0.25, 0.5, 0.75, 1.0]);
/// ```
pub fn grid(low: f64, high: f64, count: usize) -> Vec<f64> {
    let steps = count.saturating_sub(1).max(1) as f64;
    (0..count).map(|i| low + (high - low) * (i as f64 / steps)).collect()
}

/// `count` places from `low` to `high`, both included and positive, each the same multiple of the one before.
///
/// ```
/// let places = contattn_notebook::log_grid(0.01, 100.0, 5);
/// assert!(places.iter().zip([0.01, 0.1, 1.0, 10.0, 100.0]).all(|(found, x)| (found / x - 1.0f64).abs() < 1e-14));
/// ```
pub fn log_grid(low: f64, high: f64, count: usize) -> Vec<f64> {
    grid(libm::log(low), libm::log(high), count).into_iter().map(libm::exp).collect()
}

/// Two digits and an exponent.
///
/// ```
/// use contattn_notebook::sci;
/// assert_eq!([sci(1.25e-7), sci(0.0), sci(-3.0), sci(f64::INFINITY)], ["1.2e-7", "0", "-3.0e0", "inf"]);
/// ```
pub fn sci(x: f64) -> String {
    match x {
        0.0 => "0".to_owned(),
        x if x.is_finite() => format!("{x:.1e}"),
        x => x.to_string(),
    }
}

/// |found - exact| / |exact|; 0 where both are equal.
///
/// ```
/// use contattn_notebook::relative_error;
/// assert_eq!([relative_error(1.5, 1.0), relative_error(2.0, 2.0), relative_error(0.0, 0.0)], [0.5, 0.0, 0.0]);
/// ```
pub fn relative_error(found: f64, exact: f64) -> f64 {
    if found == exact { 0.0 } else { ((found - exact) / exact).abs() }
}

/// The `f64` next to the middle of an enclosure.
///
/// ```
/// use contattn_notebook::{contattn_reference::Enclosure, near};
/// assert_eq!(near(&Enclosure::from_f64(128, 1.0).exp()), std::f64::consts::E);
/// ```
pub fn near(x: &Enclosure) -> f64 {
    x.midpoint().to_f64()
}

/// The integral of `f` by Simpson's rule: `panels` parabolas, each through both ends and the middle of its panel.
///
/// ```
/// use contattn_notebook::simpson;
/// assert!((simpson(0.0, 2.0, 3, |s| s * s * s) - 4.0).abs() < 1e-14);
/// ```
pub fn simpson(from: f64, to: f64, panels: usize, f: impl Fn(f64) -> f64) -> f64 {
    let width = (to - from) / panels as f64;
    let panel = |i: usize| {
        let at = |u: f64| f(from + (i as f64 + u) * width);
        at(0.0) + 4.0 * at(0.5) + at(1.0)
    };
    (0..panels).map(panel).sum::<f64>() * (width / 6.0)
}

/// The order of convergence p of errors like n^-p: the slope of log(error) over log(n) by least squares, with its sign turned.
///
/// ```
/// let order = contattn_notebook::order(&[1.0, 2.0, 4.0], &[1.0, 0.25, 0.0625]);
/// assert!((order - 2.0).abs() < 1e-14);
/// ```
pub fn order(n: &[f64], errors: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (x, y): (Vec<f64>, Vec<f64>) = n.iter().zip(errors).map(|(&n, &e)| (libm::log(n), libm::log(e))).unzip();
    let (mx, my) = (mean(&x), mean(&y));
    let product: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
    -product / x.iter().map(|x| (x - mx) * (x - mx)).sum::<f64>()
}
