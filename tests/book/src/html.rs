//! Small tools for writing HTML into Markdown pages.

/// The text with everything escaped that HTML reads as markup, in content and in quoted attributes alike.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Makes one HTML block of Markdown out of this HTML: set apart by empty lines, and without any inside, since an empty
/// line ends the block. The empty lines that matter are those of code, and there a character reference keeps them.
pub fn block(html: &str) -> String {
    let mut block = String::with_capacity(html.len() + 4);
    block.push_str("\n\n");
    for line in html.trim().lines() {
        if line.trim().is_empty() {
            // The reference stands for the newline that ends this line, so the line itself is not followed by another.
            block.push_str("&#10;");
        } else {
            block.push_str(line.trim_end());
            block.push('\n');
        }
    }
    block.push_str("\n\n");
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_is_escaped() {
        assert_eq!(
            escape(r#"Vec<&'a str> "x""#),
            "Vec&lt;&amp;&#39;a str&gt; &quot;x&quot;"
        );
    }

    #[test]
    fn empty_lines_of_code_survive_inside_one_block() {
        let markdown = block("<pre><code>a\n\n\nb</code></pre>");
        assert_eq!(markdown, "\n\n<pre><code>a\n&#10;&#10;b</code></pre>\n\n\n");
        let inner = markdown.trim();
        assert!(!inner.contains("\n\n"), "{inner}");
        assert_eq!(
            inner.replace("&#10;", "\n"),
            "<pre><code>a\n\n\nb</code></pre>"
        );
    }
}
