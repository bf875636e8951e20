//! Profiles of TAU and files of Cube, written as their tools write them, and damaged in every way.

use std::io::Write;

use proptest::prelude::*;
use tare_foreign::{Foreign, ForeignError, cube, tau};
use tare_profile::RegionKind;

const RANK_0: &str = "7 templated_functions_MULTI_TIME
# Name Calls Subrs Excl Incl ProfileCalls # <metadata><attribute><name>Metric Name</name><value>TIME</value></attribute><attribute><name>Hostname</name><value>n01</value></attribute><attribute><name>Command Line</name><value>./pi 100 &lt; in</value></attribute><attribute><name>Starting Timestamp</name><value>1614611761048525</value></attribute></metadata>
\".TAU application\" 1 2 50 1000 0 GROUP=\"TAU_DEFAULT\" 
\"int main(int, char **) C [{/src/pi.c} {80,1}-{99,1}]\" 1 2 150 950 0 GROUP=\"TAU_USER\" 
\".TAU application => int main(int, char **) C [{/src/pi.c} {80,1}-{99,1}]\" 1 2 150 950 0 GROUP=\"TAU_CALLPATH|TAU_USER\" 
\"MPI_Recv()  \" 10 0 300.5 300.5 0 GROUP=\"MPI\" 
\".TAU application => int main(int, char **) C [{/src/pi.c} {80,1}-{99,1}] => MPI_Recv()  \" 10 0 300.5 300.5 0 GROUP=\"TAU_CALLPATH|MPI\" 
\"work\" 5 0 499.5 499.5 0 GROUP=\"TAU_USER\" 
\".TAU application => int main(int, char **) C [{/src/pi.c} {80,1}-{99,1}] => work\" 5 0 499.5 499.5 0 GROUP=\"TAU_CALLPATH|TAU_USER\" 
0 aggregates
1 userevents
# eventname numevents max min mean sumsqr
\"Message size received\" 10 8 8 8 640
";

fn read_tau(texts: &[(&str, &str)]) -> Result<Foreign, ForeignError> {
    let files: Vec<(&str, &[u8])> = texts.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    tau::read(&files)
}

/// Names of a call path, from the root, with exclusive nanoseconds.
fn paths(foreign: &Foreign, location: usize) -> Vec<(String, u64, i64)> {
    let nodes = &foreign.profile.locations[location].nodes;
    let name = |index: usize| {
        let mut names = Vec::new();
        let mut at = Some(index);
        while let Some(index) = at {
            names.push(foreign.profile.region_of(&nodes[index]).name.to_string());
            at = nodes[index].parent;
        }
        names.reverse();
        names.join("/")
    };
    (0..nodes.len()).map(|index| (name(index), nodes[index].calls(), nodes[index].exclusive)).collect()
}

#[test]
fn call_paths_of_tau_are_a_tree_whose_times_add_up() {
    let second = RANK_0.replace("Hostname</name><value>n01", "Hostname</name><value>n02");
    let foreign = read_tau(&[("profile.1.0.0", &second), ("profile.0.0.0", RANK_0), ("notes.txt", "")]).expect("a profile");
    let own = |name: &str, calls, ns| (name.to_string(), calls, ns);
    let wanted = [
        own("program", 1, 50_000),
        own("program/int main(int, char **)", 1, 150_000),
        own("program/int main(int, char **)/MPI_Recv", 10, 300_500),
        own("program/int main(int, char **)/work", 5, 499_500),
    ];
    assert_eq!(paths(&foreign, 0), wanted);
    assert_eq!(foreign.program, "./pi 100 < in");
    assert_eq!((foreign.started_ns, foreign.tool.as_str()), (1_614_611_761_048_525_000, "TAU"));
    let profile = &foreign.profile;
    assert_eq!(
        profile.processes.iter().map(|process| (process.rank, process.host.as_str())).collect::<Vec<_>>(),
        [(Some(0), "n01"), (Some(1), "n02")]
    );
    let main = profile.regions.iter().find(|region| region.name.contains("main")).expect("main");
    assert_eq!((main.file.as_str(), main.line), ("/src/pi.c", 80));
    assert_eq!(
        profile.regions.iter().filter(|region| region.kind == RegionKind::Mpi).map(|region| region.name.to_string()).collect::<Vec<_>>(),
        ["MPI_Recv"]
    );
    assert!(foreign.notes.is_empty());
}

