// What kernels over tiles have in common: which nodes and segments of a tile a row sees.
//
// A tile has SIDE nodes as its columns. Column j ends segment j, which joins it to column j - 1; the segment of column 0 belongs to
// another tile, but for the rule Step, whose segments read their own node alone. `first` and `last` are the first and the last segment
// that a row sees, counted in columns.

fn sees_node(column: i32, first: i32, last: i32) -> bool {
    return column >= first - LEFT && column <= last;
}

fn sees_segment(column: i32, first: i32, last: i32) -> bool {
    return column >= max(first, LEFT) && column <= last && column < i32(SIDE);
}

// Where the numbers of a batch begin in the table.
fn table_of(global_head: u32) -> u32 {
    return (global_head / params.heads) * params.table_stride;
}

// First and last segment of a row of the block of q; none where the first lies beyond the last.
fn segments_of(base: u32, row: u32) -> vec2<i32> {
    var seen = vec2<i32>(0x7fffffff, -1);
    if row < params.queries {
        let at = base + 4u * (params.row0 + row);
        let first = max(i32(table[at]), params.segment_from);
        let last = min(i32(table[at + 1u]), params.segment_to);
        if first <= last {
            seen = vec2<i32>(first, last);
        }
    }
    return seen;
}
