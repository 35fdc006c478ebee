//! What is judged of one file: items and signatures from its syntax, all else from its tokens. What is in unit tests is not.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, File, GenericArgument, ItemEnum, ItemFn, ItemImpl, ItemMod, ItemStruct};
use syn::{PathArguments, PathSegment, Type, TypeParamBound, TypePath};
use workshop_base::source::{STATE_WORDS, SourceFacts, SourceFile, SourceLine, StateText};

use crate::tokens;

/// The crates that a rule should not know of.
const WEB: [&str; 2] = ["rocket", "axum"];
const LOCKS: [&str; 2] = ["Mutex", "RwLock"];

type Lines = RangeInclusive<usize>;

/// What the locks of a crate have to do with each other, across its files.
#[derive(Default)]
pub struct Locks {
    /// The structs that have a lock in a field.
    holders: BTreeSet<String>,
    /// The names within the types that are locked.
    locked: Vec<(String, SourceLine)>,
}

impl Locks {
    /// The locks around a struct that has locks in it.
    pub fn nested(self) -> impl Iterator<Item = SourceLine> {
        let Locks { holders, locked } = self;
        let nested = locked
            .into_iter()
            .filter(move |(name, _)| holders.contains(name));
        nested.map(|(_, at)| at)
    }
}

/// Notes what there is in a file.
pub fn note(name: &str, text: &str, facts: &mut SourceFacts, locks: &mut Locks) -> syn::Result<()> {
    let mut items = Items {
        name,
        facts,
        locks,
        tests: 0,
        of_tests: Vec::new(),
        impls: Vec::new(),
    };
    items.visit_file(&syn::parse_str::<File>(text)?);
    let mut tokens = tokens::flat(text.parse::<TokenStream>()?);
    tokens.retain(|token| !items.is_of_a_test(token));
    items.note_tokens(&tokens, &text.lines().collect::<Vec<_>>());
    Ok(())
}

/// Goes through the items of a file.
struct Items<'a> {
    name: &'a str,
    facts: &'a mut SourceFacts,
    locks: &'a mut Locks,
    /// How many unit tests there are.
    tests: usize,
    /// Where they are.
    of_tests: Vec<Lines>,
    /// Where each `impl` is, and whose it is.
    impls: Vec<(Lines, String)>,
}

impl Items<'_> {
    fn is_of_a_test(&self, token: &TokenTree) -> bool {
        let line = line_of(token.span());
        self.of_tests.iter().any(|lines| lines.contains(&line))
    }

    fn at(&self, span: Span, what: impl Into<String>) -> SourceLine {
        SourceLine {
            file: self.name.to_owned(),
            line: line_of(span),
            what: what.into(),
        }
    }

    fn note_tokens(&mut self, tokens: &[TokenTree], lines: &[&str]) {
        for (copy, span) in tokens::copies(tokens) {
            let at = self.at(span, copy);
            match is_explained(lines, at.line) {
                true => self.facts.explained_copies.push(at),
                false => self.facts.bare_copies.push(at),
            }
        }
        for (word, span) in tokens::texts(tokens, &STATE_WORDS) {
            let line = line_of(span);
            let mut impls = self.impls.iter();
            let home = impls.find(|(lines, _)| lines.contains(&line));
            let home = home.map(|(_, home)| home.to_owned());
            let at = self.at(span, format!("{word:?}"));
            self.facts.state_texts.push(StateText { at, home });
        }
        let clocks = tokens::clocks(tokens).into_iter();
        let file = SourceFile {
            file: self.name.to_owned(),
            is_of_the_web: tokens::names(tokens, &WEB),
            tests: self.tests,
            clocks: clocks.map(|span| self.at(span, "now()")).collect(),
        };
        self.facts.files.push(file);
    }

    /// A type of an error that is any error, or a text.
    fn note_untyped(&mut self, segment: &PathSegment) {
        let arguments = arguments_of(segment);
        let is_any_error =
            segment.ident == "Box" && arguments.iter().any(|inner| is_dyn_error(inner));
        let is_a_text =
            segment.ident == "Result" && matches!(arguments.get(1), Some(error) if is_text(error));
        if is_any_error {
            let at = self.at(segment.ident.span(), "Box<dyn Error>");
            self.facts.untyped_errors.push(at);
        }
        if is_a_text {
            let at = self.at(segment.ident.span(), "a Result whose error is a text");
            self.facts.untyped_errors.push(at);
        }
    }

    fn note_lock(&mut self, segment: &PathSegment) {
        if !is_lock(segment) {
            return;
        }
        let at = self.at(segment.ident.span(), "a lock with locks in it");
        let inner = arguments_of(segment);
        if inner.iter().any(|inner| has_lock(inner)) {
            self.facts.nested_locks.push(at);
            return;
        }
        let names = inner.into_iter().flat_map(names_in);
        let names = names.map(|name| (name, at.clone()));
        self.locks.locked.extend(names);
    }
}

