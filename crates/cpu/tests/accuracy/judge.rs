//! Errors of the tiled engine and of its plain twin, in units of the sums that results are made of.

use super::case::Case;
use contattn_check::allowance::{Bound, Bounds, GradientBounds, Precision};
use contattn_check::oracle::{Exact, ExactGradient, Row, Sight, Wide};
use contattn_core::{
    Dtype, Engine, Gradient, Layout, Output, Problem, Request, Rule, Sink, Tensor, TensorName, Unattended, Upstream,
};

/// The results that are judged, in the order of all lists here.
pub(crate) const RESULTS: [&str; 8] = ["o", "lse", "dq", "dk", "dv", "dk of sink", "dv of sink", "dD"];

/// One result of one problem.
pub(crate) struct Judged {
    /// index into [`RESULTS`]
    pub(crate) result: usize,
    /// largest error of the engine and of the plain twin, in units of the element's size and of u
    pub(crate) engine: f64,
    pub(crate) twin: f64,
    /// elements beyond the allowance, and the first of them
    pub(crate) beyond: usize,
    pub(crate) first: Option<String>,
}

impl Judged {
    /// The engine's error over max(2 twin, 2).
    pub(crate) fn ratio(&self) -> f64 {
        over_criterion(self.engine, self.twin)
    }

    /// The same with the two in each other's place.
    pub(crate) fn swapped_ratio(&self) -> f64 {
        over_criterion(self.twin, self.engine)
    }
}

fn over_criterion(error: f64, other: f64) -> f64 {
    error / (2.0 * other).max(2.0)
}

/// Elements of 16-bit results, and those of them within one unit in the last place of the correctly rounded one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Short {
    pub(crate) elements: usize,
    pub(crate) near: usize,
}

/// One element: its exact value with its allowance, and the sum of the absolute values of what it is a sum of.
struct Element {
    bound: Bound,
    size: f64,
}

/// Judges all results of a case in f32 or wider, gradients from the saved forward pass or without it; and those of 16 bits in their
/// own type.
pub(crate) fn judge(case: &Case, engine: &dyn Engine, twin: &dyn Engine, saved: bool) -> (Vec<Judged>, Short) {
    let problem = case.small.problem().expect("cases are valid");
    let upstream = upstream(case, &problem);
    let dtype = if problem.dtype() == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    let request = Request { dtype: Some(dtype), ..Request::default() };
    let exact = Exact::of(&problem);
    let gradient = exact.gradient(&upstream);
    let precision = Precision { saved, ..Precision::new(Dtype::F32, dtype) };
    let elements = elements(&exact, &gradient, &precision);
    let found = results(engine, &problem, &upstream, &request, saved);
    let plain = results(twin, &problem, &upstream, &request, false);
    let mut judged = Vec::new();
    for (result, elements) in elements.iter().enumerate() {
        let (Some(found), Some(plain)) = (&found[result], &plain[result]) else { continue };
        let (mut one, mut beyond, mut first) = ((0.0f64, 0.0f64), 0, None);
        for (i, element) in elements.iter().enumerate() {
            if !element.bound.accepts(found[i], dtype) {
                beyond += 1;
                let told =
                    || format!("element {i}: {} (the twin: {}) instead of {:?}", found[i], plain[i], element.bound);
                first.get_or_insert_with(told);
            }
            // Where scores overflow, or a row is NaN, there is nothing to measure.
            if element.size > 0.0 && element.bound.value.is_finite() && element.bound.allowed.is_finite() {
                let unit = element.size * Dtype::F32.unit_roundoff();
                let error = |x: f64| (Wide::from_f64(x) - element.bound.value).to_f64().abs() / unit;
                one = (one.0.max(error(found[i])), one.1.max(error(plain[i])));
            }
        }
        judged.push(Judged { result, engine: one.0, twin: one.1, beyond, first });
    }
    (judged, short(engine, &problem, &upstream, &elements))
}

