//! Tells the linker what only Node has.

fn main() {
    napi_build::setup();
}
