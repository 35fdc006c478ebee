//! Makes requests: takes a plain one for an operation of the contract, and spoils it in up to three ways. The same seed makes
//! the same requests.

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::contract::Operation;
use super::ingredients::{
    BODIES, CONTENT_TYPES, HOSTILE, JSON_NUMBERS, KEYS, KEYS_IN_A_QUERY, METHODS, NUMBERS,
    OTHER_HEADERS, OTHER_QUERY, WRONG_KEYS,
};
use super::request::Request;

/// The largest body that the contract allows, in bytes.
const LARGEST_BODY: usize = 32_768;
/// The ids that have a record are 1 to this.
pub const RECORDS: u32 = 1_200;

/// A way to spoil a request.
type Change = fn(&mut Generator, &Operation, &mut Request);

/// The changes, each with how often it is chosen.
const CHANGES: &[(&str, u32, Change)] = &[
    ("id", 6, Generator::change_id),
    ("key", 4, Generator::change_key),
    ("key in the query", 3, Generator::add_key_to_query),
    ("known parameter", 5, Generator::add_parameter),
    ("other parameter", 2, Generator::add_other_parameter),
    ("method", 2, Generator::change_method),
    ("HEAD", 2, Generator::ask_for_the_head),
    ("path", 3, Generator::change_path),
    ("known body", 3, Generator::change_body),
    ("list of ids", 3, Generator::change_ids),
    ("size of the body", 2, Generator::change_size),
    ("depth of the body", 2, Generator::nest_body),
    ("damaged body", 2, Generator::damage_body),
    ("chunked", 1, Generator::send_in_chunks),
    ("content type", 2, Generator::change_content_type),
    ("header", 2, Generator::add_header),
    ("huge header", 1, Generator::add_huge_header),
    ("many headers", 1, Generator::add_many_headers),
    ("repeated header", 1, Generator::repeat_header),
];

/// The state between two requests.
pub struct Generator {
    random: Xoshiro256PlusPlus,
    operations: Vec<(Operation, u32)>,
}

impl Generator {
    /// A generator for these operations.
    pub fn new(operations: &[Operation], seed: u64) -> Self {
        let weighed = operations.iter().map(|operation| {
            // An export is a hundred answers in one, and health has little to go wrong.
            let weight = match operation.path.as_str() {
                "/records/export" => 1,
                "/health" | "/ready" => 4,
                _ => 20,
            };
            (operation.clone(), weight)
        });
        Generator {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            operations: weighed.collect(),
        }
    }

    /// The next request, with the operation that it began as.
    pub fn next_request(&mut self) -> (Operation, Request) {
        let (operation, _) = self.weighed(&self.operations.clone(), |(_, weight)| *weight);
        let mut request = self.plain(&operation);
        for _ in 0..self.random.random_range(0..=3) {
            let (name, _, change) = self.weighed(CHANGES, |(_, weight, _)| *weight);
            change(self, &operation, &mut request);
            request.changes.push(name);
        }
        // Ktor's engine would forget after its `100 Continue` that the answer must not have a body.
        if request.method == "HEAD" {
            request.remove_header("Expect");
        }
        (operation, request)
    }

    /// A request that the contract answers with a success.
    fn plain(&mut self, operation: &Operation) -> Request {
        let id = self.known_id();
        let path = match operation.segment.as_str() {
            "" => operation.path.clone(),
            segment => operation.path.replace(segment, &id),
        };
        let mut request = Request::new(&operation.method, &path);
        if operation.needs_key {
            let key = *self.one_of(&KEYS);
            request.add_header("X-API-Key", key);
        }
        if !operation.bodies.is_empty() {
            let ids: Vec<String> = (0..self.random.random_range(0..20))
                .map(|_| self.known_id())
                .collect();
            request.add_header("Content-Type", "application/json");
            request.body = Some(format!("{{\"ids\":[{}]}}", ids.join(",")).into_bytes());
        }
        request
    }

    fn change_id(&mut self, operation: &Operation, request: &mut Request) {
        let id = match self.random.random_range(0..5) {
            0 if !operation.ids.is_empty() => self.one_of(&operation.ids).clone().into_bytes(),
            0 | 1 => self.one_of(HOSTILE).to_vec(),
            2 => self.digits(),
            _ => self.one_of(NUMBERS).to_vec(),
        };
        let (start, end) = match operation.segment.as_str() {
            "" => (format!("{}/", operation.path), ""),
            segment => {
                let (start, end) = operation.path.split_once(segment).unwrap_or_default();
                (start.to_owned(), end)
            }
        };
        request.path = [start.as_bytes(), &id, end.as_bytes()].concat();
    }

