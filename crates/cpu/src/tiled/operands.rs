//! Keys and values of one key/value head as rows of `f32`: read where they lie, or a copy.

use contattn_core::{Element, EngineError, TensorView, View, engine::reserve};
use std::borrow::Cow;
use std::ops::Range;

/// Widths are multiples of this, so that register tiles need no remainder.
pub(crate) const MULTIPLE: usize = 8;

/// The rows of nodes 1..n. Every number is finite, but of [`Rows::unread`].
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    data: Cow<'a, [f32]>,
    /// where node 1 begins
    base: usize,
    stride: usize,
    /// a multiple of [`MULTIPLE`]; columns beyond the tensor's own are zeros
    width: usize,
    nodes: usize,
}

/// An element that is NaN or infinite, of a node that some row may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Poison {
    pub(crate) node: usize,
    pub(crate) column: usize,
}

impl<'a> Rows<'a> {
    /// Reads nodes 1..n of one key/value head. `stand_in` says whose row stands for a node's own where no row reads that
    /// node (`values` of such nodes are zeros): its scores then cannot be larger than those of nodes that are read. Elements
    /// that are not finite are listed, and zero in the rows.
    pub(crate) fn read(
        what: &'static str,
        view: &'a TensorView<'a>,
        batch: usize,
        kv_head: usize,
        stand_in: Option<&[usize]>,
    ) -> Result<(Rows<'a>, Vec<Poison>), EngineError> {
        let [_, _, n, columns] = view.shape();
        if let TensorView::F32(view) = view
            && stand_in.is_none()
            && let Some(rows) = Rows::borrow(view, batch, kv_head)
            && (1..=n).all(|node| is_finite(&rows.row(node)[..columns]))
        {
            return Ok((rows, Vec::new()));
        }
        let width = columns.next_multiple_of(MULTIPLE);
        let mut data = reserve(what, n as u128 * width as u128)?;
        data.resize(n * width, 0.0);
        let mut poison = Vec::new();
        for node in 1..=n {
            let source = stand_in.map_or(node, |of| of[node - 1]);
            if source == 0 {
                continue;
            }
            let row = &mut data[(node - 1) * width..][..columns];
            read_row(view, batch, kv_head, source - 1, row);
            if !is_finite(row) {
                for (column, x) in row.iter_mut().enumerate().filter(|(_, x)| !x.is_finite()) {
                    *x = 0.0;
                    if source == node {
                        poison.push(Poison { node, column });
                    }
                }
            }
        }
        Ok((Rows { data: Cow::Owned(data), base: 0, stride: width, width, nodes: n }, poison))
    }

