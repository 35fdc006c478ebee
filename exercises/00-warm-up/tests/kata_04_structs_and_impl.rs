//! Kata 4, structs and `impl`: a query for one page of records.

#[derive(Debug)]
struct PageQuery {
    after: i32,
    limit: usize,
}

impl PageQuery {
    /// The query for the first page: at most 100 records, after id 0.
    fn first() -> PageQuery {
        todo!("a page of 100 records after id 0")
    }

    /// The same query with a different limit. Consumes the original query.
    fn with_limit(self, limit: usize) -> PageQuery {
        todo!("{self:?} with the limit {limit}")
    }

    /// Moves on to the page that begins after the record with this id.
    fn move_on(&mut self, last_id: i32) {
        todo!("let {self:?} begin after {last_id}")
    }
}

#[test]
fn the_first_page_has_its_defaults() {
    let query = PageQuery::first();
    assert_eq!((query.after, query.limit), (0, 100));
}

#[test]
fn the_next_page_and_another_limit_change_one_thing_each() {
    let mut query = PageQuery::first();
    query.move_on(7);
    assert_eq!((query.after, query.limit), (7, 100));
    let query = query.with_limit(20);
    assert_eq!((query.after, query.limit), (7, 20));
}
