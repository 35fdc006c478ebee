//! Which records are read: uniform random ids, the same for the load generator and for the database's own benchmark.

use workshop_postgres::datasets::DataSet;

/// The ids of a data set that are read: all with the same number of digits, so that each is as likely as every other.
/// (`[1-9][0-9]{0,6}` would send every second request to an id below 10 000.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ids {
    /// As a regular expression, for oha's random URLs.
    pub pattern: String,
    /// The smallest.
    pub first: u32,
    /// The largest.
    pub last: u32,
}

/// The ids that are read from a data set, whose rows are a power of ten.
pub fn of(set: DataSet) -> Ids {
    let rows = set.rows();
    Ids {
        pattern: format!("[1-9][0-9]{{{}}}", rows.ilog10() - 1),
        first: rows / 10,
        last: rows - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_that_is_read_exists_and_has_as_many_digits_as_the_others() {
        for set in [DataSet::Small, DataSet::Pi, DataSet::Full] {
            let ids = of(set);
            assert!(ids.last <= set.rows(), "{set}");
            assert_eq!(
                ids.first.to_string().len(),
                ids.last.to_string().len(),
                "{set}"
            );
            assert_eq!(
                ids.pattern,
                format!("[1-9][0-9]{{{}}}", ids.first.to_string().len() - 1)
            );
        }
    }
}
