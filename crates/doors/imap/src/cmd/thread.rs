//! THREAD (RFC 5256): ORDEREDSUBJECT and REFERENCES.

use mailfile::{Algorithm, Forest, Threader, UidList};

use super::Command;
use super::sort::room;
use crate::grammar::{Bad, Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::search::{Program, find, slices};
use crate::selected::Tell;
use crate::session::Session;
use crate::text;

pub(crate) struct Thread {
    uid: bool,
    algorithm: Algorithm,
    program: Program,
}

impl Command for Thread {
    type Found = (UidList, Forest);

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        args.space()?;
        let algorithm = if args.eat_word("ORDEREDSUBJECT") {
            Algorithm::OrderedSubject
        } else if args.eat_word("REFERENCES") {
            Algorithm::References
        } else {
            return Err(Bad("an unknown threading algorithm"));
        };
        args.space()?;
        Ok(Thread { uid, algorithm, program: Program::parse_with_charset(args)? })
    }

    fn permit(&self, _session: &Session) -> Result<(), Fault> {
        self.program.permit()
    }

    async fn act(&mut self, session: &mut Session) -> Result<Self::Found, Fault> {
        let (view, key) = self.program.resolve(session)?;
        let uids = find(session, &view, key).await?;
        let _room = room(session, uids.len())?;
        let threader = Threader::new(self.algorithm);
        let threader = slices(session, uids, threader, |file, folder, uids, threader| {
            Ok(file.thread_step(folder, uids, threader)?)
        });
        let threader = threader.await?;
        // The gathering at the end is N log N, and no slice of it means anything.
        let forest = session.run_work(session::Weight::Heavy, move || threader.finish()).await?;
        Ok((view, forest))
    }

    fn answer(self, (view, forest): Self::Found, session: &mut Session) -> Done {
        let out = &mut session.out.bytes;
        out.extend_from_slice(b"* THREAD");
        if !forest.roots.is_empty() {
            out.push(b' ');
        }
        let number = |uid: u32| if self.uid { uid } else { view.lower_bound(uid) + 1 };
        for root in &forest.roots {
            print(&forest, *root, &number, out);
        }
        out.extend_from_slice(b"\r\n");
        Done::plain("Threaded")
    }

    fn tell(&self) -> Tell {
        if self.uid { Tell::All } else { Tell::NoExpunge }
    }
}

/// A step of printing.
enum Todo {
    List(u32),
    Close,
}

/// Appends `thread-list` (RFC 5256 §5). However deep the conversation, this does not recurse.
fn print(forest: &Forest, root: u32, number: &impl Fn(u32) -> u32, out: &mut Vec<u8>) {
    let mut todo = vec![Todo::List(root)];
    while let Some(step) = todo.pop() {
        let Todo::List(mut node) = step else {
            out.push(b')');
            continue;
        };
        out.push(b'(');
        todo.push(Todo::Close);
        let mut is_first = true;
        loop {
            if let Some(uid) = forest.uid(node) {
                if !is_first {
                    out.push(b' ');
                }
                text::number(number(uid).into(), out);
                is_first = false;
            }
            match forest.children(node) {
                [] => break,
                [only] => node = *only,
                several => {
                    if !is_first {
                        out.push(b' ');
                    }
                    todo.extend(several.iter().rev().map(|child| Todo::List(*child)));
                    break;
                }
            }
        }
    }
}
