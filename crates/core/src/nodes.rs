//! The nodes of one batch: where they stand, which are kept, and how segments join them.

use crate::rule::Rule;
use crate::time::Time;

/// One document, or the whole sequence where there are none: nodes `first..=last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// its number; 0 where there are no documents
    pub document: i64,
    /// its first node, from 1
    pub first: usize,
    /// its last node; `first - 1` where it has none
    pub last: usize,
    /// its first node that the mask keeps
    pub first_kept: Option<usize>,
}

/// Times, masks and joints of the nodes of one batch. Node indices run from 0 (the sink) to n; segment i ends at node i.
#[derive(Clone, Debug)]
pub struct Nodes {
    pub(crate) times: Vec<Time>,
    pub(crate) durations: Vec<f64>,
    pub(crate) kept: Vec<bool>,
    pub(crate) stretches: Vec<Stretch>,
    /// Left node of each segment, `None` where the segment is removed; index i - 1 holds segment i.
    pub(crate) left: Vec<Option<usize>>,
    /// How many of segments 1..=i are visible to anybody and have a positive duration; index i.
    pub(crate) positive: Vec<usize>,
    pub(crate) has_sink: bool,
    pub(crate) rule: Rule,
}

impl Nodes {
    pub(crate) fn new(
        rule: Rule,
        has_sink: bool,
        times: Vec<Time>,
        durations: Vec<f64>,
        kept: Vec<bool>,
        documents: Option<&[i64]>,
    ) -> Nodes {
        let n = durations.len();
        let mut stretches = Vec::new();
        let mut first = 1;
        while first <= n || (n == 0 && stretches.is_empty()) {
            let document = documents.and_then(|ids| ids.get(first - 1)).copied().unwrap_or(0);
            let last = match documents {
                None => n,
                Some(ids) => (first..=n).take_while(|&i| ids[i - 1] == document).last().unwrap_or(first - 1),
            };
            let first_kept = (first..=last).find(|&i| kept[i - 1]);
            stretches.push(Stretch { document, first, last, first_kept });
            first = last.max(first) + 1;
        }
        // Step has no use for the sink: node 0 has no segment of its own.
        let has_sink = has_sink && !rule.reads_own_node_only();
        let mut left = vec![None; n];
        for stretch in &stretches {
            for i in stretch.first..=stretch.last {
                left[i - 1] = if !kept[i - 1] {
                    None
                } else if rule.reads_own_node_only() {
                    Some(i)
                } else if stretch.first_kept == Some(i) {
                    has_sink.then_some(0)
                } else {
                    kept[i - 2].then_some(i - 1)
                };
            }
        }
        let mut positive = Vec::with_capacity(n + 1);
        positive.push(0);
        for i in 1..=n {
            positive.push(positive[i - 1] + usize::from(left[i - 1].is_some() && durations[i - 1] > 0.0));
        }
        Nodes { times, durations, kept, stretches, left, positive, has_sink, rule }
    }

    /// n: how many nodes there are besides the sink, and how many segments.
    pub fn len(&self) -> usize {
        self.durations.len()
    }

    /// Whether there is no node but the sink.
    pub fn is_empty(&self) -> bool {
        self.durations.is_empty()
    }

    /// tau_i.
    ///
    /// # Panics
    /// For i > n.
    pub fn time(&self, i: usize) -> Time {
        self.times[i]
    }

    /// D_i, for i = 1..n.
    ///
    /// # Panics
    /// For i = 0 or i > n.
    pub fn duration(&self, i: usize) -> f64 {
        self.durations[i - 1]
    }

    /// D_1..D_n.
    pub fn durations(&self) -> &[f64] {
        &self.durations
    }

    /// Whether the mask keeps node i, for i = 1..n.
    ///
    /// # Panics
    /// For i = 0 or i > n.
    pub fn is_kept(&self, i: usize) -> bool {
        self.kept[i - 1]
    }

    /// Left node of segment i: i - 1, or 0 for the segment that joins a sink to the first kept node of its document; under
    /// Step node i itself, which is all that the segment reads. `None` where masks or borders remove the segment.
    ///
    /// # Panics
    /// For i = 0 or i > n.
    pub fn left_node(&self, i: usize) -> Option<usize> {
        self.left[i - 1]
    }

    /// The documents in order.
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// The stretch that a node belongs to.
    pub(crate) fn stretch_of(&self, node: usize) -> Option<&Stretch> {
        let at = self.stretches.partition_point(|s| s.last < node);
        self.stretches.get(at).filter(|s| s.first <= node)
    }
}