#[test]
fn paths_that_tau_has_cut_are_flat_and_said() {
    let cut = "5 templated_functions
# Name Calls Subrs Excl Incl ProfileCalls
\"main\" 1 1 100 1000 0 GROUP=\"TAU_DEFAULT\"
\"f\" 2 1 300 900 0 GROUP=\"TAU_USER\"
\"g\" 4 0 600 600 0 GROUP=\"TAU_USER\"
\"main => f\" 2 1 300 900 0 GROUP=\"TAU_CALLPATH|TAU_USER\"
\"f => g\" 4 0 600 600 0 GROUP=\"TAU_CALLPATH|TAU_USER\"
0 aggregates
";
    let foreign = read_tau(&[("profile.0.0.0", cut)]).expect("a profile");
    let names: Vec<String> = paths(&foreign, 0).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["program", "program/main", "program/f", "program/g"]);
    assert!(foreign.notes[0].contains("TAU_CALLPATH_DEPTH"));
    assert_eq!(foreign.profile.processes[0].rank, None, "one process without MPI is no rank");
    let flat = cut.replace("5 templated", "3 templated").lines().filter(|line| !line.contains("=>")).collect::<Vec<_>>().join("\n");
    let foreign = read_tau(&[("profile.0.0.0", &flat)]).expect("a profile");
    assert_eq!(foreign.profile.locations[0].nodes.iter().map(|node| node.exclusive).sum::<i64>(), 1_000_000);
    assert!(foreign.notes.len() == 1 && foreign.notes[0].contains("TAU_CALLPATH=1"), "{:?}", foreign.notes);
}

#[test]
fn functions_that_tau_has_stopped_to_count_are_named() {
    let throttled = RANK_0.replace("\"work\" 5", "\"work [THROTTLED]\" 5").replace("=> work\" 5", "=> work [THROTTLED]\" 5");
    let foreign = read_tau(&[("profile.0.0.0", &throttled)]).expect("a profile");
    assert!(paths(&foreign, 0).iter().any(|(name, calls, _)| name.ends_with("main(int, char **)/work") && *calls == 5));
    assert!(foreign.notes.len() == 1 && foreign.notes[0].starts_with("TAU stopped to count work: "), "{:?}", foreign.notes);
}

#[test]
fn damaged_profiles_of_tau_are_refused_with_their_place() {
    let error = |text: &str| read_tau(&[("profile.0.0.0", text)]).expect_err("damaged").to_string();
    assert_eq!(error(""), "profile.0.0.0, line 1: the file is empty");
    assert_eq!(error("3 lines"), "profile.0.0.0, line 1: `templated_functions` is expected");
    assert_eq!(error("1 templated_functions_MULTI_PAPI_FP_OPS\n#"), "profile.0.0.0 counts PAPI_FP_OPS, not time");
    assert_eq!(error(&RANK_0.replace("300.5 300.5", "many")), "profile.0.0.0, line 6: five numbers are expected");
    assert!(error(&RANK_0[..RANK_0.len() / 2]).contains("line"));
    assert!(error(&RANK_0.replace("7 templated", "3 templated")).contains("more functions than the file says"));
    assert_eq!(read_tau(&[("a.txt", "")]).expect_err("nothing"), ForeignError::Nothing);
}

