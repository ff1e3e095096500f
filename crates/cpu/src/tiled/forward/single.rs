//! What single rows see beside the tiles, in f64.

use super::NOTHING;
use crate::plain::segment::part_shares;
use crate::tiled::head::{Head, SourcedPiece};
use contattn_core::Rule;

/// The score of a row with one key, in f64 from the scaled query.
pub(crate) fn single_score(q: &[f32], lanes: usize, lane: usize, key: Option<&[f32]>) -> f64 {
    let queries = q.iter().skip(lane).step_by(lanes);
    key.map_or(0.0, |key| queries.zip(key).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum())
}

/// A piece of one row: the scores at the ends of its part, and its rule's (L, R, h) there.
pub(crate) fn piece_shares(
    head: &Head<'_>,
    piece: &SourcedPiece,
    a_left: f64,
    a_right: f64,
) -> (f64, f64, crate::plain::segment::Shares<f64>) {
    match head.piece_rule(piece) {
        Rule::Step => (a_right, a_right, crate::plain::segment::shares(Rule::Step, a_left, a_right)),
        rule => part_shares(rule, a_left, a_right, &piece.part),
    }
}

/// Begins the sums of one row with its cut segments and held curve, in f64.
#[allow(clippy::too_many_arguments)]
pub(crate) fn row_pieces(
    head: &Head<'_>,
    row: usize,
    block_opening: usize,
    lane: usize,
    lanes: usize,
    q: &[f32],
    o: &mut [f32],
    m: &mut f32,
    z: &mut f32,
) {
    // At most two cut segments, two held pieces and an opening.
    let mut parts = [(0.0, 0.0, 0.0, None, None); 5];
    let mut count = 0;
    let mut top = f64::from(NOTHING);
    for piece in head.pieces(row, block_opening) {
        let a_right = single_score(q, lanes, lane, head.key(piece.right));
        let a_left =
            if piece.left == piece.right { a_right } else { single_score(q, lanes, lane, head.key(piece.left)) };
        let (from, to, shares) = piece_shares(head, &piece, a_left, a_right);
        let length = head.durations.scale(piece.part.lambda * piece.duration);
        let largest = from.max(to);
        // A score that is seen sets m also where its piece has no length, as in the tiles.
        top = top.max(largest);
        parts[count] =
            (largest, length * shares.left, length * shares.right, head.value(piece.left), head.value(piece.right));
        count += 1;
    }
    *m = top as f32;
    let mut sum = 0.0;
    for &(largest, left, right, left_value, right_value) in &parts[..count] {
        let e = libm::exp(largest - f64::from(*m));
        sum += e * (left + right);
        for (share, value) in [(left, left_value), (right, right_value)] {
            if let Some(value) = value.filter(|_| share > 0.0) {
                for (c, &x) in value.iter().enumerate() {
                    o[c * lanes + lane] += (e * share) as f32 * x;
                }
            }
        }
    }
    *z = sum as f32;
}
