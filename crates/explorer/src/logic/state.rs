//! The inputs that all views share, and nothing else: whatever can be computed from them is not here.

use contattn_core::{Dtype, Edge, Lower, Rule, Upper, Window};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The most nodes that a row may have.
pub const MAX_NODES: usize = 4097;
/// The largest size of scores, values and times.
pub const MAX_NUMBER: f64 = 1e12;
/// The highest Taylor order on the slider.
pub const MAX_TAYLOR: u32 = 8;
/// The most digits that are asked of the certified results.
pub const MAX_DIGITS: u32 = 200;

/// Everything that the views show is a function of this (and of their own settings).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// the row of attention that the Operator view edits
    pub row: Row,
    /// how a segment is read
    #[serde(with = "rule")]
    pub rule: Rule,
    /// node 0
    pub sink: SinkChoice,
    /// where windows begin
    pub lower: LowerEdge,
    /// where windows end
    pub upper: UpperEdge,
    /// the type in which inputs are held, and in which one engine's results are judged
    #[serde(with = "dtype")]
    pub dtype: Dtype,
    /// order of the Taylor truncation that is compared
    pub taylor: u32,
    /// digits of the certified results
    pub digits: u32,
    /// where q, k and v of the Matrix view come from
    pub source: SourceChoice,
    /// which head of it
    pub head: Head,
}

impl Default for State {
    fn default() -> State {
        State {
            row: Row::default(),
            rule: Rule::Linear,
            sink: SinkChoice::Zeros,
            lower: LowerEdge::Start,
            upper: UpperEdge::End,
            dtype: Dtype::F32,
            taylor: 1,
            digits: 20,
            source: SourceChoice::Carried,
            head: crate::logic::preset::SHOWN,
        }
    }
}

/// One query and the nodes that it may see, with one channel of values. Node 0 is the sink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// tau_0..tau_n
    pub times: Vec<f64>,
    /// k_0..k_n; the score is a_i = q k_i
    pub keys: Vec<f64>,
    /// v_0..v_n
    pub values: Vec<f64>,
    /// q
    pub query: f64,
    /// where the row comes from
    pub origin: Origin,
    /// whether it was changed since
    pub edited: bool,
}

/// Where a row comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Origin {
    /// typed, or made by another view
    #[default]
    Typed,
    /// a preset of this name
    Preset(String),
    /// a row of the matrix: its values are those of all channels of the head as long as no node is added or removed
    Head(Head),
}

/// A row of a head of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Head {
    /// index of the layer
    pub layer: usize,
    /// query head
    pub head: usize,
    /// row of q
    pub query: usize,
}

impl Row {
    /// Nodes, the sink among them.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// a_0..a_n
    pub fn scores(&self) -> Vec<f64> {
        self.keys.iter().map(|k| self.query * k).collect()
    }

    /// Whether tau_i = i.
    pub fn is_unit(&self) -> bool {
        self.times.iter().enumerate().all(|(i, &t)| t == i as f64)
    }
}

impl Default for Row {
    fn default() -> Row {
        crate::logic::preset::Preset::default().row()
    }
}

impl State {
    /// Whether node 0 has a part in the row under the state's rule.
    pub fn has_sink(&self) -> bool {
        self.sink != SinkChoice::Absent && !self.rule.reads_own_node_only()
    }

    /// The row with the key and value that its node 0 has under the state's sink.
    pub fn row_with_sink(&self) -> Row {
        let mut row = self.row.clone();
        match self.sink {
            SinkChoice::Zeros => (row.keys[0], row.values[0]) = (0.0, 0.0),
            SinkChoice::Copy => (row.keys[0], row.values[0]) = (row.keys[1], row.values[1]),
            SinkChoice::Given | SinkChoice::Absent => {}
        }
        row
    }
}

/// Kinds of node 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SinkChoice {
    /// there is none
    Absent,
    /// key and value 0
    Zeros,
    /// a copy of the first node
    Copy,
    /// the row's node 0, to be dragged
    Given,
}

impl SinkChoice {
    /// Every kind.
    pub const ALL: [SinkChoice; 4] = [SinkChoice::Zeros, SinkChoice::Copy, SinkChoice::Given, SinkChoice::Absent];

    /// Its name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            SinkChoice::Absent => "absent",
            SinkChoice::Zeros => "zeros",
            SinkChoice::Copy => "copy",
            SinkChoice::Given => "given",
        }
    }
}

/// Where a window begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LowerEdge {
    /// at the first node
    Start,
    /// at a time
    At(f64),
    /// this long before the query
    Sliding(f64),
}

/// Where a window ends, and which nodes it sees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum UpperEdge {
    /// at the last node; all nodes are visible
    End,
    /// at a time; all nodes are visible
    At(f64),
    /// this long after the query; causal
    Query(f64),
}

/// Where q, k and v come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SourceChoice {
    /// the heads that the program carries
    Carried,
    /// a file
    File(PathBuf),
}

