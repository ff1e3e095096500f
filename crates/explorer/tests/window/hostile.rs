use super::desk::{command, notices, settle, show, usual, window, window_with};
use contattn_core::{Dtype, Rule};
use contattn_explorer::logic::command::{Command, Edit};
use contattn_explorer::logic::document::Session;
use contattn_explorer::logic::preset::Preset;
use contattn_explorer::logic::state::{LowerEdge, Row, SinkChoice, UpperEdge};
use contattn_explorer::run::view_names;
use eframe::egui::vec2;
use egui_kittest::Harness;

/// A window of 200 x 150, and smaller still, shows every view without a panic.
#[test]
fn tiny_windows() {
    for size in [vec2(200.0, 150.0), vec2(40.0, 30.0)] {
        let mut window = window(size);
        for view in view_names() {
            show(&mut window, view);
        }
        window.set_size(vec2(3000.0, 60.0));
        settle(&mut window);
        window.set_size(vec2(60.0, 2000.0));
        settle(&mut window);
    }
}

/// Combinations of settings that no sensible person would choose.
#[test]
fn absurd_combinations() {
    let mut window = usual();
    let huge = Row { keys: vec![0.0, 1e12, -1e12, 1e-300, 5e-324, 1e12], ..six() };
    let together = Row { times: vec![0.0; 6], ..six() };
    let far = Row { times: vec![-1e12, -1e12, 0.0, 1e-12, 1e12, 1e12], ..six() };
    let silent = Row { query: 0.0, ..six() };
    for row in [huge, together, far, silent, Preset::Huge.row()] {
        command(&mut window, Edit::Row(Box::new(row)));
        for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(8)] {
            for (lower, upper) in [
                (LowerEdge::Start, UpperEdge::End),
                (LowerEdge::At(-1e12), UpperEdge::At(1e12)),
                (LowerEdge::At(2.5), UpperEdge::At(2.5)),
                (LowerEdge::Sliding(0.0), UpperEdge::Query(-1e12)),
            ] {
                for edit in [
                    Edit::Rule(rule),
                    Edit::Upper(upper),
                    Edit::Lower(lower),
                    Edit::Sink(SinkChoice::Copy),
                    Edit::Digits(200),
                    Edit::Dtype(Dtype::F16),
                ] {
                    let state = window.state().state().clone();
                    let mut changed = state;
                    edit.clone().apply(&mut changed);
                    assert_eq!(changed.check(), Ok(()));
                    let mut commands = contattn_explorer::ui::Commands::default();
                    commands.send(edit);
                    let ctx = window.ctx.clone();
                    window.state_mut().run(&ctx, commands);
                }
                settle(&mut window);
            }
        }
    }
    // Whatever it was, undo leads out of it.
    for _ in 0..400 {
        let mut commands = contattn_explorer::ui::Commands::default();
        commands.send(Command::Undo);
        let ctx = window.ctx.clone();
        window.state_mut().run(&ctx, commands);
    }
    settle(&mut window);
    assert_eq!(window.state().state().row, Preset::default().row());
}

fn six() -> Row {
    let mut row = Preset::Spike.row();
    row.times.truncate(6);
    row.keys.truncate(6);
    row.values.truncate(6);
    row
}

/// A row of thousands of nodes is evaluated, drawn and dragged.
#[test]
fn a_long_row() {
    let n = 4097;
    let mut window = usual();
    let row = Row {
        times: (0..n).map(f64::from).collect(),
        keys: (0..n).map(|i| (f64::from(i) * 0.7).sin() * 3.0).collect(),
        values: vec![1.0; n as usize],
        ..Preset::Spike.row()
    };
    command(&mut window, Edit::Row(Box::new(row)));
    command(&mut window, Edit::Key(4000, 9.0));
    assert_eq!(window.state().state().row.keys[4000], 9.0);
}

/// Files that are none, and files with something else in them: a notice says what to do, and the view stays as it was.
#[test]
fn bad_files() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let mut window = usual();
    show(&mut window, "Matrix");
    let before = window.state().document();
    let paths = [
        put("empty.npz", b""),
        put("lies.safetensors", b"\xff\xff\xff\xff\xff\xff\xff\x7f{}"),
        put("text.npy", b"not an array"),
        put("heads.txt", b"q k v"),
        folder.path().join("absent.npz"),
        folder.path().to_owned(),
    ];
    for path in paths {
        command(&mut window, Command::Open(path.clone()));
        let told = notices(&window);
        assert!(!told.is_empty(), "{}", path.display());
        assert_eq!(window.state().document(), before, "{}", path.display());
    }
    let advice = &window.state().notices().list()[0].advice;
    assert!(advice.contains("NAME.q"), "{advice}");
}

