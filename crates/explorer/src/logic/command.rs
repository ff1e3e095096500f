//! Everything that can be done, as data: one list feeds the menus, the shortcuts and the palette.

use crate::logic::document::Mode;
use crate::logic::export::ExportFormat;
use crate::logic::preset::Preset;
use crate::logic::state::{
    Head, LowerEdge, MAX_DIGITS, MAX_NODES, MAX_NUMBER, MAX_TAYLOR, Origin, Row, SinkChoice, SourceChoice, State,
    UpperEdge,
};
use crate::logic::worker::Slot;
use contattn_core::{Dtype, Rule};
use std::path::PathBuf;

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// one step back
    Undo,
    /// one step forward
    Redo,
    /// ask for a file
    AskForFile,
    /// read q, k and v from a file
    Open(PathBuf),
    /// go back to the carried heads
    Carried,
    /// put the share string on the clipboard
    CopyShare,
    /// ask for a share string
    AskForShare,
    /// show what a share string holds
    LoadShare(String),
    /// write the active view to a file
    Export(ExportFormat),
    /// bring a panel to the front, by its name
    Show(String),
    /// light or dark
    Mode(Mode),
    /// larger
    ZoomIn,
    /// smaller
    ZoomOut,
    /// usual size
    ZoomReset,
    /// the panels where they were at first
    ResetLayout,
    /// everything as at first
    ResetAll,
    /// the fuzzy list of commands
    Palette,
    /// the list of shortcuts
    Shortcuts,
    /// close the window
    Quit,
    /// a named row
    Preset(Preset),
    /// stop what a slot computes
    Cancel(Slot),
    /// forget a slot's result, so that it is computed again
    Again(Slot),
    /// tell the user something: what, and what to do
    Notice {
        /// what
        what: String,
        /// what to do; may be empty
        advice: String,
    },
    /// change the inputs
    Edit(Edit),
}

impl From<Edit> for Command {
    fn from(edit: Edit) -> Command {
        Command::Edit(edit)
    }
}

/// A change of the inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// k of a node
    Key(usize, f64),
    /// v of a node
    Value(usize, f64),
    /// tau of a node; it stays between its neighbours
    Time(usize, f64),
    /// a node at this time, with key and value
    Insert {
        /// tau
        time: f64,
        /// k
        key: f64,
        /// v
        value: f64,
    },
    /// takes a node out
    Remove(usize),
    /// q
    Query(f64),
    /// another row
    Row(Box<Row>),
    /// how a segment is read
    Rule(Rule),
    /// node 0
    Sink(SinkChoice),
    /// where the window begins
    Lower(LowerEdge),
    /// where it ends
    Upper(UpperEdge),
    /// the type of the inputs
    Dtype(Dtype),
    /// the Taylor order that is compared
    Taylor(u32),
    /// digits of certified results
    Digits(u32),
    /// where q, k and v come from
    Source(SourceChoice),
    /// which head and row
    Head(Head),
    /// all inputs
    State(Box<State>),
}

