//! One query head with all that its rows read, and what of it a block of rows has in common.

use super::operands::{MULTIPLE, Poison, Rows, read_row};
use super::sight::{Kind, RowSight, Sights, sees, stand_ins};
use contattn_core::{EngineError, Nodes, Part, Piece, Problem, Rule, Sink, TensorView, Timeline};

/// Most queries that a block holds in any back end.
pub(crate) const MOST_LANES: usize = 48;

/// Node 0 of one key/value head.
#[derive(Clone, Debug)]
pub(crate) enum SinkRows {
    /// there is none, or it has no part in this rule
    Absent,
    /// zeros
    Zeros,
    /// the key and value of the first kept node
    Copy,
    /// its own, padded as rows are
    Given { key: Vec<f32>, value: Vec<f32> },
}

/// Keys, values and sink of one key/value head.
#[derive(Debug)]
pub(crate) struct Store<'a> {
    pub(crate) keys: Rows<'a>,
    pub(crate) values: Rows<'a>,
    pub(crate) sink: SinkRows,
    /// by node; node 0 is a given sink
    pub(crate) key_poison: Vec<Poison>,
    pub(crate) value_poison: Vec<Poison>,
}

impl<'a> Store<'a> {
    /// Reads one key/value head. `borrow`: K and V are not looked at before they are used, where they can be read as they lie.
    pub(crate) fn read_or_borrow(
        problem: &'a Problem<'_>,
        batch: usize,
        kv_head: usize,
        borrow: bool,
    ) -> Result<Store<'a>, EngineError> {
        let nodes = problem.nodes(batch);
        let stand_in = problem.spec().key_mask.as_ref().and_then(|_| stand_ins(nodes));
        // Weights of removed nodes are 0: their values are zeros.
        let zeros: Option<Vec<usize>> =
            stand_in.as_ref().map(|of| of.iter().enumerate().map(|(i, &s)| if s == i + 1 { s } else { 0 }).collect());
        let unread = |view| if borrow && stand_in.is_none() { Rows::unread(view, batch, kv_head) } else { None };
        let (keys, mut key_poison) = match unread(problem.k()) {
            Some(rows) => (rows, Vec::new()),
            None => Rows::read("keys", problem.k(), batch, kv_head, stand_in.as_deref())?,
        };
        let (values, mut value_poison) = match unread(problem.v()) {
            Some(rows) => (rows, Vec::new()),
            None => Rows::read("values", problem.v(), batch, kv_head, zeros.as_deref())?,
        };
        let sink = match problem.sink() {
            _ if problem.rule().reads_own_node_only() => SinkRows::Absent,
            Sink::Absent => SinkRows::Absent,
            Sink::Zeros => SinkRows::Zeros,
            Sink::Copy => SinkRows::Copy,
            Sink::Given { key, value } => SinkRows::Given {
                key: sink_row(key, batch, kv_head, &mut key_poison),
                value: sink_row(value, batch, kv_head, &mut value_poison),
            },
        };
        Ok(Store { keys, values, sink, key_poison, value_poison })
    }
}

fn sink_row(view: &TensorView<'_>, batch: usize, kv_head: usize, poison: &mut Vec<Poison>) -> Vec<f32> {
    let columns = view.shape()[3];
    let mut row = vec![0.0; columns.next_multiple_of(MULTIPLE)];
    read_row(view, batch, kv_head, 0, &mut row[..columns]);
    for (column, x) in row.iter_mut().enumerate().filter(|(_, x)| !x.is_finite()) {
        *x = 0.0;
        poison.push(Poison { node: 0, column });
    }
    row
}

/// Durations of one batch in `f32`, in units of a power of two of the longest, so that Z stays in range.
#[derive(Clone, Debug)]
pub(crate) struct Durations {
    /// by segment, from 1 at index 0; 0 for segments that tiles do not take. `None` where all are 1.
    pub(crate) scaled: Option<Vec<f32>>,
    /// log2 of the unit
    pub(crate) exponent: i32,
    /// by node, from 1 at index 0: 1 for those that the mask keeps, else 0. `None` where it keeps all, and where the rule does
    /// not ask: nodes of the Taylor rule have a weight without any segment.
    kept: Option<Vec<f32>>,
    /// by node, from 1 at index 0: whether the mask or an end of a document leaves it no segment that tiles take. `None` where
    /// there are no such nodes.
    alone: Option<Vec<bool>>,
}

