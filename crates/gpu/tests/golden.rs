//! The golden corpus on every variant of the kernels.

mod software;

use contattn_check::golden::{Corpus, results};
use contattn_core::{Engine, Request, Unattended};
use contattn_gpu::Variant;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");

/// Every result must keep to the derived bounds, o and lse to the multiple of the plain twin's error as well; a single gradient may
/// exceed that multiple where the twin happened to be lucky.
#[test]
fn the_corpus_on_every_variant() {
    let corpus = Corpus::open(FOLDER).unwrap();
    for variant in Variant::ALL {
        let Some(engine) = software::variant("the golden corpus", variant) else { return };
        let (mut tried, mut wrong) = (0, String::new());
        for entry in &corpus.manifest().cases {
            let (inputs, expected) = corpus.load(entry).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
            let problem = inputs.problem.problem().unwrap();
            if engine.check(&problem, &Request::default()).is_err() {
                continue;
            }
            let output = engine.forward(&problem, &Request::default(), &Unattended).unwrap();
            let gradient = entry.differentiable.then(|| {
                let upstream = inputs.upstream(&problem).unwrap();
                engine.backward(&problem, &upstream, Some(&output), &Request::default(), &Unattended).unwrap()
            });
            for (name, actual) in results(&inputs, output, gradient).unwrap() {
                let verdict = expected[name].judge(&actual, engine.arithmetic()).unwrap();
                let forward = matches!(name, "o" | "lse");
                let bounded = verdict.beyond_bounds == 0 && verdict.not_finite == 0;
                if !verdict.passed() && (forward || !bounded) {
                    wrong += &format!("{}: {} {name}: {verdict}\n", variant.name(), entry.name);
                }
                tried += 1;
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        assert!(tried > 150, "{tried} results judged");
    }
}
