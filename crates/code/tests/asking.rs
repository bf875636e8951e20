//! Which questions to MPI are asked in passing, and which until the answer is yes.

mod common;

use common::{Workshop, function, has};
use tare_code::Program;
use tare_image::Image;

/// Each function asks once; those whose name begins with `passing` go on with their work whatever the answer is.
const QUESTIONS: &str = r#"
int MPI_Test(void **request, int *flag, void *status);
int MPI_Testany(int count, void **requests, int *index, int *flag, void *status);
int MPI_Iprobe(int source, int tag, void *comm, int *flag, void *status);
int MPI_Recv(void *buffer, int count, void *type, int source, int tag, void *comm, void *status);
int MPI_Abort(void *comm, int code);
int sched_yield(void);
void work(long step);
void receive(int index);

void passing(void **request, long steps) {
    for (long step = 0; step < steps; step++) {
        int there = 0;
        MPI_Test(request, &there, 0);
        if (there) receive(0);
        work(step);
    }
}
void passing_with_care(void **requests, long steps) {
    for (long step = 0; step < steps; step++) {
        int index, there = 0;
        if (MPI_Testany(4, requests, &index, &there, 0) != 0) MPI_Abort(0, 1);
        if (there) receive(index);
        work(step);
    }
}
void passing_until_none_is_there(void **requests, long steps) {
    for (long step = 0; step < steps; step++) {
        int index, there;
        do {
            there = 0;
            MPI_Testany(4, requests, &index, &there, 0);
            if (there) receive(index);
        } while (there);
        work(step);
    }
}
void passing_while_it_writes(void **request, long steps, unsigned long *table) {
    unsigned long random = 1;
    for (long step = 0; step < steps; step++) {
        int there = 0;
        random ^= random << 13; random ^= random >> 7; random ^= random << 17;
        table[random & 1023] ^= random;
        MPI_Test(request, &there, 0);
        if (there) receive(0);
    }
}
void waits_and_counts(void **request, long *questions) {
    int there = 0, received = 0;
    while (received < 4) {
        MPI_Test(request, &there, 0);
        if (there) { receive(received); received++; }
        questions[3]++;
    }
}
void passing_by(long steps) {
    for (long step = 0; step < steps; step++) {
        int there = 0, value;
        MPI_Iprobe(0, 1, 0, &there, 0);
        if (there) MPI_Recv(&value, 1, 0, 0, 1, 0, 0);
        work(step);
    }
}
void waits(void **request) {
    int there = 0;
    while (!there) MPI_Test(request, &there, 0);
}
void waits_and_lets_others_run(void **request) {
    int there = 0;
    while (!there) { MPI_Test(request, &there, 0); if (!there) sched_yield(); }
}
void waits_while_it_works(void **request) {
    int there = 0;
    long step = 0;
    while (!there) { work(step++); MPI_Test(request, &there, 0); }
}
void waits_for_all(void **requests, int left) {
    while (left > 0) {
        int index, there = 0;
        MPI_Testany(4, requests, &index, &there, 0);
        if (there) left--;
    }
}
int asks_once(void **request) {
    int there = 0;
    MPI_Test(request, &there, 0);
    return there;
}
"#;

#[test]
fn questions_in_passing_are_told_from_those_that_wait() {
    let shop = Workshop::new();
    shop.compile("gcc", "libmpi.so", "c", "#include <stdlib.h>\nvoid MPI_Abort(int a, int b) { exit(b); }", &["-shared", "-fPIC"]);
    let mpi = shop.path("libmpi.so").display().to_string();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            let bytes = shop.compile(compiler, "questions", "c", QUESTIONS, &[level, "-shared", "-fPIC", &mpi]);
            let image = Image::parse(&bytes).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            for name in [
                "passing",
                "passing_with_care",
                "passing_until_none_is_there",
                "passing_by",
                "passing_while_it_writes",
                "waits",
                "waits_and_counts",
                "waits_and_lets_others_run",
                "waits_while_it_works",
                "waits_for_all",
                "asks_once",
            ] {
                let index = program.function_entered_at(function(&program, name).entry).expect("an entry");
                let found = program.asks_in_passing(&image, index);
                // Without optimisation elements may have no index.
                let is_told = name.starts_with("passing") && (name, level, found.len()) != ("passing_while_it_writes", "-O0", 0);
                assert_eq!(!found.is_empty(), is_told, "{compiler} {level} {name}: {found:x?}");
                assert!(found.iter().all(|&behind| program.functions[index].contains(behind - 1)));
            }
        }
    }
}
