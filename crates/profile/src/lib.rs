//! The in-memory model of a run: region graph by locations by metrics
