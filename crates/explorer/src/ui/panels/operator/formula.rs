//! The formula of one node with its numbers, in three arithmetics.

use super::Scene;
use crate::logic::command::Edit;
use crate::logic::proof::{NodeProof, Part, Proof, Proven, right_characters};
use crate::logic::state::{MAX_DIGITS, MAX_TAYLOR};
use crate::logic::worker::Shown;
use crate::ui::panel::Commands;
use crate::ui::plot::short;
use contattn_core::Rule;
use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{self, Color32, FontId};

/// Text in pieces of different colours.
struct Text {
    job: LayoutJob,
    size: f32,
    ink: Color32,
}

impl Text {
    fn new(ink: Color32, size: f32) -> Text {
        Text { job: LayoutJob::default(), size, ink }
    }

    fn add(&mut self, text: &str, color: Color32) -> &mut Text {
        self.job.append(text, 0.0, TextFormat::simple(FontId::monospace(self.size), color));
        self
    }

    fn plain(&mut self, text: &str) -> &mut Text {
        self.add(text, self.ink)
    }

    /// A number whose first `right` characters are right, the others in another colour and struck under.
    fn judged(&mut self, text: &str, right: usize, wrong: Color32) -> &mut Text {
        let split = text.char_indices().nth(right).map_or(text.len(), |(at, _)| at);
        self.plain(&text[..split]);
        let format = TextFormat {
            underline: egui::Stroke::new(1.5, wrong),
            ..TextFormat::simple(FontId::monospace(self.size), wrong)
        };
        if split < text.len() {
            self.job.append(&text[split..], 0.0, format);
        }
        self
    }
}

/// An index below the line.
fn sub(i: usize) -> String {
    i.to_string().bytes().filter_map(|digit| char::from_u32(0x2080 + u32::from(digit - b'0'))).collect()
}

/// A signed number in brackets where it is negative.
fn bracketed(x: f64) -> String {
    if x < 0.0 { format!("({})", short(x)) } else { short(x) }
}

/// A number in decimals with as many significant digits, written as the proven one is.
fn digits(x: f64, count: usize) -> String {
    if !x.is_finite() {
        return x.to_string();
    }
    crate::logic::proof::readable(&format!("{x:.*e}", count.saturating_sub(1)))
}

pub(super) fn formula(ui: &mut egui::Ui, scene: &Scene<'_>, shown: &Shown<'_, Proof>, commands: &mut Commands) {
    let theme = scene.shared.theme;
    let node = scene.focus;
    ui.horizontal_wrapped(|ui| {
        ui.label(egui::RichText::new(format!("node {node}")).strong().size(15.0));
        let name = scene.name(node);
        if name != node.to_string() {
            ui.label(format!("\"{name}\""));
        }
        ui.weak(if scene.hovered.is_some() { "under the pointer" } else { "hover another, click keeps it" });
    });
    ui.horizontal(|ui| {
        let label = ui.label("proven digits");
        let mut digits = scene.shared.state.digits;
        let slider =
            egui::Slider::new(&mut digits, 4..=MAX_DIGITS).logarithmic(true).clamping(egui::SliderClamping::Always);
        let response = ui.add(slider).labelled_by(label.id);
        if response
            .on_hover_text("How many decimal digits are proven; precision is raised until both bounds round alike")
            .changed()
        {
            commands.edit(Edit::Digits(digits));
        }
    });
    if let Some(crate::logic::worker::Failure::Failed { what, advice }) = shown.failure {
        ui.colored_label(theme.wrong, what);
        ui.label(advice);
    }
    let Some((proof, own)) = shown.value.and_then(|proof| proof.of(node).map(|own| (proof, own))) else {
        ui.label("Being proven.");
        return;
    };
    ui.separator();
    let mut text = Text::new(theme.ink, 12.5);
    closed_form(&mut text, scene, own);
    text.plain("\n");
    match &own.bias {
        Some(bias) => readings(&mut text, scene, own, bias, proof.bits),
        None => {
            text.plain("b = -inf: nothing of this node is seen\n");
        }
    }
    text.plain("\n");
    weights(&mut text, scene, own);
    gradient(&mut text, scene, own);
    text.job.wrap.max_width = ui.available_width();
    let whole = text.job.text.clone();
    let response = ui.label(text.job);
    if response.on_hover_text("Right-click copies the text").secondary_clicked() {
        ui.ctx().copy_text(whole);
    }
}

