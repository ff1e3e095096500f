//! The committed corpus: whole, read back as it was made, passed by the plain engines, and failed by wrong results.

use contattn_check::golden::{Corpus, Entry, Expected, GoldenError, Inputs, cases, contents, results};
use contattn_check::wrong::{Mistake, Textbook};
use contattn_core::file::safetensors;
use contattn_core::{Dtype, Engine, Feature, Open, Request, Tensor, Unattended};
use contattn_cpu::tiled::{self, Isa};
use contattn_cpu::{Plain, Tiled};
use std::collections::{BTreeMap, BTreeSet};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");

fn corpus() -> Corpus {
    Corpus::open(FOLDER).unwrap()
}

type Loaded = (Entry, Inputs, BTreeMap<String, Expected>);

fn all() -> Vec<Loaded> {
    let corpus = corpus();
    let load = |entry: &Entry| {
        let (inputs, expected) = corpus.load(entry).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        (entry.clone(), inputs, expected)
    };
    corpus.manifest().cases.iter().map(load).collect()
}

#[test]
fn it_holds_every_case_within_its_limits() {
    let corpus = corpus();
    let recipes = cases();
    assert_eq!(corpus.manifest().cases.len(), recipes.len());
    let mut total = 0;
    for (entry, recipe) in corpus.manifest().cases.iter().zip(&recipes) {
        assert_eq!(entry.name, recipe.name);
        let inputs = recipe.inputs().unwrap();
        // What a case is follows from its recipe, its results apart.
        let mut bare = recipe.entry(&inputs).unwrap();
        (bare.bytes, bare.outputs, bare.certificates) =
            (entry.bytes, entry.outputs.clone(), entry.certificates.clone());
        assert_eq!(&bare, entry);
        let length = std::fs::metadata(corpus.path(entry)).unwrap().len();
        assert_eq!(length, entry.bytes, "{}", entry.name);
        assert!(length <= 1 << 20);
        total += length;
    }
    let manifest = std::fs::metadata(format!("{FOLDER}/manifest.json")).unwrap().len();
    assert!(manifest <= 1 << 20 && total + manifest <= 8_000_000, "{total} bytes and {manifest} of the manifest");
    // Nothing lies beside them.
    let files = std::fs::read_dir(FOLDER).unwrap().count();
    assert_eq!(files, recipes.len() + 1);
    let text = std::fs::read_to_string(format!("{FOLDER}/manifest.json")).unwrap();
    assert!(text == corpus.manifest().to_text(), "the manifest is not written as it is read");
}

#[test]
fn inputs_are_those_of_the_recipes_bit_by_bit() {
    let bytes = |inputs: &Inputs, differentiable| {
        let arrays = contents(inputs, differentiable).unwrap();
        let arrays: Vec<_> = arrays.iter().map(|(name, array)| (&**name, array)).collect();
        safetensors::to_bytes(&arrays, &BTreeMap::new()).unwrap()
    };
    for ((entry, inputs, _), recipe) in all().iter().zip(cases()) {
        let made = recipe.inputs().unwrap();
        assert!(bytes(inputs, entry.differentiable) == bytes(&made, entry.differentiable), "{}", entry.name);
        assert_eq!(inputs.problem.spec, made.problem.spec, "{}", entry.name);
    }
}

/// Every result that a case has, of an engine.
fn evaluate(
    engine: &dyn Engine,
    (entry, inputs, expected): &Loaded,
    dtype: Option<Dtype>,
) -> Vec<(&'static str, Tensor)> {
    let problem = inputs.problem.problem().unwrap();
    let weights = expected.contains_key("weights");
    let output = engine.forward(&problem, &Request { weights, bias: weights, dtype }, &Unattended).unwrap();
    let gradient = entry.differentiable.then(|| {
        let upstream = inputs.upstream(&problem).unwrap();
        let request = Request { dtype, ..Request::default() };
        engine.backward(&problem, &upstream, None, &request, &Unattended).unwrap()
    });
    let found = results(inputs, output, gradient).unwrap();
    let names: BTreeSet<&str> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected.keys().map(|name| &**name).collect(), "{}", entry.name);
    found
}

