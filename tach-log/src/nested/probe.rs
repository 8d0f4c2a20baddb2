//! Whether a value is nested. For a plain value, finding it out neither prints nor allocates.

use core::cell::Cell;
use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic;

use serde_core::ser::{Error, Impossible, Serialize, Serializer};

/// Returns whether a value is an object or a list in JSON.
pub fn is_nested<T: Serialize + ?Sized>(value: &T) -> bool {
    let found = Cell::new(false);
    let probe = AssertUnwindSafe(|| value.serialize(Probe(&found)));
    let _stopped = panic::catch_unwind(probe);
    found.get()
}

/// A serializer that notes where a nested value begins, and stops there. (The error alone does not
/// show that: the value may replace it by another one.)
struct Probe<'a>(&'a Cell<bool>);

impl Probe<'_> {
    fn stop<R>(&self) -> Result<R, Stop> {
        self.0.set(true);
        Err(Stop)
    }
}

#[derive(Debug)]
struct Stop;

impl fmt::Display for Stop {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl core::error::Error for Stop {}

impl Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

type Never = Impossible<(), Stop>;

macro_rules! plain {
    ($($method:ident($($type:ty),*);)*) => {
        $(fn $method(self, $(_: $type),*) -> Result<(), Stop> {
            Ok(())
        })*
    };
}

macro_rules! nested {
    ($($method:ident($($type:ty),*) -> $Parts:ident;)*) => {
        $(
            type $Parts = Never;

            fn $method(self, $(_: $type),*) -> Result<Never, Stop> {
                self.stop()
            }
        )*
    };
}

impl Serializer for Probe<'_> {
    type Ok = ();
    type Error = Stop;

    plain! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_str(&str);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    nested! {
        serialize_seq(Option<usize>) -> SerializeSeq;
        serialize_tuple(usize) -> SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant;
        serialize_map(Option<usize>) -> SerializeMap;
        serialize_struct(&'static str, usize) -> SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant;
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Stop> {
        self.stop()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Stop> {
        self.stop()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<(), Stop> {
        Ok(())
    }
}
