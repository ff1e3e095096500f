//! A case before it is evaluated.

use super::content::{Inputs, arguments, contents, layout_name, sink_name, window_entry};
use super::manifest::{Certificates, Entry, Lengths, TimelineEntry};
use crate::generate::SmallProblem;
use contattn_core::families::SinkKind;
use contattn_core::{
    Dtype, Family, Layout, ProblemError, Rule, Scale, Shape, Spec, Tensor, TensorName, Timeline, Window,
};
use std::collections::BTreeMap;

/// How a case is made: the same bits from every run and on every machine.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// unique; letters, digits and hyphens
    pub name: String,
    /// first part of the name
    pub group: &'static str,
    /// from which q, k, v and the sink are drawn
    pub family: Family,
    /// their seed
    pub seed: u64,
    /// lengths of the axes
    pub shape: Shape,
    /// element type
    pub dtype: Dtype,
    /// how tensors are stored
    pub layout: Layout,
    /// node 0
    pub sink: SinkKind,
    /// rule, window, masks, query times; the family's time line and scale take the place of defaults
    pub spec: Spec,
    /// whether weights and bias are kept
    pub weights: bool,
    /// whether gradients are kept
    pub differentiable: bool,
    /// puts numbers into tensors, for cases that were made by hand
    pub edit: Option<fn(&mut SmallProblem)>,
}

impl Recipe {
    /// The problem and its upstream gradients: normal numbers of o's and lse's types.
    ///
    /// # Errors
    /// A recipe that states no problem: none of [`cases`](super::cases()).
    pub fn inputs(&self) -> Result<Inputs, ProblemError> {
        let sample = self.family.sample(self.shape, self.dtype, self.seed)?;
        let stored = |tensor: &Tensor| -> Result<Tensor, ProblemError> {
            Ok(tensor.view(TensorName::Value, self.layout)?.to_tensor())
        };
        let mut spec = self.spec.clone();
        if spec.timeline == Timeline::Unit && !matches!(spec.rule, Rule::Taylor(_)) {
            spec.timeline = sample.timeline.clone();
        }
        if spec.scale == Scale::InverseSqrtHeadDim {
            spec.scale = sample.scale;
        }
        let mut problem = SmallProblem {
            q: stored(&sample.q)?,
            k: stored(&sample.k)?,
            v: stored(&sample.v)?,
            sink: self.sink,
            sink_k: stored(&sample.sink_k)?,
            sink_v: stored(&sample.sink_v)?,
            layout: self.layout,
            spec,
        };
        if let Some(edit) = self.edit {
            edit(&mut problem);
        }
        // Another sample of the same bits' origin: values of heads x queries rows, and their first channel for lse.
        let Shape { heads, queries, .. } = self.shape;
        let above = Shape { kv_heads: heads, keys: queries, ..self.shape };
        let above = Family::Gauss.sample(above, self.dtype, self.seed + 1000)?;
        let lse = Shape { kv_heads: heads, keys: queries, value_dim: 1, ..self.shape };
        let lse = Family::Gauss.sample(lse, self.dtype.lse(), self.seed + 2000)?;
        let inputs = Inputs { problem, g: stored(&above.v)?, g_lse: lse.v };
        inputs.problem.problem()?;
        Ok(inputs)
    }

    /// The manifest's entry without results.
    ///
    /// # Errors
    /// As [`inputs`](Recipe::inputs).
    pub fn entry(&self, inputs: &Inputs) -> Result<Entry, ProblemError> {
        let spec = &inputs.problem.spec;
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = self.shape;
        Ok(Entry {
            name: self.name.clone(),
            group: self.group.to_owned(),
            file: format!("{}.safetensors", self.name),
            bytes: 0,
            family: self.family.name().to_owned(),
            seed: self.seed,
            shape: Lengths { batch, heads, kv_heads, queries, keys, head_dim, value_dim },
            dtype: self.dtype.name().to_owned(),
            layout: layout_name(self.layout).to_owned(),
            rule: spec.rule.to_string(),
            sink: sink_name(self.sink).to_owned(),
            scale: match spec.scale {
                Scale::InverseSqrtHeadDim => None,
                Scale::Value(scale) => Some(scale),
            },
            window: window_entry(&spec.window),
            timeline: match spec.timeline {
                Timeline::Unit => TimelineEntry::Unit,
                Timeline::Durations(_) => TimelineEntry::Durations,
                Timeline::Times(_) => TimelineEntry::Times,
            },
            inputs: contents(inputs, self.differentiable)?.into_iter().map(|(name, _)| name).collect(),
            arguments: arguments(inputs),
            differentiable: self.differentiable,
            outputs: BTreeMap::new(),
            certificates: Certificates { forward: BTreeMap::new(), gradients: BTreeMap::new() },
        })
    }

    pub(super) fn rule(mut self, rule: Rule) -> Recipe {
        self.spec.rule = rule;
        self
    }

    pub(super) fn window(mut self, window: Window) -> Recipe {
        self.spec.window = window;
        self
    }

    pub(super) fn sink(mut self, sink: SinkKind) -> Recipe {
        self.sink = sink;
        self
    }

    pub(super) fn dtype(mut self, dtype: Dtype) -> Recipe {
        self.dtype = dtype;
        self
    }

    pub(super) fn layout(mut self, layout: Layout) -> Recipe {
        self.layout = layout;
        self
    }

    pub(super) fn family(mut self, family: Family) -> Recipe {
        self.family = family;
        self
    }

    pub(super) fn shaped(mut self, change: impl FnOnce(&mut Shape)) -> Recipe {
        change(&mut self.shape);
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Spec)) -> Recipe {
        change(&mut self.spec);
        self
    }

    pub(super) fn edited(mut self, edit: fn(&mut SmallProblem)) -> Recipe {
        self.edit = Some(edit);
        self
    }

    pub(super) fn forward_only(mut self) -> Recipe {
        self.differentiable = false;
        self
    }
}
