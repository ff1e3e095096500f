//! What the explorer costs: frames while a node is dragged, a drag's result, an idle window, the start, memory.

use crate::logic::command::Command;
use crate::logic::document::{Mode, Session};
use crate::run::{RunError, settled};
use crate::ui::raster::Headless;
use crate::ui::{Commands, Explorer};
use contattn_core::file::{self, Array, ArrayData};
use contattn_core::{Dtype, Elements, Family, Shape, Tensor};
use eframe::egui::{self, Pos2, vec2};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A measure with what it should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// what
    pub what: &'static str,
    /// how much; `None` where this system does not tell
    pub value: Option<f64>,
    /// at most so much is wanted
    pub wanted: f64,
    /// of what
    pub unit: &'static str,
}

impl Measure {
    /// Whether it is as wanted; also where it could not be measured.
    pub fn holds(&self) -> bool {
        self.value.is_none_or(|value| value <= self.wanted)
    }
}

/// Queries, keys and values of one head of this length, as a file.
///
/// # Errors
/// Where the folder cannot be written.
pub fn write_head(path: &Path, length: usize) -> Result<(), RunError> {
    let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: length, keys: length, head_dim: 64, value_dim: 64 };
    let told = |error: &dyn std::fmt::Display| RunError::Told(error.to_string());
    let sample = Family::Gauss.sample(shape, Dtype::F32, 1).map_err(|error| told(&error))?;
    let array = |tensor: Tensor| {
        let (shape, elements) = tensor.into_parts();
        let data = match elements {
            Elements::F32(x) => ArrayData::F32(x),
            Elements::F64(x) => ArrayData::F64(x),
            Elements::F16(x) => ArrayData::F16(x),
            Elements::BF16(x) => ArrayData::BF16(x),
        };
        Array::new(shape, data).map_err(|error| told(&error))
    };
    let (q, k, v) = (array(sample.q)?, array(sample.k)?, array(sample.v)?);
    file::write_many(path, &[("q", &q), ("k", &k), ("v", &v)], &BTreeMap::new()).map_err(|error| told(&error))
}

fn explorer(wakes: &Arc<AtomicU64>) -> Explorer {
    let wakes = wakes.clone();
    Explorer::new(
        Session::default(),
        Arc::new(move || {
            wakes.fetch_add(1, Ordering::Relaxed);
        }),
    )
}

fn run(explorer: &mut Explorer, ctx: &egui::Context, command: Command) {
    let mut commands = Commands::default();
    commands.send(command);
    explorer.run(ctx, commands);
}

fn show(explorer: &mut Explorer, ui: &mut egui::Ui) {
    explorer.logic(&ui.ctx().clone());
    explorer.ui(ui);
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1));
    sorted.get(at - 1).copied().unwrap_or(f64::NAN)
}

/// Resident memory of this process in MiB, where the system tells.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// Measures, with files of its own in `folder`.
///
/// # Errors
/// [`RunError`] where the explorer does not settle or a file cannot be written.
pub fn measure(folder: &Path) -> Result<Vec<Measure>, RunError> {
    let wakes = Arc::new(AtomicU64::new(0));
    let mut measures = Vec::new();

    let began = Instant::now();
    let mut app = explorer(&wakes);
    let mut headless = Headless::new(vec2(1440.0, 900.0), 1.0);
    let ctx = headless.ctx.clone();
    run(&mut app, &ctx, Command::Mode(Mode::Light));
    // The first picture that shows the row, not only an empty frame.
    let frame = settled(&mut app, &mut headless)?;
    let start = began.elapsed().as_secs_f64();
    drop(frame);
    measures.push(Measure { what: "start to the first whole screen", value: Some(start), wanted: 1.5, unit: "s" });

    let path = folder.join("head-512.safetensors");
    write_head(&path, 512)?;
    run(&mut app, &ctx, Command::Open(path));
    run(&mut app, &ctx, Command::ResetLayout);
    app.show_beside("Operator", "Matrix");
    settled(&mut app, &mut headless)?;

    let (frames, results) = drag(&mut app, &mut headless)?;
    measures.push(Measure {
        what: "frame while a node is dragged beside a 512 x 512 map, median",
        value: Some(percentile(&frames, 0.5)),
        wanted: 8.0,
        unit: "ms",
    });
    measures.push(Measure {
        what: "the same, 99th percentile",
        value: Some(percentile(&frames, 0.99)),
        wanted: 16.0,
        unit: "ms",
    });
    measures.push(Measure {
        what: "from a drag to its result in all views, 95th percentile",
        value: Some(percentile(&results, 0.95)),
        wanted: 33.0,
        unit: "ms",
    });

    settled(&mut app, &mut headless)?;
    let before = wakes.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(500));
    let frame = headless.frame(|ui| show(&mut app, ui));
    let asked = wakes.load(Ordering::Relaxed) - before + u64::from(frame.wants_another);
    measures.push(Measure {
        what: "frames asked for while nothing changes",
        value: Some(asked as f64),
        wanted: 0.0,
        unit: "",
    });

    let path = folder.join("head-4096.safetensors");
    write_head(&path, 4096)?;
    run(&mut app, &ctx, Command::Open(path));
    let began = Instant::now();
    settled(&mut app, &mut headless)?;
    let whole = began.elapsed().as_secs_f64();
    measures.push(Measure { what: "a whole 4096 x 4096 map", value: Some(whole), wanted: 60.0, unit: "s" });
    measures.push(Measure { what: "memory with it", value: resident(), wanted: 300.0, unit: "MiB" });
    let pan = pan(&mut app, &mut headless)?;
    measures.push(Measure {
        what: "frame while it is panned, 99th percentile",
        value: Some(percentile(&pan, 0.99)),
        wanted: 16.0,
        unit: "ms",
    });
    Ok(measures)
}

