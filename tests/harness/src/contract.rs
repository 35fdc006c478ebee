//! What a contract suite is made of: tests, each with the scenario that it needs.

pub use crate::contract_tests;
pub use crate::scenarios::{Context, ContractTest};
pub use workshop_requests::failure::{
    Failure, TestError, TestResult, expect, expect_at_most, expect_eq, expect_none,
};
pub use workshop_requests::http::{
    Answer, Client, expect_each, has_header, has_status, is_problem,
};

/// Lists tests by the scenario that they need, with their functions' names as the tests' names.
#[macro_export]
macro_rules! contract_tests {
    ($($scenario:ident: [$($test:ident),* $(,)?]),* $(,)?) => {
        /// The suite's tests, in the order a learner meets them.
        pub fn tests() -> Vec<$crate::contract::ContractTest> {
            vec![
                $($($crate::contract::ContractTest {
                    name: stringify!($test),
                    scenario: &$crate::scenarios::$scenario::SCENARIO,
                    judge: |scene| $crate::scenarios::$scenario::test(scene, $test),
                },)*)*
            ]
        }
    };
}

/// A named group of tests.
pub struct Suite {
    /// The name that `exercise.toml` knows it by.
    pub name: &'static str,
    pub tests: Vec<ContractTest>,
}

impl Suite {
    /// True when the Kotlin service keeps it as well.
    pub fn judges_kotlin(&self) -> bool {
        self.tests.iter().all(|test| test.scenario.of_the_contract)
    }
}
