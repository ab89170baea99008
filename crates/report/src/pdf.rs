//! A picture as a PDF file.

use std::fmt;

use svg2pdf::{
    ConversionOptions, PageOptions,
    usvg::{Options, Tree},
};

/// The fonts are part of the program: the same picture gives the same bytes on any machine, also on one without fonts.
const REGULAR: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");
const BOLD: &[u8] = include_bytes!("../fonts/DejaVuSans-Bold.ttf");
const FAMILY: &str = "DejaVu Sans";

/// An SVG file that could not be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdfError(String);

impl fmt::Display for PdfError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot convert a figure to PDF: {}", self.0)
    }
}

impl std::error::Error for PdfError {}

/// Converts an SVG file to a PDF file with one page of the same size, a point for each pixel. Text stays text, in an embedded font.
///
/// # Errors
/// Where the text is no SVG file.
pub fn pdf_of_svg(svg: &str) -> Result<Vec<u8>, PdfError> {
    let mut options = Options { font_family: FAMILY.to_owned(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = Tree::from_str(svg, &options).map_err(|error| PdfError(error.to_string()))?;
    svg2pdf::to_pdf(&tree, ConversionOptions::default(), PageOptions::default())
        .map_err(|error| PdfError(error.to_string()))
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
    fn a_page_has_the_size_of_the_picture_and_its_text_an_embedded_font() {
        let pdf = pdf_of_svg(SMALL).unwrap();
        assert!(pdf.starts_with(b"%PDF-"));
        assert!(has(&pdf, "/MediaBox [0 0 200 100]"));
        assert!(has(&pdf, "DejaVuSans") && has(&pdf, "/FontFile"));
        // Without text there is none.
        let without = pdf_of_svg(&SMALL.replace("goodput", "")).unwrap();
        assert!(!has(&without, "/FontFile"));
    }

    #[test]
    fn equal_pictures_give_equal_bytes() {
        assert_eq!(pdf_of_svg(SMALL), pdf_of_svg(SMALL));
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(pdf_of_svg("no picture").unwrap_err().to_string().contains("cannot convert a figure to PDF"));
    }
}