    fn change_key(&mut self, _: &Operation, request: &mut Request) {
        match self.random.random_range(0..6) {
            0 => request.remove_header("X-API-Key"),
            1 => {
                let key = format!(" \t {} \t", self.one_of(&KEYS));
                request.remove_header("X-API-Key");
                request.add_header("x-api-KEY", key);
            }
            2 => {
                let key = "k".repeat(self.random.random_range(1..2000));
                request.remove_header("X-API-Key");
                request.add_header("X-API-Key", key);
            }
            _ => {
                let key = *self.one_of(WRONG_KEYS);
                request.remove_header("X-API-Key");
                request.add_header("X-API-Key", key);
            }
        }
    }

    fn add_key_to_query(&mut self, _: &Operation, request: &mut Request) {
        if self.random.random_bool(0.8) {
            request.remove_header("X-API-Key");
        }
        let key = self.one_of(KEYS_IN_A_QUERY).to_vec();
        request.query.push(key);
    }

    fn add_parameter(&mut self, operation: &Operation, request: &mut Request) {
        // An operation without parameters ignores those of the others.
        let (name, examples) = match operation.query.choose(&mut self.random) {
            Some((name, examples)) => (name.clone(), examples.clone()),
            None => ("after".to_owned(), Vec::new()),
        };
        let value = match self.random.random_range(0..6) {
            0 if !examples.is_empty() => encoded(self.one_of::<String>(&examples)),
            0 | 1 if !operation.query.is_empty() => self.one_of(HOSTILE).to_vec(),
            2 => self.digits(),
            _ => self.one_of(NUMBERS).to_vec(),
        };
        let parameter = [name.as_bytes(), b"=", &value].concat();
        request.query.push(parameter);
    }

    fn add_other_parameter(&mut self, _: &Operation, request: &mut Request) {
        let place = self.random.random_range(0..=request.query.len());
        let parameter = match self.random.random_range(0..8) {
            0 => [
                b"x=".to_vec(),
                vec![b'x'; self.random.random_range(1..1000)],
            ]
            .concat(),
            _ => self.one_of(OTHER_QUERY).to_vec(),
        };
        request.query.insert(place, parameter);
    }

    fn change_method(&mut self, _: &Operation, request: &mut Request) {
        request.method = (*self.one_of(METHODS)).to_owned();
    }

    fn ask_for_the_head(&mut self, _: &Operation, request: &mut Request) {
        request.method = "HEAD".to_owned();
    }

    fn change_path(&mut self, _: &Operation, request: &mut Request) {
        let path = &mut request.path;
        let slashes: Vec<usize> = (0..path.len())
            .filter(|place| path[*place] == b'/')
            .collect();
        let slash = slashes.choose(&mut self.random).copied().unwrap_or(0);
        match self.random.random_range(0..9) {
            0 => drop(path.splice(slash..=slash, *b"/./")),
            1 => drop(path.splice(slash..=slash, *b"/../")),
            2 if slash > 0 => drop(path.splice(slash..=slash, *b"%2F")),
            3 => path.make_ascii_uppercase(),
            4 => path.extend(b"/more"),
            5 => path.truncate(slash.max(1)),
            6 if slash + 1 < path.len() => {
                let letter = format!("%{:02x}", path[slash + 1]);
                path.splice(slash + 1..slash + 2, letter.into_bytes());
            }
            7 => {
                let place = self.random.random_range(1..=path.len());
                let hostile = self.one_of(HOSTILE).to_vec();
                path.splice(place..place, hostile);
            }
            _ => path.extend(std::iter::repeat_n(b'a', self.random.random_range(1..1000))),
        }
    }

    fn change_body(&mut self, _: &Operation, request: &mut Request) {
        request.body = Some(self.one_of(BODIES).to_vec());
    }

