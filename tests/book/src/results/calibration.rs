//! `{{#calibration}}`: what the measuring says when it is held against itself.

use std::path::Path;

use crate::results::table::ratio;

use crate::fault::Problem;
use crate::html::block;
use crate::html::escape;
use crate::results::reference;
use crate::results::table::wrapped;
use crate::results::unreadable;
use workshop_base::workspace::Workspace;
use workshop_results::file::CalibrationFile;
use workshop_results::file::Verdict;

/// The claims of the committed calibration, and of the reader's own.
///
/// # Errors
/// When the committed file is there but cannot be read.
pub fn render(workspace: &Workspace) -> Result<String, Problem> {
    let committed = reference(
        &CalibrationFile::reference_path(workspace),
        CalibrationFile::read,
    )?;
    let mut html = String::from("<section class=\"results\" aria-label=\"Calibration\">\n");
    match &committed {
        Some(file) => html.push_str(&claims("Reference", file)),
        None => html.push_str("<p class=\"results-about\"><strong>Reference:</strong> no calibration is committed yet.</p>\n"),
    }
    html.push_str(&own(workspace, &CalibrationFile::own_path(workspace)));
    html.push_str("</section>");
    Ok(block(&html))
}

fn own(workspace: &Workspace, path: &Path) -> String {
    if !path.is_file() {
        return "<p class=\"results-about\"><strong>Yours:</strong> not run yet. Type <code>just calibrate</code> to hold the measuring on your machine against itself.</p>\n".to_owned();
    }
    match CalibrationFile::read(path) {
        Ok(file) => claims("Yours", &file),
        Err(error) => format!(
            "<p class=\"results-about\"><strong>Yours:</strong> {} Type <code>just calibrate</code> to run it anew.</p>\n",
            escape(&unreadable(workspace, path, &error))
        ),
    }
}

fn claims(whose: &str, file: &CalibrationFile) -> String {
    let mut rows = String::new();
    for claim in &file.claims {
        let said = match claim.decides.verdict {
            Verdict::Invalid => format!(
                "invalid: {}",
                escape(claim.decides.reason.as_deref().unwrap_or("no reason given"))
            ),
            verdict => verdict.words("throughput").to_owned(),
        };
        rows.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td>{said}</td><td>{}</td></tr>\n",
            escape(&claim.claim),
            ratio(&claim.decides),
            if claim.holds { "yes" } else { "no" }
        ));
    }
    let head = "<thead><tr><th scope=\"col\">Claim</th><th scope=\"col\">Ratio of throughput (95 % interval)</th><th scope=\"col\">Verdict</th><th scope=\"col\">Holds</th></tr></thead>\n";
    crate::results::about(whose, &file.result)
        + &wrapped(
            &format!("Calibration, {whose}"),
            "figures",
            &format!("{head}<tbody>\n{rows}</tbody>\n"),
        )
}
