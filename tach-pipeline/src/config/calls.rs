//! Tables of keys, each of which is a call of a method.

use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::{fmt, iter};
use std::collections::BTreeMap;
use std::hash::DefaultHasher;

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// Options whose methods are the keys of a table. [`keys`] implements it.
pub(super) trait Keys: Sized + 'static {
    /// The keys, in the order in which their methods are called.
    const KEYS: &'static [&'static str];
    /// A table must contain one of these keys.
    const NEEDS: &'static [&'static str] = &[];
    /// A table may contain one of these keys at most.
    const EITHER: &'static [&'static str] = &[];
    /// Whether a table contains exactly one key. The key may also be written alone, as a text.
    const IS_CHOICE: bool = false;

    /// Reads the value of `key`. Returns no call for a value that means the same as a missing key.
    ///
    /// # Errors
    ///
    /// If the key is unknown, or its value can't be read.
    fn call<'de, A: MapAccess<'de>>(
        key: &str,
        from: &mut A,
    ) -> Result<Option<Call<Self>>, A::Error>;
}

/// A call of a method, with a number that is the same for equal values of its key.
pub(super) struct Call<T> {
    call: Box<dyn FnOnce(T) -> T>,
    value: u64,
}

impl<T> Call<T> {
    fn new<V: Hash + 'static>(value: V, method: impl FnOnce(T, V) -> T + 'static) -> Self {
        Self { value: number(&value), call: Box::new(|options| method(options, value)) }
    }
}

/// Returns a number that is the same for equal values. A secret can't be read out of it.
pub(super) fn number(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The calls of a table by the places of their keys in [`Keys::KEYS`], since a table has no order
/// of its own.
pub(super) struct Calls<T>(BTreeMap<Option<usize>, Call<T>>);

impl<T> Calls<T> {
    /// Returns the options after the calls.
    pub(super) fn on(self, options: T) -> T {
        self.0.into_values().fold(options, |options, Call { call, .. }| call(options))
    }
}

impl<T: Keys> Calls<T> {
    /// Returns the keys that a table has, and the number of each value.
    pub(super) fn written(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().filter_map(|(at, call)| Some((*T::KEYS.get((*at)?)?, call.value)))
    }
}

impl<T> Hash for Calls<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|(at, call)| (at, call.value).hash(state));
    }
}

impl<'de, T: Keys> Deserialize<'de> for Calls<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Table(PhantomData))
    }
}

struct Table<T>(PhantomData<T>);

