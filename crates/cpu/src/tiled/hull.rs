//! o lies between the smallest and the largest value that its row sees, in every column. Rounding may carry it past them by a few u
//! where one node outweighs all others or their values are alike; such elements are put back.
//!
//! ```text
//! of a head:    extremes of every STEP segments                              a table, made once for a call
//! of a block:   extremes of the steps that all of its rows see               o within them: nothing to do for that row
//! of a row:     those of all that it sees, found from those of the row before it where the two begin alike
//! ```
//!
//! Most rows are done with the second line. What a row does not see has no part in its own extremes: were it otherwise, a later token
//! could change an earlier row's last bit.

use super::head::{Head, MOST_LANES, Source};
use super::operands::{MULTIPLE, Rows};
use super::simd::{Kernel, Simd};
use contattn_core::{EngineError, Problem, Rule, Shape, engine::reserve};

/// Segments of a step.
const STEP: usize = 32;

/// The smallest and the largest number of each column; none yet where `low > high`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extremes {
    pub(crate) low: Vec<f32>,
    pub(crate) high: Vec<f32>,
}

/// The smaller of two numbers; b where either is NaN, as of vectors.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The larger of two numbers; b where either is NaN.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

impl Extremes {
    pub(crate) fn new(width: usize) -> Extremes {
        Extremes { low: vec![f32::INFINITY; width], high: vec![f32::NEG_INFINITY; width] }
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.low.fill(f32::INFINITY);
        self.high.fill(f32::NEG_INFINITY);
    }

    /// With numbers that are at least the first and at most the second.
    #[inline(always)]
    fn join<S: Simd>(&mut self, s: S, low: &[f32], high: &[f32]) {
        // Loops, since closures are compiled without the instruction set.
        let (mut all, mut x) = (self.low.chunks_exact_mut(S::LANES), low.chunks_exact(S::LANES));
        for (all, x) in (&mut all).zip(&mut x) {
            s.store(s.min(s.load(x), s.load(all)), all);
        }
        all.into_remainder().iter_mut().zip(x.remainder()).for_each(|(all, &x)| *all = smaller(x, *all));
        let (mut all, mut x) = (self.high.chunks_exact_mut(S::LANES), high.chunks_exact(S::LANES));
        for (all, x) in (&mut all).zip(&mut x) {
            s.store(s.max(s.load(x), s.load(all)), all);
        }
        all.into_remainder().iter_mut().zip(x.remainder()).for_each(|(all, &x)| *all = larger(x, *all));
    }

    /// With one row; with zeros where there is none.
    #[inline(always)]
    fn add<S: Simd>(&mut self, s: S, row: Option<&[f32]>) {
        match row {
            Some(row) => self.join(s, row, row),
            None => {
                self.low.iter_mut().for_each(|low| *low = smaller(0.0, *low));
                self.high.iter_mut().for_each(|high| *high = larger(0.0, *high));
            }
        }
    }

    /// With the rows of some nodes.
    #[inline(always)]
    fn add_nodes<S: Simd>(&mut self, s: S, values: &Rows<'_>, nodes: &[usize]) {
        let width = self.low.len();
        let mut column = 0;
        while column < width {
            column += match (width - column) / S::LANES {
                0 => self.add_columns(values, nodes, column),
                1..=3 => self.add_vectors::<S, 1>(s, values, nodes, column),
                _ => self.add_vectors::<S, 4>(s, values, nodes, column),
            };
        }
    }

    /// N vectors of columns; returns how many columns that are. Memory is read in its order.
    #[inline(always)]
    fn add_vectors<S: Simd, const N: usize>(
        &mut self,
        s: S,
        values: &Rows<'_>,
        nodes: &[usize],
        column: usize,
    ) -> usize {
        let (mut low, mut high) = ([s.splat(0.0); N], [s.splat(0.0); N]);
        for n in 0..N {
            low[n] = s.load(&self.low[column + n * S::LANES..]);
            high[n] = s.load(&self.high[column + n * S::LANES..]);
        }
        for &node in nodes {
            let row = &values.row(node)[column..column + N * S::LANES];
            for n in 0..N {
                let x = s.load(&row[n * S::LANES..]);
                low[n] = s.min(x, low[n]);
                high[n] = s.max(x, high[n]);
            }
        }
        for n in 0..N {
            s.store(low[n], &mut self.low[column + n * S::LANES..]);
            s.store(high[n], &mut self.high[column + n * S::LANES..]);
        }
        N * S::LANES
    }

