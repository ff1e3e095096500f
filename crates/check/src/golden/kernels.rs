//! The corpus beside kernels in f32, which may refuse some of its cases by name.

use super::content::results;
use super::corpus::{Corpus, GoldenError};
use contattn_core::{Engine, Request, Unattended};

/// What kernels made of the corpus.
#[derive(Clone, Debug, Default)]
pub struct KernelTrial {
    /// how many results were judged
    pub judged: usize,
    /// those that do not hold, in words
    pub wrong: Vec<String>,
}

impl Corpus {
    /// Judges an engine on every case that it does not refuse, forward and backward; weights and bias are not asked for.
    ///
    /// Every result must keep to the derived bounds, o and lse to the multiple of the plain twin's error as well; a single gradient
    /// may exceed that multiple where the twin happened to be lucky.
    ///
    /// # Errors
    /// A case that cannot be read; [`GoldenError::Engine`] where the engine fails on a case that it did not refuse.
    pub fn try_kernels(&self, engine: &dyn Engine) -> Result<KernelTrial, GoldenError> {
        let mut trial = KernelTrial::default();
        for entry in &self.manifest().cases {
            let (inputs, expected) = self.load(entry)?;
            let case = &entry.name;
            let failed = |source| GoldenError::Engine { case: case.clone(), source };
            let stated = |source| GoldenError::Problem { case: case.clone(), source };
            let problem = inputs.problem.problem().map_err(stated)?;
            if engine.check(&problem, &Request::default()).is_err() {
                continue;
            }
            let output = engine.forward(&problem, &Request::default(), &Unattended).map_err(failed)?;
            let gradient = if entry.differentiable {
                let upstream = inputs.upstream(&problem).map_err(stated)?;
                let gradient = engine.backward(&problem, &upstream, Some(&output), &Request::default(), &Unattended);
                Some(gradient.map_err(failed)?)
            } else {
                None
            };
            for (name, actual) in results(&inputs, output, gradient).map_err(stated)? {
                let verdict = expected[name].judge(&actual, engine.arithmetic())?;
                let forward = matches!(name, "o" | "lse");
                let bounded = verdict.beyond_bounds == 0 && verdict.not_finite == 0;
                if !verdict.passed() && (forward || !bounded) {
                    trial.wrong.push(format!("{case}: {name}: {verdict}"));
                }
                trial.judged += 1;
            }
        }
        Ok(trial)
    }
}