    fn change_ids(&mut self, operation: &Operation, request: &mut Request) {
        let length = match self.random.random_range(0..4) {
            0 => self.random.random_range(998..=1002),
            1 => 1,
            _ => self.random.random_range(0..40),
        };
        let mut ids: Vec<String> = (0..length).map(|_| self.known_id()).collect();
        if length > 0 && self.random.random_bool(0.6) {
            let place = self.random.random_range(0..length);
            ids[place] = (*self.one_of(JSON_NUMBERS)).to_owned();
        }
        if let Some(example) = operation.bodies.choose(&mut self.random)
            && self.random.random_bool(0.1)
        {
            request.body = Some(example.clone().into_bytes());
            return;
        }
        request.body = Some(format!("{{\"ids\":[{}]}}", ids.join(",")).into_bytes());
    }

    /// Fills the body up with spaces, to about the largest size.
    fn change_size(&mut self, _: &Operation, request: &mut Request) {
        let size = match self.random.random_range(0..4) {
            0 => LARGEST_BODY,
            1 => LARGEST_BODY + 1,
            _ => self
                .random
                .random_range(LARGEST_BODY - 10..LARGEST_BODY + 10_000),
        };
        let body = request.body.get_or_insert_default();
        if self.random.random_bool(0.5) {
            body.resize(size.max(body.len()), b' ');
        } else {
            let spaces = size.saturating_sub(body.len());
            body.splice(0..0, std::iter::repeat_n(b' ', spaces));
        }
    }

    fn nest_body(&mut self, _: &Operation, request: &mut Request) {
        let depth = *self.one_of(&[10, 60, 100, 120]);
        let (open, close) = *self.one_of(&[("[", "]"), ("{\"a\":", "}")]);
        let depth = depth.min(LARGEST_BODY / (open.len() + close.len() + 1));
        let close = if self.random.random_bool(0.8) {
            close
        } else {
            ""
        };
        let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        request.body = Some(match self.random.random_range(0..3) {
            0 => nested.into_bytes(),
            1 => format!("{{\"ids\":{nested}}}").into_bytes(),
            _ => format!("{{\"x\":{nested},\"ids\":[1]}}").into_bytes(),
        });
    }

    fn damage_body(&mut self, _: &Operation, request: &mut Request) {
        let body = request.body.get_or_insert_default();
        if body.is_empty() {
            return;
        }
        let place = self.random.random_range(0..body.len());
        match self.random.random_range(0..3) {
            0 => body.truncate(place),
            1 => body[place] = self.random.random(),
            _ => drop(body.remove(place)),
        }
    }

    fn send_in_chunks(&mut self, _: &Operation, request: &mut Request) {
        request.body.get_or_insert_default();
        request.chunked = true;
    }

    fn change_content_type(&mut self, _: &Operation, request: &mut Request) {
        request.remove_header("Content-Type");
        if self.random.random_bool(0.9) {
            let content_type = *self.one_of(CONTENT_TYPES);
            request.add_header("Content-Type", content_type);
        }
    }

    fn add_header(&mut self, _: &Operation, request: &mut Request) {
        let (name, value) = *self.one_of(OTHER_HEADERS);
        request.add_header(name, value);
    }

    fn add_huge_header(&mut self, _: &Operation, request: &mut Request) {
        let size = *self.one_of(&[500, 1_000, 2_000]);
        request.add_header("X-Huge", "h".repeat(size));
    }

    fn add_many_headers(&mut self, _: &Operation, request: &mut Request) {
        for number in 0..self.random.random_range(1..25) {
            request.add_header(&format!("X-Many-{number}"), "m");
        }
    }

    fn repeat_header(&mut self, _: &Operation, request: &mut Request) {
        let key = *self.one_of(&[b"wrong".as_slice(), b"valid_key", b""]);
        let place = self.random.random_range(0..=request.headers.len());
        request
            .headers
            .insert(place, ("X-API-Key".to_owned(), key.to_vec()));
    }

    fn known_id(&mut self) -> String {
        self.random.random_range(1..=RECORDS).to_string()
    }

    /// Anything between a digit and a number that no type holds.
    fn digits(&mut self) -> Vec<u8> {
        let length = self.random.random_range(1..=12);
        (0..length)
            .map(|_| self.random.random_range(b'0'..=b'9'))
            .collect()
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.random.random_range(0..all.len())]
    }

    fn weighed<T: Clone>(&mut self, all: &[T], weight: impl Fn(&T) -> u32) -> T {
        let chosen = all.choose_weighted(&mut self.random, weight);
        // An error means that there are no weights.
        chosen.unwrap_or(&all[0]).clone()
    }
}

/// A text as it stands in a query.
fn encoded(text: &str) -> Vec<u8> {
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    encoded.into_bytes()
}