impl Durations {
    pub(crate) fn of(problem: &Problem<'_>, nodes: &Nodes) -> Durations {
        let n = nodes.len();
        let own_only = problem.rule().reads_own_node_only();
        let taken = |i: usize| nodes.left_node(i).is_some_and(|left| own_only || left > 0);
        let spec = problem.spec();
        // Asked only where it may be otherwise: for one query against many keys this is work that shows.
        let unbroken = spec.key_mask.is_none() && spec.documents.is_none();
        let all_taken = || if own_only { (1..=n).all(taken) } else { (2..=n).all(taken) };
        if spec.timeline == Timeline::Unit && (unbroken || all_taken()) {
            return Durations { scaled: None, exponent: 0, kept: None, alone: None };
        }
        let longest = longest(nodes.durations());
        let exponent = if longest > 0.0 { libm::frexp(longest).1 - 1 } else { 0 };
        // By products, which are exact as well and show less where one query meets many keys; a power of two beyond f64 stands for
        // durations so short that their own exponents do.
        let unit = libm::ldexp(1.0, -exponent);
        let all = nodes.durations().iter();
        let mut scaled: Vec<f32> = if unit.is_finite() {
            all.map(|&d| (d * unit) as f32).collect()
        } else {
            all.map(|&d| libm::ldexp(d, -exponent) as f32).collect()
        };
        // Where nothing is broken tiles take all but a segment from the sink.
        let some_not_taken = if unbroken { 1..=n.min(1) } else { 1..=n };
        some_not_taken.filter(|&i| !taken(i)).for_each(|i| scaled[i - 1] = 0.0);
        let asks = matches!(problem.rule(), Rule::Taylor(_)) && spec.key_mask.is_some();
        let kept = asks.then(|| (1..=n).map(|j| f32::from(u8::from(nodes.is_kept(j)))).collect());
        let is_alone = |j: usize| !(taken(j) || (!own_only && j < n && taken(j + 1)));
        let alone = (!unbroken && (1..=n).any(is_alone)).then(|| (1..=n).map(is_alone).collect());
        Durations { scaled: Some(scaled), exponent, kept, alone }
    }

    /// Whether tiles take every segment, all of the same duration.
    pub(crate) fn is_unbroken(&self) -> bool {
        self.scaled.is_none()
    }

    /// A positive number where segment i joins node i - 1 to node i, else 0.
    #[inline(always)]
    pub(crate) fn joins(&self, i: usize) -> f32 {
        self.scaled.as_ref().map_or(1.0, |all| all.get(i - 1).copied().unwrap_or(0.0))
    }

    /// 1 where a node is kept by the mask, else 0.
    #[inline(always)]
    pub(crate) fn keeps(&self, node: usize) -> f32 {
        self.kept.as_ref().map_or(1.0, |all| all[node - 1])
    }

    /// Whether no segment that tiles take ends at a node: its score has no part in what they sum.
    #[inline(always)]
    pub(crate) fn is_alone(&self, node: usize) -> bool {
        self.alone.as_ref().is_some_and(|all| all[node - 1])
    }

    /// Whether there are such nodes.
    #[inline(always)]
    pub(crate) fn some_are_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// A length in these units.
    pub(crate) fn scale(&self, length: f64) -> f64 {
        libm::ldexp(length, -self.exponent)
    }

    /// Those of segments first.. (nothing where all are 1).
    #[inline(always)]
    pub(crate) fn tile(&self, first: usize, count: usize) -> &[f32] {
        self.scaled.as_ref().map_or(&[], |all| &all[first - 1..first - 1 + count])
    }
}

/// The largest of numbers, or 0: several at a time, none of which waits for another.
fn longest(durations: &[f64]) -> f64 {
    let mut most = [0.0; 16];
    let (chunks, rest) = durations.as_chunks::<16>();
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    for chunk in chunks {
        most = std::array::from_fn(|lane| larger(chunk[lane], most[lane]));
    }
    rest.iter().chain(&most).copied().fold(0.0, f64::max)
}

/// One query head.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) problem: &'a Problem<'a>,
    pub(crate) batch: usize,
    pub(crate) head: usize,
    pub(crate) nodes: &'a Nodes,
    pub(crate) store: &'a Store<'a>,
    pub(crate) sights: &'a Sights,
    pub(crate) durations: &'a Durations,
}

/// A node of a piece: where its key and value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// node 0, and not a copy
    Sink,
    /// another node, or the one that node 0 copies
    Node(usize),
}

/// A piece with the sources of its ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourcedPiece {
    pub(crate) left: Source,
    pub(crate) right: Source,
    /// its segment, 0 for held curve
    pub(crate) segment: usize,
    /// D, or the length of held curve
    pub(crate) duration: f64,
    pub(crate) part: Part,
}

impl<'a> Head<'a> {
    pub(crate) fn own_node_only(&self) -> bool {
        self.problem.rule().reads_own_node_only()
    }

