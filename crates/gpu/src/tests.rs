//! Tests on an adapter that need more than the crate shows.

use crate::device::Device;
use crate::{Choice, Options};
use contattn_core::EngineError;
use std::io::Write;

/// The engine, or a line that says by name which test was skipped. The rest of the project's checks look for that line.
pub(crate) fn or_skip<T>(name: &str, opened: Result<T, EngineError>) -> Option<T> {
    match opened {
        Ok(engine) => Some(engine),
        Err(EngineError::Unavailable { reason, .. }) => {
            // Written so that it shows for tests that pass, too, and in one piece.
            let line = format!("skipped: {name}: no GPU adapter ({reason})\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// `f` of each number, a function of `shaders/elementary.wgsl`.
fn map(device: &Device, f: &str, numbers: &[f32]) -> Vec<f32> {
    let text = format!(
        "{}\n@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n\
         @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
         if id.x < arrayLength(&x) {{ x[id.x] = {f}(x[id.x]); }} }}",
        include_str!("shaders/elementary.wgsl")
    );
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    let buffer = device.buffer("numbers", bytes.len() as u64).unwrap();
    device.send("numbers", &buffer, bytes).unwrap();
    let module = device.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let pipeline = device.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let group = device.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
    });
    let mut encoder = device.device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(numbers.len().div_ceil(64) as u32, 1, 1);
    }
    let read = device.read_now(encoder, &buffer, bytes.len() as u64).unwrap();
    let mut found = crate::forward::floats(&read);
    // Buffers are padded.
    found.truncate(numbers.len());
    found
}

/// At most 3 u for every x, 0 where e^x leaves the normal numbers, 1 at 0.
#[test]
fn exponentials_keep_their_bound() {
    let options = Options { adapter: Choice::Software, ..Options::default() };
    let opened = pollster::block_on(Device::open(&options));
    let Some(device) = or_skip("exponentials", opened) else { return };
    let mut numbers: Vec<f32> = (0..1 << 17).map(|i| -87.3 + i as f32 * (107.3 / (1 << 17) as f32)).collect();
    // Where the nearest multiple of log 2 changes, and differences near 0.
    for i in -125..=28 {
        let border = ((f64::from(i) + 0.5) * std::f64::consts::LN_2) as f32;
        numbers.extend([border.next_down(), border, border.next_up()]);
    }
    numbers.extend((1..149).flat_map(|i| [f32::from_bits(i << 22), -f32::from_bits(i << 22)]));
    numbers.extend([0.0, -0.0, -87.3]);
    let found = map(&device, "exp_of", &numbers);
    let (mut worst, mut at) = (0.0, 0.0);
    for (&x, &e) in numbers.iter().zip(&found) {
        let exact = libm::exp(f64::from(x));
        let error = ((f64::from(e) - exact) / exact).abs() / 2f64.powi(-24);
        if error > worst {
            (worst, at) = (error, x);
        }
    }
    assert!(worst <= 3.0, "{worst} u at {at}");
    assert!(worst > 0.5, "an error this small means that nothing was compared");
    assert_eq!(map(&device, "exp_of", &[0.0, -0.0, -87.31, -1e37, f32::MIN]), [1.0, 1.0, 0.0, 0.0, 0.0]);
}
