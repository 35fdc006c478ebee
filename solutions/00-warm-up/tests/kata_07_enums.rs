//! Kata 7, enums: all the reasons why a request can fail, in one type.

#[derive(Debug)]
enum Failure {
    BadRequest(String),
    NoKey,
    NotFound(i32),
}

impl Failure {
    /// The HTTP status of the response: 400, 401 or 404.
    fn status(&self) -> u16 {
        match self {
            Failure::BadRequest(_) => 400,
            Failure::NoKey => 401,
            Failure::NotFound(_) => 404,
        }
    }

    /// The detail: the bad request's reason, `no record has the id 7`, or `None` for `NoKey`.
    fn detail(self) -> Option<String> {
        match self {
            Failure::BadRequest(reason) => Some(reason),
            Failure::NotFound(id) => Some(format!("no record has the id {id}")),
            Failure::NoKey => None,
        }
    }
}

#[test]
fn each_failure_has_its_status_and_its_detail() {
    let failures = [
        (Failure::BadRequest("no id".into()), 400, Some("no id")),
        (Failure::NoKey, 401, None),
        (Failure::NotFound(7), 404, Some("no record has the id 7")),
    ];
    for (failure, status, detail) in failures {
        assert_eq!(failure.status(), status);
        assert_eq!(failure.detail().as_deref(), detail);
    }
}
