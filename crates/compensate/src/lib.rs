//! Raw profile and costs to compensated profile with uncertainty