impl<'ast> Visit<'ast> for Items<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let (first, last) = match &module.content {
            Some((brace, _)) => (module.mod_token.span, brace.span.close()),
            None => (module.mod_token.span, module.mod_token.span),
        };
        if module.attrs.iter().any(is_for_tests) {
            self.of_tests.push(line_of(first)..=line_of(last));
            let items = module.content.iter().flat_map(|(_, items)| items);
            let tests =
                items.filter(|item| matches!(item, syn::Item::Fn(function) if is_test(function)));
            self.tests += tests.count();
            return;
        }
        self.facts.modules += 1;
        visit::visit_item_mod(self, module);
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if is_test(function) {
            self.tests += 1;
            let first = line_of(function.sig.fn_token.span);
            let last = line_of(function.block.brace_token.span.close());
            self.of_tests.push(first..=last);
            return;
        }
        visit::visit_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let first = line_of(item.impl_token.span);
        let last = line_of(item.brace_token.span.close());
        let home = format!("the impl at {}:{first}", self.name);
        self.impls.push((first..=last, home));
        visit::visit_item_impl(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        let variants = item.variants.iter();
        let variants = variants.map(|variant| variant.ident.to_string());
        self.facts.enums.push(variants.collect());
        visit::visit_item_enum(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        if item.fields.iter().any(|field| has_lock(&field.ty)) {
            self.locks.holders.insert(item.ident.to_string());
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_type_path(&mut self, path: &'ast TypePath) {
        if let Some(last) = path.path.segments.last() {
            self.note_untyped(last);
            self.note_lock(last);
        }
        visit::visit_type_path(self, path);
    }
}

fn line_of(span: Span) -> usize {
    span.start().line
}

/// True where the line, or the one before it, has a comment.
fn is_explained(lines: &[&str], line: usize) -> bool {
    let has_comment = |line: Option<usize>| {
        let text = line.and_then(|line| lines.get(line)).unwrap_or(&"");
        text.contains("// ") && !text.trim_start().starts_with("///")
    };
    has_comment(line.checked_sub(1)) || has_comment(line.checked_sub(2))
}

/// `#[cfg(test)]`
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string() == "test")
}

/// `#[test]`, and other attributes of that name.
fn is_test(function: &ItemFn) -> bool {
    let mut names = function.attrs.iter();
    names.any(|attribute| {
        let name = attribute.path().segments.last();
        name.is_some_and(|name| name.ident == "test")
    })
}

fn arguments_of(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return Vec::new();
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    });
    types.collect()
}

fn is_dyn_error(inner: &Type) -> bool {
    let Type::TraitObject(object) = inner else {
        return false;
    };
    object.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            let name = bound.path.segments.last();
            name.is_some_and(|name| name.ident == "Error")
        }
        _ => false,
    })
}

/// `String`, or `&str`.
fn is_text(inner: &Type) -> bool {
    match inner {
        Type::Path(path) => path.path.is_ident("String") || path.path.is_ident("str"),
        Type::Reference(reference) => is_text(&reference.elem),
        _ => false,
    }
}

