//! `{{#board the-port}}`: the drawing of a talk, as it is on the board when the talk ends. Each stroke knows the beat that draws it, so
//! that the projector view can let it grow.

use crate::html::block;
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// Where the drawings are, from the root of the checkout.
const FOLDER: &str = "book/instructors/boards";

/// The drawing, in the page itself.
pub fn render(workspace: &Workspace, name: &str) -> anyhow::Result<String> {
    let path = workspace.root().join(format!("{FOLDER}/{name}.svg"));
    let drawing = files::text(&path)?;
    if !drawing.contains("<title>") || !drawing.contains("data-beat=\"0\"") {
        return Trouble::new(format!("{FOLDER}/{name}.svg isn't the drawing of a talk"))
            .expected(
                "a <title>, and a group <g data-beat=\"0\"> for each beat that draws something",
            )
            .next("see the others in that folder")
            .err();
    }
    Ok(block(&format!(
        "<figure class=\"board\">\n{}\n</figure>",
        drawing.trim()
    )))
}
