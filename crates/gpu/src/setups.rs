//! Which setups the engine asks for, and the list of all of them. Compiled into the build script, too, which parses and validates each.
//!
//! ```text
//!   forward             rule x variant x power of two of vectors of o
//!   backward_queries    rule x power of two of vectors of dq
//!   backward_keys       rule x power of two of vectors of dk and dv
//!   pieces, ...         rule
//! ```

use crate::source::{Kernel, MISTAKES, Setup};
use crate::variant::Variant;

/// Rules as shaders name them.
pub(crate) const RULES: [&str; 3] = ["linear", "step", "trapezoid"];
/// T of the backward kernels, in every variant.
pub(crate) const BACKWARD_THREADS: usize = 8;
/// Most vectors of four of a row of o that all threads of the row hold together.
const MOST_COLUMNS: usize = 64;
/// Most of a row of dq, and of rows of dk and dv, that each thread holds.
const MOST_OF_QUERIES: usize = 8;
const MOST_OF_KEYS: usize = 4;

/// The power of two of vectors that each of T threads holds, for rows of `vectors`, at most `most`.
fn columns(vectors: usize, threads: usize, most: usize) -> usize {
    vectors.div_ceil(threads).next_power_of_two().min(most)
}

const fn most_of_values(variant: Variant) -> usize {
    MOST_COLUMNS / variant.threads()
}

impl Setup {
    /// The smallest, for kernels that have no more than a rule.
    pub(crate) const fn plain(rule: &'static str) -> Setup {
        Setup { rule, threads: BACKWARD_THREADS, value_count: 1, key_count: 1, subgroups: false, mistake: 0 }
    }

    fn of_variant(rule: &'static str, variant: Variant, value_count: usize) -> Setup {
        let (threads, subgroups) = (variant.threads(), variant.has_subgroups());
        Setup { threads, value_count, subgroups, ..Setup::plain(rule) }
    }

    /// Of the forward pass, for rows of v of so many vectors of four.
    pub(crate) fn forward(rule: &'static str, variant: Variant, value_vectors: usize) -> Setup {
        Setup::of_variant(rule, variant, columns(value_vectors, variant.threads(), most_of_values(variant)))
    }

    /// Of dq, for rows of k of so many vectors.
    pub(crate) fn backward_queries(rule: &'static str, key_vectors: usize) -> Setup {
        Setup { key_count: columns(key_vectors, BACKWARD_THREADS, MOST_OF_QUERIES), ..Setup::plain(rule) }
    }

    /// Of dk and dv, where the longer of a row of k and one of v has so many vectors.
    pub(crate) fn backward_keys(rule: &'static str, vectors: usize) -> Setup {
        let count = columns(vectors, BACKWARD_THREADS, MOST_OF_KEYS);
        Setup { key_count: count, value_count: count, ..Setup::plain(rule) }
    }

    /// Of a kernel with one thread a row or element, and of those that look at the device.
    pub(crate) fn simple(kernel: Kernel, rule: &'static str) -> Setup {
        Setup::plain(if kernel.knows_rule() { rule } else { RULES[0] })
    }
}

impl Kernel {
    /// Whether the kernel differs from rule to rule.
    pub(crate) const fn knows_rule(self) -> bool {
        !matches!(self, Kernel::Gather | Kernel::Upstream | Kernel::Peak | Kernel::Lanes)
    }
}

/// Every kernel in every setup that the engine can ask for.
pub(crate) fn every() -> Vec<(Kernel, Setup)> {
    let powers = |most: usize| (0..).map(|i| 1 << i).take_while(move |&count| count <= most);
    let mut list = Vec::new();
    for kernel in Kernel::ALL {
        for rule in if kernel.knows_rule() { &RULES[..] } else { &RULES[..1] } {
            let plain = Setup::simple(kernel, rule);
            match kernel {
                Kernel::Forward => {
                    for variant in Variant::ALL {
                        let counts = powers(most_of_values(variant));
                        list.extend(counts.map(|count| (kernel, Setup::of_variant(rule, variant, count))));
                    }
                }
                Kernel::BackwardQueries => {
                    let counts = powers(MOST_OF_QUERIES);
                    list.extend(counts.map(|count| (kernel, Setup { key_count: count, ..plain })));
                }
                Kernel::BackwardKeys => {
                    let counts = powers(MOST_OF_KEYS);
                    list.extend(counts.map(|n| (kernel, Setup { key_count: n, value_count: n, ..plain })));
                }
                _ => list.push((kernel, plain)),
            }
        }
    }
    list
}

/// Those in which tests plant mistakes: the portable kernels of tiles, each mistake in each.
pub(crate) fn with_mistakes() -> impl Iterator<Item = (Kernel, Setup)> {
    let tiles = |kernel| matches!(kernel, Kernel::Forward | Kernel::BackwardQueries | Kernel::BackwardKeys);
    let portable = |setup: &Setup| setup.threads == BACKWARD_THREADS && !setup.subgroups;
    let planted = every().into_iter().filter(move |(kernel, setup)| tiles(*kernel) && portable(setup));
    planted.flat_map(|(kernel, setup)| (1..=MISTAKES).map(move |mistake| (kernel, Setup { mistake, ..setup })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// By a count over all widths from 1 to 2048, and back: the engine asks for nothing else, and the list has nothing more.
    #[test]
    fn the_list_is_what_the_engine_asks_for() {
        let mut asked = BTreeSet::new();
        for rule in RULES {
            for vectors in 0..=512 {
                asked.extend(Variant::ALL.map(|variant| (Kernel::Forward, Setup::forward(rule, variant, vectors))));
                asked.insert((Kernel::BackwardQueries, Setup::backward_queries(rule, vectors)));
                asked.insert((Kernel::BackwardKeys, Setup::backward_keys(rule, vectors)));
            }
            for kernel in Kernel::ALL {
                if !matches!(kernel, Kernel::Forward | Kernel::BackwardQueries | Kernel::BackwardKeys) {
                    asked.insert((kernel, Setup::simple(kernel, rule)));
                }
            }
        }
        let list = every();
        assert_eq!(list.len(), asked.len(), "each stands there once");
        assert_eq!(list.into_iter().collect::<BTreeSet<_>>(), asked);
    }
}
