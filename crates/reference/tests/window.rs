//! Windows, masks and documents: two resolutions, written apart, say the same.

mod cases;
mod numbers;

use cases::{Mix, random};
use contattn_core::{Domain, MovingEdge as CoreEdge, Part, Piece as CorePiece, QueryTimes};
use contattn_reference::exact::{ExactProblem, Motion, MovingEdge, Sight};
use numbers::Numbers;

/// Velocities relative to the curve under the edge, which are all that gradients use.
fn same_motion(core: &CoreEdge, ours: &MovingEdge, n: usize, fraction: f64, exact: &rug::Rational) -> bool {
    (1..=n).all(|i| {
        let core_velocity = if core.moved_by().contains(&i) { core.velocity(i, fraction) } else { 0.0 };
        (core_velocity - ours.velocity(i, exact).to_f64()).abs() < 1e-12
    })
}

#[test]
fn same_as_core_on_random_problems() {
    let mut numbers = Numbers::new(6);
    let (mut measures, mut points, mut nothing) = (0, 0, 0);
    for round in 0..6000 {
        let case = random(&mut numbers, Mix { coarse: round % 4 != 0, ..Mix::default() });
        let problem = case.problem().unwrap();
        let exact = ExactProblem::new(&problem);
        let shape = problem.shape();
        for (batch, row) in (0..shape.batch).flat_map(|b| (0..shape.queries).map(move |r| (b, r))) {
            let domain = problem.domain(batch, row);
            let mine = exact.row(batch, 0, row);
            let context = || format!("{:?} {:?}\n{domain:?}\n{:?}", case.sink, case.spec, mine.sight());
            match (&domain, mine.sight()) {
                (Domain::Empty, Sight::Nothing) => nothing += 1,
                (Domain::Point(a), Sight::Point(b)) => {
                    points += 1;
                    let same = (a.left, a.right) == (b.left, b.right);
                    assert!(same && (a.fraction - b.fraction.to_f64()).abs() < 1e-12, "{}", context());
                }
                (Domain::Interval(interval), Sight::Measure(seen)) => {
                    measures += 1;
                    let pieces = mine.pieces();
                    let theirs: Vec<CorePiece> = interval.pieces(problem.nodes(batch)).collect();
                    assert_eq!(theirs.len(), pieces.len(), "{}", context());
                    for (a, b) in theirs.iter().zip(&pieces) {
                        let (segment, left, right, duration, part) = match *a {
                            CorePiece::Segment { segment, left, right, duration, part } => {
                                (Some(segment), left, right, duration, part)
                            }
                            CorePiece::Hold(hold) => (None, hold.node, hold.node, hold.length, Part::WHOLE),
                        };
                        assert_eq!((segment, left, right), (b.segment, b.left, b.right), "{}", context());
                        let near = |x: f64, y: &rug::Rational| (x - y.to_f64()).abs() < 1e-12;
                        assert!(near(duration, &b.duration), "{}", context());
                        assert!(near(part.alpha, &b.alpha) && near(part.beta, &b.beta), "{}", context());
                        assert!(near(part.lambda, &b.lambda()), "{}", context());
                    }
                    assert_eq!(interval.sink_place, seen.sink_place, "{}", context());
                    assert_eq!(
                        interval.places.clone().collect::<Vec<_>>(),
                        seen.places.clone().collect::<Vec<_>>(),
                        "{}",
                        context()
                    );
                    // An edge under which there is no curve that counts has no part in any gradient.
                    let under = |edge: &MovingEdge| match edge.place {
                        contattn_reference::exact::Place::Segment(i) => pieces.iter().any(|p| p.segment == Some(i)),
                        contattn_reference::exact::Place::Before(_) => seen.hold_before.is_some(),
                        contattn_reference::exact::Place::After(_) => seen.hold_after.is_some(),
                    };
                    for (core, ours, last) in
                        [(&interval.lower, &seen.lower, false), (&interval.upper, &seen.upper, true)]
                    {
                        // docs/operator.md: a given t moves with a node of the row's own stretch only, and a default t with
                        // the node at which its row sits; core looks at all nodes where t lies outside the stretch.
                        let coincident = (1..=shape.keys).any(|i| exact.times(batch).duration(i).is_zero());
                        let given = case.spec.query_times != QueryTimes::LastNodes;
                        let outside = case.spec.documents.is_some() && (coincident || given);
                        if !under(ours) || (outside && matches!(ours.motion, Motion::WithNode(_) | Motion::Fixed)) {
                            continue;
                        }
                        let (x, y) = if last {
                            (interval.last_part.beta, &seen.beta)
                        } else {
                            (interval.first_part.alpha, &seen.alpha)
                        };
                        assert!(same_motion(core, ours, shape.keys, x, y), "{last} {core:?} {ours:?} {}", context());
                    }
                }
                _ => panic!("{}", context()),
            }
        }
    }
    assert!(measures > 3000 && points > 200 && nothing > 500, "{measures} {points} {nothing}");
}
