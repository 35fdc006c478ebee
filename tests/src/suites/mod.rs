//! The contract suites, one module each.