    /// Fewer columns than lanes; returns how many that are.
    #[inline(always)]
    fn add_columns(&mut self, values: &Rows<'_>, nodes: &[usize], column: usize) -> usize {
        let (low, high) = (&mut self.low[column..], &mut self.high[column..]);
        for &node in nodes {
            for ((low, high), &x) in low.iter_mut().zip(&mut *high).zip(&values.row(node)[column..]) {
                (*low, *high) = (smaller(x, *low), larger(x, *high));
            }
        }
        low.len()
    }

    /// Whether no number of a row lies beyond; false where there are no bounds yet.
    #[inline(always)]
    fn hold(&self, row: &[f32]) -> bool {
        row.iter().zip(&self.low).zip(&self.high).all(|((x, low), high)| x >= low && x <= high)
    }

    /// Puts what lies beyond onto the bounds; where there are none yet all stays as it is.
    #[inline(always)]
    fn put_back(&self, row: &mut [f32]) {
        if self.low.first() > self.high.first() {
            return;
        }
        for ((x, &low), &high) in row.iter_mut().zip(&self.low).zip(&self.high) {
            *x = smaller(high, larger(low, *x));
        }
    }
}

/// The nodes that segments first..=last of the tiles read, STEP at most; `after` says that the segment before them was taken as well.
/// Gives how many there are.
#[inline(always)]
fn nodes_of(head: &Head<'_>, first: usize, last: usize, after: bool, nodes: &mut [usize; STEP + 1]) -> usize {
    let durations = head.durations;
    let mut count = 0;
    let mut add = |node: usize, reads: bool| {
        nodes[count] = node;
        count += usize::from(reads);
    };
    match head.problem.rule() {
        // Nodes have a weight without any segment.
        Rule::Taylor(_) => {
            let from = if after || first == 1 { first } else { first - 1 };
            (from..=last).for_each(|node| add(node, durations.keeps(node) > 0.0));
        }
        rule => {
            let joins = |i: usize| durations.joins(i) > 0.0;
            let reads_left = !rule.reads_own_node_only();
            let mut taken = after && joins(first - 1);
            for i in first..=last {
                let now = joins(i);
                if reads_left && i > 1 && now && !taken {
                    add(i - 1, true);
                }
                add(i, now);
                taken = now;
            }
        }
    }
    count
}

/// Adds what a row sees beside its tiles, without its opening where that is to node `but`.
#[inline(always)]
fn add_pieces<S: Simd>(s: S, head: &Head<'_>, row: usize, but: usize, to: &mut Extremes) {
    for piece in head.pieces(row, but).filter(|piece| piece.duration > 0.0) {
        if !head.own_node_only() {
            to.add(s, head.value(piece.left));
        }
        to.add(s, head.value(piece.right));
    }
}

/// The extremes of a head's values, step by step.
pub(crate) struct Table {
    /// the first segment of the first step
    origin: usize,
    width: usize,
    /// of each step the smallest, then the largest numbers
    data: Vec<f32>,
}

impl Table {
    /// An empty one for the values of one key/value head.
    pub(crate) fn new(problem: &Problem<'_>) -> Result<Table, EngineError> {
        let Shape { keys, value_dim, .. } = problem.shape();
        let width = value_dim.next_multiple_of(MULTIPLE);
        // Segment 1 of the other rules is that of a sink, which no tile takes.
        let origin = if problem.rule().reads_own_node_only() { 1 } else { 2 };
        let numbers = (keys + 1).saturating_sub(origin) / STEP * 2 * width;
        let mut data = reserve("extremes of values", numbers as u128)?;
        data.resize(numbers, 0.0);
        Ok(Table { origin, width, data })
    }

    /// The last segment before the step that begins after segment `i`.
    #[inline(always)]
    fn before_next(&self, i: usize) -> usize {
        match i.checked_sub(self.origin) {
            Some(from) => i - from % STEP + STEP - 1,
            None => self.origin - 1,
        }
    }