/// b from the neighbours, formula and substitution.
fn closed_form(text: &mut Text, scene: &Scene<'_>, own: &NodeProof) {
    let i = own.node;
    let (own_part, own) = (own, sub(i));
    let indent = " ".repeat(own.chars().count() + 2);
    let unit = |part: &Part| part.duration == 1.0 && part.whole;
    let parts: Vec<&Part> = own_part.left.iter().chain(&own_part.right).collect();
    match scene.evaluation.chosen.rule {
        Rule::Linear if parts.is_empty() => {
            text.plain("held or unseen: no segment ends at this node\n");
        }
        Rule::Linear => {
            let cut = parts.iter().any(|part| !part.whole);
            let symbol = |part: &Part| {
                let factor = if unit(part) { String::new() } else { format!("D{} ", sub(i.max(part.node))) };
                format!("{factor}φ₂(a{} - a{own})", sub(part.node))
            };
            let numbers = |part: &Part| {
                let factor = if unit(part) { String::new() } else { format!("{} ", short(part.duration)) };
                format!("{factor}φ₂{}", with_parentheses(part.difference))
            };
            let values = |part: &Part| {
                let factor = if unit(part) { String::new() } else { format!("{} x ", short(part.duration)) };
                format!("{factor}{:.6}", part.phi2)
            };
            let sum = |of: &dyn Fn(&Part) -> String| parts.iter().map(|part| of(part)).collect::<Vec<_>>().join(" + ");
            text.plain(&format!("b{own} = log( {} )\n", sum(&symbol)));
            text.plain(&format!("{indent}= log( {} )\n", sum(&numbers)));
            text.plain(&format!("{indent}= log( {} )\n", sum(&values)));
            if cut {
                text.plain("   (the window cuts a segment: its part inside counts)\n");
            }
        }
        Rule::Step => {
            text.plain(&format!("b{own} = log D{own}: the node's duration\n"));
        }
        Rule::Trapezoid => {
            let halves: Vec<String> = parts.iter().map(|part| format!("D{}/2", sub(i.max(part.node)))).collect();
            let numbers: Vec<String> = parts.iter().map(|part| short(0.5 * part.duration)).collect();
            text.plain(&format!("b{own} = log( {} )\n{indent}= log( {} )\n", halves.join(" + "), numbers.join(" + ")));
        }
        Rule::Taylor(order) => {
            text.plain(&format!("b{own}: series of log(φ₂(u) + φ₂(w)) to order {order}\n"));
            let names = [("u", &own_part.left), ("w", &own_part.right)];
            for (name, part) in names.into_iter().filter_map(|(name, part)| Some((name, part.as_ref()?))) {
                text.plain(&format!("   {name} = a{} - a{own} = {}\n", sub(part.node), short(part.difference)));
            }
        }
    }
}

fn with_parentheses(x: f64) -> String {
    format!("({})", short(x))
}

