//! Delivery status notifications (RFC 3464) as `multipart/report` messages (RFC 6522).

/// Longest Message-ID that a report repeats.
const ID_BYTES_MAX: usize = 900;

/// What happened to a recipient (RFC 3464 §2.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Not delivered, and will not be.
    Failed,
    /// Not delivered yet.
    Delayed,
    /// Delivered.
    Delivered,
    /// Handed to a system that gives no reports.
    Relayed,
    /// Delivered and forwarded to several others.
    Expanded,
}

/// One recipient the report is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientStatus {
    /// The recipient as it was at the end, an address.
    pub final_recipient: String,
    /// `ORCPT` as it came, decoded, with its type (`rfc822;ada@example.org`).
    pub original_recipient: Option<String>,
    /// What happened.
    pub action: Action,
    /// Enhanced status code (RFC 3463), such as `5.1.1`.
    pub status: String,
    /// Diagnostic with its type, such as `smtp; 550 5.1.1 no such user`.
    pub diagnostic: Option<String>,
    /// Host that gave the answer.
    pub remote_mta: Option<String>,
    /// A sentence for people, such as `There is no such mail user here.`
    pub explanation: String,
}

/// How much of the message goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// Only its header.
    Headers,
    /// All of it.
    Message,
}

/// A report to be built. It must be sent with the null reverse path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report<'a> {
    /// Host name of this server.
    pub reporting_mta: String,
    /// Address the report comes from, such as `postmaster@example.org`.
    pub from: String,
    /// Address of the sender of the message.
    pub to: String,
    /// Unique letters and digits: part of Message-ID and boundary.
    pub unique: String,
    /// Now, seconds since 1970.
    pub date: i64,
    /// When the message came in, seconds since 1970.
    pub arrival: Option<i64>,
    /// `ENVID`, decoded.
    pub envelope_id: Option<String>,
    /// Recipients; at least one.
    pub recipients: Vec<RecipientStatus>,
    /// How much of the message goes back.
    pub returned: Returned,
    /// The message.
    pub message: &'a [u8],
}

/// Builds the message: CRLF line ends, `Auto-Submitted: auto-replied`, three parts (words for
/// people, `message/delivery-status`, what goes back). Values can break no line.
pub fn build(report: &Report<'_>) -> Vec<u8> {
    let boundary = boundary(report);
    let mut out = Lines(Vec::with_capacity(4096 + report.message.len()));
    header(report, &boundary, &mut out);
    out.delimiter(&boundary);
    words(report, &mut out);
    out.delimiter(&boundary);
    status(report, &mut out);
    out.delimiter(&boundary);
    returned(report, &mut out);
    out.line(&["--", &boundary, "--"]);
    out.0
}

struct Lines(Vec<u8>);

impl Lines {
    /// One line of several values; control characters become spaces.
    fn line(&mut self, values: &[&str]) {
        for value in values {
            self.0.extend(value.bytes().map(|b| if b < b' ' || b == 127 { b' ' } else { b }));
        }
        self.0.extend_from_slice(b"\r\n");
    }

    /// A field of the status part, which is pure ASCII (RFC 3464 §2.1).
    fn field(&mut self, name: &str, value: &str) {
        let ascii: String = value.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        self.line(&[name, ": ", ascii.trim()]);
    }

    fn optional(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            self.field(name, value);
        }
    }

    fn delimiter(&mut self, boundary: &str) {
        self.line(&[""]);
        self.line(&["--", boundary]);
    }
}

/// A boundary that does not occur in what goes back.
fn boundary(report: &Report<'_>) -> String {
    let letters = report.unique.chars().filter(char::is_ascii_alphanumeric).take(48);
    let mut boundary = format!("report-{}", letters.collect::<String>());
    while memchr::memmem::find(report.message, boundary.as_bytes()).is_some() && boundary.len() < 70
    {
        boundary.push('x');
    }
    boundary
}

fn header(report: &Report<'_>, boundary: &str, out: &mut Lines) {
    out.line(&["From: Mail Delivery System <", &report.from, ">"]);
    out.line(&["To: <", &report.to, ">"]);
    out.line(&["Subject: ", subject(report)]);
    out.line(&["Date: ", &crate::print_date(report.date)]);
    out.line(&["Message-ID: <", &report.unique, "@", &report.reporting_mta, ">"]);
    if let Some(id) = original_message_id(report.message) {
        out.line(&["In-Reply-To: ", &id]);
        out.line(&["References: ", &id]);
    }
    out.line(&["Auto-Submitted: auto-replied"]);
    out.line(&["MIME-Version: 1.0"]);
    out.line(&["Content-Type: multipart/report; report-type=delivery-status;"]);
    out.line(&[" boundary=\"", boundary, "\""]);
    out.line(&[""]);
    out.line(&["This is a report about the delivery of a message, in MIME format."]);
}

