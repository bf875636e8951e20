//! What a description says of the machine.

use super::{Parsed, Parser, Problem};
use crate::lexer::Kind;
use crate::settings::Probe;

impl Parser {
    /// A setting that begins with this word.
    pub(super) fn setting(&mut self, word: &str) -> Parsed<()> {
        match word {
            "ranks" => {
                self.settings.ranks = u32::try_from(self.constant("the number of ranks", 1, 1 << 22)?).unwrap_or(1);
            }
            "seed" => self.settings.seed = self.constant("the seed", 0, i64::MAX)?.cast_unsigned(),
            "network" | "cost" => {
                while let Some(Kind::Word(name)) = self.kind().cloned() {
                    self.at += 1;
                    let value = self.constant("a cost", 0, 1 << 60)?.cast_unsigned();
                    let settings = &mut self.settings;
                    let place = match (word, name.as_str()) {
                        ("network", "latency") => &mut settings.latency,
                        ("network", "byte") => &mut settings.per_byte,
                        ("network", "rendezvous") => &mut settings.rendezvous,
                        ("cost", "send") => &mut settings.send,
                        ("cost", "receive") => &mut settings.receive,
                        ("cost", "wrapper") => &mut settings.wrapper,
                        _ => return self.wrong(Problem::Unknown { kind: "setting", name }),
                    };
                    *place = value;
                }
            }
            "probes" => {
                self.need_word("cost")?;
                self.settings.probe = self.probe_cost()?;
            }
            "region" => {
                let name = self.name("the name of a region")?;
                self.need_word("costs")?;
                let cost = self.probe_cost()?;
                self.costs.insert(name, cost);
            }
            _ => {
                let name = self.name("the name of a group")?;
                self.need_word("by")?;
                let colour = self.expression()?;
                self.groups.introduce(name);
                self.colours.push(colour);
            }
        }
        Ok(())
    }

    fn probe_cost(&mut self) -> Parsed<Probe> {
        let cost = self.constant("the cost of a probe", 0, 1 << 50)?.cast_unsigned();
        let within = if self.word("within") { self.constant("a share", 0, 100_000)?.cast_unsigned() } else { 0 };
        Ok(Probe { cost, within })
    }

    fn constant(&mut self, what: &'static str, low: i64, high: i64) -> Parsed<i64> {
        let Some(&Kind::Number(value)) = self.kind() else { return self.expected("a number") };
        if !(low..=high).contains(&value) {
            return self.wrong(Problem::Range(what, low, high));
        }
        self.at += 1;
        Ok(value)
    }
}
