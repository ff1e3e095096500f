//! States a problem with irregular times, two packed documents and a sliding window, and looks at what each row sees.
//!
//!     cargo run -p contattn-core --example documents_and_windows

use contattn_core::{
    Documents, Domain, Dtype, Layout, Piece, Problem, Series, Sink, Spec, Tensor, TensorName, Timeline, Window,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Six tokens with head_dim 2, packed from documents of 2 and 4 tokens; the durations are those between the tokens.
    let tokens = Tensor::from_f64(vec![6, 2], Dtype::F32, (0..12).map(f64::from))?;
    let view = |name| tokens.view(name, Layout::Bhsd);
    let spec = Spec {
        timeline: Timeline::Durations(Series::shared(vec![1.0, 0.5, 1.0, 0.25, 2.0, 1.0])),
        documents: Some(Documents { keys: Series::shared(vec![0, 0, 1, 1, 1, 1]), queries: None }),
        window: Window::sliding(1.5),
        ..Spec::default()
    };
    let problem =
        Problem::new(view(TensorName::Query)?, view(TensorName::Key)?, view(TensorName::Value)?, Sink::Zeros, spec)?;

    let nodes = problem.nodes(0);
    let mut seen = Vec::new();
    for row in 0..problem.shape().queries {
        let Domain::Interval(interval) = problem.domain(0, row) else { panic!("every row here sees something") };
        print(&format!("row {row}, at node {}:", row + 1));
        for piece in interval.pieces(nodes) {
            let Piece::Segment { left, right, duration, part, .. } = piece else { panic!("nothing is held here") };
            print(&format!("  from node {left} to {right}, {:.3} of {duration}", part.lambda));
        }
        seen.push(interval.nodes(nodes).collect::<Vec<_>>());
    }
    // Row 2 is the first of its document: it sees its own sink (0) and itself, nothing of the document before.
    assert_eq!(seen[2], [0, 3]);
    // Row 5 looks back 1.5: over its own segment, and over a quarter of the segment of duration 2 before it.
    let Domain::Interval(last) = problem.domain(0, 5) else { unreachable!("seen above") };
    assert_eq!((*last.segments.start(), last.first_part.lambda), (5, 0.25));

    // What is wrong with a problem is named.
    let refused = Problem::new(
        view(TensorName::Query)?,
        view(TensorName::Key)?,
        view(TensorName::Value)?,
        Sink::Zeros,
        Spec { timeline: Timeline::Durations(Series::shared(vec![1.0; 5])), ..Spec::default() },
    );
    print(&format!("refused: {}", refused.err().ok_or("five durations are one too few")?));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn print(line: &str) {
    println!("{line}");
}
