//! Making, running, stopping and checking servers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use server::{
    Credentials, DataDir, DemoError, DemoOptions, Holding, Key, Network, Outcome, Reached, Request,
    Server, Settings, SettingsError, SetupError, SetupOptions, chain,
};

use crate::args::Demo;
use crate::ask::{must_be_a_server, not_running, reach};
use crate::{Ending, memory, show};

/// How long `stop` waits for the end of the server.
const STOP_WAIT: Duration = Duration::from_secs(120);
/// Time a stopping server gets beyond `server.stop_wait_s` before it is cut off.
const CUT_OFF: Duration = Duration::from_secs(60);

/// `nelumbo setup`.
pub(crate) fn setup(dir: &DataDir, options: &SetupOptions) -> Result<(), Ending> {
    server::setup(dir, options).map_err(|error| match &error {
        SetupError::Refused(_) => Ending::misuse(chain(&error)),
        _ => Ending::trouble(chain(&error)),
    })?;
    let root = dir.root().display();
    show::line(&format!("{root} is ready; look at {root}/nelumbo.toml, then: nelumbo serve {root}"))
}

/// `nelumbo serve`.
pub(crate) fn serve(dir: &DataDir) -> Result<(), Ending> {
    must_be_a_server(dir)?;
    let loaded = Settings::load(&dir.config()).map_err(|error| match &error {
        SettingsError::Wrong { .. } => Ending::misuse(chain(&error)),
        SettingsError::Unreadable { .. } => Ending::trouble(chain(&error)),
    })?;
    server::start_log(dir, &loaded.settings)?;
    for remark in &loaded.remarks {
        server::log_remark(&remark.to_string());
    }
    let started = Server::start(dir, &loaded.settings);
    let server = started.map_err(|error| Ending::trouble(chain(&error)))?;
    show::line("ready")?;
    server::notify_supervisor("READY=1");
    until_stopped(server)
}

/// Waits for the order to stop and carries it out within a bounded time.
fn until_stopped(server: Server) -> Result<(), Ending> {
    if let Err(error) = memory::give_back() {
        eprintln!("nelumbo: memory that is free is kept: {error}");
    }
    server.wait();
    server::notify_supervisor("STOPPING=1");
    let stop_wait = server.running().site.settings().number(Key::StopWait);
    let cut_off = Duration::from_secs(stop_wait) + CUT_OFF;
    let watch = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
        std::thread::sleep(cut_off);
        eprintln!("nelumbo: the orderly stop took too long and was cut off");
        std::process::exit(3);
    });
    // Without the watch the stop is only not bounded.
    drop(watch);
    match server.stop() {
        Outcome::Stopped => Ok(()),
        Outcome::Failed(reason) => Err(Ending::trouble(reason)),
    }
}

/// `nelumbo demo`.
pub(crate) fn demo(data: Option<PathBuf>, demo: Demo) -> Result<(), Ending> {
    let options = DemoOptions {
        dir: data.map_or_else(demo_place, Ok)?,
        port_offset: demo.port_offset,
        users: demo.users,
        bind: demo.bind,
        domain: demo.domain,
        password: demo.password,
        mail: !demo.no_mail,
    };
    let trouble = |error: DemoError| match &error {
        DemoError::NotADemo(_) | DemoError::OtherDomain(_) | DemoError::Setting(_) => {
            Ending::misuse(chain(&error))
        }
        _ => Ending::trouble(chain(&error)),
    };
    let dir = DataDir::new(&options.dir);
    server::check_demo_place(&dir).map_err(trouble)?;
    let settings = server::demo_settings(&options).map_err(trouble)?;
    dir.make()?;
    server::start_log(&dir, &settings)?;
    let start = |error: server::StartError| Ending::trouble(chain(&error));
    let holding = Holding::take(&dir).map_err(start)?;
    let network = Network::open(&settings).map_err(start)?;
    let (site, people) = server::make_demo(&options, settings).map_err(trouble)?;
    let server = Server::run(network, holding, site).map_err(start)?;
    show::line(&told(&options, server.addresses(), &people))?;
    show::line("ready")?;
    server::notify_supervisor("READY=1");
    until_stopped(server)
}

