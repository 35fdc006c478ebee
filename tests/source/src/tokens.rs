//! What is seen in tokens, which is all that a parser sees of a macro's arguments.

use proc_macro2::{Span, TokenStream, TokenTree};

/// The methods that copy what they are called on.
const COPIES: [&str; 4] = ["clone", "to_owned", "to_vec", "cloned"];
/// A copy of one of these is another owner.
const OWNERS: [&str; 2] = ["Arc", "Rc"];

/// All tokens in their order, those in groups as well, and those of attributes not.
pub fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    let mut found: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let inner = match &token {
            TokenTree::Group(group) => group.stream(),
            _ => TokenStream::new(),
        };
        let is_of_an_attribute = !inner.is_empty() && ends_with(&found, "#");
        found.push(token);
        if !is_of_an_attribute {
            found.extend(flat(inner));
        }
    }
    found
}

/// The copies, each with its name: `x.clone()`, and `String::clone` where it is called or handed on.
pub fn copies(tokens: &[TokenTree]) -> Vec<(String, Span)> {
    let mut found = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let TokenTree::Ident(name) = token else {
            continue;
        };
        let before = &tokens[..place];
        let is_called = matches!(tokens.get(place + 1), Some(TokenTree::Group(arguments)) if arguments.stream().is_empty());
        let of_a_value = ends_with(before, ".") && is_called;
        let of_a_type = ends_with(before, "::") && !is_of_an_owner(before);
        if COPIES.iter().any(|copy| name == copy) && (of_a_value || of_a_type) {
            found.push((name.to_string(), name.span()));
        }
    }
    found
}

/// The calls of something named `now`, which read a clock.
pub fn clocks(tokens: &[TokenTree]) -> Vec<Span> {
    let calls = tokens.windows(2).filter_map(|two| match two {
        [TokenTree::Ident(name), TokenTree::Group(arguments)]
            if name == "now" && arguments.stream().is_empty() =>
        {
            Some(name.span())
        }
        _ => None,
    });
    calls.collect()
}

/// The texts that are one of these words, without their quotes.
pub fn texts(tokens: &[TokenTree], words: &[&'static str]) -> Vec<(&'static str, Span)> {
    let literals = tokens.iter().filter_map(|token| match token {
        TokenTree::Literal(literal) => Some((literal.to_string(), literal.span())),
        _ => None,
    });
    let texts = literals.filter_map(|(text, span)| {
        let text = text.strip_prefix('"')?.strip_suffix('"')?;
        let word = words.iter().find(|word| **word == text)?;
        Some((*word, span))
    });
    texts.collect()
}

/// True where one of these names is used.
pub fn names(tokens: &[TokenTree], wanted: &[&str]) -> bool {
    tokens.iter().any(|token| match token {
        TokenTree::Ident(name) => wanted.iter().any(|wanted| name == wanted),
        _ => false,
    })
}

/// True where the last tokens are this punctuation.
fn ends_with(tokens: &[TokenTree], punctuation: &str) -> bool {
    let wanted = punctuation.chars().rev();
    let mut last = tokens.iter().rev();
    wanted.fold(true, |so_far, wanted| {
        let is_next =
            matches!(last.next(), Some(TokenTree::Punct(punct)) if punct.as_char() == wanted);
        so_far && is_next
    })
}

/// True for `Arc::`.
fn is_of_an_owner(before: &[TokenTree]) -> bool {
    match before.iter().rev().nth(2) {
        Some(TokenTree::Ident(name)) => OWNERS.iter().any(|owner| name == owner),
        _ => false,
    }
}
