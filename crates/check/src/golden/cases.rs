//! What the corpus is made of.
//!
//! | group | what varies |
//! |---|---|
//! | operator | every rule with every kind of window |
//! | family | every family of inputs in every element type |
//! | mask | key masks and packed documents with every sink |
//! | time | time lines and query times, by batch as well |
//! | shape | widths, head counts, sequence lengths, layouts |
//! | measure | rows that see nothing, or something that lasts for no time |
//! | poison | NaN and infinity, where they are seen and where they are not |
//! | rounding | results that are ties, nearly ties, subnormal, or past the largest number |
//! | real | heads of a real model |
//!
//! Sinks, element types and layouts that a group does not vary by itself are dealt in turn.

use super::recipe::Recipe;
use crate::generate::SmallProblem;
use contattn_core::families::SinkKind;
use contattn_core::{
    Documents, Dtype, Edge, Elements, Family, Layout, Lower, QueryTimes, Rule, Scale, Series, Shape, Spec, Tensor,
    Timeline, Upper, Window,
};

/// Two heads that share a key/value head, six queries, seven nodes.
const SMALL: Shape = Shape { batch: 1, heads: 2, kv_heads: 1, queries: 6, keys: 7, head_dim: 8, value_dim: 4 };

/// Weights and bias are kept up to this many of each.
const WEIGHTS: usize = 1024;

/// Deals sinks, types and layouts in turn, with periods that have no common divisor beyond 2, so that they mix.
struct Dealer {
    count: usize,
    cases: Vec<Recipe>,
}

const SINKS: [SinkKind; 5] = [SinkKind::Zeros, SinkKind::Given, SinkKind::Copy, SinkKind::Absent, SinkKind::Zeros];
const TYPES: [Dtype; 7] = [Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F32, Dtype::F16, Dtype::F64, Dtype::F32];
const LAYOUTS: [Layout; 3] = [Layout::Bhsd, Layout::Bshd, Layout::Bhsd];

impl Dealer {
    /// A draft with the next sink, type and layout.
    fn draft(&mut self, group: &'static str) -> Recipe {
        let i = self.count;
        self.count += 1;
        Recipe {
            name: String::new(),
            group,
            family: Family::Gauss,
            seed: i as u64,
            shape: SMALL,
            dtype: TYPES[i % TYPES.len()],
            layout: LAYOUTS[i % LAYOUTS.len()],
            sink: SINKS[i % SINKS.len()],
            spec: Spec::default(),
            weights: true,
            differentiable: true,
            edit: None,
        }
    }

    /// Takes a case whose name is its group, these words and its type.
    fn add(&mut self, words: &str, mut recipe: Recipe) {
        let Shape { batch, heads, queries, keys, .. } = recipe.shape;
        recipe.weights = batch * heads * queries * (keys + 1) <= WEIGHTS;
        recipe.name = format!("{}-{words}-{}", recipe.group, recipe.dtype).replace([':', '.'], "");
        self.cases.push(recipe);
    }
}

/// Every case, in order.
pub fn cases() -> Vec<Recipe> {
    let mut dealer = Dealer { count: 0, cases: Vec::new() };
    operator(&mut dealer);
    families(&mut dealer);
    masks(&mut dealer);
    times(&mut dealer);
    shapes(&mut dealer);
    measure(&mut dealer);
    poison(&mut dealer);
    rounding(&mut dealer);
    real(&mut dealer);
    dealer.cases
}

fn rows(values: &[f64]) -> Edge {
    Edge::Rows(Series::shared(values.to_vec()))
}

fn rule_word(rule: Rule) -> String {
    rule.to_string()
}

