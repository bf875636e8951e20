//! Virtual time, delays and probe costs as pure arithmetic