/// Results in the case's own type, where that has 16 bits: how many are within one unit of the exact value, correctly rounded.
fn short(engine: &dyn Engine, problem: &Problem<'_>, upstream: &Upstream<'_>, elements: &[Vec<Element>]) -> Short {
    let mut short = Short::default();
    let dtype = problem.dtype();
    if !matches!(dtype, Dtype::F16 | Dtype::BF16) {
        return short;
    }
    let found = results(engine, problem, upstream, &Request::default(), false);
    // lse and dD are f32 for such inputs.
    for (result, elements) in elements.iter().enumerate().filter(|(result, _)| ![1, 7].contains(result)) {
        let Some(found) = &found[result] else { continue };
        for (element, &found) in elements.iter().zip(found) {
            let exact = element.bound.value.to_f64();
            if exact.is_finite() && element.bound.allowed.is_finite() {
                let rounded = dtype.round(exact);
                let unit = contattn_check::report::unit_in_last_place(rounded, dtype);
                short.elements += 1;
                short.near += usize::from(found == rounded || (found - rounded).abs() <= unit);
            }
        }
    }
    short
}

fn upstream<'a>(case: &'a Case, problem: &Problem<'_>) -> Upstream<'a> {
    let view = |t: &'a Tensor, name| t.view(name, Layout::Bhsd).expect("four axes");
    let g_lse = view(&case.g_lse, TensorName::UpstreamLse);
    Upstream::new(problem, view(&case.g, TensorName::UpstreamOutput), Some(g_lse)).expect("shapes fit")
}

/// In the order of [`RESULTS`]; what there is none of is `None`.
fn results(
    engine: &dyn Engine,
    problem: &Problem<'_>,
    upstream: &Upstream<'_>,
    request: &Request,
    saved: bool,
) -> [Option<Vec<f64>>; 8] {
    let output: Output = engine.forward(problem, request, &Unattended).expect("the engine takes every case");
    let gradient: Gradient = engine
        .backward(problem, upstream, saved.then_some(&output), request, &Unattended)
        .expect("the engine takes every case");
    let (sink_dk, sink_dv) = gradient.sink.map_or((None, None), |sink| (Some(sink.dk), Some(sink.dv)));
    let all =
        [Some(output.o), Some(output.lse), Some(gradient.dq), Some(gradient.dk), Some(gradient.dv), sink_dk, sink_dv];
    let mut numbers = [const { None }; 8];
    for (numbers, tensor) in numbers.iter_mut().zip(all.iter().chain([&gradient.durations])) {
        *numbers = tensor.as_ref().map(Tensor::to_f64);
    }
    numbers
}

/// What each result is a sum of: o of w |v|; lse of 1 and itself; dv of w |g|; with
///
/// ```text
/// C_j = sum_c (|g_c v_jc| + |g_c o_c|) + |g_lse|        A_j = w_j (3 C_j + C_{j-1} + C_{j+1})
/// ```
///
/// dq of A_j |scale k_j| and dk of A_j |scale q|, since h of a segment is at most what it gives to either node, and slopes of
/// the Taylor rule are below 1; dD of the largest sum of (w_{i-1} C_{i-1} + w_i C_i)/D_i over rows, for segments of a duration.
fn elements(exact: &Exact<'_>, gradient: &ExactGradient, precision: &Precision) -> Vec<Vec<Element>> {
    let bounds = Bounds::of(exact, precision);
    let slack = GradientBounds::of(exact, gradient, precision);
    let sizes = Sizes::of(exact, gradient);
    let pair = |bounds: Vec<Bound>, sizes: Vec<f64>| -> Vec<Element> {
        bounds.into_iter().zip(sizes).map(|(bound, size)| Element { bound, size }).collect()
    };
    let taylor = matches!(exact.problem().rule(), Rule::Taylor(_));
    let largest = sizes.durations.iter().copied().fold(0.0, f64::max);
    let durations = if taylor { Vec::new() } else { vec![largest; slack.durations.len()] };
    vec![
        pair(bounds.o, sizes.o),
        pair(bounds.lse, sizes.lse),
        pair(slack.dq, sizes.dq),
        pair(slack.dk, sizes.dk),
        pair(slack.dv, sizes.dv),
        pair(slack.sink_dk, sizes.sink_dk),
        pair(slack.sink_dv, sizes.sink_dv),
        pair(slack.durations, durations),
    ]
}

#[derive(Default)]
struct Sizes {
    o: Vec<f64>,
    lse: Vec<f64>,
    dq: Vec<f64>,
    dk: Vec<f64>,
    dv: Vec<f64>,
    sink_dk: Vec<f64>,
    sink_dv: Vec<f64>,
    /// by batch and segment
    durations: Vec<f64>,
}

