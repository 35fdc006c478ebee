//! `{{#sheet exercise-3}}`: the planted mistakes of an exercise that many people write, each with what an instructor asks them.

use crate::html::{block, escape};
use workshop_base::cases::DebugCase;
use workshop_base::exercise::Exercise;
use workshop_base::incidents::Incident;
use workshop_base::mistakes::Mistake;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_results::write::html::with_code;

/// A table: what is written, who notices, why it is wrong, and the question that leads out of it.
pub fn render(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<String> {
    let mistakes = Mistake::all(&exercise.solution(workspace))?;
    let mut rows = String::new();
    for mistake in &mistakes {
        if let Some(ask) = &mistake.ask {
            let written = format!(
                "{}<br><code>{}</code>",
                with_code(&mistake.title),
                escape(&mistake.caught_by)
            );
            let cells = [written, with_code(&mistake.why), with_code(ask)];
            rows += &format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
        }
    }
    for case in DebugCase::all(workspace, exercise)? {
        let (title, statement) = (with_code(&case.title), escape(case.statement.trim()));
        let written = format!("Debug: {title}<br><code>{statement}</code>");
        let cells = [written, with_code(case.answer.trim()), with_code(&case.ask)];
        rows += &format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
    }
    for incident in Incident::all(workspace, exercise)? {
        let (title, span) = (with_code(&incident.title), escape(&incident.span));
        let written = format!("From traces: {title}<br><code>{span}</code>");
        let cells = [
            written,
            with_code(incident.answer.trim()),
            with_code(&incident.ask),
        ];
        rows += &format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
    }
    if rows.is_empty() {
        return Trouble::new(format!(
            "no planted mistake of {} has a line Ask: …",
            exercise.name()
        ))
        .next("write one under Why: … in the mistakes that many people make")
        .err();
    }
    let name = exercise.name();
    Ok(block(&format!(
        "<div class=\"table-wrapper\" tabindex=\"0\" role=\"group\" aria-label=\"Answer sheet: {name}\">\n<table class=\"sheet\">\n<thead><tr><th scope=\"col\">What they write, and who notices</th><th scope=\"col\">Why it's wrong</th><th scope=\"col\">Ask</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_base::exercise::Catalogue;

    #[test]
    fn a_sheet_has_a_question_for_each_of_the_common_mistakes() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        let sheet = render(&workspace, catalogue.get(3)?)?;
        assert!(
            sheet.contains("<code>an_unknown_id_answers_404_and_names_it</code>"),
            "{sheet}"
        );
        assert_eq!(sheet.matches("<tr><td>").count(), 3, "{sheet}");
        assert!(render(&workspace, catalogue.get(1)?).is_err());
        Ok(())
    }
}
