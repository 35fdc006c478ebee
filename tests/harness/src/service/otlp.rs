//! What a service exports by OTLP, read from the wire: of the messages of opentelemetry-proto 1.x those fields that tests ask for, by
//! their numbers. The official types would bring a dozen crates into every check.

use std::collections::BTreeMap;
use std::fmt;

/// What an attribute says.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub enum Value {
    Text(String),
    Bool(bool),
    Int(i64),
    Float(f64),
    /// A list, a map, or bytes.
    Other,
}

impl Value {
    /// The text; none for a value of another type.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number}"),
            Value::Other => f.write_str("a list, a map, or bytes"),
        }
    }
}

pub type Attributes = BTreeMap<String, Value>;

/// What kind of work a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    #[default]
    Unspecified,
    Internal,
    Server,
    Client,
    Producer,
    Consumer,
}

/// How a span has ended, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    #[default]
    Unset,
    Ok,
    Error,
}

/// A span that has ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Span {
    pub trace: String,
    pub id: String,
    /// Empty for the first span of a trace.
    pub parent: String,
    pub trace_state: String,
    pub name: String,
    pub kind: Kind,
    /// In nanoseconds since 1970.
    pub start: u64,
    pub end: u64,
    pub attributes: Attributes,
    pub status: Status,
}

/// One series of a metric, as it was when it was sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    pub metric: String,
    pub unit: String,
    pub attributes: Attributes,
    /// The sum or the gauge; of a histogram the sum of all that was recorded.
    pub value: f64,
    /// Of a histogram, how often something was recorded.
    pub count: u64,
    /// Of a histogram, the upper bounds of its buckets.
    pub bounds: Vec<f64>,
}

/// The spans of an `ExportTraceServiceRequest`.
pub fn spans(body: &[u8]) -> Result<Vec<Span>, Malformed> {
    let mut spans = Vec::new();
    for resource in messages(body, 1) {
        for scope in messages(resource?, 2) {
            for sent in messages(scope?, 2) {
                spans.push(span(sent?)?);
            }
        }
    }
    Ok(spans)
}

/// The series of an `ExportMetricsServiceRequest`.
pub fn series(body: &[u8]) -> Result<Vec<Series>, Malformed> {
    let mut series = Vec::new();
    for resource in messages(body, 1) {
        for scope in messages(resource?, 2) {
            for metric in messages(scope?, 2) {
                add_metric(metric?, &mut series)?;
            }
        }
    }
    Ok(series)
}

fn span(message: &[u8]) -> Result<Span, Malformed> {
    let mut span = Span::default();
    for field in Fields(message) {
        match field? {
            (1, Wire::Bytes(id)) => span.trace = hex::encode(id),
            (2, Wire::Bytes(id)) => span.id = hex::encode(id),
            (3, Wire::Bytes(state)) => span.trace_state = text(state),
            (4, Wire::Bytes(id)) => span.parent = hex::encode(id),
            (5, Wire::Bytes(name)) => span.name = text(name),
            (6, Wire::Varint(kind)) => span.kind = kind_of(kind),
            (7, Wire::Fixed64(time)) => span.start = time,
            (8, Wire::Fixed64(time)) => span.end = time,
            (9, Wire::Bytes(pair)) => add_attribute(pair, &mut span.attributes)?,
            (15, Wire::Bytes(status)) => span.status = status_of(status)?,
            _ => {}
        }
    }
    Ok(span)
}

fn kind_of(number: u64) -> Kind {
    let kinds = [
        Kind::Unspecified,
        Kind::Internal,
        Kind::Server,
        Kind::Client,
        Kind::Producer,
        Kind::Consumer,
    ];
    let kind = usize::try_from(number).ok().and_then(|n| kinds.get(n));
    kind.copied().unwrap_or_default()
}

fn status_of(message: &[u8]) -> Result<Status, Malformed> {
    for field in Fields(message) {
        match field? {
            (3, Wire::Varint(1)) => return Ok(Status::Ok),
            (3, Wire::Varint(2)) => return Ok(Status::Error),
            _ => {}
        }
    }
    Ok(Status::Unset)
}

