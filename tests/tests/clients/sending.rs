//! Programs that hand in mail: msmtp and neomutt.

use super::{last_message, server};
use std::path::{Path, PathBuf};
use tests::{Server, bounded, run};

const LETTER: &str = "From: ben@demo.test\nTo: ada@demo.test\nSubject: seen from the pond\n\n\
    .a line that begins with a dot\n..\n.\nGrüße, 水\n";

fn with_crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// A file that only its owner may read, as these programs demand.
fn secret(path: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_owned()
}

fn msmtp(server: &Server, port: u16, tls: &str) -> i32 {
    let text = format!(
        "account x\nhost 127.0.0.1\nport {port}\nfrom ben@demo.test\n{tls}\n\naccount default : x\n"
    );
    let config = secret(&server.scratch().join("msmtprc"), &text);
    let mut command = bounded("msmtp", "msmtp");
    command.arg("-C").arg(config).arg("ada@demo.test");
    run(&mut command, LETTER.as_bytes()).code
}

#[test]
fn msmtp_plain_starttls_and_tls() {
    let server = server();
    let auth = "auth on\nuser ben\npassword demo\n";
    let starttls = format!("tls on\ntls_certcheck off\n{auth}");
    let tls = format!("tls on\ntls_starttls off\ntls_certcheck off\n{auth}");
    let wrong = starttls.replace("demo", "wrong");
    assert_eq!(msmtp(&server, server.smtp(), "tls off\nauth off"), 0);
    assert_eq!(msmtp(&server, server.submission(), &starttls), 0);
    assert_eq!(msmtp(&server, server.smtps(), &tls), 0);
    assert_eq!(msmtp(&server, server.submission(), &starttls.replace("auth on", "auth plain")), 0);
    assert_ne!(msmtp(&server, server.submission(), &wrong), 0);
    let message = last_message(&server, 4);
    assert!(message.ends_with(&with_crlf(LETTER)), "{message}");
}

/// Sends an attachment over SMTP with STARTTLS and sign-in.
#[test]
fn neomutt_sends_an_attachment() {
    let server = server();
    let home = server.scratch();
    let smtp = server.submission();
    let config = format!(
        "set realname=\"Ben\"\nset from=\"ben@demo.test\"\nset use_from=yes\n\
         set smtp_url=\"smtp://ben@127.0.0.1:{smtp}/\"\nset smtp_pass=\"demo\"\n\
         set ssl_starttls=yes\nset ssl_force_tls=yes\nset ssl_verify_host=no\n\
         set certificate_file=\"{home}/certs\"\nset record=\"{home}/sent\"\n\
         set header_cache=\"\"\n",
        home = home.display()
    );
    let config = secret(&home.join("neomuttrc"), &config);
    // what people accept once by hand
    std::fs::copy(server.data().join("certs/server.pem"), home.join("certs")).unwrap();
    let attachment = home.join("counts.csv");
    let rows: String = (0..2_000).map(|n| format!("{n},nelumbo nucifera,{}\n", n * 7)).collect();
    std::fs::write(&attachment, &rows).unwrap();
    let mut command = bounded("neomutt", "neomutt");
    command.arg("-F").arg(config).args(["-s", "counts", "-a"]).arg(&attachment);
    command.args(["--", "ada@demo.test"]).env("HOME", home).env("TERM", "dumb");
    let outcome = run(&mut command, b"Here they are.\n");
    assert_eq!(outcome.code, 0, "{} {}", outcome.out, outcome.err);
    let message = last_message(&server, 1);
    let top = &message[..message.len().min(2_000)];
    for part in ["Subject: counts", "Here they are.", "filename=\"counts.csv\""] {
        assert!(top.contains(part), "no {part} in {top}");
    }
    assert!(message.contains("1999,nelumbo nucifera,13993"), "the attachment is whole");
}
