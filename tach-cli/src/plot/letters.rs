//! A bitmap whose letters are part of the program, since a server has no fonts.

use core::convert::Infallible;

use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{OriginDimensions, Point, Size};
use embedded_graphics::mono_font::iso_8859_1::{FONT_9X15, FONT_10X20};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::BinaryColor;
use embedded_graphics::text::{Baseline, Text};
use embedded_graphics::{Drawable as _, Pixel};
use plotters::prelude::{BitMapBackend, DrawingBackend};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind,
};

/// Smaller letters than this have the smaller font.
const LARGE: f64 = 18.0;

/// A bitmap that draws letters itself and leaves everything else to its inner bitmap.
pub(super) struct Letters<'a>(pub(super) BitMapBackend<'a>);

type Result<'a, T = ()> =
    core::result::Result<T, DrawingErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>>;

impl<'a> DrawingBackend for Letters<'a> {
    type ErrorType = <BitMapBackend<'a> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Result<'a> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Result<'a> {
        self.0.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Result<'a> {
        self.0.draw_pixel(point, color)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<'a> {
        self.0.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<'a> {
        self.0.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        position: BackendCoord,
    ) -> Result<'a> {
        let (width, height) = size(text, style);
        let left = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => -width / 2,
            HPos::Right => -width,
        };
        let top = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -height / 2,
            VPos::Bottom => -height,
        };
        for point in points(text, font(style)) {
            let (x, y) = style.transform().transform(left + point.x, top + point.y);
            self.0.draw_pixel((position.0 + x, position.1 + y), style.color())?;
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<'a, (u32, u32)> {
        let (width, height) = size(text, style);
        Ok((width.unsigned_abs(), height.unsigned_abs()))
    }
}

fn font(style: &impl BackendTextStyle) -> &'static MonoFont<'static> {
    if style.size() < LARGE { &FONT_9X15 } else { &FONT_10X20 }
}

/// Returns the width and the height of a line of text.
fn size(text: &str, style: &impl BackendTextStyle) -> (i32, i32) {
    let letter = font(style).character_size;
    let [width, height] = [letter.width, letter.height].map(i32::try_from);
    let letters = i32::try_from(text.chars().count()).unwrap_or(i32::MAX);
    (letters.saturating_mul(width.unwrap_or(0)), height.unwrap_or(0))
}

/// Returns the points of a line of text, from its upper left corner.
fn points(text: &str, font: &MonoFont<'_>) -> Vec<Point> {
    let mut canvas = Canvas(Vec::new());
    let style = MonoTextStyle::new(font, BinaryColor::On);
    let text = Text::with_baseline(text, Point::zero(), style, Baseline::Top);
    match text.draw(&mut canvas) {
        Ok(_) => canvas.0,
        Err(never) => match never {},
    }
}

/// Points that are set.
struct Canvas(Vec<Point>);

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(u32::MAX, u32::MAX)
    }
}

impl DrawTarget for Canvas {
    type Color = BinaryColor;
    type Error = Infallible;

    fn draw_iter<I>(&mut self, pixels: I) -> core::result::Result<(), Infallible>
    where
        I: IntoIterator<Item = Pixel<BinaryColor>>,
    {
        let set = pixels.into_iter().filter(|Pixel(_, color)| color.is_on());
        self.0.extend(set.map(|Pixel(point, _)| point));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_letters() {
        let unknown = points("\u{1}", &FONT_10X20);
        for letter in ["µ", "±", "s", "0", "-"] {
            let drawn = points(letter, &FONT_10X20);
            assert!(!drawn.is_empty() && drawn != unknown, "{letter}");
            assert!(drawn.iter().all(|at| (0..10).contains(&at.x) && (0..20).contains(&at.y)));
        }
    }
}
