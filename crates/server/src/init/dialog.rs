//! Asking: a question with its default and what is allowed, again and again until it is answered.

use std::io::{BufRead, Write};

use anyhow::bail;
use engine::vars::{self, Kind, Variable};

/// A conversation over any pair of streams.
pub(super) struct Dialog<R, W> {
    input: R,
    output: W,
}

/// One question.
pub(super) struct Question<'a> {
    /// What is asked.
    pub(super) text: &'a str,
    /// What may be answered, for people.
    pub(super) allowed: &'a str,
    /// The answer that an empty line stands for.
    pub(super) default: &'a str,
}

impl<R: BufRead, W: Write> Dialog<R, W> {
    /// Reads answers from `input` and writes questions to `output`.
    pub(super) fn new(input: R, output: W) -> Self {
        Self { input, output }
    }

    /// Says something before the next questions.
    pub(super) fn say(&mut self, text: &str) -> anyhow::Result<()> {
        writeln!(self.output, "\n{text}")?;
        Ok(())
    }

    /// Asks until `parse` accepts the answer.
    pub(super) fn ask<T>(
        &mut self,
        question: &Question<'_>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> anyhow::Result<T> {
        loop {
            match parse(&self.answer(question)?) {
                Ok(value) => return Ok(value),
                Err(reason) => writeln!(self.output, "  {reason}")?,
            }
        }
    }

    /// Asks for the value of a variable, which says itself what it allows.
    pub(super) fn ask_variable(&mut self, text: &str, name: &str) -> anyhow::Result<String> {
        let variable = vars::find(name).expect("the names asked for are in the registry");
        self.ask_variable_with(text, variable, variable.default)
    }

    /// The same with another default than the variable's own.
    pub(super) fn ask_variable_with(
        &mut self,
        text: &str,
        variable: &Variable,
        default: &str,
    ) -> anyhow::Result<String> {
        let allowed = if variable.kind == Kind::Text { String::new() } else { variable.allowed() };
        self.ask(&Question { text, allowed: &allowed, default }, |answer| {
            let value = variable.parse(answer).map_err(|fault| fault.reason)?;
            Ok(value.to_string())
        })
    }

    /// Asks for a number between two bounds.
    pub(super) fn ask_number(
        &mut self,
        text: &str,
        default: i64,
        (min, max): (i64, i64),
    ) -> anyhow::Result<i64> {
        let (allowed, default) = (format!("{min} to {max}"), default.to_string());
        self.ask(&Question { text, allowed: &allowed, default: &default }, |answer| {
            match answer.parse::<i64>() {
                Ok(number) if (min..=max).contains(&number) => Ok(number),
                Ok(number) => Err(format!("{number} is out of range; allowed are {min} to {max}")),
                Err(_) => Err(format!("`{answer}` is not a number; allowed are {min} to {max}")),
            }
        })
    }

    /// Asks for yes or no.
    pub(super) fn ask_whether(&mut self, text: &str, default: bool) -> anyhow::Result<bool> {
        let default = if default { "yes" } else { "no" };
        self.ask(&Question { text, allowed: "yes or no", default }, |answer| {
            match answer.to_ascii_lowercase().as_str() {
                "yes" | "y" => Ok(true),
                "no" | "n" => Ok(false),
                other => Err(format!("`{other}` is not yes or no")),
            }
        })
    }

    /// Asks for any text.
    pub(super) fn ask_text(&mut self, text: &str, default: &str) -> anyhow::Result<String> {
        let question = Question { text, allowed: "", default };
        self.ask(&question, |answer| Ok(answer.to_owned()))
    }

    fn answer(&mut self, question: &Question<'_>) -> anyhow::Result<String> {
        let Question { text, allowed, default } = question;
        let allowed = if allowed.is_empty() { String::new() } else { format!(" ({allowed})") };
        write!(self.output, "{text}{allowed} [{default}]: ")?;
        self.output.flush()?;
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            bail!("the input ended before the question: {text}");
        }
        let line = line.trim();
        Ok(if line.is_empty() { (*default).to_owned() } else { line.to_owned() })
    }
}
