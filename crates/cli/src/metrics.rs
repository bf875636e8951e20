//! `--metrics`: what is measured beside time, by names that people know: those of PAPI, of the kernel's `perf`, of
//! `getrusage`, and our own. Names become what the runtime is told; one that this machine does not offer is left out, in one
//! sentence.

use std::mem::size_of;

use tare_format::tally::Word;

use crate::failure::{Code, Failure};

/// The most metrics of a run.
const MOST: usize = tare_format::metrics::MOST;

/// A metric as the user named it, and where the runtime finds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Metric {
    pub(crate) name: String,
    source: Source,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// Type and configuration of an event of the kernel's.
    Perf(u32, u64),
    /// Number of a field of `getrusage`.
    Usage(u32),
    TaskClock,
    /// Allocation and I/O, counted by a library of its own.
    Tally(Word),
    /// Nothing counts it: a preset of PAPI that no event of the kernel stands for.
    Nowhere,
}

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CACHE: u32 = 3;
const RAW: u32 = 4;

/// Names of one event each: those of PAPI, then those of `perf list`.
const EVENTS: &[(&str, Source)] = &[
    ("PAPI_TOT_CYC", Source::Perf(HARDWARE, 0)),
    ("PAPI_TOT_INS", Source::Perf(HARDWARE, 1)),
    ("PAPI_L3_TCA", Source::Perf(HARDWARE, 2)),
    ("PAPI_L3_TCM", Source::Perf(HARDWARE, 3)),
    ("PAPI_BR_INS", Source::Perf(HARDWARE, 4)),
    ("PAPI_BR_MSP", Source::Perf(HARDWARE, 5)),
    ("PAPI_STL_ICY", Source::Perf(HARDWARE, 7)),
    ("PAPI_RES_STL", Source::Perf(HARDWARE, 8)),
    ("PAPI_REF_CYC", Source::Perf(HARDWARE, 9)),
    ("PAPI_L1_DCA", Source::Perf(CACHE, 0x0000)),
    ("PAPI_L1_DCM", Source::Perf(CACHE, 0x1_0000)),
    ("PAPI_L1_ICM", Source::Perf(CACHE, 0x1_0001)),
    ("PAPI_TLB_DM", Source::Perf(CACHE, 0x1_0003)),
    ("PAPI_TLB_IM", Source::Perf(CACHE, 0x1_0004)),
    ("cycles", Source::Perf(HARDWARE, 0)),
    ("cpu-cycles", Source::Perf(HARDWARE, 0)),
    ("instructions", Source::Perf(HARDWARE, 1)),
    ("cache-references", Source::Perf(HARDWARE, 2)),
    ("cache-misses", Source::Perf(HARDWARE, 3)),
    ("branches", Source::Perf(HARDWARE, 4)),
    ("branch-instructions", Source::Perf(HARDWARE, 4)),
    ("branch-misses", Source::Perf(HARDWARE, 5)),
    ("bus-cycles", Source::Perf(HARDWARE, 6)),
    ("stalled-cycles-frontend", Source::Perf(HARDWARE, 7)),
    ("stalled-cycles-backend", Source::Perf(HARDWARE, 8)),
    ("ref-cycles", Source::Perf(HARDWARE, 9)),
    ("cpu-migrations", Source::Perf(SOFTWARE, 4)),
    ("migrations", Source::Perf(SOFTWARE, 4)),
    ("alignment-faults", Source::Perf(SOFTWARE, 7)),
    ("emulation-faults", Source::Perf(SOFTWARE, 8)),
    ("task-clock", Source::TaskClock),
    ("cpu-clock", Source::TaskClock),
    ("user-time", Source::Usage(0)),
    ("system-time", Source::Usage(1)),
    ("minor-faults", Source::Usage(2)),
    ("major-faults", Source::Usage(3)),
    ("page-faults", Source::Usage(4)),
    ("faults", Source::Usage(4)),
    ("voluntary-switches", Source::Usage(5)),
    ("involuntary-switches", Source::Usage(6)),
    ("context-switches", Source::Usage(7)),
    ("cs", Source::Usage(7)),
    ("blocks-in", Source::Usage(8)),
    ("blocks-out", Source::Usage(9)),
    ("allocations", Source::Tally(Word::Allocations)),
    ("allocated-bytes", Source::Tally(Word::AllocatedBytes)),
    ("frees", Source::Tally(Word::Frees)),
    ("peak-heap", Source::Tally(Word::PeakHeap)),
    ("reads", Source::Tally(Word::Reads)),
    ("bytes-read", Source::Tally(Word::BytesRead)),
    ("writes", Source::Tally(Word::Writes)),
    ("bytes-written", Source::Tally(Word::BytesWritten)),
    ("io-calls", Source::Tally(Word::IoCalls)),
    ("io-time", Source::Tally(Word::IoTicks)),
];

