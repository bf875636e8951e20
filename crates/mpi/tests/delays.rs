//! Delays travel: a rank that the tool makes late hands its delay on to whoever waits for it, and to nobody else.

mod support;

use support::{Mpi, Process, Program};
use tare_format::graph::{MOST_CLOCK_DOUBT_NS, PEER_HELD};

const BOTH: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Mpich];

fn run(mpi: Mpi, how: &str, variables: &[(&str, &str)]) -> Vec<Process> {
    let mut all = vec![("HOW", how)];
    all.extend(variables);
    let run = Program::compile(mpi, "late.c").measured(&all);
    assert!(run.output.status.success(), "{}", String::from_utf8_lossy(&run.output.stderr));
    assert_eq!(run.processes.len(), 2);
    run.processes
}

/// What is done before rank 1 is made late, and after all.
const AROUND: [&str; 9] = [
    "MPI_Barrier",
    "MPI_Cart_create",
    "MPI_Comm_create",
    "MPI_Comm_disconnect",
    "MPI_File_close",
    "MPI_File_open",
    "MPI_Intercomm_create",
    "MPI_Win_create",
    "MPI_Win_free",
];
/// Questions cost the one that asks, and that is taken off what it gains.
const QUESTIONS: [&str; 4] = ["MPI_Request_get_status", "MPI_Test", "MPI_Testany", "MPI_Win_test"];

/// Runs that are tried where a machine was so busy that a message did not bring its delay in time, which is counted.
const TRIES: usize = 3;

/// The overhead that made rank 1 late: what its wrappers took in many calls of one function, and outside of their readings.
fn made_late(process: &Process) -> u64 {
    let calls = process.calls();
    let others = calls.keys().filter(|name| *name != "MPI_Wtime").flat_map(|name| process.cold(name));
    process.locations[0].record.tool_ticks - others.map(|cold| cold.tool_ticks).sum::<u64>()
}

/// What the waiting rank 0 gained of the overhead that made rank 1 late. Ranks leave `MPI_Init` at different times, so that
/// the delays themselves, counted from there, differ by that much more or less.
fn share(mpi: Mpi, how: &str, variables: &[(&str, &str)]) -> f64 {
    share_if(mpi, how, variables, |process| process.header.unpaired_messages == 0).expect("a run in which all delays came in time")
}

/// The same of the first run that is of use, if there is one.
fn share_if(mpi: Mpi, how: &str, variables: &[(&str, &str)], is_of_use: impl Fn(&Process) -> bool) -> Option<f64> {
    let processes = (0..TRIES).map(|_| run(mpi, how, variables)).find(|processes| processes.iter().all(&is_of_use))?;
    let late = made_late(&processes[1]);
    assert!(late > 1_000_000, "that many wrappers cost something, not {late} ticks");
    let waiting = &processes[0];
    let all: i64 = waiting.locations[0].nodes.iter().map(|(_, cold)| cold.delay_gain).sum();
    let around: i64 = AROUND.iter().flat_map(|name| waiting.cold(name)).map(|cold| cold.delay_gain).sum();
    let asking: u64 = QUESTIONS.iter().flat_map(|name| waiting.cold(name)).map(|cold| cold.tool_ticks).sum();
    Some((all - around + asking.cast_signed()) as f64 / late as f64)
}

/// What is handed on is told from nothing and from twice as much. A busy machine may have stretched what the tool did on
/// rank 1 after the barrier, and have kept rank 0 from asking, or the message from arriving, in time.
const HANDED_ON: std::ops::Range<f64> = 0.2..1.6;

fn hands_on(how: &str) {
    hands_on_in(&[Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard], how);
}

fn hands_on_in(libraries: &[Mpi], how: &str) {
    for &mpi in libraries.iter().filter(|mpi| mpi.is_here()) {
        in_one_of_three(|| {
            let share = share(mpi, how, &[]);
            if HANDED_ON.contains(&share) { Ok(()) } else { Err(format!("{}: the share is {share}", mpi.name())) }
        });
    }
}

