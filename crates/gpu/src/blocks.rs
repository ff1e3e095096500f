//! How tensors are split into buffers that a shader can see: 128 MiB by WebGPU's default limits.
//!
//! ```text
//!   queries   whole heads as long as they fit, or rows of one head
//!   keys      whole key/value heads, or slots of one: neighbouring blocks share two, so that each segment and each node with its two
//!             segments lies in one of them
//! ```

use std::ops::Range;

/// Query heads, or rows of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryBlock {
    /// counted over all batches
    pub(crate) heads: Range<usize>,
    pub(crate) rows: Range<usize>,
}

/// Key/value heads, or slots of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyBlock {
    /// counted over all batches
    pub(crate) heads: Range<usize>,
    pub(crate) slots: Range<usize>,
    /// segments that it adds: each is in one block
    pub(crate) segments: Range<usize>,
    /// slots whose gradients it gathers: each is in one block
    pub(crate) owned: Range<usize>,
}

/// Rows of a query block begin at a multiple of this: of the longest tile.
const ALIGN: usize = 64;
/// Slots that neighbouring key blocks share.
const OVERLAP: usize = 2;

/// Blocks of at most `limit` bytes, where a row takes `bytes`; a multiple of the longest tile in any case.
pub(crate) fn queries(heads: usize, rows: usize, bytes: u64, limit: u64) -> Vec<QueryBlock> {
    let fitting = usize::try_from(limit / bytes.max(1)).unwrap_or(usize::MAX);
    if rows == 0 {
        return Vec::new();
    }
    if rows <= fitting {
        let together = fitting / rows;
        return steps(heads, together).map(|heads| QueryBlock { heads, rows: 0..rows }).collect();
    }
    let together = (fitting / ALIGN * ALIGN).max(ALIGN);
    (0..heads)
        .flat_map(|head| steps(rows, together).map(move |rows| QueryBlock { heads: head..head + 1, rows }))
        .collect()
}

/// The same for keys, as lists of blocks that hold one range of heads.
pub(crate) fn keys(heads: usize, slots: usize, bytes: u64, limit: u64) -> Vec<Vec<KeyBlock>> {
    let fitting = usize::try_from(limit / bytes.max(1)).unwrap_or(usize::MAX);
    if slots <= fitting {
        let together = fitting / slots.max(1);
        let block = |heads| vec![KeyBlock { heads, slots: 0..slots, segments: 0..slots, owned: 0..slots }];
        return steps(heads, together).map(block).collect();
    }
    let size = fitting.max(OVERLAP + 2);
    let mut ranges = Vec::new();
    let mut from = 0;
    loop {
        let to = (from + size).min(slots);
        ranges.push(from..to);
        if to == slots {
            break;
        }
        from = to - OVERLAP;
    }
    let last = ranges.len() - 1;
    let block = |head: usize, at: usize, slots: &Range<usize>| KeyBlock {
        heads: head..head + 1,
        slots: slots.clone(),
        // The segment at the end of the shared slots was the last of the block before; its nodes each have their halo.
        segments: if at == 0 { 0 } else { slots.start + OVERLAP }..slots.end,
        owned: if at == 0 { 0 } else { slots.start + 1 }..if at == last { slots.end } else { slots.end - 1 },
    };
    (0..heads).map(|head| ranges.iter().enumerate().map(|(at, slots)| block(head, at, slots)).collect()).collect()
}

fn steps(length: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    let step = step.max(1);
    (0..length.div_ceil(step)).map(move |i| i * step..((i + 1) * step).min(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_block() {
        for (heads, rows, limit) in
            [(3, 1000, 100), (3, 100, 250), (5, 7, 1_000_000), (1, 1, 1), (4, 0, 10), (0, 5, 10)]
        {
            let mut seen = vec![0; heads * rows];
            for block in queries(heads, rows, 1, limit) {
                assert!(block.rows.start % ALIGN == 0 && (block.heads.len() == 1 || block.rows == (0..rows)));
                for head in block.heads {
                    for row in block.rows.clone() {
                        seen[head * rows + row] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|&count| count == 1));
        }
    }

    #[test]
    fn every_segment_and_every_node_has_one_block_that_holds_its_neighbours() {
        for (heads, slots, limit) in
            [(2, 100, 10), (2, 10, 25), (1, 11, 5), (1, 4, 1), (3, 0, 10), (1, 1, 100), (1, 9, 8)]
        {
            let (mut segments, mut owned) = (vec![0; heads * slots], vec![0; heads * slots]);
            for block in keys(heads, slots, 1, limit).into_iter().flatten() {
                for head in block.heads {
                    for i in block.segments.clone() {
                        segments[head * slots + i] += 1;
                        assert!(block.slots.contains(&i) && (i == 0 || block.slots.contains(&(i - 1))));
                    }
                    for i in block.owned.clone() {
                        owned[head * slots + i] += 1;
                        let all = i.saturating_sub(1)..(i + 2).min(slots);
                        assert!(block.slots.start <= all.start && all.end <= block.slots.end);
                    }
                }
            }
            assert!(segments.iter().chain(&owned).all(|&count| count == 1), "{segments:?} {owned:?}");
        }
    }
}
