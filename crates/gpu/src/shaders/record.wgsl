// Records of pieces and of moving edges, and what the rule gives there: the twin of the CPU's `piece_shares`.

const CUT: u32 = 0u;
const HELD: u32 = 1u;
const UPPER: u32 = 2u;
const LOWER: u32 = 3u;
const UPPER_HELD: u32 = 4u;
const LOWER_HELD: u32 = 5u;

struct Record {
    row: u32,
    left: i32,
    right: i32,
    kind: u32,
    length: f32,
    alpha: f32,
    not_alpha: f32,
    beta: f32,
    not_beta: f32,
    lambda: f32,
}

// Scores of the two nodes, and at the two ends of the part.
struct Ends {
    left: f32,
    right: f32,
    from_score: f32,
    to_score: f32,
}

fn read_record(base: u32, index: u32) -> Record {
    let at = base + params.records_at + 12u * index;
    return Record(
        table[at],
        i32(table[at + 1u]),
        i32(table[at + 2u]),
        table[at + 3u],
        bitcast<f32>(table[at + 4u]),
        bitcast<f32>(table[at + 5u]),
        bitcast<f32>(table[at + 6u]),
        bitcast<f32>(table[at + 7u]),
        bitcast<f32>(table[at + 8u]),
        bitcast<f32>(table[at + 9u]),
    );
}

fn owns(record: Record) -> bool {
    return record.right >= params.segment_from && record.right <= params.segment_to;
}

fn score(query: u32, key: u32) -> f32 {
    var a = 0.0;
    for (var c = 0u; c < params.key_vectors; c += 1u) {
        let x = q[query + c];
        let y = k[key + c];
        a = fma(x.x, y.x, a);
        a = fma(x.y, y.y, a);
        a = fma(x.z, y.z, a);
        a = fma(x.w, y.w, a);
    }
    return a;
}

// The score at place u of a segment, from the nearer end.
fn interpolate(left: f32, right: f32, u: f32, not_u: f32) -> f32 {
    let x = right - left;
    let a = select(right - x * not_u, left + x * u, u < 0.5);
    return clamp(a, min(left, right), max(left, right));
}

fn record_scores(record: Record, query: u32, kv_row: u32) -> Ends {
    let right = score(query, (kv_row + u32(record.right - params.slot0)) * params.key_vectors);
    if record.left == record.right {
        return Ends(right, right, right, right);
    }
    let left = score(query, (kv_row + u32(record.left - params.slot0)) * params.key_vectors);
    #if READS_LEFT
    return Ends(
        left,
        right,
        interpolate(left, right, record.alpha, record.not_alpha),
        interpolate(left, right, record.beta, record.not_beta),
    );
    #else
    return Ends(left, right, right, right);
    #end
}

// L, R and h of a part of unit length, in units of e^m:
//
//     L = L'(1-alpha) + R'(1-beta)     R = L' alpha + R' beta     h = alpha(1-alpha) L' + beta(1-beta) R' + lambda^2 h'
fn record_shares(record: Record, ends: Ends, m: f32) -> Diffusing {
    let e0 = exp_of(min(ends.from_score - m, 80.0));
    let e1 = exp_of(min(ends.to_score - m, 80.0));
    if record.left == record.right {
        return Diffusing(0.0, e1, 0.0);
    }
    #if READS_LEFT
    let own = rule_diffusing(ends.to_score - ends.from_score, e0, e1);
    return Diffusing(
        own.left * record.not_alpha + own.right * record.not_beta,
        own.left * record.alpha + own.right * record.beta,
        record.alpha * record.not_alpha * own.left
            + record.beta * record.not_beta * own.right
            + record.lambda * record.lambda * own.diffusion,
    );
    #else
    return Diffusing(0.0, e1, 0.0);
    #end
}
