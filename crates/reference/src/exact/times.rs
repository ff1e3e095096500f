//! Node times and durations as rational numbers.

use contattn_core::{Problem, Timeline};
use rug::Rational;

/// tau_0..tau_n and D_1..D_n of one batch.
#[derive(Clone, Debug)]
pub struct Times {
    tau: Vec<Rational>,
    durations: Vec<Rational>,
}

fn exact(x: f64) -> Rational {
    // Problems hold finite numbers only.
    Rational::from_f64(x).unwrap_or_default()
}

impl Times {
    pub(super) fn of_problem(problem: &Problem<'_>) -> Vec<Times> {
        let batches = match &problem.spec().timeline {
            Timeline::Durations(series) | Timeline::Times(series) => series.batch().unwrap_or(1),
            Timeline::Unit => 1,
        };
        let keys = problem.shape().keys;
        (0..batches)
            .map(|batch| match &problem.spec().timeline {
                Timeline::Unit => Times::from_durations(vec![Rational::from(1); keys]),
                Timeline::Durations(series) => {
                    Times::from_durations(series.row(batch).iter().map(|&d| exact(d)).collect())
                }
                Timeline::Times(series) => {
                    let tau: Vec<Rational> = series.row(batch).iter().map(|&t| exact(t)).collect();
                    let durations = tau.windows(2).map(|pair| Rational::from(&pair[1] - &pair[0])).collect();
                    Times { tau, durations }
                }
            })
            .collect()
    }

    fn from_durations(durations: Vec<Rational>) -> Times {
        let mut tau = Vec::with_capacity(durations.len() + 1);
        let mut time = Rational::new();
        tau.push(time.clone());
        for duration in &durations {
            time += duration;
            tau.push(time.clone());
        }
        Times { tau, durations }
    }

    /// n
    pub fn len(&self) -> usize {
        self.durations.len()
    }

    /// Whether there is no node but node 0.
    pub fn is_empty(&self) -> bool {
        self.durations.is_empty()
    }

    /// tau_i
    ///
    /// # Panics
    /// For i > n.
    pub fn time(&self, i: usize) -> &Rational {
        &self.tau[i]
    }

    /// tau_0..tau_n
    pub fn all(&self) -> &[Rational] {
        &self.tau
    }

    /// D_i, i = 1..n
    ///
    /// # Panics
    /// For i = 0 or i > n.
    pub fn duration(&self, i: usize) -> &Rational {
        &self.durations[i - 1]
    }
}