fn add_metric(message: &[u8], series: &mut Vec<Series>) -> Result<(), Malformed> {
    let mut common = Series::default();
    let mut points = Vec::new();
    for field in Fields(message) {
        match field? {
            (1, Wire::Bytes(name)) => common.metric = text(name),
            (3, Wire::Bytes(unit)) => common.unit = text(unit),
            // A gauge, a sum, a histogram: each has its points in field 1.
            (kind @ (5 | 7 | 9), Wire::Bytes(data)) => {
                for point in messages(data, 1) {
                    points.push((kind == 9, point?));
                }
            }
            _ => {}
        }
    }
    for (of_a_histogram, message) in points {
        let mut point = common.clone();
        for field in Fields(message) {
            match (of_a_histogram, field?) {
                (true, (9, Wire::Bytes(pair))) | (false, (7, Wire::Bytes(pair))) => {
                    add_attribute(pair, &mut point.attributes)?;
                }
                (true, (4, Wire::Fixed64(count))) => point.count = count,
                (true, (5, Wire::Fixed64(sum))) => point.value = f64::from_bits(sum),
                (true, (7, Wire::Bytes(bounds))) => {
                    let bounds = bounds
                        .chunks_exact(8)
                        .filter_map(|bound| bound.try_into().ok());
                    point.bounds = bounds.map(f64::from_le_bytes).collect();
                }
                (false, (4, Wire::Fixed64(value))) => point.value = f64::from_bits(value),
                (false, (6, Wire::Fixed64(value))) => point.value = value.cast_signed() as f64,
                _ => {}
            }
        }
        series.push(point);
    }
    Ok(())
}

fn add_attribute(pair: &[u8], attributes: &mut Attributes) -> Result<(), Malformed> {
    let (mut key, mut value) = (String::new(), Value::Other);
    for field in Fields(pair) {
        match field? {
            (1, Wire::Bytes(name)) => key = text(name),
            (2, Wire::Bytes(any)) => value = value_of(any)?,
            _ => {}
        }
    }
    attributes.insert(key, value);
    Ok(())
}

fn value_of(any: &[u8]) -> Result<Value, Malformed> {
    Ok(match Fields(any).next().transpose()? {
        Some((1, Wire::Bytes(bytes))) => Value::Text(text(bytes)),
        Some((2, Wire::Varint(value))) => Value::Bool(value != 0),
        Some((3, Wire::Varint(number))) => Value::Int(number.cast_signed()),
        Some((4, Wire::Fixed64(number))) => Value::Float(f64::from_bits(number)),
        _ => Value::Other,
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Why a body can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body isn't protobuf, or ends in the middle")]
pub struct Malformed;

/// What a field holds, by the four wire types that are in use.
enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

/// The messages in this field.
fn messages(message: &[u8], number: u64) -> impl Iterator<Item = Result<&[u8], Malformed>> {
    Fields(message).filter_map(move |field| match field {
        Ok((found, Wire::Bytes(bytes))) if found == number => Some(Ok(bytes)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

/// The fields of a message, by their numbers.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Wire<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or(Malformed))
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Wire<'a>)> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Wire::Fixed32
            }
            _ => return None,
        };
        Some((tag >> 3, value))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with these bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap_or_default();
        [&[number << 3 | 2, length], bytes].concat()
    }

    #[test]
    fn a_span_is_read_and_what_is_not_asked_for_is_skipped() -> Result<(), Malformed> {
        let value = field(2, &[3 << 3, 0xc8, 1]); // an integer, 200
        let attribute = field(9, &[field(1, b"http.response.status_code"), value].concat());
        let flags = [0x85, 1, 1, 1, 0, 0]; // field 16, 32 bits
        let span = [
            &field(1, &[0xab; 16])[..],
            &field(5, b"GET"),
            &[6 << 3, 2],
            &[7 << 3 | 1, 1, 0, 0, 0, 0, 0, 0, 0],
            &attribute,
            &field(15, &[3 << 3, 2]),
            &flags,
        ];
        let body = field(1, &field(2, &field(2, &span.concat())));
        let spans = spans(&body)?;
        let [span] = &spans[..] else {
            return Err(Malformed);
        };
        assert_eq!(span.trace, "ab".repeat(16));
        assert_eq!((span.name.as_str(), span.kind), ("GET", Kind::Server));
        assert_eq!((span.start, span.status), (1, Status::Error));
        assert_eq!(
            span.attributes["http.response.status_code"],
            Value::Int(200)
        );
        Ok(())
    }

    #[test]
    fn half_a_body_is_malformed() {
        let body = field(1, &field(2, &field(2, &field(5, b"GET"))));
        for length in 1..body.len() {
            assert_eq!(spans(&body[..length]), Err(Malformed), "{length} bytes");
        }
    }
}