fn operator(dealer: &mut Dealer) {
    let query = |offset| Upper::Query { offset };
    let windows = [
        ("causal", Window::causal()),
        ("full", Window::full()),
        ("sliding", Window::sliding(2.5)),
        ("sliding-late", Window { lower: Lower::Sliding(1.75), upper: query(0.5) }),
        ("half-steps", Window::causal_between(0.5, 0.5)),
        ("between", Window::between(1.25, 5.5)),
        ("in-a-segment", Window::between(3.125, 3.75)),
        ("beyond", Window::between(-1.5, 9.0)),
        ("held-after", Window { lower: Lower::Start, upper: query(1.75) }),
        ("short-of-t", Window { lower: Lower::Start, upper: query(-0.375) }),
        (
            "by-row",
            Window {
                lower: Lower::At(rows(&[-0.5, 0.0, 1.0, 2.25, 3.5, 6.9])),
                upper: Upper::At(rows(&[0.75, 4.0, 7.0, 2.5, 8.0, 7.0])),
            },
        ),
    ];
    for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
        for (at, (word, window)) in windows.iter().enumerate() {
            let irregular = if at % 2 == 1 { Family::IrregularTimes } else { Family::Gauss };
            let draft = dealer.draft("operator").rule(rule).window(window.clone()).family(irregular);
            dealer.add(&format!("{}-{word}", rule_word(rule)), draft);
        }
    }
    let whole = [
        ("causal", Window::causal()),
        ("full", Window::full()),
        ("sliding", Window::sliding(2.0)),
        ("between", Window::between(1.0, 5.0)),
    ];
    for order in [0, 1, 2, 3] {
        for (word, window) in &whole {
            let draft = dealer.draft("operator").rule(Rule::Taylor(order)).window(window.clone());
            dealer.add(&format!("taylor{order}-{word}"), draft);
        }
    }
    let draft = dealer.draft("operator").rule(Rule::Taylor(9)).dtype(Dtype::F64).sink(SinkKind::Given);
    dealer.add("taylor9-causal", draft);
}

fn families(dealer: &mut Dealer) {
    let rules = [Rule::Linear, Rule::Step, Rule::Linear, Rule::Trapezoid, Rule::Linear];
    for (i, family) in Family::ALL.into_iter().enumerate() {
        for (j, dtype) in Dtype::ALL.into_iter().enumerate() {
            // Each family meets Linear at least twice, in another pair of types than its neighbour.
            let rule = rules[(i + j * 2) % rules.len()];
            let window = if (i + j) % 3 == 0 { Window::full() } else { Window::causal() };
            let draft = dealer.draft("family").family(family).dtype(dtype).rule(rule).window(window);
            dealer.add(&format!("{}-{}", family.name(), rule_word(rule)), draft);
        }
    }
}

fn masks(dealer: &mut Dealer) {
    let mask = |bits: &str| Series::shared(bits.bytes().map(|b| b == b'1').collect());
    let masks = [
        ("leading", mask("0011111")),
        ("trailing", mask("1111100")),
        ("alternating", mask("1010101")),
        ("holes", mask("1101110")),
        ("one-kept", mask("0001000")),
        ("none-kept", mask("0000000")),
    ];
    for (word, mask) in &masks {
        for rule in [Rule::Linear, Rule::Step] {
            let draft = dealer.draft("mask").rule(rule).with(|spec| spec.key_mask = Some(mask.clone()));
            dealer.add(&format!("{word}-{}", rule_word(rule)), draft);
        }
    }
    let batched = Series::batched(2, 7, "11101110111110".bytes().map(|b| b == b'1').collect());
    if let Ok(batched) = batched {
        for rule in [Rule::Linear, Rule::Trapezoid, Rule::Taylor(1)] {
            let draft = dealer.draft("mask").rule(rule).shaped(|shape| shape.batch = 2);
            let draft = draft.with(|spec| spec.key_mask = Some(batched.clone()));
            dealer.add(&format!("batched-{}", rule_word(rule)), draft);
        }
    }
    let rules = [Rule::Linear, Rule::Step, Rule::Linear, Rule::Trapezoid];
    let packed = |ids: &[i64]| Series::shared(ids.to_vec());
    for (sink, rule) in SinkKind::ALL.into_iter().zip(rules) {
        let name = super::content::sink_name(sink);
        let draft = dealer.draft("mask").rule(rule).sink(sink).family(Family::IrregularTimes);
        let draft = draft.with(|spec| {
            spec.documents = Some(Documents { keys: packed(&[4, 4, 4, -1, -1, 9, 9]), queries: None });
        });
        dealer.add(&format!("documents-{name}-{}", rule_word(rule)), draft);
        let draft = dealer.draft("mask").rule(rule).sink(sink);
        let draft = draft.with(|spec| {
            spec.documents = Some(Documents { keys: packed(&[0, 0, 0, 0, 5, 5, 5]), queries: None });
            spec.key_mask = Some(mask("0111011"));
            spec.window = Window::sliding(2.5);
        });
        dealer.add(&format!("documents-holes-{name}-{}", rule_word(rule)), draft);
    }
    let by_query = Documents { keys: packed(&[3, 3, 1, 1, 1, 2, 2]), queries: Some(packed(&[2, 1, 1, 3, 8, 3])) };
    for (word, window) in [("full", Window::full()), ("causal", Window::causal())] {
        let draft = dealer.draft("mask").window(window);
        dealer.add(&format!("documents-of-queries-{word}"), draft.with(|spec| spec.documents = Some(by_query.clone())));
    }
    if let Ok(keys) = Series::batched(2, 7, vec![1, 1, 1, 2, 2, 2, 2, 6, 7, 7, 7, 7, 8, 8]) {
        let draft = dealer.draft("mask").shaped(|shape| shape.batch = 2).window(Window::full());
        dealer.add("documents-batched", draft.with(|spec| spec.documents = Some(Documents { keys, queries: None })));
    }
}