fn passes(engine: &dyn Engine, dtype: Option<Dtype>) {
    let mut wrong = String::new();
    for loaded in all() {
        // Results of a narrower type than the case's may lose what it is about.
        if dtype.is_some_and(|dtype| dtype.precision() < loaded.1.problem.q.dtype().precision()) {
            continue;
        }
        for (name, actual) in evaluate(engine, &loaded, dtype) {
            let verdict = loaded.2[name].judge(&actual, engine.arithmetic()).unwrap();
            if !verdict.passed() {
                wrong += &format!("{}: {verdict}\n", loaded.0.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_plain_engine_in_f64_passes() {
    passes(&Plain::<f64>::new(), None);
}

#[test]
fn the_plain_engine_in_f32_passes() {
    passes(&Plain::<f32>::new(), None);
}

/// The tiled engine on every instruction set of this machine.
#[test]
fn the_tiled_engine_passes() {
    let mut judged = 0;
    for isa in Isa::ALL {
        let Ok(engine) = Tiled::open(tiled::Options { isa: Some(isa), ..tiled::Options::default() }) else { continue };
        let trial = corpus().try_kernels(&engine).unwrap();
        assert!(trial.wrong.is_empty(), "{isa}: {:#?}", trial.wrong);
        judged += trial.judged;
    }
    assert!(judged > 500, "{judged} results judged");
}

/// The formulas hold in every case that their engine knows; with a mistake in them some do not.
#[test]
fn kernels_that_are_wrong_fail() {
    let wrong = |engine: Textbook| corpus().try_kernels(&engine).unwrap().wrong.len();
    assert_eq!(wrong(Textbook::right()), 0);
    for mistake in [Mistake::DocumentsIgnored, Mistake::WindowOffByOne, Mistake::NoDiffusion] {
        assert!(wrong(Textbook::with(mistake)) > 0, "{mistake}");
    }
}

/// Results that are not rounded to the case's type pass as well: an engine may return wider ones.
#[test]
fn wider_results_pass() {
    passes(&Plain::<f64>::new(), Some(Dtype::F64));
    passes(&Plain::<f32>::new(), Some(Dtype::F32));
}

#[test]
fn the_correctly_rounded_results_pass_in_either_type() {
    for (entry, _, expected) in all() {
        for (name, result) in &expected {
            for tensor in [&result.typed, &result.exact] {
                for arithmetic in [Dtype::F32, Dtype::F64] {
                    let verdict = result.judge(tensor, arithmetic).unwrap();
                    assert!(verdict.passed() && verdict.correctly_rounded == tensor.len(), "{}: {verdict}", entry.name);
                    assert!(verdict.tolerance.limit < 1e308, "{} {name}: the twin fails", entry.name);
                }
            }
        }
    }
}

/// One element off by a little more than is allowed fails, whichever it is; and so do signs, zeros, NaN and infinities.
#[test]
fn a_planted_mistake_fails() {
    let mut planted = 0;
    for (entry, _, expected) in all() {
        for result in expected.values() {
            let exact = result.exact.to_f64();
            // Not every element of the corpus: the first, the last, and one in seven.
            for at in (0..exact.len()).filter(|at| at % 7 == 3 || *at == 0 || at + 1 == exact.len()) {
                let tolerance = result.tolerances.f64;
                let allowed = tolerance.at(exact[at]).map_or(tolerance.limit, |bound| bound.min(tolerance.limit));
                let size = 1.01 * allowed + 2.0 * exact[at].abs() * f64::EPSILON + f64::from_bits(2);
                let typed = result.typed.elements().get(at);
                let mistakes = if exact[at].is_finite() {
                    vec![exact[at] + size, exact[at] - size, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
                } else {
                    vec![0.0, -exact[at], 1e300, if exact[at].is_nan() { f64::INFINITY } else { f64::NAN }]
                };
                for mistake in mistakes {
                    let rounded = result.typed.dtype().round(mistake);
                    let nan = mistake.is_nan() && exact[at].is_nan();
                    if nan || mistake == exact[at] || (exact[at].is_finite() && rounded == typed) {
                        continue;
                    }
                    let mut wrong = exact.clone();
                    wrong[at] = mistake;
                    let wrong = Tensor::from_f64(result.exact.shape().to_vec(), Dtype::F64, wrong).unwrap();
                    let verdict = result.judge(&wrong, Dtype::F64).unwrap();
                    assert!(!verdict.passed(), "{} {at} {mistake:e}: {verdict}", entry.name);
                    planted += 1;
                }
            }
        }
    }
    assert!(planted > 40_000, "{planted} mistakes planted");
}

/// Engines that are wrong on purpose fail somewhere: each rule taken for another, a sink, a time line, a window left out.
#[test]
fn wrong_operators_fail() {
    use contattn_core::{Rule, Timeline, Window};
    type Change = fn(&mut Inputs);
    let changes: [(&str, Change); 5] = [
        ("trapezoid for linear", |i| {
            if i.problem.spec.rule == Rule::Linear {
                i.problem.spec.rule = Rule::Trapezoid;
            }
        }),
        ("unit durations", |i| i.problem.spec.timeline = Timeline::Unit),
        ("no key mask", |i| i.problem.spec.key_mask = None),
        ("no documents", |i| i.problem.spec.documents = None),
        ("causal windows", |i| i.problem.spec.window = Window::causal()),
    ];
    let engine = Plain::<f64>::new();
    for (what, change) in changes {
        let mut failed = 0;
        for (_, mut inputs, expected) in all() {
            let before = inputs.problem.spec.clone();
            change(&mut inputs);
            let Ok(problem) = inputs.problem.problem() else { continue };
            if inputs.problem.spec == before {
                continue;
            }
            let output = engine.forward(&problem, &Request::default(), &Unattended).unwrap();
            let found = results(&inputs, output, None).unwrap();
            failed +=
                usize::from(found.iter().any(|(name, x)| !expected[*name].judge(x, Dtype::F32).unwrap().passed()));
        }
        assert!(failed >= 5, "{what}: {failed} cases fail");
    }
}

#[test]
fn every_feature_has_cases() {
    let plain = Plain::<f64>::new();
    for feature in Feature::all() {
        assert!(plain.supports(feature));
    }
    let corpus = corpus();
    let groups: BTreeSet<&str> = corpus.manifest().cases.iter().map(|case| &*case.group).collect();
    assert_eq!(groups.len(), 9);
    let ties: u64 =
        corpus.manifest().cases.iter().flat_map(|c| c.certificates.forward.values()).map(|c| c.exactly).sum();
    assert!(ties > 100, "{ties} results were decided exactly");
}

#[test]
fn what_is_not_there_is_named() {
    let corpus = corpus();
    let Err(GoldenError::NoSuchCase { similar, .. }) = corpus.entry("family-gauss-linear") else { panic!() };
    assert!(similar.iter().any(|name| name.starts_with("family-gauss-linear")), "{similar:?}");
    let entry = corpus.entry("rounding-tie-step-f32").unwrap();
    let (_, expected) = corpus.load(entry).unwrap();
    assert!(matches!(Corpus::output(entry, &expected, "x"), Err(GoldenError::NoSuchOutput { .. })));
    assert!(matches!(Corpus::open("no such folder"), Err(GoldenError::Io { .. })));
    let folder = tempfile::tempdir().unwrap();
    let put = |text: &str| std::fs::write(folder.path().join("manifest.json"), text).unwrap();
    let whole = std::fs::read_to_string(format!("{FOLDER}/manifest.json")).unwrap();
    for text in ["", "{}", &whole.replacen("contattn-golden/1", "contattn-golden/2", 1), &whole[..whole.len() / 2]] {
        put(text);
        assert!(matches!(Corpus::open(folder.path()), Err(GoldenError::Manifest { .. })));
    }
    put(&whole.replacen("\"operator-linear-causal-f32.safetensors\"", "\"../secret\"", 1));
    assert!(matches!(Corpus::open(folder.path()), Err(GoldenError::Manifest { .. })));
    // The manifest alone: files are missing; damaged ones are refused.
    put(&whole);
    let alone = Corpus::open(folder.path()).unwrap();
    let entry = alone.entry("operator-linear-causal-f32").unwrap();
    assert!(matches!(alone.load(entry), Err(GoldenError::Io { .. })));
    std::fs::copy(corpus.path(corpus.entry("operator-step-full-f32").unwrap_or(entry)), alone.path(entry)).unwrap();
    let bytes = std::fs::read(alone.path(entry)).unwrap();
    std::fs::write(alone.path(entry), &bytes[..bytes.len() - 8]).unwrap();
    assert!(matches!(alone.load(entry), Err(GoldenError::File(_))));
}