/// Where the demo lies when nothing else is said.
fn demo_place() -> Result<PathBuf, Ending> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(data) = named("XDG_DATA_HOME") {
        return Ok(PathBuf::from(data).join("nelumbo-demo"));
    }
    match named("HOME") {
        Some(home) => Ok(PathBuf::from(home).join(".local/share/nelumbo-demo")),
        None => Err(Ending::misuse("HOME is not set; say where with --data DIR")),
    }
}

/// What a newcomer needs to know.
fn told(
    options: &DemoOptions,
    addresses: &[(&'static str, SocketAddr)],
    people: &[Credentials],
) -> String {
    let mut out = format!("demo domain {}, data in {}\n\n", options.domain, options.dir.display());
    for (name, address) in addresses {
        out.push_str(&format!("  {name:22} {address}\n"));
    }
    let heading = ["sign in as", "name", "address", "password"].map(str::to_owned).to_vec();
    let mut rows = vec![heading];
    for person in people {
        let password = person.password.clone();
        rows.push(vec![
            person.short_name.clone(),
            person.full_name.clone(),
            person.address.clone(),
            password.unwrap_or_else(|| "(as printed at the first start)".to_owned()),
        ]);
    }
    let table = server::columns(&rows);
    out.push('\n');
    out.extend(table.lines().map(|line| format!("  {line}\n")));
    out.push_str("\n  Administrator: admin. TLS uses a self-signed certificate.\n");
    let dir = options.dir.display();
    out.push_str(&format!("  Console: nelumbo console {dir}   Stop: Ctrl-C\n"));
    out
}

/// `nelumbo stop`: asks, then waits for the end.
pub(crate) fn stop(dir: &DataDir) -> Result<(), Ending> {
    must_be_a_server(dir)?;
    match reach(dir, &Request::Stop)? {
        Reached::Owned(_) => Err(Ending { code: 1, ..not_running(dir) }),
        Reached::Server(reply) => {
            if reply.exit_code() != 0 {
                return show::reply(reply, &[], false);
            }
            match dir.lock_within(STOP_WAIT)? {
                Some(_) => Ok(()),
                None => Err(Ending::trouble(format!(
                    "the server did not end within {} s; see its log",
                    STOP_WAIT.as_secs()
                ))),
            }
        }
    }
}

/// `nelumbo status`.
pub(crate) fn status(dir: &DataDir, json: bool) -> Result<(), Ending> {
    must_be_a_server(dir)?;
    match reach(dir, &Request::Status)? {
        Reached::Server(reply) => show::reply(reply, show::STATUS, json),
        Reached::Owned(_) if json => {
            show::line("{\"running\": false}")?;
            Err(Ending::finding())
        }
        Reached::Owned(_) => Err(Ending { code: 1, ..not_running(dir) }),
    }
}

/// `nelumbo reload`.
pub(crate) fn reload(dir: &DataDir) -> Result<(), Ending> {
    must_be_a_server(dir)?;
    match reach(dir, &Request::Reload)? {
        Reached::Server(reply) => show::reply(reply, &[], false),
        Reached::Owned(_) => Err(not_running(dir)),
    }
}

/// `nelumbo check`.
pub(crate) fn check(dir: &DataDir, json: bool) -> Result<(), Ending> {
    must_be_a_server(dir)?;
    let checked = server::check(dir);
    let findings = checked.map_err(|error| Ending::trouble(chain(&error)))?;
    if json {
        let list: Vec<serde_json::Value> =
            findings.iter().map(|text| text.as_str().into()).collect();
        show::line(&serde_json::Value::from(list).to_string())?;
    } else {
        findings.iter().try_for_each(|finding| show::line(finding))?;
        if findings.is_empty() {
            show::line("nothing found")?;
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(Ending::finding()) }
}
