//! Kata 10, lifetimes: the function returns a slice of the query, not a copy.

/// The value of a parameter, borrowed from the query; empty if the parameter is missing.
fn parameter(query: &str, name: &str) -> String {
    todo!("make the result a `&str`, then find {name} in {query}")
}

#[test]
fn a_parameter_is_found_by_its_whole_name() {
    assert_eq!(parameter("limit=50&after=7", "after"), "7");
    assert_eq!(parameter("limit=50&after=7", "aft"), "");
}

#[test]
fn the_value_is_a_part_of_the_query_and_outlives_the_name() {
    let query = "limit=50&after=7";
    let value = {
        let name = String::from("after");
        parameter(query, &name)
    };
    assert_eq!(value.as_ptr(), query[15..].as_ptr(), "a copy");
}