/// Layers whose tensors do not fit together are refused by name.
#[test]
fn files_that_do_not_fit() {
    use contattn_core::file::{Array, write_many};
    let folder = tempfile::tempdir().unwrap();
    let array = |shape: &[usize]| Array::new(shape.to_vec(), vec![0.5f32; shape.iter().product()].into()).unwrap();
    let mut window = usual();
    let shapes: [[&[usize]; 3]; 6] = [
        [&[1, 3, 4, 8], &[1, 2, 4, 8], &[1, 2, 4, 8]],
        [&[1, 2, 4, 8], &[1, 2, 4, 6], &[1, 2, 4, 8]],
        [&[1, 2, 4, 8], &[1, 2, 4, 8], &[1, 2, 5, 8]],
        [&[4], &[4], &[4]],
        [&[1, 2, 0, 8], &[1, 2, 0, 8], &[1, 2, 0, 8]],
        [&[2, 2, 4, 8], &[1, 2, 4, 8], &[1, 2, 4, 8]],
    ];
    for (at, [q, k, v]) in shapes.into_iter().enumerate() {
        let path = folder.path().join(format!("{at}.safetensors"));
        let (q, k, v) = (array(q), array(k), array(v));
        write_many(&path, &[("q", &q), ("k", &k), ("v", &v)], &Default::default()).unwrap();
        command(&mut window, Command::Open(path.clone()));
        assert!(notices(&window).iter().any(|what| what.contains(&format!("{at}.safetensors"))), "{at}");
    }
    // What fits is taken: numbers that are not finite too.
    let path = folder.path().join("nan.safetensors");
    let q = Array::new(vec![1, 1, 4, 2], vec![f32::NAN, 1.0, f32::INFINITY, 0.0, 1.0, 2.0, 3.0, 4.0].into()).unwrap();
    write_many(&path, &[("q", &q), ("k", &q), ("v", &q)], &Default::default()).unwrap();
    command(&mut window, Command::Open(path));
    for view in view_names() {
        show(&mut window, view);
    }
}

/// A remembered session that cannot be shown is told, and the explorer begins as at first.
#[test]
fn hostile_sessions() {
    let mut session = Session::default();
    session.document.state.row.times.clear();
    session.document.panels.insert("Matrix".to_owned(), serde_json::json!({ "quantity": 17 }));
    session.zoom = Some(f32::NAN);
    let mut window = window_with(Harness::builder(), session);
    assert_eq!(window.state().state().row, Preset::default().row());
    assert_eq!(notices(&window).len(), 1);
    let mut session = Session::default();
    session.document.panels.insert("Matrix".to_owned(), serde_json::json!({ "quantity": 17 }));
    session.document.panels.insert("Of another version".to_owned(), serde_json::json!([1, 2]));
    window.state_mut().show_session(session);
    settle(&mut window);
    assert!(notices(&window).iter().any(|what| what.contains("Matrix")));
}

/// Layouts that lead nowhere, or in circles.
#[test]
fn hostile_layouts() {
    let good = serde_json::to_value(usual().state().session().layout).unwrap().to_string();
    let mut taken = 0;
    for (from, to) in
        [("Operator", "Nothing"), ("Matrix", "Operator"), ("\"root\":", "\"root\":9"), ("[", "[7,"), ("1", "2")]
    {
        let text = good.replace(from, to);
        let Ok(layout) = serde_json::from_str(&text) else { continue };
        taken += 1;
        let session = Session { layout, ..Session::default() };
        let mut window = window_with(Harness::builder(), session);
        for view in view_names() {
            show(&mut window, view);
            assert!(window.state().shown().iter().any(|name| name == view), "{from} -> {to}: {view}");
        }
    }
    assert!(taken > 1);
}

/// Threads that ended are started again, and it is told.
#[test]
fn a_closed_worker_is_started_again() {
    let mut window = usual();
    window.state_mut().worker_mut().close();
    command(&mut window, Edit::Key(2, 1.5));
    assert!(notices(&window).iter().any(|what| what.contains("started again")));
    let mut exported = false;
    window.state().with_shared(&contattn_explorer::ui::theme::Theme::new(false), |shared, panels| {
        exported = panels.iter().any(|panel| panel.name() == "Operator" && panel.export(shared).is_some());
    });
    assert!(exported);
}