const ANCHOR: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4"><attr key="Creator" value="Score-P 8.4"/>
<metrics>
<metric id="0" type="EXCLUSIVE"><uniq_name>visits</uniq_name><dtype>UINT64</dtype></metric>
<metric id="1" type="INCLUSIVE"><uniq_name>time</uniq_name><dtype>DOUBLE</dtype></metric>
</metrics>
<program>
<region id="0" mod="/src/a.c" begin="10" end="20"><name>main</name><paradigm>compiler</paradigm><role>function</role></region>
<region id="1" mod="/src/a.c" begin="30" end="-1"><name>f</name><paradigm>compiler</paradigm><role>function</role></region>
<region id="2" mod="MPI" begin="-1" end="-1"><name>MPI_Send</name><paradigm>mpi</paradigm><role>point2point</role></region>
<cnode id="0" calleeId="0"><cnode id="1" calleeId="1"><cnode id="3" calleeId="2"></cnode></cnode><cnode id="2" calleeId="2"></cnode></cnode>
</program>
<system><systemtreenode Id="0"><name>machine</name><class>machine</class><systemtreenode Id="1"><name>node n07</name><class>node</class>
<locationgroup Id="0"><name>MPI Rank 0</name><rank>0</rank><type>process</type>
<location Id="0"><name>Master thread</name><rank>0</rank><type>thread</type></location></locationgroup>
<locationgroup Id="1"><name>MPI Rank 1</name><rank>1</rank><type>process</type>
<location Id="1"><name>Master thread</name><rank>0</rank><type>thread</type></location></locationgroup>
</systemtreenode></systemtreenode></system></cube>"#;

fn index(rows: &[i32]) -> Vec<u8> {
    let mut bytes = b"CUBEX.INDEX".to_vec();
    bytes.extend(1_i32.to_le_bytes());
    bytes.extend([0, 0, 1]);
    bytes.extend((rows.len() as i32).to_le_bytes());
    rows.iter().for_each(|row| bytes.extend(row.to_le_bytes()));
    bytes
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes).expect("memory");
    packer.finish().expect("memory")
}

/// A file with the values of two ranks; those of the times packed, a piece a row.
fn cubex() -> Vec<u8> {
    // Rows of inclusive metrics: main, f, MPI_Send below main, MPI_Send below f.
    let times = [[10.0_f64, 20.0], [6.0, 9.0], [1.0, 2.0], [2.5, 0.0]];
    let pieces: Vec<Vec<u8>> = times.iter().map(|row| deflated(&row.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())).collect();
    let mut packed = b"ZCUBEX.DATA".to_vec();
    packed.extend((pieces.len() as u64).to_le_bytes());
    for piece in &pieces {
        [0, 0, piece.len() as u64].iter().for_each(|number: &u64| packed.extend(number.to_le_bytes()));
    }
    packed.extend(pieces.concat());
    // Rows of exclusive metrics: main, f, MPI_Send below f, MPI_Send below main.
    let mut visits = b"CUBEX.DATA".to_vec();
    [[1_u64, 1], [5, 7], [3, 0], [2, 4]].iter().flatten().for_each(|calls| visits.extend(calls.to_le_bytes()));
    let mut archive = tar::Builder::new(Vec::new());
    let files: [(&str, &[u8]); 5] = [
        ("1.data", &packed),
        ("1.index", &index(&[0, 1, 2, 3])),
        ("0.data", &visits),
        ("0.index", &index(&[0, 1, 2, 3])),
        ("anchor.xml", ANCHOR.as_bytes()),
    ];
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, bytes).expect("memory");
    }
    archive.into_inner().expect("memory")
}

#[test]
fn values_of_cube_stand_at_their_paths() {
    let bytes = cubex();
    assert!(cube::is_cube(&bytes));
    let foreign = cube::read(&bytes).expect("a file of Cube");
    let own = |name: &str, calls, ns| (name.to_string(), calls, ns);
    let wanted = [
        own("program", 0, 0),
        own("program/main", 1, 3_000_000_000),
        own("program/main/f", 5, 3_500_000_000),
        own("program/main/f/MPI_Send", 3, 2_500_000_000),
        own("program/main/MPI_Send", 2, 1_000_000_000),
    ];
    assert_eq!(paths(&foreign, 0), wanted);
    // A path that a rank has not taken is not there.
    assert_eq!(
        paths(&foreign, 1).iter().map(|(name, calls, _)| (name.as_str(), *calls)).collect::<Vec<_>>(),
        [("program", 0), ("program/main", 1), ("program/main/f", 7), ("program/main/MPI_Send", 4)]
    );
    assert_eq!(foreign.tool, "Score-P 8.4");
    let process = &foreign.profile.processes[1];
    assert_eq!((process.rank, process.host.as_str()), (Some(1), "n07"));
}

