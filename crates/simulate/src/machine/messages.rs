//! Messages and collectives: what is sent, what meets what, and when it is known how long a request takes.

use super::{Done, Event, Execution, Flow, Machine, Trouble};
use crate::collective::Terms;
use crate::expression::Expression;
use crate::lanes::{Awaited, Lane};
use crate::mailbox::{Message, Pattern, Posted};
use crate::parser::ANONYMOUS;
use crate::program::{Collective, Mode, Which};
use crate::rank::What;
use tare_delay::order::Order;

impl Machine<'_> {
    pub(super) fn send(
        &mut self,
        number: u32,
        (to, tag, bytes): (&Expression, &Expression, &Expression),
        mode: Mode,
        request: Option<usize>,
    ) -> Done<Flow> {
        let to = self.partner(number, to)?;
        let tag = self.value(number, tag)?;
        let bytes = self.amount(number, "a size", bytes)?;
        let Some(to) = to else { return Ok(Flow::On) };
        let settings = &self.program.settings;
        let waits = match mode {
            Mode::Standard => bytes > settings.rendezvous,
            Mode::Synchronous => true,
            Mode::Buffered => false,
        };
        let (latency, cost) = (settings.latency, settings.send);
        let rank = &mut self.ranks[number as usize];
        let sent = rank.now;
        let id = if waits || request.is_some() {
            Some(rank.start(request.unwrap_or(ANONYMOUS), (!waits).then_some(Awaited::NOTHING), None))
        } else {
            None
        };
        let message = Message { from: number, to, tag, bytes, sent, sender: id.filter(|_| waits) };
        let index = self.free.pop().unwrap_or(self.messages.len());
        if index == self.messages.len() {
            self.messages.push(message);
        } else {
            self.messages[index] = message;
        }
        self.event(sent.at + latency, Event::Arrival(index));
        match id.filter(|_| waits && request.is_none()) {
            Some(id) => Ok(self.wait(number, What::Requests(Which::All, vec![id]), cost, None)),
            None => {
                self.advance(number, cost);
                Ok(Flow::On)
            }
        }
    }

    pub(super) fn receive(&mut self, number: u32, pattern: Pattern, request: Option<usize>) -> Done<Flow> {
        let rank = &mut self.ranks[number as usize];
        let id = rank.start(request.unwrap_or(ANONYMOUS), None, None);
        let posted = Posted { request: id, pattern, at: rank.now };
        if let Some(message) = rank.mailbox.post(posted) {
            self.meet(&message, &posted);
        }
        match request {
            Some(_) => Ok(Flow::On),
            None => Ok(self.wait(number, What::Requests(Which::All, vec![id]), self.program.settings.receive, None)),
        }
    }

    pub(super) fn arrive(&mut self, index: usize) {
        let message = self.messages[index];
        self.free.push(index);
        match self.ranks[message.to as usize].mailbox.arrive(message) {
            Some(posted) => self.meet(&message, &posted),
            None => self.progress(message.to),
        }
    }

    /// A message meets its receive: from now on it is known when both are complete.
    fn meet(&mut self, message: &Message, posted: &Posted) {
        let settings = &self.program.settings;
        let (latency, data) = (settings.latency, message.bytes.saturating_mul(settings.per_byte));
        let receiver = match message.sender {
            None => Awaited::from_other(&message.sent, latency + data),
            // The request to send goes there, the permission back, the data there again.
            Some(_) => Awaited::from_other(&message.sent, 3 * latency + data).join(Awaited::from_self(&posted.at, 2 * latency + data)),
        };
        self.notice_order(message, posted);
        self.settle(message.to, posted.request, receiver);
        if let Some(request) = message.sender {
            let sender = Awaited::from_self(&message.sent, 2 * latency + data).join(Awaited::from_other(&posted.at, latency + data));
            self.settle(message.from, request, sender);
        }
    }

    /// Counts wildcard receives that met a later message before an earlier one, in virtual time.
    fn notice_order(&mut self, message: &Message, posted: &Posted) {
        if posted.pattern.from.is_some() || self.execution == Execution::Unmeasured {
            return;
        }
        let sent = message.sent.moment(Lane::Virtual);
        let met = &mut self.ranks[message.to as usize].met;
        let at = met.iter().position(|(tag, _)| *tag == posted.pattern.tag).unwrap_or_else(|| {
            met.push((posted.pattern.tag, Order::default()));
            met.len() - 1
        });
        self.contradicted += u64::from(met[at].1.met(sent));
    }

    /// What a request waits for is known now.
    fn settle(&mut self, number: u32, request: u32, awaited: Awaited) {
        if let Some(request) = self.ranks[number as usize].request(request) {
            request.awaited = Some(awaited);
        }
        self.progress(number);
    }

    pub(super) fn collective(
        &mut self,
        number: u32,
        kind: Collective,
        (root, bytes): (&Expression, &Expression),
        group: usize,
        request: Option<usize>,
    ) -> Done<Flow> {
        let root = self.value(number, root)?;
        let bytes = self.amount(number, "a size", bytes)?;
        let members = self.groups.size(group, number);
        let Some(first) = usize::try_from(root).ok().filter(|root| *root < members) else { return Err(Trouble::NoRank(root)) };
        let settings = &self.program.settings;
        let (hop, cost) = (settings.latency + bytes.saturating_mul(settings.per_byte), settings.receive);
        let terms = Terms { kind, root: first, bytes, hop, cost };
        let (call, place) = self.groups.call(group, number, &terms).ok_or(Trouble::Mismatch)?;
        let rank = &mut self.ranks[number as usize];
        let (entry, id) = (rank.now, rank.start(request.unwrap_or(ANONYMOUS), None, Some(call)));
        let ready = self.groups.instance(call).map(|instance| instance.enter(place.member, entry, id)).unwrap_or_default();
        // The rank waits before it may learn that nothing is left to wait for.
        let flow = match request {
            Some(_) => Flow::On,
            None => self.wait(number, What::Requests(Which::All, vec![id]), cost, None),
        };
        for (member, id, awaited) in ready {
            let rank = self.groups.rank(call, member);
            self.settle(rank, id, awaited);
        }
        Ok(flow)
    }
}
