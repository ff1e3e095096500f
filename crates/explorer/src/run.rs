//! The explorer in a window, or as a picture.

use crate::logic::command::Command;
use crate::logic::document::{Mode, Session};
use crate::logic::engines::{self, OpenGpu};
use crate::logic::share::{self, ShareError};
use crate::ui::raster::{Headless, Picture};
use crate::ui::{Commands, Explorer};
use contattn_gpu::Gpu;
use eframe::{egui, wgpu};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What draws the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Renderer {
    /// OpenGL
    Glow,
    /// Vulkan, Metal or Direct3D; falls back to OpenGL by itself
    #[default]
    Wgpu,
}

/// What to begin with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// a share string, in place of what was remembered
    pub state: Option<String>,
    /// a file with q, k and v
    pub open: Option<PathBuf>,
    /// the panel in front
    pub view: Option<String>,
    /// light or dark, in place of what was remembered
    pub mode: Option<Mode>,
    /// whether the window's graphics device is destroyed once it has drawn, to see that nothing is lost with it
    pub lose_device: bool,
}

/// Why the explorer did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The share string is none.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// There is no such panel.
    #[error("no view is called {found:?}: expected {expected}")]
    View {
        /// what was asked for
        found: String,
        /// the names that there are
        expected: String,
    },
    /// No window could be opened.
    #[error("no window could be opened: {0}")]
    Window(String),
    /// What was asked for was not computed in time.
    #[error("the picture was not computed within {} s", .0.as_secs())]
    Late(Duration),
    /// Something that stands in the picture's way, as the explorer would tell it.
    #[error("{0}")]
    Told(String),
    /// The picture could not be encoded.
    #[error("the picture could not be encoded: {0}")]
    Picture(String),
}

/// Names of all panels, in order.
pub fn view_names() -> Vec<&'static str> {
    crate::ui::panels::all().iter().map(|panel| panel.name()).collect()
}

/// The panel that a name means, in whatever case.
fn view(name: &str) -> Result<&'static str, RunError> {
    let names = view_names();
    let found = names.iter().find(|known| known.eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| RunError::View { found: name.to_owned(), expected: names.join(", ") })
}

/// The commands that options stand for.
fn first_commands(options: &Options) -> Result<Commands, RunError> {
    let mut commands = Commands::default();
    if let Some(path) = &options.open {
        commands.send(Command::Open(path.clone()));
    }
    if let Some(name) = &options.view {
        commands.send(Command::Show(view(name)?.to_owned()));
    }
    if let Some(mode) = options.mode {
        commands.send(Command::Mode(mode));
    }
    Ok(commands)
}

/// Where the session is kept in eframe's storage.
const SESSION: &str = "contattn.session";

struct Window {
    explorer: Explorer,
    first: Option<Commands>,
    device: Device,
    /// destroy the device in so many frames
    lose_device: Option<u32>,
}

/// What is known of the device that draws a window.
#[derive(Clone, Default)]
struct Device {
    /// why it was lost, told by its own thread
    lost: Arc<Mutex<Option<String>>>,
    /// what the window showed then, for the next one
    left: Arc<Mutex<Option<(Session, String)>>>,
}

