// SPDX-License-Identifier: Apache-2.0
//! Why: every Mesos API the testbed speaks (operator, scheduler, executor) is a JSON `POST`, and a failed one
//! is only useful when it says who was asked for what. This is that one client.

use std::fmt;
use std::io::Read;
use std::time::Duration;

use serde_json::Value;

/// How long a call may take when nobody said otherwise: far above what a busy agent needs.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the other side may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// A call that got no answer.
#[derive(Debug, Clone)]
pub struct HttpError {
    asked: String,
    of: String,
    cause: String,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer to {} from {}: {}", self.asked, self.of, self.cause)
    }
}

impl std::error::Error for HttpError {}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The body as text; bytes that are not UTF-8 are replaced.
    pub body: String,
}

impl Reply {
    /// The body as JSON, or null where it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
}

/// An answer whose body goes on coming.
pub struct Stream {
    /// HTTP status.
    pub status: u16,
    /// The `Mesos-Stream-Id` that a scheduler must repeat in its later calls.
    pub stream_id: Option<String>,
    /// The body.
    pub reader: Box<dyn Read + Send>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Speaks to one `host:port`.
#[derive(Debug, Clone)]
pub struct Client {
    agent: ureq::Agent,
    address: String,
}

impl Client {
    /// A client of `host:port`. Nothing is connected yet.
    pub fn new(address: impl fmt::Display) -> Self {
        let agent = ureq::Agent::config_builder()
            // A refusal's body says why; as an error it would be lost.
            .http_status_as_error(false)
            // The machine's proxy knows nothing of our master and agent.
            .proxy(None)
            // An idle connection to an agent that was killed looks alive until it is used.
            .max_idle_connections(0)
            .timeout_connect(Some(CONNECT))
            .build()
            .into();
        Self {
            agent,
            address: address.to_string(),
        }
    }

    /// The `host:port` asked.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// `GET path`.
    pub fn get(&self, path: &str) -> Result<Reply, HttpError> {
        let request = self
            .agent
            .get(self.url(path))
            .config()
            .timeout_global(Some(PATIENCE))
            .build();
        let answer = request.call().map_err(|e| self.error(path, &e))?;
        self.whole(path, answer)
    }

    /// `POST path` with a JSON body, within a minute.
    pub fn post(&self, path: &str, body: &Value) -> Result<Reply, HttpError> {
        self.post_with(path, body, &[], Some(PATIENCE))
    }

    /// The same with further headers, and with another limit (`None`: as long as it takes).
    pub fn post_with(
        &self,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
        limit: Option<Duration>,
    ) -> Result<Reply, HttpError> {
        let asked = name_of(path, body);
        let request = self
            .agent
            .post(self.url(path))
            .config()
            .timeout_global(limit)
            .build();
        let request = with_headers(request, headers, "application/json");
        let answer = request
            .send(body.to_string())
            .map_err(|e| self.error(&asked, &e))?;
        self.whole(&asked, answer)
    }

    /// `POST path` whose answer is read as it comes. `accept` is the media type asked for.
    pub fn stream(
        &self,
        path: &str,
        body: &Value,
        accept: &str,
        headers: &[(&str, &str)],
    ) -> Result<Stream, HttpError> {
        let request = with_headers(self.agent.post(self.url(path)), headers, accept);
        let answer = request
            .send(body.to_string())
            .map_err(|e| self.error(&name_of(path, body), &e))?;
        let header = answer
            .headers()
            .get("Mesos-Stream-Id")
            .and_then(|v| v.to_str().ok());
        Ok(Stream {
            status: answer.status().as_u16(),
            stream_id: header.map(str::to_owned),
            reader: Box::new(answer.into_body().into_reader()),
        })
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn whole(&self, asked: &str, answer: ureq::http::Response<ureq::Body>) -> Result<Reply, HttpError> {
        let status = answer.status().as_u16();
        let mut bytes = Vec::new();
        let mut reader = answer.into_body().into_reader();
        reader
            .read_to_end(&mut bytes)
            .map_err(|e| self.error(asked, &e))?;
        Ok(Reply {
            status,
            body: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    fn error(&self, asked: &str, cause: &dyn fmt::Display) -> HttpError {
        HttpError {
            asked: asked.to_owned(),
            of: self.address.clone(),
            cause: cause.to_string(),
        }
    }
}

fn with_headers(
    mut request: ureq::RequestBuilder<ureq::typestate::WithBody>,
    headers: &[(&str, &str)],
    accept: &str,
) -> ureq::RequestBuilder<ureq::typestate::WithBody> {
    request = request
        .header("Content-Type", "application/json")
        .header("Accept", accept);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request
}

/// Mesos's calls carry their name in the body; the path alone is the same for all of them.
fn name_of(path: &str, body: &Value) -> String {
    body["type"].as_str().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;

    use serde_json::json;

    use super::*;

    /// Answers one request with `answer` and hands back what was asked.
    fn once(answer: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut buffer = [0; 4096];
            while !asked.ends_with(b"}") {
                let n = peer.read(&mut buffer).unwrap();
                asked.extend_from_slice(&buffer[..n]);
            }
            peer.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(asked).unwrap()
        });
        (address, server)
    }

    #[test]
    fn a_refusal_is_an_answer_with_its_body() {
        let (address, server) =
            once("HTTP/1.1 400 Bad Request\r\nContent-Length: 7\r\nConnection: close\r\n\r\nno gpus");
        let reply = Client::new(address)
            .post("/api/v1", &json!({"type": "LAUNCH_CONTAINER"}))
            .unwrap();
        assert_eq!((reply.status, reply.body.as_str()), (400, "no gpus"));
        let asked = server.join().unwrap();
        assert!(asked.starts_with("POST /api/v1 HTTP/1.1"), "{asked}");
        assert!(
            asked.to_lowercase().contains("content-type: application/json"),
            "{asked}"
        );
    }

    #[test]
    fn no_answer_names_the_call_and_the_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let error = Client::new(&address)
            .post("/api/v1", &json!({"type": "GET_HEALTH"}))
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("no answer to GET_HEALTH from {address}: ")),
            "{text}"
        );
    }

    #[test]
    fn a_stream_carries_its_stream_id() {
        let (address, server) = once(
            "HTTP/1.1 200 OK\r\nMesos-Stream-Id: s-1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        );
        let mut stream = Client::new(address)
            .stream("/x", &json!({}), "application/json", &[])
            .unwrap();
        assert_eq!(stream.stream_id.as_deref(), Some("s-1"));
        let mut text = String::new();
        stream.reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "abc");
        server.join().unwrap();
    }
}
