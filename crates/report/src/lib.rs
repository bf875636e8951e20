//! View models and their text and JSON forms