/// The presets of PAPI, without what all of their names begin with.
const PRESETS: &[&str] = &[
    "L1_DCM", "L1_ICM", "L2_DCM", "L2_ICM", "L3_DCM", "L3_ICM", "L1_TCM", "L2_TCM", "L3_TCM", "CA_SNP", "CA_SHR", "CA_CLN", "CA_INV", "CA_ITV",
    "L3_LDM", "L3_STM", "BRU_IDL", "FXU_IDL", "FPU_IDL", "LSU_IDL", "TLB_DM", "TLB_IM", "TLB_TL", "L1_LDM", "L1_STM", "L2_LDM", "L2_STM", "BTAC_M",
    "PRF_DM", "L3_DCH", "TLB_SD", "CSR_FAL", "CSR_SUC", "CSR_TOT", "MEM_SCY", "MEM_RCY", "MEM_WCY", "STL_ICY", "FUL_ICY", "STL_CCY", "FUL_CCY",
    "HW_INT", "BR_UCN", "BR_CN", "BR_TKN", "BR_NTK", "BR_MSP", "BR_PRC", "FMA_INS", "TOT_IIS", "TOT_INS", "INT_INS", "FP_INS", "LD_INS", "SR_INS",
    "BR_INS", "VEC_INS", "RES_STL", "FP_STAL", "TOT_CYC", "LST_INS", "SYC_INS", "L1_DCH", "L2_DCH", "L1_DCA", "L2_DCA", "L3_DCA", "L1_DCR", "L2_DCR",
    "L3_DCR", "L1_DCW", "L2_DCW", "L3_DCW", "L1_ICH", "L2_ICH", "L3_ICH", "L1_ICA", "L2_ICA", "L3_ICA", "L1_ICR", "L2_ICR", "L3_ICR", "L1_ICW",
    "L2_ICW", "L3_ICW", "L1_TCH", "L2_TCH", "L3_TCH", "L1_TCA", "L2_TCA", "L3_TCA", "L1_TCR", "L2_TCR", "L3_TCR", "L1_TCW", "L2_TCW", "L3_TCW",
    "FML_INS", "FAD_INS", "FDV_INS", "FSQ_INS", "FNV_INS", "FP_OPS", "SP_OPS", "DP_OPS", "VEC_SP", "VEC_DP", "REF_CYC",
];

/// Caches in the kernel's numbering, and what can be asked of them.
const CACHES: [&str; 7] = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
const OPERATIONS: [&str; 3] = ["load", "store", "prefetch"];

/// Reads a list of names.
pub(crate) fn parse(text: &str) -> Result<Vec<Metric>, Failure> {
    let mut metrics: Vec<Metric> = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let source = source_of(name).ok_or_else(|| {
            Failure::new(Code::Usage, format!("`{name}` is no metric that is known"))
                .remedy("PAPI_TOT_INS, a name of `perf list` such as cache-misses or L1-dcache-load-misses, rNNN, page-faults, allocations, io-time (docs/metrics.md)")
        })?;
        if !metrics.iter().any(|known| known.name == name) {
            metrics.push(Metric { name: name.to_string(), source });
        }
    }
    if metrics.len() > MOST {
        return Err(Failure::new(Code::Usage, format!("{} metrics are too many", metrics.len())).remedy(format!("name at most {MOST}")));
    }
    Ok(metrics)
}

fn source_of(name: &str) -> Option<Source> {
    if let Some((_, source)) = EVENTS.iter().find(|(known, _)| *known == name) {
        return Some(*source);
    }
    if let Some(raw) = name.strip_prefix('r').and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        return Some(Source::Perf(RAW, raw));
    }
    for (cache, cache_name) in (0_u64..).zip(CACHES) {
        let Some(rest) = name.strip_prefix(cache_name).and_then(|rest| rest.strip_prefix('-')) else { continue };
        for (operation, operation_name) in (0_u64..).zip(OPERATIONS) {
            let missed = match rest.strip_prefix(operation_name) {
                Some("s" | "es") => 0,
                Some("-misses") => 1,
                _ => continue,
            };
            return Some(Source::Perf(CACHE, cache | operation << 8 | missed << 16));
        }
    }
    name.strip_prefix("PAPI_").is_some_and(|preset| PRESETS.contains(&preset)).then_some(Source::Nowhere)
}

/// Those that this machine offers; the others are named, in one sentence for each reason.
pub(crate) fn available(metrics: Vec<Metric>) -> Vec<Metric> {
    let mut missing: Vec<(String, Vec<String>)> = Vec::new();
    let offered = |metric: &Metric| {
        let Some(why) = obstacle(metric.source) else { return true };
        match missing.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(metric.name.clone()),
            None => missing.push((why, vec![metric.name.clone()])),
        }
        false
    };
    let metrics = metrics.into_iter().filter(offered).collect();
    for (why, names) in missing {
        eprintln!("tare: {}", sentence(&names, &why));
    }
    metrics
}

