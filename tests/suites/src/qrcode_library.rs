//! Suite `qrcode-library` (exercise 19): the service that calls a native library, whatever that library does.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

use anyhow::Context as _;

use crate::faulty::{self, IMAGE, IMAGES, PANIC, held_by_images};
use crate::part::PartContext;
use crate::qrcode::{expect_unavailable, path};
use workshop_harness::contract::{TestError, TestResult, contract_tests, expect, has_status};
use workshop_harness::workbench::Workbench;

contract_tests! {
    own: [
        a_library_that_is_missing_answers_503,
        a_library_of_another_machine_answers_503,
        a_panic_answers_503_and_nothing_else_happens,
        every_image_is_given_back,
    ]
}

/// A service with a library at a path of its own, where there is none yet, and the real library.
async fn without_library(bench: &Workbench, name: &str) -> Result<(PartContext, Vec<u8>), TestError> {
    let plain = bench.folder().join(name);
    let place = plain.with_file_name(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"));
    let real = std::fs::read(bench.part()?).context("the library cannot be read")?;
    let settings = [("QRCODE_LIBRARY", &*plain.to_string_lossy())];
    let part = PartContext::start(bench, place, real.clone(), &settings).await?;
    Ok((part, real))
}

async fn a_library_that_is_missing_answers_503(bench: &Workbench) -> TestResult {
    let (part, _) = without_library(bench, "missing").await?;
    part.expect_unavailable().await?;
    part.expect_recovery().await
}

async fn a_library_of_another_machine_answers_503(bench: &Workbench) -> TestResult {
    let (part, mut library) = without_library(bench, "foreign").await?;
    part.put("no library at all")?;
    part.expect_unavailable().await?;
    // Bytes 18 and 19 of an ELF file name the machine; 0x2a is one that was last built in the nineties. The headers of other
    // formats have something there that matters to them.
    library[18..20].copy_from_slice(&[0x2a, 0]);
    part.put(&library)?;
    part.expect_unavailable().await?;
    part.expect_recovery().await
}

async fn a_panic_answers_503_and_nothing_else_happens(bench: &Workbench) -> TestResult {
    let service = bench.service_with_drawing(faulty::DRAWING, &[]).await?;
    for _ in 0..3 {
        expect_unavailable(&service.client, PANIC).await?;
    }
    service.client.each([path("text")], has_status(200)).await
}

async fn every_image_is_given_back(bench: &Workbench) -> TestResult {
    let service = bench.service_with_drawing(faulty::DRAWING, &[]).await?;
    let more = held_by_images(&service.client, "text").await?;
    // No image is kept, and none is freed that was never handed over.
    expect(
        more.unsigned_abs() < IMAGE as u64,
        format!("as many bytes held by the library as before {IMAGES} images of {IMAGE} bytes"),
        format!("{more} bytes more"),
    )
}
