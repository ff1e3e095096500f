//! `contattn bench cpu --serve`: the same cases, run one at a time for a program that times others between them.
//!
//! One JSON object a line is asked on stdin, one answered on stdout; `{"error": ...}` where it cannot be done.
//!
//! ```text
//! {"do": "open", "direction": "fwd", "heads": 1, "kv_heads": 1, "queries": 64, "keys": 64, "head_dim": 8, "causal": true,
//!  "threads": 1, "isa": "avx2" or null, "folder": "f" or null, "contenders": ["softmax", ...] or null}
//!         makes the inputs, judges the engine's results, and leaves q, k, v, g and g_judged as .npy files in the folder
//!         -> {"isa": ..., "runners": [{"engine", "rule", "time", "max_error"}, ...]}
//! {"do": "judge", "whose": "theirs", "rule": "step", "o": "o.npy", "dq": "dq.npy", "dk": ..., "dv": ...}
//!         judges another's results for these inputs; the gradient is that of g_judged
//!         -> {"max_error": ...}
//! {"do": "time", "runner": 0}     -> {"wall_s": ..., "processor_s": ... or null}
//! {"do": "close"}                 -> {}
//! ```

use super::bench::{Bench, Runner, Settings};
use super::case::Case;
use super::inputs::Contender;
use super::judge::Whose;
use crate::context::Context;
use crate::refusal::Refusal;
use anyhow::{anyhow, bail};
use contattn_core::file::{self, Array, Locator};
use contattn_core::{EngineError, Family, Open, Rule, Tensor};
use contattn_cpu::Tiled;
use contattn_cpu::tiled::{Isa, Options};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

/// What is asked.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Ask {
    Open {
        #[serde(flatten)]
        case: Case,
        threads: usize,
        isa: Option<String>,
        folder: Option<PathBuf>,
        /// by default all
        contenders: Option<Vec<String>>,
    },
    Judge {
        whose: String,
        rule: String,
        o: PathBuf,
        dq: Option<PathBuf>,
        dk: Option<PathBuf>,
        dv: Option<PathBuf>,
    },
    Time {
        runner: usize,
    },
    Close,
}

/// A runner, as it is told.
#[derive(Debug, Serialize)]
struct Told {
    engine: &'static str,
    rule: Option<String>,
    time: Option<&'static str>,
    max_error: Option<f64>,
}

/// Answers until stdin ends.
///
/// # Errors
/// stdin or stdout; Ctrl-C.
pub(super) fn serve(
    family: Family,
    seed: u64,
    input: &mut impl BufRead,
    output: &mut impl Write,
    context: &Context,
) -> anyhow::Result<()> {
    while let Some(asked) = next(input, context)? {
        let opened = match asked {
            Ok(Ask::Open { case, threads, isa, folder, contenders }) => {
                let contenders = contenders.map_or_else(|| Ok(Contender::ALL.to_vec()), |names| named(&names));
                contenders.and_then(|contenders| {
                    let settings = Settings { contenders, family, seed, threads };
                    case_by_case(case, &settings, isa, folder.as_deref(), input, output, context)
                })
            }
            Ok(_) => Err(anyhow!("no case is open")),
            Err(unclear) => Err(unclear),
        };
        answer(opened.map(|()| None), output)?;
    }
    Ok(())
}

/// The next question; None at the end.
fn next(input: &mut impl BufRead, context: &Context) -> anyhow::Result<Option<anyhow::Result<Ask>>> {
    let mut line = String::new();
    while line.trim().is_empty() {
        line.clear();
        let read = input.read_line(&mut line)?;
        context.go_on()?;
        if read == 0 {
            return Ok(None);
        }
    }
    Ok(Some(serde_json::from_str(&line).map_err(|error| anyhow!("not understood: {error}"))))
}

fn named(names: &[String]) -> anyhow::Result<Vec<Contender>> {
    let find = |name: &String| Contender::from_name(name).ok_or_else(|| anyhow!("there is no contender {name:?}"));
    names.iter().map(find).collect()
}

