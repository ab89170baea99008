//! A picture as a PDF or a PNG file.

mod order;

use std::fmt;

use resvg::tiny_skia::{Color, Pixmap, Transform};
use svg2pdf::{
    ConversionOptions, PageOptions,
    usvg::{Options, Tree},
};

/// The fonts are part of the program: the same picture gives the same bytes on any machine, also on one without fonts.
const REGULAR: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");
const BOLD: &[u8] = include_bytes!("../fonts/DejaVuSans-Bold.ttf");
const FAMILY: &str = "DejaVu Sans";
/// Pixels of a PNG for each pixel of the picture.
const PNG_SCALE: f32 = 2.0;

/// An SVG file that could not be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdfError(String);

impl fmt::Display for PdfError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot convert a figure: {}", self.0)
    }
}

impl std::error::Error for PdfError {}

/// Converts an SVG file to a PDF file with one page of the same size, a point for each pixel. Text stays text, in an embedded font.
///
/// # Errors
/// Where the text is no SVG file.
pub fn pdf_of_svg(svg: &str) -> Result<Vec<u8>, PdfError> {
    let tree = Tree::from_str(svg, &options()).map_err(|error| PdfError(error.to_string()))?;
    let pdf = svg2pdf::to_pdf(&tree, ConversionOptions::default(), PageOptions::default())
        .map_err(|error| PdfError(error.to_string()))?;
    order::ordered(&pdf).ok_or_else(|| PdfError("the file is not laid out as svg2pdf 0.13 does it".to_owned()))
}

/// Draws an SVG file as a PNG file, with two pixels for each of its own: sharp in a comment and on dense screens.
///
/// # Errors
/// Where the text is no SVG file, or an image of its size does not fit into memory.
pub fn png_of_svg(svg: &str) -> Result<Vec<u8>, PdfError> {
    let tree = Tree::from_str(svg, &options()).map_err(|error| PdfError(error.to_string()))?;
    let size = tree.size().to_int_size().scale_by(PNG_SCALE);
    let image = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let mut image = image.ok_or_else(|| PdfError("the picture is too large for an image".to_owned()))?;
    image.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(PNG_SCALE, PNG_SCALE), &mut image.as_mut());
    image.encode_png().map_err(|error| PdfError(error.to_string()))
}

fn options() -> Options<'static> {
    let mut options = Options { font_family: FAMILY.to_owned(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 200 100\" width=\"200\" height=\"100\">\
                         <style>text { font-family: system-ui, sans-serif; }</style>\
                         <text x=\"10\" y=\"50\">goodput</text><rect x=\"1\" y=\"1\" width=\"9\" height=\"9\" fill=\"#f00\"/></svg>";

    fn has(pdf: &[u8], text: &str) -> bool {
        pdf.windows(text.len()).any(|part| part == text.as_bytes())
    }

    #[test]
    fn an_image_has_twice_the_size_of_the_picture() {
        let png = png_of_svg(SMALL).unwrap();
        // PNG: eight bytes, then the header's length and name, then width and height.
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((number(16), number(20)), (400, 200));
        assert!(png_of_svg("no picture").is_err());
    }

    #[test]
    fn a_page_has_the_size_of_the_picture_and_its_text_an_embedded_font() {
        let pdf = pdf_of_svg(SMALL).unwrap();
        assert!(pdf.starts_with(b"%PDF-"));
        assert!(has(&pdf, "/MediaBox [0 0 200 100]"));
        assert!(has(&pdf, "DejaVuSans") && has(&pdf, "/FontFile"));
        // Without text there is none.
        let without = pdf_of_svg(&SMALL.replace("goodput", "")).unwrap();
        assert!(!has(&without, "/FontFile"));
    }

    /// Two fonts and three degrees of transparency: the library lists each of them in a random order.
    const LARGE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 200 100\" width=\"200\" height=\"100\">\
                         <text x=\"1\" y=\"20\">plain</text><text x=\"1\" y=\"50\" font-weight=\"bold\">bold</text>\
                         <rect width=\"9\" height=\"9\" fill-opacity=\"0.1\"/><rect width=\"8\" height=\"9\" fill-opacity=\"0.2\"/>\
                         <rect width=\"7\" height=\"9\" fill-opacity=\"0.3\"/></svg>";

    #[test]
    fn equal_pictures_give_equal_bytes() {
        for picture in [SMALL, LARGE] {
            let pdf = pdf_of_svg(picture).unwrap();
            for _ in 0..20 {
                assert!(pdf_of_svg(picture).unwrap() == pdf, "{picture}");
            }
        }
    }

    #[test]
    fn every_object_is_where_the_table_says_and_every_reference_leads_to_one() {
        let pdf = pdf_of_svg(LARGE).unwrap();
        let text = String::from_utf8_lossy(&pdf);
        let number = |text: &str| text.trim().parse::<usize>().unwrap();
        let table = number(text.rsplit("startxref\n").next().unwrap().lines().next().unwrap());
        let lines: Vec<_> = str::from_utf8(&pdf[table..]).unwrap().split_inclusive('\n').collect();
        let count = number(lines[1].split(' ').nth(1).unwrap());
        for (object, line) in lines[2..2 + count].iter().enumerate().skip(1) {
            // ISO 32000-1, 7.5.4: exactly 20 bytes.
            assert_eq!(line.len(), 20);
            assert!(pdf[number(&line[..10])..].starts_with(format!("{object} 0 obj\n").as_bytes()), "{object}");
        }
        for reference in text.match_indices(" 0 R").map(|(end, _)| text[..end].rsplit([' ', '[']).next().unwrap()) {
            assert!((1..count).contains(&number(reference)), "{reference}");
        }
        assert!(text.contains(&format!("/Size {count}\n")));
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(pdf_of_svg("no picture").unwrap_err().to_string().contains("cannot convert a figure"));
    }
}
