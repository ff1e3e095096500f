//! The golden corpus on every variant of the kernels.

mod software;

use contattn_check::golden::Corpus;
use contattn_gpu::Variant;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");

#[test]
fn the_corpus_on_every_variant() {
    let corpus = Corpus::open(FOLDER).unwrap();
    for variant in Variant::ALL {
        let Some(engine) = software::variant("the golden corpus", variant) else { return };
        let trial = corpus.try_kernels(&engine).unwrap();
        assert!(trial.wrong.is_empty(), "{}: {:#?}", variant.name(), trial.wrong);
        assert!(trial.judged > 150, "{} results judged", trial.judged);
    }
}
