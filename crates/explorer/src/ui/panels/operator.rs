//! The Operator view: one row, to be touched.

mod bars;
mod controls;
mod curve;
mod export;
mod formula;
mod integrand;
mod output;

use crate::logic::export::Export;
use crate::logic::fingerprint;
use crate::logic::operator::{Evaluation, evaluate};
use crate::logic::proof::{Proof, prove};
use crate::logic::state::{Origin, State};
use crate::logic::worker::{Job, Lane, Slot};
use crate::ui::panel::{Commands, Requests, Shared, View, dimmed};
use eframe::egui::{self, Rect, pos2, vec2};
use serde::{Deserialize, Serialize};

const ROW: Slot = "operator.row";
const PROOF: Slot = "operator.proof";

/// Up to so many nodes all are proven at once; of longer rows those around the pointer.
const PROVEN_AT_ONCE: usize = 40;

/// What dragging a node changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Drag {
    /// its score a = q k
    #[default]
    Score,
    /// its key k
    Key,
    /// its value v
    Value,
    /// its time tau
    Time,
}

impl Drag {
    const ALL: [(Drag, &'static str, &'static str); 4] = [
        (Drag::Score, "score a", "Up and down moves the score a = q k of a node"),
        (Drag::Key, "key k", "Up and down moves the key of a node; its score is q k"),
        (Drag::Value, "value v", "Up and down moves the value of a node"),
        (Drag::Time, "time", "Left and right moves a node in time; it stays between its neighbours"),
    ];
}

/// Settings of the view.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Operator {
    /// what dragging changes
    pub drag: Drag,
    /// the node whose formula stays
    pub pinned: Option<usize>,
    /// whether weights stand on a logarithmic axis
    pub log_weights: bool,
    #[serde(skip)]
    editor: curve::Editor,
}

/// What the parts of the view draw from.
struct Scene<'a> {
    shared: &'a Shared<'a>,
    evaluation: &'a Evaluation,
    /// the node under the pointer
    hovered: Option<usize>,
    /// the node of the formula
    focus: usize,
}

impl Scene<'_> {
    /// How a node is called: its token where there is one.
    fn name(&self, node: usize) -> String {
        token(self.shared, node).unwrap_or_else(|| node.to_string())
    }
}

/// The token of a node, where the row is one of the head's and the source has tokens.
fn token(shared: &Shared<'_>, node: usize) -> Option<String> {
    if !matches!(shared.state.row.origin, Origin::Head(_)) || node >= shared.state.row.len() {
        return None;
    }
    if node == 0 {
        return Some("sink".to_owned());
    }
    shared.source.tokens.get(node - 1).map(|token| token.chars().take(10).collect())
}

/// The node whose weight differs most between the two readings.
fn most_changed(evaluation: &Evaluation) -> usize {
    let difference = |i: usize| {
        let (w, s) = (evaluation.chosen.weights[i], evaluation.softmax.weights[i]);
        if (w - s).is_nan() { 0.0 } else { (w - s).abs() }
    };
    // The sink has no part in softmax: it says nothing about the other reading.
    (1..evaluation.scores.len()).max_by(|&i, &j| difference(i).total_cmp(&difference(j))).unwrap_or(0)
}

impl Operator {
    fn focus(&self, shared: &Shared<'_>, evaluation: &Evaluation) -> usize {
        let there = |node: &usize| *node < evaluation.scores.len();
        let hovered = shared.hover.node.filter(there);
        hovered.or_else(|| self.pinned.filter(there)).unwrap_or_else(|| most_changed(evaluation))
    }
}

impl View for Operator {
    const NAME: &'static str = "Operator";
    const HINT: &'static str = "One row of attention: the curve, its integrand, weights and bias";

    fn requests(&self, shared: &Shared<'_>, requests: &mut Requests<'_>) {
        requests.ask(ROW, Lane::Prompt, shared.keys.row, || {
            let (state, source) = (shared.state.clone(), shared.source.clone());
            Job::new(move |task| evaluate(&state, &source, task))
        });
        let n = shared.state.row.len();
        let range = if n <= PROVEN_AT_ONCE {
            0..n
        } else {
            let Some(evaluation) = shared.shown::<Evaluation>(ROW).value else { return };
            let focus = self.focus(shared, evaluation).min(n - 1);
            focus..focus + 1
        };
        let key = fingerprint(&(shared.keys.row, shared.state.digits, range.start, range.end));
        requests.ask(PROOF, Lane::Proof, key, || {
            let (state, source) = (shared.state.clone(), shared.source.clone());
            Job::new(move |task| prove(&state, &source, range, task))
        });
    }

    fn ui(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| self.content(ui, shared, commands));
    }

    fn export(&self, shared: &Shared<'_>) -> Option<Export> {
        export::export(shared, shared.shown::<Evaluation>(ROW).value?)
    }
}

