//! Reads the spans of OTLP's requests in protobuf, by the numbers of `trace.proto`'s fields:
//! neither by tach's code nor by code that is generated from a schema.

use std::collections::BTreeMap;

/// A span that a collector received.
#[derive(Debug, Clone, Default)]
pub struct Span {
    /// The id of the trace.
    pub trace: u128,
    /// The id of the span.
    pub id: u64,
    /// The `tracestate`.
    pub state: String,
    /// Zero for a root.
    pub parent: u64,
    /// The name.
    pub name: String,
    /// 1 for internal, 2 server, 3 client, 4 producer, 5 consumer.
    pub kind: u64,
    /// In ns since 1970.
    pub start: u64,
    /// In ns since 1970.
    pub end: u64,
    /// Values that are no texts are printed.
    pub attributes: BTreeMap<String, String>,
    /// The names of the events.
    pub events: Vec<String>,
    /// The traces and the ids of the spans that the span links to.
    pub links: Vec<(u128, u64)>,
    /// Zero for unset, 1 for ok, 2 for error.
    pub status: u64,
    /// The description of the status.
    pub description: String,
}

/// Returns the spans of an `ExportTraceServiceRequest`.
///
/// # Panics
///
/// If `body` is no protobuf.
#[must_use]
pub fn spans(body: &[u8]) -> Vec<Span> {
    let messages = |of: Vec<Message>, field| -> Vec<Message> {
        of.iter().flat_map(|message| message.messages(field)).collect()
    };
    let scopes = messages(messages(vec![Message::read(body)], 1), 2);
    messages(scopes, 2).iter().map(span).collect()
}

fn span(from: &Message) -> Span {
    let text = |of: &Message, field| String::from_utf8(of.bytes(field)).expect("texts are UTF-8");
    let value = |of: &Message| match of.0.first() {
        Some((1, _)) => text(of, 1),
        Some((_, Field::Number(number))) => number.to_string(),
        other => format!("{other:?}"),
    };
    let attributes = from.messages(9).into_iter().map(|it| {
        let values = it.messages(2);
        (text(&it, 1), values.first().map(value).unwrap_or_default())
    });
    Span {
        trace: id(&from.bytes(1)),
        id: low(id(&from.bytes(2))),
        state: text(from, 3),
        parent: low(id(&from.bytes(4))),
        name: text(from, 5),
        kind: from.number(6),
        start: from.number(7),
        end: from.number(8),
        attributes: attributes.collect(),
        events: from.messages(11).iter().map(|event| text(event, 2)).collect(),
        links: from
            .messages(13)
            .iter()
            .map(|it| (id(&it.bytes(1)), low(id(&it.bytes(2)))))
            .collect(),
        status: from.messages(15).first().map_or(0, |status| status.number(3)),
        description: from.messages(15).first().map_or_else(String::new, |it| text(it, 2)),
    }
}

fn id(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |id, &byte| id << 8 | u128::from(byte))
}

fn low(id: u128) -> u64 {
    u64::try_from(id).expect("the id of a span has eight bytes")
}

#[derive(Debug)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

/// The fields of a message with their numbers.
#[derive(Debug)]
struct Message(Vec<(u64, Field)>);

impl Message {
    fn read(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let field = match key & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => Field::Number(fixed(&mut bytes, 8)),
                2 => {
                    let length = varint(&mut bytes);
                    Field::Bytes(take(&mut bytes, length).to_owned())
                }
                5 => Field::Number(fixed(&mut bytes, 4)),
                wire => panic!("no field has the wire type {wire}"),
            };
            fields.push((key >> 3, field));
        }
        Self(fields)
    }

    fn all(&self, number: u64) -> impl Iterator<Item = &Field> {
        self.0.iter().filter(move |(its, _)| *its == number).map(|(_, field)| field)
    }

    fn number(&self, number: u64) -> u64 {
        self.all(number).last().map_or(0, |field| match field {
            Field::Number(number) => *number,
            Field::Bytes(bytes) => panic!("field {number} is no number: {bytes:?}"),
        })
    }

    fn bytes(&self, number: u64) -> Vec<u8> {
        self.all(number).last().map_or_else(Vec::new, |field| match field {
            Field::Bytes(bytes) => bytes.clone(),
            Field::Number(value) => panic!("field {number} is a number: {value}"),
        })
    }

    fn messages(&self, number: u64) -> Vec<Self> {
        let bytes = self.all(number).map(|field| match field {
            Field::Bytes(bytes) => Self::read(bytes),
            Field::Number(value) => panic!("field {number} is a number: {value}"),
        });
        bytes.collect()
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> &'a [u8] {
    let length = usize::try_from(length).expect("a length");
    let (taken, rest) = bytes.split_at_checked(length).expect("the message is whole");
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
    }
    panic!("a number has ten bytes at most")
}

fn fixed(bytes: &mut &[u8], length: u64) -> u64 {
    take(bytes, length).iter().rfold(0, |number, &byte| number << 8 | u64::from(byte))
}
