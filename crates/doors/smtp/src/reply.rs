//! Every reply of the door (RFC 5321 §4.2, enhanced status codes of RFC 3463 and RFC 2034).

use std::borrow::Cow;

/// A reply code, its enhanced status code and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    code: u16,
    status: &'static str,
    text: Cow<'static, str>,
}

impl Reply {
    /// What it says behind its code.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A reply; `status` is empty where RFC 2034 §4 wants none (greeting, EHLO, 3xx).
    pub const fn fixed(code: u16, status: &'static str, text: &'static str) -> Reply {
        Reply { code, status, text: Cow::Borrowed(text) }
    }

    /// A reply whose text holds facts. Line breaks in it become spaces.
    pub fn of(code: u16, status: &'static str, text: String) -> Reply {
        let text = text.replace(['\r', '\n'], " ");
        Reply { code, status, text: Cow::Owned(text) }
    }

    /// The reply code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Whether the command was refused.
    pub fn is_refusal(&self) -> bool {
        self.code >= 400
    }

    /// Whether the command was refused for good (5xx).
    pub fn is_final(&self) -> bool {
        self.code >= 500
    }

    /// Appends the reply as one line.
    pub fn print(&self, out: &mut Vec<u8>) {
        let space = if self.status.is_empty() { "" } else { " " };
        let line = format!("{} {}{space}{}\r\n", self.code, self.status, self.text);
        out.extend_from_slice(line.as_bytes());
    }
}

pub const OK: Reply = Reply::fixed(250, "2.0.0", "OK");
pub const SENDER_OK: Reply = Reply::fixed(250, "2.1.0", "Sender OK");
pub const RECIPIENT_OK: Reply = Reply::fixed(250, "2.1.5", "Recipient OK");
pub const BYE: Reply = Reply::fixed(221, "2.0.0", "Goodbye");
pub const HELP: Reply = Reply::fixed(
    214,
    "2.0.0",
    "EHLO HELO MAIL RCPT DATA BDAT RSET NOOP QUIT VRFY AUTH STARTTLS; see RFC 5321",
);
pub const CANNOT_VERIFY: Reply =
    Reply::fixed(252, "2.5.0", "Send some mail and I will try to deliver it");
pub const READY_FOR_TLS: Reply = Reply::fixed(220, "2.0.0", "Ready to start TLS");
pub const SIGNED_IN: Reply = Reply::fixed(235, "2.7.0", "Authentication successful");
pub const SEND_DATA: Reply = Reply::fixed(354, "", "End the message with <CR><LF>.<CR><LF>");

pub const STOPPING: Reply = Reply::fixed(421, "4.3.2", "The server is stopping, try again later");
pub const TOO_BUSY: Reply = Reply::fixed(421, "4.7.0", "Too many connections, try again later");
pub const TOO_MANY_CONNECTIONS: Reply =
    Reply::fixed(421, "4.7.0", "Too many connections from your address, try again later");
pub const USER_TOO_BUSY: Reply =
    Reply::fixed(454, "4.7.0", "Too many connections of this user, close one or try later");
pub const TOO_FAST: Reply =
    Reply::fixed(450, "4.7.1", "Too many messages in a minute, wait and try again");
pub const RECIPIENTS_TOO_FAST: Reply =
    Reply::fixed(450, "4.7.1", "Too many recipients in a minute, wait and try again");
pub const TOO_QUIET: Reply = Reply::fixed(421, "4.4.2", "Nothing was received for too long");
pub const TOO_MANY_FAULTS: Reply = Reply::fixed(421, "4.7.0", "Too many errors");
pub const TOO_MANY_MESSAGES: Reply =
    Reply::fixed(421, "4.7.0", "Too many messages for one connection, open another");
pub const DROPPED: Reply = Reply::fixed(421, "4.3.2", "Closed by the administrator");
pub const NO_ROOM: Reply = Reply::fixed(452, "4.3.1", "Not enough memory at the moment, try later");
pub const TOO_MANY_RECIPIENTS: Reply =
    Reply::fixed(452, "4.5.3", "Too many recipients, send the rest in another message");
pub const DIRECTORY_TROUBLE: Reply =
    Reply::fixed(451, "4.3.0", "The directory cannot be read at the moment, try later");
pub const STORE_TROUBLE: Reply =
    Reply::fixed(451, "4.3.0", "The message cannot be stored at the moment, try later");
