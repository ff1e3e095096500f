//! The accuracy of the tiled engine over generated problems, measured against the oracle and beside its plain twin in f32.
//!
//! For each result of each problem: the largest error in units of u times the sum of the absolute values that the element is a sum
//! of, for the engine and for the twin. The criterion is engine <= max(2 twin, 2); how often the twin would keep to it beside the
//! engine says what two computations of one accuracy do. No element may lie beyond its derived allowance, ever, and 16-bit results
//! lie within one unit in the last place of the correctly rounded number but for one in a thousand.
//!
//! `PROBLEMS=10000 cargo test -p contattn-cpu --test accuracy -- --nocapture` tries 10^4 problems and prints the distribution; with
//! `FIRST=4732 PROBLEMS=1` one of them alone.

#[path = "accuracy/case.rs"]
mod case;
#[path = "accuracy/judge.rs"]
mod judge;

use case::Case;
use contattn_core::Open;
use contattn_cpu::tiled::{Isa, Options};
use contattn_cpu::{Plain, Tiled};
use judge::{Judged, RESULTS, Short};
use std::collections::BTreeMap;

/// How many problems are tried where the environment does not say.
const FEW: u64 = 170;

/// Problems that once lay beyond their allowance: Taylor of order 1 far from 0, where exponents lost digits to their size; a node that
/// no segment ends at, whose score set the anchor of the row.
const FOUND: [u64; 4] = [824, 909, 994, 4732];

/// One table: ratios by result, in how many problems the twin would keep to the criterion beside the engine, the largest of each, how
/// many lie above 1 in each family, the largest errors in each, and what lies beyond its allowance.
#[derive(Default)]
struct Table {
    ratios: [Vec<f64>; RESULTS.len()],
    swapped: [usize; RESULTS.len()],
    worst: [(f64, String); RESULTS.len()],
    above: BTreeMap<(usize, &'static str), usize>,
    /// of the engine and of the twin
    largest: BTreeMap<(usize, &'static str), (f64, f64)>,
    beyond: Vec<String>,
    short: Short,
}

impl Table {
    fn add(&mut self, case: &Case, judged: Vec<Judged>, short: Short) {
        self.short = Short { elements: self.short.elements + short.elements, near: self.short.near + short.near };
        for judged in judged {
            let (result, ratio) = (judged.result, judged.ratio());
            self.ratios[result].push(ratio);
            self.swapped[result] += usize::from(judged.swapped_ratio() <= 1.0);
            if ratio > 1.0 {
                *self.above.entry((result, case.family.name())).or_default() += 1;
            }
            let largest = self.largest.entry((result, case.family.name())).or_default();
            *largest = (largest.0.max(judged.engine), largest.1.max(judged.twin));
            if ratio > self.worst[result].0 {
                let what = format!("{:.1} u against {:.1} u, {}", judged.engine, judged.twin, case.name);
                self.worst[result] = (ratio, what);
            }
            if let Some(first) = judged.first {
                self.beyond.push(format!("{}: {} elements of {}: {first}", RESULTS[result], judged.beyond, case.name));
            }
        }
    }

    /// The share of problems that keep to the criterion.
    fn within(&self, result: usize) -> f64 {
        let all = &self.ratios[result];
        all.iter().filter(|&&ratio| ratio <= 1.0).count() as f64 / all.len().max(1) as f64
    }

    #[allow(clippy::print_stdout)]
    fn print(&mut self, title: &str) {
        println!("{title}: error / max(2 error of the plain twin, 2 u)");
        let names = ["result", "problems", "median", "99%", "largest", "within", "twin within"];
        let [result, problems, median, most, largest, within, twin] = names;
        println!("{result:>12} {problems:>8} {median:>7} {most:>7} {largest:>8} {within:>8} {twin:>11}");
        for (result, name) in RESULTS.iter().enumerate() {
            let within = self.within(result);
            let twin = self.swapped[result] as f64 / self.ratios[result].len().max(1) as f64;
            let ratios = &mut self.ratios[result];
            ratios.sort_by(f64::total_cmp);
            let at = |share: f64| ratios.get((ratios.len() as f64 * share) as usize).copied().unwrap_or(0.0);
            let (median, most, largest) = (at(0.5), at(0.99), ratios.last().copied().unwrap_or(0.0));
            let problems = ratios.len();
            println!("{name:>12} {problems:>8} {median:>7.3} {most:>7.3} {largest:>8.3} {within:>8.4} {twin:>11.4}");
        }
        for (result, (_, what)) in self.worst.iter().enumerate() {
            println!("{:>12} above 1: {}", RESULTS[result], by_family(&self.above, result, usize::to_string));
            println!("{:>12} largest: {what}", "");
            let errors = |(engine, twin): &(f64, f64)| format!("{engine:.3e} / {twin:.3e}");
            println!("{:>12} by family, engine / twin, in u: {}", "", by_family(&self.largest, result, errors));
        }
        println!("16 bits: {} of {} elements within one unit", self.short.near, self.short.elements);
    }
}

/// What there is of each family for one result, in one line.
fn by_family<T>(all: &BTreeMap<(usize, &'static str), T>, result: usize, show: impl Fn(&T) -> String) -> String {
    let of_result = all.iter().filter(|((of, _), _)| *of == result);
    of_result.map(|((_, family), what)| format!("{family} {}", show(what))).collect::<Vec<_>>().join(", ")
}

#[test]
fn errors_are_those_of_the_plain_twin() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |n| n.parse().expect("a number of problems"));
    let (first, problems): (u64, u64) = (number("FIRST", 0), number("PROBLEMS", FEW));
    let twin = Plain::<f32>::new();
    let engine = Tiled::open(Options { isa: Some(Isa::best()), threads: Some(1) }).unwrap();
    for saved in [false, true] {
        let mut table = Table::default();
        for seed in (first..first + problems).chain(FOUND) {
            let case = case::case(seed);
            let (judged, short) = judge::judge(&case, &engine, &twin, saved);
            table.add(&case, judged, short);
        }
        let from = if saved { "gradients from saved results" } else { "gradients by themselves" };
        table.print(&format!("{}, {problems} problems, {from}", engine.isa()));
        let beyond = &table.beyond;
        assert!(beyond.is_empty(), "{} results beyond their allowance:\n{}", beyond.len(), beyond.join("\n"));
        // Of a few problems the share says nothing.
        assert!(problems < FEW || table.short.near as f64 >= 0.999 * table.short.elements as f64);
    }
}
