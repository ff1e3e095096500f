//! Element types of inputs and results, strides, and what was asked for.

use super::random::{Random, gauss, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::allowance::Bounds;
use crate::oracle::Exact;
use contattn_core::{
    Dtype, Element, Feature, Problem, ProblemError, Request, Rule, Shape, Sink, Spec, TensorName, TensorView, View,
};
use half::{bf16, f16};

pub(super) const CHECKS: &[Check] = &[
    check("types", "every input type with every result type, both passes", types),
    check("layouts", "permuted, reversed, padded and broadcast strides give what contiguous tensors give", layouts),
    check("request", "weights and bias are returned if and only if they were asked for", request),
];

fn types(trial: &mut Trial<'_>) {
    for input in Dtype::ALL {
        for results in Dtype::ALL {
            if !(trial.supports(Feature::Input(input)) && trial.supports(Feature::Results(results))) {
                continue;
            }
            for rule in trial.rules(&[Rule::Linear, Rule::Step]) {
                let small = gauss(shape(3, 5, 8, 4), input, 14, Spec { rule, ..Spec::default() });
                let case = format!("{rule}, {input} in, {results} out");
                let Some(problem) = trial.problem(&case, &small) else { return };
                let request = Request { dtype: Some(results), ..trial.request() };
                trial.check_forward_of(&case, &problem, &request);
                trial.check_backward_of(&case, &problem, &Request { dtype: Some(results), ..Request::default() });
            }
        }
    }
}

fn request(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    let small = gauss(shape(2, 3, 2, 2), dtype, 15, Spec::default());
    for rule in trial.rules(&[Rule::Linear, Rule::Step]) {
        let small = crate::generate::SmallProblem { spec: Spec { rule, ..Spec::default() }, ..small.clone() };
        let Some(problem) = trial.problem("request", &small) else { return };
        let (has_weights, has_bias) = (trial.supports(Feature::Weights), trial.supports(Feature::Bias));
        for (weights, bias) in [(false, false), (has_weights, false), (false, has_bias), (has_weights, has_bias)] {
            let request = Request { weights, bias, dtype: None };
            trial.check_forward_of(&format!("{rule}, weights {weights}, bias {bias}"), &problem, &request);
        }
    }
}

/// A way to lay out (batch, heads, sequence, head_dim): the order in which axes vary, slowest first, whether each runs
/// backwards, and how many elements are left unused after each row.
struct Storage {
    name: &'static str,
    order: [usize; 4],
    reversed: [bool; 4],
    padding: usize,
    /// axes along which all elements are the same
    broadcast: [bool; 4],
}

const STORAGES: [Storage; 6] = [
    Storage {
        name: "sequence before heads",
        order: [0, 2, 1, 3],
        reversed: [false; 4],
        padding: 0,
        broadcast: [false; 4],
    },
    Storage { name: "channels slowest", order: [3, 2, 1, 0], reversed: [false; 4], padding: 0, broadcast: [false; 4] },
    Storage { name: "all axes reversed", order: [0, 1, 2, 3], reversed: [true; 4], padding: 0, broadcast: [false; 4] },
    Storage {
        name: "padded rows, sequence reversed",
        order: [1, 0, 2, 3],
        reversed: [false, false, true, false],
        padding: 3,
        broadcast: [false; 4],
    },
    Storage {
        name: "broadcast over batch and heads",
        order: [0, 1, 2, 3],
        reversed: [false; 4],
        padding: 0,
        broadcast: [true, true, false, false],
    },
    Storage {
        name: "broadcast over channels",
        order: [0, 1, 2, 3],
        reversed: [false; 4],
        padding: 1,
        broadcast: [false, false, false, true],
    },
];

/// Numbers of a logical array, and the same numbers stored in another way.
struct Stored<T> {
    plain: Vec<T>,
    data: Vec<T>,
    offset: usize,
    shape: [usize; 4],
    strides: [isize; 4],
}

impl<T: Element> Stored<T> {
    fn new(storage: &Storage, shape: [usize; 4], random: &mut Random) -> Stored<T> {
        let mut strides = [0isize; 4];
        let mut step = 1usize;
        for &axis in storage.order.iter().rev() {
            if storage.broadcast[axis] {
                continue;
            }
            strides[axis] = step as isize;
            step *= shape[axis];
            if axis == storage.order[3] {
                step += storage.padding;
            }
        }
        let mut offset = 0;
        for axis in 0..4 {
            if storage.reversed[axis] {
                offset += (shape[axis] - 1) * strides[axis].unsigned_abs();
                strides[axis] = -strides[axis];
            }
        }
        let data: Vec<T> = (0..step).map(|_| T::rounded(random.normal())).collect();
        let mut plain = Vec::new();
        for at in 0..shape.iter().product::<usize>() {
            let (mut rest, mut place) = (at, offset as isize);
            for axis in (0..4).rev() {
                place += (rest % shape[axis]) as isize * strides[axis];
                rest /= shape[axis];
            }
            plain.push(data[place as usize]);
        }
        Stored { plain, data, offset, shape, strides }
    }
}

type Views<'a> = [TensorView<'a>; 3];

