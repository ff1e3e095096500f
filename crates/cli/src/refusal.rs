//! Every error as its user sees it: what is wrong, what to do about it, and the exit code.

use crate::exit::Exit;
use crate::print;
use clap::error::{ContextKind, ErrorKind};
use contattn_core::file::{Fault, FileError};
use contattn_core::{EngineError, ProblemError};
use std::fmt;
use std::io;
use std::process::ExitCode;

/// An error with its advice.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// exit code
    pub(crate) exit: Exit,
    /// what is wrong, in one line
    pub(crate) what: String,
    /// what to do, in one line
    pub(crate) advice: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// The command line asks for something that cannot be.
    pub(crate) fn bad_input(what: impl Into<String>, advice: impl Into<String>) -> Refusal {
        Refusal { exit: Exit::BadInput, what: what.into(), advice: advice.into() }
    }

    /// Ctrl-C.
    pub(crate) fn cancelled() -> Refusal {
        Refusal {
            exit: Exit::Cancelled,
            what: "cancelled".to_owned(),
            advice: "no file was written; run the same command again to start over".to_owned(),
        }
    }

    /// Any error, by what is known about its type.
    pub(crate) fn of(error: &anyhow::Error) -> Refusal {
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            return refusal.clone();
        }
        let (exit, advice) = if let Some(e) = error.downcast_ref::<FileError>() {
            of_fault(e.fault())
        } else if let Some(e) = error.downcast_ref::<ProblemError>() {
            (Exit::BadInput, of_problem(e))
        } else if let Some(e) = error.downcast_ref::<EngineError>() {
            match e {
                EngineError::Cancelled => return Refusal::cancelled(),
                EngineError::Unsupported { .. } => {
                    (Exit::BadInput, "`contattn engines` lists what each engine supports; choose one with --engine")
                }
                EngineError::OutOfMemory { .. } => {
                    (Exit::Machine, "leave out --weights and --bias, or split the queries over several runs")
                }
                _ => (Exit::Machine, "`contattn engines` lists what works on this machine; choose one with --engine"),
            }
        } else if let Some(e) = error.downcast_ref::<io::Error>() {
            of_io(e.kind())
        } else {
            (Exit::Machine, "see `contattn help`")
        };
        Refusal { exit, what: format!("{error:#}"), advice: advice.to_owned() }
    }
}

fn of_io(kind: io::ErrorKind) -> (Exit, &'static str) {
    match kind {
        io::ErrorKind::NotFound => (Exit::BadInput, "check the path; it is read from the current folder"),
        io::ErrorKind::PermissionDenied => (Exit::Machine, "check the permissions of the file and of its folder"),
        _ => (Exit::Machine, "check the disc that holds the file, and that there is room on it"),
    }
}

fn of_fault(fault: &Fault) -> (Exit, &'static str) {
    let advice = match fault {
        Fault::Io { kind, .. } => return of_io(*kind),
        Fault::Memory { .. } => return (Exit::Machine, "split the file, or use a machine with more memory"),
        Fault::NotAFile => "name a regular file that ends in .npy, .npz or .safetensors",
        Fault::NoSuchName { .. } => "put one of the names that the file has behind the colon",
        Fault::NameRequired { .. } => "write it as FILE:NAME; see `contattn formats`",
        Fault::NameNotAllowed => "leave out the colon and the name",
        Fault::BadName { .. } | Fault::DuplicateName => "choose another name behind the colon",
        Fault::Dtype { .. } => "store it as f64, f32, f16 or bf16 (bf16 in .safetensors only); see `contattn formats`",
        Fault::Array(_) => "convert the tensor to the type expected; `contattn formats` lists them",
        _ => "save the file again, for instance with numpy.save, numpy.savez or safetensors.numpy.save_file",
    };
    (Exit::BadInput, advice)
}

/// What to do about a problem that cannot be made, where the error says it all but the remedy.
pub(crate) fn of_problem(error: &ProblemError) -> &'static str {
    match error {
        ProblemError::Shape { .. } | ProblemError::Rank { .. } => {
            "the shapes that belong together are in `contattn attend --help`"
        }
        ProblemError::Dtype { .. } => "store q, k and v in one element type",
        ProblemError::Number { .. } => "correct the number, or the file that holds it",
        ProblemError::WindowReversed { .. } => "exchange the edges: a window is LOWER..UPPER",
        ProblemError::DocumentSplit { .. } => "sort the nodes by document, or number the later run differently",
        ProblemError::Rule { .. } => "use --rule linear, which reads any time line and window",
        ProblemError::TooLarge { .. } => "split the problem over several files",
        _ => "see `contattn attend --help`",
    }
}

/// What the argument parser says: help and version to stdout, anything else as a refusal.
///
/// # Errors
/// The refusal; or stdout cannot be written.
pub(crate) fn usage(error: &clap::Error) -> anyhow::Result<ExitCode> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print::text(&error.render().to_string())?;
            return Ok(Exit::Success.into());
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Err(Refusal::bad_input("a subcommand is missing", "`contattn help` lists them").into());
        }
        _ => {}
    }
    // The parser writes paragraphs: what is wrong, tips, usage, a pointer to --help.
    let rendered = error.render().to_string();
    let joined = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = rendered.split("\n\n").map(joined);
    let what = paragraphs.next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(&what).to_owned();
    let tip = paragraphs.find_map(|p| p.strip_prefix("tip: ").map(str::to_owned));
    let subcommand =
        std::env::args_os().nth(1).and_then(|name| name.into_string().ok()).filter(|name| is_subcommand(name));
    let help = match (subcommand, error.get(ContextKind::InvalidSubcommand)) {
        (Some(name), None) => format!("`contattn {name} --help` explains every option"),
        _ => "`contattn help` lists the subcommands".to_owned(),
    };
    let advice = match tip {
        Some(tip) => format!("{tip}; {help}"),
        None => help,
    };
    Err(Refusal::bad_input(what, advice).into())
}

fn is_subcommand(name: &str) -> bool {
    use clap::CommandFactory;
    crate::command::Cli::command().find_subcommand(name).is_some()
}
