//! Pages on a wide screen and on a telephone: nothing is wider than the screen, and no word of a table is broken.

use quiclab_testing::has_program;

use crate::{
    browser::{complaints, load},
    colours::pages,
};

/// Complains about a page that scrolls sideways as a whole, about words that are broken, and about headings that run into each other.
const LOOK_AT_WIDTHS: &str = "<script>
  document.querySelectorAll('details').forEach((one) => { one.open = true; });
  const wide = document.documentElement.scrollWidth;
  if (innerWidth !== WIDTH) console.error('the window has ' + innerWidth + ' pixels');
  if (wide > innerWidth) console.error('the page has ' + wide + ' pixels of ' + innerWidth);
  document.querySelectorAll('thead th').forEach((head) => {
    if (head.scrollWidth > head.clientWidth + 1) console.error('too long: ' + head.textContent);
    const walker = document.createTreeWalker(head, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const word of node.data.matchAll(/[\\p{L}\\p{N}_]+/gu)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        if (range.getClientRects().length > 1) console.error('broken: ' + word[0]);
      }
    }
  });
</script>";

/// What a browser says of a page in a window of this width. A window itself cannot be narrower than 500 pixels, so it has a frame.
fn look(page: &str, width: u32) -> Vec<String> {
    let script = LOOK_AT_WIDTHS.replace("WIDTH", &width.to_string());
    let inside = page.replace("</body>", &format!("{script}</body>")).replace('&', "&amp;").replace('"', "&quot;");
    let (_, log) = load(&format!(
        "<!doctype html><body style=\"margin:0\"><iframe style=\"border:0;width:{width}px;height:900px\" srcdoc=\"{inside}\"></iframe></body>"
    ));
    complaints(&log).into_iter().map(str::to_owned).collect()
}

#[test]
fn pages_fit_on_a_telephone_and_their_words_are_whole() {
    if !has_program("chromium", "chromium") {
        return;
    }
    for (name, page) in pages() {
        for width in [420, 1400] {
            assert_eq!(look(&page, width), [""; 0], "{name} at {width}");
        }
    }
}

#[test]
fn a_broken_word_and_a_page_that_is_too_wide_would_be_noticed() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let narrow = "<style>th { max-width: 7rem; overflow-wrap: break-word; }</style>";
    let table = "<table><thead><tr><th>packets acknowledged_and_retransmitted</th></tr></thead></table>";
    let found = look(&format!("<body>{narrow}{table}<p style=\"width:430px\">x</p></body>"), 420);
    assert!(found.iter().any(|line| line.contains("broken: acknowledged_and_retransmitted")), "{found:?}");
    assert!(found.iter().any(|line| line.contains("the page has")), "{found:?}");
}
