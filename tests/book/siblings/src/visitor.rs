//! The visitor of a request, for the page "Naming a loan": a value that stays with the request and is lent.

use std::fmt;

use rocket::Request;

// ANCHOR: visitor
/// What a visitor reads, as the browser says.
pub struct Language(String);

impl Language {
    /// The first language that the request names, worked out once.
    pub fn of<'r>(request: &'r Request<'_>) -> &'r Language {
        request.local_cache(|| {
            let wished = request.headers().get_one("Accept-Language");
            let first = wished.and_then(|wished| wished.split(',').next());
            Language(first.unwrap_or("en").to_owned())
        })
    }
}
// ANCHOR_END: visitor

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
