//! The rule by name; `softmax` is one on the command line only.

use contattn_core::Rule;
use std::fmt;
use std::str::FromStr;

/// A rule, or softmax, which is the step rule on the unit time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleArg {
    Softmax,
    Rule(Rule),
}

impl RuleArg {
    /// What engines compute.
    pub(crate) const fn rule(self) -> Rule {
        match self {
            RuleArg::Softmax => Rule::Step,
            RuleArg::Rule(rule) => rule,
        }
    }
}

impl fmt::Display for RuleArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleArg::Softmax => f.write_str("softmax"),
            RuleArg::Rule(rule) => rule.fmt(f),
        }
    }
}

impl FromStr for RuleArg {
    type Err = String;

    fn from_str(name: &str) -> Result<RuleArg, String> {
        if name == "softmax" {
            return Ok(RuleArg::Softmax);
        }
        let largest = Rule::MAX_TAYLOR_ORDER;
        let expected = format!("expected softmax, linear, step, trapezoid or taylor:M with M from 0 to {largest}");
        name.parse().map(RuleArg::Rule).map_err(|_| expected)
    }
}
