//! The two syntaxes of [`Keyed`].

use std::io;

use super::keyed::Keyed;
use super::layout::{SITE, Style, Syntax, THREAD};
use super::{Format, json, logfmt, made_line};
use crate::event::Event;

impl<S: Style> Format for Keyed<S> {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        if event.is_line() {
            made_line(to, event);
            return Ok(());
        }
        match (&self.layout, S::SYNTAX) {
            (Some(layout), _) => layout.write(to, event),
            (None, Syntax::Logfmt) => logfmt::write(event, to),
            (None, Syntax::Json) => json::write(event, to),
        }
    }

    #[inline]
    fn wants_site(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.has(&SITE))
    }

    #[inline]
    fn wants_thread(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.has(&THREAD))
    }

    fn renames(&self) -> Vec<(&str, &str)> {
        self.layout.as_ref().map(|layout| layout.renames()).unwrap_or_default()
    }

    fn faults(&self) -> Vec<String> {
        self.layout.as_ref().map(|layout| layout.faults()).unwrap_or_default()
    }
}
