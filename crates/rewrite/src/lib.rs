//! Binary rewriting: plan, patches, layout, emission, verification