fn times(dealer: &mut Dealer) {
    let shared = |values: &[f64]| Series::shared(values.to_vec());
    let at = |values: &[f64]| QueryTimes::At(shared(values));
    let lines = [
        ("times", Timeline::Times(shared(&[-3.5, -2.0, -1.75, 0.25, 1.0, 4.0, 4.125, 9.0]))),
        ("equal-times", Timeline::Times(shared(&[0.0, 0.0, 1.0, 1.0, 1.0, 2.5, 3.0, 3.0]))),
        ("tenths", Timeline::Durations(shared(&[0.1, 0.2, 0.3, 0.1, 0.7, 0.4, 0.6]))),
        ("far-away", Timeline::Times(shared(&[1e9, 1e9 + 0.5, 1e9 + 1.0, 1e9 + 4.0, 1e9 + 4.5, 1e9 + 5.0, 2e9, 2e9]))),
        ("minute", Timeline::Durations(shared(&[1e-300, 3e-300, 2e-305, 1e-299, 0.0, 5e-301, 4e-300]))),
    ];
    for (word, line) in &lines {
        for rule in [Rule::Linear, Rule::Step] {
            let draft = dealer.draft("time").rule(rule).with(|spec| spec.timeline = line.clone());
            dealer.add(&format!("{word}-{}", rule_word(rule)), draft);
        }
    }
    let batched: Vec<f64> = (0..14).map(|i| 0.25 * f64::from(i * i % 11)).collect();
    if let Ok(durations) = Series::batched(2, 7, batched) {
        for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
            let draft = dealer.draft("time").rule(rule).shaped(|shape| shape.batch = 2).window(Window::sliding(2.0));
            let draft = draft.with(|spec| spec.timeline = Timeline::Durations(durations.clone()));
            dealer.add(&format!("batched-durations-{}", rule_word(rule)), draft);
        }
    }
    let queries = [
        ("queries-anywhere", at(&[5.3, 0.25, 7.0, -1.0, 3.0, 12.5])),
        ("queries-at-nodes", at(&[0.0, 1.0, 3.0, 3.0, 6.0, 7.0])),
    ];
    for (word, queries) in &queries {
        for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
            let draft = dealer.draft("time").rule(rule).with(|spec| spec.query_times = queries.clone());
            dealer.add(&format!("{word}-{}", rule_word(rule)), draft);
        }
        let window = Window { lower: Lower::Sliding(2.25), upper: Upper::Query { offset: 0.25 } };
        let draft = dealer.draft("time").window(window).with(|spec| spec.query_times = queries.clone());
        dealer.add(&format!("{word}-sliding"), draft);
    }
    if let Ok(queries) = Series::batched(2, 6, (0..12).map(|i| 0.6 * f64::from(i)).collect()) {
        let draft = dealer.draft("time").shaped(|shape| shape.batch = 2);
        dealer.add("queries-batched", draft.with(|spec| spec.query_times = QueryTimes::At(queries)));
    }
}

