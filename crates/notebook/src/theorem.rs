//! The numbered equations, run against the reference.

use crate::Table;
use contattn_core::Unattended;
use contattn_reference::theorems::{self, Effort};

/// What came of one theorem, and of the mistakes planted in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// what the reference says
    pub verdict: theorems::Verdict,
    /// how many constants of its sides were made wrong, one at a time
    pub planted: usize,
    /// after how many of those it did not hold
    pub noticed: usize,
}

/// Runs a theorem of the reference by its name, such as `eq7`, and again with each of its constants made wrong.
///
/// # Panics
/// Where no theorem is called so, where it does not hold, and where a planted mistake goes unseen.
pub fn theorem(id: &str) -> Verdict {
    let all = theorems::all();
    let Some(theorem) = all.iter().find(|theorem| theorem.id == id) else { panic!("no theorem is called {id}") };
    let effort = Effort::default();
    let run = "nobody cancels an unattended call";
    let verdict = theorem.verify(&effort, &Unattended).expect(run);
    assert!(verdict.holds, "{id} does not hold: {}", verdict.detail);
    let plants = theorem.constants();
    let noticed =
        plants.iter().filter(|&&plant| !theorem.verify_with(&effort, plant, &Unattended).expect(run).holds).count();
    assert_eq!(noticed, plants.len(), "a planted mistake in {id} went unseen");
    Verdict { verdict, planted: plants.len(), noticed }
}

impl Verdict {
    /// As a table.
    pub fn table(&self) -> Table {
        let v = &self.verdict;
        let name = v.equation.map_or_else(|| v.id.to_owned(), |equation| format!("Equation {equation}"));
        let mut table = Table::new(format!("{name} holds"), ["", "what was found"]);
        table.row(["left side", v.left]);
        table.row(["right side", v.right]);
        table.row(["compared", &format!("{} pairs of numbers on {} inputs", v.comparisons, v.instances)]);
        if let Some(widest) = v.widest_log2 {
            table.row(["widest enclosure", &format!("2^{widest:.0} of its size")]);
        }
        if v.exact == Some(true) {
            table.row(["over the rationals", "the difference of both sides is 0"]);
        }
        for m in &v.measured {
            table.row([&m.what, &format!("{:.2}, expected {} to {}", m.value, m.from, m.to)]);
        }
        table.row(["planted mistakes", &format!("{} of {} noticed", self.noticed, self.planted)]);
        if let Some(proof) = v.proof {
            table.row(["proved by machine", &format!("theorem {proof} of proofs/")]);
        }
        table
    }

    /// Shows the table as the result of a cell; evcxr calls this.
    pub fn evcxr_display(&self) {
        self.table().evcxr_display();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theorem_is_a_table() {
        let text = theorem("eq7").table().to_string();
        assert!(text.starts_with("Equation (7) holds") && text.contains("over the rationals"), "{text}");
    }

    #[test]
    #[should_panic(expected = "no theorem is called eq99")]
    fn unknown_names_are_named() {
        theorem("eq99");
    }
}