    /// The smallest and the largest values of the step that begins with segment `i`, if one does and it ends at `last` or before.
    #[inline(always)]
    fn step(&self, i: usize, last: usize) -> Option<(&[f32], &[f32])> {
        let at = i.checked_sub(self.origin).filter(|from| from.is_multiple_of(STEP) && i + STEP - 1 <= last)?;
        let step = self.data.get(at / STEP * 2 * self.width..)?.get(..2 * self.width)?;
        Some(step.split_at(self.width))
    }
}

/// Fills a table.
pub(crate) struct Fill<'a> {
    pub(crate) head: &'a Head<'a>,
    pub(crate) table: &'a mut Table,
}

impl Kernel for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Table { origin, width, data } = self.table;
        let (mut all, mut nodes) = (Extremes::new(*width), [0; STEP + 1]);
        for (step, out) in data.chunks_exact_mut(2 * *width).enumerate() {
            all.clear();
            let first = *origin + step * STEP;
            let count = nodes_of(self.head, first, first + STEP - 1, false, &mut nodes);
            all.add_nodes(s, &self.head.store.values, &nodes[..count]);
            out[..*width].copy_from_slice(&all.low);
            out[*width..].copy_from_slice(&all.high);
        }
    }
}

/// Extremes of what the rows of a block see.
pub(crate) struct Room {
    /// of the steps that all rows see
    common: Extremes,
    /// of an opening and segments begin.first..=last of the tiles
    run: Extremes,
    begin: Begin,
    last: usize,
    /// of one row
    row: Extremes,
}

/// How what a row sees of tiles begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Begin {
    first: usize,
    /// node f of its opening and where its sink is, if it has one
    opening: Option<(usize, Source)>,
}

impl Room {
    pub(crate) fn new(value_width: usize) -> Room {
        let empty = Extremes::new(value_width);
        Room {
            common: empty.clone(),
            run: empty.clone(),
            begin: Begin { first: 1, opening: None },
            last: 0,
            row: empty,
        }
    }

    /// Begins with the rows from `start` on; `skip` says which are evaluated elsewhere. Gives the extremes that those which see anything
    /// of tiles have in common.
    #[inline(always)]
    pub(crate) fn open<S: Simd>(
        &mut self,
        s: S,
        head: &Head<'_>,
        table: &Table,
        start: usize,
        count: usize,
        skip: &[bool; MOST_LANES],
    ) -> &Extremes {
        let (mut first, mut last) = (table.origin, usize::MAX);
        for (sight, skip) in head.sights.rows[start..][..count].iter().zip(skip) {
            if sight.has_tiles() && !skip {
                first = first.max(sight.first as usize);
                last = last.min(sight.last as usize);
            }
        }
        self.common.clear();
        // From the first step on that begins in it; there are none beyond the table's. Where no row sees anything of tiles what they
        // have in common is not asked for.
        let mut step = table.before_next(first - 1) + 1;
        while let Some((low, high)) = table.step(step, last) {
            self.common.join(s, low, high);
            step += STEP;
        }
        (self.begin, self.last) = (Begin { first: 1, opening: None }, 0);
        self.run.clear();
        &self.common
    }

    /// Puts o of one row back between the extremes of what it sees.
    #[inline(always)]
    pub(crate) fn put_back<S: Simd>(&mut self, s: S, head: &Head<'_>, table: &Table, row: usize, o: &mut [f32]) {
        let sight = &head.sights.rows[row];
        self.extend(s, head, table, row);
        if sight.pieces.is_empty() {
            self.run.put_back(o);
            return;
        }
        self.row.clear();
        self.row.join(s, &self.run.low, &self.run.high);
        add_pieces(s, head, row, sight.opening as usize, &mut self.row);
        self.row.put_back(o);
    }

