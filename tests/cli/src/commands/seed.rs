//! `just seed`: makes a data set, or says that it is there.

use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;
use workshop_postgres::Server;
use workshop_postgres::datasets::{self, DataSet};

pub async fn run(workspace: &Workspace, set: DataSet, again: bool) -> anyhow::Result<Outcome> {
    let server = Server::ensure(workspace).await?;
    println!("{}", server.describe());
    let seeded = if again {
        datasets::seed_again(&server, workspace, set).await?
    } else {
        datasets::seed(&server, workspace, set).await?
    };
    let what = if seeded.fresh {
        "made"
    } else {
        "there already, verified"
    };
    println!(
        "{set}: {} rows, {what} in {:.2} s",
        seeded.set.rows(),
        seeded.took.as_secs_f64()
    );
    println!("fingerprint {}", seeded.set.fingerprint());
    println!("its address: {}", datasets::shown_url(&server, set));
    Ok(Outcome::Passed)
}