fn shapes(dealer: &mut Dealer) {
    for head_dim in [1, 3, 16, 64, 80, 128] {
        let rule = if head_dim == 80 { Rule::Step } else { Rule::Linear };
        let draft = dealer.draft("shape").rule(rule).shaped(|shape| {
            shape.head_dim = head_dim;
            shape.value_dim = head_dim;
        });
        dealer.add(&format!("head-dim-{head_dim}"), draft);
    }
    for (head_dim, value_dim) in [(8, 1), (1, 9), (64, 3), (3, 80)] {
        let draft = dealer.draft("shape").shaped(|shape| {
            shape.head_dim = head_dim;
            shape.value_dim = value_dim;
        });
        dealer.add(&format!("widths-{head_dim}-{value_dim}"), draft);
    }
    for (heads, kv_heads, layout) in
        [(4, 2, Layout::Bhsd), (6, 1, Layout::Bshd), (9, 3, Layout::Bhsd), (3, 3, Layout::Bshd), (4, 2, Layout::Bshd)]
    {
        let draft = dealer.draft("shape").layout(layout).shaped(|shape| {
            shape.heads = heads;
            shape.kv_heads = kv_heads;
        });
        dealer.add(&format!("heads-{heads}-{kv_heads}-{}", super::content::layout_name(layout)), draft);
    }
    for (word, batch, queries, keys) in [
        ("one-key", 1, 1, 1),
        ("decode", 2, 1, 33),
        ("prefix", 1, 3, 12),
        ("more-queries-than-nodes", 1, 9, 4),
        ("no-keys", 1, 3, 0),
        ("no-queries", 1, 0, 4),
        ("no-batch", 0, 3, 4),
        ("long", 1, 24, 40),
        ("batch-3", 3, 4, 4),
    ] {
        let change = |shape: &mut Shape| {
            (shape.batch, shape.queries, shape.keys) = (batch, queries, keys);
        };
        let draft = dealer.draft("shape").shaped(change);
        dealer.add(word, draft);
    }
    let change = |shape: &mut Shape| (shape.queries, shape.keys) = (24, 40);
    for rule in [Rule::Step, Rule::Trapezoid, Rule::Taylor(1)] {
        let draft = dealer.draft("shape").rule(rule).shaped(change).window(Window::sliding(9.0));
        dealer.add(&format!("long-{}", rule_word(rule)), draft);
    }
}

fn measure(dealer: &mut Dealer) {
    let zeros = Timeline::Durations(Series::shared(vec![0.0; 7]));
    for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
        let word = rule_word(rule);
        let draft = dealer.draft("measure").rule(rule).with(|spec| spec.timeline = zeros.clone());
        dealer.add(&format!("no-duration-{word}"), draft);
        let draft = dealer.draft("measure").rule(rule).window(Window::between(3.0, 3.0));
        dealer.add(&format!("a-node-{word}"), draft);
        let draft = dealer.draft("measure").rule(rule).window(Window::between(3.25, 3.25));
        dealer.add(&format!("a-point-{word}"), draft);
    }
    let draft = dealer.draft("measure").window(Window::between(11.0, 11.0));
    dealer.add("a-point-beyond", draft);
    let draft = dealer.draft("measure").window(Window::sliding(0.0)).family(Family::ZeroDurations);
    dealer.add("width-zero", draft);
    let lower = Window { lower: Lower::At(Edge::All(4.5)), upper: Upper::Query { offset: 0.0 } };
    let draft = dealer.draft("measure").window(lower).sink(SinkKind::Absent);
    dealer.add("some-rows-empty", draft);
    let draft = dealer.draft("measure").rule(Rule::Taylor(1)).window(Window::between(3.0, 3.0));
    dealer.add("a-node-taylor1", draft);
}

/// Puts a number into (batch 0, head 0) of a tensor that is stored as (batch, heads, sequence, width).
fn put(tensor: &mut Tensor, row: usize, channel: usize, x: f64) {
    let [_, _, _, width] = *tensor.shape() else { return };
    let mut values = tensor.to_f64();
    values[row * width + channel] = x;
    let elements = Elements::from_f64(tensor.dtype(), values);
    if let Ok(edited) = Tensor::new(tensor.shape().to_vec(), elements) {
        *tensor = edited;
    }
}

