//! What is measured: lengths, window, direction.

use contattn_core::Shape;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which passes are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// the forward pass
    Fwd,
    /// the forward pass and, from its results, the backward pass
    Fwdbwd,
    /// one query against many keys
    Decode,
}

impl Direction {
    pub(super) const ALL: [Direction; 3] = [Direction::Fwd, Direction::Fwdbwd, Direction::Decode];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Direction::Fwd => "fwd",
            Direction::Fwdbwd => "fwdbwd",
            Direction::Decode => "decode",
        }
    }
}

/// What a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Sight {
    /// every key
    Full,
    /// the keys up to its own
    Causal,
}

/// Heads, keys and width, written `HEADS[:KV_HEADS]xKEYSxWIDTH`, or `KEYSxWIDTH` for one head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) keys: usize,
    pub(super) head_dim: usize,
}

impl Lengths {
    const fn new(heads: usize, kv_heads: usize, keys: usize, head_dim: usize) -> Lengths {
        Lengths { heads, kv_heads, keys, head_dim }
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lengths { heads, kv_heads, keys, head_dim } = self;
        write!(f, "{heads}")?;
        if kv_heads != heads {
            write!(f, ":{kv_heads}")?;
        }
        write!(f, "x{keys}x{head_dim}")
    }
}

impl FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Lengths, String> {
        let expected = || format!("{text:?} is not HEADS[:KV_HEADS]xKEYSxWIDTH, as in 9:3x2048x64");
        let number = |text: &str, most: usize| -> Result<usize, String> {
            let number: usize = text.parse().map_err(|_| expected())?;
            if (1..=most).contains(&number) { Ok(number) } else { Err(format!("{number} is not from 1 to {most}")) }
        };
        let parts: Vec<&str> = text.split('x').collect();
        let (heads, keys, head_dim) = match *parts {
            [keys, head_dim] => ("1", keys, head_dim),
            [heads, keys, head_dim] => (heads, keys, head_dim),
            _ => return Err(expected()),
        };
        let (heads, kv_heads) = heads.split_once(':').unwrap_or((heads, heads));
        let (heads, kv_heads) = (number(heads, 1024)?, number(kv_heads, 1024)?);
        if !heads.is_multiple_of(kv_heads) {
            return Err(format!("{kv_heads} key/value heads do not divide {heads} heads"));
        }
        Ok(Lengths::new(heads, kv_heads, number(keys, 1 << 20)?, number(head_dim, 1024)?))
    }
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(super) direction: Direction,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) head_dim: usize,
    pub(super) causal: bool,
}

impl Case {
    /// Decoding has one query, which sees all keys.
    pub(super) fn new(lengths: Lengths, direction: Direction, sight: Sight) -> Case {
        let Lengths { heads, kv_heads, keys, head_dim } = lengths;
        let decode = direction == Direction::Decode;
        Case {
            direction,
            heads,
            kv_heads,
            queries: if decode { 1 } else { keys },
            keys,
            head_dim,
            causal: sight == Sight::Causal && !decode,
        }
    }

    pub(super) fn shape(&self) -> Shape {
        let Case { heads, kv_heads, queries, keys, head_dim, .. } = *self;
        Shape { batch: 1, heads, kv_heads, queries, keys, head_dim, value_dim: head_dim }
    }

    pub(super) fn lengths(&self) -> Lengths {
        Lengths::new(self.heads, self.kv_heads, self.keys, self.head_dim)
    }

    /// What a case from outside lacks to be one.
    pub(super) fn fault(&self) -> Option<String> {
        let Case { direction, queries, keys, causal, .. } = *self;
        // As text, so that there is one list of limits.
        let lengths = self.lengths().to_string().parse::<Lengths>();
        match lengths {
            Err(fault) => Some(fault),
            Ok(_) if direction == Direction::Decode && (queries != 1 || causal) => {
                Some("decoding has one query, which sees every key".to_owned())
            }
            Ok(_) if !(1..=keys).contains(&queries) => Some(format!("queries: found {queries}, expected 1 to {keys}")),
            Ok(_) => None,
        }
    }

    /// (query, key) pairs that are seen.
    pub(super) fn pairs(&self) -> f64 {
        let (queries, keys) = (self.queries as f64, self.keys as f64);
        let unseen = if self.causal { queries * (queries - 1.0) / 2.0 } else { 0.0 };
        self.heads as f64 * (queries * keys - unseen)
    }
}

/// Lengths that take a minute or two.
pub(super) const SHORT: [Lengths; 8] = [
    Lengths::new(1, 1, 512, 64),
    Lengths::new(1, 1, 2048, 64),
    Lengths::new(1, 1, 2048, 128),
    Lengths::new(1, 1, 2048, 256),
    Lengths::new(1, 1, 2048, 80),
    Lengths::new(8, 8, 512, 64),
    Lengths::new(9, 3, 512, 64),
    Lengths::new(1, 1, 4096, 64),
];

/// The lengths of decoding.
pub(super) const DECODE: Lengths = Lengths::new(1, 1, 16384, 128);

/// The grid: four lengths by three widths for one head and eight, nine heads over three, and a width that is no power of two.
pub(super) fn grid() -> Vec<Lengths> {
    let mut grid = Vec::new();
    for keys in [512, 2048, 8192, 16384] {
        for heads in [1, 8] {
            grid.extend([64, 128, 256].map(|head_dim| Lengths::new(heads, heads, keys, head_dim)));
        }
        grid.extend([Lengths::new(9, 3, keys, 64), Lengths::new(1, 1, keys, 80)]);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for text in ["1x2048x64", "9:3x512x64", "8x1x1"] {
            assert_eq!(text.parse::<Lengths>().unwrap().to_string(), text);
        }
        assert_eq!("5x7".parse(), Ok(Lengths::new(1, 1, 5, 7)));
        for (text, said) in [
            ("64", "is not HEADS"),
            ("1x2x3x4", "is not HEADS"),
            ("ax2x3", "is not HEADS"),
            ("4:3x8x8", "do not divide"),
            ("0x8x8", "0 is not from 1"),
            ("1x8x4096", "4096 is not from 1 to 1024"),
        ] {
            let error = text.parse::<Lengths>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn pairs_are_those_seen() {
        let lengths = Lengths::new(2, 1, 3, 4);
        assert_eq!(Case::new(lengths, Direction::Fwd, Sight::Full).pairs(), 18.0);
        assert_eq!(Case::new(lengths, Direction::Fwd, Sight::Causal).pairs(), 12.0);
        assert_eq!(Case::new(lengths, Direction::Decode, Sight::Causal).pairs(), 6.0);
    }

    #[test]
    fn the_grid_has_every_length_once() {
        let grid: Vec<String> = grid().iter().map(Lengths::to_string).collect();
        let different: std::collections::BTreeSet<&String> = grid.iter().collect();
        assert_eq!((grid.len(), different.len()), (32, 32));
        for wanted in ["8x16384x256", "1x512x64", "9:3x8192x64", "1x2048x80"] {
            assert!(grid.iter().any(|lengths| lengths == wanted));
        }
    }
}
