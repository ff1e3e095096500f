//! The derivation's theorems, run one by one or all together.

use crate::logic::export::Table;
use crate::logic::worker::{Failure, Task};
use contattn_core::Monitor;
use contattn_reference::theorems::{self, Effort, Theorem, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is wanted of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// instances drawn at random for each theorem
    pub rounds: u32,
    /// theorems, by their ids
    pub ids: Vec<String>,
    /// whether one of their constants is made wrong, by its place among them, counted round and round
    pub mistake: Option<usize>,
}

/// The most rounds that can be asked for.
pub const MAX_ROUNDS: u32 = 200;

/// A theorem's verdict, and the mistake that it ran with.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// what came of it
    pub verdict: Verdict,
    /// what was made wrong
    pub mistake: Option<String>,
}

/// Verdicts by id.
pub type Verdicts = BTreeMap<&'static str, Ran>;

/// The set equation of a theorem: SVG text that draws with `currentColor`.
pub fn equation(id: &str) -> Option<&'static str> {
    EQUATIONS.iter().find(|(name, _)| *name == id).map(|(_, svg)| *svg)
}

macro_rules! equations {
    ($($id:literal),* $(,)?) => {
        /// Written by scripts/equations.mjs.
        const EQUATIONS: &[(&str, &str)] = &[$(($id, include_str!(concat!("../../equations/", $id, ".svg")))),*];
    };
}

equations![
    "eq4",
    "eq5",
    "eq6",
    "eq7",
    "eq8",
    "eq9",
    "eq10",
    "eq11",
    "eq12",
    "eq13",
    "functions",
    "recurrences",
    "cut-segment",
    "step-is-softmax",
    "duration-weights",
    "weights",
    "equal-scores",
    "row-state",
    "short-convolution",
    "packed-documents",
    "split-token",
    "insert-node",
    "time-shift",
    "time-scale",
    "score-shift",
    "reversal",
    "gradient-definition",
    "gradient-diffusion",
    "gradient-differences",
    "gradient-inputs",
    "step-order",
    "trapezoid-order",
];

/// Runs what is wanted; what there is after each theorem is shown.
///
/// # Errors
/// [`Failure::Cancelled`].
pub fn run(wanted: &Wanted, task: &Task) -> Result<Verdicts, Failure> {
    let mut verdicts = Verdicts::new();
    let list: Vec<Theorem> = theorems::all().into_iter().filter(|t| wanted.ids.iter().any(|id| id == t.id)).collect();
    for (done, theorem) in list.iter().enumerate() {
        verdicts.insert(theorem.id, run_one(theorem, wanted, task)?);
        task.partial(verdicts.clone());
        task.progress(done as u64 + 1, list.len() as u64);
    }
    Ok(verdicts)
}

/// One theorem, with a mistake in one of its constants where that is wanted.
///
/// # Errors
/// [`Failure::Cancelled`].
pub fn run_one(theorem: &Theorem, wanted: &Wanted, monitor: &dyn Monitor) -> Result<Ran, Failure> {
    let effort = Effort { rounds: wanted.rounds.min(MAX_ROUNDS), ..Effort::default() };
    let Some(place) = wanted.mistake else {
        return Ok(Ran { verdict: theorem.verify(&effort, monitor)?, mistake: None });
    };
    let constants = theorem.constants();
    let Some(plant) = constants.get(place % constants.len().max(1)).copied() else {
        return Err(Failure::new(format!("{} has no constant to make wrong", theorem.id), ""));
    };
    let verdict = theorem.verify_with(&effort, plant, monitor)?;
    Ok(Ran { verdict, mistake: Some(format!("{plant:?}")) })
}

/// All theorems with what is known of them.
pub fn table(verdicts: &Verdicts) -> Table {
    let columns = [
        "theorem",
        "equation",
        "statement",
        "latex",
        "left",
        "right",
        "proof",
        "instances",
        "comparisons",
        "widest_log2",
        "exact",
        "holds",
        "mistake",
        "detail",
    ];
    let mut table = Table::new(columns);
    for theorem in theorems::all() {
        let mut cells = vec![
            theorem.id.to_owned(),
            theorem.equation.unwrap_or_default().to_owned(),
            theorem.statement.to_owned(),
            theorem.latex.to_owned(),
            theorem.left.to_owned(),
            theorem.right.to_owned(),
            theorem.proof.unwrap_or_default().to_owned(),
        ];
        if let Some(Ran { verdict, mistake }) = verdicts.get(theorem.id) {
            cells.extend([
                verdict.instances.to_string(),
                verdict.comparisons.to_string(),
                verdict.widest_log2.map(|log| log.to_string()).unwrap_or_default(),
                verdict.exact.map(|exact| exact.to_string()).unwrap_or_default(),
                verdict.holds.to_string(),
                mistake.clone().unwrap_or_default(),
                verdict.detail.clone(),
            ]);
        }
        table.push(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use contattn_core::Unattended;

    /// The pictures are those of the statements: none is missing, none is left over, and each can be read.
    #[test]
    fn every_theorem_has_its_equation() {
        let all = theorems::all();
        for theorem in &all {
            let svg =
                equation(theorem.id).unwrap_or_else(|| panic!("run scripts/equations.mjs: no equation {}", theorem.id));
            assert!(
                svg.starts_with("<svg ") && svg.contains("currentColor") && svg.contains("<path"),
                "{}",
                theorem.id
            );
            assert!(!svg.contains("<text"), "{}: letters are outlines", theorem.id);
        }
        assert_eq!(EQUATIONS.len(), all.len());
    }

    #[test]
    fn a_mistake_is_noticed() {
        let all = theorems::all();
        let theorem = all.iter().find(|theorem| theorem.id == "eq7").unwrap();
        let wanted = |mistake| Wanted { rounds: 1, ids: vec![], mistake };
        let sound = run_one(theorem, &wanted(None), &Unattended).unwrap();
        assert!(sound.verdict.holds && sound.mistake.is_none() && !sound.verdict.sides.is_empty());
        for place in 0..4 {
            let wrong = run_one(theorem, &wanted(Some(place)), &Unattended).unwrap();
            assert!(!wrong.verdict.holds && wrong.mistake.is_some() && !wrong.verdict.detail.is_empty());
        }
        let verdicts = Verdicts::from([("eq7", sound)]);
        assert_eq!(table(&verdicts).len(), all.len());
    }
}