fn poison(dealer: &mut Dealer) {
    // Node 3 is row 2. It is masked, so what it holds reaches nothing.
    let masked = |spec: &mut Spec| spec.key_mask = Some(Series::shared([1, 1, 0, 1, 1, 1, 1].map(|b| b == 1).to_vec()));
    for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
        let draft = dealer.draft("poison").rule(rule).layout(Layout::Bhsd).with(masked);
        let draft = draft.edited(|problem| {
            put(&mut problem.k, 2, 1, f64::NAN);
            put(&mut problem.v, 2, 0, f64::INFINITY);
        });
        dealer.add(&format!("unseen-{}", rule_word(rule)), draft.forward_only());
    }
    let draft = dealer.draft("poison").layout(Layout::Bhsd).edited(|problem| put(&mut problem.k, 4, 1, f64::NAN));
    dealer.add("key", draft.forward_only());
    let draft = dealer.draft("poison").layout(Layout::Bhsd).edited(|problem| put(&mut problem.v, 4, 1, f64::INFINITY));
    dealer.add("value", draft.forward_only());
    let draft = dealer.draft("poison").layout(Layout::Bhsd).edited(|problem| put(&mut problem.q, 2, 0, f64::NAN));
    dealer.add("query", draft.forward_only());
    let draft = dealer.draft("poison").rule(Rule::Step).layout(Layout::Bhsd);
    let draft = draft.edited(|problem| put(&mut problem.k, 5, 0, f64::NEG_INFINITY));
    dealer.add("key-step", draft.forward_only());
}

/// One head, one query at node n, widths of 1.
fn by_hand(dealer: &mut Dealer, keys: usize, dtype: Dtype) -> Recipe {
    let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: 1, keys, head_dim: 1, value_dim: 1 };
    let draft = dealer.draft("rounding").layout(Layout::Bhsd).sink(SinkKind::Zeros).dtype(dtype);
    draft.shaped(|s| *s = shape).with(|spec| spec.scale = Scale::Value(1.0))
}

fn fill(tensor: &mut Tensor, values: &[f64]) {
    for (row, &x) in values.iter().enumerate() {
        put(tensor, row, 0, x);
    }
}

/// Scores 0 and X with values whose mean lies just above or below the middle of two numbers of f64.
fn near_tie(problem: &mut SmallProblem, x: f64) {
    fill(&mut problem.q, &[x]);
    fill(&mut problem.k, &[1.0]);
    fill(&mut problem.v, &[1.0]);
    fill(&mut problem.sink_k, &[0.0]);
    fill(&mut problem.sink_v, &[1.0 + x * libm::ldexp(1.0, -53)]);
}

