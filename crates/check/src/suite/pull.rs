//! Upstream gradients.

use super::random::Random;
use contattn_core::{Layout, Problem, ProblemError, Tensor, TensorName, Upstream};

/// Upstream gradients with their own storage.
pub(super) struct Pull {
    g: Tensor,
    g_lse: Tensor,
}

impl Pull {
    /// Normal numbers of the problem's element type.
    pub(super) fn new(problem: &Problem<'_>, seed: u64) -> Result<Pull, ProblemError> {
        let shape = problem.shape();
        let mut random = Random::new(seed);
        let mut tensor = |width: usize| {
            let count = shape.batch * shape.heads * shape.queries * width;
            let numbers: Vec<f64> = (0..count).map(|_| random.normal()).collect();
            Tensor::from_f64(vec![shape.batch, shape.heads, shape.queries, width], problem.dtype(), numbers)
        };
        Ok(Pull { g: tensor(shape.value_dim)?, g_lse: tensor(1)? })
    }

    /// g, row-major.
    pub(super) fn g_numbers(&self) -> Vec<f64> {
        self.g.to_f64()
    }

    /// g_lse, row-major.
    pub(super) fn g_lse_numbers(&self) -> Vec<f64> {
        self.g_lse.to_f64()
    }

    pub(super) fn upstream<'a>(&'a self, problem: &Problem<'_>) -> Result<Upstream<'a>, ProblemError> {
        let view = |tensor: &'a Tensor, name| tensor.view(name, Layout::Bhsd);
        let lse = view(&self.g_lse, TensorName::UpstreamLse)?;
        Upstream::new(problem, view(&self.g, TensorName::UpstreamOutput)?, Some(lse))
    }
}
