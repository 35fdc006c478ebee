//! The OpenAPI file, as far as requests are made from it: the operations, what each takes, and what each may answer.

use anyhow::Context;
use serde_json::Value;
use workshop_base::workspace::Workspace;

/// The methods that the contract uses, as OpenAPI writes them.
const METHODS: [&str; 2] = ["get", "post"];

/// One method on one path.
#[derive(Debug, Clone)]
pub struct Operation {
    pub method: String,
    /// As it stands in the file: `/records/{id}/visit`.
    pub path: String,
    /// The part of the path that varies, `{id}` for example, and values of it.
    pub segment: String,
    pub ids: Vec<String>,
    /// Query parameters, each with values for it.
    pub query: Vec<(String, Vec<String>)>,
    /// Bodies for it; none where it takes none.
    pub bodies: Vec<String>,
    pub needs_key: bool,
    /// The statuses that it may answer.
    pub statuses: Vec<u16>,
}

impl Operation {
    /// Whether a success may change what is stored.
    pub fn changes_state(&self) -> bool {
        self.method == "POST"
    }
}

/// Reads the operations from the file beside the Kotlin service.
pub fn read(workspace: &Workspace) -> anyhow::Result<Vec<Operation>> {
    let file = workspace.kotlin_service().join("openapi.yaml");
    let text = std::fs::read_to_string(&file).context("the contract cannot be read")?;
    let root: Value = yaml_serde::from_str(&text).context("the contract is no YAML")?;
    let paths = root["paths"].as_object().context("there are no paths")?;
    let mut operations = Vec::new();
    for (path, item) in paths {
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                operations.push(read_operation(&root, method, path, operation)?);
            }
        }
    }
    Ok(operations)
}

fn read_operation(
    root: &Value,
    method: &str,
    path: &str,
    operation: &Value,
) -> anyhow::Result<Operation> {
    let (mut segment, mut ids) = (String::new(), Vec::new());
    let mut query = Vec::new();
    for parameter in elements(&operation["parameters"]) {
        let parameter = resolved(root, parameter)?;
        let values = examples(&parameter["examples"]);
        match (parameter["in"].as_str(), parameter["name"].as_str()) {
            (Some("path"), Some(name)) => (segment, ids) = (format!("{{{name}}}"), values),
            (Some("query"), Some(name)) => query.push((name.to_owned(), values)),
            _ => anyhow::bail!("{method} {path} has a parameter that is neither path nor query"),
        }
    }
    let responses = operation["responses"].as_object();
    let responses = responses.with_context(|| format!("{method} {path} has no responses"))?;
    let statuses: Result<Vec<u16>, _> = responses.keys().map(|status| status.parse()).collect();
    Ok(Operation {
        method: method.to_uppercase(),
        path: path.to_owned(),
        segment,
        ids,
        query,
        bodies: examples(&operation["requestBody"]["content"]["application/json"]["examples"]),
        needs_key: !elements(&operation["security"]).is_empty(),
        statuses: statuses.context("a status that is no number")?,
    })
}

/// What a `$ref` stands for; anything else stands for itself.
fn resolved<'a>(root: &'a Value, value: &'a Value) -> anyhow::Result<&'a Value> {
    match value["$ref"].as_str() {
        Some(reference) => root
            .pointer(reference.trim_start_matches('#'))
            .with_context(|| format!("{reference} is not in the contract")),
        None => Ok(value),
    }
}

fn elements(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// The values of named examples: a string as it is, everything else as JSON.
fn examples(named: &Value) -> Vec<String> {
    let named = named
        .as_object()
        .into_iter()
        .flat_map(|named| named.values());
    named
        .map(|example| match &example["value"] {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        })
        .collect()
}
