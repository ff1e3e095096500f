//! Smaller problems than a given one.

use super::SmallProblem;
use super::problem::rank_4;
use contattn_core::families::SinkKind;
use contattn_core::{
    Documents, Dtype, Edge, Layout, Lower, QueryTimes, Scale, Series, Spec, Tensor, Timeline, Upper, Window,
};

/// An axis of a stored tensor, by what it means.
#[derive(Clone, Copy, PartialEq)]
enum Along {
    Batch,
    Heads,
    Sequence,
    Width,
}

/// The first `keep` entries of one axis.
fn narrow(tensor: &Tensor, layout: Layout, along: Along, keep: usize) -> Tensor {
    let axis = match (along, layout) {
        (Along::Batch, _) => 0,
        (Along::Heads, Layout::Bhsd) | (Along::Sequence, Layout::Bshd) => 1,
        (Along::Sequence, Layout::Bhsd) | (Along::Heads, Layout::Bshd) => 2,
        (Along::Width, _) => 3,
    };
    let old = tensor.shape();
    let mut shape = [old[0], old[1], old[2], old[3]];
    let (inner, length): (usize, usize) = (old[axis + 1..].iter().product(), old[axis]);
    shape[axis] = keep.min(length);
    let kept = |at: &usize| at / inner.max(1) % length.max(1) < keep;
    let values = (0..tensor.len()).filter(kept).map(|at| tensor.elements().get(at)).collect();
    rank_4(shape, tensor.dtype(), values)
}

/// The first `batches` rows, each cut to its first `len` entries.
fn cut<T: Clone>(series: &Series<T>, batches: usize, len: usize) -> Series<T> {
    match series.batch() {
        None => Series::shared(series.row(0)[..len].to_vec()),
        Some(_) => {
            let values: Vec<T> = (0..batches).flat_map(|b| series.row(b)[..len].to_vec()).collect();
            Series::batched(batches, len, values).expect("a row for each batch")
        }
    }
}

fn cut_spec(spec: &Spec, batches: usize, keys: usize, queries: usize) -> Spec {
    let edge = |edge: &Edge| match edge {
        Edge::All(t) => Edge::All(*t),
        Edge::Rows(rows) => Edge::Rows(cut(rows, batches, queries)),
    };
    Spec {
        rule: spec.rule,
        window: Window {
            lower: match &spec.window.lower {
                Lower::At(at) => Lower::At(edge(at)),
                other => other.clone(),
            },
            upper: match &spec.window.upper {
                Upper::At(at) => Upper::At(edge(at)),
                other => other.clone(),
            },
        },
        timeline: match &spec.timeline {
            Timeline::Unit => Timeline::Unit,
            Timeline::Durations(durations) => Timeline::Durations(cut(durations, batches, keys)),
            Timeline::Times(times) => Timeline::Times(cut(times, batches, keys + 1)),
        },
        query_times: match &spec.query_times {
            QueryTimes::LastNodes => QueryTimes::LastNodes,
            QueryTimes::At(times) => QueryTimes::At(cut(times, batches, queries)),
        },
        key_mask: spec.key_mask.as_ref().map(|mask| cut(mask, batches, keys)),
        documents: spec.documents.as_ref().map(|documents| Documents {
            keys: cut(&documents.keys, batches, keys),
            queries: documents.queries.as_ref().map(|ids| cut(ids, batches, queries)),
        }),
        scale: spec.scale,
    }
}

impl SmallProblem {
    /// Lengths (batch, heads, kv_heads, queries, keys, head_dim, value_dim) as they are stored.
    fn lengths(&self) -> [usize; 7] {
        let swap = self.layout == Layout::Bshd;
        let (q, k, v) = (self.q.shape(), self.k.shape(), self.v.shape());
        let pick = |shape: &[usize]| if swap { (shape[2], shape[1]) } else { (shape[1], shape[2]) };
        let ((heads, queries), (kv_heads, keys)) = (pick(q), pick(k));
        [q[0], heads, kv_heads, queries, keys, q[3], v[3]]
    }

    fn narrowed(&self, along: Along, q: usize, kv: usize) -> SmallProblem {
        let layout = self.layout;
        let cut = |tensor: &Tensor, keep| narrow(tensor, layout, along, keep);
        let sink_keep = if along == Along::Sequence { 1 } else { kv };
        SmallProblem {
            q: cut(&self.q, q),
            k: cut(&self.k, kv),
            v: cut(&self.v, kv),
            sink: self.sink,
            sink_k: cut(&self.sink_k, sink_keep),
            sink_v: cut(&self.sink_v, sink_keep),
            layout,
            spec: self.spec.clone(),
        }
    }

