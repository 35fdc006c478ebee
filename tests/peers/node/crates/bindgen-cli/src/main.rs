//! Generates wasm-bindgen's JavaScript for a module, like its CLI. Arguments: MODULE DIR.

use std::env;

use anyhow::{Context, bail};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        bail!("usage: node-bindgen-cli MODULE DIR");
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).nodejs(true)?.typescript(false);
    bindgen.out_name("png");
    bindgen
        .generate(folder)
        .with_context(|| format!("cannot write JavaScript for {module}"))
}