/// A result that takes longer is none.
const LONGEST_RESULT: Duration = Duration::from_secs(20);

fn button(pos: Pos2, pressed: bool) -> egui::Event {
    let modifiers = egui::Modifiers::NONE;
    egui::Event::PointerButton { pos, button: egui::PointerButton::Primary, pressed, modifiers }
}

/// Milliseconds of frames while a node goes up and down, and from each move to its result; both sorted.
fn drag(app: &mut Explorer, headless: &mut Headless) -> Result<(Vec<f64>, Vec<f64>), RunError> {
    let place = headless.find("Node 5", |ui| show(app, ui));
    let Some(place) = place else { return Err(RunError::Told("node 5 was not found on the screen".to_owned())) };
    headless.events = vec![egui::Event::PointerMoved(place)];
    headless.frame(|ui| show(app, ui));
    headless.events = vec![button(place, true)];
    headless.frame(|ui| show(app, ui));
    let (mut frames, mut results) = (Vec::new(), Vec::new());
    for step in 0..300 {
        let up = 40.0 * (step as f32 * 0.13).sin();
        headless.events = vec![egui::Event::PointerMoved(place + vec2(0.0, up))];
        let began = Instant::now();
        let frame = headless.frame(|ui| show(app, ui));
        frames.push(1e3 * (frame.ui + frame.tessellation));
        if step % 10 == 0 {
            // Until a frame has shown the last result and asked for nothing more. Repaints that are asked for later, as for a hint
            // that appears over a pointer at rest, are none of it.
            while !app.is_idle() {
                if !app.settle(LONGEST_RESULT) {
                    return Err(RunError::Late(LONGEST_RESULT));
                }
                headless.frame(|ui| show(app, ui));
            }
            results.push(1e3 * began.elapsed().as_secs_f64());
        } else {
            // The rest of a frame at 60 Hz, in which the threads compute.
            std::thread::sleep(Duration::from_millis(16).saturating_sub(began.elapsed()));
        }
    }
    headless.events = vec![button(place, false)];
    headless.frame(|ui| show(app, ui));
    frames.sort_by(f64::total_cmp);
    results.sort_by(f64::total_cmp);
    Ok((frames, results))
}

/// Milliseconds of frames while the map is dragged, sorted.
fn pan(app: &mut Explorer, headless: &mut Headless) -> Result<Vec<f64>, RunError> {
    let place = headless.find("Attention map", |ui| show(app, ui));
    let Some(place) = place else { return Err(RunError::Told("the map was not found on the screen".to_owned())) };
    headless.events = vec![egui::Event::PointerMoved(place), egui::Event::Zoom(4.0)];
    headless.frame(|ui| show(app, ui));
    settled(app, headless)?;
    headless.events = vec![button(place, true)];
    headless.frame(|ui| show(app, ui));
    let mut frames = Vec::new();
    for step in 0..200 {
        let turn = step as f32 * 0.05;
        headless.events = vec![egui::Event::PointerMoved(place + 150.0 * vec2(turn.sin(), 1.0 - turn.cos()))];
        let began = Instant::now();
        let frame = headless.frame(|ui| show(app, ui));
        frames.push(1e3 * (frame.ui + frame.tessellation));
        std::thread::sleep(Duration::from_millis(16).saturating_sub(began.elapsed()));
    }
    headless.events = vec![button(place, false)];
    headless.frame(|ui| show(app, ui));
    frames.sort_by(f64::total_cmp);
    Ok(frames)
}
