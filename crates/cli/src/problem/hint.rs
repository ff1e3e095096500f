//! Advice that looks at the problem: what would have fitted.

use super::{Inputs, SinkArg};
use crate::refusal;
use contattn_core::{Axis, ProblemError, TensorName};

/// For numbers along the time line of another rank.
pub(super) const SERIES: &str =
    "store one row that all batches share, or one row for each: (length) or (batch, length)";

/// What to do about a problem that cannot be made of `inputs`.
pub(super) fn advice(error: &ProblemError, inputs: &Inputs) -> String {
    if let ProblemError::Shape { .. } | ProblemError::Dtype { .. } = error
        && let Some(advice) = other_layout(inputs)
    {
        return advice;
    }
    let general = refusal::of_problem(error);
    let ProblemError::Shape { tensor, axis, expected, found } = error else { return general.to_owned() };
    let expected: Option<usize> = expected.parse().ok();
    match (tensor, axis) {
        (TensorName::Durations, Axis::Sequence) if Some(*found) == expected.map(|n| n + 1) => {
            "durations are D_1..D_n, one for each node; for the n + 1 times of the sink and the nodes use --times"
                .into()
        }
        (TensorName::Times, Axis::Sequence) if Some(found + 1) == expected => {
            "times are tau_0..tau_n, the sink's first; for the n durations between them use --durations".into()
        }
        (TensorName::Key | TensorName::Value, Axis::Sequence | Axis::Heads) if inputs.sink == SinkArg::Given => {
            "with --sink given, k and v have one row for the sink before those of the n nodes, which are counted here"
                .into()
        }
        (TensorName::Key, Axis::Heads) => {
            "each key/value head serves a whole number of query heads; if the axes are in another order, see --layout"
                .into()
        }
        (TensorName::Durations | TensorName::KeyMask | TensorName::Documents, Axis::Sequence)
            if inputs.sink == SinkArg::Given =>
        {
            "with --sink given, n is one less than the rows of k: the sink has no entry here".into()
        }
        _ => general.to_owned(),
    }
}

/// Whether the same files fit with heads and sequence exchanged.
fn other_layout(inputs: &Inputs) -> Option<String> {
    let other = inputs.layout.other();
    let has_both_axes = [&inputs.q, &inputs.k, &inputs.v].iter().any(|tensor| tensor.shape().len() > 2);
    let shape = has_both_axes.then(|| inputs.try_problem(other).ok())??.shape();
    Some(format!(
        "looks like {name}: try --layout {name}, which reads {} heads, {} queries and {} nodes",
        shape.heads,
        shape.queries,
        shape.keys,
        name = other.name()
    ))
}
