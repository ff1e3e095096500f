//! `manifest.json` as types.

use super::tolerance::Tolerances;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the manifest's format.
pub const SCHEMA: &str = "contattn-golden/1";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`]
    pub schema: String,
    /// every case, in the order in which they were made
    pub cases: Vec<Entry>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// unique; letters, digits and hyphens
    pub name: String,
    /// what the case is about: the first part of its name
    pub group: String,
    /// name of its file, beside the manifest
    pub file: String,
    /// length of its file in bytes
    pub bytes: u64,
    /// the family of inputs from which q, k and v were drawn
    pub family: String,
    /// their seed
    pub seed: u64,
    /// lengths of the axes
    pub shape: Lengths,
    /// element type of q, k, v and o
    pub dtype: String,
    /// order of the axes of q, k, v, o and their gradients
    pub layout: String,
    /// linear, step, trapezoid or taylor:M
    pub rule: String,
    /// absent, zeros, copy, or given: then k and v have the sink's row before those of nodes 1..n
    pub sink: String,
    /// factor of the scores; null is 1/sqrt(head_dim)
    pub scale: Option<f64>,
    /// what a row sees
    pub window: WindowEntry,
    /// where the nodes stand
    pub timeline: TimelineEntry,
    /// tensors of the file that state the problem
    pub inputs: Vec<String>,
    /// the same problem as options of `contattn attend`; {file} stands for the path of the case's file
    pub arguments: Vec<String>,
    /// whether gradients are there, for the upstream gradients `g` and `g_lse`
    pub differentiable: bool,
    /// results by name
    pub outputs: BTreeMap<String, OutputEntry>,
    /// what settled them
    pub certificates: Certificates,
}

/// Lengths of the axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // as in `Shape`
pub struct Lengths {
    pub batch: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub head_dim: usize,
    pub value_dim: usize,
}

/// The window of every row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowEntry {
    /// where it begins
    pub lower: LowerEntry,
    /// where it ends, and which nodes are visible
    pub upper: UpperEntry,
}

/// Where a window begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LowerEntry {
    /// the first visible node
    Start,
    /// a fixed time
    At {
        /// the time
        time: f64,
    },
    /// the tensor `lower_edges`, one time for each row
    Rows,
    /// max(start, t - width)
    Sliding {
        /// in units of time
        width: f64,
    },
}

/// Where a window ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum UpperEntry {
    /// the last node; all are visible
    End,
    /// a fixed time; all nodes are visible
    At {
        /// the time
        time: f64,
    },
    /// the tensor `upper_edges`, one time for each row; all nodes are visible
    Rows,
    /// t + offset; nodes up to t are visible
    Query {
        /// added to t
        offset: f64,
    },
}

/// Where the nodes stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimelineEntry {
    /// tau_i = i
    Unit,
    /// the tensor `durations`
    Durations,
    /// the tensor `times`
    Times,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputEntry {
    /// the tensor that is correctly rounded to `dtype`
    pub tensor: String,
    /// its element type
    pub dtype: String,
    /// the tensor that is correctly rounded to f64; the same one where `dtype` is f64
    pub f64: String,
    /// how far off a result may be
    pub tolerance: Tolerances,
    /// elements whose rounding is not proven: their stored numbers are best guesses
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<UnresolvedEntry>,
}

/// A gradient's element that 512 bits did not settle: zero, most of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnresolvedEntry {
    /// place in row-major order of the stored tensor
    pub at: usize,
    /// a number that is not above it
    pub lower: f64,
    /// a number that is not below it
    pub upper: f64,
}

/// What settled a case's results, by the type to which they were rounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificates {
    /// o, lse, weights and bias
    pub forward: BTreeMap<String, Certificate>,
    /// gradients
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gradients: BTreeMap<String, GradientCertificate>,
}

/// Forward results: every one is correctly rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// results whose enclosure rounds to one number
    pub by_enclosure: u64,
    /// results that were compared exactly with the border between two numbers
    pub exactly: u64,
    /// of those, how many without an exponential: ties, rational results
    pub without_exponentials: u64,
    /// results that are -infinity, NaN or 0 by definition, because of what is or is not seen
    pub defined: u64,
    /// largest precision that any result took, in bits
    pub bits: u32,
}

/// Gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradientCertificate {
    /// elements that are correctly rounded
    pub rounded: u64,
    /// elements of which an enclosure alone is known
    pub unresolved: u64,
}

impl Manifest {
    /// Of these cases.
    pub fn new(cases: Vec<Entry>) -> Manifest {
        Manifest { schema: SCHEMA.to_owned(), cases }
    }

    /// The file's text: one line for each result, so that changes show where they are.
    ///
    /// # Panics
    /// Never: every number is finite.
    pub fn to_text(&self) -> String {
        let json = |value: serde_json::Result<String>| value.expect("finite numbers, strings and lists");
        let mut text = format!("{{\n\"schema\": {},\n\"cases\": [", json(serde_json::to_string(&self.schema)));
        for (i, case) in self.cases.iter().enumerate() {
            let value = serde_json::to_value(case).expect("finite numbers, strings and lists");
            text += if i == 0 { "\n {" } else { ",\n {" };
            let fields = case_fields();
            for (j, field) in fields.iter().enumerate() {
                let separator = if j == 0 { "" } else { "," };
                text += &format!("{separator}\n  \"{field}\": ");
                match value.get(field).and_then(|v| v.as_object()).filter(|_| *field == "outputs") {
                    Some(outputs) => {
                        let lines: Vec<String> =
                            outputs.iter().map(|(name, output)| format!("\n   \"{name}\": {output}")).collect();
                        text += &format!("{{{}\n  }}", lines.join(","));
                    }
                    None => text += &value.get(field).map_or_else(|| "null".to_owned(), |v| v.to_string()),
                }
            }
            text += "\n }";
        }
        text + "\n]\n}\n"
    }
}

/// The fields of [`Entry`], in order.
const fn case_fields() -> [&'static str; 19] {
    [
        "name",
        "group",
        "file",
        "bytes",
        "family",
        "seed",
        "shape",
        "dtype",
        "layout",
        "rule",
        "sink",
        "scale",
        "window",
        "timeline",
        "inputs",
        "arguments",
        "differentiable",
        "outputs",
        "certificates",
    ]
}
