//! Shader text: kernels with their includes, definitions pasted in, loops over registers unrolled.
//!
//! WGSL has no includes, no generics, and no promise that a loop over an array of accumulators ends up in registers. Kernels are
//! therefore templates, of lines that begin with `#`:
//!
//! ```text
//! #include NAME                                 another file
//! #def NAME PARAMETER... / #end                 a definition
//! #use NAME PARAMETER=WORD...                   its text, with each `$PARAMETER` replaced
//! #for X in A..B / #end                         the lines between, for each number, with `$X` replaced
//! #if NAME / #else / #end, #if A == B           one or the other
//! ```
//!
//! Numbers and words come from a [`Setup`]. The build script assembles every kernel in every setup that the engine can ask for
//! (`setups.rs`), parses and validates them; the engine assembles those that it needs. This file is compiled into both, so it uses the
//! standard library alone.

use std::collections::BTreeMap;

/// The files, by name.
const FILES: &[(&str, &str)] = &[
    ("backward_keys", include_str!("shaders/backward_keys.wgsl")),
    ("backward_queries", include_str!("shaders/backward_queries.wgsl")),
    ("elementary", include_str!("shaders/elementary.wgsl")),
    ("forward", include_str!("shaders/forward.wgsl")),
    ("gather", include_str!("shaders/gather.wgsl")),
    ("lanes", include_str!("shaders/lanes.wgsl")),
    ("params", include_str!("shaders/params.wgsl")),
    ("peak", include_str!("shaders/peak.wgsl")),
    ("pieces", include_str!("shaders/pieces.wgsl")),
    ("pieces_backward", include_str!("shaders/pieces_backward.wgsl")),
    ("product", include_str!("shaders/product.wgsl")),
    ("record", include_str!("shaders/record.wgsl")),
    ("segment", include_str!("shaders/segment.wgsl")),
    ("sweep", include_str!("shaders/sweep.wgsl")),
    ("upstream", include_str!("shaders/upstream.wgsl")),
];

/// A compute shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kernel {
    /// o of tiles of queries
    Forward,
    /// dq of tiles of queries
    BackwardQueries,
    /// dk, dv and d duration of tiles of keys
    BackwardKeys,
    /// cut segments and held curve, forward
    Pieces,
    /// the same, backward
    PiecesBackward,
    /// gradients of pieces by node
    Gather,
    /// g/z and its product with o
    Upstream,
    /// multiply-adds and nothing else
    Peak,
    /// how threads lie in subgroups
    Lanes,
}

impl Kernel {
    /// Each of them.
    pub(crate) const ALL: [Kernel; 9] = [
        Kernel::Forward,
        Kernel::BackwardQueries,
        Kernel::BackwardKeys,
        Kernel::Pieces,
        Kernel::PiecesBackward,
        Kernel::Gather,
        Kernel::Upstream,
        Kernel::Peak,
        Kernel::Lanes,
    ];

    /// Its file.
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Kernel::Forward => "forward",
            Kernel::BackwardQueries => "backward_queries",
            Kernel::BackwardKeys => "backward_keys",
            Kernel::Pieces => "pieces",
            Kernel::PiecesBackward => "pieces_backward",
            Kernel::Gather => "gather",
            Kernel::Upstream => "upstream",
            Kernel::Peak => "peak",
            Kernel::Lanes => "lanes",
        }
    }

    /// Vectors of four that a row of an operand has in workgroup memory at a time, and what a row of them is padded to.
    const fn depth(self, side: usize) -> (usize, usize) {
        match self {
            Kernel::Forward if side <= 32 => (8, 9),
            Kernel::Forward | Kernel::BackwardQueries => (4, 5),
            // Three tiles of scores leave no more.
            _ => (2, 2),
        }
    }
}

