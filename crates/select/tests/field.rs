//! The examples of the page on filters, each held against a program in which its question has a known answer.

mod common;

use std::sync::OnceLock;

use common::{Analysed, compiled};
use tare_select::{Filter, Preset};

const START: &str = r#"
extern "C" __attribute__((noipa)) int MPI_Send(int a) { return a + 1; }
extern "C" __attribute__((noipa)) void GOMP_parallel(int a) { asm volatile("" : : "r"(a)); }
namespace boost { __attribute__((noipa)) int relay(int a) { return MPI_Send(a) + 1; } }
__attribute__((noipa)) int send_all(int a) { return MPI_Send(a) + boost::relay(a); }

extern "C" __attribute__((noipa)) int step4(int a) { return a + 4; }
extern "C" __attribute__((noipa)) int step3(int a) { return step4(a) + 3; }
extern "C" __attribute__((noipa)) int step2(int a) { return step3(a) + 2; }
extern "C" __attribute__((noipa)) int step1(int a) { return step2(a) + 1; }
extern "C" __attribute__((noipa)) int solve(int a) { return step1(a) * 2; }

struct Channel { virtual int go(int a); virtual ~Channel(); };
Channel::~Channel() {}
__attribute__((noipa)) int Channel::go(int a) { return MPI_Send(a) * 3; }
__attribute__((noipa)) int callback(Channel *channel, int a) { return channel->go(a) + 1; }

struct Box {
    int values[100];
    int get_value(int at) const;
    int get_largest() const;
};
__attribute__((noipa)) int Box::get_value(int at) const { return values[at]; }
__attribute__((noipa)) int Box::get_largest() const {
    int largest = values[0];
    for (int i = 0; i < 100; i++)
        if (values[i] > largest) largest = values[i];
    return largest;
}
extern "C" __attribute__((noipa)) int nest(const volatile int *p, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (p[i] > p[j]) sum += p[i] * p[j];
    return sum;
}
extern "C" __attribute__((noipa)) void region(int a) { GOMP_parallel(a); asm volatile(""); }
extern "C" __attribute__((noipa)) void around(int a) { region(a); asm volatile(""); }

extern "C" int pair_compute(const volatile int *p, int n);
struct Neighbor { __attribute__((noipa)) int build(int a) { return solve(a) + 1; } };

int main(int argc, char **) {
    Box box = {{argc}};
    Channel channel;
    Neighbor neighbor;
    around(argc);
    return send_all(argc) + solve(argc) + callback(&channel, argc) + box.get_value(argc) + box.get_largest() + nest(box.values, argc)
        + pair_compute(box.values, argc) + neighbor.build(argc) == 0;
}
"#;
const PAIR: &str = r#"
extern "C" __attribute__((noipa)) int pair_compute(const volatile int *p, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += p[i];
    return sum;
}
"#;

/// What is asked, by the name of the example, and what its filter lets in, with what is inserted where that is not the default.
const ANSWERS: [(&str, &[&str]); 8] = [
    ("mpicallpath", &["Channel::go(int)", "MPI_Send", "boost::relay(int)", "main", "send_all(int)"]),
    ("hot-loops", &["main", "nest functions=function,loops=loop", "pair_compute"]),
    ("mine", &["Channel::go(int)", "MPI_Send", "main", "send_all(int)"]),
    ("below-solver", &["main", "solve", "step1", "step2", "step3"]),
    ("no-accessors", &["main", "nest", "pair_compute", "send_all(int)"]),
    ("may-call-mpi", &["Channel::go(int)", "MPI_Send", "boost::relay(int)", "callback(Channel*, int)", "main", "send_all(int)"]),
    (
        "one-file",
        &[
            "Neighbor::build(int) functions=function,loops=loop,callsites=callsite",
            "main functions=function,loops=loop",
            "pair_compute functions=function,loops=loop",
        ],
    ),
    ("openmp", &["GOMP_parallel", "main", "region"]),
];

fn program() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled(&[("start.cpp", START), ("pair_lj_cut.cpp", PAIR)], &["-O1", "-g"]))
}

/// Examples of the page.
fn examples() -> Vec<Filter> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/filters.md")).expect("the page");
    let texts = page.split("```xml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    texts.map(|text| Filter::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))).collect()
}

const OWN: [&str; 20] = [
    "MPI_Send",
    "GOMP_parallel",
    "boost::relay",
    "send_all",
    "step",
    "solve",
    "Channel::go",
    "callback",
    "Box::",
    "nest",
    "region",
    "around",
    "pair_compute",
    "Neighbor::",
    "main",
    "step1",
    "step2",
    "step3",
    "step4",
    "callback",
];

#[test]
fn each_example_of_the_page_answers_its_question() {
    let analysed = Analysed::of(program());
    let examples = examples();
    let asked: Vec<&str> = examples.iter().map(|filter| &*filter.name).collect();
    assert_eq!(asked, ANSWERS.map(|(name, _)| name), "the page and this list have the same examples");
    let found = examples.iter().map(|filter| (&*filter.name, answer(&analysed, filter)));
    let wanted = ANSWERS.iter().map(|(name, wanted)| (*name, wanted.iter().map(ToString::to_string).collect()));
    assert_eq!(found.collect::<Vec<_>>(), wanted.collect::<Vec<(&str, Vec<String>)>>());
}

/// What a filter lets in; one without `start` stands behind a preset.
fn answer(analysed: &Analysed<'_>, filter: &Filter) -> Vec<String> {
    let all = Preset::ALL.iter().find(|preset| preset.name() == "all").expect("a preset").filter().expect("a filter");
    let filters: Vec<Filter> = filter.start.is_none().then_some(all).into_iter().chain([filter.clone()]).collect();
    let selection = analysed.choose(&filters);
    let mut found: Vec<String> = selection
        .selected()
        .map(|one| (tare_image::demangle(&analysed.program.functions[one.function].name).into_owned(), one.snippets.to_string()))
        .filter(|(shown, _)| OWN.iter().any(|own| shown.starts_with(own)))
        .map(
            |(shown, snippets)| {
                if snippets == "functions=default" || snippets == "functions=function" { shown } else { format!("{shown} {snippets}") }
            },
        )
        .collect();
    found.sort();
    found
}
