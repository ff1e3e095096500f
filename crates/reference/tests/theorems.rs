//! Every theorem holds, and fails as soon as any one constant of either side is wrong.

use contattn_core::{CancelToken, EngineError, Monitor, Unattended};
use contattn_reference::theorems::{Effort, Which, all, verify_all};
use rug::Float;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn every_theorem_holds() {
    let verdicts = all().into_iter().map(|theorem| theorem.verify(&Effort::default(), &Unattended).unwrap());
    let failures: Vec<_> = verdicts.filter(|verdict| !verdict.holds).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_wrong_constant_on_either_side_is_seen() {
    let effort = Effort::default();
    let mut unseen = Vec::new();
    for theorem in all() {
        let constants = theorem.constants();
        for side in [Which::Left, Which::Right] {
            assert!(constants.iter().any(|c| c.side == side), "{}: no constant on the {side:?}", theorem.id);
        }
        for plant in constants {
            let verdict = theorem.verify_with(&effort, plant, &Unattended).unwrap();
            if verdict.holds {
                unseen.push((theorem.id, plant));
            }
        }
    }
    assert!(unseen.is_empty(), "{unseen:#?}");
}

/// (4) to (13), each once, and names that are unique.
#[test]
fn every_numbered_equation_is_there() {
    let all = all();
    for n in 4..=13 {
        let number = format!("({n})");
        assert_eq!(all.iter().filter(|t| t.equation == Some(number.as_str())).count(), 1, "{number}");
    }
    let ids: HashSet<&str> = all.iter().map(|theorem| theorem.id).collect();
    assert_eq!(ids.len(), all.len());
}

/// Counts calls, and cancels after some.
#[derive(Default)]
struct Watch {
    seen: Mutex<Vec<(u64, u64)>>,
    asked: AtomicU64,
    cancel_after: Option<u64>,
}

impl Monitor for Watch {
    fn progress(&self, done: u64, total: u64) {
        self.seen.lock().unwrap().push((done, total));
    }

    fn is_cancelled(&self) -> bool {
        self.cancel_after.is_some_and(|limit| self.asked.fetch_add(1, Ordering::Relaxed) >= limit)
    }
}

#[test]
fn all_together_with_progress_and_the_same_verdicts_from_every_run() {
    let effort = Effort { rounds: 2, ..Effort::default() };
    let watch = Watch::default();
    let first = verify_all(&effort, &watch).unwrap();
    assert_eq!(first.len(), all().len());
    assert!(first.iter().all(|verdict| verdict.holds));
    let total = all().len() as u64;
    let seen = watch.seen.into_inner().unwrap();
    assert!(seen.len() as u64 == total + 1 && seen.iter().all(|&(_, t)| t == total));
    assert_eq!(first, verify_all(&effort, &Unattended).unwrap());
    let table = serde_json::to_value(&first).unwrap();
    assert_eq!(table[0]["id"], "eq4");
    assert_eq!(table[0]["holds"], true);
}

#[test]
fn a_long_run_can_be_cancelled() {
    let watch = Watch { cancel_after: Some(40), ..Watch::default() };
    let cancelled = verify_all(&Effort::default(), &watch);
    assert!(matches!(cancelled, Err(EngineError::Cancelled)), "{cancelled:?}");
    let token = CancelToken::default();
    token.cancel();
    assert!(matches!(all()[0].verify(&Effort::default(), &token), Err(EngineError::Cancelled)));
}

/// Too few bits for the width that is asked for: said so, not passed over.
#[test]
fn wide_enclosures_do_not_hold() {
    let effort = Effort { precision: 64, guard: 16, rounds: 1, width_bits: 100 };
    for theorem in all().iter().filter(|theorem| theorem.equation.is_some()) {
        let verdict = theorem.verify(&effort, &Unattended).unwrap();
        assert!(!verdict.holds && verdict.detail.contains("relative width"), "{}: {}", theorem.id, verdict.detail);
    }
}

/// Names of machine-checked proofs are names in the list of those, where it is at hand.
#[test]
fn proofs_that_are_named_exist() {
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/../../proofs/theorems.json");
    let Ok(list) = std::fs::read_to_string(list) else { return };
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    let names: HashSet<&str> = list.iter().filter_map(|entry| entry["name"].as_str()).collect();
    for theorem in all() {
        assert!(theorem.proof.is_none_or(|name| names.contains(name)), "{}: {:?}", theorem.id, theorem.proof);
    }
}

/// Verdicts show both sides of what was compared, with the digits that were proven; they agree as far as a double can tell.
#[test]
fn both_sides_are_told() {
    // Some sides are larger than any double.
    let read = |text: &str| Float::with_val(100, Float::parse(text.split(" +- ").next().unwrap()).unwrap());
    let mut told = 0;
    for theorem in all() {
        let verdict = theorem.verify(&Effort { rounds: 2, ..Effort::default() }, &Unattended).unwrap();
        told += usize::from(!verdict.sides.is_empty());
        for sides in &verdict.sides {
            let (left, right) = (read(&sides.left), read(&sides.right));
            let allowed = Float::with_val(100, left.abs_ref()).max(&Float::with_val(100, 1e-10)) * 1e-15f64;
            assert!((left - right).abs() <= allowed, "{}: {sides:?}", theorem.id);
        }
        let instances: HashSet<&str> = verdict.sides.iter().map(|sides| sides.instance.as_str()).collect();
        assert_eq!(instances.len(), verdict.sides.len(), "{}", theorem.id);
    }
    assert!(told >= 20, "{told}");
}
