//! What a shell completes: commands and options, and also the targets and the tests that there are.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::hunt;
use workshop_base::exercise::Catalogue;
use workshop_base::peer;
use workshop_base::target::Target;

/// The script that a shell reads. What it completes for the tool, it completes for `just` and `justw` as well: those are typed.
pub fn script(catalogue: &Catalogue, shell: Shell) -> Vec<u8> {
    let mut command = with_values(Cli::command(), catalogue);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "workshop", &mut script);
    script.extend_from_slice(match shell {
        Shell::Bash => b"complete -F _workshop -o bashdefault -o default just justw\n",
        Shell::Zsh => b"compdef _workshop just justw\n",
        Shell::Fish => b"complete -c just -w workshop\ncomplete -c justw -w workshop\n",
        _ => b"",
    });
    script
}

/// The command line, with the values that its arguments can have here.
fn with_values(command: Command, catalogue: &Catalogue) -> Command {
    let exercises = catalogue.names();
    let solutions = catalogue
        .iter()
        .map(|exercise| Target::Solution(exercise.number).to_string());
    let peers = peer::all()
        .iter()
        .flat_map(|peer| peer.targets.keys().cloned());
    let kotlin = [Target::Kotlin.to_string()];
    let others: Vec<String> = kotlin.into_iter().chain(solutions).chain(peers).collect();
    let suites = workshop_suites::all().into_iter();
    let tests = suites.flat_map(|suite| {
        let tests = suite.tests.into_iter().map(|test| test.name);
        std::iter::once(suite.name).chain(tests)
    });
    let tests: Vec<&str> = tests.collect();
    let with_values = |arg: Arg| {
        // What a target can be, its help says.
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let values: Vec<String> = match arg.get_id().as_str() {
            "target" | "targets" | "exercises" => {
                let of_learners = exercises.iter().cloned();
                let hunt = help.contains(hunt::NAME).then(|| hunt::NAME.to_owned());
                let others = others
                    .iter()
                    .filter(|_| help.contains("solution-N"))
                    .cloned();
                of_learners.chain(hunt).chain(others).collect()
            }
            "only" => tests.iter().map(|name| (*name).to_owned()).collect(),
            _ => return arg,
        };
        arg.value_parser(PossibleValuesParser::new(values))
    };
    command.mut_subcommands(|command| command.mut_args(with_values))
}
