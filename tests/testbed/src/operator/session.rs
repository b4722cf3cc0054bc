// SPDX-License-Identifier: Apache-2.0
//! Why: a nested session is one call whose answer is the command's output, wrapped in records.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::ApiError;
use super::container::LaunchContainer;
use crate::http::Client;
use crate::recordio::Records;

/// What a session's command printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionOutput {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

pub(super) fn run(client: &Client, launch: &LaunchContainer) -> Result<SessionOutput, ApiError> {
    let body = json!({
        "type": "LAUNCH_NESTED_CONTAINER_SESSION",
        "launch_nested_container_session": launch.without_resources(),
    });
    let headers = [("Message-Accept", "application/json")];
    let mut stream = client.stream("/api/v1", &body, "application/recordio", &headers)?;
    if stream.status != 200 {
        let mut text = String::new();
        if let Err(e) = std::io::Read::read_to_string(&mut stream.reader, &mut text) {
            text = format!("(unreadable: {e})");
        }
        let asked = "LAUNCH_NESTED_CONTAINER_SESSION".to_owned();
        return Err(ApiError::Refused {
            asked,
            status: stream.status,
            body: text,
        });
    }
    let mut records = Records::new(stream.reader);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    while let Some(record) = records.next_record()? {
        let io: Value = serde_json::from_slice(&record).unwrap_or(Value::Null);
        let data = &io["data"];
        let bytes = BASE64_STANDARD
            .decode(data["data"].as_str().unwrap_or_default())
            .unwrap_or_default();
        match data["type"].as_str() {
            Some("STDOUT") => out.extend(bytes),
            Some("STDERR") => err.extend(bytes),
            // Heartbeats.
            _ => {}
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(SessionOutput {
        stdout: text(out),
        stderr: text(err),
    })
}
