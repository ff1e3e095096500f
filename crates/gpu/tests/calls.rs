//! Calls that do not block: polled, awaited, cancelled; problems that stay on the device; a device that is lost; memory that is not
//! there.

mod software;

use contattn_core::Open;
use contattn_core::families::{Family, SinkKind};
use contattn_core::{
    CancelToken, Dtype, Engine, EngineError, Layout, Monitor, Request, Rule, Sample, Shape, Spec, TensorName,
    Unattended, Upstream, Window,
};
use contattn_gpu::{Choice, Gpu, Options, Variant};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn sample(length: usize) -> Sample {
    let shape = Shape { batch: 1, heads: 2, kv_heads: 1, queries: length, keys: length, head_dim: 16, value_dim: 16 };
    Family::Gauss.sample(shape, Dtype::F32, 5).unwrap()
}

#[test]
fn a_call_is_polled_awaited_or_waited_for() {
    let Some(engine) = software::open("a call is polled", Options::default()) else { return };
    let sample = sample(70);
    let problem = sample.problem(SinkKind::Zeros, sample.spec()).unwrap();
    let uploaded = engine.upload(&problem).unwrap();
    assert!(uploaded.device_bytes() > 0);
    let waited = uploaded.attend(Dtype::F32).unwrap().wait().unwrap();
    let mut call = uploaded.attend(Dtype::F32).unwrap();
    assert!(uploaded.attend(Dtype::F32).is_err(), "one call at a time");
    let polled = loop {
        if let Some(result) = call.try_finish() {
            break result.unwrap();
        }
        assert!((0.0..=1.0).contains(&call.progress()));
    };
    assert!(call.try_finish().is_some_and(|ended| ended.is_err()), "a result is given once");
    drop(call);
    let awaited = pollster::block_on(uploaded.attend(Dtype::F32).unwrap()).unwrap();
    assert!(waited.value == polled.value && polled.value == awaited.value);
    // Twice backward on what is there, and once forward again.
    let g = engine.forward(&problem, &Request::default(), &Unattended).unwrap().o;
    let upstream = Upstream::new(&problem, g.view(TensorName::UpstreamOutput, Layout::Bhsd).unwrap(), None).unwrap();
    let one = uploaded.pull(&upstream, Dtype::F32).unwrap().wait().unwrap().value;
    let two = pollster::block_on(uploaded.pull(&upstream, Dtype::F32).unwrap()).unwrap().value;
    assert!(one == two && one == engine.backward(&problem, &upstream, None, &Request::default(), &Unattended).unwrap());
    assert!(uploaded.attend(Dtype::F32).unwrap().wait().unwrap().value == waited.value);
    if engine.adapter().timestamps {
        assert!(waited.seconds.is_some_and(|seconds| seconds > 0.0 && seconds < 100.0));
    }
}

#[test]
fn a_dropped_call_leaves_the_problem_usable() {
    let Some(engine) = software::open("a dropped call", Options::default()) else { return };
    let sample = sample(300);
    let problem = sample.problem(SinkKind::Zeros, sample.spec()).unwrap();
    let uploaded = engine.upload(&problem).unwrap();
    let mut call = uploaded.attend(Dtype::F32).unwrap();
    let _ = call.try_finish();
    drop(call);
    let whole = uploaded.attend(Dtype::F32).unwrap().wait().unwrap().value;
    assert!(whole == engine.forward(&problem, &Request::default(), &Unattended).unwrap());
}

/// The copy is made before the call returns; all else behind it, with the same bits.
#[test]
fn an_upload_is_polled_awaited_or_waited_for() {
    let Some(engine) = software::open("an upload is polled", Options::default()) else { return };
    // Kernels are compiled, which takes far longer than the copy.
    let sample = sample(300);
    let spec = Spec { window: Window::sliding(20.5), ..sample.spec() };
    let mut polled = {
        let problem = sample.problem(SinkKind::Given, spec.clone()).unwrap();
        engine.upload_later(&problem).unwrap()
    };
    assert!(polled.try_finish().is_none(), "compiling has just begun");
    let found = loop {
        if let Some(result) = polled.try_finish() {
            break result.unwrap();
        }
        std::thread::yield_now();
    };
    assert!(polled.try_finish().is_some_and(|ended| ended.is_err()), "a result is given once");
    let problem = sample.problem(SinkKind::Given, spec).unwrap();
    let expected = engine.forward(&problem, &Request::default(), &Unattended).unwrap();
    assert!(found.attend(Dtype::F32).unwrap().wait().unwrap().value == expected);
    let both = [engine.upload_later(&problem).unwrap(), engine.upload_later(&problem).unwrap()];
    for uploading in both {
        let waited = uploading.wait().unwrap();
        assert_eq!(waited.device_bytes(), engine.upload(&problem).unwrap().device_bytes());
        assert!(waited.attend(Dtype::F32).unwrap().wait().unwrap().value == expected);
    }
    let awaited = pollster::block_on(async {
        let uploaded = engine.upload_later(&problem)?.await?;
        uploaded.attend(Dtype::F32)?.await
    });
    assert!(awaited.unwrap().value == expected);
}

#[test]
fn a_dropped_upload_does_no_harm() {
    let Some(engine) = software::open("a dropped upload", Options::default()) else { return };
    let sample = sample(500);
    let problem = sample.problem(SinkKind::Zeros, sample.spec()).unwrap();
    for milliseconds in [0, 1, 4, 16, 64] {
        let uploading = engine.upload_later(&problem).unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        drop(uploading);
    }
    // The engine may go before the upload does.
    let other = software::open("a dropped upload", Options::default()).unwrap();
    let uploading = other.upload_later(&problem).unwrap();
    drop(other);
    let late = uploading.wait().unwrap().attend(Dtype::F32).unwrap().wait().unwrap().value;
    assert!(late == engine.forward(&problem, &Request::default(), &Unattended).unwrap());
}

