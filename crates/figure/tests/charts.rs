//! What charts draw, checked on shapes, pixels and the numbers that leave again.

use contattn_figure::{
    Axis, Chart, ColorScale, Figure, FigureError, Group, Heatmap, Histogram, Ink, Layer, Marker, Matrix, PALETTE,
    Panels, Point, Shape, Sheet, csv, png, png_at, save, svg,
};

const HARD: [f64; 12] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 5e-324, -1e-300, 1e300, -f64::MAX, f64::MAX, 1.0, -3.5];

fn coordinates(shape: &Shape) -> Vec<Point> {
    match shape {
        Shape::Line { points, .. } | Shape::Polygon { points, .. } => points.clone(),
        Shape::Disc { center: at, .. } | Shape::Text { at, .. } | Shape::Image { at, .. } => vec![*at],
    }
}

/// Every kind of layer with the same numbers.
fn everything(points: &[(f64, f64)], x: Axis, y: Axis) -> Chart {
    let heights: Vec<f64> = points.iter().map(|point| point.1).collect();
    Chart::new("all of it")
        .caption("with words below that are long enough to need a second line in a chart of this width, and so they have one")
        .x(x)
        .y(y)
        .with(Layer::line("line", points.iter().copied()).marked(Marker::Triangle))
        .with(Layer::line("bare", points.iter().copied()))
        .with(Layer::points("points", points.iter().copied()).marked(Marker::Cross))
        .with(Layer::area("area", points.iter().map(|(x, y)| (*x, 0.0, *y))))
        .with(Layer::bars("bars", heights.iter().copied()))
        .with(Layer::bars_at("bars at", points.iter().copied()))
        .with(Layer::histogram("histogram", Histogram::of(&heights, 5)))
        .with(Layer::vertical("up", points.first().map_or(0.0, |point| point.0)))
        .with(Layer::horizontal("across", points.first().map_or(0.0, |point| point.1)))
        .with(Layer::note("note", 1.0, 1.0))
}

/// Whatever the numbers, a chart is drawn, on the sheet and nowhere else.
#[test]
fn any_numbers_give_a_picture() {
    let mut sets: Vec<Vec<(f64, f64)>> = vec![vec![], HARD.iter().map(|x| (*x, *x)).collect()];
    for a in HARD {
        sets.push(vec![(a, a)]);
        sets.push(vec![(a, a); 3]);
        sets.extend(HARD.iter().map(|b| vec![(a, *b), (*b, a), (1.0, a)]));
    }
    sets.push(vec![(1e-300, 1e300), (1e300, 1e-300)]);
    for points in &sets {
        for (x, y) in [
            (Axis::new("x"), Axis::new("y")),
            (Axis::log("x"), Axis::log("y")),
            (Axis::new("x").range(0.0, 1.0), Axis::log("y").range(1e-300, 1e300)),
            (Axis::new("x").named(["a", "b"]), Axis::new("y").range(-1e-300, 1e-300)),
        ] {
            let chart = everything(points, x, y);
            let picture = chart.picture();
            let (width, height) = (f64::from(picture.width), f64::from(picture.height));
            for shape in &picture.shapes {
                for (x, y) in coordinates(shape) {
                    assert!((0.0..=width).contains(&x) && (0.0..=height).contains(&y), "{points:?}: {shape:?}");
                }
            }
            svg(&chart).unwrap();
            csv(&chart).unwrap();
        }
    }
    for points in sets.iter().step_by(11) {
        png_at(&everything(points, Axis::new("x"), Axis::log("y")), 0.5).unwrap();
    }
}

#[test]
fn the_same_description_gives_the_same_bytes() {
    let points: Vec<(f64, f64)> = (0..50).map(|i| (f64::from(i), (f64::from(i) * 0.37).sin())).collect();
    let make = || {
        Panels::new("two", 2)
            .with(everything(&points, Axis::new("x"), Axis::new("y")))
            .with(Chart::new("second").with(Layer::line("l", points.iter().copied())))
    };
    assert_eq!(png(&make()).unwrap(), png(&make()).unwrap());
    assert_eq!(svg(&make()).unwrap(), svg(&make()).unwrap());
    assert_eq!(csv(&make()).unwrap(), csv(&make()).unwrap());
    let other = Chart::new("second").with(Layer::line("l", points.iter().map(|(x, y)| (*x, y + 0.01))));
    let first = Chart::new("second").with(Layer::line("l", points.iter().copied()));
    assert_ne!(csv(&first).unwrap(), csv(&other).unwrap());
}