fn is_lock(segment: &PathSegment) -> bool {
    LOCKS.iter().any(|lock| segment.ident == lock)
}

/// The names that a type is made of.
fn names_in(inner: &Type) -> Vec<String> {
    let Type::Path(path) = inner else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for segment in &path.path.segments {
        names.push(segment.ident.to_string());
        names.extend(arguments_of(segment).into_iter().flat_map(names_in));
    }
    names
}

fn has_lock(inner: &Type) -> bool {
    let Type::Path(path) = inner else {
        return false;
    };
    let mut segments = path.path.segments.iter();
    segments.any(|segment| {
        is_lock(segment) || arguments_of(segment).iter().any(|inner| has_lock(inner))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> SourceFacts {
        let (mut facts, mut locks) = (SourceFacts::default(), Locks::default());
        note("src/a.rs", text, &mut facts, &mut locks).expect("Rust");
        facts.nested_locks.extend(locks.nested());
        facts
    }

    fn lines(found: &[SourceLine]) -> Vec<usize> {
        found.iter().map(|found| found.line).collect()
    }

    #[test]
    fn a_copy_is_explained_by_a_comment_on_its_line_or_before_it() {
        let facts = facts(
            "fn f(a: &str) {\n    // The map keeps it.\n    g(a.to_owned());\n    g(a.to_owned()); // So does this.\n\
             \n    g(a.to_owned());\n    json!({ \"a\": a.clone() });\n    all.map(String::clone);\n    Arc::clone(&a);\n}\n",
        );
        assert_eq!(lines(&facts.explained_copies), [3, 4]);
        assert_eq!(lines(&facts.bare_copies), [6, 7, 8]);
    }

    #[test]
    fn a_state_is_a_text_wherever_it_is_but_in_an_attribute() {
        let facts = facts(
            "#[serde(rename = \"held\")]\nstruct A;\nimpl A {\n    fn f() { let _ = \"held\"; }\n}\n\
             fn g() { json!({ \"state\": \"free\" }); }\n",
        );
        let found: Vec<(usize, bool)> = facts
            .state_texts
            .iter()
            .map(|found| (found.at.line, found.home.is_some()))
            .collect();
        assert_eq!(found, [(4, true), (6, false)]);
    }

    #[test]
    fn an_error_has_a_type_unless_it_is_any_error_or_a_text() {
        let facts = facts(
            "fn a() -> Result<(), Box<dyn std::error::Error + Send>> {}\nfn b() -> Result<u8, String> {}\n\
             fn c() -> Result<String, MyError> {}\nfn d(text: Box<dyn Fn()>) {}\n",
        );
        assert_eq!(lines(&facts.untyped_errors), [1, 2]);
    }

    #[test]
    fn a_lock_in_a_lock_is_found_through_what_is_between() {
        let facts = facts(
            "type A = Arc<Mutex<HashMap<u8, Arc<Mutex<u8>>>>>;\ntype B = (Mutex<u8>, Mutex<u8>);\n",
        );
        assert_eq!(lines(&facts.nested_locks), [1]);
    }

    #[test]
    fn a_lock_in_a_struct_that_is_locked_is_found() {
        let facts = facts(
            "struct Huts { bookings: Vec<Arc<Mutex<u8>>> }\nstruct Hut { bunks: u8 }\n\
             type A = Mutex<HashMap<u8, Huts>>;\ntype B = Mutex<Hut>;\n",
        );
        assert_eq!(lines(&facts.nested_locks), [3]);
    }

    #[test]
    fn what_is_in_tests_is_counted_and_not_judged() {
        let facts = facts(
            "mod b;\nfn f() { let _ = SystemTime::now(); }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { a.clone(); rocket::now(); }\n\
             \n    #[test]\n    fn u() {}\n}\n",
        );
        assert!(facts.bare_copies.is_empty());
        let [file] = &facts.files[..] else {
            panic!("{facts:?}")
        };
        assert_eq!((facts.modules, file.tests), (1, 2));
        assert!(!file.is_of_the_web);
        assert_eq!(lines(&file.clocks), [2]);
    }
}
