//! Gradients by q, k and v: the chain rule from scores, and the sink that copies.

use super::differences::difference;
use super::line::{Border, Line};
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::gradient::{Gradients, enclose};
use crate::segments::Segments;
use crate::value::Certified;
use contattn_core::{
    Dtype, Layout, Problem, Rule, Scale, Sink, Spec, Tensor, TensorName, Unattended, Upstream, Window,
};
use rug::Rational;

/// Width of q and k.
const WIDTH: usize = 2;
const SCALE: f64 = 0.75;

/// One row: q, and (k, v) of nodes 0..=n, where node 0 may be a copy of node 1.
#[derive(Clone, Debug)]
struct Inputs {
    rule: Rule,
    copies: bool,
    q: [f64; WIDTH],
    keys: Vec<[f64; WIDTH]>,
    values: Vec<f64>,
}

impl Inputs {
    fn draw(trial: &Trial<'_>, kind: usize) -> Inputs {
        let mut numbers = trial.numbers();
        let n = 2 + numbers.below(3);
        let size = [1.0, 4.0, 0.0][kind % 3]; // all scores equal in every third
        let level = [numbers.short(1.0), numbers.short(1.0)];
        let q = [numbers.short(2.0), numbers.short(2.0)];
        let mut keys: Vec<[f64; WIDTH]> = (0..=n).map(|_| level.map(|level| level + numbers.short(size))).collect();
        let mut values: Vec<f64> = (0..=n).map(|_| numbers.short(2.0)).collect();
        let copies = kind % 2 == 1;
        if copies {
            keys[0] = keys[1];
            values[0] = values[1];
        }
        Inputs { rule: [Rule::Linear, Rule::Trapezoid, Rule::Step][(kind / 2) % 3], copies, q, keys, values }
    }

    fn line(&self) -> Line {
        let exact = |x: f64| Rational::from_f64(x).unwrap_or_default();
        let score = |k: &[f64; WIDTH]| {
            let dot = k.iter().zip(&self.q).fold(Rational::new(), |sum, (k, q)| sum + exact(*k) * exact(*q));
            dot * exact(SCALE)
        };
        let nodes = self.keys.iter().zip(&self.values).map(|(k, v)| (score(k), exact(*v))).collect();
        let n = self.keys.len() - 1;
        let at_node = |node| Border::After(node, Rational::new());
        Line::new(self.rule, vec![Rational::from(1); n], nodes, [at_node(0), at_node(n)])
    }

    /// By the reference.
    fn gradients(&self, g: f64, g_lse: f64, p: u32) -> Option<Gradients<Certified>> {
        let tensor = |shape: [usize; 2], x: &[f64]| {
            Tensor::from_f64(vec![1, 1, shape[0], shape[1]], Dtype::F64, x.iter().copied()).ok()
        };
        let n = self.keys.len() - 1;
        let keys = self.keys.concat();
        let (q, k) = (tensor([1, WIDTH], &self.q)?, tensor([n, WIDTH], &keys[WIDTH..])?);
        let (v, first_v) = (tensor([n, 1], &self.values[1..])?, tensor([1, 1], &self.values[..1])?);
        let first_k = tensor([1, WIDTH], &keys[..WIDTH])?;
        let (g, g_lse) = (tensor([1, 1], &[g])?, tensor([1, 1], &[g_lse])?);
        let view = |x, name| Tensor::view(x, name, Layout::Bhsd).ok();
        let sink = if self.copies {
            Sink::Copy
        } else {
            Sink::Given { key: view(&first_k, TensorName::SinkKey)?, value: view(&first_v, TensorName::SinkValue)? }
        };
        let spec = Spec { rule: self.rule, window: Window::full(), scale: Scale::Value(SCALE), ..Spec::default() };
        let (q, k, v) = (view(&q, TensorName::Query)?, view(&k, TensorName::Key)?, view(&v, TensorName::Value)?);
        let problem = Problem::new(q, k, v, sink, spec).ok()?;
        let (g, g_lse) = (view(&g, TensorName::UpstreamOutput)?, view(&g_lse, TensorName::UpstreamLse)?);
        let upstream = Upstream::new(&problem, g, Some(g_lse)).ok()?;
        enclose(&Segments, &problem, &upstream, p, &Unattended).ok()
    }
}

pub(super) fn chain(trial: &Trial<'_>) {
    let p = trial.precision();
    for kind in 0..6 + trial.rounds() / 2 {
        let inputs = Inputs::draw(trial, kind);
        let (g, g_lse) = {
            let mut numbers = trial.numbers();
            (0.25 + numbers.short_positive(1.0), 0.25 + numbers.short_positive(1.0))
        };
        if !trial.begin(format_args!("{inputs:?}, g {g}, g_lse {g_lse}")) {
            return;
        }
        let side = trial.left();
        let mut seen = inputs.clone();
        seen.q[0] = side.input("a number of q", seen.q[0]);
        let last = seen.keys.len() - 1;
        seen.keys[last][1] = side.input("a number of a key", seen.keys[last][1]);
        seen.values[last] = side.input("a value", seen.values[last]);
        let Some(left) = seen.gradients(g, g_lse, p) else {
            return trial.fail(format_args!("not a problem"));
        };
        let line = inputs.line();
        let exact = |x: f64| Rational::from_f64(x).unwrap_or_default();
        let size = Enclosure::from_u32(p, 8); // of g v and of keys
        let check = |what: String, left: Option<&Certified>, change: &dyn Fn(&mut Line, &Rational)| {
            let right = difference(trial, &line, (g, g_lse), change);
            let left = left.and_then(Certified::number).cloned().unwrap_or_else(|| Enclosure::whole(p));
            trial.equal_beside(&what, &left, &right, &size);
        };
        // Node 1 changes its copy with it.
        let touched = |node: usize| if node == 1 && inputs.copies { 0..2 } else { node..node + 1 };
        for c in 0..WIDTH {
            check(format!("dL/dq at {c}"), left.dq.get(c), &|line, h| {
                for (a, k) in line.scores.iter_mut().zip(&inputs.keys) {
                    *a += h * exact(SCALE) * exact(k[c]);
                }
            });
            for node in usize::from(inputs.copies)..=last {
                let found = if node == 0 { left.sink_dk.get(c) } else { left.dk.get((node - 1) * WIDTH + c) };
                check(format!("dL/dk of node {node} at {c}"), found, &|line, h| {
                    for at in touched(node) {
                        line.scores[at] += h * exact(SCALE) * exact(inputs.q[c]);
                    }
                });
            }
        }
        for node in usize::from(inputs.copies)..=last {
            let found = if node == 0 { left.sink_dv.first() } else { left.dv.get(node - 1) };
            check(format!("dL/dv of node {node}"), found, &|line, h| {
                for at in touched(node) {
                    line.values[at] += h;
                }
            });
        }
    }
}