#[test]
fn what_a_file_of_cube_counts_is_read() {
    let anchor = ANCHOR
        .replace("</metrics>", "<metric id=\"2\" type=\"INCLUSIVE\"><uniq_name>PAPI_TOT_INS</uniq_name><dtype>UINT64</dtype></metric></metrics>");
    let severity = "<severity><matrix metricId=\"1\"><row cnodeId=\"0\">3\n9\n</row><row cnodeId=\"1\">1\n1\n</row></matrix>\
                    <matrix metricId=\"2\"><row cnodeId=\"0\">4000\n7\n</row></matrix></severity></cube>";
    let foreign = cube::read(anchor.replace("</cube>", severity).as_bytes()).expect("a file of Cube");
    let first = &foreign.profile.locations[0];
    assert_eq!(first.metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>(), ["PAPI_TOT_INS"]);
    assert_eq!(first.nodes.iter().map(|node| node.values[0]).collect::<Vec<_>>(), [0, 4000, 0]);
}

#[test]
fn the_older_format_of_cube_is_one_file() {
    let severity = "<severity><matrix metricId=\"0\"><row cnodeId=\"0\">1\n1\n</row><row cnodeId=\"1\">5\n7\n</row></matrix>\
                    <matrix metricId=\"1\"><row cnodeId=\"0\">3\n9\n</row><row cnodeId=\"1\">3.5\n9e0\n</row></matrix></severity></cube>";
    let text = ANCHOR.replace("</cube>", severity);
    assert!(cube::is_cube(text.as_bytes()));
    let foreign = cube::read(text.as_bytes()).expect("a file of Cube");
    assert_eq!(
        paths(&foreign, 1),
        [("program".to_string(), 0, 0), ("program/main".to_string(), 1, 9_000_000_000), ("program/main/f".to_string(), 7, 9_000_000_000)]
    );
}

#[test]
fn damaged_files_of_cube_are_refused_with_their_part() {
    let error = |bytes: &[u8]| cube::read(bytes).expect_err("damaged").to_string();
    assert_eq!(error(b"nothing of the kind"), "it has no anchor.xml");
    let replaced = |from: &[u8], to: &[u8]| {
        let mut bytes = cubex();
        let at = bytes.windows(from.len()).position(|window| window == from).expect("the part");
        bytes[at..at + from.len()].copy_from_slice(to);
        bytes
    };
    assert_eq!(error(&replaced(b"ZCUBEX.DATA", b"?CUBEX.DATA")), "1.data: `CUBEX.DATA` is expected at its begin");
    assert_eq!(error(&replaced(b"<dtype>DOUBLE", b"<dtype>FOOBAR")), "1.data: its kind of values is not known");
    assert!(error(&replaced(b"<uniq_name>time<", b"<uniq_name>tide<")).contains("no values of the metric `time`"));
    assert!(error(&replaced(b"</program>", b"</progran>")).starts_with("anchor.xml: "));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_on_damage(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>(), cuts in any::<bool>()) {
        let damage = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for (place, value) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *value;
            }
            if cuts {
                bytes.truncate(cut.index(bytes.len()));
            }
            bytes
        };
        let check = |foreign: Foreign| {
            for location in &foreign.profile.locations {
                for (index, node) in location.nodes.iter().enumerate() {
                    assert!(node.parent.is_none_or(|parent| parent < index) && node.region.0 < foreign.profile.regions.len());
                }
            }
        };
        let _ = cube::read(&damage(&cubex())).map(check);
        let _ = tau::read(&[("profile.0.0.0", &damage(RANK_0.as_bytes()))]).map(check);
    }
}