    /// Simpler neighbours, the boldest first; some may not be valid.
    pub(super) fn simpler(&self) -> Vec<SmallProblem> {
        let [batch, heads, kv_heads, queries, keys, head_dim, value_dim] = self.lengths();
        let mut simpler = Vec::new();
        if batch > 1 {
            let mut one = self.narrowed(Along::Batch, 1, 1);
            one.spec = cut_spec(&self.spec, 1, keys, queries);
            simpler.push(one);
        }
        if heads > 1 {
            simpler.push(self.narrowed(Along::Heads, kv_heads.min(heads / 2), kv_heads.min(heads / 2)));
        }
        for fewer in [keys / 2, keys.saturating_sub(1)] {
            if fewer < keys {
                let mut short = self.narrowed(Along::Sequence, queries, fewer);
                short.spec = cut_spec(&self.spec, batch, fewer, queries);
                simpler.push(short);
            }
        }
        for fewer in [queries / 2, queries.saturating_sub(1)] {
            if fewer < queries {
                let mut short = self.narrowed(Along::Sequence, fewer, keys);
                short.spec = cut_spec(&self.spec, batch, keys, fewer);
                simpler.push(short);
            }
        }
        if head_dim > 1 {
            let mut thin = self.narrowed(Along::Width, head_dim / 2, head_dim / 2);
            (thin.v, thin.sink_v) = (self.v.clone(), self.sink_v.clone());
            simpler.push(thin);
        }
        if value_dim > 1 {
            let mut thin = self.clone();
            thin.v = narrow(&self.v, self.layout, Along::Width, 1);
            thin.sink_v = narrow(&self.sink_v, self.layout, Along::Width, 1);
            simpler.push(thin);
        }
        self.simpler_specs(&mut simpler);
        self.simpler_numbers(&mut simpler);
        simpler
    }

    fn simpler_specs(&self, simpler: &mut Vec<SmallProblem>) {
        let plain = Spec::default();
        let mut with = |change: &dyn Fn(&mut SmallProblem)| {
            let mut changed = self.clone();
            change(&mut changed);
            if changed != *self {
                simpler.push(changed);
            }
        };
        with(&|p| p.spec.key_mask = None);
        with(&|p| p.spec.documents = None);
        with(&|p| p.spec.query_times = QueryTimes::LastNodes);
        with(&|p| p.spec.timeline = Timeline::Unit);
        with(&|p| p.spec.scale = Scale::Value(1.0));
        if self.spec.window != plain.window {
            with(&|p| p.spec.window = Window::full());
        }
        if self.spec.window == Window::full() {
            with(&|p| p.spec.window = plain.window.clone());
        }
        if self.sink != SinkKind::Absent {
            with(&|p| p.sink = SinkKind::Absent);
        }
        if self.layout != Layout::Bhsd {
            // The same numbers, read in the other order: another problem, but a simpler one.
            let [batch, heads, kv_heads, queries, keys, head_dim, value_dim] = self.lengths();
            let again =
                |t: &Tensor, heads, sequence, width| rank_4([batch, heads, sequence, width], t.dtype(), t.to_f64());
            simpler.push(SmallProblem {
                q: again(&self.q, heads, queries, head_dim),
                k: again(&self.k, kv_heads, keys, head_dim),
                v: again(&self.v, kv_heads, keys, value_dim),
                sink_k: again(&self.sink_k, kv_heads, 1, head_dim),
                sink_v: again(&self.sink_v, kv_heads, 1, value_dim),
                sink: self.sink,
                layout: Layout::Bhsd,
                spec: self.spec.clone(),
            });
        }
    }

    fn simpler_numbers(&self, simpler: &mut Vec<SmallProblem>) {
        let mut map = |number: &dyn Fn(f64) -> f64, dtype: Dtype| {
            let each = |t: &Tensor| {
                let shape = t.shape();
                rank_4([shape[0], shape[1], shape[2], shape[3]], dtype, t.to_f64().into_iter().map(number).collect())
            };
            let mapped = SmallProblem {
                q: each(&self.q),
                k: each(&self.k),
                v: each(&self.v),
                sink_k: each(&self.sink_k),
                sink_v: each(&self.sink_v),
                ..self.clone()
            };
            if mapped != *self {
                simpler.push(mapped);
            }
        };
        if self.q.dtype() != Dtype::F64 {
            map(&|x| x, Dtype::F64);
        }
        let dtype = self.q.dtype();
        map(&libm::rint, dtype);
        map(&|x| libm::rint(x * 4.0) / 4.0, dtype);
    }
}