    /// Whether row `row` reads a node whose key is not finite.
    pub(crate) fn key_is_poisoned(&self, row: usize) -> bool {
        self.poison(row, &self.store.key_poison).next().is_some()
    }

    /// The columns of o that a row reads something from that is not finite.
    pub(crate) fn poisoned_columns(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        self.poison(row, &self.store.value_poison).map(|p| p.column)
    }

    fn poison<'s>(&'s self, row: usize, list: &'s [Poison]) -> impl Iterator<Item = &'s Poison> {
        let sight = &self.sights.rows[row];
        let pieces = self.sights.pieces(sight);
        let reads = move |node| {
            let copied = matches!(self.store.sink, SinkRows::Copy)
                && node > 0
                && self.problem.copied_node(self.batch, row) == Some(node)
                && sees(sight, pieces, self.nodes, self.own_node_only(), 0);
            copied || sees(sight, pieces, self.nodes, self.own_node_only(), node) || self.weighs_alone(sight, node)
        };
        // Lists are in the order of nodes but for the sink at the end; most of a long list lies outside a row's window.
        let mut last = (usize::MAX, false);
        list.iter().filter(move |p| {
            if last.0 != p.node {
                last = (p.node, sight.kind == Kind::Curve && reads(p.node));
            }
            last.1
        })
    }

    /// Whether a node between the ends of what a row sees has a weight without any segment: under the Taylor rule, if it is kept.
    fn weighs_alone(&self, sight: &RowSight, node: usize) -> bool {
        let between = node >= 1 && node + 1 >= sight.first as usize && node <= sight.last as usize;
        matches!(self.problem.rule(), Rule::Taylor(_)) && sight.has_tiles() && between && self.nodes.is_kept(node)
    }

    /// Where row `row` finds the key and value of a node.
    pub(crate) fn source(&self, row: usize, node: usize) -> Source {
        match (node, &self.store.sink) {
            (0, SinkRows::Copy) => Source::Node(self.problem.copied_node(self.batch, row).unwrap_or(1)),
            (0, _) => Source::Sink,
            (node, _) => Source::Node(node),
        }
    }

    /// The pieces of a row; its opening among them where the block does not take it together with the others.
    pub(crate) fn pieces(&self, row: usize, block_opening: usize) -> impl Iterator<Item = SourcedPiece> + '_ {
        let sight = &self.sights.rows[row];
        let source = move |node| self.source(row, node);
        let own = (sight.opening > 0 && sight.opening as usize != block_opening).then(|| {
            let f = sight.opening as usize;
            SourcedPiece {
                left: source(0),
                right: Source::Node(f),
                segment: f,
                duration: self.nodes.duration(f),
                part: Part::WHOLE,
            }
        });
        let others = self.sights.pieces(sight).iter().map(move |piece| match *piece {
            Piece::Segment { segment, left, right, duration, part } => {
                SourcedPiece { left: source(left), right: source(right), segment, duration, part }
            }
            Piece::Hold(hold) => {
                let node = source(hold.node);
                SourcedPiece { left: node, right: node, segment: 0, duration: hold.length, part: Part::WHOLE }
            }
        });
        own.into_iter().chain(others)
    }

    /// The key of a source; `None` for zeros.
    pub(crate) fn key(&self, source: Source) -> Option<&[f32]> {
        match (source, &self.store.sink) {
            (Source::Node(node), _) => Some(self.store.keys.row(node)),
            (Source::Sink, SinkRows::Given { key, .. }) => Some(key),
            (Source::Sink, _) => None,
        }
    }

    /// The value of a source; `None` for zeros.
    pub(crate) fn value(&self, source: Source) -> Option<&[f32]> {
        match (source, &self.store.sink) {
            (Source::Node(node), _) => Some(self.store.values.row(node)),
            (Source::Sink, SinkRows::Given { value, .. }) => Some(value),
            (Source::Sink, _) => None,
        }
    }

    /// The rule of a piece: held curve goes to its one node, as under Step.
    pub(crate) fn piece_rule(&self, piece: &SourcedPiece) -> Rule {
        if piece.segment == 0 { Rule::Step } else { self.problem.rule() }
    }
}

/// What the rows of a block see, by lane. Lanes beyond the last row repeat it.
pub(crate) struct Plan {
    /// first and last segment of the tiles of any row; none where `first > last`
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// first and last segment of each row; none where `from > to`
    from: [u32; MOST_LANES],
    to: [u32; MOST_LANES],
    /// node f where rows take the segment from the sink to it together; 0 otherwise
    pub(crate) opening: usize,
    /// 1 for the rows that do
    pub(crate) opens: [f32; MOST_LANES],
    /// 1 for the rows that see the node before segment `first`
    pub(crate) sees_carried: [f32; MOST_LANES],
    /// whether any row has pieces of its own
    pub(crate) has_pieces: bool,
}

