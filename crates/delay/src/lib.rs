//! Virtual time, delays and probe costs as pure arithmetic
#![no_std]

#[cfg(test)]
extern crate std;

pub mod cost;
