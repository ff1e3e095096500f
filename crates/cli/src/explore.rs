//! `contattn explore`: the desktop explorer, or its picture.

use crate::context::Context;
use crate::exit::{self, Exit};
use crate::print;
use crate::refusal::Refusal;
use contattn_explorer::logic::document::Mode;
use contattn_explorer::run::{self, Options, Renderer, RunError};
use std::path::PathBuf;
use std::process::ExitCode;

/// Opens the explorer: continuous attention understood by touching it.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct Args {
    /// Show what a share string holds, as "Copy share string" gives it
    #[arg(long, value_name = "TEXT")]
    state: Option<String>,
    /// Read q, k and v of the Matrix view from a .safetensors, .npz or .npy file
    #[arg(long, value_name = "FILE")]
    open: Option<PathBuf>,
    /// The view in front: operator, matrix, sweeps, precision, theorems or speed
    #[arg(long, value_name = "NAME")]
    view: Option<String>,
    /// What draws the window
    #[arg(long, value_name = "NAME", default_value = "wgpu", value_parser = renderer)]
    renderer: Renderer,
    /// Write the first screen to a PNG file, without a display, and end
    #[arg(long, value_name = "PNG")]
    screenshot: Option<PathBuf>,
    /// Size of the screenshot in points
    #[arg(long, value_name = "WxH", default_value = "1440x900", value_parser = size)]
    size: (f32, f32),
    /// Pixels of a point in the screenshot
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = scale)]
    scale: f32,
    /// Colours: system, light or dark; by default as remembered, in a screenshot light
    #[arg(long, value_name = "NAME", value_parser = theme)]
    theme: Option<Mode>,
    /// Destroy the graphics device after some frames, to see that the explorer goes on
    #[arg(long, hide = true)]
    lose_device: bool,
}

const ABOUT: &str = "\
Opens the explorer: continuous attention understood by touching it.

The Operator view shows one row of attention: drag its scores and see the integrand, the hats whose areas
are the weights, the bias and its Taylor series, every number in f32, f64 and as proven. The Matrix view
shows the attention map of a head, Sweeps moves one input and draws what follows, Precision has the errors
of an engine, Theorems runs the derivation, Speed times the engines here. docs/explorer.md is a tour. What
is shown is remembered between starts and can be shared as a line of text.

Without a display, --screenshot draws the same first screen on the processor: it needs no driver.";

const EXAMPLES: &str = "\
Examples:
  contattn explore
  contattn explore --open heads.safetensors --view matrix
  $ contattn explore --screenshot operator.png
  $ contattn explore --screenshot matrix.png --view matrix --theme dark --size 1000x700";

fn renderer(name: &str) -> Result<Renderer, String> {
    match name {
        "glow" => Ok(Renderer::Glow),
        "wgpu" => Ok(Renderer::Wgpu),
        _ => Err("expected glow or wgpu".to_owned()),
    }
}

fn theme(name: &str) -> Result<Mode, String> {
    match name {
        "system" => Ok(Mode::System),
        "light" => Ok(Mode::Light),
        "dark" => Ok(Mode::Dark),
        _ => Err("expected system, light or dark".to_owned()),
    }
}

fn size(text: &str) -> Result<(f32, f32), String> {
    let side = |text: &str| text.parse::<u16>().ok().filter(|side| (50..=8192).contains(side)).map(f32::from);
    let sides = text.split_once('x').and_then(|(width, height)| Some((side(width)?, side(height)?)));
    sides.ok_or_else(|| "expected WIDTHxHEIGHT, each 50 to 8192".to_owned())
}

fn scale(text: &str) -> Result<f32, String> {
    let scale = text.parse::<f32>().ok().filter(|scale| (0.5..=4.0).contains(scale));
    scale.ok_or_else(|| "expected a number from 0.5 to 4".to_owned())
}

/// Opens the window, or draws it.
///
/// # Errors
/// A share string, file or view that is none; no window; the file of the screenshot.
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let options = Options {
        state: args.state.clone(),
        open: args.open.clone(),
        view: args.view.clone(),
        mode: args.theme,
        lose_device: args.lose_device,
    };
    match &args.screenshot {
        None => run::window(&options, args.renderer).map_err(refusal)?,
        Some(path) => {
            let picture = run::picture(&options, args.size.into(), args.scale).map_err(refusal)?;
            let bytes = picture.png().map_err(|error| refusal(RunError::Picture(error.to_string())))?;
            context.commit(|| Ok(contattn_core::file::write_bytes(path, &bytes)?))?;
            print::text(&format!("{}\n", path.display()))?;
        }
    }
    Ok(Exit::Success.into())
}

fn refusal(error: RunError) -> Refusal {
    let what = error.to_string();
    match error {
        RunError::Share(_) => Refusal::bad_input(what, "copy the whole text that \"Copy share string\" gave"),
        RunError::View { .. } => Refusal::bad_input(what, "name one of these with --view"),
        RunError::Told(_) => {
            let (what, advice) = what.split_once('\n').unwrap_or((&what, ""));
            Refusal::bad_input(what, if advice.is_empty() { "see `contattn explore --help`" } else { advice })
        }
        RunError::Window(_) => Refusal {
            exit: Exit::Machine,
            what,
            advice: "without a display use --screenshot; with one, try --renderer glow".to_owned(),
        },
        _ => Refusal { exit: Exit::Machine, what, advice: "see `contattn explore --help`".to_owned() },
    }
}
