//! Assembles every shader in representative setups, parses and validates it, and writes down how its uniforms lie in memory: a
//! broken shader, or one that does not fit the host's structures, fails to build wherever it is built.

#[path = "src/source.rs"]
#[allow(dead_code)] // what the engine alone asks for
mod source;

use naga::valid::{Capabilities, ValidationFlags, Validator};
use source::{Kernel, Setup};
use std::fmt::Write as _;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=src/source.rs");
    println!("cargo::rerun-if-changed=src/shaders");
    let mut layout = None;
    for rule in ["linear", "step", "trapezoid"] {
        for (threads, value_count, key_count, subgroups) in
            [(8, 1, 1, false), (8, 4, 4, false), (8, 8, 8, false), (8, 2, 2, true), (16, 4, 4, false), (16, 1, 2, true)]
        {
            // Mistakes are planted in the simplest setup alone.
            let mistakes =
                if rule == "linear" && (value_count, subgroups) == (1, false) { source::MISTAKES } else { 0 };
            for mistake in 0..=mistakes {
                let setup = Setup { rule, threads, value_count, key_count, subgroups, mistake };
                for kernel in Kernel::ALL {
                    check(kernel, &setup, &mut layout);
                }
            }
        }
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let text = layout.expect("some kernel has the uniforms");
    std::fs::write(Path::new(&out).join("layout.rs"), text).expect("the output folder can be written");
}

fn check(kernel: Kernel, setup: &Setup, layout: &mut Option<String>) {
    let name = format!("{}.wgsl as {setup:?}", kernel.file());
    let text = setup.assemble(kernel).unwrap_or_else(|error| panic!("{name}: {error}"));
    let module =
        naga::front::wgsl::parse_str(&text).unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&text)));
    let capabilities =
        if setup.subgroups || kernel == Kernel::Lanes { Capabilities::SUBGROUP } else { Capabilities::empty() };
    let mut validator = Validator::new(ValidationFlags::all(), capabilities);
    validator.validate(&module).unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&text)));
    for (_, constant) in module.global_variables.iter() {
        if constant.space == naga::AddressSpace::Uniform {
            let found = describe(&module, constant.ty);
            let known = layout.get_or_insert_with(|| found.clone());
            assert!(*known == found, "{name} has other uniforms than the kernels before it");
        }
    }
}

/// The fields of a uniform structure with their offsets, as Rust.
fn describe(module: &naga::Module, ty: naga::Handle<naga::Type>) -> String {
    let naga::TypeInner::Struct { ref members, span } = module.types[ty].inner else {
        panic!("uniforms are a structure")
    };
    let mut text = format!("/// Bytes of the structure.\npub(crate) const SIZE: usize = {span};\n");
    text += "/// Fields and where they begin.\npub(crate) const FIELDS: &[(&str, usize)] = &[\n";
    for member in members {
        let name = member.name.as_deref().expect("fields have names");
        writeln!(text, "    ({name:?}, {}),", member.offset).expect("text can be written");
    }
    text + "];\n"
}