impl Device {
    fn watch(&self, device: &wgpu::Device, ctx: &egui::Context) {
        let (lost, ctx) = (self.lost.clone(), ctx.clone());
        device.set_device_lost_callback(move |_, why| {
            *locked(&lost) = Some(why);
            ctx.request_repaint();
        });
        // An error is told and the frame is wrong; by itself wgpu would end the program.
        let lost = self.lost.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            locked(&lost).get_or_insert_with(|| error.to_string());
        }));
    }

    /// Why the device is lost, if it is. Only a device that is asked tells that it is gone.
    fn lost(&self, frame: &eframe::Frame) -> Option<String> {
        if let Some(render) = frame.wgpu_render_state() {
            let _ = render.device.poll(wgpu::PollType::Poll);
        }
        locked(&self.lost).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl eframe::App for Window {
    fn logic(&mut self, ctx: &egui::Context, frame: &mut eframe::Frame) {
        if let Some(why) = self.device.lost(frame) {
            // Another window goes on from here.
            *locked(&self.device.left) = Some((self.explorer.session(), why));
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
            return;
        }
        if let Some(commands) = self.first.take() {
            self.explorer.run(ctx, commands);
        }
        self.explorer.logic(ctx);
        if self.explorer.wants_to_quit() {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
        if let Some(frames) = &mut self.lose_device {
            *frames = frames.saturating_sub(1);
            ctx.request_repaint();
            if let (0, Some(render)) = (*frames, frame.wgpu_render_state()) {
                self.lose_device = None;
                render.device.destroy();
            }
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        // A device that is lost takes no buffers: what is drawn then ends the program.
        if self.device.lost(frame).is_none() {
            self.explorer.ui(ui);
        }
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        // JSON, so that a session of another version is read as far as it fits.
        if let Ok(text) = serde_json::to_string(&self.explorer.session()) {
            storage.set_string(SESSION, text);
        }
    }

    // The session has what is worth keeping.
    fn persist_egui_memory(&self) -> bool {
        false
    }
}

/// The session that a window begins with, and what to tell about it.
fn remembered(storage: Option<&dyn eframe::Storage>) -> (Session, Option<String>) {
    let Some(text) = storage.and_then(|storage| storage.get_string(SESSION)) else { return (Session::default(), None) };
    match serde_json::from_str(&text) {
        Ok(session) => (session, None),
        Err(error) => {
            (Session::default(), Some(format!("What was remembered from the last start could not be read: {error}")))
        }
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Opens a window and returns when it is closed.
///
/// # Errors
/// [`RunError`] for options that name nothing, and where no window can be opened.
pub fn window(options: &Options, renderer: Renderer) -> Result<(), RunError> {
    if cfg!(all(unix, not(target_os = "macos")))
        && !["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"].iter().any(|name| is_set(name))
    {
        return Err(RunError::Window("neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned()));
    }
    let first = first_commands(options)?;
    let given = options.state.as_deref().map(share::decode).transpose()?;
    let lose_device = options.lose_device.then_some(FRAMES_BEFORE_LOSS);
    let device = Device::default();
    if renderer == Renderer::Glow {
        return open(renderer, given, first, device, lose_device);
    }
    let outcome = open(renderer, given, first, device.clone(), lose_device);
    let left = locked(&device.left).take();
    if let Some((session, why)) = left {
        let mut told = Commands::default();
        let why = if why.is_empty() { why } else { format!(": {why}") };
        let what = format!("The graphics device was lost{why}");
        told.send(Command::Notice { what, advice: "drawing goes on with OpenGL; nothing else was lost".to_owned() });
        return open(Renderer::Glow, Some(session), told, Device::default(), None);
    }
    match outcome {
        // A driver of Vulkan, Metal or Direct3D that cannot open a window says nothing about OpenGL.
        Err(RunError::Window(why)) => {
            let mut commands = first_commands(options)?;
            let advice = "drawing goes on with OpenGL; `--renderer glow` begins with it".to_owned();
            commands.send(Command::Notice { what: format!("No window could be opened as usual: {why}"), advice });
            let given = options.state.as_deref().map(share::decode).transpose()?;
            let again = open(Renderer::Glow, given, commands, Device::default(), None);
            again.map_err(|error| RunError::Window(format!("{why}; with OpenGL: {error}")))
        }
        outcome => outcome,
    }
}

/// So many frames are drawn before a device is destroyed that is to be.
const FRAMES_BEFORE_LOSS: u32 = 30;

/// Opens a window with one renderer and returns when it is closed.
fn open(
    renderer: Renderer,
    given: Option<Session>,
    mut first: Commands,
    device: Device,
    lose_device: Option<u32>,
) -> Result<(), RunError> {
    let native = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_app_id("contattn")
            .with_title("contattn: continuous attention")
            .with_inner_size([1440.0, 900.0])
            .with_min_inner_size([200.0, 150.0])
            .with_drag_and_drop(true),
        renderer: match renderer {
            Renderer::Glow => eframe::Renderer::Glow,
            Renderer::Wgpu => eframe::Renderer::Wgpu,
        },
        ..Default::default()
    };
    let create = move |creation: &eframe::CreationContext<'_>| {
        let ctx = creation.egui_ctx.clone();
        let (session, told) = match given {
            Some(session) => (session, None),
            None => remembered(creation.storage),
        };
        if let Some(what) = told {
            first.send(Command::Notice { what, advice: "everything is as at first".to_owned() });
        }
        if let Some(render) = &creation.wgpu_render_state {
            device.watch(&render.device, &ctx);
        }
        // A window that draws through a device that can compute shares it.
        let open_gpu: OpenGpu = match &creation.wgpu_render_state {
            Some(render) => {
                let (device, queue) = (render.device.clone(), render.queue.clone());
                Box::new(move || {
                    let shared = Gpu::from_device(device, queue, contattn_gpu::Options::default());
                    shared.or_else(|_| engines::gpu_of_its_own())
                })
            }
            None => Box::new(engines::gpu_of_its_own),
        };
        let explorer = Explorer::with_gpu(session, Arc::new(move || ctx.request_repaint()), open_gpu);
        Ok(Box::new(Window { explorer, first: Some(first), device, lose_device }) as Box<dyn eframe::App>)
    };
    eframe::run_native("contattn", native, Box::new(create)).map_err(|error| RunError::Window(error.to_string()))
}

/// How long a picture may take.
const LONGEST: Duration = Duration::from_secs(120);

/// The window's content as a picture, without a window: everything computed, nothing remembered from before.
///
/// # Errors
/// [`RunError`] for options that name nothing, a file that cannot be read, and where it takes too long.
pub fn picture(options: &Options, size: egui::Vec2, scale: f32) -> Result<Picture, RunError> {
    let session = options.state.as_deref().map(share::decode).transpose()?.unwrap_or_default();
    let mut explorer = Explorer::new(session, Arc::new(|| {}));
    let mut headless = Headless::new(size, scale);
    let ctx = headless.ctx.clone();
    // A picture has no system to follow.
    explorer.run(&ctx, {
        let mut commands = Commands::default();
        commands.send(Command::Mode(Mode::Light));
        commands
    });
    explorer.run(&ctx, first_commands(options)?);
    let frame = settled(&mut explorer, &mut headless)?;
    // A file that cannot be read is told in the window; whoever asked for its picture wants it as an error.
    if options.open.is_some()
        && let Some(notice) = explorer.notices().list().first()
    {
        return Err(RunError::Told(format!("{}\n{}", notice.what, notice.advice)));
    }
    Ok(headless.picture(&frame))
}

/// Frames until nothing changes and nothing is computed.
///
/// # Errors
/// [`RunError::Late`].
pub fn settled(explorer: &mut Explorer, headless: &mut Headless) -> Result<crate::ui::raster::Frame, RunError> {
    let began = std::time::Instant::now();
    let mut quiet = 0;
    loop {
        let frame = headless.frame(|ui| {
            explorer.logic(&ui.ctx().clone());
            explorer.ui(ui);
        });
        let idle = explorer.is_idle() && !frame.wants_another;
        quiet = if idle { quiet + 1 } else { 0 };
        // One frame asks, the next shows, and layouts take one more to settle.
        if quiet >= 3 {
            return Ok(frame);
        }
        explorer.settle(Duration::from_millis(200));
        if began.elapsed() > LONGEST {
            return Err(RunError::Late(LONGEST));
        }
    }
}
