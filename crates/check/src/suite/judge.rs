//! Whole passes against the oracle.

use super::pull::Pull;
use super::trial::Trial;
use crate::allowance::{Bounds, GradientBounds, Precision};
use crate::generate::SmallProblem;
use crate::oracle::Exact;
use contattn_core::{Gradient, Output, Problem, Request, Rule, Upstream};

impl Trial<'_> {
    /// The forward pass of a case with exact values and allowances, to be compared with another one.
    pub(super) fn bounded(&mut self, case: &str, small: &SmallProblem) -> Option<(Output, Bounds)> {
        let problem = self.problem(case, small)?;
        let request = self.request();
        let output = self.forward(case, &problem, &request)?;
        let bounds = Bounds::of(&Exact::of(&problem), &self.precision(&problem, &request));
        Some((output, bounds))
    }

    /// The forward pass of a case against the oracle.
    pub(super) fn check_forward(&mut self, case: &str, small: &SmallProblem) {
        if let Some(problem) = self.problem(case, small) {
            let request = self.request();
            self.check_forward_of(case, &problem, &request);
        }
    }

    /// The forward pass of a problem against the oracle.
    pub(super) fn check_forward_of(&mut self, case: &str, problem: &Problem<'_>, request: &Request) {
        let Some(output) = self.forward(case, problem, request) else { return };
        let exact = Exact::of(problem);
        let bounds = Bounds::of(&exact, &self.precision(problem, request));
        self.judge_output(case, problem, request, &output, &bounds);
    }

    /// Every part of an output against exact values.
    pub(super) fn judge_output(
        &mut self,
        case: &str,
        problem: &Problem<'_>,
        request: &Request,
        output: &Output,
        bounds: &Bounds,
    ) {
        let s = problem.shape();
        let dtype = request.dtype(problem);
        let nodes = [s.batch, s.heads, s.queries, s.keys + 1];
        self.against(case, "o", &output.o, &[s.batch, s.heads, s.queries, s.value_dim], &bounds.o);
        self.against(case, "lse", &output.lse, &[s.batch, s.heads, s.queries], &bounds.lse);
        let types = (output.o.dtype(), output.lse.dtype());
        self.judge(types == (dtype, dtype.lse()), case, "types", || {
            format!("o and lse are {types:?}, expected {:?}", (dtype, dtype.lse()))
        });
        let optional = [
            ("weights", &output.weights, request.weights, &bounds.weights),
            ("bias", &output.bias, request.bias, &bounds.bias),
        ];
        for (what, found, wanted, bounds) in optional {
            match found {
                Some(found) if wanted => self.against(case, what, found, &nodes, bounds),
                _ => self.judge(found.is_some() == wanted, case, what, || {
                    format!("returned: {}, asked for: {wanted}", found.is_some())
                }),
            }
        }
    }

    /// The backward pass of a case against the oracle.
    pub(super) fn check_backward(&mut self, case: &str, small: &SmallProblem) {
        if let Some(problem) = self.problem(case, small) {
            self.check_backward_of(case, &problem, &Request::default());
        }
    }

    /// The backward pass of a problem against the oracle.
    pub(super) fn check_backward_of(&mut self, case: &str, problem: &Problem<'_>, request: &Request) {
        match Pull::new(problem, 77) {
            Ok(pull) => self.check_pulled(case, &Exact::of(problem), &pull, None, request),
            Err(error) => self.judge(false, case, "upstream", || error.to_string()),
        }
    }

    /// The same for given upstream gradients, and for a saved forward pass.
    pub(super) fn check_pulled(
        &mut self,
        case: &str,
        exact: &Exact<'_>,
        pull: &Pull,
        saved: Option<&Output>,
        request: &Request,
    ) {
        match pull.upstream(exact.problem()) {
            Ok(upstream) => self.check_backward_from(case, exact, &upstream, saved, request),
            Err(error) => self.judge(false, case, "upstream", || error.to_string()),
        }
    }

    /// The same for any upstream gradient.
    pub(super) fn check_backward_from(
        &mut self,
        case: &str,
        exact: &Exact<'_>,
        upstream: &Upstream<'_>,
        saved: Option<&Output>,
        request: &Request,
    ) {
        let problem = exact.problem();
        let Some(found) = self.backward(case, problem, upstream, saved, request) else { return };
        let precision = Precision { saved: saved.is_some(), ..self.precision(problem, request) };
        let bounds = GradientBounds::of(exact, &exact.gradient(upstream), &precision);
        self.judge_gradient(case, problem, exact.durations_batched(), &found, &bounds);
    }

    /// Every part of a gradient against exact values.
    pub(super) fn judge_gradient(
        &mut self,
        case: &str,
        problem: &Problem<'_>,
        durations_batched: bool,
        found: &Gradient,
        bounds: &GradientBounds,
    ) {
        let s = problem.shape();
        self.against(case, "dq", &found.dq, &[s.batch, s.heads, s.queries, s.head_dim], &bounds.dq);
        self.against(case, "dk", &found.dk, &[s.batch, s.kv_heads, s.keys, s.head_dim], &bounds.dk);
        self.against(case, "dv", &found.dv, &[s.batch, s.kv_heads, s.keys, s.value_dim], &bounds.dv);
        let given = problem.sink().name() == "given";
        match &found.sink {
            Some(sink) if given => {
                self.against(case, "sink dk", &sink.dk, &[s.batch, s.kv_heads, 1, s.head_dim], &bounds.sink_dk);
                self.against(case, "sink dv", &sink.dv, &[s.batch, s.kv_heads, 1, s.value_dim], &bounds.sink_dv);
            }
            sink => self.judge(sink.is_some() == given, case, "sink gradient", || {
                format!("returned: {}, the sink is given: {given}", sink.is_some())
            }),
        }
        let has_durations = !matches!(problem.rule(), Rule::Taylor(_));
        let shape = if durations_batched { vec![s.batch, s.keys] } else { vec![s.keys] };
        match &found.durations {
            Some(durations) if has_durations => self.against(case, "d durations", durations, &shape, &bounds.durations),
            durations => self.judge(durations.is_some() == has_durations, case, "d durations", || {
                format!("returned: {}, expected: {has_durations}", durations.is_some())
            }),
        }
    }

    /// Both passes of a case against the oracle.
    pub(super) fn check_both(&mut self, case: &str, small: &SmallProblem) {
        let Some(problem) = self.problem(case, small) else { return };
        let exact = Exact::of(&problem);
        let request = self.request();
        if let Some(output) = self.forward(case, &problem, &request) {
            let bounds = Bounds::of(&exact, &self.precision(&problem, &request));
            self.judge_output(case, &problem, &request, &output, &bounds);
        }
        match Pull::new(&problem, 77) {
            Ok(pull) => self.check_pulled(case, &exact, &pull, None, &Request::default()),
            Err(error) => self.judge(false, case, "upstream", || error.to_string()),
        }
    }
}