/// Why something cannot be counted on this machine; `None` where it can.
fn obstacle(source: Source) -> Option<String> {
    match source {
        Source::Perf(kind, config) => open(kind, config).err().map(|error| reason(&error)),
        Source::Nowhere => Some("no event of the kernel stands for it".to_string()),
        Source::Usage(_) | Source::TaskClock | Source::Tally(_) => None,
    }
}

fn reason(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => "the processor or the virtual machine has no such counter".to_string(),
        Some(libc::EACCES | libc::EPERM) => "the kernel forbids it: see /proc/sys/kernel/perf_event_paranoid".to_string(),
        Some(libc::ENOSYS) => "the kernel has no performance events".to_string(),
        _ => error.to_string(),
    }
}

/// That the run goes on without some metrics.
fn sentence(names: &[String], why: &str) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => {
            format!("{} and {last} are not available here ({why}): the run goes on without them", rest.join(", "))
        }
        _ => format!("{} is not available here ({why}): the run goes on without it", names.concat()),
    }
}

/// Whether what counts allocation and I/O has to be preloaded.
pub(crate) fn need_tally(metrics: &[Metric]) -> bool {
    metrics.iter().any(|metric| matches!(metric.source, Source::Tally(_)))
}

/// What the runtime is told.
pub(crate) fn environment(metrics: &[Metric]) -> Option<(String, String)> {
    let word = |metric: &Metric| {
        let source = match metric.source {
            Source::Perf(kind, config) => format!("p{kind:x}:{config:x}"),
            Source::Usage(field) => format!("u{field}"),
            Source::TaskClock => "t".to_string(),
            Source::Tally(word) => format!("w{}", word as u32),
            Source::Nowhere => return None,
        };
        Some(format!("{}={source}", metric.name))
    };
    let words: Vec<String> = metrics.iter().filter_map(word).collect();
    (!words.is_empty()).then(|| ("TARE_METRICS".to_string(), words.join(",")))
}

/// The first words of `struct perf_event_attr`, version 0.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    unused: [u64; 3],
    flags: u64,
    unused_too: [u64; 2],
}

/// Opens an event of this thread, as the runtime will, and closes it.
fn open(kind: u32, config: u64) -> std::io::Result<()> {
    const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
    let flags = if kind == SOFTWARE { 0 } else { EXCLUDE_KERNEL_AND_HYPERVISOR };
    let attributes = Attributes { kind, size: size_of::<Attributes>() as u32, config, unused: [0; 3], flags, unused_too: [0; 2] };
    // SAFETY: the attributes live through the call and say their size; the other arguments are numbers.
    let file = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, 0) };
    if file < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: a descriptor that was just opened here.
    unsafe { libc::close(i32::try_from(file).unwrap_or(-1)) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MOST, available, environment, need_tally, parse, sentence};

    #[test]
    fn names_of_all_kinds_are_read() {
        let metrics = parse("PAPI_TOT_INS, L1-dcache-load-misses,dTLB-stores,r1a2,page-faults,task-clock,io-time").expect("known names");
        let (_, value) = environment(&metrics).expect("metrics");
        assert_eq!(value, "PAPI_TOT_INS=p0:1,L1-dcache-load-misses=p3:10000,dTLB-stores=p3:103,r1a2=p4:1a2,page-faults=u4,task-clock=t,io-time=w9");
        assert!(need_tally(&metrics) && !need_tally(&parse("page-faults").expect("a known name")));
        assert_eq!(environment(&[]), None);
    }

    #[test]
    fn what_is_not_available_is_one_sentence() {
        let of = |names: &[&str]| sentence(&names.iter().map(ToString::to_string).collect::<Vec<_>>(), "no");
        assert_eq!(of(&["a"]), "a is not available here (no): the run goes on without it");
        assert_eq!(of(&["a", "b", "c"]), "a, b and c are not available here (no): the run goes on without them");
    }

    #[test]
    fn presets_of_papi_without_an_event_are_left_out() {
        let metrics = available(parse("PAPI_L2_DCM,task-clock,PAPI_FP_OPS").expect("known names"));
        assert_eq!(environment(&metrics), Some(("TARE_METRICS".into(), "task-clock=t".into())));
    }

    #[test]
    fn what_is_unknown_or_too_much_is_refused_by_name() {
        assert!(parse("cycles,PAPI_FLOPS").expect_err("an unknown name").what.contains("PAPI_FLOPS"));
        let many: Vec<String> = (0..=MOST).map(|number| format!("r{number}")).collect();
        assert!(parse(&many.join(",")).is_err());
    }
}