    /// Makes `run` that of a row, of which the pieces are not part; goes on with what is there where that begins alike.
    #[inline(always)]
    fn extend<S: Simd>(&mut self, s: S, head: &Head<'_>, table: &Table, row: usize) {
        let sight = &head.sights.rows[row];
        let opens = sight.opening > 0 && head.nodes.duration(sight.opening as usize) > 0.0;
        let begin = Begin {
            first: sight.first as usize,
            opening: opens.then(|| (sight.opening as usize, head.source(row, 0))),
        };
        let (first, last) = (begin.first, sight.last as usize);
        if self.begin != begin || self.last > last {
            (self.begin, self.last) = (begin, first - 1);
            self.run.clear();
            if let Some((node, sink)) = begin.opening {
                self.run.add(s, head.value(sink));
                self.run.add(s, head.value(Source::Node(node)));
            }
        }
        let mut nodes = [0; STEP + 1];
        let mut i = self.last + 1;
        while i <= last {
            i = match table.step(i, last) {
                Some((low, high)) => {
                    self.run.join(s, low, high);
                    i + STEP
                }
                None => {
                    let to = table.before_next(i).min(last);
                    let count = nodes_of(head, i, to, i > first, &mut nodes);
                    self.run.add_nodes(s, &head.store.values, &nodes[..count]);
                    to + 1
                }
            };
        }
        self.last = last;
    }
}

/// The same for a single row. Its values are looked at from the last one on, until o is seen to lie between them: there are few rows
/// for the many values, and most are done soon. A row that sees nothing stays as it is.
pub(crate) struct PutBackRow<'a> {
    pub(crate) head: &'a Head<'a>,
    pub(crate) row: usize,
    pub(crate) extremes: &'a mut Extremes,
    pub(crate) o: &'a mut [f32],
}

