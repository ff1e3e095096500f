//! Assembles every shader in every setup that the engine asks for, parses and validates it, and writes down how its uniforms lie in
//! memory: a broken shader, or one that does not fit the host's structures, fails to build wherever it is built.

#[path = "src/setups.rs"]
#[allow(dead_code)] // what the engine alone asks for
mod setups;
#[path = "src/source.rs"]
#[allow(dead_code)]
mod source;
#[path = "src/validated.rs"]
mod validated;
#[path = "src/variant.rs"]
#[allow(dead_code, unreachable_pub)]
mod variant;

use source::{Kernel, Setup};
use std::fmt::Write as _;
use std::path::Path;

fn main() {
    for file in ["setups.rs", "source.rs", "validated.rs", "variant.rs", "shaders"] {
        println!("cargo::rerun-if-changed=src/{file}");
    }
    let list = setups::every();
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let parts = list.chunks(list.len().div_ceil(threads));
    let texts: Vec<Option<String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = parts.map(|part| scope.spawn(|| layout(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("every shader is valid")).collect()
    });
    let mut texts = texts.into_iter().flatten();
    let text = texts.next().expect("some kernel has the uniforms");
    assert!(texts.all(|other| other == text), "kernels have different uniforms");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("layout.rs"), text).expect("the output folder can be written");
}

/// The uniforms of some kernels as text: of all the same, where any has some.
fn layout(list: &[(Kernel, Setup)]) -> Option<String> {
    let mut layout: Option<String> = None;
    for (kernel, setup) in list {
        let module = validated::validated(*kernel, setup).unwrap_or_else(|error| panic!("{error}"));
        for (_, variable) in module.global_variables.iter() {
            if variable.space == naga::AddressSpace::Uniform {
                let found = describe(&module, variable.ty);
                let known = layout.get_or_insert_with(|| found.clone());
                assert!(*known == found, "{kernel:?} as {setup:?} has other uniforms than the kernels before it");
            }
        }
    }
    layout
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