impl<'de, T: Keys> Visitor<'de> for Table<T> {
    type Value = Calls<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if T::IS_CHOICE {
            "a name, or a table with one of "
        } else {
            "a table with "
        })?;
        f.write_str(&T::KEYS.join(", "))
    }

    /// Reads `true` as a table without keys.
    fn visit_bool<E: Error>(self, is_on: bool) -> Result<Calls<T>, E> {
        let no_keys = MapDeserializer::new(iter::empty::<(&str, &str)>());
        if is_on {
            return self.visit_map(no_keys);
        }
        Err(E::invalid_type(Unexpected::Bool(is_on), &self))
    }

    /// Reads a name as a table with that key. Otherwise the error hides the text, which may be an
    /// endpoint with a password.
    fn visit_str<E: Error>(self, name: &str) -> Result<Calls<T>, E> {
        if T::IS_CHOICE {
            return self.visit_map(MapDeserializer::new(iter::once((name, true))));
        }
        Err(E::invalid_type(Unexpected::Other("a text"), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Calls<T>, A::Error> {
        let index = |key: &str| T::KEYS.iter().position(|known| *known == key);
        let mut calls = BTreeMap::new();
        while let Some(key) = table.next_key_seed(Key::<T>(PhantomData))? {
            let call = T::call(&key, &mut table)?;
            if call.is_some_and(|call| calls.insert(index(&key), call).is_some()) {
                return Err(A::Error::custom(format!("the key `{key}` stands twice")));
            }
        }
        let needed = if T::IS_CHOICE { T::KEYS } else { T::NEEDS };
        for (keys, least) in [(needed, needed.len().min(1)), (T::EITHER, 0)] {
            let count = keys.iter().filter(|key| calls.contains_key(&index(key))).count();
            if count > 1 || count < least {
                let keys = keys.join(", ");
                return Err(A::Error::custom(format!("expected one of {keys}, found {count}")));
            }
        }
        Ok(Calls(calls))
    }
}

/// Reads a key that is known. An error here has the place of the key, and not of the table.
struct Key<T>(PhantomData<T>);

impl<'de, T: Keys> DeserializeSeed<'de> for Key<T> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<String, D::Error> {
        let key = String::deserialize(from)?;
        let is_known = T::KEYS.contains(&&*key);
        if is_known { Ok(key) } else { Err(D::Error::unknown_field(&key, T::KEYS)) }
    }
}

/// Reads a value and returns the call with it, or no call for `null`.
pub(super) fn call<'de, A: MapAccess<'de>, T, V: Deserialize<'de> + Hash + 'static>(
    from: &mut A,
    method: impl FnOnce(T, V) -> T + 'static,
) -> Result<Option<Call<T>>, A::Error> {
    let value = from.next_value::<Option<V>>()?;
    Ok(value.map(|value| Call::new(value, method)))
}

/// Like [`call`], for a method without an argument. Returns no call for `false` either.
pub(super) fn turn_on<'de, A: MapAccess<'de>, T>(
    from: &mut A,
    method: impl FnOnce(T) -> T + 'static,
) -> Result<Option<Call<T>>, A::Error> {
    let is_on = from.next_value::<Option<bool>>()? == Some(true);
    Ok(is_on.then(|| Call::new(is_on, |options, _| method(options))))
}

/// Like [`call`], for options that are made of the chosen value.
pub(super) fn choose<'de, A: MapAccess<'de>, T, V: Deserialize<'de> + Hash + 'static>(
    from: &mut A,
    make: impl FnOnce(V) -> T + 'static,
) -> Result<Option<Call<Option<T>>>, A::Error> {
    Ok(Some(Call::new(from.next_value()?, |_, value| Some(make(value)))))
}

/// Implements [`Keys`] for options. Each key is the name of its method. The lists are: methods with
/// a text, with another value that serde reads, with a [number](super::parsed::Number), with a
/// number of bytes, with a value that is [parsed](super::parsed), and without an argument, which
/// are called for `true`. `makes` has constructors without an argument, and `calls` the keys that
/// need more than a call of the method.
macro_rules! keys {
    (
        $options:ty $(, $S:ident: $bound:path)?;
        $(needs $($needed:ident)+;)?
        $(either $($either:ident)+;)?
        $(choice { $($(#[$if_choice:meta])? $choice:ident = $make:expr;)+ })?
        $(makes { $($(#[$if_made:meta])? $made:ident = $new:expr;)+ })?
        $(calls { $($(#[$if:meta])? $call:ident = $method:expr;)+ })?
        $(texts $($text:ident)+;)?
        $(values $($value:ident)+;)?
        $(numbers $($number:ident)+;)?
        $(sizes $($size:ident)+;)?
        $(parsed $($parsed:ident)+;)?
        $(flags $($(#[$if_flag:meta])? $flag:ident)+;)?
    ) => {
        impl$(<$S: $bound + 'static>)? $crate::config::calls::Keys for $options {
            const KEYS: &'static [&'static str] = &[
                $($($(#[$if_choice])? stringify!($choice),)+)?
                $($($(#[$if_made])? stringify!($made),)+)?
                $($($(#[$if])? stringify!($call),)+)?
                $($(stringify!($text),)+)?
                $($(stringify!($value),)+)?
                $($(stringify!($number),)+)?
                $($(stringify!($size),)+)?
                $($(stringify!($parsed),)+)?
                $($($(#[$if_flag])? stringify!($flag),)+)?
            ];
            $(const NEEDS: &'static [&'static str] = &[$(stringify!($needed)),+];)?
            $(const EITHER: &'static [&'static str] = &[$(stringify!($either)),+];)?
            $(const IS_CHOICE: bool = ![$(stringify!($choice)),+].is_empty();)?

            fn call<'de, A: serde::de::MapAccess<'de>>(
                key: &str,
                from: &mut A,
            ) -> Result<Option<$crate::config::calls::Call<Self>>, A::Error> {
                match key {
                    $($($(#[$if_choice])? stringify!($choice) => choose(from, $make),)+)?
                    $($($(#[$if_made])? stringify!($made) => turn_on(from, |_| $new),)+)?
                    $($($(#[$if])? stringify!($call) => call(from, $method),)+)?
                    $($(stringify!($text) => call(from, |to: Self, it: String| to.$text(&*it)),)+)?
                    $($(stringify!($value) => call(from, Self::$value),)+)?
                    $($(stringify!($number) => {
                        call(from, |to: Self, Number(it)| to.$number(it))
                    })+)?
                    $($(stringify!($size) => call(from, |to: Self, Size(it)| to.$size(it)),)+)?
                    $($(stringify!($parsed) => {
                        call(from, |to: Self, Parsed(it)| to.$parsed(it))
                    })+)?
                    $($($(#[$if_flag])? stringify!($flag) => turn_on(from, Self::$flag),)+)?
                    _ => Err(serde::de::Error::unknown_field(key, Self::KEYS)),
                }
            }
        }
    };
}
pub(super) use keys;

#[cfg(test)]
mod tests {
    use super::Calls;
    use tach_sinks::Rotation;

    #[track_caller]
    fn refused(json: &str) -> String {
        let error = serde_json::from_str::<Calls<Rotation>>(json).err().unwrap();
        error.to_string()
    }

    #[test]
    fn a_key_stands_once() {
        let error = refused(r#"{"keep": 1, "keep": 2}"#);
        assert!(error.starts_with("the key `keep` stands twice"), "{error}");
    }

    #[test]
    fn keys_exclude_each_other() {
        let error = refused(r#"{"daily": true, "hourly": true}"#);
        assert!(error.starts_with("expected one of daily, hourly, found 2"), "{error}");
    }

    #[test]
    fn null_and_false_are_like_no_key() {
        for text in [
            r#"{"keep": null, "daily": true, "hourly": null}"#,
            r#"{"daily": true, "hourly": false}"#,
        ] {
            let keys: Calls<Rotation> = serde_json::from_str(text).unwrap();
            assert_eq!(keys.on(Rotation::new()), Rotation::new().daily(), "{text}");
        }
    }
}
