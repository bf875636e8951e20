//! What is known of the region at a place: what a record holds of it, and what a site that makes calls itself passes.

use std::collections::BTreeMap;

use crate::adapter::probes::{Chosen, Snippets, Wanted};
use crate::adapter::record::{Facts, RecordLayout};
use crate::begin::Begin;
use crate::insertion::{Place, Scope, Value};
use crate::snippet::ast::Context;
use crate::snippet::check::Template;
use crate::snippet::inline::Known;

/// What is known of a region.
pub(super) struct RegionFacts<'a> {
    routine: String,
    symbol: &'a str,
    file: &'a str,
    line: u32,
    last_line: u32,
    callee: String,
    number: u32,
    /// Link address: of a function's entry, a loop's header, a call.
    pub(super) address: u64,
}

impl<'a> RegionFacts<'a> {
    pub(super) fn new(snippets: &'a Snippets<'_>, chosen: &'a Chosen<'_>, place: &Place) -> Self {
        let function = snippets.program.functions.get(chosen.wanted.function);
        let symbol = function.map_or("", |function| function.name.as_str());
        let Wanted { file, line, last_line, .. } = chosen.wanted;
        let mut facts = Self {
            routine: tare_image::demangle(symbol).into_owned(),
            symbol,
            file,
            line: *line,
            last_line: *last_line,
            callee: String::new(),
            number: 0,
            address: function.map_or(0, |function| function.entry),
        };
        let number = match place.scope {
            Scope::Function => return facts,
            Scope::Loop(number) | Scope::Iteration(number) | Scope::CallSite(number) => number,
        };
        let known = Begin::at(place.scope, place.address).and_then(|begin| chosen.places.get(&begin));
        let (file, line) = known.map_or(("", 0), |known| (known.file.as_str(), known.line));
        facts = Self { file, line, last_line: 0, number: number + 1, address: place.address, ..facts };
        if let Scope::CallSite(_) = place.scope {
            facts.callee = snippets.callee(chosen.wanted.function, place.address).unwrap_or_default();
        }
        facts
    }
}

impl Snippets<'_> {
    /// The name of what a call leads to; `None` where that is not known.
    fn callee(&self, function: usize, call: u64) -> Option<String> {
        let function = self.program.functions.get(function)?;
        let call = self.program.instruction_at(self.image, function, call)?;
        let name = self.program.callee(self.image, &call)?;
        Some(tare_image::demangle(name).into_owned())
    }
}

impl Facts for RegionFacts<'_> {
    fn number(&self, context: Context) -> i64 {
        i64::from(match context {
            Context::Line => self.line,
            Context::EndLine => self.last_line,
            Context::Loop | Context::Site => self.number,
            _ => 0,
        })
    }

    fn text(&self, context: Context) -> &str {
        match context {
            Context::Routine => &self.routine,
            Context::Symbol => self.symbol,
            Context::File => self.file,
            Context::Callee => &self.callee,
            _ => "",
        }
    }
}

/// What a site that makes calls itself knows.
pub(super) struct AtSite<'a> {
    pub(super) facts: RegionFacts<'a>,
    pub(super) layout: Option<&'a RecordLayout>,
    /// Texts that are the same for all regions.
    pub(super) texts: &'a BTreeMap<String, u32>,
    /// Where the region's record is among the function's variables, and these.
    pub(super) record: (u32, &'a [u8]),
}

impl Known for AtSite<'_> {
    /// As wide as in a record.
    fn number(&self, context: Context) -> i64 {
        i64::from(self.facts.number(context) as i32)
    }

    fn address(&self) -> u64 {
        self.facts.address
    }

    fn text(&self, template: &Template) -> Value {
        if let Some(text) = template.constant() {
            return Value::SharedConstant(self.texts.get(text).copied().unwrap_or(0));
        }
        let (start, variables) = self.record;
        let at = start + self.layout.and_then(|layout| layout.text(template)).unwrap_or(0);
        let distance = variables.get(at as usize..).and_then(|from| from.first_chunk()).map_or(0, |&bytes| u32::from_le_bytes(bytes));
        Value::Variable(start + distance)
    }
}
