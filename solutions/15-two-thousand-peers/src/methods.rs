//! Wrong methods: Rocket has one route for each path and method, and takes any other method for an
//! unknown path. Here are the routes that answer 405 instead.

use rocket::{
    Data, Request, Route, async_trait,
    http::{Header, Method, Status},
    response::Responder,
    route::{Handler, Outcome},
};

use crate::problem::Problem;

// ANCHOR: methods
/// All methods that Rocket knows, in the order in which `Allow` names them.
const METHODS: [Method; 9] = [
    Method::Get,
    Method::Head,
    Method::Post,
    Method::Put,
    Method::Patch,
    Method::Delete,
    Method::Options,
    Method::Trace,
    Method::Connect,
];

/// For each path of `routes`, a route for each method that none of them has. It answers 405.
pub fn not_allowed(routes: &[Route]) -> Vec<Route> {
    let mut paths: Vec<&str> = routes.iter().map(|route| route.uri.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
        .into_iter()
        .flat_map(|path| {
            let (allowed, others): (Vec<Method>, Vec<Method>) = METHODS
                .into_iter()
                .partition(|method| is_allowed(*method, path, routes));
            let allow: Vec<&str> = allowed.into_iter().map(Method::as_str).collect();
            let handler = NotAllowed {
                allow: allow.join(", "),
            };
            others
                .into_iter()
                .map(move |method| Route::new(method, path, handler.clone()))
        })
        .collect()
}

/// Rocket answers a HEAD with the route of the GET.
fn is_allowed(method: Method, path: &str, routes: &[Route]) -> bool {
    routes.iter().any(|route| {
        let same_method =
            route.method == method || (method == Method::Head && route.method == Method::Get);
        same_method && route.uri.as_str() == path
    })
}

/// The handler of these routes: it knows what the path allows.
#[derive(Clone)]
struct NotAllowed {
    allow: String,
}

/// A problem, and the header that every 405 has to carry.
#[derive(Responder)]
struct Answer {
    problem: Problem,
    allow: Header<'static>,
}

#[async_trait]
impl Handler for NotAllowed {
    async fn handle<'r>(&self, request: &'r Request<'_>, _data: Data<'r>) -> Outcome<'r> {
        let answer = Answer {
            problem: Problem::new(
                Status::MethodNotAllowed,
                "this path does not support that method",
            ),
            allow: Header::new("Allow", self.allow.clone()),
        };
        Outcome::from(request, answer)
    }
}
// ANCHOR_END: methods
