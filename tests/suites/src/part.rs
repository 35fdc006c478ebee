//! A service of the ladder that calls whatever a test has put in the place of its program or library.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use workshop_base::files;
use workshop_harness::contract::{TestError, TestResult};
use workshop_harness::workbench::{OwnService, Workbench};

use crate::qrcode::{expect_code, expect_unavailable};

/// The service, and the place of the part that it calls.
pub struct PartContext {
    pub place: PathBuf,
    pub service: Arc<OwnService>,
    /// The real part.
    real: Vec<u8>,
}

impl PartContext {
    /// A service with these settings, which name a place where there is no part yet.
    pub async fn start(
        bench: &Workbench,
        place: PathBuf,
        real: Vec<u8>,
        settings: &[(&str, &str)],
    ) -> Result<PartContext, TestError> {
        let service = bench.service(settings).await?;
        Ok(PartContext {
            place,
            service,
            real,
        })
    }

    /// Replaces the part with this content.
    pub fn put(&self, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
        files::write_atomically(&self.place, content.as_ref())?;
        let place = self.place.display();
        fs::set_permissions(&self.place, Permissions::from_mode(0o755))
            .with_context(|| format!("cannot make {place} a program"))
    }

    /// Expects the contract's answer from a service that keeps running.
    pub async fn expect_unavailable(&self) -> TestResult {
        expect_unavailable(&self.service.client, "text").await
    }

    /// Expects codes as soon as the real part is there.
    pub async fn expect_recovery(&self) -> TestResult {
        self.put(&self.real)?;
        expect_code(&self.service.client, "back again").await?;
        Ok(())
    }
}
