//! `just seed`: makes a data set, or says that it is there.

use crate::cli::SeedArgs;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;
use workshop_postgres::Server;
use workshop_postgres::datasets;

/// Runs the command.
///
/// # Errors
/// When there is no server, or the data set cannot be made.
pub async fn run(workspace: &Workspace, args: &SeedArgs) -> anyhow::Result<Outcome> {
    let server = Server::ensure(workspace).await?;
    println!("{}", server.describe());
    let set = args.data_set;
    if args.against_psql {
        let comparison = datasets::against_psql(&server, workspace, set).await?;
        let [before, after] = comparison.psql.map(|time| time.as_secs_f64());
        println!("psql, INSERT … SELECT and primary key: {before:.1} s and {after:.1} s");
        println!(
            "the tool, vacuumed and verified:       {:.1} s",
            comparison.ours.as_secs_f64()
        );
        println!("ratio {:.2} (at most 1.30)", comparison.ratio());
        return Ok(if comparison.ratio() <= 1.3 {
            Outcome::Passed
        } else {
            Outcome::Failed
        });
    }
    let seeded = if args.again {
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
        seeded.rows,
        seeded.took.as_secs_f64()
    );
    println!("fingerprint {}", seeded.fingerprint);
    Ok(Outcome::Passed)
}
