//! Panics that are caught, drops while unwinding, generics, trait objects, iterators and threads.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

trait Shape {
    fn area(&self) -> u64;
}
struct Square(u64);
struct Rows(Vec<u64>);
impl Shape for Square {
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}
impl Shape for Rows {
    fn area(&self) -> u64 {
        self.0.iter().sum()
    }
}

struct Noted<'a>(&'a std::cell::Cell<u32>);
impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[inline(never)]
fn falls(depth: u32, drops: &std::cell::Cell<u32>) -> u32 {
    let _noted = Noted(drops);
    if depth == 0 {
        panic!("at the end");
    }
    falls(depth - 1, drops) + 1
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(7)), Box::new(Rows((1..=10).collect()))];
    println!("{}", shapes.iter().map(|one| one.area()).sum::<u64>());
    let drops = std::cell::Cell::new(0);
    let caught = (0..50).filter(|&depth| catch_unwind(AssertUnwindSafe(|| falls(depth, &drops))).is_err()).count();
    println!("{caught} {}", drops.get());
    let text = "the quick brown fox jumps over the lazy dog";
    let mut letters: BTreeMap<char, usize> = BTreeMap::new();
    text.chars().filter(|one| one.is_alphabetic()).for_each(|one| *letters.entry(one).or_default() += 1);
    println!("{letters:?}");
    let threads: Vec<_> = (1..=4_u64).map(|n| thread::spawn(move || (0..n * 1000).fold(n, |a, b| a.wrapping_mul(31) ^ b))).collect();
    let results: Vec<u64> = threads.into_iter().map(|one| one.join().unwrap_or(0)).collect();
    println!("{results:?}");
    println!("{:?}", "12,x,7".split(',').map(str::parse::<i32>).map(|one| one.map_err(|error| error.to_string())).collect::<Vec<_>>());
    std::process::exit(i32::from(thread::spawn(|| panic!("in a thread")).join().is_err()) + 4);
}