impl Sizes {
    fn of(exact: &Exact<'_>, gradient: &ExactGradient) -> Sizes {
        let [head_dim, width] = [exact.problem().q().shape()[3], exact.problem().v().shape()[3]];
        let mut sizes = Sizes {
            dq: vec![0.0; gradient.dq.len()],
            dk: vec![0.0; gradient.dk.len()],
            dv: vec![0.0; gradient.dv.len()],
            sink_dk: vec![0.0; gradient.sink_dk.len()],
            sink_dv: vec![0.0; gradient.sink_dv.len()],
            durations: vec![0.0; exact.problem().k().shape()[0] * exact.problem().k().shape()[2]],
            ..Sizes::default()
        };
        for (number, row) in exact.rows().iter().enumerate() {
            let mut o = vec![0.0; width];
            if !row.poisoned {
                for (node, value) in exact.values(row) {
                    let w = row.weights[node].to_f64();
                    o.iter_mut().zip(&value).for_each(|(o, v)| *o += w * v.abs());
                }
            }
            sizes.o.extend(o);
            sizes.lse.push(1.0 + if row.lse.is_finite() { row.lse.to_f64().abs() } else { 0.0 });
            sizes.add_row(exact, gradient, number, row, head_dim, width);
        }
        sizes
    }

    fn add_row(
        &mut self,
        exact: &Exact<'_>,
        gradient: &ExactGradient,
        number: usize,
        row: &Row,
        head_dim: usize,
        width: usize,
    ) {
        let from_row = &gradient.rows[number];
        if row.poisoned || matches!(row.sight, Sight::Nothing) {
            return;
        }
        let mut c = vec![0.0; row.scores.len() + 1];
        for (node, value) in exact.values(row) {
            let through: f64 = from_row
                .g
                .iter()
                .zip(&value)
                .zip(&row.o)
                .map(|((g, v), o)| g.abs() * (v.abs() + o.to_f64().abs()))
                .sum();
            c[node] = through + from_row.g_lse.abs();
        }
        let scale = exact.scale().to_f64().abs();
        let [_, heads, _, _] = exact.problem().q().shape();
        let [_, kv_heads, n, _] = exact.problem().k().shape();
        let (batch, head, r) = row.place;
        let of_head = batch * kv_heads + head * kv_heads / heads;
        let mut q = vec![0.0; head_dim];
        exact.problem().q().read_row(batch, head, r, &mut q);
        let around = |j: usize| c[j.saturating_sub(1)].max(row.copied.map_or(0.0, |f| if j == f { c[0] } else { 0.0 }));
        // The node before the first one of a stretch is the sink.
        let first = exact.keys(row).iter().map(|(node, _)| *node).find(|&node| node > 0);
        for (node, key) in exact.keys(row) {
            let left = if Some(node) == first { c[0] } else { around(node) };
            let right = if node == 0 { first.map_or(0.0, |f| c[f]) } else { c[node + 1] };
            let w = row.weights[node].to_f64();
            let curve = matches!(row.sight, Sight::Curve(_));
            let nodes = exact.problem().nodes(batch);
            for i in [node, node + 1].into_iter().filter(|&i| curve && i >= 1 && i <= n && nodes.duration(i) > 0.0) {
                self.durations[batch * n + i - 1] += w * c[node] / nodes.duration(i);
            }
            let a = if curve { scale * w * (3.0 * c[node] + left + right) } else { 0.0 };
            for ch in 0..head_dim {
                self.dq[number * head_dim + ch] += a * key[ch].abs();
            }
            let (dk, dv, at) = match (node, exact.problem().sink()) {
                (0, Sink::Given { .. }) => (&mut self.sink_dk, &mut self.sink_dv, of_head),
                (0, Sink::Copy) => match row.copied {
                    Some(f) => (&mut self.dk, &mut self.dv, of_head * n + f - 1),
                    None => continue,
                },
                (0, _) => continue,
                (i, _) => (&mut self.dk, &mut self.dv, of_head * n + i - 1),
            };
            for ch in 0..head_dim {
                dk[at * head_dim + ch] += a * q[ch].abs();
            }
            for ch in 0..width {
                dv[at * width + ch] += w * from_row.g[ch].abs();
            }
        }
    }
}
