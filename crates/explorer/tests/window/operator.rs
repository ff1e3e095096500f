use super::desk::{command, drag, is_there, place, says, settle, usual, with_preset};
use contattn_explorer::logic::command::{Command, Edit};
use contattn_explorer::logic::preset::Preset;
use contattn_explorer::logic::state::{LowerEdge, SinkChoice, UpperEdge};
use eframe::egui::{Event, Key, Modifiers, PointerButton, vec2};
use egui_kittest::kittest::Queryable;

/// A drag moves one score, and is one step of undo, exactly.
#[test]
fn a_drag_is_one_step() {
    let mut window = with_preset(Preset::Spike);
    let before = window.state().state().row.clone();
    let node = place(&window, "Node 4, score");
    drag(&mut window, node, vec2(0.0, 60.0));
    let row = window.state().state().row.clone();
    assert!(row.keys[4] < before.keys[4] - 0.2, "{}", row.keys[4]);
    assert_eq!((&row.keys[..4], &row.keys[5..]), (&before.keys[..4], &before.keys[5..]));
    assert!(row.edited);
    window.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut window);
    assert_eq!(window.state().state().row, before);
    window.key_press_modifiers(Modifiers::COMMAND, Key::Y);
    settle(&mut window);
    assert_eq!(window.state().state().row, row);
}

#[test]
fn clicks_add_remove_and_type() {
    let mut window = with_preset(Preset::Spike);
    let n = window.state().state().row.len();
    let (a, b) = (place(&window, "Node 2, score"), place(&window, "Node 3, score"));
    let between = a + (b - a) * 0.5 - vec2(0.0, 30.0);
    window.hover_at(between);
    window.run_ok();
    window.drag_at(between);
    window.drop_at(between);
    settle(&mut window);
    let row = window.state().state().row.clone();
    assert_eq!(row.len(), n + 1);
    assert!(row.times[3] > 2.3 && row.times[3] < 2.7 && row.keys[3] > 0.1, "{} {}", row.times[3], row.keys[3]);
    let node = place(&window, "Node 3, score");
    window.hover_at(node);
    window.run_ok();
    for pressed in [true, false] {
        let modifiers = Modifiers::NONE;
        window.event(Event::PointerButton { pos: node, button: PointerButton::Secondary, pressed, modifiers });
    }
    settle(&mut window);
    assert_eq!(window.state().state().row.len(), n);
    // A double click asks for a number, to the last digit.
    let node = place(&window, "Node 4, score");
    window.hover_at(node);
    // Long enough after the clicks before not to count as a third.
    window.run_steps(60);
    for pressed in [true, false, true, false] {
        let modifiers = Modifiers::NONE;
        window.event(Event::PointerButton { pos: node, button: PointerButton::Primary, pressed, modifiers });
    }
    settle(&mut window);
    let field = window.get_by_label("Value, typed");
    field.focus();
    window.key_press_modifiers(Modifiers::COMMAND, Key::A);
    window.run_ok();
    window.get_by_label("Value, typed").type_text("1.2345678901234567");
    window.run_ok();
    window.key_press(Key::Enter);
    settle(&mut window);
    assert_eq!(window.state().state().row.keys[4], 1.2345678901234567);
    assert!(!is_there(&window, "Value, typed"));
}

#[test]
fn arrow_keys_move_a_node() {
    let mut window = with_preset(Preset::Spike);
    window.get_by(|node| node.label().is_some_and(|l| l.starts_with("Node 4, score"))).focus();
    settle(&mut window);
    window.key_press(Key::ArrowUp);
    settle(&mut window);
    assert_eq!(window.state().state().row.keys[4], 4.1);
    window.key_press(Key::Delete);
    settle(&mut window);
    assert_eq!(window.state().state().row.len(), Preset::Spike.row().len() - 1);
}

/// The sink's number follows from its kind; given, it is dragged.
#[test]
fn the_sink_moves_when_it_is_given() {
    let mut window = with_preset(Preset::Spike);
    let sink = place(&window, "Node 0, score");
    drag(&mut window, sink, vec2(0.0, -50.0));
    assert_eq!(window.state().state().row, Preset::Spike.row());
    command(&mut window, Edit::Sink(SinkChoice::Given));
    let sink = place(&window, "Node 0, score");
    drag(&mut window, sink, vec2(0.0, -50.0));
    assert!(window.state().state().row.keys[0] > 0.1);
    command(&mut window, Edit::Sink(SinkChoice::Absent));
    assert!(!is_there(&window, "Node 0, score"));
}

#[test]
fn times_and_values_are_dragged_too() {
    let mut window = with_preset(Preset::Spike);
    window.get_by_label("time").click();
    settle(&mut window);
    let node = place(&window, "Node 4, score");
    drag(&mut window, node, vec2(12.0, 0.0));
    let row = window.state().state().row.clone();
    assert!(row.times[4] > 4.05 && row.times[4] <= 5.0 && row.keys == Preset::Spike.row().keys);
    // It stays between its neighbours.
    let node = place(&window, "Node 4, score");
    drag(&mut window, node, vec2(900.0, 0.0));
    assert_eq!(window.state().state().row.times[4], 5.0);
    window.get_by_label("value v").click();
    settle(&mut window);
    let node = place(&window, "Node 6, value");
    drag(&mut window, node, vec2(0.0, -30.0));
    assert!(window.state().state().row.values[6] > row.values[6]);
}

/// The edge of a window is dragged into a segment.
#[test]
fn the_edge_of_the_window_is_dragged() {
    let mut window = with_preset(Preset::Ramp);
    command(&mut window, Edit::Lower(LowerEdge::At(2.0)));
    let handle = place(&window, "Lower edge of the window, handle");
    drag(&mut window, handle, vec2(25.0, 0.0));
    let LowerEdge::At(t) = window.state().state().lower else { panic!("an edge at a time") };
    assert!(t > 2.1 && t < 4.0, "{t}");
    command(&mut window, Edit::Upper(UpperEdge::Query(0.0)));
    command(&mut window, Edit::Lower(LowerEdge::Sliding(3.5)));
    assert!(is_there(&window, "Upper edge of the window, handle"));
}

/// The first screen says what it shows, with no click.
#[test]
fn the_first_screen_makes_its_point() {
    let window = usual();
    assert!(says(&window, "Softmax reads the scores as separate points"));
    assert!(says(&window, "%"));
    for name in
        ["Curve of", "Integrand", "Weights of the nodes", "Bias of the nodes", "Output by channel", "Taylor order"]
    {
        assert!(is_there(&window, name), "{name}");
    }
}

#[test]
fn settings_of_the_view_are_undone() {
    let mut window = with_preset(Preset::Spike);
    let before = window.state().document();
    window.get_by_label("key k").click();
    settle(&mut window);
    assert_ne!(window.state().document(), before);
    command(&mut window, Command::Undo);
    assert_eq!(window.state().document(), before);
}
