//! Who sends to whom: exact for up to 512 ranks, beyond that in blocks, with the heaviest pairs beside them.

use std::collections::BTreeMap;

use tare_compensate::whole::Exchange;
use tare_profile::{RegionIndex, SIZE_CLASSES, most_of_class};

use super::columns::Table;

/// Rows of the matrix.
const MOST_ROWS: u32 = 512;
/// Pairs that are carried beside blocks.
const MOST_PAIRS: usize = 20_000;

/// Names of the columns with messages by size.
const SIZES: [&str; SIZE_CLASSES] = ["size_0", "size_1", "size_2", "size_3", "size_4", "size_5", "size_6", "size_7"];

/// What the matrix shows.
#[derive(serde::Serialize, Default)]
pub(super) struct Matrix {
    ranks: u32,
    /// Ranks in a row.
    per_row: u32,
    rows: u32,
    cells: Table,
    /// The heaviest pairs by bytes and by waiting.
    pairs: Table,
    pairs_in_all: usize,
    /// The heaviest pairs by region: of operations, and of what calls them up to their function.
    of_regions: Table,
    /// Pairs of regions that are left out.
    left_out: usize,
    /// The most bytes of a message of each class of sizes; the last class has no end.
    sizes: Vec<u64>,
}

impl Matrix {
    pub(super) fn of(exchanges: &[Exchange], mut by_region: Vec<(RegionIndex, Exchange)>, ranks: u32) -> Self {
        let per_row = ranks.div_ceil(MOST_ROWS).max(1);
        let mut blocks: BTreeMap<(u32, u32), Exchange> = BTreeMap::new();
        for exchange in exchanges {
            let (from, to) = (exchange.from / per_row, exchange.to / per_row);
            let block = blocks.entry((from, to)).or_insert(Exchange { from, to, ..Exchange::default() });
            block.add(exchange);
        }
        let blocks: Vec<Exchange> = blocks.into_values().collect();
        let mut pairs = exchanges.to_vec();
        if pairs.len() > MOST_PAIRS {
            pairs.sort_by_key(|pair| std::cmp::Reverse(pair.bytes));
            let by_wait = pairs.split_off(MOST_PAIRS / 2);
            pairs.extend(heaviest_by_wait(by_wait, MOST_PAIRS / 2));
        }
        let left_out = by_region.len().saturating_sub(MOST_PAIRS);
        if left_out > 0 {
            by_region.sort_by_key(|(_, pair)| std::cmp::Reverse(pair.bytes));
            by_region.truncate(MOST_PAIRS);
        }
        let (regions, of_regions): (Vec<RegionIndex>, Vec<Exchange>) = by_region.into_iter().unzip();
        let of_regions = table(&of_regions).u32("region", regions.iter().map(|region| region.0 as u32));
        Self {
            of_regions,
            left_out,
            ranks,
            per_row,
            rows: ranks.div_ceil(per_row),
            cells: table(&blocks),
            pairs: table(&pairs),
            pairs_in_all: exchanges.len(),
            sizes: (0..SIZE_CLASSES).filter_map(most_of_class).collect(),
        }
    }
}

fn heaviest_by_wait(mut pairs: Vec<Exchange>, most: usize) -> Vec<Exchange> {
    pairs.sort_by(|one, other| (other.wait_s + other.sender_wait_s).total_cmp(&(one.wait_s + one.sender_wait_s)));
    pairs.truncate(most);
    pairs
}

fn table(exchanges: &[Exchange]) -> Table {
    let all = || exchanges.iter();
    let table = Table::new(exchanges.len())
        .u32("from", all().map(|exchange| exchange.from))
        .u32("to", all().map(|exchange| exchange.to))
        .whole("messages", all().map(|exchange| exchange.messages))
        .whole("bytes", all().map(|exchange| exchange.bytes))
        .rough("transmission", all().map(|exchange| exchange.transmission_s))
        .rough("measured_wait", all().map(|exchange| exchange.measured_wait_s))
        .rough("wait", all().map(|exchange| exchange.wait_s))
        .rough("measured_sender_wait", all().map(|exchange| exchange.measured_sender_wait_s))
        .rough("sender_wait", all().map(|exchange| exchange.sender_wait_s));
    // Most runs have messages of few sizes.
    let met = (0..SIZE_CLASSES).filter(|&class| all().any(|exchange| exchange.sizes[class] > 0));
    met.fold(table, |table, class| table.whole(SIZES[class], all().map(move |exchange| exchange.sizes[class])))
}
