//! Kata 3, `&str` and `String`: a log line that masks the API key.

/// Masks a key for logs: its first two characters and an ellipsis, as in `va…`.
fn masked(key: &str) -> String {
    todo!("take the first two characters of {key}")
}

/// The log line for a request: `GET /read/7 with va…`.
fn log_line(method: &str, path: &str, key: &str) -> String {
    todo!("put {method}, {path} and the masked {key} together")
}

#[test]
fn a_line_has_the_method_the_path_and_the_masked_key() {
    assert_eq!(
        log_line("GET", "/read/7", "valid_key"),
        "GET /read/7 with va…"
    );
}

#[test]
fn a_key_is_cut_between_characters_and_not_between_bytes() {
    assert_eq!(masked("żółw"), "żó…");
}

#[test]
fn a_short_key_is_no_reason_to_panic() {
    assert_eq!(masked("k"), "k…");
}