/// Holds in one of three tries: where a rank that is to wait has no processor, it finds that what it would have waited for has come, and nothing
/// is handed on.
fn in_one_of_three(holds: impl Fn() -> Result<(), String>) {
    let failures: Vec<String> = (0..3).map_while(|_| holds().err()).collect();
    assert!(failures.len() < 3, "{failures:?}");
}

macro_rules! hands_on {
    ($($name:ident $how:literal;)*) => { $(#[test] fn $name() { hands_on($how); })* };
}

hands_on! {
    by_a_receive_from_anywhere "0";
    by_a_completion_of_all "1";
    by_a_question "2";
    by_a_broadcast "3";
    by_an_all_to_all_collective "4";
    by_a_reduction_to_the_one_that_waits "5";
    by_a_probe "6";
    on_another_communicator "8";
    by_a_probe_before_a_receive_that_is_started "9";
    back_to_a_synchronous_send "10";
    back_to_a_large_send "11";
    back_to_a_large_send_that_is_started "12";
    by_a_collective_that_is_started "13";
    by_a_broadcast_that_is_asked_for "14";
    by_a_collective_among_neighbours "15";
    by_a_collective_among_neighbours_that_is_started "16";
    by_a_fence "17";
    by_a_collective_between_groups "18";
    by_a_broadcast_to_another_group "19";
    by_a_reduction_from_another_group "20";
    by_a_collective_between_groups_that_is_started "21";
    by_exposing_a_window_late "22";
    by_reaching_a_window_late "23";
    by_reaching_a_window_late_that_is_asked_for "24";
    back_to_a_large_send_within_an_exchange "25";
    back_to_a_persistent_synchronous_send "26";
    back_to_a_large_send_by_starting_to_receive_it "31";
    by_a_question_that_leaves_the_request "32";
    back_to_who_gives_to_a_large_gather "35";
    back_to_the_root_of_a_large_broadcast "36";
    by_setting_the_view_of_a_file "51";
    by_giving_back_a_lock_late "60";
    by_giving_back_a_lock_late_that_others_may_share "61";
    by_giving_back_a_lock_late_that_is_one_of_all "62";
}

/// As MPICH has it, and not Open MPI 4.1.
macro_rules! hands_on_in_mpi_4 {
    ($($name:ident $how:literal;)*) => { $(#[test] fn $name() { hands_on_in(&[Mpi::Mpich, Mpi::Standard], $how); })* };
}

hands_on_in_mpi_4! {
    by_starting_late_to_make_a_communicator "33";
    on_a_communicator_whose_making_was_started "34";
    by_a_persistent_collective "40";
    by_a_persistent_broadcast "41";
    by_a_persistent_collective_among_neighbours "42";
    by_a_message_in_parts "43";
}

/// Open MPI's ends wait there until the late rank comes in, MPICH's do not; what is handed on is known when the wait has ended.
fn hands_on_by_coming_in(how: &str, waits_in: &str) {
    for mpi in BOTH {
        let waits = mpi == Mpi::OpenMpi;
        let has_waited = |processes: &Vec<Process>| processes[0].ticks_in(waits_in) > made_late(&processes[1]) / 2;
        let processes = (0..TRIES).map(|_| run(mpi, how, &[])).find(|processes| has_waited(processes) == waits);
        let processes = processes.unwrap_or_else(|| panic!("{}: ends wait, or do not, as never before", mpi.name()));
        let gained: i64 = processes[0].cold(waits_in).iter().map(|cold| cold.delay_gain).sum();
        let share = gained as f64 / made_late(&processes[1]) as f64;
        assert!(if waits { HANDED_ON.contains(&share) } else { share.abs() < 0.1 }, "{}: the share is {share}", mpi.name());
    }
}

macro_rules! hands_on_by_coming_in {
    ($($name:ident $how:literal $waits_in:literal;)*) => { $(#[test] fn $name() { hands_on_by_coming_in($how, $waits_in); })* };
}

hands_on_by_coming_in! {
    by_coming_in_to_a_small_send_that_is_started "27" "MPI_Wait";
    by_coming_in_to_a_small_send "28" "MPI_Send";
    by_coming_in_to_a_persistent_small_send "29" "MPI_Wait";
    by_coming_in_to_a_collective_that_is_started "30" "MPI_Wait";
}

/// Some of the libraries wait in these operations, and others do not.
fn hands_on_where_it_waits(how: &str, waiting: &[Mpi], others: &[Mpi]) {
    hands_on_in(waiting, how);
    for &mpi in others {
        let share = share(mpi, how, &[]);
        assert!(share.abs() < 0.1, "{}: the share is {share}", mpi.name());
    }
}

#[test]
fn by_writing_a_file_together() {
    hands_on_where_it_waits("50", &[Mpi::Mpich, Mpi::Standard], &[Mpi::OpenMpi]);
}

#[test]
fn by_writing_a_file_together_in_a_call_that_is_started() {
    hands_on_where_it_waits("52", &[Mpi::Mpich, Mpi::Standard], &[Mpi::OpenMpi]);
}

#[test]
fn by_writing_a_file_together_in_two_calls() {
    hands_on_where_it_waits("53", &[Mpi::Mpich, Mpi::Standard], &[Mpi::OpenMpi]);
}

#[test]
fn by_what_all_write_a_file_back_in() {
    hands_on_where_it_waits("54", &[Mpi::OpenMpi], &[Mpi::Mpich]);
}

#[test]
fn by_looking_late_at_a_lock_of_ones_own_part() {
    for how in ["63", "64"] {
        hands_on_where_it_waits(how, &[Mpi::Mpich, Mpi::Standard], &[Mpi::OpenMpi]);
    }
}

/// MPICH 4.0, as Debian has it, connects no processes.
const DYNAMIC: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Standard];

#[test]
fn by_connecting_late() {
    hands_on_in(&DYNAMIC, "70");
}

#[test]
fn between_processes_that_were_connected() {
    hands_on_in(&DYNAMIC, "71");
}

#[test]
fn to_a_process_that_is_spawned_late_and_to_who_waits_for_that() {
    for mpi in DYNAMIC.into_iter().filter(|mpi| mpi.is_here()) {
        in_one_of_three(|| {
            let run = Program::compile(mpi, "begun.c").measured(&[]);
            assert!(run.output.status.success(), "{}", String::from_utf8_lossy(&run.output.stderr));
            let [waiting, late, child] = run.processes.as_slice() else { panic!("{} processes", run.processes.len()) };
            assert_eq!(
                [waiting, late, child].map(|process| (process.header.rank_plus_one, process.header.uncovered_calls)),
                [(1, 0), (2, 0), (3, 0)]
            );
            let parts = made_late(late) as f64;
            let began = child.header.span_start_delay as f64 / parts;
            let gained = waiting.cold("MPI_Comm_spawn").iter().map(|cold| cold.delay_gain).sum::<i64>() as f64 / parts;
            if HANDED_ON.contains(&began) && HANDED_ON.contains(&gained) {
                return Ok(());
            }
            Err(format!("{}: the child begins with {began} of it, and who waits gains {gained}", mpi.name()))
        });
    }
}

#[test]
fn not_by_a_message_that_waited_itself() {
    for mpi in BOTH {
        let share = share(mpi, "7", &[]);
        assert!(share < 0.4, "{}: the share is {share}", mpi.name());
    }
}

#[test]
fn the_delay_model_hands_on_as_well() {
    for mpi in BOTH {
        let share = share(mpi, "0", &[("TARE_MODEL", "delay")]);
        assert!(HANDED_ON.contains(&share), "{}: the share is {share}", mpi.name());
    }
}

/// Rank 1 believes that it runs on another machine, whose clock is seconds away and faster or slower. Where ranks have to wait for a
/// processor at each round trip, no clocks come in line, and the model that needs none knows no collectives that hand on.
fn hands_on_between_machines(how: &str) {
    let is_of_use = |process: &Process| process.header.unpaired_messages == 0 && process.header.clock_doubt_ns <= MOST_CLOCK_DOUBT_NS;
    for mpi in BOTH {
        for clock in ["1,7000000000,40", "1,-3000000000,-40"] {
            let Some(share) = share_if(mpi, how, &[("TARE_IMITATED_CLOCK", clock)], is_of_use) else {
                eprintln!("left out: on this busy machine {} put no clocks in line with {clock}", mpi.name());
                continue;
            };
            assert!(HANDED_ON.contains(&share), "{} with {clock}: the share is {share}", mpi.name());
        }
    }
}

macro_rules! hands_on_between_machines {
    ($($name:ident $how:literal;)*) => { $(#[test] fn $name() { hands_on_between_machines($how); })* };
}

hands_on_between_machines! {
    between_machines_by_a_message "0";
    between_machines_by_a_collective "4";
    between_machines_by_a_collective_that_is_started "13";
    between_machines_by_exposing_a_window_late "22";
    back_between_machines_to_a_large_send "11";
}

#[test]
fn how_far_clocks_of_machines_may_differ_is_recorded() {
    for mpi in BOTH {
        let doubts = |clock| run(mpi, "4", &[("TARE_IMITATED_CLOCK", clock)]).iter().map(|process| process.header.clock_doubt_ns).collect::<Vec<_>>();
        assert_eq!(doubts("9,7000000000,0"), [0, 0], "{}: all on one machine", mpi.name());
        // The first rank has the clock that others are put in line with; what it doubts comes of messages that seem to come too early.
        let both = doubts("1,7000000000,0");
        assert!(both[1] > 0, "{}: {both:?}", mpi.name());
    }
}

/// No line through such clocks: what is left is the model that needs none.
#[test]
fn a_clock_that_cannot_be_relied_on_leaves_the_delay_model() {
    for mpi in BOTH {
        let processes = run(mpi, "0", &[("TARE_IMITATED_CLOCK", "1,7000000000,500000")]);
        let doubt = processes.iter().map(|process| process.header.clock_doubt_ns).max();
        assert!(doubt > Some(MOST_CLOCK_DOUBT_NS), "{}: {doubt:?}", mpi.name());
    }
}

/// Sessions have no moment at which clocks could be put in line.
#[test]
fn sessions_on_several_machines_leave_the_delay_model() {
    let doubts = |clock| {
        let run = Program::compile(Mpi::Mpich, "sessions.c").measured(&[("TARE_IMITATED_CLOCK", clock)]);
        assert!(run.output.status.success(), "{}", String::from_utf8_lossy(&run.output.stderr));
        run.processes.iter().map(|process| process.header.clock_doubt_ns).collect::<Vec<_>>()
    };
    assert_eq!(doubts("9,7000000000,0"), [0, 0], "all on one machine");
    let both = doubts("1,7000000000,0");
    assert!(both.iter().all(|doubt| *doubt > MOST_CLOCK_DOUBT_NS), "{both:?}");
}

#[test]
fn nothing_travels_where_no_model_is_asked_for() {
    for mpi in BOTH {
        let share = share(mpi, "0", &[("TARE_MODEL", "off")]);
        assert!(share < 0.4, "{}: the share is {share}", mpi.name());
    }
}

#[test]
fn what_calls_cost_outside_of_their_wrappers_is_booked_where_they_are_made() {
    for mpi in BOTH {
        let late = &run(mpi, "0", &[])[1];
        let all = late.locations[0].record.tool_ticks;
        let in_wrappers: u64 = late.calls().keys().flat_map(|name| late.cold(name)).map(|cold| cold.tool_ticks).sum();
        let calls = late.calls()["MPI_Wtime"];
        assert!(all > in_wrappers + 10 * calls, "{}: {all} ticks, of which {in_wrappers} in wrappers, of {calls} calls", mpi.name());
    }
}

#[test]
fn waits_and_partners_are_recorded_where_they_happened() {
    for mpi in BOTH {
        let processes = run(mpi, "0", &[]);
        let [waiting, late] = [&processes[0], &processes[1]];
        let receive = waiting.cold("MPI_Recv");
        assert_eq!((receive.len(), receive[0].messages, receive[0].bytes, receive[0].unpaired), (1, 1, 4, 0));
        assert!(receive[0].wait_ticks > receive[0].virtual_wait_ticks);
        let gained = receive[0].wait_ticks.cast_signed() - receive[0].virtual_wait_ticks.cast_signed();
        assert_eq!(receive[0].delay_gain, gained);
        let from = &waiting.locations[0].peers[receive[0].first_peer as usize - 1];
        assert_eq!((from.peer, from.received, from.sent, from.bytes, from.delay_gain), (1, 1, 0, 4, gained));
        let send = late.cold("MPI_Send");
        let to = &late.locations[0].peers[send[0].first_peer as usize - 1];
        assert_eq!((to.peer, to.received, to.sent, to.bytes), (0, 0, 1, 4));
    }
}

#[test]
fn what_a_probe_or_a_question_has_waited_stands_with_it() {
    for mpi in BOTH {
        for (how, waits_in, completes) in
            [("6", "MPI_Probe", "MPI_Recv"), ("2", "MPI_Testany", "MPI_Irecv"), ("32", "MPI_Request_get_status", "MPI_Wait")]
        {
            in_one_of_three(|| {
                let processes = run(mpi, how, &[]);
                let waiting = &processes[0].locations[0];
                let of = |name: &str| processes[0].cold(name).first().copied().copied();
                let (Some(waited), Some(completed)) = (of(waits_in), of(completes)) else { panic!("{}: {how}", mpi.name()) };
                let partners = waiting.peers.iter().filter(|peer| peer.wait > 0).map(|peer| (peer.peer, peer.wait));
                let seen = (completed.wait_ticks, partners.collect::<Vec<_>>());
                let holds = waited.wait_ticks > 0 && seen == (0, vec![(1, waited.wait_ticks)]);
                if holds { Ok(()) } else { Err(format!("{}, {waits_in}: {}, {seen:?}", mpi.name(), waited.wait_ticks)) }
            });
        }
    }
}

#[test]
fn a_send_that_waits_names_its_receiver() {
    for mpi in BOTH {
        let processes = run(mpi, "11", &[]);
        let sends = processes[0].cold("MPI_Send");
        let waited: u64 = sends.iter().map(|cold| cold.wait_ticks).sum();
        let held: Vec<_> = processes[0].locations[0].peers.iter().filter(|peer| peer.peer & PEER_HELD != 0).collect();
        let [receiver] = held.as_slice() else { panic!("{}: {held:?}", mpi.name()) };
        assert_eq!((receiver.peer & !PEER_HELD, receiver.wait, receiver.sent), (1, waited, 0), "{}", mpi.name());
        assert!(receiver.wait > receiver.virtual_wait, "{}: {receiver:?}", mpi.name());
    }
}

#[test]
fn an_order_that_the_tool_alone_has_changed_is_noticed_where_it_happened() {
    for mpi in BOTH {
        let noticed = ["0", "1"].map(|how| {
            let run = Program::compile(mpi, "order.c").measured(&[("HOW", how)]);
            assert!(run.output.status.success(), "{}", String::from_utf8_lossy(&run.output.stderr));
            let location = &run.processes[0].locations[0].record;
            (location.contradicted, location.contradicted_at[0] >> 32)
        });
        assert_eq!(noticed, [(0, 0), (1, 1)], "{}", mpi.name());
    }
}

/// When a member came to a collective cannot be told any more where it has come to 447 others since; that is counted. (A root
/// of MPICH's does not go on: it waits.)
#[test]
fn whom_collectives_have_lost_sight_of_is_counted() {
    let lost = |ahead: u64| {
        let run = Program::compile(Mpi::OpenMpi, "ahead.c").measured(&[("AHEAD", &ahead.to_string())]);
        assert!(run.output.status.success(), "{}", String::from_utf8_lossy(&run.output.stderr));
        let out = String::from_utf8_lossy(&run.output.stdout);
        assert!(out.contains(&format!("1: {ahead}")), "{out}");
        run.processes[1].header.unpaired_messages
    };
    assert_eq!((lost(446), lost(447)), (0, 1));
}