impl Edit {
    /// Makes the change, keeping the state one that [`State::check`] accepts: numbers are held in range, times in order.
    pub fn apply(self, state: &mut State) {
        let held = |x: f64| if x.is_nan() { 0.0 } else { x.clamp(-MAX_NUMBER, MAX_NUMBER) };
        let row = &mut state.row;
        let n = row.len();
        match self {
            Edit::Key(node, key) if node < n => row.keys[node] = held(key),
            Edit::Value(node, value) if node < n => row.values[node] = held(value),
            Edit::Time(node, time) if node < n => {
                let least = if node == 0 { -MAX_NUMBER } else { row.times[node - 1] };
                let most = row.times.get(node + 1).copied().unwrap_or(MAX_NUMBER);
                row.times[node] = held(time).clamp(least, most.max(least));
            }
            Edit::Insert { time, key, value } if n < MAX_NODES => {
                let time = held(time);
                // Never before the sink.
                let at = row.times.partition_point(|&t| t <= time).max(1);
                let time = time.max(row.times[0]);
                row.times.insert(at, time);
                row.keys.insert(at, held(key));
                row.values.insert(at, held(value));
                row.origin = Origin::Typed;
            }
            Edit::Remove(node) if node > 0 && node < n && n > 2 => {
                row.times.remove(node);
                row.keys.remove(node);
                row.values.remove(node);
                row.origin = Origin::Typed;
            }
            Edit::Key(..) | Edit::Value(..) | Edit::Time(..) | Edit::Insert { .. } | Edit::Remove(_) => return,
            Edit::Query(query) => row.query = held(query),
            Edit::Row(new) => {
                *row = *new;
                return;
            }
            Edit::Rule(rule) => {
                state.rule = rule;
                return;
            }
            Edit::Sink(sink) => {
                state.sink = sink;
                return;
            }
            Edit::Lower(lower) => {
                state.lower = match lower {
                    LowerEdge::Start => lower,
                    LowerEdge::At(t) => LowerEdge::At(held(t)),
                    LowerEdge::Sliding(width) => LowerEdge::Sliding(held(width).max(0.0)),
                };
                match (state.lower, state.upper) {
                    (LowerEdge::At(lower), UpperEdge::At(upper)) if lower > upper => state.upper = UpperEdge::At(lower),
                    (LowerEdge::Sliding(_), UpperEdge::End | UpperEdge::At(_)) => state.upper = UpperEdge::Query(0.0),
                    _ => {}
                }
                return;
            }
            Edit::Upper(upper) => {
                state.upper = match upper {
                    UpperEdge::End => upper,
                    UpperEdge::At(t) => UpperEdge::At(held(t)),
                    UpperEdge::Query(offset) => UpperEdge::Query(held(offset)),
                };
                match (state.lower, state.upper) {
                    (LowerEdge::At(lower), UpperEdge::At(upper)) if lower > upper => state.lower = LowerEdge::At(upper),
                    (LowerEdge::Sliding(_), UpperEdge::End | UpperEdge::At(_)) => state.lower = LowerEdge::Start,
                    _ => {}
                }
                return;
            }
            Edit::Dtype(dtype) => {
                state.dtype = dtype;
                return;
            }
            Edit::Taylor(order) => {
                state.taylor = order.clamp(1, MAX_TAYLOR);
                return;
            }
            Edit::Digits(digits) => {
                state.digits = digits.clamp(1, MAX_DIGITS);
                return;
            }
            Edit::Source(source) => {
                state.source = source;
                state.head = Head::default();
                // The row's values were those of a head that is gone.
                if matches!(state.row.origin, Origin::Head(_)) {
                    state.row.origin = Origin::Typed;
                }
                return;
            }
            Edit::Head(head) => {
                state.head = head;
                return;
            }
            Edit::State(new) => {
                *state = *new;
                return;
            }
        }
        state.row.edited = true;
        // Scores are products; they too stay in range.
        let largest = state.row.keys.iter().fold(0.0f64, |m, k| m.max(k.abs()));
        if largest * state.row.query.abs() > MAX_NUMBER {
            state.row.query = (MAX_NUMBER / largest).copysign(state.row.query);
        }
    }
}

/// A key with its modifiers. `command` is Ctrl, on a Mac the command key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shortcut {
    /// with Ctrl
    pub command: bool,
    /// with Shift
    pub shift: bool,
    /// the key's name: `"P"`, `"F1"`, `"Plus"`
    pub key: &'static str,
}

/// Which menu lists a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Menu {
    /// files, sharing, export
    File,
    /// undo, presets, rules
    Edit,
    /// look
    View,
    /// panels
    Go,
    /// help
    Help,
}

impl Menu {
    /// Every menu, from left to right.
    pub const ALL: [Menu; 5] = [Menu::File, Menu::Edit, Menu::View, Menu::Go, Menu::Help];

    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Menu::File => "File",
            Menu::Edit => "Edit",
            Menu::View => "View",
            Menu::Go => "Go",
            Menu::Help => "Help",
        }
    }
}

