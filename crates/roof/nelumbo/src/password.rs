//! Passwords: from standard input, or asked for on the terminal without showing them.

use std::io::{self, BufRead, IsTerminal, Write};

use server::Secret;

use crate::Ending;

/// Longest password in bytes.
const BYTES_MAX: usize = 1024;

/// Gets the password of `name`.
pub(crate) fn get(from_stdin: bool, name: &str) -> Result<Secret, Ending> {
    if from_stdin {
        return accept(read_line(&mut io::stdin().lock())?);
    }
    if !io::stdin().is_terminal() {
        return Err(Ending::misuse("no terminal to ask for a password; give --password-stdin"));
    }
    let first = ask(&format!("Password for {name}: "))?;
    if ask("The same again: ")? != first {
        return Err(Ending::misuse("the two passwords differ; nothing was changed"));
    }
    accept(first)
}

/// Gets a password that exists already, which is asked for once.
pub(crate) fn once(from_stdin: bool, name: &str) -> Result<Secret, Ending> {
    if from_stdin {
        return accept(read_line(&mut io::stdin().lock())?);
    }
    if !io::stdin().is_terminal() {
        return Err(Ending::misuse("no terminal to ask for a password; give --password-stdin"));
    }
    accept(ask(&format!("Password for {name}: "))?)
}

fn accept(password: String) -> Result<Secret, Ending> {
    if password.is_empty() {
        return Err(Ending::misuse("the password is empty"));
    }
    if password.len() > BYTES_MAX {
        return Err(Ending::misuse(format!("the password is longer than {BYTES_MAX} bytes")));
    }
    Ok(Secret(password))
}

/// One line without its end.
fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    io::Read::take(from, BYTES_MAX as u64 + 3).read_line(&mut line)?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

fn ask(question: &str) -> Result<String, Ending> {
    let mut terminal = io::stderr();
    write!(terminal, "{question}")?;
    terminal.flush()?;
    let hidden = Hidden::begin();
    let line = read_line(&mut io::stdin().lock());
    drop(hidden);
    writeln!(terminal)?;
    Ok(line?)
}

/// Keeps the terminal from showing what is typed until it is dropped.
struct Hidden(Option<libc::termios>);

impl Hidden {
    #[allow(unsafe_code)]
    fn begin() -> Self {
        // SAFETY: termios is plain old data that tcgetattr fills; descriptor 0 is standard input.
        unsafe {
            let mut before: libc::termios = std::mem::zeroed();
            if libc::tcgetattr(0, &raw mut before) != 0 {
                return Self(None);
            }
            let mut silent = before;
            silent.c_lflag &= !libc::ECHO;
            libc::tcsetattr(0, libc::TCSAFLUSH, &raw const silent);
            Self(Some(before))
        }
    }
}

impl Drop for Hidden {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: the pointer is to the attributes that tcgetattr gave.
            unsafe {
                libc::tcsetattr(0, libc::TCSAFLUSH, before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_password() {
        let cases = [("a b\n", "a b"), ("x\r\n", "x"), ("no end", "no end"), ("1\n2\n", "1")];
        for (input, password) in cases {
            assert_eq!(read_line(&mut input.as_bytes()).unwrap(), password);
        }
    }

    #[test]
    fn empty_and_endless_ones_are_refused() {
        assert!(accept(String::new()).is_err());
        let endless = "x".repeat(100_000);
        assert!(accept(read_line(&mut endless.as_bytes()).unwrap()).is_err());
        assert!(accept("fine".to_owned()).is_ok());
    }
}
