//! A first stage in double-double arithmetic: most results are settled here, at a small part of MPFR's cost.
//!
//! A number is an unevaluated sum of two `f64`, about 106 bits. Each result comes with a bound of its error, proven below; it
//! is taken only where both ends of the interval that the bound leaves round alike, so that it has the same bits as MPFR's.
//! u is 2^-53 throughout.
//!
//! # The error of o and lse
//!
//! **Scores.** The dot product of d numbers is summed with its exact error terms; pair and exact sum differ by at most
//! 2 (d+2)^2 u^2 S, S = sum |q_c| max_j |k_jc| (Ogita, Rump and Oishi 2005, proposition 4.5 without its last rounding). The product
//! with the scale, a double-double off by at most u^2, adds 16 u^2 of the score, and the interpolated end score of a cut
//! segment at most 12 u^2 of the distance between two scores and a subtraction, below 64 u^2 of the largest score. Together:
//! each score is off by at most
//!
//! ```text
//! epsilon = (2 (d+2)^2 + 96) u^2 |scale| S
//! ```
//!
//! P_j is a sum of terms whose logarithm moves by at most the largest change of the scores: dlog L/da_0 and dlog L/da_1 are
//! not negative and their sum is 1. So epsilon in scores is at most epsilon (1 + epsilon) in P_j, relatively.
//!
//! **Exponentials**, for arguments in [-650, 1] relative to the anchor, are off by at most rho = 2^-94.4 relatively; see `exp`.
//!
//! **Shares** computed from them are off by at most theta = 2^-79 relatively; see `share`.
//!
//! **Sums.** Z is summed with 3 u^2 per step. N adds exact products, with the exact errors of its sums, in plain arithmetic:
//! 3(n+2)^2 u^2 A at most, A = sum P_j |v_jc|, n terms. So with eta = theta + epsilon + (n + 40) 4 u^2:
//!
//! ```text
//! |o - o'| <= ((eta + 4 (n+8)^2 u^2) A + eta |N|)/Z        |lse - lse'| <= eta + 2^-90 + 2^-100 |lse|
//! |w - w'| <= (2 eta + 32 u^2) w                           |b - b'| <= 2 eta + 2^-90 + 2^-100 |a - anchor|
//! ```
//!
//! Left-out terms: segments whose larger end is below -500 weigh at most e^-500 each, which is added; beside a larger end
//! above that, an exponential below -650 is at most e^-150 of it. Inputs are refused, and left to MPFR, where a product or its
//! error term could leave the normal range.

mod bounds;
mod dd;
mod exp;
mod masses;
mod output;
mod row;
mod share;
mod tables;

pub(crate) use row::evaluate;
pub(crate) use tables::Tables;
