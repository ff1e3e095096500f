// What a dispatch is told, the same for every kernel. `params.rs` has its twin, whose layout the build compares with this one.
struct Params {
    // query heads of a batch, and those that share a key/value head
    heads: u32,
    heads_per_kv: u32,
    // the block of q: its first head, counted over all batches, its first row, and its rows of each head
    head0: u32,
    row0: u32,
    queries: u32,
    // the block of k and v: its first key/value head, its first slot, and its slots of each head
    kv0: u32,
    slot0: i32,
    slots: u32,
    // segments that this block of k and v adds; nodes whose gradients it gathers
    segment_from: i32,
    segment_to: i32,
    owned_from: i32,
    owned_to: i32,
    // widths of rows in vectors of four
    key_vectors: u32,
    value_vectors: u32,
    // first column of the accumulators, in vectors of four
    column0: u32,
    // what workgroup 0 of the dispatch does: its number, and the head (of the block of q, or of k) that number 0 belongs to
    work0: u32,
    head_from: u32,
    // tiles of a head
    tiles: u32,
    // 1: sums go on from those in memory, 2: o is divided by Z, 4: sums are added to those in memory
    flags: u32,
    // the table: numbers of a batch (0 where all share one), and where its parts begin
    table_stride: u32,
    durations_at: u32,
    ranges_at: u32,
    records_at: u32,
    gather_at: u32,
    // records of a batch, heads of the block of q, and columns that a dispatch adds up, in vectors of four
    records: u32,
    head_count: u32,
    columns: u32,
    // of a loop that several dispatches share: where this one begins, and how far it goes
    part_from: u32,
    part_count: u32,
}

const RESUME: u32 = 1u;
const FINISH: u32 = 2u;
const ACCUMULATE: u32 = 4u;

// m of a row that has seen nothing: below any score that a shader meets
const NOTHING: f32 = -1e37;
