//! The methods that change a layout.

/// The options of a format that has a layout.
macro_rules! options {
    ($Format:ident, $syntax:expr) => {
        impl $Format {
            /// Creates a layout without parts: events have fields alone.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format),
                "::empty().level(\"severity\").message(\"message\").time(\"time\");")]
            /// ```
            #[must_use]
            pub fn empty() -> Self {
                Self::of(Layout::new($syntax, &[]))
            }

            fn of(layout: Layout) -> Self {
                Self { layout: Some(Box::new(layout)) }
            }

            fn change(mut self, change: impl FnOnce(&mut Layout)) -> Self {
                let default = || Box::new(Layout::new($syntax, &DEFAULT));
                change(self.layout.get_or_insert_with(default));
                self
            }

            fn set(self, key: &str, what: &What) -> Self {
                self.change(|layout| layout.set(key, what))
            }

            /// Names the time, `ts` by default.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().time(\"@timestamp\");")]
            /// ```
            #[must_use]
            pub fn time(self, key: &str) -> Self {
                self.set(key, &What::Time)
            }

            /// Names the level, `level` by default.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().level(\"severity\");")]
            /// ```
            #[must_use]
            pub fn level(self, key: &str) -> Self {
                self.set(key, &What::Level)
            }

            /// Names the target, `target` by default.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().target(\"logger\");")]
            /// ```
            #[must_use]
            pub fn target(self, key: &str) -> Self {
                self.set(key, &What::Target)
            }

            /// Names the message, `msg` by default.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().message(\"message\");")]
            /// ```
            #[must_use]
            pub fn message(self, key: &str) -> Self {
                self.set(key, &What::Message)
            }

            /// Names the text with the names of the spans, `span` by default.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().span(\"context\");")]
            /// ```
            #[must_use]
            pub fn span(self, key: &str) -> Self {
                self.set(key, &What::SpanNames)
            }

            /// Adds the source file.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().file(\"file\").line(\"line\");")]
            /// ```
            #[must_use]
            pub fn file(self, key: &str) -> Self {
                self.set(key, &What::File)
            }

            /// Adds the line in the source file, a number.
            ///
            /// # Examples
            ///
            /// See [`file`](Self::file).
            #[must_use]
            pub fn line(self, key: &str) -> Self {
                self.set(key, &What::Line)
            }

            /// Adds the path of the module, which differs from the target where a call names one.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().module(\"module\");")]
            /// ```
            #[must_use]
            pub fn module(self, key: &str) -> Self {
                self.set(key, &What::Module)
            }

            /// Adds the name of the thread, if it has one.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().thread(\"thread\").thread_id(\"id\");")]
            /// ```
            #[must_use]
            pub fn thread(self, key: &str) -> Self {
                self.set(key, &What::ThreadName)
            }

            /// Adds the number of the thread, as [`ThreadId`](std::thread::ThreadId) prints it.
            ///
            /// # Examples
            ///
            /// See [`thread`](Self::thread).
            #[must_use]
            pub fn thread_id(self, key: &str) -> Self {
                self.set(key, &What::ThreadId)
            }

            /// Adds the id of this process.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().process_id(\"pid\");")]
            /// ```
            #[must_use]
            pub fn process_id(self, key: &str) -> Self {
                self.with(key, std::process::id())
            }

            /// Adds a value that is the same for every event.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().with(\"service\", \"checkout\").with(\"shard\", 3);")]
            /// ```
            #[must_use]
            pub fn with<'a>(self, key: &str, value: impl Into<Value<'a>>) -> Self {
                self.change(|layout| {
                    let value = layout.syntax.text_of(value.into());
                    layout.set(key, &What::Fixed(value));
                })
            }

            /// Removes the part with this key, if there is one.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().without(\"target\");")]
            /// ```
            #[must_use]
            pub fn without(self, key: &str) -> Self {
                self.change(|layout| layout.parts.retain(|part| part.key != key))
            }

            /// Renames a field of the events, unless the layout or another field has the new key.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().rename(\"err\", \"error.message\");")]
            /// ```
            #[must_use]
            pub fn rename(self, field: &str, key: &str) -> Self {
                self.change(|layout| layout.rename(field, key))
            }

            /// Writes the time with so many digits of a second, at most nine: six by default.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().digits(3);")]
            /// ```
            #[must_use]
            pub fn digits(self, digits: usize) -> Self {
                self.change(|layout| layout.time = layout.time.with_digits(digits))
            }

            /// Writes local time that is so far ahead of UTC, with the offset, as `+01:00`.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format),
                "::new().offset(\"+01:00\".parse()?);")]
            /// # Ok::<(), tach_core::Error>(())
            /// ```
            #[must_use]
            pub fn offset(self, offset: Offset) -> Self {
                self.change(|layout| layout.time = layout.time.with_offset(offset))
            }

            /// Writes the time as whole seconds since the Unix epoch, a number rounded down.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().unix_seconds();")]
            /// ```
            #[must_use]
            pub fn unix_seconds(self) -> Self {
                self.change(|layout| layout.time = Time::Number(1_000_000_000))
            }

            /// Writes the time as milliseconds since the Unix epoch.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().unix_millis();")]
            /// ```
            #[must_use]
            pub fn unix_millis(self) -> Self {
                self.change(|layout| layout.time = Time::Number(1_000_000))
            }

            /// Writes the time as microseconds since the Unix epoch.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().unix_micros();")]
            /// ```
            #[must_use]
            pub fn unix_micros(self) -> Self {
                self.change(|layout| layout.time = Time::Number(1_000))
            }

            /// Writes the time as nanoseconds since the Unix epoch. Many readers round these.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().unix_nanos();")]
            /// ```
            #[must_use]
            pub fn unix_nanos(self) -> Self {
                self.change(|layout| layout.time = Time::Number(1))
            }

            /// Writes the levels as these texts or numbers: slog's `Critical`, then `Error`,
            /// `Warn`, `Info`, `Debug` and `Trace`. By default they are names in capitals.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let format = tach_log::", stringify!($Format), "::new().levels([60, 50, 40, 30, 20, 10]);")]
            /// ```
            #[must_use]
            pub fn levels<'a>(self, levels: [impl Into<Value<'a>>; 6]) -> Self {
                self.change(|layout| {
                    layout.levels = levels.map(|level| layout.syntax.text_of(level.into()));
                })
            }

            /// Returns whether the layout has any of the parts.
            #[inline]
            fn layout_has(&self, any: &[What]) -> bool {
                self.layout.as_ref().is_some_and(|layout| layout.has(any))
            }
        }
    };
}

pub(in crate::format) use options;
