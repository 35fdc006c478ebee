//! nginx, which stands in front of both services in exercise 12.

use crate::doctor::finding::Finding;
use workshop_base::mend;
use workshop_base::mend::System;
use workshop_base::probe;
use workshop_base::probe::QUICK;
use workshop_harness::nginx::Lack;
use workshop_harness::nginx::Program;

pub(super) async fn examine(system: &System) -> Finding {
    let found = probe::in_time(QUICK, Program::find).await;
    finding(found.unwrap_or(Err(Lack::Missing)), system)
}

/// Only exercise 12 needs it.
fn finding(found: Result<Program, Lack>, system: &System) -> Finding {
    match found {
        Ok(program) => Finding::ok("nginx", program.to_string()),
        Err(lack) => Finding::note("nginx", format!("{lack}; exercise 12 needs it"))
            .with(system.install(&mend::NGINX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn a_machine_without_nginx_is_ready_for_all_other_exercises() {
        let finding = finding(Err(Lack::Missing), &System::here());
        assert_eq!(finding.state, State::Note);
        assert!(finding.detail.contains("exercise 12"), "{}", finding.detail);
        let mend = finding.mend.map(|mend| mend.in_words());
        assert!(mend.is_some_and(|words| words.contains("install nginx")));
    }
}
