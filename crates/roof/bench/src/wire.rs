//! Clients for load: SMTP, IMAP, POP3, HTTP, LDAP.
