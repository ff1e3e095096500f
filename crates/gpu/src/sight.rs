//! What rows see, as the device takes it: a run of whole segments for the tiles, and records of the few pieces that are not one.
//!
//! Windows, masks and documents are resolved by core (`domain.rs`); shaders get two numbers a row, and at most four pieces and two
//! moving edges.

use crate::timeline::Timeline;
use contattn_core::{Domain, Interval, MovingEdge, Nodes, Part, Place, Point, Problem};

/// How a row comes to its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// nothing is seen
    Empty,
    /// a point without duration
    Point(Point),
    /// a sum
    Curve,
}

/// What one row sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowSight {
    pub(crate) kind: Kind,
    /// slots of its whole segments; none where `first > last`
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// its records
    pub(crate) begin: u32,
    pub(crate) count: u32,
}

/// What a record is; numbered as in `shaders/record.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// a cut segment
    Cut = 0,
    /// held curve
    Held = 1,
    /// the upper edge in a segment
    Upper = 2,
    /// the lower edge in a segment
    Lower = 3,
    /// the upper edge in held curve
    UpperHeld = 4,
    /// the lower edge in held curve
    LowerHeld = 5,
}

/// A piece or a moving edge of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) row: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) kind: RecordKind,
    /// in units of the durations
    pub(crate) length: f32,
    pub(crate) part: Part,
}

impl Record {
    /// As shaders read it.
    pub(crate) fn words(&self) -> [u32; 12] {
        let Part { alpha, one_minus_alpha, beta, one_minus_beta, lambda } = self.part;
        let bits = |x: f64| (x as f32).to_bits();
        [
            self.row,
            self.left,
            self.right,
            self.kind as u32,
            self.length.to_bits(),
            bits(alpha),
            bits(one_minus_alpha),
            bits(beta),
            bits(one_minus_beta),
            bits(lambda),
            0,
            0,
        ]
    }
}

/// What all rows of a batch see.
#[derive(Clone, Debug)]
pub(crate) struct Sights {
    pub(crate) rows: Vec<RowSight>,
    pub(crate) records: Vec<Record>,
    /// by record that is a moving edge: which one, and its place in its segment
    pub(crate) edges: Vec<(u32, MovingEdge, f64)>,
    /// last node of each row's stretch, for its sink; 0 where it has none
    ends: Vec<usize>,
}

impl Sights {
    pub(crate) fn of(problem: &Problem<'_>, batch: usize, line: &Timeline) -> Sights {
        let queries = problem.shape().queries;
        let mut sights =
            Sights { rows: Vec::with_capacity(queries), records: Vec::new(), edges: Vec::new(), ends: Vec::new() };
        let alike = problem.spec().rows_share_domains();
        for row in 0..queries {
            let end = problem.stretch(batch, row).map_or(0, |stretch| stretch.last);
            sights.ends.push(if problem.nodes(batch).is_empty() { 0 } else { end });
            let same = alike && row > 0 && sights.rows[0].count == 0;
            let sight = if same { sights.rows[0] } else { sights.resolve(problem, batch, row, line) };
            sights.rows.push(sight);
        }
        sights
    }

    fn resolve(&mut self, problem: &Problem<'_>, batch: usize, row: usize, line: &Timeline) -> RowSight {
        let begin = self.records.len() as u32;
        let nothing = |kind| RowSight { kind, first: 1, last: 0, begin, count: 0 };
        let interval = match problem.domain(batch, row) {
            Domain::Empty => return nothing(Kind::Empty),
            Domain::Point(point) => return nothing(Kind::Point(point)),
            Domain::Interval(interval) => interval,
        };
        let nodes = problem.nodes(batch);
        let (mut first, mut last) = (*interval.segments.start(), *interval.segments.end());
        if first <= last {
            let single = first == last;
            if !interval.first_part.is_whole() {
                self.cut(problem, batch, row, first, interval.first_part, line);
                first += 1;
            }
            if !single && !interval.last_part.is_whole() {
                self.cut(problem, batch, row, last, interval.last_part, line);
                last -= 1;
            }
        }
        for hold in interval.hold_before.into_iter().chain(interval.hold_after) {
            if let Some(slot) = line.slot(hold.node, self.ends[row]) {
                let length = line.scale(hold.length) as f32;
                self.add(row, (slot, slot), RecordKind::Held, length, Part::WHOLE);
            }
        }
        if problem.spec().has_moving_edges() {
            for (edge, is_upper) in [(&interval.lower, false), (&interval.upper, true)] {
                self.edge(row, nodes, &interval, edge, is_upper, line);
            }
        }
        let (first, last) = line.run(first, last);
        let count = self.records.len() as u32 - begin;
        RowSight { kind: Kind::Curve, first: first as u32, last: last as u32, begin, count }
    }