/// b in f32, f64 and as proven, wrong digits marked.
fn readings(text: &mut Text, scene: &Scene<'_>, own: &NodeProof, bias: &Proven, bits: u32) {
    let theme = scene.shared.theme;
    let against = |x: f64, count: usize| {
        let shown = digits(x, count);
        let right = if x == bias.double && x == 0.0 { shown.len() } else { right_characters(&shown, &bias.text) };
        (shown, right)
    };
    let ulps = |found: f64, nearest: f64, unit: f64| {
        if found == nearest {
            "correctly rounded".to_owned()
        } else if nearest == 0.0 || !found.is_finite() {
            format!("off by {}", short(found - nearest))
        } else {
            format!("off by {} ulp", short((found - nearest).abs() / unit))
        }
    };
    let unit_f32 = spacing(f64::from(bias.single), f64::from(f32::EPSILON));
    let unit_f64 = spacing(bias.double, f64::EPSILON);
    let (shown, right) = against(own.bias_f32, 9);
    text.plain("f32     ").judged(&shown, right, theme.wrong);
    text.add(&format!("\n        {}\n", ulps(own.bias_f32, f64::from(bias.single), unit_f32)), theme.softmax);
    if matches!(scene.evaluation.chosen.rule, Rule::Linear) {
        let (shown, right) = against(f64::from(own.bias_naive), 9);
        text.plain("naive   ").judged(&shown, right, theme.wrong);
        text.add("\n        f32, (e^x - 1 - x)/x^2 as it stands\n", theme.softmax);
    }
    let (shown, right) = against(own.bias_f64, 17);
    text.plain("f64     ").judged(&shown, right, theme.wrong);
    text.add(&format!("\n        {}\n", ulps(own.bias_f64, bias.double, unit_f64)), theme.softmax);
    text.plain("proven  ").add(&bias.text, theme.proven);
    text.add(&format!("\n        enclosed to +- {}, {bits} bits\n", bias.radius), theme.softmax);
    if let Ok(orders) = &scene.evaluation.taylor {
        let order = scene.shared.state.taylor.clamp(1, MAX_TAYLOR);
        if let Some(b) = orders.get(order as usize - 1).and_then(|series| series.get(own.node)) {
            let error = format!("  error {:+.1e}", b - bias.double);
            text.plain(&format!("Taylor  order {order}  {}{error}\n", short(*b)));
            let far = own.left.iter().chain(&own.right).map(|part| part.difference.abs()).fold(0.0, f64::max);
            let radius = if own.left.is_some() && own.right.is_some() { 5.7 } else { 7.748 };
            if far > radius {
                text.add(&format!("        difference {} > {radius}: diverges\n", short(far)), theme.wrong);
            }
        }
    }
}

/// The distance of neighbouring numbers around x.
fn spacing(x: f64, epsilon: f64) -> f64 {
    if x == 0.0 { f64::MIN_POSITIVE } else { epsilon * 2f64.powf(x.abs().log2().floor()) }
}

fn weights(text: &mut Text, scene: &Scene<'_>, own: &NodeProof) {
    let theme = scene.shared.theme;
    let i = own.node;
    text.plain("weight  ").add(&own.weight.text, theme.proven).plain("\n");
    let softmax = scene.evaluation.softmax.weights[i];
    text.plain(&format!("softmax {softmax:.9}   step {:.9}\n", scene.evaluation.step.weights[i]));
    let masses: Vec<String> = [(own.mass_before, i), (own.mass_after, i + 1)]
        .into_iter()
        .filter_map(|(mass, segment)| Some(format!("segment {segment}: {:.6}", mass?)))
        .collect();
    if !masses.is_empty() {
        text.plain(&format!("share of Z in {}\n", masses.join(",\n              ")));
    }
}

/// dL/da = softmax's part and the diffusion between neighbours, for L = the shown channel of o.
fn gradient(text: &mut Text, scene: &Scene<'_>, own: &NodeProof) {
    let i = own.node;
    text.plain("\ngradient of o by this score\n");
    let own_index = sub(i);
    text.plain(&format!("  P{own_index} G{own_index}{}\n", if i == 0 { "" } else { " + diffusion to the neighbours" }));
    text.plain(&format!(
        "  = {} + {}\n  = {}\n",
        short(own.softmax_gradient),
        bracketed(own.gradient - own.softmax_gradient),
        short(own.gradient)
    ));
    text.add("  G = (v - o)/Z\n", scene.shared.theme.softmax);
}