fn views<T: Element>(stored: &[Stored<T>; 3]) -> Result<(Views<'_>, Views<'_>), ProblemError>
where
    for<'a> TensorView<'a>: From<View<'a, T>>,
{
    let names = [TensorName::Query, TensorName::Key, TensorName::Value];
    let strided = |i: usize| {
        let s = &stored[i];
        View::strided(names[i], &s.data, s.offset, s.shape, s.strides).map(TensorView::from)
    };
    let plain = |i: usize| View::contiguous(names[i], &stored[i].plain, stored[i].shape).map(TensorView::from);
    Ok(([strided(0)?, strided(1)?, strided(2)?], [plain(0)?, plain(1)?, plain(2)?]))
}

fn layouts(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for storage in &STORAGES {
            match dtype {
                Dtype::F64 => laid_out::<f64>(trial, storage),
                Dtype::F32 => laid_out::<f32>(trial, storage),
                Dtype::F16 => laid_out::<f16>(trial, storage),
                Dtype::BF16 => laid_out::<bf16>(trial, storage),
            }
        }
    }
}

fn laid_out<T: Element>(trial: &mut Trial<'_>, storage: &Storage)
where
    for<'a> TensorView<'a>: From<View<'a, T>>,
{
    let lengths = Shape { batch: 2, heads: 4, kv_heads: 2, ..shape(3, 5, 4, 3) };
    let mut random = Random::new(31);
    let (b, h) = (lengths.batch, lengths.heads);
    let mut stored = |heads, sequence, width| Stored::<T>::new(storage, [b, heads, sequence, width], &mut random);
    let parts = [stored(h, 3, 4), stored(2, 5, 4), stored(2, 5, 3)];
    for rule in trial.rules(&[Rule::Linear, Rule::Step]) {
        let case = format!("{rule}, {}, {}", T::DTYPE, storage.name);
        let problems = views(&parts).and_then(|(strided, plain)| {
            let spec = Spec { rule, ..Spec::default() };
            let [q, k, v] = strided;
            let one = Problem::new(q, k, v, Sink::Zeros, spec.clone())?;
            let [q, k, v] = plain;
            Ok((one, Problem::new(q, k, v, Sink::Zeros, spec)?))
        });
        let (strided, plain) = match problems {
            Ok(problems) => problems,
            Err(error) => return trial.judge(false, &case, "problem", || error.to_string()),
        };
        let request = trial.request();
        trial.check_forward_of(&case, &strided, &request);
        trial.check_backward_of(&case, &strided, &Request::default());
        let (Some(found), Some(expected)) =
            (trial.forward(&case, &strided, &request), trial.forward(&case, &plain, &request))
        else {
            continue;
        };
        let bounds = Bounds::of(&Exact::of(&strided), &trial.precision(&strided, &request));
        trial.alike(&case, "o", &found.o, &expected.o.to_f64(), &bounds.o);
        trial.alike(&case, "lse", &found.lse, &expected.lse.to_f64(), &bounds.lse);
    }
}
