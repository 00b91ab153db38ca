//! ID (RFC 2971).

use super::Command;
use crate::grammar::{Bad, Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::session::Session;
use crate::text;

/// Fields that a client may send (RFC 2971 §3.3: 30 pairs).
const FIELDS_MAX: usize = 60;

pub(crate) struct Id {
    fields: Vec<String>,
}

impl Command for Id {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let mut fields = Vec::new();
        if args.eat_word("NIL") {
            return Ok(Id { fields });
        }
        args.expect(b'(', "a list is missing")?;
        while !args.eat(b')') {
            if !fields.is_empty() {
                args.space()?;
            }
            let field = args.nstring()?.unwrap_or_default();
            fields.push(String::from_utf8_lossy(&field).into_owned());
            if fields.len() > FIELDS_MAX {
                return Err(Bad("too many fields"));
            }
        }
        Ok(Id { fields })
    }

    async fn act(&mut self, _session: &mut Session) -> Result<(), Fault> {
        tracing::debug!(client = ?self.fields, "a client says who it is");
        Ok(())
    }

    fn answer(self, (): (), session: &mut Session) -> Done {
        let (name, version) = session.settings().product.clone();
        let out = &mut session.out.bytes;
        out.extend_from_slice(b"* ID (\"name\" ");
        text::string(name.as_bytes(), out);
        out.extend_from_slice(b" \"version\" ");
        text::string(version.as_bytes(), out);
        out.extend_from_slice(b")\r\n");
        Done::plain("Pleased to meet you")
    }
}
