//! Suite `qrcode-library` (exercise 11): the service that calls a native library, whatever that library is or does.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;

use super::qrcode::{expect_code, path};
use super::{TestResult, contract_tests};
use crate::files;
use crate::harness::failure::{Failure, TestError};
use crate::harness::workbench::{OwnService, Workbench};

contract_tests! {
    steady: [],
    outage: [],
    own: [
        a_library_that_is_missing_answers_503,
        a_library_of_another_machine_answers_503,
        a_panic_answers_503_and_nothing_else_happens,
        every_image_is_given_back,
    ]
}

/// Takes the place of `src/qr.rs`: panics when it is told to, and knows how many bytes Rust holds.
const FAULTY: &str = include_str!("faulty_qr.rs");
/// The text at which it panics, and the one that it answers with the bytes that are held.
const PANIC: &str = "panic";
const HELD: &str = "held";
/// The size of every other image of it, in bytes.
const IMAGE: usize = 100_000;

/// A service whose library is whatever a test puts in its place.
struct StandIn {
    library: PathBuf,
    service: Arc<OwnService>,
}

impl StandIn {
    /// A service with a library at a path of its own, where there is none yet.
    async fn start(bench: &Workbench, name: &str) -> Result<StandIn, TestError> {
        let plain = bench.folder().join(name);
        let library = bench
            .folder()
            .join(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"));
        let setting = plain.to_string_lossy();
        let service = bench.service(&[("QRCODE_LIBRARY", &setting)]).await?;
        Ok(StandIn { library, service })
    }

    fn put(&self, content: &[u8]) -> anyhow::Result<()> {
        files::write_atomically(&self.library, content)
    }

    /// The contract's answer, and a service that goes on.
    async fn expect_unavailable(&self) -> TestResult {
        expect_unavailable(&self.service, "text").await
    }

    /// As soon as the library is there, codes are.
    async fn expect_recovery(&self, bench: &Workbench) -> TestResult {
        let library = std::fs::read(bench.part()?).context("the library cannot be read")?;
        self.put(&library)?;
        expect_code(&self.service.client, "back again").await?;
        Ok(())
    }
}

async fn expect_unavailable(service: &OwnService, text: &str) -> TestResult {
    let detail = "QR codes cannot be made now";
    let answer = service.client.get(&path(text)).await?;
    answer.expect_problem(503, "Service Unavailable", detail)?;
    let health = service.client.get("/health").await?;
    health.expect_status(200)?;
    Ok(())
}

async fn a_library_that_is_missing_answers_503(bench: &Workbench) -> TestResult {
    let stand_in = StandIn::start(bench, "missing").await?;
    stand_in.expect_unavailable().await?;
    stand_in.expect_recovery(bench).await
}

async fn a_library_of_another_machine_answers_503(bench: &Workbench) -> TestResult {
    let stand_in = StandIn::start(bench, "foreign").await?;
    let mut library = std::fs::read(bench.part()?).context("the library cannot be read")?;
    stand_in.put(b"no library at all")?;
    stand_in.expect_unavailable().await?;
    // Bytes 18 and 19 of an ELF file name the machine; 0x2a is one that was last built in the nineties. The headers of other
    // formats have something there that matters to them.
    library[18..20].copy_from_slice(&[0x2a, 0]);
    stand_in.put(&library)?;
    stand_in.expect_unavailable().await?;
    stand_in.expect_recovery(bench).await
}

async fn a_panic_answers_503_and_nothing_else_happens(bench: &Workbench) -> TestResult {
    let service = bench.service_with_drawing(FAULTY).await?;
    for _ in 0..3 {
        expect_unavailable(&service, PANIC).await?;
    }
    let drawn = service.client.get(&path("text")).await?;
    drawn.expect_status(200)?;
    Ok(())
}

async fn every_image_is_given_back(bench: &Workbench) -> TestResult {
    const CALLS: usize = 20;
    let service = bench.service_with_drawing(FAULTY).await?;
    let before = held(&service).await?;
    for _ in 0..CALLS {
        let image = service.client.get(&path("text")).await?;
        image.expect_status(200)?;
    }
    let more = held(&service).await? - before;
    // Neither is one image kept, nor is one given back that was never handed over.
    if more.unsigned_abs() < IMAGE as u64 {
        return Ok(());
    }
    let expected =
        format!("as many bytes held by the library as before {CALLS} images of {IMAGE} bytes");
    Err(Failure::new(expected, format!("{more} bytes more")).into())
}

/// The bytes that Rust holds, by its own allocator.
async fn held(service: &OwnService) -> Result<i64, TestError> {
    let answer = service.client.get(&path(HELD)).await?;
    answer.expect_status(200)?;
    let text = String::from_utf8_lossy(answer.body());
    text.parse().map_err(|_| {
        answer
            .failure("what qr::png returned, byte for byte", "other bytes")
            .into()
    })
}
