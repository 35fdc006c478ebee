//! `just measure --at`: a service that is there is loaded, and one that isn't what it should be is refused with what helps.

use std::process::{Command, Stdio};

use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::service::{Service, Settings};
use workshop_postgres::Server;
use workshop_postgres::datasets::RunDatabase;

use crate::folder::{Folder, assert_says, everything, exercise_toml};

/// The service of exercise 4, which lets in by a key, on this machine.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_there_shows_what_can_be_seen_from_outside() -> anyhow::Result<()> {
    let workspace = Workspace::find()?;
    let server = Server::ensure(&workspace).await?;
    let database = RunDatabase::create(&server).await?;
    let launch = build::build(&workspace, Target::Solution(4), Profile::Check).await?;
    let settings = Settings {
        api_keys: vec!["of_the_pi".to_owned()],
        ..Settings::new(database.url())
    };
    let service = Service::start(&workspace, &launch, &settings).await?;
    let url = format!("http://localhost:{}/", service.address().port());
    let measure = |options: &[&str]| {
        let output = Command::new(crate::TOOL)
            .args(["measure", "solution-4", "--quick", "--at", &url])
            .args(options)
            .stdin(Stdio::null())
            .output();
        output.map(|output| (output.status.code(), everything(&output)))
    };

    let (code, said) = measure(&["--data-set", "small", "--key", "of_the_pi"])?;
    println!("{said}");
    assert_eq!(code, Some(0), "{said}");
    assert_says(&said, &["solution-4 at http://localhost:", "closed loop"]);
    // A busy machine may not reach the rate, and then says so.
    let open = said.lines().find(|line| line.starts_with("60 % of that "));
    let p99 = open.and_then(|line| line.split_whitespace().last());
    let is_figure = p99.is_some_and(|p99| p99.parse::<f64>().is_ok());
    assert!(
        is_figure || said.contains("60 % of that does not count"),
        "{said}"
    );

    // With data of another size, and without its key.
    let (code, said) = measure(&["--data-set", "pi", "--key", "of_the_pi"])?;
    assert_eq!(code, Some(1), "{said}");
    assert_says(&said, &["expected  status 200", "status 404", "--data-set"]);
    let (code, said) = measure(&["--data-set", "small"])?;
    assert_eq!(code, Some(1), "{said}");
    assert_says(&said, &["status 401", "--key"]);
    service.stop().await;
    database.remove().await?;
    Ok(())
}

#[test]
fn what_is_no_address_is_refused_before_anything_is_asked() {
    let folder = Folder::new();
    let exercise = exercise_toml(3, "read-a-record", "Read", "src/lib.rs", "a_test");
    folder.write("solutions/03-read-a-record/exercise.toml", &exercise);
    for url in [
        "http://127.0.0.1",
        "https://127.0.0.1:8080",
        "http://[::1]:8080",
        "user@pi",
    ] {
        let said = folder.fails(&["measure", "exercise-3", "--at", url], 2);
        assert_says(&said, &[url, "cannot be reached", "http://pi.local:8080"]);
    }
}