pub const TLS_TROUBLE: Reply = Reply::fixed(454, "4.7.0", "TLS is not available");
pub const SIGN_IN_TROUBLE: Reply =
    Reply::fixed(454, "4.7.0", "The password cannot be checked at the moment, try later");

pub const LINE_TOO_LONG: Reply = Reply::fixed(500, "5.5.6", "The line is too long");
pub const UNKNOWN_COMMAND: Reply = Reply::fixed(500, "5.5.2", "Command not recognized");
pub const NO_ARGUMENT: Reply = Reply::fixed(501, "5.5.4", "This command takes no argument");
pub const BAD_HELO: Reply = Reply::fixed(501, "5.5.4", "A host name or address literal is needed");
pub const BAD_SENDER: Reply =
    Reply::fixed(501, "5.1.7", "Syntax: MAIL FROM:<address> [parameters]");
pub const BAD_RECIPIENT: Reply =
    Reply::fixed(501, "5.1.3", "Syntax: RCPT TO:<address> [parameters]");
pub const BAD_PARAMETER: Reply = Reply::fixed(501, "5.5.4", "A parameter has no such value");
pub const BAD_BASE64: Reply = Reply::fixed(501, "5.5.2", "This is not valid base64");
pub const SIGN_IN_CANCELLED: Reply = Reply::fixed(501, "5.7.0", "Authentication cancelled");
pub const NOT_IMPLEMENTED: Reply = Reply::fixed(502, "5.5.1", "Command not implemented");
pub const NEED_HELO: Reply = Reply::fixed(503, "5.5.1", "Send EHLO first");
pub const NEED_MAIL: Reply = Reply::fixed(503, "5.5.1", "Send MAIL first");
pub const NESTED_MAIL: Reply = Reply::fixed(503, "5.5.1", "A sender was given already");
pub const ALREADY_TLS: Reply = Reply::fixed(503, "5.5.1", "TLS is active already");
pub const ALREADY_SIGNED_IN: Reply = Reply::fixed(503, "5.5.1", "Already authenticated");
pub const NOT_AFTER_BDAT: Reply =
    Reply::fixed(503, "5.5.1", "Not possible after BDAT, go on with BDAT or send RSET");
pub const CHUNK_LOST: Reply = Reply::fixed(503, "5.5.1", "An earlier chunk was refused, send RSET");
pub const BAD_CHUNK: Reply = Reply::fixed(501, "5.5.4", "Syntax: BDAT size [LAST]; closing");
pub const NOT_IN_TRANSACTION: Reply =
    Reply::fixed(503, "5.5.1", "Not possible within a mail transaction");
pub const UNKNOWN_MECHANISM: Reply =
    Reply::fixed(504, "5.5.4", "This authentication mechanism is not supported");
pub const SIGN_IN_FIRST: Reply = Reply::fixed(530, "5.7.0", "Authentication is required");
pub const WRONG_PASSWORD: Reply = Reply::fixed(535, "5.7.8", "Authentication failed");
pub const TLS_FIRST: Reply =
    Reply::fixed(538, "5.7.11", "Encryption is required for authentication, use STARTTLS");
pub const UNKNOWN_USER: Reply = Reply::fixed(550, "5.1.1", "There is no such user here");
pub const AMBIGUOUS_USER: Reply = Reply::fixed(550, "5.1.4", "More than one user has this address");
pub const NO_RELAY: Reply = Reply::fixed(
    550,
    "5.7.1",
    "This server accepts mail for its own domains only and does not relay",
);
pub const BARE_LINE_END: Reply = Reply::fixed(
    550,
    "5.6.0",
    "The message holds a bare CR or LF; lines must end with CRLF (RFC 5321 2.3.8)",
);
pub const TOO_BIG: Reply = Reply::fixed(552, "5.3.4", "The message is larger than allowed");
pub const NOT_ASCII: Reply =
    Reply::fixed(553, "5.6.7", "Addresses outside ASCII need the parameter SMTPUTF8 of MAIL");
pub const NOT_OWN: Reply =
    Reply::fixed(553, "5.7.1", "This sender address does not belong to the user signed in");
pub const TWICE: Reply = Reply::fixed(501, "5.5.4", "A parameter stands there twice");
pub const NO_RECIPIENTS: Reply = Reply::fixed(554, "5.5.1", "No valid recipients");
pub const LOOP: Reply = Reply::fixed(554, "5.4.6", "The message has passed too many servers");
pub const UNKNOWN_PARAMETER: Reply =
    Reply::fixed(555, "5.5.4", "A parameter is not known to this server");
