//! Parsing and validating a shader as it was assembled, without a device. Compiled into the build script, and into tests.

use crate::setups::BACKWARD_THREADS;
use crate::source::{Kernel, Setup};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// A kernel as naga sees it.
///
/// # Errors
/// What is wrong with its template or its text, or which limit it exceeds.
pub(crate) fn validated(kernel: Kernel, setup: &Setup) -> Result<naga::Module, String> {
    let name = || format!("{}.wgsl as {setup:?}", kernel.file());
    let text = setup.assemble(kernel).map_err(|error| format!("{}: {error}", name()))?;
    let module = naga::front::wgsl::parse_str(&text).map_err(|e| format!("{}: {}", name(), e.emit_to_string(&text)))?;
    let capabilities =
        if setup.subgroups || kernel == Kernel::Lanes { Capabilities::SUBGROUP } else { Capabilities::empty() };
    let mut validator = Validator::new(ValidationFlags::all(), capabilities);
    validator.validate(&module).map_err(|e| format!("{}: {}", name(), e.emit_to_string(&text)))?;
    keeps_limits(&module, kernel, setup).map_err(|error| format!("{} {error}", name()))?;
    Ok(module)
}

/// What the shader takes of a workgroup and of bindings: as much as the host counts on, and no more than WebGPU's default limits, of which
/// larger tiles alone may exceed the workgroup's memory.
fn keeps_limits(module: &naga::Module, kernel: Kernel, setup: &Setup) -> Result<(), String> {
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).map_err(|error| format!("has a type without a size: {error}"))?;
    let (mut shared, mut buffers) = (0, 0);
    for (_, variable) in module.global_variables.iter() {
        match variable.space {
            naga::AddressSpace::WorkGroup => shared += layouter[variable.ty].size as usize,
            naga::AddressSpace::Storage { .. } => buffers += 1,
            _ => {}
        }
    }
    let counted = setup.workgroup_bytes(kernel);
    let most = if setup.threads > BACKWARD_THREADS { 32 << 10 } else { 16 << 10 };
    let threads = module.entry_points.iter().map(|entry| entry.workgroup_size.iter().product::<u32>()).max();
    if shared != counted || shared > most {
        return Err(format!("takes {shared} bytes of workgroup memory; the host counts {counted}, {most} are allowed"));
    }
    if buffers > 8 || threads.is_none_or(|threads| threads > 256) {
        return Err(format!("has {buffers} storage buffers and {threads:?} threads; 8 and 256 are allowed"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setups;

    /// A planted mistake that is no shader would be "caught" by whatever runs it.
    #[test]
    fn planted_mistakes_are_shaders() {
        let mut changed = 0;
        for (kernel, setup) in setups::with_mistakes() {
            let line = format!("const MISTAKE: u32 = {}u;", setup.mistake);
            let text = setup.assemble(kernel).unwrap().replace(&line, "const MISTAKE: u32 = 0u;");
            if text != (Setup { mistake: 0, ..setup }).assemble(kernel).unwrap() {
                changed += 1;
                validated(kernel, &setup).unwrap();
            }
        }
        assert!(changed >= crate::source::MISTAKES, "{changed} texts differ");
    }

    #[test]
    fn what_takes_more_than_the_host_counts_is_refused() {
        let setup = Setup::forward("linear", crate::Variant::Wide, 1);
        let module = validated(Kernel::Forward, &setup).unwrap();
        let portable = Setup::forward("linear", crate::Variant::Portable, 1);
        assert!(keeps_limits(&module, Kernel::Forward, &portable).is_err());
    }
}