fn lines_of(chart: &Chart, color: (u8, u8, u8)) -> Vec<Vec<Point>> {
    let own = |shape: &Shape| match shape {
        Shape::Line { points, paint, .. } if paint.color == color => Some(points.clone()),
        _ => None,
    };
    chart.picture().shapes.iter().filter_map(own).collect()
}

/// The ends of an axis and everything between are where they belong.
#[test]
fn numbers_stand_in_their_places() {
    for (axis, numbers) in [
        (Axis::new("y").range(-2.0, 6.0), [-2.0, 0.0, 2.0, 6.0]),
        (Axis::log("y").range(1e-4, 1e4), [1e-4, 1e-2, 1.0, 1e4]),
    ] {
        let points = [0.0, 0.25, 0.5, 1.0].iter().copied().zip(numbers);
        let chart = Chart::new("")
            .x(Axis::new("").range(0.0, 1.0))
            .y(axis)
            .without_legend()
            .with(Layer::line("l", points).ink(Ink::Rgb((1, 2, 3))));
        let line = lines_of(&chart, (1, 2, 3)).remove(0);
        let field = chart.field();
        for (at, (t, number)) in line.iter().zip([0.0, 0.25, 0.5, 1.0].iter().zip(numbers)) {
            let (x, y) = field.numbers(*at).unwrap();
            assert!((x - t).abs() < 1e-9 && (y - number).abs() < 1e-9 * number.abs().max(1e-4), "{x} {y}");
            assert_eq!(field.place((*t, number)), Some(*at));
        }
        assert_eq!(field.numbers((0.0, 0.0)), None);
        let (left, right, low, high) = (line[0].0, line[3].0, line[0].1, line[3].1);
        assert!(right > left && low > high);
        for (point, t) in line.iter().zip([0.0, 0.25, 0.5, 1.0]) {
            assert!((point.0 - (left + t * (right - left))).abs() < 1e-9);
            assert!((point.1 - (low + t * (high - low))).abs() < 1e-9, "{line:?}");
        }
    }
}

#[test]
fn a_number_that_is_none_splits_a_line() {
    let points = [(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, 0.5), (5.0, f64::NAN), (6.0, 1.0)];
    let chart = Chart::new("").without_legend().with(Layer::line("l", points).ink(Ink::Rgb((1, 2, 3))));
    assert_eq!(lines_of(&chart, (1, 2, 3)).iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    // The point between two gaps is a dot.
    let dots = chart.picture().shapes.iter().filter(|shape| matches!(shape, Shape::Disc { .. })).count();
    assert_eq!(dots, 1);
    let sound = Chart::new("")
        .without_legend()
        .with(Layer::line("l", points.map(|(x, y)| (x, if y.is_nan() { 1.0 } else { y }))).ink(Ink::Rgb((1, 2, 3))));
    assert_eq!(lines_of(&sound, (1, 2, 3)).len(), 1);
}

/// Bars' areas are in proportion to their numbers, and groups do not overlap.
#[test]
fn bars_measure_their_numbers() {
    let heights = [[1.0, 2.0, -0.5], [0.5, 3.0, 1.0]];
    let chart = Chart::new("").without_legend().with(Layer::bars("a", heights[0])).with(Layer::bars("b", heights[1]));
    let mut unit = Vec::new();
    let mut spans = Vec::new();
    let picture = chart.picture();
    for (series, heights) in heights.iter().enumerate() {
        let bars = picture.shapes.iter().filter_map(|shape| match shape {
            Shape::Polygon { points, paint } if paint.color == PALETTE[series] => Some(points),
            _ => None,
        });
        for (corners, height) in bars.zip(heights) {
            let (xs, ys): (Vec<f64>, Vec<f64>) = corners.iter().copied().unzip();
            let ends = |v: &[f64]| v.iter().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
            let ((left, right), (top, bottom)) = (ends(&xs), ends(&ys));
            unit.push((bottom - top) / height.abs());
            spans.push((left, right));
        }
    }
    assert_eq!(unit.len(), 6);
    assert!(unit.iter().all(|u| (u - unit[0]).abs() < 1e-9), "{unit:?}");
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-9), "{spans:?}");
}

