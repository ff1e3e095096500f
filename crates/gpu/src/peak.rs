//! The rate of a shader that does nothing but multiply and add: what others are measured against.

use crate::device::failed;
use crate::engine::Gpu;
use crate::source::{Kernel, Setup};
use contattn_core::EngineError;
use std::time::Instant;

/// Workgroups of 256 threads, and multiply-adds of each thread.
const THREADS: u64 = 256;
const MULTIPLY_ADDS: u64 = 256 * 8 * 8 * 4;

impl Gpu {
    /// Floating-point operations a second of a shader of fused multiply-adds (two operations each), the best of `rounds`.
    ///
    /// # Errors
    /// Devices; memory.
    pub fn peak(&self, rounds: usize) -> Result<f64, EngineError> {
        let device = self.current();
        // A card has enough to do with some thousand workgroups; software, with a few.
        let groups: u32 = if device.adapter.is_software() { 64 } else { 16_384 };
        let bytes = 4 * THREADS * u64::from(groups);
        let out = device.buffer("numbers", bytes)?;
        let pipeline = device.pipeline(Kernel::Peak, Setup::simple(Kernel::Peak, "linear"))?;
        let bindings = device.bind(&pipeline, None, &[&out]);
        let mut best = 0.0f64;
        for round in 0..=rounds {
            let mut encoder = device.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                pass.set_pipeline(&pipeline.pipeline);
                pass.set_bind_group(0, &bindings, &[]);
                pass.dispatch_workgroups(groups, 1, 1);
            }
            let began = Instant::now();
            device.queue.submit([encoder.finish()]);
            device.device.poll(wgpu::PollType::wait_indefinitely()).map_err(failed)?;
            let operations = (2 * MULTIPLY_ADDS * THREADS * u64::from(groups)) as f64;
            // The first is for warming up.
            if round > 0 {
                best = best.max(operations / began.elapsed().as_secs_f64());
            }
        }
        Ok(best)
    }
}
