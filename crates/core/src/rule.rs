//! Quadrature rules: what a segment gives to its two nodes.

use std::fmt;
use std::str::FromStr;

/// How the integral over a segment is read; see the crate's front page for the table of (L, R, h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Rule {
    /// The exact integral of the piecewise-linear reading of keys and values: continuous softmax attention (Su 2026).
    #[default]
    Linear,
    /// Keys and values constant on each segment, node i on (tau_{i-1}, tau_i]: the continuous causal transformer (Marro et
    /// al., ICLR 2025). With unit durations, ordinary softmax attention over nodes 1..n.
    ///
    /// Proofs: `step_rule_is_duration_attention`, `step_window`, `cct_reduction`, `cct_at_step_end`,
    /// `eq12_unit_durations`, `eq12_cct`, `euler_is_duration_attention`, `step_minus_linear`, `step_output_error`,
    /// `step_first_order`.
    Step,
    /// The trapezoidal rule on each segment (Calvello et al., Continuum Attention for Neural Operators).
    ///
    /// Proofs: `trapezoid_minus_linear`, `trapezoid_mass`, `trapezoid_mass_bounds`, `trapezoid_output_error`,
    /// `trapezoid_lse_error`, `trapezoid_nodes`, `linear_output_is_attention`, `trapezoid_second_order`.
    Trapezoid,
    /// Weights e^{a + b} with the Taylor expansion of Linear's bias b cut after this total degree; unit time line and whole
    /// segments only.
    Taylor(u32),
}

impl Rule {
    /// Whether segment i needs its own node alone: then it is kept by a mask, and visible, without its left neighbour, and
    /// the sink has no part.
    pub const fn reads_own_node_only(self) -> bool {
        matches!(self, Rule::Step)
    }

    /// Largest Taylor order that can be asked for. The series converges for differences below about 7.748 at the ends and about
    /// 5.7 inside (2 pi for opposite ones), so nothing is gained beyond; the limit keeps one score from costing unbounded work.
    pub const MAX_TAYLOR_ORDER: u32 = 64;
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Linear => f.write_str("linear"),
            Rule::Step => f.write_str("step"),
            Rule::Trapezoid => f.write_str("trapezoid"),
            Rule::Taylor(order) => write!(f, "taylor:{order}"),
        }
    }
}

/// A name that is not a rule's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no rule is called {0:?}: expected linear, step, trapezoid or taylor:M with M from 0 to 64")]
pub struct UnknownRule(pub String);

impl FromStr for Rule {
    type Err = UnknownRule;
    fn from_str(name: &str) -> Result<Rule, UnknownRule> {
        let unknown = || UnknownRule(name.to_owned());
        match name {
            "linear" => Ok(Rule::Linear),
            "step" => Ok(Rule::Step),
            "trapezoid" => Ok(Rule::Trapezoid),
            _ => {
                let order = name.strip_prefix("taylor:").ok_or_else(unknown)?;
                // `parse` alone would accept a sign.
                if !order.bytes().all(|c| c.is_ascii_digit()) {
                    return Err(unknown());
                }
                let order = order.parse().map_err(|_| unknown())?;
                if order > Rule::MAX_TAYLOR_ORDER { Err(unknown()) } else { Ok(Rule::Taylor(order)) }
            }
        }
    }
}
