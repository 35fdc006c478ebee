//! Why a contract test did not pass: the request, what was expected, what came.

use std::fmt;

/// A test that did not pass, told so that a learner can act on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The request as a curl line, where one request was at fault.
    pub request: Option<String>,
    /// What the contract asks for.
    pub expected: String,
    pub actual: String,
}

impl Failure {
    /// A failure that no single request explains.
    pub fn new(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Failure {
            request: None,
            expected: expected.into(),
            actual: actual.into(),
        }
    }

    /// Names the request that was at fault.
    #[must_use]
    pub fn of(mut self, request: impl Into<String>) -> Self {
        self.request = Some(request.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(request) = &self.request {
            writeln!(f, "request   {request}")?;
        }
        writeln!(f, "expected  {}", self.expected)?;
        write!(f, "got       {}", self.actual)
    }
}

/// Passes when this holds; else this was expected, and that has come.
pub fn expect(holds: bool, expected: impl Into<String>, got: impl Into<String>) -> TestResult {
    if holds {
        return Ok(());
    }
    Err(Failure::new(expected, got).into())
}

/// Passes when what came is what was expected; else both are shown.
pub fn expect_eq<Got, Expected>(what: &str, got: Got, expected: Expected) -> TestResult
where
    Got: PartialEq<Expected> + fmt::Debug,
    Expected: fmt::Debug,
{
    expect(
        got == expected,
        format!("{what}: {expected:?}"),
        format!("{got:?}"),
    )
}

/// Passes when no more of these were seen than so many.
pub fn expect_at_most<N: PartialOrd + fmt::Display>(most: N, of_what: &str, seen: N) -> TestResult {
    let expected = format!("at most {most} {of_what}");
    expect(seen <= most, expected, seen.to_string())
}

/// Passes when nothing was found that should not be there.
pub fn expect_none(expected: impl Into<String>, found: Option<impl Into<String>>) -> TestResult {
    match found {
        None => Ok(()),
        Some(found) => Err(Failure::new(expected, found).into()),
    }
}

/// How a contract test ends.
pub type TestResult = Result<(), TestError>;

/// How a contract test ends when it does not pass.
#[derive(Debug)]
pub enum TestError {
    /// The service did not do what the contract says.
    Failed(Failure),
    /// The environment is broken (the database is gone, say): nothing can be said about the service.
    CouldNotJudge(anyhow::Error),
}

impl From<Failure> for TestError {
    fn from(failure: Failure) -> Self {
        TestError::Failed(failure)
    }
}

impl From<sqlx::Error> for TestError {
    fn from(error: sqlx::Error) -> Self {
        TestError::CouldNotJudge(
            anyhow::Error::new(error).context("the test's own connection to PostgreSQL failed"),
        )
    }
}

impl From<anyhow::Error> for TestError {
    fn from(error: anyhow::Error) -> Self {
        TestError::CouldNotJudge(error)
    }
}