impl Operator {
    fn content(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
        controls::controls(ui, self, shared, commands);
        let shown = shared.shown::<Evaluation>(ROW);
        if let Some(crate::logic::worker::Failure::Failed { what, advice }) = shown.failure {
            ui.colored_label(shared.theme.wrong, what);
            ui.label(advice);
        }
        let Some(evaluation) = shown.value else {
            ui.label("The row is being evaluated.");
            return;
        };
        let scene = Scene { shared, evaluation, hovered: shared.hover.node, focus: self.focus(shared, evaluation) };
        headline(ui, &scene);
        let places = Places::new(ui.available_rect_before_wrap());
        ui.allocate_rect(places.all, egui::Sense::hover());
        // The curve is what is edited: it is drawn from the state, never late.
        curve::curve(ui, places.curve, self, shared, commands);
        dimmed(ui, &shown, |ui| {
            integrand::integrand(ui, places.integrand, &scene, &mut self.pinned, commands);
            bars::weights(ui, places.weights, &scene, self, commands);
            bars::bias(ui, places.bias, &scene, self, commands);
            output::output(ui, places.output, &scene);
        });
        let proof = shared.shown::<Proof>(PROOF);
        ui.scope_builder(egui::UiBuilder::new().max_rect(places.formula), |ui| {
            dimmed(ui, &proof, |ui| formula::formula(ui, &scene, &proof, commands));
        });
    }
}

/// What the row says, in a sentence.
fn headline(ui: &mut egui::Ui, scene: &Scene<'_>) {
    let node = most_changed(scene.evaluation);
    let (w, s) = (scene.evaluation.chosen.weights[node], scene.evaluation.softmax.weights[node]);
    let name =
        token(scene.shared, node).map_or_else(|| format!("node {node}"), |token| format!("\"{token}\" (node {node})"));
    let text = if (w - s).abs() < 5e-4 {
        "Softmax reads the scores as separate points, continuous attention as a curve; here the two agree.".to_owned()
    } else {
        let why = if w < s {
            "stands alone: the curve falls off on both sides"
        } else {
            "gains from the curve between the nodes"
        };
        format!(
            "Softmax reads the scores as separate points and gives {name} {:.1} %. Continuous attention integrates the curve \
             through them: a weight is the area under its node's hat, here {:.1} %. This node {why}.",
            100.0 * s,
            100.0 * w
        )
    };
    ui.label(egui::RichText::new(text).size(14.0));
}

/// Where everything stands.
struct Places {
    all: Rect,
    curve: Rect,
    integrand: Rect,
    weights: Rect,
    bias: Rect,
    formula: Rect,
    output: Rect,
}

impl Places {
    /// Three columns in a wide window, two in a usual one, one in a narrow one; what does not fit is scrolled to.
    fn new(available: Rect) -> Places {
        let (width, height) = (available.width().max(60.0), available.height());
        let origin = available.min;
        let rect =
            |x: f32, y: f32, w: f32, h: f32| Rect::from_min_size(origin + vec2(x, y), vec2(w.max(20.0), h.max(20.0)));
        const GAP: f32 = 8.0;
        if width >= 1000.0 {
            let strip = 118.0;
            let half = ((height - strip - 2.0 * GAP) / 2.0).max(170.0);
            let right = (0.27 * width).clamp(290.0, 420.0);
            let left = 0.58 * (width - right - 2.0 * GAP);
            let middle = width - right - left - 2.0 * GAP;
            let all = rect(0.0, 0.0, width, 2.0 * half + strip + 2.0 * GAP);
            Places {
                curve: rect(0.0, 0.0, left, half),
                integrand: rect(0.0, half + GAP, left, half),
                weights: rect(left + GAP, 0.0, middle, half),
                bias: rect(left + GAP, half + GAP, middle, half),
                output: rect(0.0, 2.0 * (half + GAP), left + middle + GAP, strip),
                formula: rect(left + middle + 2.0 * GAP, 0.0, right, all.height()),
                all,
            }
        } else if width >= 560.0 {
            let half = 0.5 * (width - GAP);
            let tall = 210.0;
            let formula = 400.0;
            Places {
                curve: rect(0.0, 0.0, half, tall),
                integrand: rect(0.0, tall + GAP, half, tall),
                weights: rect(half + GAP, 0.0, half, tall),
                bias: rect(half + GAP, tall + GAP, half, tall),
                output: rect(0.0, 2.0 * (tall + GAP), width, 118.0),
                formula: rect(0.0, 2.0 * (tall + GAP) + 126.0, width, formula),
                all: rect(0.0, 0.0, width, 2.0 * (tall + GAP) + 126.0 + formula),
            }
        } else {
            let tall = 170.0;
            let at = |i: usize| rect(0.0, i as f32 * (tall + GAP), width, tall);
            let formula = Rect::from_min_size(pos2(origin.x, origin.y + 5.0 * (tall + GAP)), vec2(width, 420.0));
            Places {
                curve: at(0),
                integrand: at(1),
                weights: at(2),
                bias: at(3),
                output: at(4),
                formula,
                all: Rect::from_min_max(origin, formula.max),
            }
        }
    }
}

/// The node of a row that is nearest to a time.
fn nearest_node(times: &[f64], time: f64) -> Option<usize> {
    (0..times.len()).min_by(|&i, &j| (times[i] - time).abs().total_cmp(&(times[j] - time).abs()))
}

/// The window's interval of a state, where its edges are numbers.
fn window_edges(state: &State) -> (Option<f64>, Option<f64>) {
    use crate::logic::state::{LowerEdge, UpperEdge};
    let query = state.row.times.last().copied().unwrap_or(0.0);
    let lower = match state.lower {
        LowerEdge::Start => None,
        LowerEdge::At(t) => Some(t),
        LowerEdge::Sliding(width) => Some(query - width),
    };
    let upper = match state.upper {
        UpperEdge::End => None,
        UpperEdge::At(t) => Some(t),
        UpperEdge::Query(offset) => Some(query + offset),
    };
    (lower, upper)
}
