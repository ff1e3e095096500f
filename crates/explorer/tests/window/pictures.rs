use super::desk::{settle, show, window_with};
use contattn_explorer::logic::document::{Mode, Session};
use contattn_explorer::run::{self, Options, view_names};
use eframe::egui::{self, vec2};
use egui_kittest::{Harness, SnapshotOptions, SnapshotResults};

/// Software Vulkan, where it is there; the same bits on every machine that has the same version of it.
fn vulkan_on_the_processor() -> Option<egui_kittest::wgpu::WgpuTestRenderer> {
    use eframe::egui_wgpu::{WgpuSetup, WgpuSetupCreateNew};
    use eframe::wgpu;
    let descriptor = wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    };
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    adapters.iter().find(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu)?;
    let WgpuSetup::CreateNew(mut setup) = egui_kittest::wgpu::default_wgpu_setup() else { return None };
    setup.instance_descriptor.backends = wgpu::Backends::VULKAN;
    let setup: WgpuSetupCreateNew = setup;
    Some(egui_kittest::wgpu::WgpuTestRenderer::from_setup(WgpuSetup::CreateNew(setup)))
}

/// Every panel in both themes looks as it did. `UPDATE_SNAPSHOTS=1` takes the pictures anew; a failure leaves the new picture
/// and the difference beside the old one.
#[test]
fn every_panel_looks_as_it_did() {
    let mut results = SnapshotResults::new();
    for mode in [Mode::Light, Mode::Dark] {
        let Some(renderer) = vulkan_on_the_processor() else {
            eprintln!("skipped: pictures of panels, because this machine has no software Vulkan (mesa-vulkan-drivers)");
            return;
        };
        let session = Session { mode, ..Session::default() };
        let builder = Harness::builder().with_size(vec2(1040.0, 660.0)).renderer(renderer);
        let mut window = window_with(builder, session);
        for view in view_names() {
            show(&mut window, view);
            window.remove_cursor();
            settle(&mut window);
            let name = format!("{}-{}", view.to_lowercase(), if mode == Mode::Dark { "dark" } else { "light" });
            // Text may differ by a shade at its borders from one driver to the next; a shape that moved would be many pixels.
            let options = SnapshotOptions::new().threshold(1.0).max_failed_pixels(40);
            results.add(window.try_snapshot_options(name, &options));
        }
    }
}

/// The picture that is drawn on the processor is the one that a device draws, but for the rounding of colours.
#[test]
fn both_renderers_draw_the_same() {
    let Some(renderer) = vulkan_on_the_processor() else {
        eprintln!("skipped: both renderers, because this machine has no software Vulkan (mesa-vulkan-drivers)");
        return;
    };
    let size = vec2(900.0, 700.0);
    let own = run::picture(&Options { mode: Some(Mode::Dark), ..Options::default() }, size, 1.0).unwrap();
    // The same screen through the other renderer: without the margin that the harness puts around a closure.
    let explorer = contattn_explorer::ui::Explorer::new(
        Session { mode: Mode::Dark, ..Session::default() },
        std::sync::Arc::new(|| {}),
    );
    let run = |ui: &mut egui::Ui, explorer: &mut contattn_explorer::ui::Explorer| {
        let mut whole = ui.new_child(egui::UiBuilder::new().max_rect(ui.ctx().content_rect()));
        whole.set_clip_rect(ui.ctx().content_rect());
        explorer.logic(&ui.ctx().clone());
        explorer.ui(&mut whole);
    };
    let mut window =
        Harness::builder().with_size(size).renderer(renderer).with_max_steps(60).build_ui_state(run, explorer);
    settle(&mut window);
    let other = window.render().unwrap();
    assert_eq!((own.width as u32, own.height as u32), other.dimensions());
    let mut far = 0;
    for (own, other) in own.rgb.chunks(3).zip(other.pixels()) {
        let distance = own.iter().zip(&other.0[..3]).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
        far += u32::from(distance > 24);
    }
    let share = f64::from(far) / (own.width * own.height) as f64;
    assert!(share < 0.002, "{far} pixels, {:.3} %", 100.0 * share);
}

#[test]
fn pictures_without_a_display() {
    for view in view_names() {
        let options = Options { view: Some(view.to_lowercase()), ..Options::default() };
        let picture = run::picture(&options, vec2(600.0, 400.0), 1.5).unwrap();
        assert_eq!((picture.width, picture.height), (900, 600));
        let first = picture.rgb[..3].to_vec();
        assert!(picture.rgb.chunks(3).filter(|pixel| *pixel != first).count() > 20_000, "{view} is empty");
        assert_eq!(run::picture(&options, vec2(600.0, 400.0), 1.5).unwrap(), picture, "{view}: the same bits again");
    }
    let error = run::picture(&Options { view: Some("nowhere".into()), ..Options::default() }, vec2(100.0, 100.0), 1.0);
    assert!(error.unwrap_err().to_string().contains("Operator"));
    let error =
        run::picture(&Options { open: Some("absent.npz".into()), ..Options::default() }, vec2(100.0, 100.0), 1.0);
    assert!(error.unwrap_err().to_string().contains("absent.npz"));
}

/// `CONTATTN_PICTURES=FOLDER` leaves every view in both themes there, to be looked at and for the documentation.
#[test]
fn pictures_to_look_at() {
    let Some(folder) = std::env::var_os("CONTATTN_PICTURES").map(std::path::PathBuf::from) else { return };
    for view in view_names() {
        for (mode, name) in [(Mode::Light, "light"), (Mode::Dark, "dark")] {
            let options = Options { view: Some(view.to_owned()), mode: Some(mode), ..Options::default() };
            let picture = run::picture(&options, vec2(1440.0, 900.0), 1.0).unwrap();
            std::fs::write(folder.join(format!("{}-{name}.png", view.to_lowercase())), picture.png().unwrap()).unwrap();
        }
    }
}
