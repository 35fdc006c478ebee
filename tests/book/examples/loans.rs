//! For the page "Naming a loan": `cargo run -p workshop-book --example loans`.

// ANCHOR: loans
struct Request<'c> {
    client: &'c str,
    headers: Vec<(String, String)>,
}

fn header<'r>(request: &'r Request<'_>, name: &str) -> Option<&'r str> {
    let (_, value) = request.headers.iter().find(|(header, _)| header == name)?;
    Some(value)
}

fn main() {
    let request = Request {
        client: "192.0.2.7",
        headers: vec![("X-Request-Id".to_owned(), "7f3a".to_owned())],
    };
    let id = {
        let name = String::from("X-Request-Id");
        header(&request, &name)
    };
    println!("{} sent {id:?}", request.client);
}
// ANCHOR_END: loans
