//! `contattn devices`: the adapters that the engine gpu can run on.

use crate::exit::Exit;
use crate::print;
use contattn_gpu::{Adapter, Choice, HOW_TO_GET_ONE, Limits};
use serde::Serialize;
use std::process::ExitCode;

/// Lists graphics adapters with their limits and features.
///
/// The first one is what the engine gpu takes where --adapter does not name another.
#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Examples:
  $ contattn devices
  $ contattn devices --json";

/// The adapter of a name, as `--adapter` gives it.
pub(crate) fn choice(name: &str) -> Choice {
    match name.parse() {
        Ok(choice) => choice,
    }
}

/// An adapter as it is shown.
#[derive(Debug, Serialize)]
struct Shown {
    name: String,
    backend: String,
    kind: String,
    driver: String,
    workgroup_storage: u32,
    invocations: u32,
    workgroups_per_dimension: u32,
    storage_binding: u64,
    buffer: u64,
    storage_buffers: u32,
    subgroups: bool,
    subgroup_sizes: [u32; 2],
    timestamps: bool,
}

impl From<Adapter> for Shown {
    fn from(adapter: Adapter) -> Shown {
        let Adapter { name, backend, kind, driver, limits, subgroups, subgroup_sizes, timestamps } = adapter;
        let Limits { workgroup_storage, invocations, workgroups, binding, buffer, storage_buffers } = limits;
        Shown {
            name,
            backend,
            kind: kind.to_string(),
            driver,
            workgroup_storage,
            invocations,
            workgroups_per_dimension: workgroups,
            storage_binding: binding,
            buffer,
            storage_buffers,
            subgroups,
            subgroup_sizes: [subgroup_sizes.0, subgroup_sizes.1],
            timestamps,
        }
    }
}

fn table(adapters: &[Shown]) -> String {
    if adapters.is_empty() {
        return format!("no GPU adapter was found; {HOW_TO_GET_ONE}\n");
    }
    let mut text = String::new();
    for a in adapters {
        let yes = |x: bool| if x { "yes" } else { "no" };
        let sizes = if a.subgroups {
            format!(", {} to {} threads", a.subgroup_sizes[0], a.subgroup_sizes[1])
        } else {
            String::new()
        };
        text += &format!("{}\n", a.name);
        text += &format!("  kind               {}, {}, {}\n", a.kind, a.backend, a.driver);
        text += &format!("  workgroup          {} threads, {} bytes of memory\n", a.invocations, a.workgroup_storage);
        text += &format!("  dispatch           {} workgroups in a dimension\n", a.workgroups_per_dimension);
        text += &format!(
            "  storage            {} bindings of {} bytes, buffers of {} bytes\n",
            a.storage_buffers, a.storage_binding, a.buffer
        );
        text += &format!("  subgroups          {}{sizes}\n", yes(a.subgroups));
        text += &format!("  time stamps        {}\n", yes(a.timestamps));
    }
    text
}

/// Prints the list.
///
/// # Errors
/// Where stdout cannot be written.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let adapters: Vec<Shown> = contattn_gpu::adapters().into_iter().map(Shown::from).collect();
    if args.json {
        print::json(&adapters)?
    } else {
        print::text(&table(&adapters))?
    }
    Ok(Exit::Success.into())
}
