//! `just calibrate`: compares the measuring with itself; exit 0 when both claims hold, 1 when not.

use crate::cli::CalibrateArgs;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;
use workshop_measure::protocol::lab;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::tasks::calibration;
use workshop_measure::tools::oha::Oha;
use workshop_results::file::{CALIBRATION, ResultFile};
use workshop_results::view;
use workshop_results::write::text;

/// Runs the calibration and writes it down.
pub async fn run(workspace: &Workspace, args: &CalibrateArgs) -> anyhow::Result<Outcome> {
    Oha::find(workspace)?;
    let lab = Lab::open(workspace, args.data_set.unwrap_or_else(lab::usual_data_set)).await?;
    let file = calibration::measure(&lab).await?;
    let path = if args.reference {
        ResultFile::reference_path(workspace, CALIBRATION)
    } else {
        ResultFile::own_path(workspace, CALIBRATION)
    };
    file.write(&path)?;
    text::print(&view::terminal(&file));
    println!(
        "\nwritten to {}",
        path.strip_prefix(workspace.root())
            .unwrap_or(&path)
            .display()
    );
    Ok(if calibration::holds(&file) {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}