/// The one of all actions that matters most to the sender.
fn action_of(report: &Report<'_>) -> Action {
    let rank = |action: &Action| match action {
        Action::Failed => 0,
        Action::Delayed => 1,
        Action::Expanded => 2,
        Action::Relayed => 3,
        Action::Delivered => 4,
    };
    report.recipients.iter().map(|r| r.action).min_by_key(rank).unwrap_or(Action::Failed)
}

fn subject(report: &Report<'_>) -> &'static str {
    match action_of(report) {
        Action::Failed => "Undelivered mail: your message was not delivered",
        Action::Delayed => "Delayed mail: your message is not delivered yet",
        Action::Delivered | Action::Relayed | Action::Expanded => {
            "Delivered mail: report about your message"
        }
    }
}

/// The Message-ID of the message, if it can be repeated in a header as it is.
fn original_message_id(message: &[u8]) -> Option<String> {
    let (_, value, _) =
        crate::headers(message).find(|field| field.0.eq_ignore_ascii_case(b"message-id"))?;
    let id = crate::unfold(value);
    let printable = id.iter().all(|b| (b' '..=b'~').contains(b)) && id.len() <= ID_BYTES_MAX;
    printable.then(|| String::from_utf8_lossy(&id).into_owned()).filter(|id| !id.is_empty())
}

fn words(report: &Report<'_>, out: &mut Lines) {
    out.line(&["Content-Type: text/plain; charset=utf-8"]);
    out.line(&["Content-Transfer-Encoding: 8bit"]);
    out.line(&[""]);
    out.line(&["This is the mail system at host ", &report.reporting_mta, "."]);
    out.line(&[""]);
    out.line(&[match action_of(report) {
        Action::Failed => "Your message could not be delivered to one or more recipients.",
        Action::Delayed => "Your message is not delivered yet; delivery will be tried again.",
        _ => "Your message was delivered as told below.",
    }]);
    if report.returned == Returned::Message {
        out.line(&["It is attached below."]);
    }
    for recipient in &report.recipients {
        out.line(&[""]);
        out.line(&["<", &recipient.final_recipient, ">: ", &recipient.explanation]);
        if let Some(diagnostic) = &recipient.diagnostic {
            out.line(&["    ", diagnostic]);
        }
    }
}

fn status(report: &Report<'_>, out: &mut Lines) {
    out.line(&["Content-Type: message/delivery-status"]);
    out.line(&[""]);
    out.optional("Original-Envelope-Id", report.envelope_id.as_deref());
    out.field("Reporting-MTA", &format!("dns; {}", report.reporting_mta));
    out.optional("Arrival-Date", report.arrival.map(crate::print_date).as_deref());
    for recipient in &report.recipients {
        out.line(&[""]);
        out.optional("Original-Recipient", recipient.original_recipient.as_deref());
        out.field("Final-Recipient", &format!("rfc822; {}", recipient.final_recipient));
        out.field("Action", action_word(recipient.action));
        out.field("Status", &recipient.status);
        let remote = recipient.remote_mta.as_ref().map(|host| format!("dns; {host}"));
        out.optional("Remote-MTA", remote.as_deref());
        out.optional("Diagnostic-Code", recipient.diagnostic.as_deref());
    }
}

fn action_word(action: Action) -> &'static str {
    match action {
        Action::Failed => "failed",
        Action::Delayed => "delayed",
        Action::Delivered => "delivered",
        Action::Relayed => "relayed",
        Action::Expanded => "expanded",
    }
}

fn returned(report: &Report<'_>, out: &mut Lines) {
    let content = match report.returned {
        Returned::Headers => {
            out.line(&["Content-Type: text/rfc822-headers"]);
            let root = crate::header_bytes(report.message);
            let blank = if root.ends_with(b"\r\n\r\n") { 2 } else { 0 };
            &root[..root.len() - blank]
        }
        Returned::Message => {
            out.line(&["Content-Type: message/rfc822"]);
            report.message
        }
    };
    if !content.is_ascii() {
        out.line(&["Content-Transfer-Encoding: 8bit"]);
    }
    out.line(&[""]);
    out.0.extend_from_slice(content);
    if !content.ends_with(b"\n") {
        out.line(&[""]);
    }
}

#[cfg(test)]
mod tests;