/// What a kernel is assembled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Setup {
    /// `linear`, `step` or `trapezoid`
    pub(crate) rule: &'static str,
    /// T: a workgroup has T x T threads, and tiles of 4 T rows
    pub(crate) threads: usize,
    /// vectors of four of an accumulated row of v, of o or dv, and of k, of dq or dk, that each thread holds
    pub(crate) value_count: usize,
    pub(crate) key_count: usize,
    /// whether threads of a row pass numbers on through their subgroup
    pub(crate) subgroups: bool,
    /// what has been planted, for tests; 0 for nothing
    pub(crate) mistake: usize,
}

/// Bounds of a row's Z outside of which the host evaluates it.
pub(crate) const SMALLEST: f32 = f32::from_bits((127 - 60) << 23);
/// The other one.
pub(crate) const LARGEST: f32 = f32::from_bits((127 + 100) << 23);

/// What kernels have been seen to do wrong. Tests plant each, to see that it is caught; the shaders name them by number.
pub(crate) const MISTAKES: usize = 6;

/// Nodes that a thread sweeps.
const RUN: usize = 16;

impl Setup {
    /// Rows and columns of a tile.
    pub(crate) const fn side(&self) -> usize {
        4 * self.threads
    }

    /// Whether a segment gives anything to its left node.
    pub(crate) fn reads_left(&self) -> bool {
        self.rule != "step"
    }

    fn numbers(&self, kernel: Kernel) -> BTreeMap<&'static str, usize> {
        let (t, side) = (self.threads, self.side());
        let (depth, pitch) = kernel.depth(side);
        let stage = 2 * side * pitch;
        let rows = |count: usize| (stage / (t * count)).min(side).next_power_of_two();
        let fitting = |count: usize| if rows(count) * t * count > stage { rows(count) / 2 } else { rows(count) };
        let stride = side + 32 / t;
        let parts = side / RUN;
        BTreeMap::from([
            ("T", t),
            ("THREADS", t * t),
            ("SIDE", side),
            ("RUN", RUN),
            ("PARTS", parts),
            ("PARTS_LOG", parts.ilog2() as usize),
            ("STRIDE", stride),
            ("TILE", side * stride),
            ("DEPTH", depth),
            ("PITCH", pitch),
            ("STAGE", stage),
            ("VALUE_COUNT", self.value_count),
            ("VALUE_ROWS", fitting(self.value_count)),
            ("KEY_COUNT", self.key_count),
            ("KEY_ROWS", fitting(self.key_count)),
            ("READS_LEFT", usize::from(self.reads_left())),
            ("TRAPEZOID", usize::from(self.rule == "trapezoid")),
            ("SUBGROUPS", usize::from(self.subgroups)),
            ("MISTAKE", self.mistake),
        ])
    }

    /// Bytes of workgroup memory that a kernel takes.
    pub(crate) fn workgroup_bytes(&self, kernel: Kernel) -> usize {
        let numbers = self.numbers(kernel);
        let (tile, stage, side) = (4 * numbers["TILE"], 16 * numbers["STAGE"], numbers["SIDE"]);
        match kernel {
            Kernel::Forward => tile + stage + 16 * side + 4 * numbers["THREADS"] + 16,
            Kernel::BackwardQueries => 2 * tile + stage + 12 * side + 8,
            Kernel::BackwardKeys => 3 * tile + stage,
            _ => 0,
        }
    }

    /// Passes through loops that a thread makes for each tile, of rows of so many vectors of k and v.
    pub(crate) fn iterations(&self, kernel: Kernel, key_vectors: usize, value_vectors: usize) -> usize {
        let numbers = self.numbers(kernel);
        let (side, depth, threads) = (numbers["SIDE"], numbers["DEPTH"], numbers["THREADS"]);
        let dots = |vectors: usize| vectors.div_ceil(depth) * (1 + (2 * side * depth).div_ceil(threads) + depth);
        let accumulate = |count: &str, rows: &str| {
            let (count, rows) = (numbers[count], numbers[rows]);
            side / rows * (1 + (rows * self.threads * count).div_ceil(threads) + rows)
        };
        let (values, keys) = (accumulate("VALUE_COUNT", "VALUE_ROWS"), accumulate("KEY_COUNT", "KEY_ROWS"));
        let both = dots(key_vectors) + dots(value_vectors) + RUN + 1;
        match kernel {
            Kernel::Forward => dots(key_vectors) + 2 * RUN + values + 1,
            Kernel::BackwardQueries => both + keys,
            _ => both + values + keys + side,
        }
    }

    /// The text of a kernel.
    ///
    /// # Errors
    /// What is wrong with the template, and where.
    pub(crate) fn assemble(&self, kernel: Kernel) -> Result<String, String> {
        let numbers = self.numbers(kernel);
        let mut assembler = Assembler { numbers: &numbers, definitions: BTreeMap::new(), out: String::new() };
        for (name, number) in &numbers {
            assembler.out += &format!("const {name}: u32 = {number}u;\n");
        }
        assembler.out += &format!("const LEFT: i32 = {};\n", usize::from(self.reads_left()));
        assembler.out += &format!("const SMALLEST: f32 = {SMALLEST:e};\nconst LARGEST: f32 = {LARGEST:e};\n");
        let words = BTreeMap::from([("rule".to_owned(), self.rule.to_owned())]);
        assembler.file(kernel.file(), &words)?;
        Ok(assembler.out)
    }
}

