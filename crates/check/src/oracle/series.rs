//! Tables of Taylor coefficients for the bias of the Taylor rule.
//!
//! Interior nodes: F(u, w) = log f with f = phi2(u) + phi2(w) = sum_n (u^n + w^n)/(n+2)!. From f dF/du = df/du, coefficient by
//! coefficient, with H_ij = (i+1) F_{i+1,j} and f_00 = 1,
//!
//! ```text
//!     H_ij = [j = 0] (i+1) f_{i+1,0} - sum_{p=1}^{i} f_{p0} H_{i-p,j} - sum_{q=1}^{j} f_{0q} H_{i,j-q},     F_0j = F_j0.
//! ```
//!
//! An engine may well evaluate the homogeneous parts F_n(u, w) by n F_n = n f_n - sum_k k F_k f_{n-k} instead, whose terms cancel:
//! its rounding errors are judged by the same recurrence with all signs positive at r = max(|u|, |w|), whose parts are c_n r^n
//! with log(1/(2 - f(r, r))) = sum c_n r^n.
//!
//! End nodes: log phi2(u) = -log 2 + log g with g = 2 phi2, g_0 = 1, by the same recurrence in one variable.

use super::wide::Wide;
use contattn_core::Rule;
use std::sync::LazyLock;

const ORDERS: usize = Rule::MAX_TAYLOR_ORDER as usize + 1;

struct Tables {
    /// F_ij at i * ORDERS + j
    interior: Vec<Wide>,
    end: Vec<Wide>,
    /// c_n of interior nodes; those of end nodes are no larger
    majorant: Vec<f64>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    // 1/(n+2)!
    let mut f = vec![Wide::from_f64(0.5)];
    for n in 1..=ORDERS {
        f.push(f[n - 1] / Wide::from_f64((n + 2) as f64));
    }
    let mut interior = vec![Wide::ZERO; ORDERS * ORDERS];
    let mut slopes = vec![Wide::ZERO; ORDERS * ORDERS];
    for j in 0..ORDERS {
        // Column 0 comes first and gives F_0j of every other one.
        interior[j] = interior[j * ORDERS];
        for i in 0..ORDERS - 1 {
            if i + j + 1 >= ORDERS {
                break;
            }
            let mut h = if j == 0 { f[i + 1] * (i + 1) as f64 } else { Wide::ZERO };
            for p in 1..=i {
                h -= f[p] * slopes[(i - p) * ORDERS + j];
            }
            for q in 1..=j {
                h -= f[q] * slopes[i * ORDERS + j - q];
            }
            slopes[i * ORDERS + j] = h;
            interior[(i + 1) * ORDERS + j] = h / Wide::from_f64((i + 1) as f64);
        }
    }
    let mut end = vec![-Wide::LN_2];
    let mut slopes: Vec<Wide> = Vec::new();
    for i in 0..ORDERS - 1 {
        let mut h = f[i + 1] * (2 * (i + 1)) as f64;
        for p in 1..=i {
            h -= f[p] * slopes[i - p] * 2.0;
        }
        slopes.push(h);
        end.push(h / Wide::from_f64((i + 1) as f64));
    }
    // n c_n = n f_n + sum_{k=1}^{n-1} k c_k f_{n-k}, f_n = 2/(n+2)!.
    let mut majorant = vec![0.0; ORDERS];
    for n in 1..ORDERS {
        let sum: f64 = (1..n).map(|k| k as f64 * majorant[k] * 2.0 * f[n - k].to_f64()).sum();
        majorant[n] = 2.0 * f[n].to_f64() + sum / n as f64;
    }
    Tables { interior, end, majorant }
});

/// A truncated series and its slopes, with what bounds the error of evaluating them otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Bias {
    /// b
    pub value: Wide,
    /// db/du
    pub by_u: Wide,
    /// db/dw
    pub by_w: Wide,
    /// sum of the absolute values of the terms of b
    pub size: f64,
    /// the same for either slope
    pub slope_size: f64,
    /// the same for the second derivatives
    pub curvature_size: f64,
    /// sum of the terms of the recurrence with all signs positive: what rounding errors of b are a multiple of
    pub majorant: f64,
    /// the same for the slopes
    pub slope_majorant: f64,
}

/// u^0, u^1, ... up to the degree.
fn powers(u: Wide, degree: usize) -> Vec<Wide> {
    let mut powers = vec![Wide::ONE];
    for n in 1..=degree {
        let next = powers[n - 1] * u;
        powers.push(next);
    }
    powers
}