/// A command of the list.
#[derive(Clone, Debug)]
pub struct Entry {
    /// what it does
    pub command: Command,
    /// where it stands
    pub menu: Menu,
    /// its name
    pub name: String,
    /// what it is for
    pub hint: String,
    /// its key
    pub shortcut: Option<Shortcut>,
}

const fn ctrl(key: &'static str) -> Option<Shortcut> {
    Some(Shortcut { command: true, shift: false, key })
}

const fn ctrl_shift(key: &'static str) -> Option<Shortcut> {
    Some(Shortcut { command: true, shift: true, key })
}

const fn plain(key: &'static str) -> Option<Shortcut> {
    Some(Shortcut { command: false, shift: false, key })
}

/// The list, with these panels (name, hint) to go to.
pub fn catalogue(panels: &[(&'static str, &'static str)]) -> Vec<Entry> {
    let mut list = Vec::new();
    let mut add = |menu, name: &str, hint: &str, shortcut, command| {
        list.push(Entry { command, menu, name: name.to_owned(), hint: hint.to_owned(), shortcut });
    };
    use Command as C;
    add(Menu::File, "Open file...", "q, k and v from .safetensors, .npz or .npy", ctrl("O"), C::AskForFile);
    add(Menu::File, "Carried heads", "three layers of a language model that the program carries", None, C::Carried);
    add(Menu::File, "Copy share string", "a text that brings back all that is shown", ctrl("L"), C::CopyShare);
    add(Menu::File, "Paste share string...", "show what a share string holds", ctrl_shift("L"), C::AskForShare);
    for (format, key) in [(ExportFormat::Png, "E"), (ExportFormat::Svg, "G"), (ExportFormat::Csv, "S")] {
        let name = format!("Export view as {}", format.extension().to_uppercase());
        add(Menu::File, &name, "the active view as a file, fit for a paper", ctrl_shift(key), C::Export(format));
    }
    add(Menu::File, "Quit", "close the window; all is remembered", ctrl("Q"), C::Quit);
    add(Menu::Edit, "Undo", "the last edit, of whatever view", ctrl("Z"), C::Undo);
    add(Menu::Edit, "Redo", "what was undone", ctrl("Y"), C::Redo);
    for preset in Preset::ALL {
        add(Menu::Edit, &format!("Preset: {}", preset.name()), preset.hint(), None, C::Preset(preset));
    }
    let rules = [
        (Rule::Linear, "the exact integral of the piecewise-linear curve"),
        (Rule::Step, "each node holds for its duration; with durations of 1 it is softmax"),
        (Rule::Trapezoid, "the trapezoidal rule on each segment"),
        (Rule::Taylor(1), "softmax with the second-difference convolution as bias"),
    ];
    for (rule, hint) in rules {
        add(Menu::Edit, &format!("Rule: {rule}"), hint, None, Edit::Rule(rule).into());
    }
    for sink in SinkChoice::ALL {
        let hint = "what stands before the first key";
        add(Menu::Edit, &format!("Sink: {}", sink.name()), hint, None, Edit::Sink(sink).into());
    }
    for dtype in Dtype::ALL {
        let name = format!("Inputs held in {}", dtype.name());
        add(Menu::Edit, &name, "q, k and v are rounded to this type first", None, Edit::Dtype(dtype).into());
    }
    add(Menu::Edit, "Start over", "everything as at the first start", None, C::ResetAll);
    for (mode, name) in [(Mode::System, "as the system"), (Mode::Light, "light"), (Mode::Dark, "dark")] {
        add(Menu::View, &format!("Theme: {name}"), "colours of the window", None, C::Mode(mode));
    }
    add(Menu::View, "Larger", "everything larger", ctrl("Plus"), C::ZoomIn);
    add(Menu::View, "Smaller", "everything smaller", ctrl("Minus"), C::ZoomOut);
    add(Menu::View, "Usual size", "everything as large as the system says", ctrl("0"), C::ZoomReset);
    add(Menu::View, "Reset layout", "panels where they were at first", None, C::ResetLayout);
    const KEYS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    for (at, (name, hint)) in panels.iter().enumerate() {
        add(Menu::Go, name, hint, KEYS.get(at).and_then(|key| ctrl(key)), C::Show((*name).to_owned()));
    }
    add(Menu::Help, "Command palette", "every command by a few letters of its name", ctrl("P"), C::Palette);
    add(Menu::Help, "Shortcuts", "every key", plain("F1"), C::Shortcuts);
    list
}