type Words = BTreeMap<String, String>;

struct Assembler<'n> {
    numbers: &'n BTreeMap<&'static str, usize>,
    /// parameters and lines, by name
    definitions: BTreeMap<String, (Vec<String>, Vec<&'static str>)>,
    out: String,
}

impl Assembler<'_> {
    fn file(&mut self, name: &str, words: &Words) -> Result<(), String> {
        let text = FILES.iter().find(|(file, _)| *file == name).ok_or_else(|| format!("no file is called {name}"))?.1;
        let lines: Vec<&'static str> = text.lines().collect();
        self.lines(&lines, words).map_err(|error| format!("{name}.wgsl: {error}"))
    }

    fn lines(&mut self, lines: &[&'static str], words: &Words) -> Result<(), String> {
        let mut at = 0;
        while at < lines.len() {
            if lines[at].trim_start().starts_with("//") {
                at += 1;
                continue;
            }
            let Some(directive) = lines[at].trim_start().strip_prefix('#') else {
                self.out += &fill(lines[at], words)?;
                self.out.push('\n');
                at += 1;
                continue;
            };
            let directive = fill_if(directive, words)?;
            let parts: Vec<&str> = directive.split_whitespace().collect();
            match parts[..] {
                ["include", name] => self.file(name, words)?,
                ["use", name, ref arguments @ ..] => self.paste(name, arguments, words)?,
                ["def", name, ref parameters @ ..] => {
                    let end = block_end(lines, at)?.1;
                    let parameters = parameters.iter().map(|&p| p.to_owned()).collect();
                    self.definitions.insert(name.to_owned(), (parameters, lines[at + 1..end].to_vec()));
                    at = end;
                }
                ["for", variable, "in", range] => {
                    let end = block_end(lines, at)?.1;
                    let (from, to) = range.split_once("..").ok_or_else(|| format!("{range} is no range"))?;
                    for i in self.number(from)?..self.number(to)? {
                        let mut words = words.clone();
                        words.insert(variable.to_owned(), i.to_string());
                        self.lines(&lines[at + 1..end], &words)?;
                    }
                    at = end;
                }
                ["if", ref condition @ ..] => {
                    let (other, end) = block_end(lines, at)?;
                    let holds = match condition {
                        [name] => self.number(name)? != 0,
                        [a, "==", b] => a == b || self.number(a).is_ok_and(|a| Ok(a) == self.number(b)),
                        _ => return Err(format!("#if {condition:?} is no condition")),
                    };
                    let taken = if holds { &lines[at + 1..other] } else { &lines[(other + 1).min(end)..end] };
                    self.lines(taken, words)?;
                    at = end;
                }
                _ => return Err(format!("#{directive} is no directive")),
            }
            at += 1;
        }
        Ok(())
    }

    fn paste(&mut self, name: &str, arguments: &[&str], words: &Words) -> Result<(), String> {
        let (parameters, lines) =
            self.definitions.get(name).cloned().ok_or_else(|| format!("nothing is defined as {name}"))?;
        let mut words = words.clone();
        for argument in arguments {
            let (parameter, word) = argument.split_once('=').ok_or_else(|| format!("{argument} is no argument"))?;
            if !parameters.iter().any(|p| p == parameter) {
                return Err(format!("{name} has no parameter {parameter}"));
            }
            words.insert(parameter.to_owned(), word.to_owned());
        }
        match parameters.iter().find(|&p| !words.contains_key(p)) {
            Some(missing) => Err(format!("{name} needs {missing}")),
            None => self.lines(&lines, &words),
        }
    }

    fn number(&self, text: &str) -> Result<usize, String> {
        match self.numbers.get(text) {
            Some(&number) => Ok(number),
            None => text.parse().map_err(|_| format!("{text} is no number")),
        }
    }
}