#[test]
fn what_the_engine_lacks_is_said_before_an_upload() {
    let Some(engine) = software::open("an upload that is refused", Options::default()) else { return };
    let sample = sample(10);
    let spec = Spec { rule: Rule::Taylor(1), ..sample.spec() };
    let problem = sample.problem(SinkKind::Zeros, spec).unwrap();
    let found = engine.upload_later(&problem).map(|_| ());
    assert!(matches!(found, Err(EngineError::Unsupported { .. })), "{found:?}");
}

/// Asks to stop after the first report of progress.
struct Impatient(AtomicU64);

impl Monitor for Impatient {
    fn progress(&self, _: u64, _: u64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

#[test]
fn a_call_is_cancelled_between_submissions() {
    let Some(engine) = software::open("a call is cancelled", Options::default()) else { return };
    let sample = sample(2000);
    let problem = sample.problem(SinkKind::Zeros, sample.spec()).unwrap();
    let found = engine.forward(&problem, &Request::default(), &Impatient(AtomicU64::new(0))).map(|_| ());
    assert_eq!(found, Err(EngineError::Cancelled));
    let token = CancelToken::default();
    assert!(engine.forward(&problem, &Request::default(), &token).is_ok());
}

#[test]
fn a_lost_device_is_an_error_and_then_opened_again() {
    let Some(engine) = software::open("a lost device", Options::default()) else { return };
    let sample = sample(40);
    let problem = sample.problem(SinkKind::Zeros, sample.spec()).unwrap();
    let before = engine.forward(&problem, &Request::default(), &Unattended).unwrap();
    let uploaded = engine.upload(&problem).unwrap();
    engine.lose_device();
    let found = uploaded.attend(Dtype::F32).and_then(|call| call.wait().map(|_| ()));
    assert!(matches!(&found, Err(EngineError::Device { reason, .. }) if reason.contains("lost")), "{found:?}");
    // The engine itself goes on, on a device opened again: by the upload's own thread, where that comes first.
    let uploading = engine.upload_later(&problem).unwrap();
    let again = uploading.wait().unwrap().attend(Dtype::F32).unwrap().wait().unwrap().value;
    assert!(again == before && engine.forward(&problem, &Request::default(), &Unattended).unwrap() == before);
}

/// The table of rows is one buffer; where it may not be as large as it has to be the call says so, and the engine goes on.
#[test]
fn what_does_not_fit_is_out_of_memory() {
    let options = Options { variant: Some(Variant::Portable), largest_buffer: Some(4096), ..Options::default() };
    let Some(engine) = software::open("out of memory", options) else { return };
    let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: 70_000, keys: 3, head_dim: 1, value_dim: 1 };
    let large = Family::Gauss.sample(shape, Dtype::F32, 5).unwrap();
    let problem = large.problem(SinkKind::Zeros, large.spec()).unwrap();
    let found = engine.forward(&problem, &Request::default(), &Unattended).map(|_| ());
    assert!(matches!(found, Err(EngineError::OutOfMemory { bytes, .. }) if bytes > 16 * 70_000), "{found:?}");
    let small = sample(40);
    let problem = small.problem(SinkKind::Zeros, small.spec()).unwrap();
    assert!(engine.forward(&problem, &Request::default(), &Unattended).is_ok());
}

#[test]
fn an_adapter_that_is_not_there_is_named() {
    let options = Options { adapter: Choice::Named("no such card".to_owned()), ..Options::default() };
    let Err(EngineError::Unavailable { reason, .. }) = Gpu::open(options) else { panic!("no such card exists") };
    assert!(reason.contains("no such card") || reason.contains("no GPU adapter"), "{reason}");
    assert_eq!("Software".parse::<Choice>().unwrap(), Choice::Software);
}

/// A device that somebody else opened.
#[test]
fn a_device_is_shared() {
    let Some(own) = software::variant("a shared device", Variant::Portable) else { return };
    let mut description = wgpu::InstanceDescriptor::new_without_display_handle();
    description.backends = wgpu::Backends::PRIMARY;
    let instance = wgpu::Instance::new(description);
    let request = wgpu::RequestAdapterOptions { force_fallback_adapter: true, ..Default::default() };
    let adapter = pollster::block_on(instance.request_adapter(&request)).unwrap();
    let (device, queue) = pollster::block_on(adapter.request_device(&Default::default())).unwrap();
    let shared = Gpu::from_device(device.clone(), queue, Options::default()).unwrap();
    assert_eq!(shared.variant(), Variant::Portable, "the default limits and no features allow no other");
    let sample = sample(50);
    let problem = sample.problem(SinkKind::Zeros, sample.spec()).unwrap();
    let found = shared.forward(&problem, &Request::default(), &Unattended).unwrap();
    assert!(found == own.forward(&problem, &Request::default(), &Unattended).unwrap());
    // Lost by whoever opened it: an error, again and again, since it is not this engine's to open.
    device.destroy();
    for _ in 0..2 {
        let lost = shared.forward(&problem, &Request::default(), &Unattended).map(|_| ());
        assert!(matches!(lost, Err(EngineError::Device { .. })), "{lost:?}");
        let lost = shared.upload_later(&problem).unwrap().wait().map(|_| ());
        assert!(matches!(lost, Err(EngineError::Device { .. })), "{lost:?}");
    }
}
