//! The desktop explorer: continuous attention understood by touching it.
//!
//! # How it is built
//!
//! [`logic`] computes and remembers and knows no window; [`ui`] draws and computes nothing that grows with the problem.
//!
//! - **state** ([`logic::state::State`]): the inputs that all views share, and nothing that can be computed from them;
//! - **command** ([`logic::command::Command`]): everything that can be done; one list of them feeds menus, shortcuts and the
//!   palette. An [`Edit`](logic::command::Edit) changes the state and keeps it valid;
//! - **document, history**: the state with each panel's settings, which undo goes back over. A step is taken when the pointer
//!   is up, so that a drag is one step;
//! - **worker** ([`logic::worker`]): threads beside the frame, results in named **slots**. The newest request of a slot wins, the last
//!   result stays and is shown dimmed;
//! - **panel** ([`ui::View`]): reads [`ui::Shared`], draws, sends [`ui::Commands`].
//!
//! # How a panel is added
//!
//! 1. What it computes goes to a file under `src/logic/`: plain functions of the state (and the panel's settings) that take a
//!    [`Task`](logic::worker::Task). A task is a [`Monitor`](contattn_core::Monitor), so engines report progress to it and stop
//!    with it; `task.check()?` between steps, `task.partial(value)` to show what there is so far. The result is a type of
//!    its own, and such a function is tested without a window.
//! 2. The view goes to a file under `src/ui/panels/`: a struct with `Default`, `Serialize`, `Deserialize` and
//!    `#[serde(default)]`, whose fields are the panel's settings. They are undone, shared and remembered by themselves; textures and
//!    the like are `#[serde(skip)]`. It implements [`ui::View`]:
//!    - `requests`: `requests.ask("sweep.duration", Lane::Long, key, || Job::new(move |task| ...))`, where the key is a
//!      [`fingerprint`](logic::fingerprint) of what the result depends on: one of [`ui::panel::Keys`] with the panel's own settings;
//!    - `ui`: reads `shared.shown::<T>("sweep.duration")`, which has the value, whether it is current (else draw it with
//!      `ui.multiply_opacity(0.5)`), its progress and its failure. Cancel is `commands.send(Command::Cancel(slot))`, and
//!      `Command::Again(slot)` starts over. Every control gets a hint by `on_hover_text` and a name, by its text, `labelled_by` or
//!      `accessible_name`: a test looks for controls without one;
//!    - `export`: a figure of `contattn_figure` with a [`Table`](logic::export::Table) of the same numbers.
//!
//!    `commands.edit(Edit::Row(..))` or `Edit::State(..)` loads a state into the other views; `commands.hover_node(i)` marks a
//!    node in all of them, and `shared.hover` says what is marked. Colours come from `shared.theme`.
//! 3. Its line goes to [`ui::panels::all`]. Tests loop over that list: settings there and back, names of all controls,
//!    pictures in both themes, a window of 200 x 150.
//!
//! # Example
//!
//! ```
//! use contattn_explorer::logic::command::Edit;
//! use contattn_explorer::logic::document::Session;
//! use contattn_explorer::logic::share;
//!
//! let mut session = Session::default();
//! Edit::Key(3, 2.5).apply(&mut session.document.state);
//! let text = share::encode(&session);
//! assert_eq!(share::decode(&text)?.document, session.document);
//! # Ok::<(), share::ShareError>(())
//! ```

pub mod bench;
pub mod logic;
pub mod run;
pub mod ui;
