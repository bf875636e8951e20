//! The measurement runtime that lives inside the program
