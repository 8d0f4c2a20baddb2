//! The two syntaxes of [`Keyed`].

use std::io;

use super::keyed::Keyed;
use super::layout::{SITE, Style, Syntax, THREAD};
use super::{Format, json, logfmt};
use crate::event::Event;

impl<S: Style> Format for Keyed<S> {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        let layout = self.layout.as_deref();
        match S::SYNTAX {
            Syntax::Logfmt => logfmt::write(layout, event, to),
            Syntax::Json | Syntax::Otlp => json::write(layout, event, to),
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

    fn faults(&self) -> Vec<String> {
        self.layout.as_ref().map(|layout| layout.faults()).unwrap_or_default()
    }
}