impl Kernel for PutBackRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let PutBackRow { head, row, extremes, o } = self;
        let sight = &head.sights.rows[row];
        let mut nodes = [0; STEP + 1];
        extremes.clear();
        add_pieces(s, head, row, 0, extremes);
        let (first, mut last) = (sight.first as usize, sight.last as usize);
        while first <= last {
            let from = last.saturating_sub(STEP - 1).max(first);
            let count = nodes_of(head, from, last, false, &mut nodes);
            extremes.add_nodes(s, &head.store.values, &nodes[..count]);
            if extremes.hold(o) {
                return;
            }
            last = from - 1;
        }
        extremes.put_back(o);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sight::Kind;
    use super::super::simd::{Backend, Isa};
    use super::super::threads::Threads;
    use super::super::{Call, Tiled};
    use super::*;
    use crate::Plain;
    use contattn_core::families::{Family, SinkKind};
    use contattn_core::{Documents, Dtype, Engine, QueryTimes, Request, Series, Spec, Unattended, Window};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// What one row of `o` becomes: the way of blocks, and that of single rows.
    struct Bounds<'a> {
        head: &'a Head<'a>,
        table: &'a Table,
        start: usize,
        o: &'a mut [Vec<f32>],
        common: &'a mut Extremes,
    }

    impl Kernel for Bounds<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let mut room = Room::new(self.table.width);
            let skip = [false; MOST_LANES];
            *self.common = room.open(s, self.head, self.table, self.start, self.o.len(), &skip).clone();
            for (lane, o) in self.o.iter_mut().enumerate() {
                room.put_back(s, self.head, self.table, self.start + lane, o);
            }
        }
    }

    /// By column the smallest and largest value of the nodes that have a weight, by the plain engine.
    fn expected(head: &Head<'_>, row: usize, weights: &[f64], width: usize) -> [Vec<f32>; 2] {
        let mut bounds = [vec![f32::INFINITY; width], vec![f32::NEG_INFINITY; width]];
        for (node, _) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let value = head.value(head.source(row, node)).map_or(vec![0.0; width], <[f32]>::to_vec);
            for c in 0..width {
                bounds[0][c] = bounds[0][c].min(value[c]);
                bounds[1][c] = bounds[1][c].max(value[c]);
            }
        }
        bounds
    }

    fn problems() -> impl Iterator<Item = (contattn_core::families::Sample, SinkKind, Spec)> {
        let families = [Family::Gauss, Family::IrregularTimes, Family::ZeroDurations, Family::WideDurations];
        (0..96u64).map(move |seed| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut below = move |n: usize| (random.next_u64() % n as u64) as usize;
            let keys = 1 + below(150);
            let shape = Shape {
                batch: 1,
                heads: 2,
                kv_heads: 2,
                queries: 1 + below(MOST_LANES),
                keys,
                head_dim: 3,
                value_dim: [1, 8, 21, 72][below(4)],
            };
            let rule = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(0), Rule::Taylor(1)][below(5)];
            let taylor = matches!(rule, Rule::Taylor(_));
            let family = if taylor { Family::Gauss } else { families[below(4)] };
            let sample = family.sample(shape, Dtype::F32, seed).expect("shapes are small");
            let window = match below(4) {
                0 => Window::causal(),
                1 => Window::full(),
                2 => Window::sliding([3.0, 40.0, 90.5][below(if taylor { 2 } else { 3 })]),
                _ => Window::between(2.0, 80.0),
            };
            let mut spec = Spec { rule, window, ..sample.spec() };
            if below(3) == 0 {
                spec.key_mask = Some(Series::shared((0..keys).map(|_| below(5) > 0).collect()));
            }
            if below(3) == 0 {
                let mut id = 1;
                let ids = (0..keys).map(|_| {
                    id += i64::from(below(40) == 0);
                    id
                });
                spec.documents = Some(Documents { keys: Series::shared(ids.collect()), queries: None });
            }
            if below(3) == 0 && !taylor && spec.documents.is_none() {
                let times = (0..shape.queries).map(|_| 0.5 * below(2 * keys) as f64).collect();
                spec.query_times = QueryTimes::At(Series::shared(times));
            }
            (sample, SinkKind::ALL[below(4)], spec)
        })
    }

    /// Rows that are far outside are put onto the extremes of what has a weight, and nothing that a block has in common is more.
    #[test]
    fn rows_are_put_back_between_what_they_see() {
        let mut done = 0;
        for (sample, sink, spec) in problems() {
            let Ok(problem) = sample.problem(sink, spec.clone()) else { continue };
            let Shape { queries, keys, value_dim, .. } = problem.shape();
            let request = Request { weights: true, ..Request::default() };
            let output = Plain::<f64>::new().forward(&problem, &request, &Unattended).unwrap();
            let weights = output.weights.unwrap().to_f64();
            let call = Call::new(&problem, &Threads::One, true).unwrap();
            for isa in Isa::ALL {
                let Ok(backend) = Backend::new(isa) else { continue };
                let engine = Tiled { backend, isa, threads: Threads::One };
                let tables = engine.extremes(&call).unwrap();
                for h in 0..2 {
                    let head = call.head(0, h);
                    for (side, far) in [-1e30f32, 1e30].into_iter().enumerate() {
                        let mut o = vec![vec![far; value_dim]; queries];
                        let mut common = Extremes::new(0);
                        let table = &tables[h];
                        backend.run(Bounds { head: &head, table, start: 0, o: &mut o, common: &mut common });
                        for (row, o) in o.iter().enumerate() {
                            let seen = &weights[(h * queries + row) * (keys + 1)..][..keys + 1];
                            let sight = &head.sights.rows[row];
                            if sight.kind != Kind::Curve || seen.iter().sum::<f64>() == 0.0 {
                                continue;
                            }
                            let expected = expected(&head, row, seen, value_dim);
                            let what = format!("{isa}, {spec:?}, {sink:?}, row {row} of {queries}, {keys} keys");
                            assert_eq!(*o, expected[side], "{what}");
                            if sight.has_tiles() {
                                for c in 0..value_dim {
                                    let within = common.low[c] >= expected[0][c] && common.high[c] <= expected[1][c];
                                    assert!(within, "{what}");
                                }
                            }
                            let mut one = vec![far; value_dim];
                            let extremes = &mut Extremes::new(table.width);
                            backend.run(PutBackRow { head: &head, row, extremes, o: &mut one });
                            assert_eq!(one, expected[side], "{what}, by itself");
                            // What lies between stays as it is.
                            let mut mean: Vec<f32> =
                                (0..value_dim).map(|c| 0.5 * (expected[0][c] + expected[1][c])).collect();
                            let before = mean.clone();
                            backend.run(PutBackRow { head: &head, row, extremes, o: &mut mean });
                            assert_eq!(mean, before, "{what}");
                            done += 1;
                        }
                    }
                }
            }
        }
        assert!(done > 5000, "{done}");
    }
}
