//! Suite `qrcode-library` (exercise 11): the service that calls a native library, whatever that library is or does.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;

use crate::faulty::{self, HELD, IMAGE, PANIC, number};
use crate::qrcode::{expect_code, expect_unavailable, path};
use workshop_base::files;
use workshop_harness::contract::TestResult;
use workshop_harness::contract_tests;
use workshop_harness::failure::{Failure, TestError};
use workshop_harness::workbench::{OwnService, Workbench};

contract_tests! {
    own: [
        a_library_that_is_missing_answers_503,
        a_library_of_another_machine_answers_503,
        a_panic_answers_503_and_nothing_else_happens,
        every_image_is_given_back,
    ]
}

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
        expect_unavailable(&self.service.client, "text").await
    }

    /// As soon as the library is there, codes are.
    async fn expect_recovery(&self, bench: &Workbench) -> TestResult {
        let library = std::fs::read(bench.part()?).context("the library cannot be read")?;
        self.put(&library)?;
        expect_code(&self.service.client, "back again").await?;
        Ok(())
    }
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
    let service = bench.service_with_drawing(faulty::DRAWING, &[]).await?;
    for _ in 0..3 {
        expect_unavailable(&service.client, PANIC).await?;
    }
    let drawn = service.client.get(&path("text")).await?;
    drawn.expect_status(200)?;
    Ok(())
}

async fn every_image_is_given_back(bench: &Workbench) -> TestResult {
    const CALLS: usize = 20;
    let service = bench.service_with_drawing(faulty::DRAWING, &[]).await?;
    let before = number(&service.client, HELD).await?;
    for _ in 0..CALLS {
        let image = service.client.get(&path("text")).await?;
        image.expect_status(200)?;
    }
    let more = number(&service.client, HELD).await? - before;
    // Neither is one image kept, nor is one given back that was never handed over.
    if more.unsigned_abs() < IMAGE as u64 {
        return Ok(());
    }
    let expected =
        format!("as many bytes held by the library as before {CALLS} images of {IMAGE} bytes");
    Err(Failure::new(expected, format!("{more} bytes more")).into())
}