    fn add(&mut self, row: usize, (left, right): (usize, usize), kind: RecordKind, length: f32, part: Part) {
        self.records.push(Record { row: row as u32, left: left as u32, right: right as u32, kind, length, part });
    }

    fn cut(&mut self, problem: &Problem<'_>, batch: usize, row: usize, i: usize, part: Part, line: &Timeline) {
        let nodes = problem.nodes(batch);
        if let Some(slots) = self.segment_slots(nodes, row, i, line) {
            let length = line.scale(part.lambda * nodes.duration(i)) as f32;
            self.add(row, slots, RecordKind::Cut, length, part);
        }
    }

    /// Slots of the two ends of segment i, where it is there.
    fn segment_slots(&self, nodes: &Nodes, row: usize, i: usize, line: &Timeline) -> Option<(usize, usize)> {
        let end = self.ends[row];
        let left = nodes.left_node(i)?;
        Some((line.slot(left, end)?, line.slot(i, end)?))
    }

    fn edge(
        &mut self,
        row: usize,
        nodes: &Nodes,
        interval: &Interval,
        edge: &MovingEdge,
        is_upper: bool,
        line: &Timeline,
    ) {
        let (slots, kind, part) = match (edge.place, interval.held_at(edge.place)) {
            (Place::Segment(i), _) if interval.segments.contains(&i) => {
                let kind = if is_upper { RecordKind::Upper } else { RecordKind::Lower };
                (self.segment_slots(nodes, row, i, line), kind, interval.part(i))
            }
            (_, Some(hold)) => {
                let slot = line.slot(hold.node, self.ends[row]);
                let kind = if is_upper { RecordKind::UpperHeld } else { RecordKind::LowerHeld };
                (slot.map(|slot| (slot, slot)), kind, Part::WHOLE)
            }
            _ => return,
        };
        let fraction = if is_upper { part.beta } else { part.alpha };
        let Some(slots) = slots else { return };
        if edge.moved_by().all(|i| edge.velocity(i, fraction) == 0.0) {
            return;
        }
        self.edges.push((self.records.len() as u32, *edge, fraction));
        self.add(row, slots, kind, 0.0, part);
    }

    /// Records of a row.
    pub(crate) fn records(&self, row: usize) -> &[Record] {
        let RowSight { begin, count, .. } = self.rows[row];
        &self.records[begin as usize..(begin + count) as usize]
    }

    /// Whether any record gives something to o.
    pub(crate) fn has_pieces(&self) -> bool {
        self.records.iter().any(|record| matches!(record.kind, RecordKind::Cut | RecordKind::Held))
    }

    /// The slots of a point of a row.
    pub(crate) fn point_slots(&self, row: usize, point: &Point, line: &Timeline) -> Option<(usize, usize)> {
        Some((line.slot(point.left, self.ends[row])?, line.slot(point.right, self.ends[row])?))
    }

    /// Whether a row reads a slot: as an end of a segment, or part of one, that counts, held, or as its point.
    pub(crate) fn sees(&self, row: usize, slot: usize, line: &Timeline, own_only: bool) -> bool {
        let sight = &self.rows[row];
        match sight.kind {
            Kind::Empty => return false,
            Kind::Point(point) => {
                let slots = self.point_slots(row, &point, line);
                return slots.is_some_and(|(left, right)| left == slot || right == slot);
            }
            Kind::Curve => {}
        }
        let segment =
            |i: usize| i < line.len() && line.segments[i] > 0 && i >= sight.first as usize && i <= sight.last as usize;
        let piece = |record: &Record| {
            let reads = record.right as usize == slot || (!own_only && record.left as usize == slot);
            reads && matches!(record.kind, RecordKind::Cut | RecordKind::Held)
        };
        segment(slot) || (!own_only && segment(slot + 1)) || self.records(row).iter().any(piece)
    }
}
