//! The names of the databases that hold a data set, are being built, or belong to a run.

use crate::databases;
use crate::datasets::records;
use crate::datasets::set::DataSet;

/// The names of one checkout.
#[derive(Debug, Clone)]
pub(super) struct Names {
    prefix: String,
}

impl Names {
    /// The names of the checkout with this id.
    pub(super) fn of(checkout: &str) -> Self {
        Names {
            prefix: databases::prefix(checkout),
        }
    }

    /// The seeded database, for reading.
    pub(super) fn shared(&self, set: DataSet) -> String {
        format!("{}{set}_{}", self.prefix, records::edition(set))
    }

    /// The database that copies are made from; no service connects to it, so copying never has to wait.
    pub(super) fn template(&self, set: DataSet) -> String {
        format!("{}_template", self.shared(set))
    }

    /// A new name for a data set that is being built.
    pub(super) fn building(&self, set: DataSet) -> String {
        format!("{}building_{set}_{}", self.prefix, random())
    }

    /// A new name for a run's copy.
    pub(super) fn run(&self) -> String {
        format!("{}run_{}", self.prefix, random())
    }

    /// True for the names of [`Names::building`] and [`Names::run`].
    pub(super) fn is_passing(&self, name: &str) -> bool {
        name.strip_prefix(&self.prefix)
            .is_some_and(|rest| rest.starts_with("building_") || rest.starts_with("run_"))
    }

    /// True for a data set's database (or template) in a form that this version of the tool does not make.
    pub(super) fn is_outdated(&self, name: &str, set: DataSet) -> bool {
        name.strip_prefix(&self.prefix)
            .is_some_and(|rest| rest.starts_with(&format!("{set}_")))
            && name != self.shared(set)
            && name != self.template(set)
    }
}

fn random() -> String {
    format!("{:016x}", rand::random::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_postgresqls_63_bytes_and_need_no_escaping() {
        let names = Names::of("0123456789");
        for set in [DataSet::Small, DataSet::Pi, DataSet::Full] {
            for name in [
                names.shared(set),
                names.template(set),
                names.building(set),
                names.run(),
            ] {
                assert!(name.len() <= 63, "{name}");
                assert!(
                    name.bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn only_our_own_passing_databases_count_as_leftovers() {
        let names = Names::of("0123456789");
        assert!(names.is_passing(&names.run()));
        assert!(names.is_passing(&names.building(DataSet::Full)));
        assert!(!names.is_passing(&names.shared(DataSet::Full)));
        assert!(
            !names.is_passing(&Names::of("9876543210").run()),
            "of another checkout"
        );
        assert!(!names.is_passing("run_and_see"));
    }

    #[test]
    fn an_older_form_of_a_data_set_is_outdated_and_the_present_one_is_not() {
        let names = Names::of("0123456789");
        assert!(names.is_outdated("workshop_0123456789_pi_aaaaaaaaaa", DataSet::Pi));
        assert!(!names.is_outdated("workshop_0123456789_pi_aaaaaaaaaa", DataSet::Full));
        assert!(!names.is_outdated(&names.shared(DataSet::Pi), DataSet::Pi));
        assert!(!names.is_outdated(&names.template(DataSet::Pi), DataSet::Pi));
    }
}
