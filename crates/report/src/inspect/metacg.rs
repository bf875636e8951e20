//! The call graph in version 4 of the format of MetaCG.
//!
//! The format is described in `graph/README.md` of <https://github.com/tudasc/MetaCG>; what its reader asks for is
//! `functionName`, `origin` (null where unknown), `hasBody`, `callees` and `meta` of every node. Of the kinds of
//! metadata that it knows, those are written that a binary can tell: `loopDepth`, `numConditionalBranches`,
//! `fileProperties`, and the entry function of the program.

use serde_json::{Map, Value, json};

use super::{Graph, graph::Node};

/// The document.
#[must_use]
pub fn metacg(graph: &Graph) -> String {
    let nodes: Map<String, Value> = graph.nodes.iter().enumerate().map(|(id, one)| (id.to_string(), node(one))).collect();
    let meta = graph.main.map_or_else(|| json!({}), |main| json!({ "entryFunction": main.to_string() }));
    let generator = json!({ "name": "tare", "version": env!("CARGO_PKG_VERSION"), "sha": "" });
    crate::json::written(&json!({
        "_CG": { "meta": meta, "nodes": nodes },
        "_MetaCG": { "generator": generator, "version": "4.0" },
    }))
}

fn node(one: &Node) -> Value {
    let callees: Map<String, Value> = one.sure.iter().chain(&one.possible).map(|callee| (callee.to_string(), json!({}))).collect();
    let file = one.body.file.as_deref();
    let mut meta = Map::new();
    if one.function.is_some() {
        meta.insert("loopDepth".into(), one.body.loop_depth.into());
        meta.insert("numConditionalBranches".into(), one.body.branches.into());
    }
    if let Some(file) = file {
        let is_system = file.starts_with("/usr/include/") || file.starts_with("/usr/lib/");
        meta.insert("fileProperties".into(), json!({ "systemInclude": is_system }));
    }
    json!({ "functionName": one.name, "origin": file, "hasBody": one.function.is_some(), "callees": callees, "meta": meta })
}