/// How well letters match a name, in order but not adjacent: `None` where they do not, larger is better.
pub fn fuzzy(letters: &str, name: &str) -> Option<i32> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let (mut at, mut score, mut previous) = (0, 0, None);
    for letter in letters.to_lowercase().chars().filter(|c| !c.is_whitespace()) {
        let found = at + name[at..].iter().position(|&c| c == letter)?;
        let begins_word = found == 0 || !name[found - 1].is_alphanumeric();
        score += 1 + if begins_word { 8 } else { 0 } + if previous.is_some_and(|p| p + 1 == found) { 4 } else { 0 };
        previous = Some(found);
        at = found + 1;
    }
    Some(score - name.len() as i32 / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_shortcuts_are_unique() {
        let list = catalogue(&[("Operator", "x"), ("Matrix", "y")]);
        let names: HashSet<_> = list.iter().map(|entry| &entry.name).collect();
        assert_eq!(names.len(), list.len());
        let shortcuts: Vec<_> = list.iter().filter_map(|entry| entry.shortcut).collect();
        assert_eq!(shortcuts.iter().collect::<HashSet<_>>().len(), shortcuts.len());
        assert!(list.iter().all(|entry| !entry.hint.is_empty()));
    }

    #[test]
    fn letters_find_commands() {
        let list = catalogue(&[("Operator", "x")]);
        let best = |letters: &str| {
            let scored = list.iter().filter_map(|entry| Some((fuzzy(letters, &entry.name)?, &entry.name)));
            scored.max_by_key(|(score, _)| *score).map(|(_, name)| name.as_str())
        };
        assert_eq!(best("ud"), Some("Undo"));
        assert_eq!(best("thd"), Some("Theme: dark"));
        assert_eq!(best("spike"), Some("Preset: a spike"));
        assert_eq!(best("zzzz"), None);
    }

    /// Whatever is thrown at it, the state stays one that is accepted from outside.
    #[test]
    fn absurd_edits_keep_the_state_whole() {
        let mut state = State::default();
        let numbers = [0.0, -1.0, 1e300, -1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 3.5];
        for &x in &numbers {
            for &y in &numbers {
                let edits = [
                    Edit::Key(2, x),
                    Edit::Value(99999, x),
                    Edit::Time(3, x),
                    Edit::Time(0, y),
                    Edit::Insert { time: x, key: y, value: x },
                    Edit::Remove(1),
                    Edit::Remove(0),
                    Edit::Query(y),
                    Edit::Upper(UpperEdge::At(y)),
                    Edit::Lower(LowerEdge::At(x)),
                    Edit::Lower(LowerEdge::Sliding(x)),
                    Edit::Upper(UpperEdge::Query(y)),
                    Edit::Upper(UpperEdge::End),
                    Edit::Taylor(0),
                    Edit::Digits(u32::MAX),
                ];
                for edit in edits {
                    let shown = format!("{edit:?}");
                    edit.apply(&mut state);
                    assert_eq!(state.check(), Ok(()), "{shown}");
                }
            }
        }
        while state.row.len() > 2 {
            Edit::Remove(1).apply(&mut state);
        }
        Edit::Remove(1).apply(&mut state);
        assert_eq!(state.row.len(), 2);
    }
}
