//! Tokens to settings. After a fault it goes on with the next setting, so that all are found.

use std::collections::HashSet;
use std::ops::Range;

use crate::scanner::{ScannedKind, Token};
use crate::{Item, Setting, SettingValue, SyntaxFault};

/// Reads tokens.
pub(crate) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    faults: &'a mut Vec<SyntaxFault>,
    /// Brackets that are open.
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(tokens: &'a [Token], faults: &'a mut Vec<SyntaxFault>) -> Self {
        Self { tokens, at: 0, faults, depth: 0 }
    }

    /// Reads everything.
    pub(crate) fn document(&mut self) -> Vec<Setting> {
        self.settings(None)
    }

    /// Reads settings up to the bracket that closes them, or the end; `open` is where the group
    /// began.
    fn settings(&mut self, open: Option<&Range<usize>>) -> Vec<Setting> {
        let mut settings = Vec::new();
        let mut names = HashSet::new();
        loop {
            let Some(token) = self.peek() else {
                if let Some(open) = open {
                    self.fault(open.clone(), "this `{` is never closed");
                }
                return settings;
            };
            match &token.kind {
                ScannedKind::Sign('}') if open.is_some() => {
                    self.at += 1;
                    return settings;
                }
                ScannedKind::Sign(';' | ',') => self.at += 1,
                ScannedKind::Sign(')' | ']') if open.is_some() => {
                    let found = shown(&token.kind);
                    let reason = format!("expected a name or `}}`, found {found}");
                    self.fault(token.span.clone(), reason);
                    return settings;
                }
                ScannedKind::Sign(close @ ('}' | ')' | ']')) => {
                    self.fault(token.span.clone(), format!("`{close}` closes nothing"));
                    self.at += 1;
                }
                ScannedKind::Word(name) => {
                    self.at += 1;
                    let Some(item) = self.assigned(name, &token.span) else { continue };
                    if names.insert(name.clone()) {
                        let (name, name_span) = (name.clone(), token.span.clone());
                        settings.push(Setting { name, name_span, item });
                    } else {
                        let reason = format!("`{name}` is given twice in this group");
                        self.fault(token.span.clone(), reason);
                    }
                }
                kind => {
                    let reason = format!("expected a name, found {}", shown(kind));
                    self.fault(token.span.clone(), reason);
                    self.recover();
                }
            }
        }
    }

    /// `= value`, of a setting whose name has been read.
    fn assigned(&mut self, name: &str, name_span: &Range<usize>) -> Option<Item> {
        match self.peek() {
            Some(Token { kind: ScannedKind::Sign('=' | ':'), .. }) => {
                self.at += 1;
                let item = self.value(name_span);
                if item.is_none() {
                    self.recover();
                }
                item
            }
            _ => {
                let reason = format!("expected `=` after `{name}`{}", self.found());
                self.fault(name_span.clone(), reason);
                self.recover();
                None
            }
        }
    }

    /// Reads a value; without one, says so at the place of what should have one.
    fn value(&mut self, owner: &Range<usize>) -> Option<Item> {
        let Some(token) = self.peek() else {
            self.fault(owner.clone(), "expected a value, found the end of the file");
            return None;
        };
        let span = token.span.clone();
        let value = match &token.kind {
            ScannedKind::Int(number) => SettingValue::Int(*number),
            ScannedKind::Float(number) => SettingValue::Float(*number),
            ScannedKind::Word(word) if word.eq_ignore_ascii_case("true") => {
                SettingValue::Bool(true)
            }
            ScannedKind::Word(word) if word.eq_ignore_ascii_case("false") => {
                SettingValue::Bool(false)
            }
            ScannedKind::Word(word) => {
                let reason = format!("`{word}` is no value; a text stands in quotes");
                self.fault(span, reason);
                return None;
            }
            ScannedKind::Text(_) => return Some(self.text()),
            ScannedKind::Sign(open @ ('{' | '(' | '[')) => return self.bracketed(*open, span),
            ScannedKind::Sign(_) => {
                self.fault(span, format!("expected a value, found {}", shown(&token.kind)));
                return None;
            }
        };
        self.at += 1;
        Some(Item { span, value })
    }

    /// Adjacent texts are one.
    fn text(&mut self) -> Item {
        let mut bytes = Vec::new();
        let mut span = self.peek().map(|token| token.span.clone()).unwrap_or_default();
        while let Some(Token { kind: ScannedKind::Text(more), span: at }) = self.peek() {
            bytes.extend_from_slice(more);
            span.end = span.end.max(at.end);
            self.at += 1;
        }
        Item { span, value: SettingValue::Text(bytes) }
    }

    fn bracketed(&mut self, open: char, span: Range<usize>) -> Option<Item> {
        if self.depth >= DEPTH_MAX {
            self.fault(span, format!("brackets are nested {DEPTH_MAX} deep at most"));
            return None;
        }
        self.depth += 1;
        self.at += 1;
        let value = match open {
            '{' => SettingValue::Group(self.settings(Some(&span))),
            '(' => SettingValue::List(self.elements(')', &span)),
            _ => {
                let elements = self.elements(']', &span);
                self.check_array(&elements);
                SettingValue::Array(elements)
            }
        };
        self.depth -= 1;
        let last = self.tokens.get(self.at.saturating_sub(1)).map_or(span.end, |t| t.span.end);
        Some(Item { span: span.start..last.max(span.end), value })
    }

    /// Reads values up to the bracket that closes them.
    fn elements(&mut self, close: char, open: &Range<usize>) -> Vec<Item> {
        let mut elements = Vec::new();
        loop {
            let Some(token) = self.peek() else {
                let shown = if close == ')' { '(' } else { '[' };
                self.fault(open.clone(), format!("this `{shown}` is never closed"));
                return elements;
            };
            match &token.kind {
                ScannedKind::Sign(found) if *found == close => {
                    self.at += 1;
                    return elements;
                }
                ScannedKind::Sign('}' | ')' | ']') => {
                    let reason = format!("expected `{close}`, found {}", shown(&token.kind));
                    self.fault(token.span.clone(), reason);
                    return elements;
                }
                ScannedKind::Word(name) if self.is_setting() => {
                    let reason = format!(
                        "expected `{close}` or a value, found the setting `{name}`; is a bracket \
                         missing before it?"
                    );
                    self.fault(token.span.clone(), reason);
                    self.at += 2;
                    self.value(&token.span);
                    self.separator(close, false);
                    continue;
                }
                _ => {}
            }
            match self.value(open) {
                Some(item) => {
                    elements.push(item);
                    self.separator(close, true);
                }
                None => self.recover(),
            }
        }
    }

    /// The comma between two values; the one after the last may be left out or not.
    fn separator(&mut self, close: char, needed: bool) {
        let Some(token) = self.peek() else { return };
        match &token.kind {
            ScannedKind::Sign(',') => self.at += 1,
            ScannedKind::Sign('}' | ')' | ']') => {}
            ScannedKind::Sign(';') if !needed => self.at += 1,
            kind => {
                if needed {
                    let reason = format!("expected `,` or `{close}`, found {}", shown(kind));
                    self.fault(token.span.clone(), reason);
                }
                if matches!(kind, ScannedKind::Sign(';' | '=' | ':')) {
                    self.at += 1;
                }
            }
        }
    }

    fn check_array(&mut self, elements: &[Item]) {
        let mut first = None;
        for item in elements {
            let reason = match &item.value {
                SettingValue::Array(_) | SettingValue::List(_) | SettingValue::Group(_) => {
                    "`[]` holds numbers, texts or truth values only; use `()`"
                }
                value => {
                    let kind = std::mem::discriminant(value);
                    if *first.get_or_insert(kind) == kind {
                        continue;
                    }
                    "the values in `[]` are all of one kind; use `()`"
                }
            };
            self.fault(item.span.clone(), reason);
        }
    }

    /// Skips to where a setting may begin or a bracket closes, past what is bracketed in between.
    fn recover(&mut self) {
        let mut open = 0_usize;
        while let Some(token) = self.peek() {
            match &token.kind {
                ScannedKind::Sign('{' | '(' | '[') => open += 1,
                ScannedKind::Sign('}' | ')' | ']') if open == 0 => return,
                ScannedKind::Sign('}' | ')' | ']') => open -= 1,
                ScannedKind::Sign(';' | ',') if open == 0 => {
                    self.at += 1;
                    return;
                }
                ScannedKind::Word(_) if open == 0 && self.is_setting() => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Whether a name and its `=` come next.
    fn is_setting(&self) -> bool {
        let next = self.tokens.get(self.at + 1).map(|token| &token.kind);
        matches!(next, Some(ScannedKind::Sign('=' | ':')))
    }

    fn found(&self) -> String {
        self.peek().map_or_else(String::new, |token| format!(", found {}", shown(&token.kind)))
    }

    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn fault(&mut self, span: Range<usize>, reason: impl Into<String>) {
        self.faults.push(SyntaxFault { span, reason: reason.into(), fatal: true });
    }
}

fn shown(kind: &ScannedKind) -> String {
    match kind {
        ScannedKind::Word(word) => format!("`{word}`"),
        ScannedKind::Int(number) => format!("the number {number}"),
        ScannedKind::Float(number) => format!("the number {number}"),
        ScannedKind::Text(_) => "a text".to_owned(),
        ScannedKind::Sign(sign) => format!("`{sign}`"),
    }
}

const DEPTH_MAX: usize = 32;
