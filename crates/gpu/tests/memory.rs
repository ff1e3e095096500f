//! A driver that is out of memory.
//!
//! Software Vulkan takes its memory from the process. Where the process may not have more, the driver's own allocation fails, and the
//! error comes back the way that a card's would: from `vkAllocateMemory` through wgpu's error scopes. (wgpu's `memory_budget_thresholds`
//! would be another way; they do nothing where the driver lacks `VK_EXT_memory_budget`, as Mesa's software Vulkan does.) What this does not
//! show is memory that runs out in the middle of a submission: wgpu then gives up the device.
//!
//! The limit is the process's, so the test runs in one of its own.

#![cfg(target_os = "linux")]

mod software;

use contattn_core::families::{Family, SinkKind};
use contattn_core::{
    Dtype, Engine, EngineError, Layout, Request, Sample, Shape, Tensor, TensorName, Unattended, Upstream,
};
use contattn_gpu::{Gpu, Options, Variant};
use std::process::Command;
use std::time::{Duration, Instant};

const ROWS: usize = 16_000;
const WIDE: usize = 1024;
/// Bytes of a buffer of wide rows.
const LARGE: u128 = (4 * ROWS * WIDE) as u128;
/// Bytes that the process may still have: less than such a buffer, and all that else is needed.
const LEFT: u64 = 48 << 20;

/// Lets the process have no more than so many bytes beyond those that it has, until this is dropped.
struct Limited;

impl Limited {
    fn to(left: u64) -> Limited {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let kib: u64 = size.trim().trim_end_matches("kB").trim().parse().unwrap();
        assert!(limit(&(1024 * kib + left).to_string()));
        Limited
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        assert!(limit("unlimited"));
    }
}

/// Sets what may be raised again of the limit of addresses.
fn limit(bytes: &str) -> bool {
    let pid = std::process::id().to_string();
    let set = Command::new("prlimit").args(["--pid", &pid, &format!("--as={bytes}:")]).status();
    set.is_ok_and(|status| status.success())
}

fn sample(queries: usize, keys: usize, head_dim: usize, value_dim: usize) -> Sample {
    let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries, keys, head_dim, value_dim };
    Family::Gauss.sample(shape, Dtype::F32, 5).unwrap()
}

/// That so many bytes of something, or a little more, were not to be had.
fn is_out_of<T>(found: Result<T, EngineError>, wanted: u128, of: &str) {
    let found = found.map(|_| ());
    let is = |bytes: u128| bytes >= wanted && bytes < wanted + (1 << 20);
    let fits = matches!(&found, Err(EngineError::OutOfMemory { what, bytes }) if *what == of && is(*bytes));
    assert!(fits, "{found:?} instead of {wanted} bytes of {of}");
}

/// Set for the process that is limited.
const IS_LIMITED: &str = "CONTATTN_LIMITED_MEMORY";
/// Where something allocates that cannot fail, that process may end, or not: it has so long.
const LONGEST: Duration = Duration::from_secs(180);

#[test]
fn a_driver_without_memory() {
    let name = "a_driver_without_memory";
    if std::env::var_os(IS_LIMITED).is_some() {
        return nothing_stays_behind();
    }
    if software::variant(name, Variant::Portable).is_none() {
        return;
    }
    if !limit("unlimited") {
        software::skipped(
            name,
            "the limit of addresses cannot be set by prlimit, of util-linux, or is set from outside",
        );
        return;
    }
    let own = std::env::current_exe().unwrap();
    let mut child = Command::new(own).args([name, "--exact", "--nocapture"]).env(IS_LIMITED, "1").spawn().unwrap();
    let began = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if began.elapsed() > LONGEST => break None,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if status.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(status.is_some_and(|status| status.success()), "the limited process ended with {status:?}");
}

/// Each error names what did not fit, with its bytes, and leaves nothing; the engine goes on, on the same device.
fn nothing_stays_behind() {
    // A device that this test opened: the engine cannot hide a loss by opening another. Memory in small blocks, so that a buffer is an
    // allocation.
    let mut description = wgpu::InstanceDescriptor::new_without_display_handle();
    description.backends = wgpu::Backends::PRIMARY;
    let request = wgpu::RequestAdapterOptions { force_fallback_adapter: true, ..Default::default() };
    let adapter = pollster::block_on(wgpu::Instance::new(description).request_adapter(&request)).unwrap();
    let asked = wgpu::DeviceDescriptor { memory_hints: wgpu::MemoryHints::MemoryUsage, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&asked)).unwrap();
    let engine = Gpu::from_device(device.clone(), queue, Options::default()).unwrap();
    let held = || {
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        device.generate_allocator_report().unwrap().total_allocated_bytes
    };

    let small = sample(40, 50, 8, 8);
    let small = small.problem(SinkKind::Zeros, small.spec()).unwrap();
    let expected = engine.forward(&small, &Request::default(), &Unattended).unwrap();
    let still_works = || {
        assert!(engine.forward(&small, &Request::default(), &Unattended).unwrap() == expected);
    };
    let before = held();

    // Of wide values, o is what does not fit.
    let wide = sample(ROWS, 2, 1, WIDE);
    let problem = wide.problem(SinkKind::Zeros, wide.spec()).unwrap();
    let limited = Limited::to(LEFT);
    is_out_of(engine.upload(&problem), LARGE, "o");
    still_works();
    is_out_of(engine.upload_later(&problem).and_then(|uploading| uploading.wait()), LARGE, "o");
    drop(limited);
    assert_eq!(held(), before, "what was made before it failed is freed");

    // Uploaded, the copy for reading does not fit; the problem stays usable.
    let uploaded = engine.upload(&problem).unwrap();
    let o = uploaded.attend(Dtype::F32).unwrap().wait().unwrap().value;
    let (bytes, on_device) = (uploaded.device_bytes(), held());
    let limited = Limited::to(LEFT);
    is_out_of(uploaded.attend(Dtype::F32), LARGE, "a copy of results");
    still_works();
    drop(limited);
    assert_eq!((uploaded.device_bytes(), held()), (bytes, on_device));
    assert!(uploaded.attend(Dtype::F32).unwrap().wait().unwrap().value == o);
    drop((uploaded, o));

    // Of wide keys, dq does not fit.
    let wide = sample(ROWS, 2, WIDE, 1);
    let problem = wide.problem(SinkKind::Zeros, wide.spec()).unwrap();
    let uploaded = engine.upload(&problem).unwrap();
    let g = Tensor::from_f64(vec![1, 1, ROWS, 1], Dtype::F32, (0..ROWS).map(|i| (i % 7) as f64 - 3.0)).unwrap();
    let upstream = Upstream::new(&problem, g.view(TensorName::UpstreamOutput, Layout::Bhsd).unwrap(), None).unwrap();
    let (bytes, on_device) = (uploaded.device_bytes(), held());
    let limited = Limited::to(LEFT);
    is_out_of(uploaded.pull(&upstream, Dtype::F32), LARGE, "dq");
    still_works();
    drop(limited);
    assert_eq!((uploaded.device_bytes(), held()), (bytes, on_device));
    let gradient = uploaded.pull(&upstream, Dtype::F32).unwrap().wait().unwrap().value;
    assert!(gradient.dq.to_f64().iter().all(|x| x.is_finite()) && uploaded.device_bytes() > bytes);
    drop(uploaded);
    assert_eq!(held(), before, "all is freed");
}
