//! The call graph in version 4 of the format of MetaCG.
//!
//! The format is described in `graph/README.md` of <https://github.com/tudasc/MetaCG>; what its reader asks for is
//! `functionName`, `origin` (null where unknown), `hasBody`, `callees` and `meta` of every node. Of the kinds of
//! metadata that it knows, those are written that a binary can tell: `loopDepth`, `numConditionalBranches`,
//! `fileProperties`, and the entry function of the program. The format has functions alone: a set of possible targets
//! is one without a body whose callees are the targets. Nodes are written one by one.

use std::io;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::{Graph, graph::Node};

/// Writes the document, on one line.
///
/// # Errors
/// Those of the writer.
pub fn metacg(graph: &Graph, output: &mut dyn io::Write) -> io::Result<()> {
    let meta = graph.main.map_or_else(|| json!({}), |main| json!({ "entryFunction": main.to_string() }));
    let generator = json!({ "name": "tare", "version": env!("CARGO_PKG_VERSION"), "sha": "" });
    let document = Document { graph: CallGraph { meta, nodes: Nodes(&graph.nodes) }, head: json!({ "generator": generator, "version": "4.0" }) };
    serde_json::to_writer(&mut *output, &document)?;
    output.write_all(b"\n")
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "_CG")]
    graph: CallGraph<'a>,
    #[serde(rename = "_MetaCG")]
    head: Value,
}

#[derive(Serialize)]
struct CallGraph<'a> {
    meta: Value,
    nodes: Nodes<'a>,
}

struct Nodes<'a>(&'a [Node]);

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut nodes = serializer.serialize_map(Some(self.0.len()))?;
        for (id, one) in self.0.iter().enumerate() {
            nodes.serialize_entry(&id.to_string(), &node(one))?;
        }
        nodes.end()
    }
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
