//! Variants: a reference with one thing changed, to be measured beside others.
//!
//! The change is a patch, `tests/variants/<name>.patch`: of the code, of a dependency or, in the crate's `profile.toml`, of
//! how it is built. Its first line, `Title: …`, says in a few words what is changed. Several at once are named with a plus:
//! `no-ping+mimalloc`.

use std::path::Path;

use anyhow::Context;

use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, BuildError, Launch, Profile};
use workshop_harness::copies::Copy;

/// Where the patches are, from the root of the checkout.
const FOLDER: &str = "tests/variants";

/// Builds a variant of the reference in `solution` as it would be shipped, as the package `package`.
pub async fn build(
    workspace: &Workspace,
    solution: &Path,
    package: &str,
    name: &str,
) -> anyhow::Result<Launch> {
    let copy = copy(workspace, solution, package, name).await?;
    // Kept, so that only the first measurement has to wait for its build.
    let krate = copy.kept_in(workspace.state().join("variants").join(package))?;
    let launch = build::cargo(workspace, &krate, Profile::Measure).await;
    let launch = launch.map_err(|error| match error {
        BuildError::CouldNotBuild(error) => error,
        BuildError::DoesNotCompile { .. } => {
            Trouble::new(format!("{FOLDER}/{name}.patch does not compile"))
                .expected("a patch made against the reference as it is now")
                .next("make the patch again with git diff")
                .into()
        }
    })?;
    // It runs where the reference would.
    Ok(Launch {
        directory: solution.to_owned(),
        ..launch
    })
}

async fn copy(
    workspace: &Workspace,
    solution: &Path,
    package: &str,
    name: &str,
) -> anyhow::Result<Copy> {
    let patches = name.split('+').map(|name| {
        let path = workspace.root().join(FOLDER).join(format!("{name}.patch"));
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    });
    let patches = patches.collect::<anyhow::Result<String>>()?;
    Copy::patched(workspace, solution, package, &patches)
        .await
        .with_context(|| format!("{FOLDER}/{name}.patch"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each variant, with the reference that it changes.
    const VARIANTS: [(&str, &str); 8] = [
        ("slowdown", "03-read-a-record"),
        ("no-ping", "06-change-things"),
        ("cargo-defaults", "08-ship-it"),
        ("small", "08-ship-it"),
        ("no-ping", "08-ship-it"),
        ("mimalloc", "08-ship-it"),
        ("no-shield", "08-ship-it"),
        ("no-ping+mimalloc+no-shield", "08-ship-it"),
    ];

    #[tokio::test]
    async fn every_variant_fits_its_reference() -> anyhow::Result<()> {
        let checkout = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        for (name, folder) in VARIANTS {
            let solution = checkout.solutions().join(folder);
            let package = format!("fits-{}-{}", name.replace('+', "-"), std::process::id());
            copy(&checkout, &solution, &package, name).await?;
        }
        Ok(())
    }

    #[test]
    fn every_patch_is_held_against_a_reference() -> anyhow::Result<()> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../variants");
        for entry in std::fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let known = VARIANTS
                .iter()
                .any(|(variant, _)| name == format!("{variant}.patch"));
            assert!(known, "{name} is in no test: add it to VARIANTS");
        }
        Ok(())
    }
}
