//! `contattn taylor`: the expansion of the bias, exactly.

use crate::context::Context;
use crate::exit::{self, Exit};
use crate::print;
use contattn_core::Rule;
use contattn_reference::decimal::parse;
use contattn_reference::taylor::{End, Interior, remainder};
use serde::Serialize;
use std::process::ExitCode;

/// Prints the Taylor expansion of the bias b with exact coefficients, and how far it can be off.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct Args {
    /// Total degree after which the expansion is cut
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(0..=i64::from(Rule::MAX_TAYLOR_ORDER)))]
    order: u32,
    /// Print LaTeX
    #[arg(long)]
    latex: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const ABOUT: &str = "\
Prints the Taylor expansion of the bias b with exact coefficients, and how far it can be off.

On the unit time line a node with score a_i and neighbours on both sides has
    b = log(phi2(u) + phi2(w)),    u = a_{i-1} - a_i,  w = a_{i+1} - a_i
and a node with one neighbour b = log phi2(u). Order 1 is a short convolution along the key axis with
the taps [1/6, -1/3, 1/6]: this is what --rule taylor:1 uses. The bounds are proven, for real
differences of at most the given size.";

const EXAMPLES: &str = "\
Examples:
  $ contattn taylor --order 3
  $ contattn taylor --order 2 --latex";

/// Sizes of the differences for which bounds are shown.
const SIZES: [&str; 5] = ["0.25", "0.5", "1", "2", "4"];

#[derive(Debug, Serialize)]
struct Bound {
    size: &'static str,
    /// proven upper bounds of |b - its expansion|, rounded up
    interior: Option<f64>,
    end: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Document {
    command: &'static str,
    order: u32,
    interior: String,
    end: String,
    bounds: Vec<Bound>,
}

/// Prints it.
///
/// # Errors
/// Cancellation.
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let (interior, end) = (Interior::new(args.order), End::new(args.order));
    context.go_on()?;
    let written = |latex: bool| {
        if latex { (interior.latex(), end.latex()) } else { (interior.to_string(), end.to_string()) }
    };
    let bounds: Vec<Bound> = SIZES
        .into_iter()
        .filter_map(|size| {
            let r = parse(size)?;
            // The nearest f64 may lie below the bound; its neighbour does not.
            let up = |x: f64| x.next_up();
            Some(Bound {
                size,
                interior: remainder::interior(args.order, &r).map(|x| up(x.to_f64())),
                end: remainder::end(args.order, &r).map(|x| up(x.to_f64())),
            })
        })
        .collect();
    let (inside, at_end) = written(args.latex);
    if args.json {
        let document = Document { command: "taylor", order: args.order, interior: inside, end: at_end, bounds };
        print::json(&document)?;
    } else if args.latex {
        print::text(&format!("b_i = {inside} + \\cdots\nb_0, b_t = {at_end} + \\cdots\n"))?;
    } else {
        print::text(&text(&inside, &at_end, &bounds))?;
    }
    Ok(Exit::Success.into())
}

fn text(interior: &str, end: &str, bounds: &[Bound]) -> String {
    let mut text = format!("inside  {interior}\nend     {end}\n\n|u|, |w| at most   error inside   error at an end\n");
    // Two digits, so one more in the last of them is above whatever was cut.
    let shown = |x: &Option<f64>| x.map_or_else(|| "no bound".to_owned(), |x| format!("{:.1e}", x * 1.06));
    for bound in bounds {
        text += &format!("{:>16}   {:>12}   {:>15}\n", bound.size, shown(&bound.interior), shown(&bound.end));
    }
    text
}