/// The `#else` (or the end itself) and the `#end` of the block that begins at a line.
fn block_end(lines: &[&'static str], begin: usize) -> Result<(usize, usize), String> {
    let mut depth = 0;
    let mut other = None;
    for (at, line) in lines.iter().enumerate().skip(begin) {
        match line.trim_start().strip_prefix('#').and_then(|d| d.split_whitespace().next()) {
            Some("def" | "for" | "if") => depth += 1,
            Some("else") if depth == 1 => other = Some(at),
            Some("end") => {
                depth -= 1;
                if depth == 0 {
                    return Ok((other.unwrap_or(at), at));
                }
            }
            _ => {}
        }
    }
    Err(format!("{} has no #end", lines[begin].trim()))
}

/// A line with each `$word` replaced; of several words that fit, the longest.
fn fill(line: &str, words: &Words) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('$') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        let word = words.iter().filter(|(name, _)| rest.starts_with(&***name)).max_by_key(|(name, _)| name.len());
        let (name, word) = word.ok_or_else(|| format!("${rest} is not known"))?;
        out += word;
        rest = &rest[name.len()..];
    }
    out += rest;
    Ok(out)
}

/// The same for directives; those of a definition that is not pasted yet keep their parameters.
fn fill_if(line: &str, words: &Words) -> Result<String, String> {
    if line.starts_with("def") { Ok(line.to_owned()) } else { fill(line, words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(lines: &[&'static str]) -> Result<String, String> {
        let numbers = BTreeMap::from([("TWO", 2), ("ONE", 1), ("NONE", 0)]);
        let mut assembler = Assembler { numbers: &numbers, definitions: BTreeMap::new(), out: String::new() };
        assembler.lines(lines, &Words::new()).map(|()| assembler.out)
    }

    #[test]
    fn directives_do_what_they_say() {
        assert_eq!(assemble(&["#for i in 0..TWO", "a_$iu", "#end"]).unwrap(), "a_0u\na_1u\n");
        assert_eq!(assemble(&["#if NONE", "x", "#else", "y", "#end", "z"]).unwrap(), "y\nz\n");
        assert_eq!(assemble(&["#if ONE", "#if TWO == 2", "x", "#end", "#end"]).unwrap(), "x\n");
        let nested = ["#def f a", "#for i in 0..2", "$a$i", "#end", "#end", "#use f a=x", "#use f a=y"];
        assert_eq!(assemble(&nested).unwrap(), "x0\nx1\ny0\ny1\n");
    }

    #[test]
    fn mistakes_are_named() {
        for lines in [
            &["#for i in 0..2", "x"][..],
            &["$x"],
            &["#nothing"],
            &["#use f"],
            &["#def f a", "#end", "#use f b=1"],
            &["#def f a", "#end", "#use f"],
            &["#include nothing"],
            &["#if MANY", "#end"],
        ] {
            assert!(assemble(lines).is_err(), "{lines:?}");
        }
    }
}
