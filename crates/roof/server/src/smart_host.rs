//! The host that takes mail for other domains, as the settings say.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use router::Courier as _;
use smtp::{Courier, CourierError, CourierSettings, Route};

use crate::layout::DataDir;
use crate::settings::{Key, Settings};

/// Any domain: the smart host takes all of them.
const ANY: &str = "other.invalid";

/// Keeps the courier as long as nothing about it changes.
#[derive(Default)]
pub(crate) struct SmartHost(Mutex<Option<Kept>>);

struct Kept {
    route: Route,
    ca_file: Option<PathBuf>,
    host_name: String,
    courier: Arc<Courier>,
}

impl SmartHost {
    /// The courier of the settings; `None` when there is no smart host.
    ///
    /// # Errors
    /// The certificates or the name cannot be used.
    pub(crate) fn courier(
        &self,
        dir: &DataDir,
        settings: &Settings,
    ) -> Result<Option<Arc<Courier>>, CourierError> {
        let mut kept = self.0.lock();
        let Some(route) = route(settings) else {
            *kept = None;
            return Ok(None);
        };
        let ca_file = settings.text(Key::TransferCaFile);
        let ca_file = (!ca_file.is_empty()).then(|| dir.resolve(ca_file));
        let host_name = settings.text(Key::HostName).to_owned();
        if let Some(kept) = &*kept
            && (&kept.route, &kept.ca_file, &kept.host_name) == (&route, &ca_file, &host_name)
        {
            return Ok(Some(kept.courier.clone()));
        }
        let courier = Courier::new(CourierSettings {
            routes: vec![route.clone()],
            ca_file: ca_file.clone(),
            host_name: host_name.clone(),
            ..CourierSettings::default()
        })?;
        *kept = Some(Kept { route, ca_file, host_name, courier: courier.clone() });
        Ok(Some(courier))
    }

    /// Opens a line to the smart host and closes it again; tells how that went.
    ///
    /// # Errors
    /// There is none, or it cannot be reached or does not let this server in.
    pub(crate) fn trace(&self) -> Result<String, String> {
        let courier = self.0.lock().as_ref().map(|kept| kept.courier.clone());
        let courier =
            courier.ok_or_else(|| "there is no smart host; set transfer.host".to_owned())?;
        let destination = courier.destination(ANY).ok_or_else(|| "no route".to_owned())?;
        // The trouble names the host by itself.
        let line = courier
            .open(&destination)
            .map_err(|trouble| format!("{}; see the transfer settings", trouble.text))?;
        let told = format!("{destination}: {} is ready to take mail", line.host());
        line.close();
        Ok(told)
    }
}

fn route(settings: &Settings) -> Option<Route> {
    let host = settings.text(Key::TransferHost);
    let given = |key| Some(settings.text(key).to_owned()).filter(|text| !text.is_empty());
    (!host.is_empty()).then(|| Route {
        domain: "*".to_owned(),
        host: host.to_owned(),
        // Within the range of the setting.
        port: u16::try_from(settings.number(Key::TransferPort)).unwrap_or(587),
        tls: settings.text(Key::TransferTls).parse().unwrap_or_default(),
        user: given(Key::TransferUser),
        password: given(Key::TransferPassword),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(Key, &str)]) -> Settings {
        let mut settings = Settings::default();
        pairs.iter().for_each(|(key, text)| settings.set(*key, text).unwrap());
        settings
    }

    #[test]
    fn a_courier_is_kept_until_something_changes() {
        let (host, dir) = (SmartHost::default(), DataDir::new("/somewhere"));
        assert!(host.courier(&dir, &Settings::default()).unwrap().is_none());
        let one = settings(&[(Key::TransferHost, "relay.example.org")]);
        let first = host.courier(&dir, &one).unwrap().unwrap();
        assert!(Arc::ptr_eq(&first, &host.courier(&dir, &one).unwrap().unwrap()));
        let two = settings(&[(Key::TransferHost, "relay.example.org"), (Key::TransferPort, "25")]);
        assert!(!Arc::ptr_eq(&first, &host.courier(&dir, &two).unwrap().unwrap()));
        let lost = settings(&[(Key::TransferHost, "relay"), (Key::TransferCaFile, "no.pem")]);
        assert!(host.courier(&dir, &lost).is_err());
    }

    #[test]
    fn the_modes_of_tls_are_those_of_the_courier() {
        for mode in ["none", "opportunistic", "starttls", "implicit"] {
            assert!(mode.parse::<smtp::TlsMode>().is_ok(), "{mode}");
        }
    }

    #[test]
    fn without_a_smart_host_there_is_nothing_to_trace() {
        assert!(SmartHost::default().trace().unwrap_err().contains("transfer.host"));
    }
}