impl Bias {
    fn add(&mut self, coefficient: Wide, (i, j): (usize, usize), u: &[Wide], w: &[Wide]) {
        let term = |i: usize, j: usize| coefficient * u[i] * w[j];
        self.value += term(i, j);
        self.size += term(i, j).to_f64().abs();
        if i > 0 {
            let slope = term(i - 1, j) * i as f64;
            self.by_u += slope;
            self.slope_size += slope.to_f64().abs();
        }
        if j > 0 {
            let slope = term(i, j - 1) * j as f64;
            self.by_w += slope;
            self.slope_size += slope.to_f64().abs();
        }
        let mut bend = |i: usize, j: usize, factor: usize| {
            self.curvature_size += (term(i, j) * factor as f64).to_f64().abs();
        };
        if i > 1 {
            bend(i - 2, j, i * (i - 1));
        }
        if j > 1 {
            bend(i, j - 2, j * (j - 1));
        }
        if i > 0 && j > 0 {
            bend(i - 1, j - 1, 2 * i * j);
        }
    }

    fn bounded(mut self, order: usize, reach: f64) -> Bias {
        let mut power = 1.0;
        for n in 1..=order {
            let slope = n as f64 * TABLES.majorant[n] * power;
            power *= reach;
            self.slope_majorant += slope;
            self.majorant += TABLES.majorant[n] * power;
        }
        self
    }

    /// Of a node between two visible segments.
    pub(crate) fn interior(order: u32, u: Wide, w: Wide) -> Bias {
        let order = order as usize;
        let reach = u.to_f64().abs().max(w.to_f64().abs());
        let (u, w) = (powers(u, order), powers(w, order));
        let mut bias = Bias::default();
        for i in 0..=order {
            for j in 0..=order - i {
                bias.add(TABLES.interior[i * ORDERS + j], (i, j), &u, &w);
            }
        }
        bias.bounded(order, reach)
    }

    /// Of a node that ends one visible segment.
    pub(crate) fn end(order: u32, u: Wide) -> Bias {
        let order = order as usize;
        let reach = u.to_f64().abs();
        let u = powers(u, order);
        let mut bias = Bias::default();
        for i in 0..=order {
            bias.add(TABLES.end[i], (i, 0), &u, &[Wide::ONE]);
        }
        bias.bounded(order, reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_orders_are_the_published_ones() {
        // Design, section 1: (u+w)/6 + (u^2-uw+w^2)/36 + (u+w)(19u^2-34uw+19w^2)/6480 + ..., and -log 2 + u/3 + u^2/36 + u^3/810.
        let interior = |i: usize, j: usize| TABLES.interior[i * ORDERS + j].to_f64();
        assert_eq!(interior(0, 0), 0.0);
        assert_eq!((interior(1, 0), interior(0, 1)), (1.0 / 6.0, 1.0 / 6.0));
        assert_eq!((interior(2, 0), interior(1, 1), interior(0, 2)), (1.0 / 36.0, -1.0 / 36.0, 1.0 / 36.0));
        assert!((interior(3, 0) - 19.0 / 6480.0).abs() < 1e-18);
        assert!((interior(2, 1) + 15.0 / 6480.0).abs() < 1e-18);
        assert!((TABLES.end[3].to_f64() - 1.0 / 810.0).abs() < 1e-18);
        assert_eq!(TABLES.end[2].to_f64(), 1.0 / 36.0);
    }

    #[test]
    fn high_orders_reach_the_function_itself() {
        // phi2 from its definition, where nothing cancels: x = 1 and -1.5.
        let phi2 = |x: f64| {
            let x = Wide::from_f64(x);
            (x.exp() - Wide::ONE - x) / (x * x)
        };
        let exact = (phi2(1.0) + phi2(-1.5)).ln();
        let series = Bias::interior(64, Wide::from_f64(1.0), Wide::from_f64(-1.5));
        assert!((series.value - exact).to_f64().abs() < 1e-27, "{:e}", (series.value - exact).to_f64());
        let series = Bias::end(64, Wide::from_f64(-3.0));
        assert!((series.value - phi2(-3.0).ln()).to_f64().abs() < 1e-25);
        // Slopes by central differences of the series, step 1e-9.
        let step = Wide::from_f64(1e-9);
        let (u, w) = (Wide::from_f64(0.7), Wide::from_f64(-1.1));
        let difference = |a: Wide, b: Wide| ((a - b) / (step * 2.0)).to_f64();
        let at = |u, w| Bias::interior(9, u, w).value;
        let bias = Bias::interior(9, u, w);
        assert!((difference(at(u + step, w), at(u - step, w)) - bias.by_u.to_f64()).abs() < 1e-15);
        assert!((difference(at(u, w + step), at(u, w - step)) - bias.by_w.to_f64()).abs() < 1e-15);
    }
}