fn rounding(dealer: &mut Dealer) {
    // Equal scores: o is the mean of 1 and its upper neighbour, the middle of two numbers, and goes to the even one, 1.
    for dtype in Dtype::ALL {
        for rule in [Rule::Step, Rule::Linear] {
            let draft = by_hand(dealer, 2, dtype).rule(rule).sink(SinkKind::Absent).edited(|problem| {
                let ulp = 2.0 * problem.v.dtype().unit_roundoff();
                fill(&mut problem.k, &[3.0, 3.0]);
                fill(&mut problem.v, &[1.0, 1.0 + ulp]);
            });
            dealer.add(&format!("tie-{}", rule_word(rule)), draft);
        }
    }
    // The scale 1/sqrt(3) and scores that are equal without being rational; the upper neighbour's neighbour makes it go up.
    let draft = by_hand(dealer, 2, Dtype::F32).rule(Rule::Step);
    let draft = draft.shaped(|shape| shape.head_dim = 3).with(|spec| spec.scale = Scale::InverseSqrtHeadDim);
    let draft = draft.edited(|problem| {
        let ulp = libm::ldexp(1.0, -23);
        let same = Tensor::from_f64(vec![1, 1, 2, 3], Dtype::F32, [1.0, 2.0, 4.0, 1.0, 2.0, 4.0]);
        if let Ok(same) = same {
            problem.k = same;
        }
        fill(&mut problem.v, &[1.0 + ulp, 1.0 + 2.0 * ulp]);
    });
    dealer.add("tie-root-3", draft);
    type Near = (&'static str, fn(&mut SmallProblem));
    let near: [Near; 3] = [
        ("2-4", |problem| near_tie(problem, 16.0)),
        ("2-20", |problem| near_tie(problem, libm::ldexp(1.0, 20))),
        ("2-37", |problem| near_tie(problem, libm::ldexp(1.0, 37))),
    ];
    for (word, edit) in near {
        let draft = by_hand(dealer, 1, Dtype::F64).sink(SinkKind::Given).edited(edit);
        dealer.add(&format!("near-tie-{word}"), draft);
    }
    // Means of the smallest numbers of each type.
    for dtype in Dtype::ALL {
        let draft = by_hand(dealer, 3, dtype).sink(SinkKind::Absent).edited(|problem| {
            let least = problem.v.dtype().smallest_subnormal();
            fill(&mut problem.k, &[0.0, 1.0, -1.0]);
            fill(&mut problem.v, &[least, 4.0 * least, -7.0 * least]);
        });
        dealer.add("subnormal", draft);
    }
    // Gradients past the largest number of the 16-bit type, in f64 within range.
    let draft = by_hand(dealer, 3, Dtype::F16).edited(|problem| {
        fill(&mut problem.q, &[0.5]);
        fill(&mut problem.k, &[512.0, 513.0, 511.0]);
        fill(&mut problem.v, &[60000.0, -60000.0, 100.0]);
    });
    dealer.add("overflow", draft);
    // Values that cancel to zero exactly.
    for dtype in [Dtype::F64, Dtype::F16] {
        let draft = by_hand(dealer, 2, dtype).sink(SinkKind::Absent).edited(|problem| {
            fill(&mut problem.k, &[1.0, 1.0]);
            fill(&mut problem.v, &[2.5, -2.5]);
        });
        dealer.add("exact-zero", draft);
    }
    // Every weight but one is below the smallest number.
    let draft = by_hand(dealer, 4, Dtype::F32).edited(|problem| fill(&mut problem.k, &[-2000.0, 800.0, 0.0, -900.0]));
    dealer.add("one-takes-all", draft.rule(Rule::Step));
}

fn real(dealer: &mut Dealer) {
    let shape = Shape { batch: 1, heads: 3, kv_heads: 1, queries: 12, keys: 26, head_dim: 64, value_dim: 64 };
    for (seed, rule, dtype) in [
        (0, Rule::Linear, Dtype::F32),
        (1, Rule::Linear, Dtype::BF16),
        (2, Rule::Linear, Dtype::F16),
        (1, Rule::Step, Dtype::F32),
        (2, Rule::Taylor(1), Dtype::F32),
    ] {
        let mut draft = dealer.draft("real").family(Family::RealHeads).rule(rule).dtype(dtype).shaped(|s| *s = shape);
        draft.seed = seed;
        let layer = ["layer00", "layer10", "layer29"][seed as usize % 3];
        dealer.add(&format!("{layer}-{}", rule_word(rule)), draft);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contattn_core::{Feature, Request};
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn names_are_unique_and_plain() {
        let cases = cases();
        let names: BTreeSet<&str> = cases.iter().map(|case| &*case.name).collect();
        assert_eq!(names.len(), cases.len());
        assert!(cases.len() >= 200, "{} cases", cases.len());
        for name in names {
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{name}");
        }
    }

    #[test]
    fn every_case_states_a_problem_and_every_feature_comes_up() {
        let mut met: BTreeMap<String, usize> = BTreeMap::new();
        for case in cases() {
            let inputs = case.inputs().unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let problem = inputs.problem.problem().unwrap();
            assert_eq!(problem.shape(), case.shape, "{}", case.name);
            if case.differentiable {
                inputs.upstream(&problem).unwrap();
            }
            for feature in problem.features(&Request { weights: case.weights, bias: case.weights, dtype: None }) {
                *met.entry(feature.to_string()).or_default() += 1;
            }
        }
        for feature in Feature::all() {
            let (name, backward) = (feature.to_string(), feature == Feature::Backward);
            assert!(backward || met.get(&name).is_some_and(|&n| n >= 3), "{name}: {:?}", met.get(&name));
        }
    }

    #[test]
    fn recipes_give_the_same_bits() {
        // NaN is not equal to itself, so bytes are compared.
        let bytes = |recipe: &Recipe| {
            let arrays = super::super::contents(&recipe.inputs().unwrap(), recipe.differentiable).unwrap();
            let arrays: Vec<_> = arrays.iter().map(|(name, array)| (&**name, array)).collect();
            contattn_core::file::safetensors::to_bytes(&arrays, &BTreeMap::new()).unwrap()
        };
        for (a, b) in cases().iter().zip(cases()) {
            assert_eq!(a.name, b.name);
            assert!(bytes(a) == bytes(&b), "{}", a.name);
        }
    }
}