impl Plan {
    /// For rows that see nothing.
    pub(crate) const fn nothing() -> Plan {
        Plan {
            first: 1,
            last: 0,
            from: [u32::MAX; MOST_LANES],
            to: [0; MOST_LANES],
            opening: 0,
            opens: [0.0; MOST_LANES],
            sees_carried: [0.0; MOST_LANES],
            has_pieces: false,
        }
    }

    /// For rows start..start + count; `skip` says which lanes are evaluated elsewhere.
    pub(crate) fn of(head: &Head<'_>, start: usize, count: usize, skip: &[bool; MOST_LANES]) -> Plan {
        let nothing = RowSight::nothing(Kind::Empty);
        let sight = |lane: usize| {
            let lane = lane.min(count - 1);
            if skip[lane] { &nothing } else { &head.sights.rows[start + lane] }
        };
        let (mut first, mut last, mut opening) = (usize::MAX, 0, 0);
        for sight in (0..count).map(sight) {
            if sight.has_tiles() {
                first = first.min(sight.first as usize);
                last = last.max(sight.last as usize);
            }
            if opening == 0 {
                opening = sight.opening as usize;
            }
        }
        let own_only = head.own_node_only();
        if first == usize::MAX {
            first = if opening > 0 { opening + 1 } else { 1 };
            last = first - 1;
        }
        // The opening leads on to the tiles: its right node is the one before their first segment.
        if opening + 1 != first {
            opening = 0;
        }
        let mut plan = Plan { first, last, opening, ..Plan::nothing() };
        for lane in 0..MOST_LANES {
            let sight = sight(lane);
            if sight.has_tiles() {
                (plan.from[lane], plan.to[lane]) = (sight.first, sight.last);
            }
            let opens = opening > 0 && sight.opening as usize == opening;
            let starts = !own_only && sight.has_tiles() && sight.first as usize == first;
            plan.opens[lane] = f32::from(u8::from(opens));
            plan.sees_carried[lane] = f32::from(u8::from(opens || starts));
            plan.has_pieces |= !sight.pieces.is_empty() || (sight.opening > 0 && !opens);
        }
        plan
    }

    /// The same for a rule that weighs nodes by their neighbours: every row takes its opening along with its tiles, and has the
    /// range opening + 1 .. opening where there is nothing but the opening.
    pub(crate) fn of_nodes(head: &Head<'_>, start: usize, count: usize, skip: &[bool; MOST_LANES]) -> Plan {
        let mut plan = Plan { first: usize::MAX, ..Plan::nothing() };
        for lane in 0..MOST_LANES {
            let lane_or_last = lane.min(count - 1);
            let sight = &head.sights.rows[start + lane_or_last];
            if skip[lane_or_last] || (!sight.has_tiles() && sight.opening == 0) {
                continue;
            }
            (plan.from[lane], plan.to[lane]) =
                if sight.has_tiles() { (sight.first, sight.last) } else { (sight.opening + 1, sight.opening) };
            plan.opens[lane] = f32::from(u8::from(sight.opening > 0));
            plan.opening = plan.opening.max(sight.opening as usize);
            plan.first = plan.first.min(plan.from[lane] as usize);
            plan.last = plan.last.max(plan.to[lane] as usize);
        }
        if plan.first == usize::MAX { Plan::nothing() } else { plan }
    }

    /// Whether rows see an opening, and no segment after it.
    pub(crate) fn opens_alone(&self) -> bool {
        self.first > self.last && self.opening > 0
    }

    /// Whether all rows see all of `count` segments from `at` on, and the one before.
    pub(crate) fn is_inside(&self, lanes: usize, at: usize, count: usize) -> bool {
        self.is_whole(lanes, at - 1, count + 1)
    }

    /// Whether all rows see all of `count` segments from `at` on.
    pub(crate) fn is_whole(&self, lanes: usize, at: usize, count: usize) -> bool {
        let (first, last) = (at as u32, (at + count - 1) as u32);
        self.from[..lanes].iter().all(|&f| f <= first) && self.to[..lanes].iter().all(|&t| t >= last)
    }

    /// First and last segment of each row, counted from segment `at`, as numbers that vectors are compared with.
    pub(crate) fn edges(&self, at: usize) -> [[f32; MOST_LANES]; 2] {
        // Far from a tile all distances are alike, so that they are exact.
        let near = |i: &u32| (i64::from(*i) - at as i64).clamp(-2, 1 << 20) as f32;
        [std::array::from_fn(|lane| near(&self.from[lane])), std::array::from_fn(|lane| near(&self.to[lane]))]
    }
}