#[test]
fn legends_name_what_is_shown() {
    let chart = Chart::new("t").with(Layer::line("one & two", [(0.0, 1.0)])).with(Layer::line("", [(0.0, 1.0)]));
    let text = svg(&chart).unwrap();
    assert!(text.contains("one &amp; two"));
    assert!(!svg(&chart.without_legend()).unwrap().contains("one &amp; two"));
    // Many names take several rows and stay inside.
    let mut many = Chart::new("t");
    for i in 0..40 {
        many = many.with(Layer::line(format!("series number {i}"), [(0.0, f64::from(i)), (1.0, 2.0)]));
    }
    for shape in many.picture().shapes {
        assert!(coordinates(&shape).iter().all(|p| p.0 <= 560.0), "{shape:?}");
    }
}

/// Every number comes back from the file as it was, to the last bit.
#[test]
fn csv_holds_every_bit() {
    let points: Vec<(f64, f64)> = (0..200u64)
        .map(|i| (i as f64 / 7.0, f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
        .chain(HARD.map(|x| (0.1, x)))
        .collect();
    let chart = Chart::new("a, \"b\"\nc").with(Layer::line("l", points.iter().copied()));
    let text = csv(&chart).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), points.len());
    for (row, (x, y)) in rows.iter().zip(&points) {
        assert_eq!(&row[0], "a, \"b\"\nc");
        assert_eq!(row[3].parse::<f64>().unwrap().to_bits(), x.to_bits());
        let back: f64 = row[4].parse().unwrap();
        assert!(back.to_bits() == y.to_bits() || (back.is_nan() && y.is_nan()), "{y} {back}");
    }
}

#[test]
fn csv_of_maps_and_panels() {
    let map = Heatmap::new(Matrix::new(1, 2, vec![0.25, f64::NAN]).unwrap())
        .titled("head 3")
        .labelled(vec!["q".into()], vec!["k".into(), "l".into()]);
    let group = Group { label: "weights".into(), scale: ColorScale::linear(0.0, 1.0), maps: vec![map] };
    let sheet = Sheet { title: "s".into(), caption: String::new(), rows: vec![vec![group]] };
    let area = Chart::new("c").with(Layer::area("hat", [(0.0, 0.5, 1.0)])).with(Layer::bars("b", [2.0]));
    let area = area.x(Axis::new("").named(["first"])).with(Layer::horizontal("limit", 0.05));
    let text = csv(&Panels::new("p", 1).with(sheet).with(area)).unwrap();
    let expected = "panel,series,kind,x,y,low,high,value,x_name,y_name\n\
        weights,head 3,cell,0.0,0.0,,,0.25,k,q\n\
        weights,head 3,cell,1.0,0.0,,,NaN,l,q\n\
        c,hat,area,0.0,,0.5,1.0,,,\n\
        c,b,bar,0.0,2.0,,,,first,\n\
        c,limit,rule,,0.05,,,,,\n";
    assert_eq!(text, expected);
}

#[test]
fn sizes_and_scales_are_bounded() {
    let chart = |w, h| Chart::new("t").sized(w, h).with(Layer::line("l", [(0.0, 1.0), (1.0, 2.0)]));
    for (w, h) in [(0, 0), (1, 1000), (121, 101), (4000, 100)] {
        let bytes = png_at(&chart(w, h), 1.0).unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        assert_eq!((reader.info().width, reader.info().height), (w.max(120), h.max(100)));
    }
    for scale in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
        assert!(matches!(png_at(&chart(200, 200), scale), Err(FigureError::Scale(_))));
    }
    assert!(matches!(png_at(&chart(200, 200), f64::INFINITY), Err(FigureError::TooLarge { .. })));
    assert!(matches!(svg(&chart(u32::MAX, u32::MAX)), Err(FigureError::TooLarge { .. })));
    assert!(png(&Panels::new("", 0)).is_ok());
}

#[test]
fn files_are_written_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let chart = Chart::new("t").with(Layer::line("l", [(0.0, 1.0)]));
    for (name, begin) in [("a.png", &b"\x89PNG"[..]), ("a.svg", b"<svg"), ("a.csv", b"panel,")] {
        save(&chart, &folder.path().join(name)).unwrap();
        assert!(std::fs::read(folder.path().join(name)).unwrap().starts_with(begin));
    }
    assert!(matches!(save(&chart, &folder.path().join("a.pdf")), Err(FigureError::Format(_))));
}
