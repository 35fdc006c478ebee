//! Small tools for writing HTML into Markdown pages.

pub use workshop_results::write::escape;

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
