use crate::{Limits, corpus, parse};

fn preview(message: &str) -> String {
    parse(message.as_bytes(), &Limits::default()).preview
}

#[test]
fn plain_text_comes_first_and_is_squeezed() {
    assert_eq!(
        preview("Subject: x\r\n\r\n  Hello,\r\n\r\n\tworld  \u{200b} !\r\n"),
        "Hello, world !"
    );
    let both = "Content-Type: multipart/mixed; boundary=b\n\n\
        --b\nContent-Type: text/html\n\n<p>h</p>\n--b\n\
        Content-Disposition: attachment\n\nattached\n--b\n\nplain\n--b--\n";
    assert_eq!(preview(both), "plain");
    assert_eq!(preview("Content-Type: application/pdf\n\nx"), "");
}

#[test]
fn encodings_and_charsets_are_removed() {
    let base64 =
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nxb5sdcWl\n";
    assert_eq!(preview(base64), "žluť");
    let quoted = "Content-Type: text/plain; charset=iso-8859-2\n\
        Content-Transfer-Encoding: quoted-printable\n\n\
        =BElu=\n=BB\n";
    assert_eq!(preview(quoted), "žluť");
}

#[test]
fn html_is_stripped() {
    let html = "Content-Type: text/html; charset=utf-8\n\n<!DOCTYPE html>\
        <html><head><title>T</title>\
        <style>p { x: y }</style></head><body>\
        <!-- <p>no</p> --><p>Gr&uuml;&szlig;e&nbsp;&amp; &#8364;&#x41; \
        a &lt; b &unknown; &</p><script>x()</script><header>h</header></body></html>";
    assert_eq!(preview(html), "Grüße & €A a < b &unknown; & h");
    assert_eq!(
        preview("Content-Type: text/html\n\n<style>never closed <p>text"),
        "never closed text"
    );
    assert_eq!(preview("Content-Type: text/html\n\ntext <never closed"), "text");
}

#[test]
fn length_is_bounded() {
    let long = preview(&format!("\n{}", "žluťoučký ".repeat(1_000)));
    assert_eq!(long.chars().count(), 199);
    assert!(!long.contains('\u{fffd}'));
    let word = corpus::base64_lines("ž".repeat(5_000).as_bytes(), 76, "\n");
    let word = preview(&format!(
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n{word}"
    ));
    assert_eq!(word, "ž".repeat(200));
}