/// Writes an answer, if there is one; ends the conversation where the error is Ctrl-C.
fn answer(result: anyhow::Result<Option<Value>>, output: &mut impl Write) -> anyhow::Result<()> {
    let document = match result {
        Ok(None) => return Ok(()),
        Ok(Some(document)) => document,
        Err(error) if error.downcast_ref::<EngineError>() == Some(&EngineError::Cancelled) => return Err(error),
        Err(error) => json!({ "error": Refusal::of(&error).what }),
    };
    writeln!(output, "{document}")?;
    Ok(output.flush()?)
}

/// One case, from its opening to its end.
fn case_by_case(
    case: Case,
    settings: &Settings,
    isa: Option<String>,
    folder: Option<&Path>,
    input: &mut impl BufRead,
    output: &mut impl Write,
    context: &Context,
) -> anyhow::Result<()> {
    if let Some(fault) = case.fault() {
        bail!(fault);
    }
    let isa = isa.map(|isa| isa.parse::<Isa>()).transpose()?;
    let engine = Tiled::open(Options { isa, threads: Some(settings.threads) })?;
    let cancel = context.quiet();
    let mut bench = Bench::open(&engine, case, settings, &cancel)?;
    if let Some(folder) = folder {
        leave(&bench, folder)?;
    }
    let runners = bench.runners.iter().map(|(runner, error)| told(*runner, *error));
    let runners: Vec<Told> = runners.collect();
    answer(Ok(Some(json!({ "isa": engine.isa().name(), "runners": runners }))), output)?;
    while let Some(asked) = next(input, context)? {
        let result = match asked {
            Ok(Ask::Time { runner }) if runner < bench.runners.len() => {
                bench.time(runner, &cancel).map(|elapsed| json!(elapsed))
            }
            Ok(Ask::Time { runner }) => Err(anyhow!("there is no runner {runner}")),
            Ok(Ask::Judge { whose, rule, o, dq, dk, dv }) => judge(&bench, &whose, &rule, &o, [dq, dk, dv]),
            Ok(Ask::Open { .. }) => Err(anyhow!("a case is open")),
            Ok(Ask::Close) => {
                answer(Ok(Some(json!({}))), output)?;
                return Ok(());
            }
            Err(unclear) => Err(unclear),
        };
        answer(result.map(Some), output)?;
    }
    Ok(())
}

fn told(runner: Runner, max_error: Option<f64>) -> Told {
    let (rule, time) = match runner {
        Runner::Engine(contender) => (Some(contender.rule.to_string()), Some(contender.time())),
        Runner::Read => (None, None),
    };
    Told { engine: runner.name(), rule, time, max_error }
}

/// Writes the inputs.
fn leave(bench: &Bench<'_>, folder: &Path) -> anyhow::Result<()> {
    let inputs = &bench.inputs;
    let tensors = [("q", &inputs.q), ("k", &inputs.k), ("v", &inputs.v), ("g", &inputs.g)];
    for (name, tensor) in tensors.into_iter().chain([("g_judged", &bench.rows.sparse)]) {
        let array = Array::from(tensor.clone());
        file::write(&Locator::new(folder.join(format!("{name}.npy")), None)?, &array)?;
    }
    Ok(())
}

fn judge(
    bench: &Bench<'_>,
    whose: &str,
    rule: &str,
    o: &Path,
    gradient: [Option<PathBuf>; 3],
) -> anyhow::Result<Value> {
    let rule: Rule = rule.parse()?;
    let Some(judged) = bench.judged(rule) else { bail!("rule {rule} is not timed") };
    let read = |path: &Path| -> anyhow::Result<Tensor> {
        let locator = Locator::new(path, None)?;
        file::read(&locator)?.into_tensor().map_err(|error| file::FileError::at(&locator, error).into())
    };
    let o = read(o)?;
    let mut error = judged.judge.output(&o, Whose::Other(whose))?;
    judged.judge.beside(&o, &judged.o, whose)?;
    if let [Some(dq), Some(dk), Some(dv)] = &gradient {
        let found = [read(dq)?, read(dk)?, read(dv)?];
        error = error.max(judged.judge.gradient(found.each_ref(), Whose::Other(whose))?);
    } else if gradient.iter().any(Option::is_some) {
        bail!("dq, dk and dv are judged together");
    }
    Ok(json!({ "max_error": error }))
}