/// What is wrong with a state that came from outside.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The lists of a row differ in length, or there are too few or too many nodes.
    #[error("the row has {times} times, {keys} keys and {values} values: expected the same number, 2 to {MAX_NODES}")]
    Lengths {
        /// how many times
        times: usize,
        /// how many keys
        keys: usize,
        /// how many values
        values: usize,
    },
    /// A number is not one, or too large.
    #[error("{what} {index} is {found}: expected a number of size up to {MAX_NUMBER:e}")]
    Number {
        /// which list
        what: &'static str,
        /// place in it
        index: usize,
        /// what stands there
        found: f64,
    },
    /// Times go back.
    #[error("time {index} is {found}, before its predecessor")]
    Order {
        /// place in the list
        index: usize,
        /// what stands there
        found: f64,
    },
    /// A setting is out of its range.
    #[error("{what} is {found}: expected {least} to {most}")]
    Range {
        /// which
        what: &'static str,
        /// what was found
        found: u32,
        /// least
        least: u32,
        /// most
        most: u32,
    },
    /// The window ends before it begins.
    #[error("the window begins at {lower} and ends at {upper}")]
    Window {
        /// its begin
        lower: f64,
        /// its end
        upper: f64,
    },
    /// The window slides without a query that it follows.
    #[error("a sliding window needs an upper edge that follows the query")]
    Sliding,
}

impl State {
    /// Checks a state that came from outside.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), StateError> {
        self.row.check()?;
        let range = |what, found, least, most| {
            if (least..=most).contains(&found) { Ok(()) } else { Err(StateError::Range { what, found, least, most }) }
        };
        range("the Taylor order", self.taylor, 1, MAX_TAYLOR)?;
        range("the number of digits", self.digits, 1, MAX_DIGITS)?;
        if let Rule::Taylor(order) = self.rule {
            range("the rule's Taylor order", order, 0, Rule::MAX_TAYLOR_ORDER)?;
        }
        let lower = match self.lower {
            LowerEdge::Start => 0.0,
            LowerEdge::At(t) | LowerEdge::Sliding(t) => t,
        };
        let upper = match self.upper {
            UpperEdge::End => 0.0,
            UpperEdge::At(t) | UpperEdge::Query(t) => t,
        };
        number("edge", 0, lower)?;
        number("edge", 1, upper)?;
        match (self.lower, self.upper) {
            (LowerEdge::At(lower), UpperEdge::At(upper)) if lower > upper => Err(StateError::Window { lower, upper }),
            (LowerEdge::Sliding(width), _) if width < 0.0 => {
                Err(StateError::Number { what: "edge", index: 0, found: width })
            }
            (LowerEdge::Sliding(_), UpperEdge::End | UpperEdge::At(_)) => Err(StateError::Sliding),
            _ => Ok(()),
        }
    }

    /// The window as the library takes it.
    pub fn window(&self) -> Window {
        let lower = match self.lower {
            LowerEdge::Start => Lower::Start,
            LowerEdge::At(t) => Lower::At(Edge::All(t)),
            LowerEdge::Sliding(width) => Lower::Sliding(width),
        };
        let upper = match self.upper {
            UpperEdge::End => Upper::End,
            UpperEdge::At(t) => Upper::At(Edge::All(t)),
            UpperEdge::Query(offset) => Upper::Query { offset },
        };
        Window { lower, upper }
    }
}

impl Row {
    /// Checks a row that came from outside.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), StateError> {
        let (times, keys, values) = (self.times.len(), self.keys.len(), self.values.len());
        if times != keys || values != keys || !(2..=MAX_NODES).contains(&keys) {
            return Err(StateError::Lengths { times, keys, values });
        }
        for (what, list) in [("time", &self.times), ("key", &self.keys), ("value", &self.values)] {
            for (index, &x) in list.iter().enumerate() {
                number(what, index, x)?;
            }
        }
        number("query", 0, self.query)?;
        for (index, &score) in self.scores().iter().enumerate() {
            number("score", index, score)?;
        }
        match self.times.windows(2).position(|pair| pair[0] > pair[1]) {
            Some(at) => Err(StateError::Order { index: at + 1, found: self.times[at + 1] }),
            None => Ok(()),
        }
    }
}

fn number(what: &'static str, index: usize, found: f64) -> Result<(), StateError> {
    if found.abs() <= MAX_NUMBER { Ok(()) } else { Err(StateError::Number { what, index, found }) }
}

/// A rule as its name.
mod rule {
    use contattn_core::Rule;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(rule: &Rule, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(rule)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Rule, D::Error> {
        String::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

/// An element type as its name.
mod dtype {
    use contattn_core::Dtype;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(dtype: &Dtype, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(dtype.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Dtype, D::Error> {
        let name = String::deserialize(d)?;
        let found = Dtype::ALL.into_iter().find(|dtype| dtype.name() == name);
        found.ok_or_else(|| de::Error::custom(format!("no element type is called {name:?}")))
    }
}