    /// The tensor itself, where its rows can be read as they lie; whether they are finite is not looked at.
    pub(crate) fn unread(view: &TensorView<'a>, batch: usize, kv_head: usize) -> Option<Rows<'a>> {
        if let TensorView::F32(view) = view { Rows::borrow(view, batch, kv_head) } else { None }
    }

    fn borrow(view: &View<'a, f32>, batch: usize, kv_head: usize) -> Option<Rows<'a>> {
        let [_, _, n, columns] = view.shape();
        if n == 0 || !columns.is_multiple_of(MULTIPLE) || view.strides()[3] != 1 {
            return None;
        }
        let stride = usize::try_from(view.strides()[2]).ok()?;
        Some(Rows {
            data: Cow::Borrowed(view.data()),
            base: view.row_offset(batch, kv_head, 0),
            stride,
            width: columns,
            nodes: n,
        })
    }

    /// One more than the last node.
    #[inline(always)]
    pub(crate) fn end(&self) -> usize {
        self.nodes + 1
    }

    /// The row of a node, from 1.
    #[inline(always)]
    pub(crate) fn row(&self, node: usize) -> &[f32] {
        &self.data[self.base + (node - 1) * self.stride..][..self.width]
    }

    /// Columns column.. of the rows of `count` nodes from `first` on, as one slice and the distance between rows: `columns`
    /// numbers of every row lie in it.
    #[inline(always)]
    pub(crate) fn strided(&self, first: usize, count: usize, column: usize, columns: usize) -> (&[f32], usize) {
        let start = self.base + (first - 1) * self.stride + column;
        let length = count.saturating_sub(1) * self.stride + columns;
        (&self.data[start..start + length], self.stride)
    }
}

/// Which nodes of one key/value head were looked at, and found to be finite: one run of them.
///
/// A pass over keys and values before the one that uses them would read them from far caches twice; so they are looked at tile by
/// tile, right before their first use.
#[derive(Clone, Debug)]
pub(crate) struct Looked(Range<usize>);

impl Looked {
    /// Of keys and values that were looked at when they were read.
    pub(crate) const EVERYWHERE: Looked = Looked(0..usize::MAX);

    /// At the nodes before this one.
    pub(crate) fn before(node: usize) -> Looked {
        Looked(0..node)
    }

    /// The node before which it has looked at all.
    pub(crate) fn end(&self) -> usize {
        if self.0.start <= 1 { self.0.end } else { 0 }
    }

    /// Whether it has looked at all of these.
    pub(crate) fn has(&self, nodes: &Range<usize>) -> bool {
        self.0.start <= nodes.start && nodes.end <= self.0.end
    }

    /// Looks at those of these that it has not looked at, and says whether they are finite.
    #[inline(always)]
    pub(crate) fn look(&mut self, keys: &Rows<'_>, values: &Rows<'_>, nodes: Range<usize>) -> bool {
        if self.has(&nodes) {
            return true;
        }
        let joins = self.0.start <= nodes.start && nodes.start <= self.0.end;
        let (known, new) = if joins { (self.0.start, self.0.end) } else { (nodes.start, nodes.start) };
        self.0 = known..nodes.end;
        (new..nodes.end).all(|node| is_finite(keys.row(node)) && is_finite(values.row(node)))
    }
}

/// Whether no number is NaN or infinite.
#[inline(always)]
pub(crate) fn is_finite(x: &[f32]) -> bool {
    // 0 x is 0 for finite x and NaN for others; many sums at once, which compilers turn into vectors.
    let mut sums = [0.0f32; 32];
    let mut chunks = x.chunks_exact(32);
    for chunk in &mut chunks {
        for i in 0..32 {
            sums[i] += 0.0 * chunk[i];
        }
    }
    sums.iter().sum::<f32>() == 0.0 && chunks.remainder().iter().all(|x| x.is_finite())
}

/// The largest |x|, 0 for none; NaN is passed over.
#[inline(always)]
pub(crate) fn largest(x: &[f32]) -> f32 {
    let larger = |max: f32, x: f32| if x > max { x } else { max };
    // Many at once, as above: one alone waits for itself.
    let mut most = [0.0f32; 32];
    let mut chunks = x.chunks_exact(32);
    for chunk in &mut chunks {
        for i in 0..32 {
            most[i] = larger(most[i], chunk[i].abs());
        }
    }
    let rest = chunks.remainder().iter().fold(0.0, |max, x| larger(max, x.abs()));
    most.into_iter().fold(rest, larger)
}

/// a . b, products and sums in f64, in an order that the length alone decides.
#[inline(always)]
pub(crate) fn dot_f64(a: &[f32], b: &[f32]) -> f64 {
    const WAYS: usize = 16;
    let mut sums = [0.0f64; WAYS];
    let (mut a, mut b) = (a.chunks_exact(WAYS), b.chunks_exact(WAYS));
    for (a, b) in (&mut a).zip(&mut b) {
        for i in 0..WAYS {
            sums[i] += f64::from(a[i]) * f64::from(b[i]);
        }
    }
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    sums.iter().sum::<f64>() + rest
}

/// One row in `f32`, each number rounded once; finite numbers stay finite.
pub(crate) fn read_row(view: &TensorView<'_>, batch: usize, head: usize, row: usize, out: &mut [f32]) {
    fn convert<T: Element>(view: &View<'_, T>, batch: usize, head: usize, row: usize, out: &mut [f32]) {
        match view.row_slice(batch, head, row) {
            Some(slice) => {
                for (o, x) in out.iter_mut().zip(slice) {
                    *o = narrow(x.widen());
                }
            }
            None => {
                for (o, x) in out.iter_mut().zip(view.row(batch, head, row)) {
                    *o = narrow(x.widen());
                }
            }
        }
    }
    match view {
        TensorView::F32(view) => match view.row_slice(batch, head, row) {
            Some(slice) => out.copy_from_slice(slice),
            None => {
                for (o, x) in out.iter_mut().zip(view.row(batch, head, row)) {
                    *o = x;
                }
            }
        },
        TensorView::F64(view) => convert(view, batch, head, row, out),
        TensorView::F16(view) => convert(view, batch, head, row, out),
        TensorView::BF16(view) => convert(view, batch, head, row, out),
    }
}

/// Rounds to `f32`; a finite number stays finite.
fn narrow(x: f64) -> f32 {
    let rounded = x as f32;
    if rounded.is_finite() || !x.is_finite() { rounded } else { f32::MAX.copysign(rounded) }
}
